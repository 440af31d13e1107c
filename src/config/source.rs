//! Where the readers of single topics take property values from, and how lists are split.

use std::collections::BTreeMap;

use super::number;
use super::properties::Properties;

/// Property values by full key, after substitution of variables.
pub trait PropertySource {
    /// The value of a property, untrimmed; nothing when it is not set.
    fn get(&self, key: &str) -> Option<String>;

    /// The value of a property; nothing also when it is empty.
    fn filled(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| !value.is_empty())
    }

    /// A property that is `true` or `false` in any case; `default` when it is anything else.
    // As Configuration.getBoolean.
    fn flag(&self, key: &str, default: bool) -> bool {
        let value = self.get(key);
        value
            .and_then(|value| number::boolean(&value))
            .unwrap_or(default)
    }
}

impl PropertySource for BTreeMap<String, String> {
    fn get(&self, key: &str) -> Option<String> {
        Self::get(self, key).cloned()
    }
}

impl PropertySource for Properties {
    /// A value whose variables cannot be replaced counts as not set; loading has refused it.
    fn get(&self, key: &str) -> Option<String> {
        self.text(key).ok().flatten()
    }
}

/// The entries of a list that is separated by commas or line ends: trimmed, without empty ones and
/// repetitions.
// As Configuration.getTrimmedStringCollection.
pub(super) fn entries(list: &str) -> Vec<&str> {
    let mut seen = std::collections::BTreeSet::new();
    let entries = number::trimmed_list(list).into_iter();
    entries
        .filter(|entry| !entry.is_empty() && seen.insert(*entry))
        .collect()
}

/// The parts of an entry between colons: trimmed, without empty ones.
// As StringUtils.getTrimmedStringCollection with a delimiter.
pub(super) fn parts(entry: &str) -> Vec<&str> {
    let parts = entry.split(':').map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_at_commas_and_lines_and_are_sets() {
        let list = "\t a, b\n c,,a ,\n";
        assert_eq!(entries(list), ["a", "b", "c"]);
        assert_eq!(entries(""), [] as [&str; 0]);
        assert_eq!(parts(" u : a::b "), ["u", "a", "b"]);
    }

    #[test]
    fn flags_are_trimmed_and_in_any_case() {
        let values = [("a", " TRUE "), ("b", "false"), ("c", "yes"), ("d", "")];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let source = BTreeMap::from(values);
        let read = |key| (source.flag(key, true), source.flag(key, false));
        assert_eq!(read("a"), (true, true));
        assert_eq!(read("b"), (false, false));
        for unusable in ["c", "d", "e"] {
            assert_eq!(read(unusable), (true, false), "{unusable}");
        }
        assert_eq!(source.filled("d"), None);
    }
}
