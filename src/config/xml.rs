//! Reads Hadoop configuration XML and keeps the byte range of every name and value.
//!
//! What counts as a property follows Hadoop's stream reader: names of elements are compared
//! without prefix, `configuration` may be nested or have another name, unknown elements are
//! passed over, and text is collected from the last `name`, `value`, `final`, `source` or `tag`
//! on. Whether the file is well-formed is judged more strictly than the event reader does. No
//! entity and no other file is ever read.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attribute as RawAttribute;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};

use super::diagnostic::{Diagnostic, Span, clip, clip_message};
use super::document::{Document, DocumentLimits, Property};
use super::encoding;
use super::number;
use super::other_files;
use super::xml_names::Names;
use super::xml_text::{allowed, code_of, decode, is_declaration, is_target, local};

/// Reads a file; `file` is its index in the report.
///
/// # Errors
///
/// When the text is not well-formed, uses a document type, includes another file, or exceeds a
/// limit. Nothing of the file is used then.
pub fn read(
    bytes: &[u8],
    file: usize,
    limits: &DocumentLimits,
) -> Result<Document, Box<Diagnostic>> {
    if bytes.len() > limits.bytes {
        let text = format!(
            "the file has {} bytes, more than {}",
            bytes.len(),
            limits.bytes
        );
        return Err(Box::new(Diagnostic::error("E_LIMIT", text)));
    }
    let (text, offset) = decode(bytes, file)?;
    let mut machine = Machine {
        text,
        offset,
        file,
        limits,
        version: XmlVersion::Implicit1_0,
        stack: Vec::new(),
        names: Names::default(),
        fallback: false,
        seen_root: false,
        token: String::new(),
        token_span: 0..0,
        collecting: false,
        property: Pending::default(),
        document: Document::default(),
    };
    match machine.run() {
        Ok(()) => Ok(machine.document.with_kind(text)),
        Err(finding) => Err(Box::new(named(*finding, text))),
    }
}

/// The same finding, where the text is a file of another kind.
fn named(mut finding: Diagnostic, text: &str) -> Diagnostic {
    let Some(other) = other_files::of_text(text) else {
        return finding;
    };
    if text.trim_start().starts_with('<') && other == other_files::TEMPLATE {
        return finding.help(format!(
            "the file looks like {}: {}",
            other.what, other.next
        ));
    }
    finding.message = format!("the file is {}", other.what);
    finding.help(other.next)
}

#[derive(Default)]
struct Pending {
    name: Option<String>,
    value: Option<String>,
    is_final: bool,
    start: usize,
    name_span: Range<usize>,
    value_span: Option<Range<usize>>,
}

struct Machine<'a> {
    text: &'a str,
    offset: usize,
    file: usize,
    limits: &'a DocumentLimits,
    version: XmlVersion,
    stack: Vec<(&'a str, Range<usize>)>,
    names: Names,
    /// Whether a fallback hides properties, as it does until an inclusion ends.
    fallback: bool,
    seen_root: bool,
    token: String,
    token_span: Range<usize>,
    collecting: bool,
    property: Pending,
    document: Document,
}

/// Name, normalised value, and where the value stands.
type Attribute = (String, String, Range<usize>);

type Checked = Result<(), Box<Diagnostic>>;

impl<'a> Machine<'a> {
    fn run(&mut self) -> Checked {
        let mut reader = Reader::from_str(self.text);
        reader.config_mut().check_comments = true;
        let mut from = 0;
        loop {
            let event = reader.read_event();
            let to = at(reader.buffer_position());
            let event = match event {
                Ok(event) => event,
                Err(e) => {
                    let from = at(reader.error_position());
                    return self.fail(
                        code_of(&e),
                        &clip_message(&e.to_string()),
                        from..to.max(from),
                    );
                }
            };
            if matches!(event, Event::Eof) {
                break;
            }
            self.event(event, from..to)?;
            from = to;
        }
        if let Some((name, range)) = self.stack.last() {
            let text = format!("the element `{}` is never closed", clip(name));
            return self.fail("E_XML_UNCLOSED", &text, range.clone());
        }
        if self.seen_root {
            return Ok(());
        }
        let end = self.text.len();
        self.fail("E_XML_NO_ROOT", "the file has no element", end..end)
    }

