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

/// Containers with their nodes, as those reported them.
pub(super) type Reported = Vec<(NodeName, RunningContainer)>;

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

    /// Keeps a container until its application is recovered.
    pub(super) fn keep(&mut self, node: NodeName, container: RunningContainer) {
        let waiting = self.waiting.entry(container.id.app).or_default();
        waiting.push((node, container));
    }

    /// Takes what nodes reported of an application before it was recovered. Its new containers get numbers behind all
    /// of those.
    pub(super) fn claim(&mut self, row: &mut App) -> AppRecovery {
        let waiting = self.waiting.remove(&row.id).unwrap_or_default();
        let own = waiting.iter().filter(|(_, one)| is_of(row, one.id));
        let last = own.map(|(_, one)| one.id.number).max().unwrap_or(0);
        row.next_container = row.next_container.max(last.saturating_add(1));
        AppRecovery {
            left: waiting.into_iter(),
            result: Recovered::default(),
        }
    }
}

/// Whether a container is one of an application's: of its attempt, or of an earlier one that it keeps.
// As AbstractYarnScheduler.recoverContainersOnNode.
pub(super) fn is_of(row: &App, id: ContainerId) -> bool {
    id.attempt == row.attempt || row.keeps_containers() && id.attempt < row.attempt
}

/// An application that was recovered, with the containers that it has yet to take over.
#[derive(Debug)]
pub struct AppRecovery {
    left: vec::IntoIter<(NodeName, RunningContainer)>,
    result: Recovered,
}

impl AppRecovery {
    /// The next container to take over.
    pub(super) fn next(&mut self) -> Option<(NodeName, RunningContainer)> {
        self.left.next()
    }

    /// Whether every container was looked at.
    pub(super) fn is_done(&self) -> bool {
        self.left.as_slice().is_empty()
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
        let mut ids: Vec<_> = self.0.into_values().flatten().map(|(_, c)| c.id).collect();
        ids.sort_unstable();
        ids
    }
}
