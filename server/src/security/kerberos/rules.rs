//! User names of principals, by the rules of `hadoop.security.auth_to_local`.
// As KerberosName.

use regex::{Captures, Regex};
use thiserror::Error;

/// Rules where the site has none.
pub const DEFAULT_RULES: &str = "DEFAULT";

/// One rule at the start of a text.
const RULE: &str = r"^\s*(?:(DEFAULT)|RULE:\[([0-9]*):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?)/?(L)?";

/// The parts of a principal: `service/host@REALM`.
const PRINCIPAL: &str = r"^([^/@]+)(?:/([^/@]+))?(?:@([^/@]+))?$";

/// Rules that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{rule}`: {why}")]
pub struct RuleProblem {
    /// The rule, or the rest of the text from it on.
    pub rule: String,
    /// What is wrong with it.
    pub why: String,
}

/// Why a principal has no user name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// It is not of the form `service/host@REALM`.
    #[error("`{0}` is no principal")]
    Form(String),
    /// No rule fits it.
    #[error("no rule of auth_to_local fits {0}")]
    NoRule(String),
    /// A rule makes a name that is still a principal.
    #[error("a rule of auth_to_local makes `{name}` of {principal}, which has `/` or `@`")]
    NotSimple {
        /// The principal.
        principal: String,
        /// What the rule made of it.
        name: String,
    },
}

/// What holds for principals that no rule fits, and for names with `/` or `@`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mechanism {
    /// They are refused.
    #[default]
    Hadoop,
    /// They are user names as they are.
    Mit,
}

/// Rules in their order; the first one that fits counts.
#[derive(Clone, Debug)]
pub struct NameRules {
    rules: Vec<NameRule>,
    realm: String,
    mechanism: Mechanism,
    principal: Regex,
}

#[derive(Clone, Debug)]
enum NameRule {
    /// The first part of a principal of the default realm.
    Default,
    Rewrite(Rewrite),
}

/// `RULE:[components:format](fits)s/from/to/g/L`.
#[derive(Clone, Debug)]
struct Rewrite {
    components: usize,
    format: Vec<FormatPart>,
    fits: Option<Regex>,
    substitution: Option<Substitution>,
    lowercase: bool,
}

#[derive(Clone, Debug)]
enum FormatPart {
    Text(String),
    /// A part of the principal; 0 is the realm.
    Part(usize),
}

#[derive(Clone, Debug)]
struct Substitution {
    from: Regex,
    to: String,
    everywhere: bool,
}

impl std::str::FromStr for Mechanism {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "hadoop" => Ok(Self::Hadoop),
            "mit" => Ok(Self::Mit),
            _ => Err(format!("`{}` is not hadoop or mit", text.escape_debug())),
        }
    }
}

fn fixed(pattern: &str) -> Result<Regex, RuleProblem> {
    regex(pattern, pattern)
}

fn regex(pattern: &str, rule: &str) -> Result<Regex, RuleProblem> {
    Regex::new(pattern).map_err(|error| problem(rule, error))
}

fn problem(rule: &str, why: impl ToString) -> RuleProblem {
    RuleProblem {
        rule: rule.escape_debug().to_string(),
        why: why.to_string(),
    }
}

impl NameRules {
    /// Reads rules that are separated by white space, for principals of a default realm.
    ///
    /// # Errors
    ///
    /// At the first rule that is none, or whose pattern cannot be read.
    pub fn read(text: &str, realm: &str, mechanism: Mechanism) -> Result<Self, RuleProblem> {
        let form = fixed(RULE)?;
        let mut rest = text.trim();
        let mut rules = Vec::new();
        while !rest.is_empty() {
            let Some(found) = form.captures(rest) else {
                return Err(problem(
                    rest,
                    "DEFAULT or RULE:[n:format](pattern)s/from/to/ is expected",
                ));
            };
            let whole = found.get(0).map_or("", |found| found.as_str());
            rules.push(match found.get(1) {
                Some(_) => NameRule::Default,
                None => NameRule::Rewrite(Rewrite::read(&found, whole.trim())?),
            });
            rest = &rest[whole.len()..];
        }
        Ok(Self {
            rules,
            realm: realm.to_owned(),
            mechanism,
            principal: fixed(PRINCIPAL)?,
        })
    }