    fn event(&mut self, event: Event<'a>, range: Range<usize>) -> Checked {
        match event {
            Event::Start(tag) => self.start(&tag, range, false),
            Event::Empty(tag) => self.start(&tag, range, true),
            Event::End(_) => self.end(range),
            Event::Text(text) => self.characters(&text.xml_content(self.version), range, true),
            Event::CData(text) => self.characters(&text.xml_content(self.version), range, false),
            Event::GeneralRef(name) => self.reference(&name, range),
            Event::Decl(decl) => self.declaration(&decl, range),
            Event::PI(pi) if !is_target(pi.target()) => {
                let text = format!("`{}` is no target of an instruction", clip(pi.target()));
                self.fail("E_XML_SYNTAX", &text, range)
            }
            // Hadoop ships its files with this one.
            Event::PI(pi) if pi.target() == "xml-stylesheet" => Ok(()),
            Event::PI(_) => {
                self.warn(
                    "W_XML_INSTRUCTION",
                    "a processing instruction has no effect",
                    range,
                );
                Ok(())
            }
            Event::DocType(_) => self.fail(
                "E_XML_DOCTYPE",
                "document types and their entities are not read",
                range,
            ),
            Event::Comment(_) | Event::Eof => Ok(()),
        }
    }

    fn declaration(&mut self, decl: &BytesDecl<'_>, range: Range<usize>) -> Checked {
        if range.start != 0 {
            let text = "the XML declaration must be the first thing in the file";
            return self.fail("E_XML_SYNTAX", text, range);
        }
        if !is_declaration(decl) {
            let text = "the XML declaration has a version, then maybe an encoding, then maybe \
                        `standalone` with `yes` or `no`, and nothing else";
            return self.fail("E_XML_SYNTAX", text, range);
        }
        match decl.xml_version() {
            Ok(version) => self.version = version,
            Err(e) => return self.fail("E_XML_SYNTAX", &clip_message(&e.to_string()), range),
        }
        match decl.encoding() {
            None => Ok(()),
            Some(Ok(name)) => {
                let utf8 = matches!(&*name.to_ascii_lowercase(), "utf-8" | "utf8");
                if utf8 || (self.text.is_ascii() && encoding::reads_ascii(&name)) {
                    return Ok(());
                }
                let text = format!("the encoding `{}` is not read; use UTF-8", clip(&name));
                self.fail("E_XML_ENCODING", &text, range)
            }
            Some(Err(e)) => self.fail("E_XML_ATTR", &clip_message(&e.to_string()), range),
        }
    }

    fn start(&mut self, tag: &BytesStart<'a>, range: Range<usize>, empty: bool) -> Checked {
        if self.stack.is_empty() && self.seen_root {
            return self.fail("E_XML_TRAILING", "a second root element", range);
        }
        // The slice of the text itself, which outlives the event.
        let start = range.start + 1;
        let name = &self.text[start..start + tag.name().0.len()];
        if self.stack.len() >= self.limits.depth {
            let text = format!("elements are nested more than {} deep", self.limits.depth);
            return self.fail("E_XML_DEPTH", &text, range);
        }
        let attributes = self.attributes(tag, &range)?;
        let pairs = attributes
            .iter()
            .map(|(name, value, _)| (&**name, &**value));
        if let Err(text) = self.names.open(name, pairs, self.version) {
            return self.fail("E_XML_SYNTAX", &clip_message(&text), range);
        }
        if self.stack.is_empty() {
            self.seen_root = true;
            self.document.other = other_files::of_root(name);
            if name != "configuration" {
                let text = format!("the root element is `{}`, not `configuration`", clip(name));
                self.warn("W_XML_ROOT", &text, range.clone());
            }
        }
        self.stack.push((name, range.clone()));
        self.open(name, attributes, &range)?;
        if empty { self.end(range) } else { Ok(()) }
    }

