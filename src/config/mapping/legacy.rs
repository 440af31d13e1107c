//! Reads legacy string rules: `u:ann:root.a,g:dev:b` and `app:queue`.

use super::error::MappingError;
use super::rule::{Fallback, Matcher, Rule, RuleAction};
use crate::config::prefix::PREFIX;
use crate::config::source::{PropertySource, entries, parts};

/// Rules by application name, appended to those by user and group.
const APPLICATION_RULES: &str = "yarn.scheduler.queue-placement-rules.app-name";

/// Reads both lists; all malformed entries are reported.
pub(super) fn read(source: &impl PropertySource) -> Result<Vec<Rule>, Vec<MappingError>> {
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    let by_user = format!("{PREFIX}queue-mappings");
    for (key, parse) in [
        (by_user.as_str(), user_or_group as fn(&str) -> Option<Rule>),
        (APPLICATION_RULES, application),
    ] {
        for entry in entries(&source.get(key).unwrap_or_default()) {
            match parse(entry) {
                Some(rule) => rules.push(rule),
                None => errors.push(MappingError::Syntax {
                    key: key.to_owned(),
                    entry: entry.to_owned(),
                }),
            }
        }
    }
    if errors.is_empty() {
        Ok(rules)
    } else {
        Err(errors)
    }
}

fn user_or_group(entry: &str) -> Option<Rule> {
    let matcher = match parts(entry)[..] {
        ["u", "%user", _] => Matcher::Everyone,
        ["u", user, _] => Matcher::User(user.to_owned()),
        ["g", group, _] => Matcher::Group(group.to_owned()),
        _ => return None,
    };
    Some(rule(matcher, parts(entry)[2]))
}

fn application(entry: &str) -> Option<Rule> {
    match parts(entry)[..] {
        [name, target] => Some(rule(Matcher::Application(name.to_owned()), target)),
        _ => None,
    }
}

fn rule(matcher: Matcher, target: &str) -> Rule {
    Rule {
        matcher,
        action: RuleAction::Place {
            pattern: target.to_owned(),
            create: true,
        },
        fallback: Fallback::PlaceDefault,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read_lists(users: &str, applications: &str) -> Result<Vec<String>, Vec<MappingError>> {
        let source: BTreeMap<String, String> = [
            (format!("{PREFIX}queue-mappings"), users.to_owned()),
            (APPLICATION_RULES.to_owned(), applications.to_owned()),
        ]
        .into();
        let rules = read(&source)?;
        Ok(rules.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn users_groups_and_applications_are_read_in_this_order() {
        let rules = read_lists("u:%user:a,\n g : dev : b ,,u:ann:root.c.%user", "sort:d");
        let want = [
            "everyone to a",
            "group dev to b",
            "user ann to root.c.%user",
            "application sort to d",
        ];
        assert_eq!(rules.unwrap(), want);
        assert_eq!(read_lists("", "").unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_star_is_an_ordinary_name() {
        assert_eq!(
            read_lists("u:*:b", "*:b").unwrap().join(", "),
            "user * to b, application * to b"
        );
    }

    #[test]
    fn every_malformed_entry_is_reported() {
        for entry in [
            "bob:b",
            "u:bob",
            "u:bob:",
            "u:bob:b u:ann:b",
            "x:bob:b",
            "u::b",
            "U:a:b",
        ] {
            let errors = read_lists(entry, "").unwrap_err();
            assert_eq!(errors[0].code(), "mapping_syntax", "{entry}");
            assert!(errors[0].to_string().contains(entry), "{entry}");
        }
        for entry in [":b", "a", "a:b:c"] {
            assert_eq!(read_lists("", entry).unwrap_err().len(), 1, "{entry}");
        }
        assert_eq!(read_lists("u:a,u:b:c,:", "x").unwrap_err().len(), 3);
    }
}
