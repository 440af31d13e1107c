//! Trials of waiting: what it comes to once containers of others have ended.

use super::{Change, Trials};
use crate::api::scheduler::Scheduler;
use crate::api::stepped::Stepped;
use crate::id::{ContainerId, NodeName};

/// Containers that end, and why they do.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    containers: Vec<ContainerId>,
    whose: Whose,
}

#[derive(Clone, Debug)]
enum Whose {
    /// The largest of the containers on a node that the application reserved, of so many.
    OnReserved(NodeName, usize),
    /// Those that preemption takes for its queue.
    GivenBack,
}

impl Ends {
    pub(super) fn what(&self) -> String {
        let n = self.containers.len();
        match &self.whose {
            Whose::OnReserved(node, 1) => {
                format!("wait for the end of the container on its node {node}")
            }
            Whose::OnReserved(node, of) => {
                format!("wait for the end of {n} of the {of} containers on its node {node}")
            }
            Whose::GivenBack => format!("wait: the {n} containers that preemption takes make room"),
        }
    }

    /// Ends them on a copy. One that has ended since is no fault.
    pub(super) fn happen(&self, copy: &mut Stepped) {
        for &container in &self.containers {
            let _over = copy.container_finished(container);
        }
    }
}

impl Trials<'_> {
    /// That one, two, four ... of the containers on a node end which the application reserved, the largest first.
    pub(super) fn ends_on_reserved(&self) -> Vec<Change> {
        let ledger = self.engine.engine().ledger();
        let state = ledger.state();
        let Some(app) = ledger.app(self.why.app) else {
            return Vec::new();
        };
        let mut keys = state.apps[app].keys.iter();
        let Some(reserved) = keys.find_map(|asks| asks.reserved.first()) else {
            return Vec::new();
        };
        let node = &state.nodes[reserved.node].name;
        let placed = ledger.containers_of_node(reserved.node);
        let mut placed: Vec<_> = placed.filter(|of| of.size.get().memory() > 0).collect();
        placed.sort_by_key(|of| (std::cmp::Reverse(of.size.get().memory()), of.stamp));
        let all = placed.len();
        let counts = std::iter::successors(Some(1_usize), |&n| (n < all).then(|| all.min(n * 2)));
        let counts = counts.take_while(|&n| n <= all);
        let ends = |n: usize| {
            Change::Ends(Ends {
                containers: placed.iter().take(n).map(|of| of.id).collect(),
                whose: Whose::OnReserved(node.clone(), all),
            })
        };
        counts.map(ends).collect()
    }

    /// That the containers end which preemption takes for the application.
    pub(super) fn given_back(&self) -> Vec<Change> {
        let verdict = self.why.preemption.iter();
        let containers = verdict.flat_map(|verdict| &verdict.containers);
        let containers: Vec<_> = containers.map(|of| of.container).collect();
        if containers.is_empty() {
            return Vec::new();
        }
        vec![Change::Ends(Ends {
            containers,
            whose: Whose::GivenBack,
        })]
    }
}
