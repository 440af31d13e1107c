//! Conservation: what queues, nodes and events say about the containers of a run must agree.

use anyhow::{Result, ensure};
use capsched::api::ResourceVector;
use capsched::resource::MAX_TYPES;

/// Containers, and the resources of all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Containers {
    pub(crate) count: u64,
    pub(crate) sum: ResourceVector,
}

impl Containers {
    /// Takes in one more of some size.
    pub(crate) fn add(&mut self, size: &ResourceVector) {
        self.count += 1;
        self.sum += *size;
    }

    /// Takes in others.
    pub(crate) fn join(&mut self, others: Self) {
        self.count += others.count;
        self.sum += others.sum;
    }
}

/// What a state says, summed up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Used by root.
    pub(crate) root: ResourceVector,
    /// Used by all leaves.
    pub(crate) leaves: ResourceVector,
    /// Allocated on all nodes.
    pub(crate) nodes: ResourceVector,
    /// Containers on all nodes.
    pub(crate) containers: u64,
    /// Nodes with a container, and most containers on one.
    pub(crate) used_nodes: u64,
    pub(crate) most_on_node: u32,
    /// The most that a node has of each type.
    pub(crate) largest: ResourceVector,
    /// Nodes whose free and allocated amounts are not their total, or that are overfull.
    pub(crate) wrong: Vec<String>,
}

impl Totals {
    /// Takes in a queue with what it uses, reservations aside.
    pub(crate) fn queue(&mut self, path: &str, leaf: bool, used: ResourceVector) {
        if path == "root" {
            self.root += used;
        }
        if leaf {
            self.leaves += used;
        }
    }

    /// Takes in a node with its total, allocated and free amounts.
    pub(crate) fn node(
        &mut self,
        name: &dyn std::fmt::Display,
        [total, allocated, free]: [ResourceVector; 3],
        containers: u32,
    ) {
        self.nodes += allocated;
        self.containers += u64::from(containers);
        self.used_nodes += u64::from(containers > 0);
        self.most_on_node = self.most_on_node.max(containers);
        self.largest = self.largest.component_max(&total);
        if free + allocated != total || !ResourceVector::NONE.fits_in(&free) {
            self.wrong.push(name.to_string());
        }
    }

    /// The fewest nodes that could hold what is on them: no order of placing comes to fewer.
    pub(crate) fn least_nodes(&self) -> u64 {
        let needed = (0..MAX_TYPES).filter(|&i| self.largest[i] > 0).map(|i| {
            let [all, one] = [self.nodes[i], self.largest[i]].map(i64::unsigned_abs);
            all.div_ceil(one)
        });
        needed.max().unwrap_or(0)
    }

    /// Nodes in use beyond the fewest, in a million of those: at least the gap to the best packing.
    pub(crate) fn packing_gap_ppm(&self) -> u64 {
        let least = self.least_nodes();
        self.used_nodes.saturating_sub(least) * 1_000_000 / least.max(1)
    }

    /// Checks that `placed` containers, `all` together, are everywhere accounted for.
    pub(crate) fn check(&self, placed: u64, all: &ResourceVector) -> Result<()> {
        ensure!(placed > 0, "the run placed nothing");
        ensure!(
            self.wrong.is_empty(),
            "nodes do not add up: {}",
            self.wrong.join(", ")
        );
        ensure!(
            self.containers == placed,
            "{placed} placed, {} on nodes",
            self.containers
        );
        for (who, used) in [
            ("root", self.root),
            ("leaves", self.leaves),
            ("nodes", self.nodes),
        ] {
            ensure!(
                used == *all,
                "{placed} placed are {all}, but {who} hold {used}"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packing_gap_is_what_is_used_beyond_the_fewest_nodes() {
        let mut totals = Totals::default();
        let total = ResourceVector::of(&[4096, 8]);
        let held = [[4096, 4], [2048, 2], [2048, 2], [0, 0]].map(|held| ResourceVector::of(&held));
        for held in held {
            totals.node(
                &"n",
                [total, held, total - held],
                u32::from(!held.is_none()),
            );
        }
        assert_eq!((totals.used_nodes, totals.least_nodes()), (3, 2));
        assert_eq!(totals.packing_gap_ppm(), 500_000);
        assert_eq!(Totals::default().packing_gap_ppm(), 0);
    }

    fn totals() -> (Totals, ResourceVector) {
        let size = ResourceVector::of(&[1024, 1]);
        let mut totals = Totals::default();
        totals.queue("root", false, size);
        totals.queue("root.a", true, size);
        totals.node(&"n1", [size.times(2), size, size], 1);
        (totals, size)
    }

    #[test]
    fn a_run_that_adds_up_passes() {
        let (totals, size) = totals();
        assert!(totals.check(1, &size).is_ok());
    }

    #[test]
    fn a_run_that_did_nothing_or_lost_something_is_refused() {
        let (mut totals, size) = totals();
        assert!(Totals::default().check(0, &size).is_err());
        assert!(totals.check(2, &size).is_err());
        totals.queue("root.b", true, size);
        assert!(totals.check(1, &size).is_err());
    }
}
