//! What a state does not show and a ledger alone knows, copied while the ledger stands still.

use std::sync::Arc;

use crate::commit::{ContainerState, Ledger, WaitingGang};
use crate::id::{AppSlot, NameId, NodeSlot};
use crate::queue::RunningContainer;

/// A container that runs, with its application and its node.
pub(super) type Placed = (AppSlot, NodeSlot, RunningContainer);

/// What is copied of a ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct LedgerFacts {
    pub(super) now_ms: u64,
    /// By the slots of their applications.
    pub(super) containers: Vec<Placed>,
    /// Containers that are placed and not launched.
    pub(super) not_launched: usize,
    /// Containers on capacity of another partition.
    pub(super) borrowed: usize,
    /// Names of hosts and racks.
    pub(super) places: Vec<(NameId, Arc<str>)>,
    /// Nodes with their positions in the order of registrations.
    pub(super) registered: Vec<(u64, NodeSlot)>,
    pub(super) gangs: Vec<WaitingGang>,
    /// Nodes that waiting gangs hold.
    pub(super) held_nodes: usize,
    pub(super) placed_gangs: usize,
    pub(super) constraints: usize,
    pub(super) lifetimes: usize,
    /// Opportunistic containers without a node.
    pub(super) opportunistic: u64,
}

impl LedgerFacts {
    /// Looks at a ledger, with room for about so many containers.
    ///
    /// Cost: a copy of each container; a look at each application, node and name of a place.
    pub(super) fn of(ledger: &Ledger, containers: usize) -> Self {
        let gangs = ledger.waiting_gangs();
        let held = gangs.iter().map(|gang| ledger.nodes_held_for(gang).count());
        let mut facts = Self {
            now_ms: ledger.now_ms(),
            containers: Vec::with_capacity(containers),
            places: ledger.places().collect(),
            registered: ledger.registrations().collect(),
            held_nodes: held.sum(),
            gangs: gangs.to_vec(),
            placed_gangs: ledger.whole_gangs().count(),
            constraints: ledger.registered_constraints(),
            lifetimes: ledger.lifetimes(),
            ..Self::default()
        };
        let apps = &ledger.state().apps;
        for app in (0..apps.len()).map(AppSlot::at) {
            if !apps[app].stage.is_over() {
                facts.copy(ledger, app);
                facts.opportunistic += ledger.opportunistic_waiting(apps[app].id);
            }
        }
        facts
    }

    /// Copies the containers of an application.
    fn copy(&mut self, ledger: &Ledger, app: AppSlot) {
        for of in ledger.live_containers(app) {
            let known = matches!(
                of.state,
                ContainerState::Allocated | ContainerState::Acquired
            );
            self.not_launched += usize::from(known && !of.is_auxiliary());
            self.borrowed += usize::from(of.borrowed);
        }
        let running = ledger.running_of(app);
        self.containers
            .extend(running.map(|(node, running)| (app, node, running)));
    }
}
