//! XML answers as trees, to be compared without regard to order.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Map, Value, json};

/// An XML text as a JSON value: an object for each element, with the type that it names; children under their names
/// in arrays; text as text. Nothing when it is no XML.
pub(super) fn tree(text: &str) -> Option<Value> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = vec![Element::default()];
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => open.push(Element::of(&start)),
            Event::Empty(start) => {
                let element = Element::of(&start);
                open.last_mut()?.take(element);
            }
            Event::Text(part) => open.last_mut()?.text.push_str(&part),
            Event::GeneralRef(name) => {
                let element = open.last_mut()?;
                element.text.push_str(&format!("&{};", &*name));
            }
            Event::End(_) => {
                let element = open.pop()?;
                open.last_mut()?.take(element);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    let root = open.pop()?;
    open.is_empty().then(|| root.value())
}

#[derive(Default)]
struct Element {
    name: String,
    kind: Option<String>,
    text: String,
    children: Map<String, Value>,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Self {
        let attributes = start.attributes().flatten();
        let mut kinds = attributes.filter(|attribute| attribute.key.as_ref() == "xsi:type");
        let kind = kinds.next();
        Self {
            name: start.name().as_ref().to_owned(),
            kind: kind.map(|kind| kind.value.to_string()),
            ..Self::default()
        }
    }

    fn take(&mut self, child: Self) {
        let name = child.name.clone();
        let all = self.children.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(child.value());
        }
    }

    fn value(mut self) -> Value {
        if let Some(kind) = self.kind {
            self.children.insert("type".to_owned(), kind.into());
        }
        if self.children.is_empty() {
            Value::String(self.text)
        } else {
            Value::Object(self.children)
        }
    }
}
