//! Bodies of requests, in JSON or XML, as JSON values.

use axum::http::StatusCode;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Map, Value};

use super::{Call, Failure};

/// Elements below each other at most.
const DEPTH: usize = 32;

/// The content of a body. The root element of XML is left out, repeated elements become arrays, and all values of
/// XML are text.
///
/// # Errors
///
/// 400 when it cannot be read; 415 when it is neither JSON nor XML.
pub(super) fn read(call: &Call) -> Result<Value, Failure> {
    match call.content_type.as_str() {
        "application/json" => call.json(),
        "application/xml" | "text/xml" => read_xml(&call.body),
        _ => Err(Failure::other(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "WebApplicationException",
            "the body is neither JSON nor XML",
        )),
    }
}

fn bad(text: impl std::fmt::Display) -> Failure {
    Failure::no_xml(format!("the body is no XML: {text}"))
}

/// An element that is not closed yet.
#[derive(Default)]
struct OpenElement {
    name: String,
    text: String,
    children: Map<String, Value>,
}

impl OpenElement {
    fn value(self) -> Value {
        if self.children.is_empty() {
            Value::String(self.text)
        } else {
            Value::Object(self.children)
        }
    }

    fn put(&mut self, name: String, value: Value) {
        match self.children.get_mut(&name) {
            None => {
                self.children.insert(name, value);
            }
            Some(Value::Array(all)) => all.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
        }
    }
}

fn read_xml(body: &[u8]) -> Result<Value, Failure> {
    let text = std::str::from_utf8(body).map_err(bad)?;
    let mut reader = Reader::from_str(text);
    let mut open: Vec<OpenElement> = Vec::new();
    loop {
        let event = reader.read_event().map_err(bad)?;
        if let Some(content) = take(&mut open, event)? {
            return Ok(content);
        }
    }
}

/// Takes the next event; the content of the root element once it is closed.
fn take(open: &mut Vec<OpenElement>, event: Event<'_>) -> Result<Option<Value>, Failure> {
    match event {
        Event::Start(start) => {
            if open.len() == DEPTH {
                return Err(bad("it is nested too deep"));
            }
            open.push(OpenElement {
                name: start.local_name().as_ref().to_owned(),
                ..OpenElement::default()
            });
        }
        Event::Empty(empty) => {
            let name = empty.local_name().as_ref().to_owned();
            match open.last_mut() {
                Some(parent) => parent.put(name, Value::String(String::new())),
                None => return Ok(Some(Value::Object(Map::new()))),
            }
        }
        Event::Text(part) => write_text(open, &part),
        Event::CData(part) => write_text(open, &part),
        Event::GeneralRef(name) => write_text(open, resolve(&name)?.encode_utf8(&mut [0; 4])),
        Event::End(_) => return close(open),
        Event::DocType(_) => return Err(bad("document types are not read")),
        Event::Eof => return Err(bad("it ends early")),
        _ => {}
    }
    Ok(None)
}

fn write_text(open: &mut [OpenElement], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Closes the innermost element; the content of the root element when it was that.
fn close(open: &mut Vec<OpenElement>) -> Result<Option<Value>, Failure> {
    let Some(element) = open.pop() else {
        return Err(bad("an element is closed twice"));
    };
    let Some(parent) = open.last_mut() else {
        return Ok(Some(Value::Object(element.children)));
    };
    let name = element.name.clone();
    parent.put(name, element.value());
    Ok(None)
}

/// The character that a reference stands for.
fn resolve(name: &str) -> Result<char, Failure> {
    let numbered = |digits: &str, radix| u32::from_str_radix(digits, radix).ok();
    let code = match (name.strip_prefix("#x"), name.strip_prefix('#')) {
        (Some(digits), _) => numbered(digits, 16),
        (None, Some(digits)) => numbered(digits, 10),
        (None, None) => None,
    };
    match (name, code.and_then(char::from_u32)) {
        ("lt", _) => Ok('<'),
        ("gt", _) => Ok('>'),
        ("amp", _) => Ok('&'),
        ("quot", _) => Ok('"'),
        ("apos", _) => Ok('\''),
        (_, Some(c)) => Ok(c),
        _ => Err(bad("an entity is unknown")),
    }
}

/// A field as text; numbers and truth values become text.
pub(super) fn text(of: &Value, name: &str) -> Option<String> {
    match of.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A field as a whole number.
pub(super) fn integer(of: &Value, name: &str) -> Option<i64> {
    text(of, name)?.trim().parse().ok()
}

/// The values of a field that holds one or many.
pub(super) fn many<'a>(of: &'a Value, name: &str) -> Vec<&'a Value> {
    match of.get(name) {
        Some(Value::Array(all)) => all.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![one],
    }
}

/// The texts of a field that holds one or many.
pub(super) fn texts(of: &Value, name: &str) -> Vec<String> {
    let values = many(of, name).into_iter();
    values
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_and_json_of_the_same_content_are_the_same() {
        let xml = b"<a><b>1</b><c><d>x &amp; y</d></c><e/><f>1</f><f>2</f></a>";
        let json = serde_json::json!({
            "b": "1", "c": {"d": "x & y"}, "e": "", "f": ["1", "2"],
        });
        assert_eq!(read_xml(xml), Ok(json));
        assert_eq!(read_xml(b"<a/>"), Ok(serde_json::json!({})));
        for bad in ["", "<a>", "<a></b>", "<!DOCTYPE a><a/>", "<a>&x;</a>"] {
            assert!(read_xml(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
