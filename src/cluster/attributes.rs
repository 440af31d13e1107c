//! Attributes of nodes: names, values, and how mappings change them.

use std::collections::BTreeSet;
use std::fmt;

/// Characters of a prefix, a name or a value at most.
const MAX_LENGTH: usize = 255;

/// Attributes of one node, and of one mapping, at most.
// Differs: the reference has no bound.
const MOST: usize = 1000;

/// How a mapping changes the attributes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeMapping {
    /// Attributes are added. One that the node has keeps its value: the reference compares the
    /// value that was mapped first.
    Add,
    /// Attributes go, whatever their value.
    Remove,
    /// All attributes of a prefix give way to those of the mapping; of every prefix when empty. A
    /// mapping without attributes changes nothing.
    Replace {
        /// The prefix, such as `rm.yarn.io` or `nm.yarn.io`.
        prefix: String,
    },
}

/// Why a mapping was refused; nothing changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeError {
    /// The prefix has other characters than letters, digits, `-`, `_` and `.`, begins with one
    /// of the last three, or is too long.
    Prefix(String),
    /// The name is empty or too long, or has other characters than letters, digits, `-` and `_`.
    Name(String),
    /// The value has other characters than letters, digits, `-`, `_` and `.`, or is too long.
    Value(String),
    /// The mapping has so many attributes, or the node would, which are more than 1,000.
    TooMany(usize),
}

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, text) = match self {
            Self::Prefix(text) => ("prefix", text),
            Self::Name(text) => ("name", text),
            Self::Value(text) => ("value", text),
            Self::TooMany(number) => {
                return write!(f, "{number} node attributes are more than {MOST}");
            }
        };
        write!(f, "`{text}` cannot be the {what} of a node attribute")
    }
}

impl std::error::Error for AttributeError {}

/// Attributes as `prefix/name` and value.
pub type Attributes = Vec<(String, String)>;

/// Changes the attributes of a node by a mapping.
///
/// # Errors
///
/// As [`AttributeError`]; the attributes are as before then.
// As NodeAttributesManagerImpl.validate and internalUpdateAttributesOnNodes.
pub fn map_attributes(
    present: &mut Attributes,
    mapping: &AttributeMapping,
    attributes: &[(String, String)],
) -> Result<(), AttributeError> {
    if attributes.len() > MOST {
        return Err(AttributeError::TooMany(attributes.len()));
    }
    let mapped = attributes
        .iter()
        .map(|(name, value)| checked(name, value))
        .collect::<Result<Attributes, _>>()?;
    if mapped.is_empty() {
        return Ok(());
    }
    if *mapping == AttributeMapping::Remove {
        let names: BTreeSet<&str> = mapped.iter().map(|(name, _)| name.as_str()).collect();
        present.retain(|(name, _)| !names.contains(name.as_str()));
        return Ok(());
    }
    add_to(present, mapped, |(name, _)| match mapping {
        AttributeMapping::Replace { prefix } => !prefix.is_empty() && prefix_of(name) != prefix,
        AttributeMapping::Add | AttributeMapping::Remove => true,
    })
}

/// Adds those attributes whose names are not among the ones that stay, of which the others go.
fn add_to(
    present: &mut Attributes,
    mapped: Attributes,
    stays: impl Fn(&(String, String)) -> bool,
) -> Result<(), AttributeError> {
    let kept = present.iter().filter(|attribute| stays(attribute));
    let mut names: BTreeSet<&str> = kept.map(|(name, _)| name.as_str()).collect();
    let are_new: Vec<bool> = mapped
        .iter()
        .map(|(name, _)| names.insert(name.as_str()))
        .collect();
    if names.len() > MOST {
        return Err(AttributeError::TooMany(names.len()));
    }
    drop(names);
    present.retain(stays);
    let new = mapped
        .into_iter()
        .zip(are_new)
        .filter(|&(_, is_new)| is_new);
    present.extend(new.map(|(attribute, _)| attribute));
    Ok(())
}

/// Whether a text may be the full name of an attribute, `prefix/name`.
#[must_use]
pub fn is_attribute_name(name: &str) -> bool {
    name.contains('/') && checked(name, "").is_ok_and(|(full, _)| full == name)
}

fn prefix_of(name: &str) -> &str {
    name.split_once('/').map_or("", |(prefix, _)| prefix)
}

/// A valid attribute without blanks around its parts.
// As NodeLabelUtil.checkAndThrowAttributeName, ...Prefix and ...Value. A name with blanks around
// it is another attribute in the reference; here it is the one without.
fn checked(name: &str, value: &str) -> Result<(String, String), AttributeError> {
    let (prefix, short) = name.split_once('/').unwrap_or(("", name));
    let (prefix, short, value) = (prefix.trim(), short.trim(), value.trim());
    if !prefix.is_empty() && !is_word(prefix, true) {
        return Err(AttributeError::Prefix(shown(prefix)));
    }
    if !is_word(short, false) {
        return Err(AttributeError::Name(shown(short)));
    }
    if !value.is_empty() && !is_word(value, true) {
        return Err(AttributeError::Value(shown(value)));
    }
    Ok((format!("{prefix}/{short}"), value.to_owned()))
}

