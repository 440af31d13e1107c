//! The properties of capacity-scheduler.xml by name, as text and back.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capsched::config::{self, ConfigSource, Diagnostic, DocumentLimits, Layer};
use quick_xml::escape::escape;

/// The properties of capacity-scheduler.xml, by full name, with values as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfProperties {
    values: BTreeMap<String, String>,
}

impl ConfProperties {
    /// Reads a file: the last value of a name counts, and a property without a value does not exist.
    ///
    /// # Errors
    ///
    /// The finding, with its place, when the text is no configuration.
    pub fn read(text: &[u8]) -> Result<Self, Box<Diagnostic>> {
        let document = config::read(text, 0, &DocumentLimits::default())?;
        let properties = document.properties.into_iter();
        let values = properties.filter_map(|one| Some((one.name, one.value?)));
        Ok(values.collect())
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many properties there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All names and values.
    #[must_use]
    pub const fn as_map(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    /// The same with some names set and, where there is no value, unset.
    #[must_use]
    pub fn with(&self, updates: &BTreeMap<String, Option<String>>) -> Self {
        let mut next = self.clone();
        for (name, value) in updates {
            next.set(name, value.as_deref());
        }
        next
    }

    /// Sets a name, or unsets it where there is no value.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => {
                self.values.insert(name.to_owned(), value.to_owned());
            }
            None => {
                self.values.remove(name);
            }
        }
    }

    /// The updates that turn this configuration into another one.
    #[must_use]
    pub fn updates_to(&self, next: &Self) -> BTreeMap<String, Option<String>> {
        let set = next.values.iter();
        let set = set.filter(|(name, value)| self.values.get(*name) != Some(value));
        let set = set.map(|(name, value)| (name.clone(), Some(value.clone())));
        let gone = self.values.keys();
        let gone = gone.filter(|name| !next.values.contains_key(*name));
        set.chain(gone.map(|name| (name.clone(), None))).collect()
    }

    /// As a file that Hadoop reads, one property a line.
    #[must_use]
    pub fn to_file(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n");
        for (name, value) in &self.values {
            let (name, value) = (escape(name), written(value));
            let _ = writeln!(
                out,
                "  <property><name>{name}</name><value>{value}</value></property>"
            );
        }
        out.push_str("</configuration>\n");
        out
    }

    /// As a source for the configuration's reader.
    #[must_use]
    pub fn to_source(&self, name: &str) -> ConfigSource {
        ConfigSource {
            name: name.to_owned(),
            bytes: self.to_file().into_bytes(),
            layer: Layer::Scheduler,
        }
    }
}

impl FromIterator<(String, String)> for ConfProperties {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(properties: T) -> Self {
        Self {
            values: properties.into_iter().collect(),
        }
    }
}

/// A value as the text of an element. A carriage return stands as a reference: a reader turns it into a line feed.
fn written(value: &str) -> String {
    escape(value).replace('\r', "&#13;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn updates_lead_from_one_configuration_to_the_other() {
        let of = |pairs: &[(&str, &str)]| -> ConfProperties {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let before = of(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let after = of(&[("a", "1"), ("b", "4"), ("d", "5")]);
        let updates = before.updates_to(&after);
        assert_eq!(updates.len(), 3);
        assert_eq!(updates["c"], None);
        assert_eq!(before.with(&updates), after);
    }

    #[test]
    fn text_that_is_no_configuration_is_refused() {
        assert!(ConfProperties::read(b"<configuration><property>").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            pairs in prop::collection::btree_map("[a-z.]{1,12}", "[ -~\\n\\t\\r\u{e9}\u{4e2d}]{1,20}", 0..8)
        ) {
            let properties: ConfProperties = pairs.into_iter().collect();
            let read = ConfProperties::read(properties.to_file().as_bytes()).unwrap();
            prop_assert_eq!(read, properties);
        }
    }
}
