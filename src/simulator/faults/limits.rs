//! Limits as the books know them: what a queue and a user may have at most, rounded in favour of the engine.

use super::books::{BookedContainer, Books, Checked};
use super::configured::Configured;
use super::fault;
use crate::api::{ContainerId, NodeName, ResourceVector};

/// The smallest allocation, to a multiple of which user limits are rounded up.
const STEP: [i64; 3] = [1024, 1, 1];

impl Books {
    /// Whether the queues above a container are within their maxima on its node's partition (Q4).
    pub(super) fn within_maxima(&self, id: ContainerId, node: &NodeName) -> Checked {
        let label = self.nodes[node].label;
        let leaf = &self.apps[&id.app].leaf;
        let total = self.total(label);
        let mut path = leaf.as_str();
        while let Some((parent, _)) = path.rsplit_once('.') {
            let used = self.used(path, label);
            if let Some(most) = self.part_of(path, &total, |queue| queue.most)
                && (0..self.types).any(|i| used[i] > most[i])
            {
                let text = format!("{id}: {path} uses {used} of at most {most} on `{label}`");
                return fault("Q4", text);
            }
            path = parent;
        }
        Ok(())
    }

    /// Whether the user of a new container was within the limit before it (U2). The limit of a user is
    /// at most so many times the guarantee of the leaf, whoever else asks; the books do not know more of
    /// it.
    pub(super) fn within_user_limit(&self, id: ContainerId, held: &BookedContainer) -> Checked {
        let label = self.nodes[&held.node].label;
        let app = &self.apps[&id.app];
        let total = self.total(label);
        let all = self.nodes.values();
        let cluster = all.fold(ResourceVector::NONE, |sum, node| sum + node.total);
        // Shares of nothing say nothing.
        if (0..self.types).any(|i| total[i] <= 0) {
            return Ok(());
        }
        let Some(most) = self.most_of_user(&app.leaf, &app.user, &total) else {
            return Ok(());
        };
        let own = self.charged().filter(|(other, place)| {
            let same = other.user == app.user && other.leaf == app.leaf;
            same && self.nodes[&place.node].label == label
        });
        let used = own.fold(ResourceVector::NONE, |sum, (_, held)| sum + held.size);
        let used = used - held.size;
        // Amounts are compared by the type of which they are the largest share of the cluster.
        let above = |i: usize, j: usize| {
            i128::from(used[i]) * i128::from(cluster[j])
                > i128::from(most[j]) * i128::from(cluster[i])
        };
        if (0..self.types).any(|i| (0..self.types).all(|j| above(i, j))) {
            let (user, leaf) = (&app.user, &app.leaf);
            let text = format!("{id}: {user} had {used} of at most {most} in {leaf} on `{label}`");
            return fault("U2", text);
        }
        Ok(())
    }

    /// More than a user may have of a leaf. The smallest of several amounts is chosen by its largest share
    /// of the partition, so that of each type it may be as much as that share.
    fn most_of_user(
        &self,
        leaf: &str,
        user: &str,
        total: &ResourceVector,
    ) -> Option<ResourceVector> {
        let guaranteed = self.part_of(leaf, total, |queue| queue.share)?;
        let factor = self.configured.get(leaf)?.factor;
        let capacity = |i: usize| i128::from(guaranteed[i].max(STEP[i]) * factor);
        let larger = |i: usize, j: usize| {
            capacity(i) * i128::from(total[j]) > capacity(j) * i128::from(total[i])
        };
        let types = 0..self.types;
        let largest = types.reduce(|best, i| if larger(i, best) { i } else { best })?;
        let halves = i128::from(self.halves_of_weight.get(user).copied().unwrap_or(2));
        Some(ResourceVector::build(|i| {
            if i >= self.types {
                return 0;
            }
            let share = capacity(largest) * i128::from(total[i]) / i128::from(total[largest]);
            let rounded = share + 1 + i128::from(STEP[i]);
            i64::try_from((rounded * halves + 1) / 2).unwrap_or(i64::MAX)
        }))
    }

    /// A part of a partition that a queue has by some percentages, rounded up.
    fn part_of(
        &self,
        path: &str,
        total: &ResourceVector,
        percent: impl Fn(&Configured) -> i64,
    ) -> Option<ResourceVector> {
        let mut part = *total;
        let mut at = path;
        while let Some((parent, _)) = at.rsplit_once('.') {
            let percent = percent(self.configured.get(at)?);
            part = ResourceVector::build(|i| (part[i] * percent + 99) / 100);
            at = parent;
        }
        Some(ResourceVector::build(|i| part[i] + 1 + part[i] / 100_000))
    }
}