/// Whether a text begins with a letter or a digit and goes on with those, `-`, `_` and dots.
fn is_word(text: &str, dots: bool) -> bool {
    let further = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || dots && c == '.';
    text.len() <= MAX_LENGTH
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(further)
}

/// The beginning of a text, without control characters.
fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Attributes {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        };
        text.split_whitespace().map(pair).collect()
    }

    fn mapped(present: &str, mapping: AttributeMapping, attributes: &str) -> Attributes {
        let mut present = pairs(present);
        map_attributes(&mut present, &mapping, &pairs(attributes)).unwrap();
        present
    }

    fn replace(prefix: &str) -> AttributeMapping {
        AttributeMapping::Replace {
            prefix: prefix.to_owned(),
        }
    }

    #[test]
    fn an_added_attribute_that_is_there_keeps_its_value() {
        let found = mapped(
            "rm.yarn.io/os=linux",
            AttributeMapping::Add,
            "rm.yarn.io/os=aix rm.yarn.io/jdk=8",
        );
        assert_eq!(found, pairs("rm.yarn.io/os=linux rm.yarn.io/jdk=8"));
    }

    #[test]
    fn attributes_are_removed_by_name() {
        let found = mapped(
            "rm.yarn.io/os=linux nm.yarn.io/os=linux",
            AttributeMapping::Remove,
            "rm.yarn.io/os=other",
        );
        assert_eq!(found, pairs("nm.yarn.io/os=linux"));
    }

    #[test]
    fn a_node_has_a_bounded_number_of_attributes() {
        let numbered = |from: usize, to: usize| -> Attributes {
            let one = |number| (format!("a/n{number}"), "v".to_owned());
            (from..to).map(one).collect()
        };
        let mut present = Attributes::new();
        map_attributes(&mut present, &AttributeMapping::Add, &numbered(0, 1000)).unwrap();
        assert_eq!(present.len(), 1000);
        let more = [numbered(1000, 1001), numbered(0, 1001)];
        for more in more {
            let refused = map_attributes(&mut present, &AttributeMapping::Add, &more);
            assert_eq!(refused, Err(AttributeError::TooMany(1001)));
            assert_eq!(present, numbered(0, 1000));
        }
        map_attributes(&mut present, &replace("a"), &numbered(500, 1500)).unwrap();
        assert_eq!(present, numbered(500, 1500));
        map_attributes(
            &mut present,
            &AttributeMapping::Remove,
            &numbered(501, 1500),
        )
        .unwrap();
        assert_eq!(present, numbered(500, 501));
    }

    #[test]
    fn a_replacement_takes_all_of_its_prefix() {
        let present = "rm.yarn.io/jdk=8 nm.yarn.io/gpu=t4";
        for (prefix, attributes, want) in [
            (
                "rm.yarn.io",
                "rm.yarn.io/os=aix",
                "nm.yarn.io/gpu=t4 rm.yarn.io/os=aix",
            ),
            // One of another prefix is added, as by the first kind of mapping.
            ("rm.yarn.io", "nm.yarn.io/gpu=v", "nm.yarn.io/gpu=t4"),
            (
                "nm.yarn.io",
                "nm.yarn.io/gpu=a100",
                "rm.yarn.io/jdk=8 nm.yarn.io/gpu=a100",
            ),
            ("", "x/y=z", "x/y=z"),
            ("rm.yarn.io", "", present),
        ] {
            let found = mapped(present, replace(prefix), attributes);
            assert_eq!(found, pairs(want), "{prefix} {attributes}");
        }
    }

    #[test]
    fn names_and_values_that_hadoop_refuses_are_refused() {
        for (name, value, want) in [
            ("rm.yarn.io/-a", "v", Some("name")),
            ("rm.yarn.io/a b", "v", Some("name")),
            ("rm.yarn.io/a.b", "v", Some("name")),
            ("rm.yarn.io/", "v", Some("name")),
            ("_p/n", "v", Some("prefix")),
            ("rm.yarn.io/n", "a/b", Some("value")),
            ("rm.yarn.io/n", "-v", Some("value")),
            ("rm.yarn.io/n", "1.8_x-", None),
            ("rm.yarn.io/n", "", None),
            ("n", " v ", None),
        ] {
            let mut present = pairs("a/b=c");
            let attributes = [(name.to_owned(), value.to_owned())];
            let found = map_attributes(&mut present, &AttributeMapping::Add, &attributes);
            match want {
                Some(word) => {
                    let text = found.unwrap_err().to_string();
                    assert!(text.contains(&format!("the {word} of")), "{name}: {text}");
                    assert_eq!(present, pairs("a/b=c"));
                }
                None => assert_eq!(found, Ok(()), "{name}"),
            }
        }
        let long = "x".repeat(256);
        assert!(checked(&long, "v").is_err() && checked("n", &long).is_err());
        assert_eq!(checked(" n ", " v "), Ok(("/n".to_owned(), "v".to_owned())));
    }
}
