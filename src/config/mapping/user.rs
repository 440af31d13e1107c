//! The user that an application tag may name for placement.

use crate::config::source::{PropertySource, entries};

/// Prefix of the properties.
const PREFIX: &str = "yarn.resourcemanager.application-tag-based-placement.";

/// Start of the tag that names a user.
const TAG: &str = "userid=";

/// Lets trusted submitters name another user for placement by a tag `userid=<name>`.
// As RMAppManager.getUserNameForPlacement.
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
            trusted: entries(&list).into_iter().map(str::to_owned).collect(),
        }
    }

    /// The user that the placement rules see. Everything but placement goes on with the submitter.
    #[must_use]
    pub fn user<'a, T: AsRef<str>>(&self, submitter: &'a str, tags: &'a [T]) -> &'a str {
        if !self.trusted.iter().any(|user| user == submitter) {
            return submitter;
        }
        let mut tags = tags.iter().filter_map(|tag| tag.as_ref().strip_prefix(TAG));
        tags.find(|user| !user.is_empty()).unwrap_or(submitter)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn only_trusted_submitters_may_name_another_user() {
        for (enabled, submitter, tags, want) in [
            ("true", "ann", &["userid=bob"][..], "bob"),
            ("true", "ann", &["x", "userid=b.c", "userid=d"], "b.c"),
            ("true", "ann", &["userid="], "ann"),
            ("true", "ann", &["u=1"], "ann"),
            ("true", "ann", &[], "ann"),
            ("true", "bob", &["userid=ann"], "bob"),
            ("false", "ann", &["userid=bob"], "ann"),
        ] {
            let source: BTreeMap<String, String> = [
                (format!("{PREFIX}enable"), enabled.to_owned()),
                (format!("{PREFIX}username.whitelist"), "cid, ann".to_owned()),
            ]
            .into();
            let rule = TagUserOverride::read(&source);
            assert_eq!(rule.user(submitter, tags), want, "{submitter} {tags:?}");
        }
    }
}
