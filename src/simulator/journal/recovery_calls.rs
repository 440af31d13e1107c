//! Recovery calls of a journal: an application is taken over, a node registers with what runs on it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ask_lines::{amounts_of, vector};
use super::container_line::ContainerLine;
use super::submit_call::SubmitCall;
use crate::api::{AppSpec, NodeSpec, RunningContainer, Scheduler};

/// A node that registers with what it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterCall {
    /// Host and port.
    pub node: String,
    /// Rack.
    pub rack: String,
    /// Everything that it offers.
    pub size: Vec<i64>,
    /// Label.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Attributes by `prefix/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<(String, String)>,
    /// What it runs.
    pub running: Vec<RunningLine>,
}

/// A container that a node runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunningLine {
    /// The container.
    pub container: ContainerLine,
    /// Its size.
    pub size: Vec<i64>,
    /// Request priority that it was asked under.
    pub priority: i32,
    /// Allocation request id.
    pub id: i64,
    /// When it was placed, in virtual ms.
    pub created_ms: u64,
    /// How often it was changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u32,
    /// Whether no queue is charged with it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub opportunistic: bool,
}

/// An application that is taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoverCall {
    /// What it was submitted with.
    pub submission: SubmitCall,
    /// Number of its attempt, from 1.
    pub attempt: u32,
    /// Number of the container of its master, if that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<u32>,
}

impl RegisterCall {
    /// The registration of a node.
    pub(super) fn of(spec: &NodeSpec, running: &[RunningContainer]) -> Self {
        Self {
            node: spec.name.to_string(),
            rack: spec.rack.clone(),
            size: amounts_of(&spec.total),
            label: spec.partition.clone(),
            attributes: spec.attributes.clone(),
            running: running.iter().map(RunningLine::of).collect(),
        }
    }

    /// Makes the call; one whose node has no name was refused before.
    pub(super) fn make(&self, engine: &mut impl Scheduler) {
        let Ok(name) = self.node.parse() else {
            return;
        };
        let spec = NodeSpec {
            name,
            rack: self.rack.clone(),
            total: vector(&self.size),
            partition: self.label.clone(),
            attributes: self.attributes.clone(),
        };
        let running = self.running.iter().map(RunningLine::running).collect();
        drop(engine.register_node(spec, running));
    }

    /// Every size that the call names.
    pub(super) fn sizes(&self) -> impl Iterator<Item = &[i64]> {
        let running = self.running.iter().map(|line| &*line.size);
        std::iter::once(&*self.size).chain(running)
    }

    /// Refuses containers that no node runs: the engine would have them stopped, and nobody would see it.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for line in &self.running {
            let id = line.container.id();
            if id.attempt == 0 {
                return Err(format!("running: attempts count from 1, and {id} has 0"));
            }
            if let Some(amount) = line.size.iter().find(|&&amount| amount < 0) {
                return Err(format!("running: the size of {id} has the amount {amount}"));
            }
            if !seen.insert(id) {
                return Err(format!("running: {id} stands there twice"));
            }
        }
        Ok(())
    }
}

impl RunningLine {
    fn of(running: &RunningContainer) -> Self {
        Self {
            container: ContainerLine::of(running.id),
            size: amounts_of(&running.size),
            priority: running.priority,
            id: running.request_id,
            created_ms: running.created_ms,
            version: running.version,
            opportunistic: running.opportunistic,
        }
    }

    /// The container as the scheduler takes it.
    #[must_use]
    pub fn running(&self) -> RunningContainer {
        RunningContainer {
            id: self.container.id(),
            size: vector(&self.size),
            priority: self.priority,
            request_id: self.id,
            created_ms: self.created_ms,
            version: self.version,
            opportunistic: self.opportunistic,
        }
    }
}

impl RecoverCall {
    /// The recovery of an application.
    pub(super) fn of(spec: &AppSpec, attempt: u32, master: Option<u32>) -> Self {
        Self {
            submission: SubmitCall::of(spec),
            attempt,
            master,
        }
    }

    /// Makes the call; what it came to is not looked at.
    pub(super) fn make(&self, engine: &mut impl Scheduler) {
        drop(engine.recover_app(self.submission.spec(), self.attempt, self.master));
    }

    /// Refuses an attempt that no application has.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.attempt {
            0 => Err("attempt: attempts count from 1, and this is 0".to_owned()),
            _ => Ok(()),
        }
    }
}

fn is_zero(version: &u32) -> bool {
    *version == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
