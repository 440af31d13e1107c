//! Scenario files: the header and the steps. Unknown steps and fields are errors.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use capsched::id::{ContainerId, NodeName};
use capsched::resource::{MAX_TYPES, ResourceVector};
use serde::Deserialize;
use serde_json::Value;

/// One scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: String,
    #[serde(default)]
    #[expect(dead_code, reason = "a remark of the file")]
    description: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "a remark of the file")]
    source: String,
    pub(super) resource_types: Vec<String>,
    #[serde(default)]
    pub(super) site: BTreeMap<String, String>,
    /// The configuration as pairs, or
    #[serde(default)]
    pub(super) config: BTreeMap<String, String>,
    /// as a file, with refreshes that replace it.
    pub(super) xml: Option<String>,
    #[serde(default)]
    pub(super) cluster_labels: Vec<Label>,
    #[serde(default)]
    pub(super) recorded_with: String,
    pub(super) steps: Vec<Step>,
}

/// A label of the cluster.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Label {
    pub(super) name: String,
    #[serde(default = "yes")]
    pub(super) exclusive: bool,
}

fn yes() -> bool {
    true
}

/// One step: what is done, and what was recorded.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) expect: Value,
    input: Value,
}

impl Step {
    /// The input as it stands in the file.
    pub(super) fn shown(&self) -> Value {
        self.input.clone()
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut object = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        let expect = object
            .remove("expect")
            .unwrap_or(Value::Object(Default::default()));
        let input = Value::Object(object);
        let action = Action::deserialize(input.clone())
            .map_err(|error| D::Error::custom(format!("{error} in step {input}")))?;
        Ok(Self {
            action,
            expect,
            input,
        })
    }
}

/// What a step does.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Action {
    Start {},
    AddNode {
        node: Node,
        rack: Option<String>,
        res: Amounts,
        /// Without it, those of the node before it left.
        labels: Option<Vec<String>>,
        /// `prefix/name` and value.
        #[serde(default)]
        attributes: BTreeMap<String, String>,
    },
    RemoveNode {
        node: Node,
    },
    UpdateNodeResource {
        node: Node,
        res: Amounts,
        #[serde(default)]
        overcommit_timeout: Option<i64>,
    },
    UpdateNodeLabels {
        node: Node,
        labels: Vec<String>,
    },
    /// All attributes of a node are replaced.
    UpdateNodeAttributes {
        node: Node,
        attributes: BTreeMap<String, String>,
    },
    Decommission {
        node: Node,
    },
    Submit(Submit),
    Ask(Ask),
    Heartbeat {
        node: Node,
    },
    ScheduleNode {
        node: Node,
    },
    SchedulePartition {
        #[serde(default)]
        partition: String,
        times: Option<u32>,
    },
    Complete {
        app: u32,
        container: u32,
    },
    CompleteNth {
        app: u32,
        nth: usize,
    },
    FinishApp {
        app: u32,
    },
    KillApp {
        app: u32,
    },
    ChangePriority {
        app: u32,
        priority: i32,
    },
    MoveApp {
        app: u32,
        queue: String,
    },
    Reconfigure {
        #[serde(default)]
        set: BTreeMap<String, String>,
        #[serde(default)]
        remove: Vec<String>,
    },
    Refresh {
        #[expect(dead_code, reason = "a remark of the file")]
        change: String,
        xml: String,
    },
    Preempt {},
    AdvanceClock {
        ms: u64,
    },
    State {},
}

/// A submission.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Submit {
    pub(super) app: u32,
    pub(super) user: String,
    pub(super) queue: String,
    pub(super) priority: Option<i32>,
    pub(super) am: Option<Amounts>,
    pub(super) am_label: Option<String>,
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) unmanaged: bool,
    pub(super) placement_parent: Option<String>,
}

/// One call of an application master.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    pub(super) app: u32,
    #[serde(default)]
    pub(super) requests: Vec<Request>,
    #[serde(default)]
    pub(super) scheduling_requests: Vec<SchedulingRequest>,
    #[serde(default)]
    pub(super) release: Vec<u32>,
    pub(super) release_nth: Option<Vec<usize>>,
    #[serde(default)]
    pub(super) updates: Vec<Update>,
    #[serde(default)]
    pub(super) blacklist_add: Vec<String>,
    #[serde(default)]
    pub(super) blacklist_remove: Vec<String>,
}

/// A change of a container, by its number or its position among those handed over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    pub(super) container: Option<u32>,
    pub(super) nth: Option<usize>,
    pub(super) version: Option<u32>,
    pub(super) change: Change,
    pub(super) res: Amounts,
}

/// How a container is to change.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    Increase,
    Decrease,
}

/// A resource request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) priority: Option<i32>,
    pub(super) name: Option<String>,
    pub(super) res: Amounts,
    pub(super) count: Option<i32>,
    pub(super) relax: Option<bool>,
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) id: i64,
}

/// A scheduling request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchedulingRequest {
    pub(super) priority: Option<i32>,
    #[serde(default)]
    pub(super) id: i64,
    pub(super) res: Amounts,
    pub(super) count: Option<i32>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    pub(super) constraint: Option<String>,
}

/// Amounts in the order of the scenario's resource types.
#[derive(Debug)]
pub(super) struct Amounts(pub(super) ResourceVector);

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::<i64>::deserialize(deserializer)?;
        if values.len() > MAX_TYPES {
            let message = format!("{} resource types are more than {MAX_TYPES}", values.len());
            return Err(serde::de::Error::custom(message));
        }
        Ok(Self(ResourceVector::of(&values)))
    }
}

/// A node by name.
#[derive(Debug)]
pub(super) struct Node(pub(super) NodeName);

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl Scenario {
    /// Reads a scenario.
    pub(super) fn read(value: Value) -> Result<Self> {
        let scenario: Self = serde_json::from_value(value).context("not a scenario")?;
        if scenario.xml.is_some() != scenario.config.is_empty() {
            bail!("a scenario has either `config` or `xml`");
        }
        if scenario.steps.is_empty() {
            bail!("the scenario has no steps");
        }
        Ok(scenario)
    }
}

/// A container as scenarios name it.
pub(super) fn reference(id: ContainerId) -> [u32; 2] {
    [id.app.sequence, id.number]
}
