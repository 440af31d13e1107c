//! Looks at the live state: for a round there and then, or for one that is decided elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::extract::{Extraction, partitions_of};
use super::holdings::{Copied, Holdings};
use super::settings::Settings;
use super::view::{LimitLookup, RoundInput};
use crate::commit::{Ledger, PlacedCopy, Verdict, Verdicts};
use crate::id::PartitionId;
use crate::resource::ResourceVector;
use crate::runtime::{Access, CallError};
use crate::snapshot::State;

/// What a policy that decides on another thread needs of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) view: RoundInput,
    pub(super) limits: KnownLimits,
    pub(super) now_ms: u64,
    /// Names of the partitions, in the order of the view.
    pub(super) names: Vec<Arc<str>>,
}

/// Limits that were computed beforehand, by position of leaf, user and partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownLimits(BTreeMap<(usize, usize, usize), ResourceVector>);

impl LimitLookup for KnownLimits {
    fn among_all(&mut self, queue: usize, user: usize, partition: usize) -> ResourceVector {
        let known = self.0.get(&(queue, user, partition));
        known.copied().unwrap_or(ResourceVector::NONE)
    }
}

/// Looks at the live state once, for a round that is decided elsewhere.
pub(super) fn look(ledger: &Ledger, settings: &Settings) -> Scene {
    look_at(ledger.state(), ledger, settings)
}

/// The same of a copy with a state of the same moment.
pub(super) fn look_at_copy(state: &State, placed: &PlacedCopy, settings: &Settings) -> Scene {
    look_at(state, &Copied { state, placed }, settings)
}

/// Limits of users are computed only where a round within queues may ask for them.
fn look_at<H: Holdings>(state: &State, held: &H, settings: &Settings) -> Scene {
    let mut look = Extraction::new(state, held);
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
        now_ms: held.now_ms(),
        names: partition_names(state),
    }
}

/// Looks through the committer, in parts; the view is made on this thread.
///
/// # Errors
///
/// Once the engine has shut down.
pub(super) fn look_in_parts(access: &Access, settings: &Settings) -> Result<Scene, CallError> {
    // Must equal [`look`].
    let same = settings.clone();
    let compared = move |ledger: &Ledger| cfg!(debug_assertions).then(|| look(ledger, &same));
    let Some(copy) = access.copy_placed(compared)? else {
        let settings = settings.clone();
        return access.inspect(move |ledger| look(ledger, &settings));
    };
    let scene = look_at_copy(&copy.snapshot.to_state(), &copy.copy, settings);
    debug_assert!(copy.found.is_none_or(|whole| whole == scene));
    Ok(scene)
}

/// Names of the partitions of a view, in its order.
pub(super) fn partition_names(state: &State) -> Vec<Arc<str>> {
    let name = |id: PartitionId| (*state.partitions[id].name).into();
    partitions_of(state).into_iter().map(name).collect()
}

/// Looks at the live state and decides there and then, with what the look changes.
pub(super) fn decide_here(
    ledger: &Ledger,
    decide: impl FnOnce(&RoundInput, &mut dyn LimitLookup, u64) -> Vec<Verdict>,
) -> Verdicts {
    let mut look = Extraction::new(ledger.state(), ledger);
    let view = look.view();
    let verdicts = decide(&view, &mut look, ledger.now_ms());
    Verdicts {
        observations: look.observations(),
        verdicts,
    }
}