    /// The attributes with their normalised values and where those stand.
    fn attributes(
        &self,
        tag: &BytesStart<'_>,
        range: &Range<usize>,
    ) -> Result<Vec<Attribute>, Box<Diagnostic>> {
        let mut all = Vec::new();
        for attribute in tag.attributes() {
            if all.len() >= self.limits.attributes {
                let text = format!("a tag has more than {} attributes", self.limits.attributes);
                return self.fail("E_XML_LIMIT", &text, range.clone());
            }
            match attribute {
                Ok(attribute) => all.push(self.attribute(&attribute, range)?),
                Err(e) => {
                    let text = clip_message(&e.to_string());
                    return self.fail("E_XML_ATTR", &text, range.clone());
                }
            }
        }
        Ok(all)
    }

    fn attribute(
        &self,
        attribute: &RawAttribute<'_>,
        range: &Range<usize>,
    ) -> Result<Attribute, Box<Diagnostic>> {
        if attribute.value.contains('<') {
            let text = "`<` in a value of an attribute";
            return self.fail("E_XML_ATTR", text, range.clone());
        }
        let value = match attribute.normalized_value(self.version) {
            Ok(value) => value.into_owned(),
            Err(e) => {
                let text = clip_message(&e.to_string());
                return self.fail("E_XML_ENTITY", &text, range.clone());
            }
        };
        if let Some(c) = value.chars().find(|&c| !allowed(c, self.version)) {
            let text = format!("a reference to the character U+{:04X}", u32::from(c));
            return self.fail("E_XML_CHARREF", &text, range.clone());
        }
        // A raw value is a slice of the tag, and the tag one of the text.
        let from = attribute.value.as_ptr().addr();
        let start = from.saturating_sub(self.text.as_ptr().addr());
        let span = if start < self.text.len() {
            start..start + attribute.value.len()
        } else {
            range.clone()
        };
        Ok((attribute.key.as_ref().to_owned(), value, span))
    }

