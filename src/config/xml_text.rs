//! Characters, names and encodings of XML, where the event reader takes anything.

use std::ops::Range;

use quick_xml::XmlVersion;
use quick_xml::events::BytesDecl;
use quick_xml::events::attributes::Attributes;

use super::diagnostic::{Diagnostic, Span, clip};
use super::other_files;

/// Checks the encoding; the offset is that of the first character after a byte order mark.
pub(super) fn decode(bytes: &[u8], file: usize) -> Result<(&str, usize), Box<Diagnostic>> {
    if let Some(packed) = other_files::of_bytes(bytes) {
        let text = format!("the file is {}", packed.what);
        let finding = refusal("E_XML_SYNTAX", text, file, 0..2);
        return Err(Box::new(finding.help(packed.next)));
    }
    if let Some((name, width)) = wide(bytes) {
        let text = format!("the file is {name}; only UTF-8 is read");
        let finding = refusal("E_XML_ENCODING", text, file, 0..width);
        let help = format!("convert it with `iconv -f {name} -t UTF-8`");
        return Err(Box::new(finding.help(help)));
    }
    let mark = bytes.starts_with(&[0xef, 0xbb, 0xbf]);
    let offset = if mark { 3 } else { 0 };
    let text = std::str::from_utf8(&bytes[offset..])
        .map_err(|e| Box::new(no_text(bytes, offset + e.valid_up_to(), file)))?;
    let bad = |c: char| {
        (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || ('\u{fffe}'..='\u{ffff}').contains(&c)
    };
    if let Some((at, c)) = text.char_indices().find(|&(_, c)| bad(c)) {
        let at = offset + at;
        let text = format!("the character U+{:04X} may not stand in XML", u32::from(c));
        let span = at..at + c.len_utf8();
        return Err(Box::new(refusal("E_XML_CHAR", text, file, span)));
    }
    Ok((text, offset))
}

/// The encoding of a file with several bytes in each character, and the bytes of one.
const fn wide(bytes: &[u8]) -> Option<(&'static str, usize)> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..]
        | [0, 0, 0xfe, 0xff, ..]
        | [b'<', 0, 0, 0, ..]
        | [0, 0, 0, b'<', ..] => Some(("UTF-32", 4)),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..] => Some(("UTF-16", 2)),
        _ => None,
    }
}

fn refusal(code: &'static str, text: String, file: usize, bytes: Range<usize>) -> Diagnostic {
    Diagnostic::error(code, text).at(Some(Span { file, bytes }))
}

/// A byte that is no text: in a file of another encoding, or in a damaged one.
fn no_text(bytes: &[u8], at: usize, file: usize) -> Diagnostic {
    let byte = bytes[at];
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let (code, name) = match declared(&head) {
        Some(name) if !matches!(&*name.to_ascii_lowercase(), "utf-8" | "utf8") => {
            ("E_XML_ENCODING", clip(name))
        }
        _ => ("E_XML_UTF8", "<its encoding>".to_owned()),
    };
    let text = format!("the byte 0x{byte:02X} at offset {at} is no part of UTF-8 text");
    let help = format!("convert the file with `iconv -f {name} -t UTF-8`, or mend the byte");
    refusal(code, text, file, at..at + 1).help(help)
}

/// The encoding that the XML declaration at the start of a text names.
fn declared(head: &str) -> Option<&str> {
    let declaration = head.trim_start_matches('\u{feff}').strip_prefix("<?xml")?;
    let declaration = declaration.split("?>").next()?;
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
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
