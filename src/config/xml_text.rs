//! Characters, names and encodings of XML, where the event reader takes anything.

use std::ops::Range;

use quick_xml::XmlVersion;
use quick_xml::events::BytesDecl;
use quick_xml::events::attributes::Attributes;

use super::diagnostic::{Diagnostic, Span};

/// Checks the encoding; the offset is that of the first character after a byte order mark.
pub(super) fn decode(bytes: &[u8], file: usize) -> Result<(&str, usize), Box<Diagnostic>> {
    let refuse = |code, text: &str, range: Range<usize>| {
        let span = Span { file, bytes: range };
        Err(Box::new(Diagnostic::error(code, text).at(Some(span))))
    };
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..] => {
            return refuse(
                "E_XML_ENCODING",
                "the file is UTF-16; only UTF-8 is read",
                0..2,
            );
        }
        [0x1f, 0x8b, ..] => return refuse("E_XML_SYNTAX", "the file looks like gzip", 0..2),
        _ => {}
    }
    let offset = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        3
    } else {
        0
    };
    let text = match std::str::from_utf8(&bytes[offset..]) {
        Ok(text) => text,
        Err(e) => {
            let at = offset + e.valid_up_to();
            let head = String::from_utf8_lossy(&bytes[offset..bytes.len().min(200)]);
            let declared = head.contains("encoding=") && !head.to_lowercase().contains("utf-8");
            let code = if declared {
                "E_XML_ENCODING"
            } else {
                "E_XML_UTF8"
            };
            return refuse(code, "the file is not UTF-8", at..at + 1);
        }
    };
    let bad = |c: char| {
        (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || ('\u{fffe}'..='\u{ffff}').contains(&c)
    };
    if let Some((at, c)) = text.char_indices().find(|&(_, c)| bad(c)) {
        let at = offset + at;
        let text = format!("the character U+{:04X} may not stand in XML", u32::from(c));
        return refuse("E_XML_CHAR", &text, at..at + c.len_utf8());
    }
    Ok((text, offset))
}

/// A name without its prefix.
pub(super) fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Whether a reference may stand for the character.
pub(super) fn allowed(c: char, version: XmlVersion) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\0' | '\u{fffe}' | '\u{ffff}' => false,
        c if c < ' ' => version == XmlVersion::Explicit1_1,
        _ => true,
    }
}

pub(super) fn is_name(name: &str) -> bool {
    let start = |c: char| c.is_alphabetic() || matches!(c, '_' | ':');
    let part = |c: char| start(c) || c.is_alphanumeric() || matches!(c, '-' | '.' | '\u{b7}');
    name.chars().next().is_some_and(start) && name.chars().all(part)
}

/// What a text without elements looks like.
pub(super) fn other_form(text: &str) -> &'static str {
    match text.trim_start().chars().next() {
        Some('{' | '[') => "; it looks like JSON",
        Some('-' | '#') => "; it looks like YAML",
        _ => "",
    }
}

/// Whether an instruction may have the target.
pub(super) fn is_target(target: &str) -> bool {
    !target.eq_ignore_ascii_case("xml") && !target.contains(':')
}

/// Whether the parts of an XML declaration are known ones, in their order.
pub(super) fn is_declaration(decl: &BytesDecl<'_>) -> bool {
    let mut rest = ["version", "encoding", "standalone"].into_iter();
    let mut parts = Attributes::new(decl, "xml".len());
    let known = parts.all(|part| part.is_ok_and(|part| rest.any(|name| name == part.key.as_ref())));
    let standalone = decl.standalone();
    known && standalone.is_none_or(|value| value.is_ok_and(|v| matches!(&*v, "yes" | "no")))
}

pub(super) fn code_of(error: &quick_xml::Error) -> &'static str {
    use quick_xml::errors::{Error, IllFormedError};
    match error {
        Error::IllFormed(IllFormedError::MissingEndTag(_)) => "E_XML_UNCLOSED",
        Error::IllFormed(
            IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_),
        ) => "E_XML_MISMATCH",
        Error::InvalidAttr(_) => "E_XML_ATTR",
        Error::IllFormed(IllFormedError::UnclosedReference) | Error::Escape(_) => "E_XML_ENTITY",
        Error::Encoding(_) => "E_XML_ENCODING",
        _ => "E_XML_SYNTAX",
    }
}