    /// The user name of a principal.
    ///
    /// # Errors
    ///
    /// As [`NameProblem`].
    pub fn user(&self, principal: &str) -> Result<String, NameProblem> {
        let Some(found) = self.principal.captures(principal) else {
            return match principal.contains('@') {
                true => Err(NameProblem::Form(principal.escape_debug().to_string())),
                false => Ok(principal.to_owned()),
            };
        };
        let part = |at| found.get(at).map(|part| part.as_str());
        let (service, host, realm) = (part(1).unwrap_or_default(), part(2), part(3));
        let parts = match (realm, host) {
            (None, None) => return Ok(service.to_owned()),
            (realm, host) => {
                let first = [realm.unwrap_or_default(), service];
                first.into_iter().chain(host).collect::<Vec<_>>()
            }
        };
        let mut made = self
            .rules
            .iter()
            .filter_map(|rule| self.apply(rule, &parts));
        match (made.next(), self.mechanism) {
            (Some((name, _)), Mechanism::Hadoop) if name.contains(['/', '@']) => {
                Err(NameProblem::NotSimple {
                    principal: principal.to_owned(),
                    name,
                })
            }
            (Some((name, true)), _) => Ok(name.to_lowercase()),
            (Some((name, false)), _) => Ok(name),
            (None, Mechanism::Hadoop) => Err(NameProblem::NoRule(principal.to_owned())),
            (None, Mechanism::Mit) => Ok(principal.to_owned()),
        }
    }

    /// The name that a rule makes of realm, service and host, and whether it is lowered; nothing where it does not fit.
    fn apply(&self, rule: &NameRule, parts: &[&str]) -> Option<(String, bool)> {
        match rule {
            NameRule::Default => (parts[0] == self.realm).then(|| (parts[1].to_owned(), false)),
            NameRule::Rewrite(rewrite) => {
                rewrite.apply(parts).map(|name| (name, rewrite.lowercase))
            }
        }
    }
}

impl Rewrite {
    fn read(found: &Captures<'_>, rule: &str) -> Result<Self, RuleProblem> {
        let part = |at| found.get(at).map(|part| part.as_str());
        let components = part(2).unwrap_or_default();
        let components: usize = components
            .parse()
            .map_err(|_| problem(rule, format!("`{components}` is no number of components")))?;
        let fits = part(4).map(|pattern| regex(&format!(r"\A(?:{pattern})\z"), rule));
        let substitution = match (part(5), part(6)) {
            (Some(from), Some(to)) => Some(Substitution::read(from, to, part(7).is_some(), rule)?),
            _ => None,
        };
        Ok(Self {
            components,
            format: format_of(part(3).unwrap_or_default(), components, rule)?,
            fits: fits.transpose()?,
            substitution,
            lowercase: part(8).is_some(),
        })
    }

    fn apply(&self, parts: &[&str]) -> Option<String> {
        if parts.len() != self.components + 1 {
            return None;
        }
        let base = self.format.iter().map(|part| match part {
            FormatPart::Text(text) => text,
            FormatPart::Part(at) => parts[*at],
        });
        let base: String = base.collect();
        if self.fits.as_ref().is_some_and(|fits| !fits.is_match(&base)) {
            return None;
        }
        Some(match &self.substitution {
            None => base,
            Some(change) if change.everywhere => {
                change.from.replace_all(&base, &*change.to).into_owned()
            }
            Some(change) => change.from.replace(&base, &*change.to).into_owned(),
        })
    }
}

impl Substitution {
    fn read(from: &str, to: &str, everywhere: bool, rule: &str) -> Result<Self, RuleProblem> {
        let from = regex(from, rule)?;
        let to = replacement(to, from.captures_len(), rule)?;
        Ok(Self {
            from,
            to,
            everywhere,
        })
    }
}

/// The parts of a format such as `$1@$0`, whose numbers are at most those of the components.
fn format_of(text: &str, components: usize, rule: &str) -> Result<Vec<FormatPart>, RuleProblem> {
    let mut pieces = text.split('$');
    let mut parts = vec![FormatPart::Text(
        pieces.next().unwrap_or_default().to_owned(),
    )];
    for piece in pieces {
        let digits = piece.len() - piece.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = piece.split_at(digits);
        let at = number.parse::<usize>().ok().filter(|at| *at <= components);
        let at = at.ok_or_else(|| {
            problem(
                rule,
                format!("`${number}` is no part of {components} components"),
            )
        })?;
        parts.extend([FormatPart::Part(at), FormatPart::Text(rest.to_owned())]);
    }
    Ok(parts)
}

