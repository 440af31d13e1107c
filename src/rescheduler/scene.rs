//! One look at the live state: for a round there and then, or for one that is decided elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::extract::Extraction;
use super::settings::Settings;
use super::view::{LimitLookup, RoundInput};
use crate::commit::{Ledger, Verdict, Verdicts};
use crate::resource::ResourceVector;

/// What a policy that decides on another thread needs of the ledger.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) view: RoundInput,
    pub(super) limits: KnownLimits,
    pub(super) now_ms: u64,
}

/// Limits that were computed beforehand, by position of leaf, user and partition.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownLimits(BTreeMap<(usize, usize, usize), ResourceVector>);

impl LimitLookup for KnownLimits {
    fn among_all(&mut self, queue: usize, user: usize, partition: usize) -> ResourceVector {
        let known = self.0.get(&(queue, user, partition));
        known.copied().unwrap_or(ResourceVector::NONE)
    }
}

/// Looks at the live state once, for a round that is decided elsewhere. Limits of users are
/// computed only where a round within queues may ask for them.
pub(super) fn look(ledger: &Ledger, settings: &Settings) -> Scene {
    let mut look = Extraction::new(ledger);
    let view = look.view();
    let mut limits = KnownLimits::default();
    if settings.intra_queue.is_some() {
        for (queue, row) in view.queues.iter().enumerate() {
            let Some(leaf) = &row.leaf else { continue };
            for &app in leaf.active.iter().chain(&leaf.waiting) {
                let user = view.apps[app].user;
                for partition in 0..view.partitions.len() {
                    let limit = || look.among_all(queue, user, partition);
                    limits
                        .0
                        .entry((queue, user, partition))
                        .or_insert_with(limit);
                }
            }
        }
    }
    Scene {
        view,
        limits,
        now_ms: ledger.now_ms(),
    }
}

/// Names of the partitions of a view, in its order.
pub(super) fn partition_names(ledger: &Ledger) -> Vec<Arc<str>> {
    Extraction::new(ledger).partition_names()
}

/// Looks at the live state and decides there and then, with what the look changes.
pub(super) fn decide_here(
    ledger: &Ledger,
    decide: impl FnOnce(&RoundInput, &mut dyn LimitLookup, u64) -> Vec<Verdict>,
) -> Verdicts {
    let mut look = Extraction::new(ledger);
    let view = look.view();
    let verdicts = decide(&view, &mut look, ledger.now_ms());
    Verdicts {
        observations: look.observations(),
        verdicts,
    }
}
