//! Documents as JSON, in the notations of Hadoop 3.4 and 3.5.

use super::tree::{Content, Notation, Object, Value, View};
use super::wire::Wire;

/// A document as JSON.
#[must_use]
pub(super) fn write(view: &View, wire: Wire) -> String {
    let style = match (wire, view.notation) {
        (Wire::Hadoop35, _) => Style::Moxy,
        (Wire::Hadoop34, Notation::Natural { .. }) => Style::Natural,
        (Wire::Hadoop34, Notation::Mapped) => Style::Mapped,
    };
    let wrapped = match (wire, view.notation) {
        (Wire::Hadoop35, _) => view.wrapped_35,
        (Wire::Hadoop34, Notation::Natural { wrapped }) => wrapped,
        (Wire::Hadoop34, Notation::Mapped) => false,
    };
    let mut writer = Writer {
        style,
        out: String::new(),
    };
    if wrapped {
        writer.out.push('{');
        writer.name(view.name);
        writer.object(&view.body);
        writer.out.push('}');
    } else {
        writer.object(&view.body);
    }
    writer.out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Jersey 1 with natural notation.
    Natural,
    /// Jersey 1 with mapped notation.
    Mapped,
    /// Jersey 2 with MOXy.
    Moxy,
}

struct Writer {
    style: Style,
    out: String,
}

impl Writer {
    fn name(&mut self, name: &str) {
        self.text(name);
        self.out.push(':');
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c < ' ' => self.out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// The text of a number or truth value, quoted where all values are text.
    fn plain(&mut self, text: &str, quoted: bool) {
        if quoted {
            self.text(text);
        } else {
            self.out.push_str(text);
        }
    }

    fn value(&mut self, value: &Value, quoted: bool) {
        match value {
            Value::Text(text) => self.text(text),
            Value::Bool(value) => self.plain(&value.to_string(), quoted),
            Value::Int(value) => self.plain(&value.to_string(), quoted),
            Value::Float(value) => {
                let quoted = quoted || !value.is_finite();
                self.plain(&java_float(*value), quoted);
            }
            Value::Object(object) if self.style == Style::Mapped && object.is_empty() => {
                self.out.push_str("null");
            }
            Value::Object(object) => self.object(object),
        }
    }

    fn object(&mut self, object: &Object) {
        self.out.push('{');
        let mut first = true;
        if let Some(kind) = object.kind() {
            self.name("type");
            self.text(kind);
            first = false;
        }
        for (name, content) in object.fields() {
            if self.is_left_out(content) {
                continue;
            }
            if !first {
                self.out.push(',');
            }
            first = false;
            self.name(name);
            self.content(content);
        }
        self.out.push('}');
    }

    fn is_left_out(&self, content: &Content) -> bool {
        match content {
            Content::One(_) => false,
            Content::Many(values) => values.is_empty(),
            Content::Map(entries) => entries.is_empty() && self.style == Style::Moxy,
        }
    }

    fn content(&mut self, content: &Content) {
        let quoted = self.style == Style::Mapped;
        match content {
            Content::One(value) => self.value(value, quoted),
            Content::Many(values) if quoted && values.len() == 1 => self.value(&values[0], quoted),
            Content::Many(values) => self.array(values, |writer, value| {
                writer.value(value, quoted);
            }),
            Content::Map(entries) => self.map(entries),
        }
    }

    fn array<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            write(self, item);
        }
        self.out.push(']');
    }

    fn entry(&mut self, (key, value): &(Value, Value), quoted: bool) {
        self.out.push('{');
        self.name("key");
        self.value(key, quoted);
        self.out.push(',');
        self.name("value");
        self.value(value, quoted);
        self.out.push('}');
    }

    fn map(&mut self, entries: &[(Value, Value)]) {
        if entries.is_empty() {
            let empty = if self.style == Style::Mapped {
                "null"
            } else {
                "{}"
            };
            self.out.push_str(empty);
            return;
        }
        self.out.push('{');
        match self.style {
            // Natural notation repeats the name, and its values are text: the type of a map is not known to it.
            Style::Natural => {
                for (at, entry) in entries.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.name("entry");
                    self.entry(entry, true);
                }
            }
            Style::Mapped if entries.len() == 1 => {
                self.name("entry");
                self.entry(&entries[0], true);
            }
            Style::Mapped | Style::Moxy => {
                let quoted = self.style == Style::Mapped;
                self.name("entry");
                self.array(entries, |writer, entry| writer.entry(entry, quoted));
            }
        }
        self.out.push('}');
    }
}

/// A number as Java writes a `float`.
// As Float.toString.
#[must_use]
pub(super) fn java_float(value: f32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, _)) if digits.contains('.') => text,
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(notation: Notation) -> View {
        View {
            name: "root",
            notation,
            wrapped_35: true,
            body: Object::new()
                .with("number", 1)
                .with("share", 100.0)
                .with("empty", Object::new())
                .with_many("one", [true])
                .with_many::<i64>("none", [])
                .with_map::<&str, i64>("nothing", [])
                .with_map("pairs", [("a", 1_i64), ("b", 2)]),
        }
    }

    #[test]
    fn each_notation_has_its_own_lists_numbers_and_maps() {
        let natural = sample(Notation::Natural { wrapped: true });
        let mapped = sample(Notation::Mapped);
        assert_eq!(
            write(&natural, Wire::Hadoop34),
            r#"{"root":{"number":1,"share":100.0,"empty":{},"one":[true],"nothing":{},"pairs":{"entry":{"key":"a","value":"1"},"entry":{"key":"b","value":"2"}}}}"#
        );
        assert_eq!(
            write(&mapped, Wire::Hadoop34),
            r#"{"number":"1","share":"100.0","empty":null,"one":"true","nothing":null,"pairs":{"entry":[{"key":"a","value":"1"},{"key":"b","value":"2"}]}}"#
        );
        assert_eq!(
            write(&mapped, Wire::Hadoop35),
            r#"{"root":{"number":1,"share":100.0,"empty":{},"one":[true],"pairs":{"entry":[{"key":"a","value":1},{"key":"b","value":2}]}}}"#
        );
    }

    #[test]
    fn fractions_are_written_as_java_does() {
        for (value, want) in [
            (0.0, "0.0"),
            (8.333_334, "8.333334"),
            (0.001, "0.001"),
            (0.000_5, "5.0E-4"),
            (12_345_678.0, "1.2345678E7"),
            (f32::INFINITY, "Infinity"),
        ] {
            assert_eq!(java_float(value), want);
        }
    }

    #[test]
    fn text_is_escaped() {
        let view = View::unwrapped("x", Object::new().with("a", "q\"\\\n\u{1}"));
        assert_eq!(
            write(&view, Wire::Hadoop34),
            "{\"a\":\"q\\\"\\\\\\n\\u0001\"}"
        );
    }
}
