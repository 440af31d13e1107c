//! Prefixes of XML: which are declared where, and which names are the same by them.

use quick_xml::XmlVersion;

use super::xml_text::is_name;

/// What the prefix `xml` stands for everywhere.
const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// What the prefix `xmlns` stands for everywhere.
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// The declarations of all open elements.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Prefixes with what they stand for, those of inner elements last.
    declared: Vec<(String, String)>,
    /// For each open element how many declarations there are outside of it.
    outside: Vec<usize>,
}

impl Names {
    /// Takes in the names of an opened element and of its attributes, which come with their
    /// values.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words.
    // As Namespaces in XML, which the original's parser follows.
    pub(super) fn open<'a>(
        &mut self,
        element: &str,
        attributes: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        version: XmlVersion,
    ) -> Result<(), String> {
        self.outside.push(self.declared.len());
        for (name, value) in attributes.clone() {
            if name == "xmlns" {
                declare("", value, version)?;
            } else if let ("xmlns", prefix) = split(name)? {
                declare(prefix, value, version)?;
                self.declared.push((prefix.to_owned(), value.to_owned()));
            }
        }
        self.meaning(split(element)?.0)?;
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for (name, _) in attributes {
            let (prefix, local) = split(name)?;
            // An attribute without a prefix is in no namespace, not even in the default one.
            if matches!(prefix, "" | "xmlns") {
                continue;
            }
            let known = (self.meaning(prefix)?, local);
            if seen.contains(&known) {
                return Err(format!(
                    "the attribute `{name}` stands twice, by its meaning"
                ));
            }
            seen.push(known);
        }
        Ok(())
    }

    /// Forgets the declarations of the element that was opened last.
    pub(super) fn close(&mut self) {
        self.declared.truncate(self.outside.pop().unwrap_or(0));
    }

    /// What a prefix stands for.
    fn meaning(&self, prefix: &str) -> Result<&str, String> {
        match prefix {
            "" => return Ok(""),
            "xml" => return Ok(XML),
            _ => {}
        }
        let mut declared = self.declared.iter().rev();
        let found = declared.find(|(known, _)| known == prefix);
        let found = found.filter(|(_, meaning)| !meaning.is_empty());
        found
            .map(|(_, meaning)| &**meaning)
            .ok_or_else(|| format!("the prefix `{prefix}` is not declared"))
    }
}

/// Prefix and rest of a name; the prefix is empty when there is none.
fn split(name: &str) -> Result<(&str, &str), String> {
    let (prefix, local) = name.split_once(':').unwrap_or(("", name));
    let plain = |part: &str| is_name(part) && !part.contains(':');
    if plain(local) && (plain(prefix) || local == name) {
        Ok((prefix, local))
    } else {
        Err(format!("`{name}` is no name, with or without a prefix"))
    }
}

/// Whether a prefix, or no prefix, may stand for something.
fn declare(prefix: &str, meaning: &str, version: XmlVersion) -> Result<(), String> {
    let fine = match prefix {
        "xmlns" => false,
        "xml" => meaning == XML,
        _ if matches!(meaning, XML | XMLNS) => false,
        "" => true,
        // The second version of XML can take a declaration back.
        _ => !meaning.is_empty() || version == XmlVersion::Explicit1_1,
    };
    fine.then_some(())
        .ok_or_else(|| format!("the prefix `{prefix}` cannot stand for `{meaning}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(names: &mut Names, element: &str, attributes: &[(&str, &str)]) -> bool {
        let attributes = attributes.iter().copied();
        let opened = names.open(element, attributes, XmlVersion::Explicit1_0);
        opened.is_ok()
    }

    #[test]
    fn prefixes_are_declared_within_their_element() {
        let mut names = Names::default();
        assert!(open(&mut names, "a:x", &[("xmlns:a", "u")]));
        assert!(open(&mut names, "a:y", &[("a:n", ""), ("n", "")]));
        names.close();
        names.close();
        assert!(!open(&mut names, "a:x", &[]));
        assert!(open(&mut Names::default(), "xml:x", &[("xml:lang", "")]));
        assert!(!open(&mut Names::default(), "xmlns:x", &[]));
    }

    #[test]
    fn declarations_that_mean_nothing_are_refused() {
        for (name, value, allowed) in [
            ("xmlns", "", true),
            ("xmlns", XML, false),
            ("xmlns:a", "", false),
            ("xmlns:a", XMLNS, false),
            ("xmlns:xml", XML, true),
            ("xmlns:xml", "u", false),
            ("xmlns:xmlns", XMLNS, false),
            ("xmlns:", "u", false),
            ("xmlns:a:b", "u", false),
            (":a", "", false),
            ("1a", "", false),
        ] {
            let opened = open(&mut Names::default(), "x", &[(name, value)]);
            assert_eq!(opened, allowed, "{name}=\"{value}\"");
        }
        let back = [("xmlns:a", "")].into_iter();
        let mut names = Names::default();
        assert!(names.open("x", back, XmlVersion::Explicit1_1).is_ok());
    }

    #[test]
    fn one_name_by_two_prefixes_stands_twice() {
        let both = [("xmlns:a", "u"), ("xmlns:b", "u"), ("a:n", ""), ("b:n", "")];
        assert!(!open(&mut Names::default(), "x", &both));
        let other = [("xmlns:a", "u"), ("xmlns:b", "v"), ("a:n", ""), ("b:n", "")];
        assert!(open(&mut Names::default(), "x", &other));
    }
}
