//! The user that an application tag may name for placement.

use crate::config::source::PropertySource;

/// Prefix of the properties.
const PREFIX: &str = "yarn.resourcemanager.application-tag-based-placement.";

/// Start of the tag that names a user.
const TAG: &str = "userid=";

/// Lets trusted submitters name another user for placement by a tag `userid=<name>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagUserOverride {
    trusted: Vec<String>,
}

impl TagUserOverride {
    /// Reads whether the override is enabled, and for whom.
    #[must_use]
    pub fn read(source: &impl PropertySource) -> Self {
        let enabled = source.flag(&format!("{PREFIX}enable"), false);
        let list = source.get(&format!("{PREFIX}username.whitelist"));
        let list = list.filter(|_| enabled).unwrap_or_default();
        Self {
            // Names are not trimmed: a blank after a comma belongs to the next one.
            trusted: list
                .split(',')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// The user that a tag of a trusted submitter names. A tag counts that has one name.
    // As RMAppManager.getUserNameFromApplicationTag.
    #[must_use]
    pub fn named<'a, T: AsRef<str>>(&self, submitter: &str, tags: &'a [T]) -> Option<&'a str> {
        if !self.trusted.iter().any(|user| user == submitter) {
            return None;
        }
        let mut names = tags.iter().filter_map(|tag| {
            let name = tag.as_ref().strip_prefix(TAG)?.trim_end_matches('=');
            (!name.is_empty() && !name.contains('=')).then_some(name)
        });
        names.next()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn only_trusted_submitters_may_name_another_user() {
        for (enabled, submitter, tags, want) in [
            ("true", "ann", &["userid=bob"][..], Some("bob")),
            ("true", "ann", &["x", "userid=b.c", "userid=d"], Some("b.c")),
            (
                "true",
                "ann",
                &["userid=", "userid=a=b", "userid=c="],
                Some("c"),
            ),
            ("true", "ann", &["userid="], None),
            ("true", "ann", &["u=1"], None),
            ("true", "ann", &[], None),
            ("true", "bob", &["userid=ann"], None),
            ("true", "dan", &["userid=ann"], None),
            ("true", " dan", &["userid=ann"], Some("ann")),
            ("false", "ann", &["userid=bob"], None),
        ] {
            let source: BTreeMap<String, String> = [
                (format!("{PREFIX}enable"), enabled.to_owned()),
                (
                    format!("{PREFIX}username.whitelist"),
                    "cid,ann, dan".to_owned(),
                ),
            ]
            .into();
            let rule = TagUserOverride::read(&source);
            assert_eq!(rule.named(submitter, tags), want, "{submitter} {tags:?}");
        }
    }
}
