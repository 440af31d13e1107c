//! What nodes reported of applications that are not recovered yet, and what became of it.
//!
//! Tests: `tests/commit/recovery.rs`.

use std::collections::BTreeMap;
use std::vec;

use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::queue::{App, RunningContainer};

/// What became of the containers that live when something is recovered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Containers that were taken over, ascending.
    pub taken: Vec<ContainerId>,
    /// Containers that are to be stopped, ascending: of unknown applications or other attempts, or reported twice.
    pub to_stop: Vec<ContainerId>,
    /// Containers of applications that are not recovered yet, ascending.
    pub waiting: Vec<ContainerId>,
}

impl Recovered {
    /// The same with all lists ascending.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        for list in [&mut self.taken, &mut self.to_stop, &mut self.waiting] {
            list.sort_unstable();
        }
        self
    }
}

/// What a node runs, in the order of the ids.
#[derive(Clone, Debug)]
pub struct NodeContents(Vec<RunningContainer>);

impl From<Vec<RunningContainer>> for NodeContents {
    /// Cost: a sort.
    fn from(mut running: Vec<RunningContainer>) -> Self {
        running.sort_unstable_by_key(|container| container.id);
        Self(running)
    }
}

impl NodeContents {
    /// Whether nothing runs there.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The containers of each application.
    pub(super) fn by_app(&self) -> impl Iterator<Item = &[RunningContainer]> {
        self.0.chunk_by(|one, next| one.id.app == next.id.app)
    }
}

/// Containers of an application with their nodes, in the order in which those reported them.
#[derive(Clone, Debug, Default)]
struct Reported {
    by_node: Vec<(NodeName, Vec<RunningContainer>)>,
    /// The last number of each attempt.
    last: BTreeMap<u32, u32>,
}

impl Reported {
    /// Adds containers on a node, ascending.
    fn add(&mut self, node: NodeName, containers: Vec<RunningContainer>) {
        for run in containers.chunk_by(|one, next| one.id.attempt == next.id.attempt) {
            let ContainerId {
                attempt, number, ..
            } = run[run.len() - 1].id;
            let last = self.last.entry(attempt).or_default();
            *last = number.max(*last);
        }
        self.by_node.push((node, containers));
    }

    /// The last number of an application's containers; 0 where there is none.
    fn last_of(&self, row: &App) -> u32 {
        let attempts = self.last.iter();
        let own = attempts.filter(|&(&attempt, _)| is_of_attempt(row, attempt));
        own.map(|(_, &number)| number).max().unwrap_or(0)
    }
}

/// Containers that wait for their applications.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct Recovery {
    /// Whether applications may still be recovered.
    open: bool,
    waiting: BTreeMap<ApplicationId, Reported>,
}

impl Recovery {
    /// Applications may be recovered from now on.
    pub(super) fn begin(&mut self) {
        self.open = true;
    }

    /// No application is recovered any more; what nobody claimed.
    pub(super) fn finish(&mut self) -> Unclaimed {
        self.open = false;
        Unclaimed(std::mem::take(&mut self.waiting))
    }

    /// Whether applications may still be recovered, so that their containers wait for them.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Keeps containers of one application on a node, ascending, until it is recovered.
    pub(super) fn keep(&mut self, node: NodeName, containers: Vec<RunningContainer>) {
        if let Some(first) = containers.first() {
            let waiting = self.waiting.entry(first.id.app).or_default();
            waiting.add(node, containers);
        }
    }

    /// Takes what nodes reported of an application before it was recovered. Its new containers get numbers behind all
    /// of those.
    pub(super) fn claim(&mut self, row: &mut App) -> AppRecovery {
        let waiting = self.waiting.remove(&row.id).unwrap_or_default();
        let next = waiting.last_of(row).saturating_add(1);
        row.next_container = row.next_container.max(next);
        AppRecovery {
            nodes: waiting.by_node.into_iter(),
            on_node: None,
            result: Recovered::default(),
        }
    }
}

/// Whether a container is one of an application's.
pub(super) fn is_of(row: &App, id: ContainerId) -> bool {
    is_of_attempt(row, id.attempt)
}

/// Whether containers of an attempt are an application's: of its attempt, or of an earlier one that it keeps.
// As AbstractYarnScheduler.recoverContainersOnNode.
fn is_of_attempt(row: &App, attempt: u32) -> bool {
    attempt == row.attempt || row.keeps_containers() && attempt < row.attempt
}

/// An application that was recovered, with the containers that it has yet to take over.
#[derive(Debug)]
pub struct AppRecovery {
    nodes: vec::IntoIter<(NodeName, Vec<RunningContainer>)>,
    /// The node whose turn it is, with those that are left of it.
    on_node: Option<(NodeName, vec::IntoIter<RunningContainer>)>,
    result: Recovered,
}

impl AppRecovery {
    /// The next containers to take over, so many at most, all on one node.
    pub(super) fn next(&mut self, most: usize) -> Option<(NodeName, Vec<RunningContainer>)> {
        loop {
            if let Some((node, left)) = &mut self.on_node
                && !left.as_slice().is_empty()
            {
                return Some((node.clone(), left.take(most).collect()));
            }
            let (node, containers) = self.nodes.next()?;
            self.on_node = Some((node, containers.into_iter()));
        }
    }

    /// Whether every container was looked at.
    pub(super) fn is_done(&self) -> bool {
        let left = self.on_node.as_ref();
        left.is_none_or(|(_, left)| left.as_slice().is_empty()) && self.nodes.as_slice().is_empty()
    }

    /// Where it is noted what becomes of the containers.
    pub(super) fn result(&mut self) -> &mut Recovered {
        &mut self.result
    }

    /// What became of the containers so far, in the order in which nodes reported them.
    #[must_use]
    pub fn into_recovered(self) -> Recovered {
        self.result
    }
}

/// Containers that nobody claimed.
#[derive(Debug)]
pub struct Unclaimed(BTreeMap<ApplicationId, Reported>);

impl Unclaimed {
    /// Their ids, ascending.
    #[must_use]
    pub fn into_ids(self) -> Vec<ContainerId> {
        let nodes = self.0.into_values().flat_map(|reported| reported.by_node);
        let containers = nodes.flat_map(|(_, containers)| containers);
        let mut ids: Vec<_> = containers.map(|container| container.id).collect();
        ids.sort_unstable();
        ids
    }
}
