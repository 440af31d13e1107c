//! SPNEGO, as the properties of the site ask for it.

use std::sync::Arc;

use anyhow::Result;
use capsched_server::rm::Pairs;
use capsched_server::security::Negotiation;

const PRINCIPAL: &str = "yarn.resourcemanager.webapp.spnego-principal";
const KEYTAB: &str = "yarn.resourcemanager.webapp.spnego-keytab-file";
const AUTHENTICATION: &str = "hadoop.security.authentication";

/// What a site says of SPNEGO.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    principal: String,
    keytab: String,
}

impl Wanted {
    /// Nothing where the site is not secured by Kerberos, or lacks one of the two properties.
    // As WebApps.Builder: both properties count in a secure cluster alone.
    pub(super) fn of(site: &Pairs) -> Option<Self> {
        let value = |key: &str| {
            site.get(key)
                .map(|value| value.trim())
                .filter(|value| !value.is_empty())
        };
        let secure =
            value(AUTHENTICATION).is_some_and(|kind| kind.eq_ignore_ascii_case("kerberos"));
        let (principal, keytab) = (value(PRINCIPAL)?, value(KEYTAB)?);
        secure.then(|| Self {
            principal: principal.to_owned(),
            keytab: keytab.to_owned(),
        })
    }
}

/// Users by Kerberos are left out, with a note.
#[cfg(not(all(feature = "spnego", unix)))]
pub(super) fn negotiation(
    wanted: &Wanted,
    _: &Pairs,
    _: Option<&str>,
) -> Result<Option<Arc<dyn Negotiation>>> {
    crate::output::note(format_args!(
        "The site asks for SPNEGO as {} with the keytab {}: this program is built without the feature `spnego`.",
        wanted.principal.escape_debug(),
        wanted.keytab.escape_debug()
    ));
    Ok(None)
}

#[cfg(all(feature = "spnego", unix))]
pub(super) use with_library::negotiation;

#[cfg(all(feature = "spnego", unix))]
mod with_library {
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;

    use anyhow::{Context, anyhow};
    use capsched_server::security::{DEFAULT_RULES, Kerberos, Mechanism, NameRules, default_realm};

    use super::*;
    use crate::output::Problem;

    const RULES: &str = "hadoop.security.auth_to_local";
    const MECHANISM: &str = "hadoop.security.auth_to_local.mechanism";
    /// Where Kerberos' library looks for the keytab.
    const KEYTAB_VARIABLE: &str = "KRB5_KTNAME";

    fn wrong(key: &str, why: impl std::fmt::Display) -> anyhow::Error {
        Problem(format!("{key}: {why}")).into()
    }

    /// Users by Kerberos. A host name stands for `_HOST`.
    pub(in super::super) fn negotiation(
        wanted: &Wanted,
        site: &Pairs,
        host: Option<&str>,
    ) -> Result<Option<Arc<dyn Negotiation>>> {
        let principal = with_host(&wanted.principal, host)?;
        let file = std::fs::File::open(&wanted.keytab);
        file.map_err(|error| wrong(KEYTAB, format!("{}: {error}", wanted.keytab)))?;
        let rules = rules(site)?;
        take_keytab(&wanted.keytab)?;
        let kerberos = Kerberos::new(&principal, rules);
        let kerberos = kerberos.map_err(|error| {
            wrong(
                PRINCIPAL,
                format!("{principal} in {}: {error}", wanted.keytab),
            )
        })?;
        tracing::info!(%principal, keytab = %wanted.keytab, "users are found by SPNEGO, too");
        Ok(Some(Arc::new(kerberos)))
    }

    fn with_host(principal: &str, host: Option<&str>) -> Result<String> {
        match (principal.contains("/_HOST@"), host) {
            (false, _) => Ok(principal.to_owned()),
            (true, Some(host)) => {
                let host = format!("/{}@", host.to_lowercase());
                Ok(principal.replacen("/_HOST@", &host, 1))
            }
            (true, None) => Err(wrong(
                PRINCIPAL,
                "_HOST is the first --host-name, and there is none",
            )),
        }
    }

    fn rules(site: &Pairs) -> Result<NameRules> {
        let text = site.get(RULES).map_or(DEFAULT_RULES, |text| text);
        let mechanism = site
            .get(MECHANISM)
            .map(|text| text.trim().parse::<Mechanism>());
        let mechanism = mechanism.transpose().map_err(|why| wrong(MECHANISM, why))?;
        let realm = default_realm().map_err(|why| anyhow!("{why}"))?;
        let read = NameRules::read(text, &realm, mechanism.unwrap_or_default());
        read.map_err(|problem| wrong(RULES, problem))
    }

    /// Starts the program again with the keytab in its environment: the library reads it from nowhere else, and the
    /// environment of a running program cannot be changed safely.
    fn take_keytab(keytab: &str) -> Result<()> {
        let absolute = std::path::absolute(Path::new(keytab)).context("the keytab has no path")?;
        let value = format!("FILE:{}", absolute.display());
        if std::env::var(KEYTAB_VARIABLE).is_ok_and(|now| now == value) {
            return Ok(());
        }
        let program = std::env::current_exe().context("the program has no path")?;
        let mut again = Command::new(program);
        let again = again.args(std::env::args_os().skip(1));
        let error = again.env(KEYTAB_VARIABLE, value).exec();
        Err(error).context("the program cannot be started again with the keytab")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_host_name_stands_for_host_in_a_principal() {
            let of =
                |principal, host| with_host(principal, host).map_err(|error| error.to_string());
            assert_eq!(
                of("HTTP/_HOST@X", Some("RM.x")).as_deref(),
                Ok("HTTP/rm.x@X")
            );
            assert_eq!(of("HTTP/a@X", None).as_deref(), Ok("HTTP/a@X"));
            let none = of("HTTP/_HOST@X", None).unwrap_err();
            assert!(none.contains("--host-name"), "{none}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secure_site_with_both_properties_wants_spnego() {
        let whole = [
            (AUTHENTICATION, "Kerberos"),
            (PRINCIPAL, "HTTP/a@X"),
            (KEYTAB, " /k "),
        ];
        let site = |skip: usize, authentication: &str| {
            let pairs = whole.iter().enumerate().filter(|(at, _)| *at != skip);
            let mut site: Pairs = pairs
                .map(|(_, (key, value))| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            if skip != 0 {
                site.insert(AUTHENTICATION.to_owned(), authentication.to_owned());
            }
            site
        };
        let wanted = Wanted::of(&site(9, "kerberos"));
        let expected = Wanted {
            principal: "HTTP/a@X".to_owned(),
            keytab: "/k".to_owned(),
        };
        assert_eq!(wanted, Some(expected));
        assert_eq!(Wanted::of(&site(9, "simple")), None);
        for skip in 0..3 {
            assert_eq!(Wanted::of(&site(skip, "kerberos")), None, "{skip}");
        }
    }
}
