//! Effective settings of queues, each with where it comes from.

use std::collections::BTreeMap;
use std::str::FromStr;

use capsched::config::{self, EffectiveValue, Issue, Loaded};
use serde_json::{Value, json};

use crate::conf::ConfState;
use crate::rest::wire::Failure;

/// Of which queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explain {
    /// Those of which a setting differs.
    Affected,
    /// All of them.
    Queues,
}

impl FromStr for Explain {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text {
            "affected" => Ok(Self::Affected),
            "queues" => Ok(Self::Queues),
            _ => Err(Failure::bad_request("explain is `affected` or `queues`")),
        }
    }
}

type Settings = BTreeMap<String, Vec<EffectiveValue>>;

fn settings(loaded: &Loaded) -> Settings {
    let queues = loaded.settings.queues.iter();
    let queues = queues.map(|queue| {
        (
            queue.path.to_string(),
            config::effective_values(loaded, queue),
        )
    });
    queues.collect()
}

fn shown(settings: &Settings) -> Value {
    let value = |one: &EffectiveValue| {
        json!({
            "name": one.name,
            "value": one.value,
            "source": one.origin.word(),
            "propertyKey": one.property,
        })
    };
    let queue = |(path, values): (&String, &Vec<EffectiveValue>)| {
        (path.clone(), values.iter().map(value).collect::<Value>())
    };
    Value::Object(settings.iter().map(queue).collect())
}

/// The settings of all queues.
pub(super) fn queues(loaded: &Loaded) -> Value {
    shown(&settings(loaded))
}

impl Explain {
    /// The settings of the queues after a change.
    pub(super) fn of(self, before: &Loaded, after: &Loaded) -> Value {
        let mut chosen = settings(after);
        if self == Self::Affected {
            let before = settings(before);
            chosen.retain(|path, values| before.get(path) != Some(values));
        }
        shown(&chosen)
    }
}

/// `{"version": .., "valid": true, "issues": [..], "queues": {..}}`.
pub(super) fn document(state: &ConfState, issues: &[Issue], queues: Value) -> Value {
    json!({"version": state.version, "valid": true, "issues": issues, "queues": queues})
}
