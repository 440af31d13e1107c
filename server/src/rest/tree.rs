//! Documents of the REST interface, before it is decided whether they become JSON or XML.

/// A simple value or an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A fraction with the precision of a Java `float`.
    Float(f32),
    /// An object.
    Object(Object),
}

/// What stands under one name.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One value.
    One(Value),
    /// Any number of values under the same name.
    Many(Vec<Value>),
    /// A map from keys to values.
    Map(Vec<(Value, Value)>),
}

/// Names and contents in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    kind: Option<&'static str>,
    fields: Vec<(&'static str, Content)>,
}

impl Object {
    /// An object without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An object without fields that names its type.
    #[must_use]
    pub fn of_kind(kind: &'static str) -> Self {
        Self {
            kind: Some(kind),
            fields: Vec::new(),
        }
    }

    /// The type that the object names.
    #[must_use]
    pub fn kind(&self) -> Option<&'static str> {
        self.kind
    }

    /// The fields in order.
    #[must_use]
    pub fn fields(&self) -> &[(&'static str, Content)] {
        &self.fields
    }

    /// Whether there is neither a field nor a type.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_none() && self.fields.is_empty()
    }

    /// Appends a field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, Content::One(value.into())));
        self
    }

    /// Appends a field, unless there is no value.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Appends values under one name.
    #[must_use]
    pub fn with_many<V: Into<Value>>(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.fields.push((name, Content::Many(values)));
        self
    }

    /// Appends a map.
    #[must_use]
    pub fn with_map<K: Into<Value>, V: Into<Value>>(
        mut self,
        name: &'static str,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let entries = entries.into_iter();
        let entries = entries.map(|(key, value)| (key.into(), value.into()));
        self.fields.push((name, Content::Map(entries.collect())));
        self
    }

    /// Appends the fields of another object.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.fields.extend(other.fields);
        self
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}

/// How the JSON writer of Hadoop 3.4 treats the type of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Types as they are, lists as arrays.
    // As JSONConfiguration.natural() for the types that JAXBContextResolver lists.
    Natural {
        /// Whether the name of the document stands around it.
        wrapped: bool,
    },
    /// All values as text, and a list of one as its only element; no name around the document.
    // As the default of Jersey 1 for every other type.
    Mapped,
}

/// A document with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The name of the root element.
    pub name: &'static str,
    /// How Hadoop 3.4 writes its JSON.
    pub notation: Notation,
    /// Whether the name stands around the JSON of Hadoop 3.5.
    pub wrapped_35: bool,
    /// The content.
    pub body: Object,
}

impl View {
    /// A document whose name stands around it and whose values have types, in all releases.
    #[must_use]
    pub fn wrapped(name: &'static str, body: Object) -> Self {
        Self {
            name,
            notation: Notation::Natural { wrapped: true },
            wrapped_35: true,
            body,
        }
    }

    /// A document whose values have types and that stands without its name, in all releases.
    #[must_use]
    pub fn unwrapped(name: &'static str, body: Object) -> Self {
        Self {
            name,
            notation: Notation::Natural { wrapped: false },
            wrapped_35: false,
            body,
        }
    }

    /// A document that Hadoop 3.4 writes with text alone.
    #[must_use]
    pub fn mapped(name: &'static str, wrapped_35: bool, body: Object) -> Self {
        Self {
            name,
            notation: Notation::Mapped,
            wrapped_35,
            body,
        }
    }
}
