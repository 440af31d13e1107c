//! Bodies of change requests, in JSON and XML.
//!
//! Both become one tree of values: an element that stands once is its value, one that stands several times a list.

use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};
use serde_json::{Map, Value};
use thiserror::Error;

use super::change::{ConfChange, QueueChange, Updates};

/// Elements of a body inside each other.
const DEPTH: usize = 16;

/// The name of the root element.
const ROOT: &str = "sched-conf";

/// The member that names a queue, and the field of Hadoop's class that it is written from.
const QUEUE: &str = "queue-name";
const QUEUE_FIELD: &str = "queue";

/// Forms of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// `application/json`.
    Json {
        /// Whether an empty list counts as an object without members, as in Hadoop 3.5.
        lists_are_empty: bool,
    },
    /// `application/xml`.
    Xml,
}

/// What is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is not JSON.
    #[error("the body is no JSON: {0}")]
    Json(String),
    /// It is not XML.
    #[error("the body is no XML: byte {at}: {why}")]
    Xml {
        /// Where, in bytes.
        at: u64,
        /// What.
        why: String,
    },
    /// A part has another form than the interface has.
    #[error("{place}: {want} is expected, not {found}")]
    Form {
        /// Which part, as `update-queue[0].params`.
        place: String,
        /// What may stand there.
        want: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A part that a change needs is missing.
    #[error("{place}: `{name}` is missing")]
    Missing {
        /// Which part.
        place: String,
        /// What it lacks.
        name: &'static str,
    },
}

impl ConfChange {
    /// Reads the body of a request.
    ///
    /// Members that the interface does not have are passed over, as the reference does. Settings may be a list of
    /// entries with `key` and `value`, or a plain object. The names of fields that the client of Hadoop 3.5 sends, such
    /// as `globalParams` and `queue`, stand for those of the interface.
    ///
    /// # Errors
    ///
    /// As [`BodyError`], with the place.
    pub fn read(body: &[u8], format: BodyFormat) -> Result<Self, BodyError> {
        match format {
            BodyFormat::Json { lists_are_empty } => {
                let value = serde_json::from_slice(body);
                let value = value.map_err(|error| BodyError::Json(error.to_string()))?;
                match value {
                    Value::Array(list) if lists_are_empty && list.is_empty() => Ok(Self::default()),
                    value => Self::of(&value),
                }
            }
            BodyFormat::Xml => Self::of(&xml_value(body)?),
        }
    }

    fn of(value: &Value) -> Result<Self, BodyError> {
        let Some(members) = object(value, "the body")? else {
            return Ok(Self::default());
        };
        let mut change = Self::default();
        for (name, value) in members {
            for (at, one) in items(value).enumerate() {
                let place = format!("{name}[{at}]");
                match name.as_str() {
                    "remove-queue" | "removeQueueInfo" => change.remove.push(text(one, &place)?),
                    "add-queue" => change.add.push(queue_change(one, &place, QUEUE)?),
                    "addQueueInfo" => change.add.push(queue_change(one, &place, QUEUE_FIELD)?),
                    "update-queue" => change.update.push(queue_change(one, &place, QUEUE)?),
                    "updateQueueInfo" => {
                        change.update.push(queue_change(one, &place, QUEUE_FIELD)?);
                    }
                    "global-updates" | "globalParams" => {
                        change.global.extend(settings(one, &place)?);
                    }
                    _ => {}
                }
            }
        }
        Ok(change)
    }
}

/// A change of one queue, which the member `name` names.
fn queue_change(value: &Value, place: &str, name: &'static str) -> Result<QueueChange, BodyError> {
    let missing = || BodyError::Missing {
        place: place.to_owned(),
        name,
    };
    let members = object(value, place)?.ok_or_else(missing)?;
    let queue = members.get(name).filter(|name| !name.is_null());
    let queue = text(queue.ok_or_else(missing)?, &format!("{place}.{name}"))?;
    let mut params = Updates::new();
    if let Some(value) = members.get("params") {
        for (at, one) in items(value).enumerate() {
            params.extend(settings(one, &format!("{place}.params[{at}]"))?);
        }
    }
    Ok(QueueChange { queue, params })
}

