//! Hosts on which masters of an application failed: the next master is placed elsewhere, unless too many failed.
//!
//! Off unless the settings have a threshold. While a master waits for its container, its application's list of places
//! not to use is that of these hosts; its own list is kept aside until the master starts.
//!
//! Tests: `tests/commit/failed_masters.rs`.
// As SimpleBlacklistManager, and AppSchedulingInfo with a list of the system beside that of the application.

use crate::id::{AppSlot, ApplicationId, Map, NodeSlot, PartitionId};
use crate::queue::Blacklist;
use crate::resource::share;
use crate::snapshot::State;

/// Where masters failed, and the lists that wait for masters to start.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct FailedMasters {
    /// Hosts by application, ascending.
    hosts: Map<ApplicationId, Blacklist>,
    /// Places that applications do not use, from the start of an attempt to that of its master.
    own: Map<AppSlot, Blacklist>,
}

impl FailedMasters {
    /// Forgets an application.
    pub(in crate::commit) fn forget(&mut self, app: ApplicationId) {
        self.hosts.remove(&app);
    }

    /// Takes the list of an application that was kept aside; nothing where the list in its row is its own.
    pub(in crate::commit) fn take_own(&mut self, app: AppSlot) -> Option<Blacklist> {
        self.own.remove(&app)
    }

    /// Notes that the master of an application exited on a node, if that may be the node's fault.
    pub(in crate::commit) fn note_exit(
        &mut self,
        state: &State,
        (app, node): (AppSlot, NodeSlot),
        exit_status: i32,
    ) {
        let enabled = state.settings.failed_master_threshold.is_some();
        if enabled && may_blame_node(exit_status) {
            let host = state.nodes[node].host;
            let hosts = self.hosts.entry(state.apps[app].id).or_default();
            hosts.add(host);
        }
    }

    /// Has the next master of an application placed on none of the hosts where one failed, if they are few enough.
    pub(in crate::commit) fn avoid_hosts(&mut self, state: &mut State, app: AppSlot) {
        let (Some(threshold), false) = (
            state.settings.failed_master_threshold,
            state.apps[app].unmanaged,
        ) else {
            return;
        };
        let row = &state.apps[app];
        let nodes = nodes_for_masters(state, row.master_partition);
        let hosts = self.hosts.get(&row.id);
        let few = |hosts: &&Blacklist| share::is_below_part(hosts.len(), nodes, threshold);
        let hosts = hosts.filter(few).cloned().unwrap_or_default();
        let own = std::mem::replace(&mut state.apps[app].blacklist, hosts);
        self.own.insert(app, own);
    }

    /// The master of an application starts: the list of places not to use is the application's own again.
    pub(in crate::commit) fn restore_own(&mut self, state: &mut State, app: AppSlot) {
        if let Some(own) = self.take_own(app) {
            state.apps[app].blacklist = own;
        }
    }
}

/// Nodes of the partition of a master, or all of the cluster where the partition has none.
// As RMServerUtils.getApplicableNodeCountForAM.
fn nodes_for_masters(state: &State, partition: PartitionId) -> usize {
    match state.partitions[partition].nodes.len() {
        0 => state.node_count,
        some => some,
    }
}

/// Whether a master that exited with this status failed in a way that may be its node's fault.
// As Apps.shouldCountTowardsNodeBlacklisting: not success, aborted, disks failed, preempted, out of memory, or killed.
#[must_use]
pub(crate) const fn may_blame_node(exit_status: i32) -> bool {
    !matches!(exit_status, 0 | -107..=-100)
}
