//! The selector across queues: what leaves use beyond their shares, least important first.

use super::quota::Quota;
use super::records::Filling;
use super::round::Round;
use crate::resource::ResourceVector;

/// Containers of masters, which are taken last.
#[derive(Debug, Default)]
struct Masters {
    containers: Vec<usize>,
    size: ResourceVector,
}

impl Round<'_> {
    // As FifoCandidatesSelector.selectCandidates.
    pub(super) fn select_fifo(&mut self, filling: &Filling) {
        self.fill(filling);
        self.deduct();
        for leaf in self.leaves.clone() {
            if !self.view.queues[leaf].preemption_disabled {
                self.take_from_leaf(leaf);
            }
        }
    }

    fn take_from_leaf(&mut self, leaf: usize) {
        let view = self.view;
        let Some(row) = &view.queues[leaf].leaf else {
            return;
        };
        let conservative = self.settings.conservative;
        let mut quota = self.quota_by_partition(leaf);
        for partition in 0..view.partitions.len() {
            if quota.get(partition).is_none() {
                continue;
            }
            for container in self.borrowed(leaf, partition) {
                if quota.get(partition).is_none() {
                    break;
                }
                self.take(&mut quota, container, conservative);
            }
        }
        let mut masters = Masters::default();
        for &app in row.active.iter().rev() {
            if quota.is_empty() {
                break;
            }
            self.take_reservations(app, &mut quota);
            self.take_live(app, &mut quota, &mut masters);
        }
        for &container in &masters.containers {
            if quota.is_empty() || !self.more(&masters.size, &row.masters) {
                break;
            }
            if self.take(&mut quota, container, conservative) {
                masters.size -= view.containers[container].size;
            }
        }
    }

    /// Every reservation that is looked at goes, whether or not it helps.
    fn take_reservations(&mut self, app: usize, quota: &mut Quota) {
        for &container in &self.view.apps[app].reserved {
            if self.is_chosen(container) {
                continue;
            }
            if quota.is_empty() {
                break;
            }
            self.take(quota, container, self.settings.conservative);
            self.drop_reservation(container);
        }
    }

    fn take_live(&mut self, app: usize, quota: &mut Quota, masters: &mut Masters) {
        for container in self.victims(app) {
            if quota.is_empty() {
                break;
            }
            let row = &self.view.containers[container];
            if self.is_chosen(container) || row.killable {
                continue;
            }
            if row.master {
                masters.containers.push(container);
                masters.size += row.size;
            } else {
                self.take(quota, container, self.settings.conservative);
            }
        }
    }

    /// Containers of a leaf that serve requests of the default partition on another one, youngest
    /// first.
    fn borrowed(&self, leaf: usize, partition: usize) -> Vec<usize> {
        let view = self.view;
        if partition == 0 {
            return Vec::new();
        }
        let apps = view.queues[leaf].leaf.iter().flat_map(|leaf| &leaf.apps);
        let mut found: Vec<_> = apps
            .flat_map(|&app| &view.apps[app].live)
            .copied()
            .filter(|&container| {
                let row = &view.containers[container];
                view.nodes[row.node].partition == partition && row.requested_partition == Some(0)
            })
            .collect();
        found.sort_by_key(|&container| std::cmp::Reverse(view.containers[container].id));
        found
    }
}