/// Settings as `{"entry": [{"key": .., "value": ..}]}` or as a plain object.
fn settings(value: &Value, place: &str) -> Result<Updates, BodyError> {
    let Some(members) = object(value, place)? else {
        return Ok(Updates::new());
    };
    let Some(entries) = members.get("entry") else {
        let pairs = members.iter();
        let pair = |(key, value): (&String, &Value)| {
            Ok((key.clone(), setting(value, &format!("{place}.{key}"))?))
        };
        return pairs.map(pair).collect();
    };
    let mut updates = Updates::new();
    for (at, entry) in items(entries).enumerate() {
        let place = format!("{place}.entry[{at}]");
        let missing = || BodyError::Missing {
            place: place.clone(),
            name: "key",
        };
        let members = object(entry, &place)?.ok_or_else(missing)?;
        let key = members.get("key").filter(|key| !key.is_null());
        let key = text(key.ok_or_else(missing)?, &format!("{place}.key"))?;
        let value = members.get("value").unwrap_or(&Value::Null);
        updates.insert(key, setting(value, &format!("{place}.value"))?);
    }
    Ok(updates)
}

/// The parts of a list; a single value is a list of one, and none where there is nothing.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    let list = match value {
        Value::Null => &[],
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    list.iter()
}

/// The members of an object; nothing where there is no value.
fn object<'a>(value: &'a Value, place: &str) -> Result<Option<&'a Map<String, Value>>, BodyError> {
    match value {
        Value::Object(members) => Ok(Some(members)),
        Value::Null => Ok(None),
        // An element that has white space only.
        Value::String(text) if text.trim().is_empty() => Ok(None),
        other => Err(form(place, "an object", other)),
    }
}

fn text(value: &Value, place: &str) -> Result<String, BodyError> {
    let found = setting(value, place)?;
    found.ok_or_else(|| form(place, "a text", value))
}

/// A value as text; nothing where there is none.
fn setting(value: &Value, place: &str) -> Result<Option<String>, BodyError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(flag) => Ok(Some(flag.to_string())),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => Err(form(place, "a text", other)),
    }
}

fn form(place: &str, want: &'static str, found: &Value) -> BodyError {
    let found = match found {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    BodyError::Form {
        place: place.to_owned(),
        want,
        found,
    }
}

/// An element that is open.
#[derive(Default)]
struct Open {
    name: String,
    text: String,
    members: Map<String, Value>,
}

impl Open {
    /// Its value: its elements, or else its text.
    fn value(self) -> Value {
        if !self.members.is_empty() {
            Value::Object(self.members)
        } else if self.text.is_empty() {
            Value::Null
        } else {
            Value::String(self.text)
        }
    }

    fn add(&mut self, name: String, value: Value) {
        match self.members.get_mut(&name) {
            Some(Value::Array(list)) => list.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
            None => {
                self.members.insert(name, value);
            }
        }
    }
}

/// The root element as a tree of values. Declarations of types and entities are refused.
fn xml_value(body: &[u8]) -> Result<Value, BodyError> {
    let text = std::str::from_utf8(body).map_err(|error| BodyError::Xml {
        at: u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX),
        why: "a byte is no UTF-8".to_owned(),
    })?;
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    loop {
        let at = reader.buffer_position();
        let refuse = |why: &str| BodyError::Xml {
            at,
            why: why.to_owned(),
        };
        let event = reader.read_event();
        match event.map_err(|error| refuse(&error.to_string()))? {
            Event::Start(tag) => {
                if open.len() == DEPTH {
                    return Err(refuse("too many elements inside each other"));
                }
                open.push(opened(tag.name().0, root.as_ref(), at)?);
            }
            Event::Empty(tag) => {
                let one = opened(tag.name().0, root.as_ref(), at)?;
                close(one, &mut open, &mut root);
            }
            Event::End(_) => {
                let one = open.pop().ok_or_else(|| refuse("an end without a start"))?;
                close(one, &mut open, &mut root);
            }
            Event::Text(part) => {
                let part = part.xml_content(XmlVersion::Implicit1_0);
                add_text(&mut open, &part).map_err(refuse)?;
            }
            Event::CData(part) => {
                let part = part.xml_content(XmlVersion::Implicit1_0);
                add_text(&mut open, &part).map_err(refuse)?;
            }
            Event::GeneralRef(name) => {
                let whole = format!("&{};", &*name);
                let part = quick_xml::escape::unescape(&whole);
                let part = part.map_err(|error| refuse(&error.to_string()))?;
                add_text(&mut open, &part).map_err(refuse)?;
            }
            Event::DocType(_) => return Err(refuse("declarations of types are not allowed")),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof if open.is_empty() => {
                break root.ok_or_else(|| refuse("there is no element"));
            }
            Event::Eof => return Err(refuse("an element is not closed")),
        }
    }
}

