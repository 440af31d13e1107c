//! Names that Kerberos proves: tokens by the system's GSS-API, user names by the rules of the site.
//!
//! The library reads the server's key from the keytab that `KRB5_KTNAME` names, and remembers tokens so that none counts
//! twice.

mod rules;

use libgssapi::context::{SecurityContext, ServerCtx};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::name::Name;
use libgssapi::oid::{
    GSS_MECH_KRB5, GSS_MECH_SPNEGO, GSS_NT_KRB5_PRINCIPAL, GSS_NT_USER_NAME, OidSet,
};

use super::negotiate::{Accepted, Negotiation, NegotiationProblem};

pub use rules::{DEFAULT_RULES, Mechanism, NameProblem, NameRules, RuleProblem};

/// Every principal of the keytab whose service is HTTP.
const ANY: &str = "*";

/// The server's side of SPNEGO.
#[derive(Debug)]
pub struct Kerberos {
    credentials: Cred,
    rules: NameRules,
    /// Whether the keytab may have principals that are none of a web server.
    any: bool,
}

/// The default realm of this machine.
///
/// # Errors
///
/// That the configuration of Kerberos has none.
pub fn default_realm() -> Result<String, String> {
    let shown = |error: libgssapi::error::Error| error.to_string();
    let name = Name::new(b"nobody", Some(GSS_NT_USER_NAME)).map_err(shown)?;
    let whole = name.canonicalize(Some(GSS_MECH_KRB5)).map_err(shown)?;
    let text = text_of(&whole)?;
    match text.split_once('@') {
        Some((_, realm)) if !realm.is_empty() => Ok(realm.to_owned()),
        _ => Err("Kerberos has no default realm".to_owned()),
    }
}

fn text_of(name: &Name) -> Result<String, String> {
    let shown = name.display_name().map_err(|error| error.to_string())?;
    String::from_utf8(shown.to_vec()).map_err(|_| "a principal is not in UTF-8".to_owned())
}

impl Kerberos {
    /// Takes the key of a principal from the keytab; `*` is every one of HTTP.
    ///
    /// # Errors
    ///
    /// That the keytab cannot be read or has no such principal.
    pub fn new(principal: &str, rules: NameRules) -> Result<Self, String> {
        let any = principal == ANY;
        let take = || {
            let mut mechanisms = OidSet::singleton(GSS_MECH_SPNEGO)?;
            mechanisms.add(GSS_MECH_KRB5)?;
            let name = match any {
                true => None,
                false => Some(Name::new(
                    principal.as_bytes(),
                    Some(GSS_NT_KRB5_PRINCIPAL),
                )?),
            };
            Cred::acquire(name.as_ref(), None, CredUsage::Accept, Some(&mechanisms))
        };
        let credentials = take().map_err(|error| error.to_string())?;
        Ok(Self {
            credentials,
            rules,
            any,
        })
    }

    /// The user of a context that is complete.
    fn user(&self, context: &ServerCtx) -> Result<String, String> {
        let name = |found: Result<Name, libgssapi::error::Error>| {
            text_of(&found.map_err(|error| error.to_string())?)
        };
        let service = name(context.target_name())?;
        if self.any && !service.starts_with("HTTP/") {
            return Err(format!(
                "the token is for {service}, which is no web server"
            ));
        }
        let client = name(context.source_name())?;
        self.rules
            .user(&client)
            .map_err(|problem| problem.to_string())
    }
}

impl Negotiation for Kerberos {
    fn accept(&self, token: &[u8]) -> Result<Accepted, NegotiationProblem> {
        let refused = NegotiationProblem::Refused;
        if token.is_empty() {
            return Err(refused("the token is empty".to_owned()));
        }
        let mut context = ServerCtx::new(Some(self.credentials.clone()));
        let answer = context
            .step(token, None)
            .map_err(|error| refused(error.to_string()))?;
        let answer = answer.map(|answer| answer.to_vec()).unwrap_or_default();
        if !context.is_complete() {
            return Err(NegotiationProblem::Continues(answer));
        }
        let user = self.user(&context).map_err(refused)?;
        Ok(Accepted { user, answer })
    }
}
