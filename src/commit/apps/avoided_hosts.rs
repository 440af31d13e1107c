//! Masters are kept from the hosts where masters of their application failed.
//!
//! Tests: `tests/commit/failed_masters.rs`.

use super::failed_masters::may_blame_node;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId};
use crate::resource::share;

impl Ledger {
    /// Notes that the master of an application exited on a node, if that may be the node's fault.
    pub(in crate::commit) fn note_failed_master(
        &mut self,
        app: AppSlot,
        node: NodeSlot,
        exit_status: i32,
    ) {
        let enabled = self.state.settings.failed_master_threshold.is_some();
        if enabled && may_blame_node(exit_status) {
            let host = self.state.nodes[node].host;
            self.masters.add(self.state.apps[app].id, host);
        }
    }

    /// Has the next master of an application placed on none of the hosts where one failed, if they are few enough.
    pub(in crate::commit) fn avoid_failed_hosts(&mut self, app: AppSlot) {
        let (Some(threshold), false) = (
            self.state.settings.failed_master_threshold,
            self.state.apps[app].unmanaged,
        ) else {
            return;
        };
        let row = &self.state.apps[app];
        let hosts = self.masters.hosts_of(row.id);
        let nodes = self.nodes_for_masters(row.master_partition);
        let few = |hosts: &&[NameId]| share::is_below_part(hosts.len(), nodes, threshold);
        let hosts = hosts
            .filter(few)
            .map(<[NameId]>::to_vec)
            .unwrap_or_default();
        let own = std::mem::replace(&mut self.state.apps[app].blacklist, hosts);
        self.masters.keep_own(app, own);
    }

    /// The master of an application starts: the list of places not to use is the application's own again.
    pub(in crate::commit) fn restore_own_places(&mut self, app: AppSlot) {
        if let Some(own) = self.masters.take_own(app) {
            self.state.apps[app].blacklist = own;
        }
    }

    /// Nodes of the partition of a master, or all of the cluster where the partition has none.
    // As RMServerUtils.getApplicableNodeCountForAM.
    fn nodes_for_masters(&self, partition: PartitionId) -> usize {
        match self.state.partitions[partition].nodes.len() {
            0 => self.registry.node_count(),
            some => some,
        }
    }
}
