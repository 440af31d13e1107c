//! Scenes as they are stored.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use capsched::api::Reference;
use serde::Deserialize;
use serde_json::Value;

/// Why a scene cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError(pub String);

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SceneError {}

/// One scene.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name.
    pub name: String,
    /// The release that was recorded.
    pub reference: Reference,
    /// Its inputs.
    pub(super) inputs: Inputs,
    /// What the recorded resource manager answered, in order.
    pub recorded: Vec<Recorded>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Inputs {
    pub(super) name: String,
    #[serde(default)]
    pub(super) recorded_with: String,
    pub(super) xml: String,
    #[serde(default)]
    pub(super) site: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) cluster_labels: Vec<Label>,
    #[serde(default)]
    pub(super) groups: BTreeMap<String, Vec<String>>,
    pub(super) script: Vec<Step>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) exclusive: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Step {
    AddNode {
        node: String,
        res: Vec<i64>,
        #[serde(default)]
        labels: Vec<String>,
        #[serde(default)]
        rack: Option<String>,
    },
    RemoveNode {
        node: String,
    },
    Heartbeat {
        node: String,
    },
    Submit(Submit),
    StartAm {
        app: u32,
    },
    Ask {
        app: u32,
        #[serde(default)]
        requests: Vec<Request>,
    },
    Complete {
        app: u32,
        #[serde(default)]
        container: Option<u32>,
    },
    FinishApp {
        app: u32,
    },
    KillApp {
        app: u32,
    },
    Wait {
        ms: u64,
    },
    Request(Http),
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Submit {
    pub(super) app: u32,
    pub(super) user: String,
    pub(super) queue: String,
    pub(super) am: Vec<i64>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) priority: Option<i32>,
    #[serde(default)]
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) am_label: Option<String>,
    #[serde(default)]
    pub(super) unmanaged: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Request {
    pub(super) res: Vec<i64>,
    #[serde(default = "one")]
    pub(super) count: i32,
    #[serde(default = "one")]
    pub(super) priority: i32,
    #[serde(default = "anywhere")]
    pub(super) name: String,
    #[serde(default = "yes")]
    pub(super) relax: bool,
    #[serde(default)]
    pub(super) label: Option<String>,
}

const fn one() -> i32 {
    1
}

const fn yes() -> bool {
    true
}

fn anywhere() -> String {
    "*".to_owned()
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Http {
    #[serde(default = "get")]
    pub(super) method: String,
    pub(super) path: String,
    #[serde(default = "json")]
    pub(super) accept: String,
    #[serde(default)]
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) content_type: Option<String>,
}

fn get() -> String {
    "GET".to_owned()
}

fn json() -> String {
    "application/json".to_owned()
}

/// One recorded answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Recorded {
    /// Position of the request in the script.
    pub step: usize,
    /// Method of the request.
    pub method: String,
    /// Path below `/ws/v1/cluster`.
    pub path: String,
    /// Status of the answer.
    pub status: u16,
    /// Some headers of the answer, in lower case.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its body: JSON as JSON, all else as text.
    #[serde(default)]
    pub body: Value,
}

impl Scene {
    /// Reads the scene of a folder.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is not in the form of scenes.
    pub fn read(folder: &Path) -> Result<Self, SceneError> {
        let file = |name: &str| {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path);
            text.map_err(|error| SceneError(format!("{}: {error}", path.display())))
        };
        Self::parse(&file("inputs.json")?, &file("requests.jsonl")?)
            .map_err(|error| SceneError(format!("{}: {error}", folder.display())))
    }

    /// Reads a scene from the texts of its two files.
    ///
    /// # Errors
    ///
    /// When they are not in the form of scenes.
    pub fn parse(inputs: &str, requests: &str) -> Result<Self, SceneError> {
        let inputs: Inputs = serde_json::from_str(inputs)
            .map_err(|error| SceneError(format!("inputs.json: {error}")))?;
        let mut recorded = Vec::new();
        for (at, line) in requests.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let one = serde_json::from_str(line);
            let at = at + 1;
            let one = one.map_err(|error| SceneError(format!("requests.jsonl:{at}: {error}")))?;
            recorded.push(one);
        }
        Ok(Self::of(inputs, recorded))
    }

    /// Reads a scene from one JSON value: its inputs, with the answers in a field `requests`.
    ///
    /// # Errors
    ///
    /// When it is not in the form of scenes.
    pub fn of_value(mut value: Value) -> Result<Self, SceneError> {
        let requests = value.get_mut("requests").map(Value::take);
        let recorded = serde_json::from_value(requests.unwrap_or_default())
            .map_err(|error| SceneError(format!("requests: {error}")))?;
        let inputs: Inputs =
            serde_json::from_value(value).map_err(|error| SceneError(error.to_string()))?;
        Ok(Self::of(inputs, recorded))
    }

    fn of(inputs: Inputs, recorded: Vec<Recorded>) -> Self {
        Self {
            name: inputs.name.clone(),
            reference: Reference::of_recording(&inputs.recorded_with),
            inputs,
            recorded,
        }
    }
}