/// A replacement in Java's form as one of this library: `$1` takes digits while there is such a group, and `\` makes
/// what follows plain.
fn replacement(text: &str, groups: usize, rule: &str) -> Result<String, RuleProblem> {
    let mut made = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('$') => made.push_str("$$"),
                Some(plain) => made.push(plain),
                None => return Err(problem(rule, "nothing follows the last `\\`")),
            },
            '$' => {
                let first = rest.next().and_then(|c| c.to_digit(10));
                let mut group = first.filter(|group| (*group as usize) < groups);
                while let (Some(known), Some(next)) =
                    (group, rest.peek().and_then(|c| c.to_digit(10)))
                {
                    let longer = known.saturating_mul(10).saturating_add(next);
                    if longer as usize >= groups {
                        break;
                    }
                    group = Some(longer);
                    rest.next();
                }
                let group =
                    group.ok_or_else(|| problem(rule, "a `$` names no group of the pattern"))?;
                made.push_str(&format!("${{{group}}}"));
            }
            plain => made.push(plain),
        }
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> NameRules {
        NameRules::read(text, "EXAMPLE.COM", Mechanism::Hadoop).unwrap()
    }

    fn users(text: &str, expected: &[(&str, &str)]) {
        let rules = rules(text);
        for (principal, user) in expected {
            assert_eq!(
                rules.user(principal).as_deref(),
                Ok(*user),
                "{text}: {principal}"
            );
        }
    }

    #[test]
    fn the_default_rule_takes_principals_of_the_default_realm() {
        users(
            DEFAULT_RULES,
            &[
                ("ann@EXAMPLE.COM", "ann"),
                ("rm/h1@EXAMPLE.COM", "rm"),
                ("ann", "ann"),
            ],
        );
        let other = rules(DEFAULT_RULES).user("ann@OTHER.COM");
        assert_eq!(other, Err(NameProblem::NoRule("ann@OTHER.COM".to_owned())));
        assert!(matches!(
            rules(DEFAULT_RULES).user("a/b/c@EXAMPLE.COM"),
            Err(NameProblem::Form(_))
        ));
        assert!(matches!(
            rules(DEFAULT_RULES).user("rm/h1"),
            Err(NameProblem::NoRule(_))
        ));
    }

    /// The rules of Hadoop's own tests of principals.
    #[test]
    fn rules_count_in_their_order_with_pattern_and_substitution() {
        let text = "RULE:[1:$1@$0](.*@YAHOO\\.COM)s/@.*//\nRULE:[2:$1](johndoe)s/^.*$/guest/\nRULE:[2:$1;$2](^.*;admin$)s/;admin$//\n\
                    RULE:[2:$2](root)\nDEFAULT";
        users(
            text,
            &[
                ("omalley@YAHOO.COM", "omalley"),
                ("johndoe/x@OTHER.COM", "guest"),
                ("joe/admin@FOO.COM", "joe"),
                ("joe/root@FOO.COM", "root"),
                ("hdfs/10.0.0.1@EXAMPLE.COM", "hdfs"),
            ],
        );
    }

    #[test]
    fn substitutions_repeat_lower_and_take_groups() {
        users("RULE:[1:$1]/L", &[("Joe@X", "joe")]);
        users("RULE:[1:$1](.*)s/a/A/g", &[("banana@X", "bAnAnA")]);
        users("RULE:[1:$1](.*)s/a/A/", &[("banana@X", "bAnana")]);
        users(
            r"RULE:[1:$1](.*)s/(b)(.*)/$2$1x\$1/",
            &[("bob@X", "obbx$1")],
        );
        users(r"RULE:[1:$1](.*)s/(b)/$10/", &[("bob@X", "b0ob")]);
        users("RULE:[1:$1](an)DEFAULT", &[("ann@EXAMPLE.COM", "ann")]);
    }

    #[test]
    fn a_name_that_is_still_a_principal_is_refused_but_by_mit() {
        let text = "RULE:[1:$1@$0]";
        let problem = rules(text).user("ann@X");
        assert!(
            matches!(problem, Err(NameProblem::NotSimple { .. })),
            "{problem:?}"
        );
        let mit = NameRules::read(text, "EXAMPLE.COM", Mechanism::Mit).unwrap();
        assert_eq!(mit.user("ann@X").as_deref(), Ok("ann@X"));
        assert_eq!(mit.user("ann/h@X").as_deref(), Ok("ann/h@X"));
        assert!("heimdal".parse::<Mechanism>().is_err());
    }

    #[test]
    fn rules_that_are_none_are_shown() {
        for (text, why) in [
            ("DEFAULT other", "other"),
            ("RULE:[:$1]", "number of components"),
            ("RULE:[1:$2]", "`$2`"),
            ("RULE:[1:$]", "`$`"),
            ("RULE:[1:$1](()", "RULE:[1:$1]"),
            ("RULE:[1:$1](a)s/a/$1/", "names no group"),
            ("RULE:[1:$1](a)s/a/\\/", "nothing follows"),
            ("RULE:[1:$1]((?=a))", "RULE:"),
            ("RULE:[99999999999999999999:$1]", "number of components"),
        ] {
            let problem = NameRules::read(text, "X", Mechanism::Hadoop).unwrap_err();
            assert!(problem.to_string().contains(why), "{text}: {problem}");
        }
    }
}