    fn open(&mut self, name: &str, attributes: Vec<Attribute>, range: &Range<usize>) -> Checked {
        match local(name) {
            "property" => self.open_property(attributes, range),
            "name" | "value" | "final" | "source" | "tag" => {
                self.collecting = true;
                self.token.clear();
                self.token_span = range.end..range.end;
            }
            "include" if attributes.iter().any(|(key, ..)| local(key) == "href") => {
                let text = "other files are not included; put their properties here";
                return self.fail("E_XML_INCLUDE", text, range.clone());
            }
            "fallback" => {
                self.fallback = true;
                let text = "properties in and after a fallback have no effect";
                self.warn("W_XML_ELEMENT", text, range.clone());
            }
            "configuration" | "description" | "include" => {}
            // Descriptions hold what people like; nobody reads it.
            _ if self
                .stack
                .iter()
                .any(|(name, _)| local(name) == "description") => {}
            other if self.stack.len() > 1 => {
                let text = format!("the element `{}` has no effect", clip(other));
                self.warn("W_XML_ELEMENT", &text, range.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn open_property(&mut self, attributes: Vec<Attribute>, range: &Range<usize>) {
        self.property = Pending {
            start: range.start,
            name_span: range.clone(),
            ..Pending::default()
        };
        for (key, value, span) in attributes {
            match local(&key) {
                "name" => {
                    self.property.name = Some(value);
                    self.property.name_span = span;
                }
                "value" => {
                    self.property.value = Some(value);
                    self.property.value_span = Some(span);
                }
                "final" => self.property.is_final = value == "true",
                _ => {}
            }
        }
    }

    fn end(&mut self, range: Range<usize>) -> Checked {
        let Some((name, _)) = self.stack.pop() else {
            return self.fail("E_XML_MISMATCH", "an end tag without a start tag", range);
        };
        self.names.close();
        match local(name) {
            "name" if !self.token.is_empty() => {
                let name = number::trim(&self.token).to_owned();
                if self.property.name.is_some() {
                    self.warn("W_XML_TWICE", "a second name; the last one counts", range);
                }
                self.property.name = Some(name);
                self.property.name_span = self.token_span.clone();
            }
            "value" if !self.token.is_empty() => {
                if self.property.value.is_some() {
                    self.warn("W_XML_TWICE", "a second value; the last one counts", range);
                }
                self.property.value = Some(self.token.clone());
                self.property.value_span = Some(self.token_span.clone());
            }
            "final" => self.property.is_final = self.token == "true",
            "include" => self.fallback = false,
            "property" => return self.close_property(range.end),
            _ => {}
        }
        Ok(())
    }

    fn close_property(&mut self, end: usize) -> Checked {
        let property = std::mem::take(&mut self.property);
        if self.fallback {
            return Ok(());
        }
        let whole = property.start..end;
        let Some(name) = property.name else {
            self.warn(
                "W_XML_NAMELESS",
                "a property without a name has no effect",
                whole,
            );
            return Ok(());
        };
        if self.document.properties.len() >= self.limits.properties {
            let text = format!("more than {} properties", self.limits.properties);
            return self.fail("E_LIMIT", &text, whole);
        }
        let shift = |r: Range<usize>| r.start + self.offset..r.end + self.offset;
        let property = Property {
            name,
            value: property.value,
            is_final: property.is_final,
            name_span: shift(property.name_span),
            value_span: shift(property.value_span.unwrap_or(whole)),
        };
        self.document.properties.push(property);
        Ok(())
    }

    fn characters(&mut self, text: &str, range: Range<usize>, markup: bool) -> Checked {
        if self.stack.is_empty() {
            if markup && text.chars().all(|c| c.is_ascii_whitespace()) {
                return Ok(());
            }
            let code = if self.seen_root {
                "E_XML_TRAILING"
            } else {
                "E_XML_NO_ROOT"
            };
            return self.fail(code, "text outside the root element", range);
        }
        if markup && self.text[range.clone()].contains("]]>") {
            return self.fail("E_XML_SYNTAX", "`]]>` outside a CDATA section", range);
        }
        self.collect(text, range);
        Ok(())
    }

    fn collect(&mut self, text: &str, range: Range<usize>) {
        if self.collecting {
            if self.token.is_empty() {
                self.token_span = range.clone();
            }
            self.token.push_str(text);
            self.token_span.end = range.end;
        }
    }

    fn reference(&mut self, name: &BytesRef<'_>, range: Range<usize>) -> Checked {
        if self.stack.is_empty() {
            return self.fail(
                "E_XML_SYNTAX",
                "a reference outside the root element",
                range,
            );
        }
        let c = match &**name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            other if !name.is_char_ref() => {
                let text = format!("the entity `{}` is not declared", clip(other));
                return self.fail("E_XML_ENTITY", &text, range);
            }
            other => match name.resolve_char_ref() {
                Ok(Some(c)) if allowed(c, self.version) => c,
                _ => {
                    let text = format!("`&{};` is no character of XML", clip(other));
                    return self.fail("E_XML_CHARREF", &text, range);
                }
            },
        };
        self.collect(c.encode_utf8(&mut [0; 4]), range);
        Ok(())
    }

    fn span(&self, range: Range<usize>) -> Span {
        let end = self.text.len();
        Span {
            file: self.file,
            bytes: range.start.min(end) + self.offset..range.end.min(end) + self.offset,
        }
    }

    fn fail<T>(
        &self,
        code: &'static str,
        text: &str,
        range: Range<usize>,
    ) -> Result<T, Box<Diagnostic>> {
        let finding = Diagnostic::error(code, text).at(Some(self.span(range)));
        Err(Box::new(finding))
    }

    fn warn(&mut self, code: &'static str, text: &str, range: Range<usize>) {
        // A file of a million odd elements has one oddity, not a million.
        if self.document.warnings.len() < 100 {
            let finding = Diagnostic::warning(code, text).at(Some(self.span(range)));
            self.document.warnings.push(finding);
        }
    }
}

fn at(position: u64) -> usize {
    usize::try_from(position).expect("a position in a slice")
}
