//! Documents as XML.

use quick_xml::escape::escape;

use super::json::java_float;
use super::tree::{Content, Object, Value, View};
use super::wire::Wire;

/// A document as XML.
#[must_use]
pub(super) fn write(view: &View, wire: Wire) -> String {
    let head = match wire {
        Wire::Hadoop34 => r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#,
        Wire::Hadoop35 => r#"<?xml version="1.0" encoding="UTF-8"?>"#,
    };
    let mut writer = Writer {
        wire,
        named: false,
        out: head.to_owned(),
    };
    writer.object(view.name, &view.body);
    writer.out
}

struct Writer {
    wire: Wire,
    /// Whether an element around the present one declares the name space of types.
    named: bool,
    out: String,
}

impl Writer {
    fn open(&mut self, name: &str) {
        self.out.push('<');
        self.out.push_str(name);
        self.out.push('>');
    }

    fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    fn value(&mut self, name: &str, value: &Value) {
        let text = match value {
            Value::Object(object) => return self.object(name, object),
            Value::Text(text) => escape(printable(text).as_str()).into_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => java_float(*value),
        };
        self.open(name);
        self.out.push_str(&text);
        self.close(name);
    }

    fn object(&mut self, name: &str, object: &Object) {
        self.out.push('<');
        self.out.push_str(name);
        let declares = object.kind().is_some() && !self.named;
        if let Some(kind) = object.kind() {
            if declares {
                self.out
                    .push_str(r#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance""#);
            }
            self.out.push_str(&format!(r#" xsi:type="{kind}""#));
        }
        if object
            .fields()
            .iter()
            .all(|(_, content)| self.is_left_out(content))
        {
            self.out.push_str("/>");
            return;
        }
        self.out.push('>');
        let outside = self.named;
        self.named |= declares;
        for (name, content) in object.fields() {
            self.content(name, content);
        }
        self.named = outside;
        self.close(name);
    }

    fn is_left_out(&self, content: &Content) -> bool {
        match content {
            Content::One(_) => false,
            Content::Many(values) => values.is_empty(),
            Content::Map(entries) => entries.is_empty() && self.wire == Wire::Hadoop35,
        }
    }

    fn content(&mut self, name: &str, content: &Content) {
        match content {
            Content::One(value) => self.value(name, value),
            Content::Many(values) => {
                for value in values {
                    self.value(name, value);
                }
            }
            Content::Map(entries) if entries.is_empty() => {
                if !self.is_left_out(content) {
                    self.out.push_str(&format!("<{name}/>"));
                }
            }
            Content::Map(entries) => {
                self.open(name);
                for (key, value) in entries {
                    self.open("entry");
                    self.value("key", key);
                    self.value("value", value);
                    self.close("entry");
                }
                self.close(name);
            }
        }
    }
}

/// A text without the characters that XML cannot have.
fn printable(text: &str) -> String {
    let allowed = |c: &char| *c >= ' ' || matches!(c, '\t' | '\n' | '\r');
    text.chars().filter(allowed).collect()
}
