//! What is known only while a run is played: limits of queues, reasons of waits, room that nothing can use.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use capsched::api::Reason;
use serde::Serialize;

use crate::moments::{Film, Moment, PartAt, Recording};
use crate::recipe::Recorded;

/// Series over the moments of a repeated run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Repeated {
    /// Virtual seconds.
    at_s: Vec<u64>,
    /// Queues by partition, in the order of the tree.
    partitions: BTreeMap<String, Vec<QueueSeries>>,
    /// Applications that wait, by the tier of their dominant reason, lowest tier first.
    waiting_by_tier: Vec<TierSeries>,
    /// Free memory on nodes where nothing that waits fits, in thousandths of all memory that is free; nothing
    /// while nothing waits.
    unusable_permille: Vec<Option<i64>>,
}

/// A queue on one partition. Amounts are memory in MiB.
#[derive(Debug, Serialize)]
struct QueueSeries {
    path: String,
    leaf: bool,
    used_mib: Vec<i64>,
    guaranteed_mib: Vec<i64>,
    maximum_mib: Vec<i64>,
}

#[derive(Debug, Serialize)]
struct TierSeries {
    tier: &'static str,
    applications: Vec<u64>,
}

/// Plays a recorded run once more. `changes_ms`: when it changed, as its files say.
///
/// # Errors
///
/// When its inputs changed, or real threads made it.
pub(super) fn of(run: &Path, changes_ms: &[u64]) -> Result<Repeated> {
    let staged = Recorded::open(run)?.stage()?;
    let film = Film::default();
    let mut recording = Recording::of_changes(&film, changes_ms);
    let scene = staged.scene();
    staged
        .row
        .observe(&scene, None, &mut recording, |_, _| ())?;
    Ok(series(&film.all()))
}

fn series(moments: &[Arc<Moment>]) -> Repeated {
    Repeated {
        at_s: moments.iter().map(|one| one.at_ms / 1_000).collect(),
        partitions: partitions(moments),
        waiting_by_tier: (1..=6)
            .filter_map(|tier| tier_series(tier, moments))
            .collect(),
        unusable_permille: moments.iter().map(|one| unusable(one)).collect(),
    }
}

fn unusable(of: &Moment) -> Option<i64> {
    let free = of.free?;
    let share = free.unusable.saturating_mul(1_000).checked_div(free.all);
    Some(share.unwrap_or(0))
}

/// Nothing for a tier that never applies.
fn tier_series(tier: u8, moments: &[Arc<Moment>]) -> Option<TierSeries> {
    let waiting = |one: &Arc<Moment>| {
        let reasons = one.reasons.iter();
        let of_tier = reasons.filter(|(reason, _)| reason.tier() == tier);
        of_tier.map(|(_, count)| count.apps).sum()
    };
    let applications: Vec<u64> = moments.iter().map(waiting).collect();
    let tier = Reason::tier_name(tier)?;
    applications
        .iter()
        .any(|n| *n > 0)
        .then_some(TierSeries { tier, applications })
}

/// Queues that come later have nothing before.
fn partitions(moments: &[Arc<Moment>]) -> BTreeMap<String, Vec<QueueSeries>> {
    let mut all: BTreeMap<String, Vec<QueueSeries>> = BTreeMap::new();
    for (at, moment) in moments.iter().enumerate() {
        for queue in &moment.queues {
            for part in &queue.parts {
                let of_part = all.entry(part.partition.to_string()).or_default();
                let known = of_part.iter().position(|one| *one.path == *queue.path);
                let index = known.unwrap_or(of_part.len());
                if known.is_none() {
                    of_part.push(QueueSeries::new(&queue.path, queue.is_leaf, at));
                }
                of_part[index].add(at, part);
            }
        }
    }
    for queue in all.values_mut().flatten() {
        queue.fill(moments.len());
    }
    all
}

impl QueueSeries {
    fn new(path: &str, leaf: bool, before: usize) -> Self {
        let mut new = Self {
            path: path.to_owned(),
            leaf,
            used_mib: Vec::new(),
            guaranteed_mib: Vec::new(),
            maximum_mib: Vec::new(),
        };
        new.fill(before);
        new
    }

    fn add(&mut self, at: usize, part: &PartAt) {
        self.fill(at);
        self.used_mib.push(part.used_mib);
        self.guaranteed_mib.push(part.guaranteed_mib);
        self.maximum_mib.push(part.maximum_mib);
    }

    /// Nothing for moments at which the queue does not exist.
    fn fill(&mut self, to: usize) {
        let series = [
            &mut self.used_mib,
            &mut self.guaranteed_mib,
            &mut self.maximum_mib,
        ];
        for one in series {
            one.resize(to.max(one.len()), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::{Count, Free, QueueAt};

    fn moment(at_ms: u64, queues: &[&str], reason: Option<Reason>) -> Arc<Moment> {
        let part = PartAt {
            partition: "".into(),
            used_permille: 0,
            guaranteed_permille: 0,
            maximum_permille: 0,
            used_mib: 5,
            guaranteed_mib: 10,
            maximum_mib: 20,
        };
        let queue = |path: &&str| QueueAt {
            path: (*path).into(),
            is_leaf: true,
            running: 0,
            pending: 0,
            parts: vec![part.clone()],
        };
        let count = Count {
            apps: 3,
            containers: 9,
        };
        Arc::new(Moment {
            at_ms,
            queues: queues.iter().map(queue).collect(),
            reasons: reason.map(|reason| (reason, count)).into_iter().collect(),
            free: reason.map(|_| Free {
                all: 40,
                unusable: 10,
            }),
            ..Moment::default()
        })
    }

    #[test]
    fn series_are_as_long_as_the_moments_and_tiers_count_applications() {
        let moments = [
            moment(0, &["root.a"], None),
            moment(2_000, &["root.b"], Some(Reason::UserLimit)),
        ];
        let found = series(&moments);
        assert_eq!(found.at_s, [0, 2]);
        let queues = &found.partitions[""];
        assert_eq!(
            (&queues[0].used_mib, &queues[1].maximum_mib),
            (&vec![5, 0], &vec![0, 20])
        );
        assert_eq!(found.waiting_by_tier.len(), 1);
        assert_eq!(
            (
                found.waiting_by_tier[0].tier,
                &found.waiting_by_tier[0].applications
            ),
            ("quota", &vec![0, 3])
        );
        assert_eq!(found.unusable_permille, [None, Some(250)]);
    }
}