fn opened(name: &str, root: Option<&Value>, at: u64) -> Result<Open, BodyError> {
    if root.is_some() {
        let why = "a second root element".to_owned();
        return Err(BodyError::Xml { at, why });
    }
    Ok(Open {
        name: name.to_owned(),
        ..Open::default()
    })
}

/// Hands the value of an element to the one around it.
fn close(one: Open, open: &mut [Open], root: &mut Option<Value>) {
    let name = one.name.clone();
    match open.last_mut() {
        Some(around) => around.add(name, one.value()),
        None if name == ROOT => *root = Some(one.value()),
        // Another root has no change in it; its members would be read as ours otherwise.
        None => *root = Some(Value::Array(Vec::new())),
    }
}

fn add_text(open: &mut [Open], part: &str) -> Result<(), &'static str> {
    match open.last_mut() {
        Some(element) => element.text.push_str(part),
        None if part.trim().is_empty() => {}
        None => return Err("text outside of the root element"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const JSON: BodyFormat = BodyFormat::Json {
        lists_are_empty: false,
    };

    fn json(body: &str) -> Result<ConfChange, BodyError> {
        ConfChange::read(body.as_bytes(), JSON)
    }

    fn xml(body: &str) -> Result<ConfChange, BodyError> {
        ConfChange::read(body.as_bytes(), BodyFormat::Xml)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn both_forms_say_the_same() {
        let of_json = json(
            r#"{"remove-queue": ["root.a", "root.b"],
                "add-queue": {"queue-name": "root.c",
                              "params": {"entry": [{"key": "capacity", "value": "20"}, {"key": "state"}]}},
                "update-queue": [{"queue-name": "root.d", "params": {"entry": {"key": "k", "value": ""}}}],
                "global-updates": [{"entry": {"key": "g", "value": "1 & 2"}}]}"#,
        );
        let of_xml = xml(
            "<?xml version=\"1.0\"?>\n<sched-conf>
              <remove-queue>root.a</remove-queue><remove-queue>root.b</remove-queue>
              <add-queue><queue-name>root.c</queue-name><params>
                <entry><key>capacity</key><value>20</value></entry><entry><key>state</key></entry>
              </params></add-queue>
              <update-queue><queue-name>root.d</queue-name>
                <params><entry><key>k</key><value></value></entry></params></update-queue>
              <global-updates><entry><key>g</key><value>1 &amp; <![CDATA[2]]></value></entry></global-updates>
            </sched-conf>",
        );
        let of_xml = of_xml.unwrap();
        let mut of_json = of_json.unwrap();
        assert_eq!(of_json.remove, ["root.a", "root.b"]);
        assert_eq!(of_json.add[0].params["capacity"], some("20"));
        assert_eq!(of_json.add[0].params["state"], None);
        assert_eq!(of_json.global["g"], some("1 & 2"));
        // An empty text and no value are both unset when the change is worked out.
        assert_eq!(of_json.update[0].params["k"], some(""));
        of_json.update[0].params.insert("k".to_owned(), None);
        assert_eq!(of_json, of_xml);
    }

    #[test]
    fn fields_of_the_client_of_hadoop_3_5_are_read_as_members() {
        // As `yarn schedulerconf` of 3.5.0 sends it.
        let of_client = json(
            r#"{"addQueueInfo": [{"queue": "root.more", "params": {"capacity": "0"}}],
                "removeQueueInfo": ["root.old"],
                "updateQueueInfo": [{"queue": "root.prod", "params": {"x": null, "maximum-applications": "77"}}],
                "subClusterId": "", "globalParams": {"a": "1", "b": null}}"#,
        );
        let of_interface = json(
            r#"{"add-queue": [{"queue-name": "root.more", "params": {"capacity": "0"}}],
                "remove-queue": ["root.old"],
                "update-queue": [{"queue-name": "root.prod", "params": {"x": null, "maximum-applications": "77"}}],
                "global-updates": {"a": "1", "b": null}}"#,
        );
        assert_eq!(of_client.unwrap(), of_interface.unwrap());
        let unnamed = json(r#"{"addQueueInfo": {"queue-name": "root.more"}}"#);
        assert_eq!(
            unnamed.unwrap_err().to_string(),
            "addQueueInfo[0]: `queue` is missing"
        );
    }

    #[test]
    fn settings_may_be_a_plain_object() {
        let change = json(
            r#"{"update-queue": {"queue-name": "root.b", "params": {"maximum-capacity": 90}},
                "global-updates": {"x": "600", "y": null}}"#,
        );
        let change = change.unwrap();
        assert_eq!(change.update[0].params["maximum-capacity"], some("90"));
        assert_eq!(change.global["x"], some("600"));
        assert_eq!(change.global["y"], None);
    }

    #[test]
    fn nothing_to_change_is_a_change() {
        for body in ["{}", r#"{"unknown": 1}"#, r#"{"update-queue": []}"#, "null"] {
            assert_eq!(json(body), Ok(ConfChange::default()), "{body}");
        }
        for body in ["<sched-conf/>", "<sched-conf> </sched-conf>"] {
            assert_eq!(xml(body), Ok(ConfChange::default()), "{body}");
        }
        let lenient = BodyFormat::Json {
            lists_are_empty: true,
        };
        assert_eq!(ConfChange::read(b"[]", lenient), Ok(ConfChange::default()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (body, want) in [
            ("[]", "the body: an object is expected, not a list"),
            ("", "the body is no JSON: EOF"),
            ("{", "the body is no JSON: EOF"),
            (
                r#"{"update-queue": [{"params": {}}]}"#,
                "update-queue[0]: `queue-name` is missing",
            ),
            (
                r#"{"remove-queue": [{}]}"#,
                "remove-queue[0]: a text is expected, not an object",
            ),
            (
                r#"{"global-updates": {"entry": [{"key": "a"}, {"value": "1"}]}}"#,
                "global-updates[0].entry[1]: `key` is missing",
            ),
            (
                r#"{"global-updates": {"a": [1]}}"#,
                "global-updates[0].a: a text is expected, not a list",
            ),
        ] {
            let error = json(body).unwrap_err().to_string();
            assert!(error.starts_with(want), "{body}: {error}");
        }
        for (body, want) in [
            ("<sched-conf><update-queue>", "not closed"),
            ("", "there is no element"),
            ("x", "text outside"),
            ("<a/><b/>", "second root"),
            ("<!DOCTYPE a><sched-conf/>", "declarations of types"),
            (
                "<other><remove-queue>root.a</remove-queue></other>",
                "an object is expected",
            ),
            ("<sched-conf>&nope;</sched-conf>", "byte 12"),
        ] {
            let error = xml(body).unwrap_err().to_string();
            assert!(error.contains(want), "{body}: {error}");
        }
        let deep = "<a>".repeat(100);
        assert!(
            xml(&deep)
                .unwrap_err()
                .to_string()
                .contains("too many elements")
        );
    }

    proptest! {
        #[test]
        fn no_body_stops_the_reader(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ConfChange::read(&body, JSON);
            let _ = ConfChange::read(&body, BodyFormat::Xml);
        }

        #[test]
        fn no_text_of_tags_stops_the_reader(
            body in "(<(/)?(sched-conf|params|entry|key|value|add-queue|queue-name)(/)?>|[a-z&;!\\[\\]]){0,30}"
        ) {
            let _ = xml(&body);
        }
    }
}
