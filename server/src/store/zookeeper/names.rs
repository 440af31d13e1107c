//! Keys as paths of nodes.
//!
//! A key is cut at each `/`. A last part that is a number of twenty digits is cut before its last three, so that a node
//! has at most 1,000 children of a journal. The last character of a name says what the node is:
//!
//! | name | node |
//! |---|---|
//! | `text+` | holds keys that go on with `text/` |
//! | `text~` | holds keys that go on with `text` |
//! | `text=` | the value of the key that ends with `text` |
//!
//! What a path cannot have, and these three characters, are written as `%XX`.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Characters that are escaped, besides those that are not ASCII.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'/').add(b'+').add(b'~').add(b'=');

/// Digits of a number in a key, and how many of them name its directory.
const DIGITS: usize = 20;
const OF_DIRECTORY: usize = 17;

/// What the name of a node says, as a part of keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Component {
    /// Keys below it go on with this text.
    Directory(String),
    /// The key ends with this text.
    Value(String),
}

impl Component {
    /// Reads a name; nothing where it is not one of this store.
    pub(super) fn read(name: &str) -> Option<Self> {
        let kind = name.chars().last()?;
        let text = name.strip_suffix(kind)?;
        let text = percent_decode_str(text).decode_utf8().ok()?;
        match kind {
            '+' => Some(Self::Directory(format!("{text}/"))),
            '~' => Some(Self::Directory(text.into_owned())),
            '=' => Some(Self::Value(text.into_owned())),
            _ => None,
        }
    }
}

/// The names of the nodes of a key: those of directories, from the top, then that of the value.
pub(super) fn names(key: &str) -> Vec<String> {
    let escaped = |text: &str, kind: char| format!("{}{kind}", utf8_percent_encode(text, ESCAPED));
    let (above, last) = key
        .rsplit_once('/')
        .map_or((None, key), |(above, last)| (Some(above), last));
    let above = above.into_iter().flat_map(|above| above.split('/'));
    let mut names: Vec<String> = above.map(|part| escaped(part, '+')).collect();
    let numbered = last.len() == DIGITS && last.bytes().all(|byte| byte.is_ascii_digit());
    let (directory, value) = last.split_at(if numbered { OF_DIRECTORY } else { 0 });
    if numbered {
        names.push(escaped(directory, '~'));
    }
    names.push(escaped(value, '='));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_names() {
        for key in [
            "",
            "k",
            "a/",
            "/a",
            "a//b",
            ".",
            "../x",
            "conf/latest",
            "a%2F+~=",
            "tab\tand\u{7f}\u{e9}",
            "journal/00000000000000012345",
            "snapshot/at/00000000000000012345/00000000000000000000",
        ] {
            let names = names(key);
            let mut text = String::new();
            for (at, name) in names.iter().enumerate() {
                assert!(name.is_ascii() && !name.contains('/'), "{name}");
                match Component::read(name).unwrap() {
                    Component::Directory(part) if at + 1 < names.len() => text += &part,
                    Component::Value(part) if at + 1 == names.len() => text += &part,
                    other => panic!("{key}: {other:?}"),
                }
            }
            assert_eq!(text, key);
        }
    }

    #[test]
    fn commands_of_a_journal_stand_in_directories() {
        let key = "journal/00000000000000012345";
        assert_eq!(names(key), ["journal+", "00000000000000012~", "345="]);
    }

    #[test]
    fn names_of_other_programs_are_none_of_ours() {
        for name in ["", "zookeeper", "lock-0000000001", "%FF="] {
            assert_eq!(Component::read(name), None, "{name}");
        }
    }
}
