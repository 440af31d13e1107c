//! What a run looks like from moment to moment: queues, nodes, applications and why they wait.
//!
//! A run is repeated and an onlooker keeps evenly spaced moments of it. `top` shows them one by
//! one, and `report` draws them over time.

mod recording;
mod take;

use std::collections::BTreeMap;
use std::sync::Arc;

use capsched::api::{ApplicationId, Reason};
use capsched::id::QueuePath;
use capsched::metrics::Latency;
use capsched::sync::{Mutex, MutexGuard};
use serde_json::{Value, json};

pub(crate) use recording::Recording;
pub(crate) use take::permille;

/// Most applications that a moment keeps.
pub(crate) const APPS: usize = 2_000;

/// Most nodes that a moment keeps.
pub(crate) const NODES: usize = 5_000;

/// Most moments that are kept; with more, every second one goes.
const MOMENTS: u64 = 256;

/// Most notes that are kept.
const NOTES: usize = 10_000;

/// The state of a run at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    /// Virtual ms.
    pub(crate) at_ms: u64,
    /// In the order of the tree, parents first.
    pub(crate) queues: Vec<QueueAt>,
    /// By name.
    pub(crate) nodes: Vec<NodeAt>,
    /// Those that wait, then those that run; by number.
    pub(crate) apps: Vec<AppAt>,
    /// Applications that `apps` leaves out.
    pub(crate) further_apps: usize,
    /// Applications and their containers that wait, by dominant reason.
    pub(crate) reasons: BTreeMap<Reason, Count>,
    /// Memory in MiB that is free, and the part on nodes where nothing that waits fits; nothing
    /// while nothing waits.
    pub(crate) free: Option<Free>,
    /// What happened since the run began.
    pub(crate) tally: Tally,
    /// Latencies of each phase so far; empty for a run that is repeated step by step.
    pub(crate) phases: Vec<(String, Latency)>,
}

/// Applications and containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) apps: u64,
    pub(crate) containers: u64,
}

/// Free memory in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Free {
    /// On all nodes.
    pub(crate) all: i64,
    /// On nodes where no container that waits fits.
    pub(crate) unusable: i64,
}

/// A queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueAt {
    pub(crate) path: Arc<str>,
    pub(crate) is_leaf: bool,
    /// Active applications.
    pub(crate) running: u64,
    /// Applications that are not active yet.
    pub(crate) pending: u64,
    /// By partition, the default one first.
    pub(crate) parts: Vec<PartAt>,
}

/// A queue on one partition, in thousandths of the partition and in MiB of memory.
#[derive(Clone, Debug)]
pub(crate) struct PartAt {
    pub(crate) partition: Arc<str>,
    pub(crate) used_permille: u32,
    pub(crate) guaranteed_permille: u32,
    pub(crate) maximum_permille: u32,
    pub(crate) used_mib: i64,
    pub(crate) guaranteed_mib: i64,
    pub(crate) maximum_mib: i64,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct NodeAt {
    pub(crate) name: Arc<str>,
    pub(crate) partition: Arc<str>,
    /// Of the resource type that is used most, in thousandths of the node.
    pub(crate) used_permille: u32,
    /// The same of memory.
    pub(crate) memory_permille: u32,
    pub(crate) containers: u32,
    /// Whether space is reserved for a container.
    pub(crate) reserved: bool,
}

/// An application.
#[derive(Clone, Debug)]
pub(crate) struct AppAt {
    pub(crate) id: ApplicationId,
    pub(crate) queue: QueuePath,
    pub(crate) user: Arc<str>,
    pub(crate) submitted_ms: u64,
    /// Containers that run.
    pub(crate) running: u64,
    /// Containers that wait.
    pub(crate) waiting: u64,
    /// The dominant reason why they wait.
    pub(crate) reason: Option<Reason>,
}

/// Totals since a run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Containers placed.
    pub(crate) placed: u64,
    /// Containers that ended.
    pub(crate) released: u64,
    /// Of these, ended by the scheduler.
    pub(crate) killed: u64,
    /// Reservations made.
    pub(crate) reserved: u64,
    /// Applications accepted.
    pub(crate) submitted: u64,
    /// Applications and calls refused.
    pub(crate) refused: u64,
    /// Proposals that the commit refused.
    pub(crate) conflicts: u64,
    /// Applications that ended.
    pub(crate) ended: u64,
}

/// Something rare that happened.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) at_ms: u64,
    pub(crate) text: String,
}

/// The moments of a run so far, shared by the thread that plays it and those that look.
#[derive(Debug, Default)]
pub(crate) struct Film {
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    moments: Vec<Arc<Moment>>,
    notes: Vec<Note>,
    /// Notes beyond the most that are kept.
    further: u64,
    over: bool,
}

impl Film {
    /// Whether the run ended.
    pub(crate) fn is_over(&self) -> bool {
        self.kept().over
    }

    /// The last moment that is not after a time; the first one for earlier times.
    pub(crate) fn at(&self, at_ms: u64) -> Option<Arc<Moment>> {
        let kept = self.kept();
        let after = kept.moments.partition_point(|one| one.at_ms <= at_ms);
        kept.moments.get(after.saturating_sub(1)).cloned()
    }

    /// The moment so many before or after the one at a time.
    pub(crate) fn beside(&self, at_ms: u64, by: i64) -> Option<Arc<Moment>> {
        let kept = self.kept();
        let after = kept.moments.partition_point(|one| one.at_ms <= at_ms);
        let at = i64::try_from(after).unwrap_or(i64::MAX).saturating_sub(1);
        let last = i64::try_from(kept.moments.len()).unwrap_or(i64::MAX) - 1;
        let wanted = at.saturating_add(by).clamp(0, last.max(0));
        kept.moments.get(usize::try_from(wanted).ok()?).cloned()
    }

    /// All moments.
    pub(crate) fn all(&self) -> Vec<Arc<Moment>> {
        self.kept().moments.clone()
    }

    /// Notes up to a time, the newest first, at most so many.
    pub(crate) fn notes(&self, until_ms: u64, most: usize) -> Vec<Note> {
        let kept = self.kept();
        let end = kept.notes.partition_point(|note| note.at_ms <= until_ms);
        kept.notes[..end].iter().rev().take(most).cloned().collect()
    }

    /// The run ended.
    pub(crate) fn end(&self) {
        self.kept().over = true;
    }

    /// Keeps a note, unless there are too many.
    pub(crate) fn note(&self, at_ms: u64, text: String) {
        let mut kept = self.kept();
        if kept.notes.len() < NOTES {
            kept.notes.push(Note { at_ms, text });
        } else {
            kept.further += 1;
        }
    }

    /// Keeps a moment; whether every second one went.
    pub(crate) fn push(&self, moment: Moment) -> bool {
        let mut kept = self.kept();
        kept.moments.push(Arc::new(moment));
        if (kept.moments.len() as u64) < MOMENTS {
            return false;
        }
        let mut at = 0;
        kept.moments.retain(|_| {
            at += 1;
            at % 2 == 1
        });
        true
    }

    /// A panic while it was held left it whole: every change is one call on a vector.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Moment {
    /// The moment as JSON, as docs/reference/json.md describes it.
    pub(crate) fn to_json(&self) -> Value {
        let reasons = self.reasons.iter().map(|(reason, count)| {
            json!({"reason": reason.token(), "tier": Reason::tier_name(reason.tier()),
                "applications": count.apps, "containers": count.containers})
        });
        let free = self.free.map(
            |free| json!({"all_mib": free.all, "where_nothing_that_waits_fits_mib": free.unusable}),
        );
        json!({
            "at_ms": self.at_ms,
            "queues": self.queues.iter().map(QueueAt::to_json).collect::<Vec<Value>>(),
            "nodes": self.nodes.iter().map(NodeAt::to_json).collect::<Vec<Value>>(),
            "applications": self.apps.iter().map(AppAt::to_json).collect::<Vec<Value>>(),
            "further_applications": self.further_apps,
            "reasons": reasons.collect::<Vec<Value>>(),
            "free_memory": free,
            "since_the_beginning": self.tally.to_json(),
        })
    }
}

impl QueueAt {
    /// Its figures on a partition.
    pub(crate) fn part(&self, partition: &str) -> Option<&PartAt> {
        self.parts.iter().find(|part| &*part.partition == partition)
    }

    fn to_json(&self) -> Value {
        let part = |part: &PartAt| {
            json!({"partition": &*part.partition, "used_permille": part.used_permille,
                "guaranteed_permille": part.guaranteed_permille,
                "maximum_permille": part.maximum_permille, "used_mib": part.used_mib,
                "guaranteed_mib": part.guaranteed_mib, "maximum_mib": part.maximum_mib})
        };
        json!({"path": &*self.path, "leaf": self.is_leaf, "running": self.running,
            "pending": self.pending, "partitions": self.parts.iter().map(part).collect::<Vec<Value>>()})
    }
}

impl NodeAt {
    /// Of the type that is used most, and of memory, in thousandths of what the node offers.
    pub(crate) fn shares(total: &[i64], used: &[i64]) -> [u32; 2] {
        let share = |(total, used): (&i64, &i64)| {
            let share = used.saturating_mul(1_000).checked_div(*total).unwrap_or(0);
            u32::try_from(share).unwrap_or(0)
        };
        let shares: Vec<u32> = total.iter().zip(used).map(share).collect();
        let most = shares.iter().max().copied().unwrap_or(0);
        [most, shares.first().copied().unwrap_or(0)]
    }

    fn to_json(&self) -> Value {
        json!({"node": &*self.name, "partition": &*self.partition,
            "used_permille": self.used_permille, "memory_permille": self.memory_permille,
            "containers": self.containers, "reserved": self.reserved})
    }
}

impl AppAt {
    fn to_json(&self) -> Value {
        json!({"application": self.id.to_string(),
            "queue": &*self.queue, "user": &*self.user, "submitted_ms": self.submitted_ms,
            "running": self.running, "waiting": self.waiting,
            "reason": self.reason.map(Reason::token)})
    }
}

impl Tally {
    fn to_json(self) -> Value {
        json!({"placed": self.placed, "released": self.released, "killed": self.killed,
            "reserved": self.reserved, "submitted": self.submitted, "refused": self.refused,
            "conflicts": self.conflicts, "ended": self.ended})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ms: u64) -> Moment {
        Moment {
            at_ms,
            ..Moment::default()
        }
    }

    #[test]
    fn with_too_many_moments_every_second_one_goes() {
        let film = Film::default();
        let thinned = (0..300)
            .filter(|ms| film.push(at(*ms)))
            .collect::<Vec<u64>>();
        assert_eq!(thinned, [255]);
        assert_eq!(film.all().len() as u64, MOMENTS / 2 + 44);
        let times: Vec<u64> = film.all().iter().map(|one| one.at_ms).collect();
        assert!(times.starts_with(&[0, 2, 4]) && times.ends_with(&[298, 299]));
    }

    #[test]
    fn a_time_shows_the_last_moment_before_it() {
        let film = Film::default();
        assert!(film.at(5).is_none());
        for ms in [10, 20, 30] {
            film.push(at(ms));
        }
        let found = |ms| film.at(ms).map(|one| one.at_ms);
        assert_eq!(
            (found(0), found(19), found(99)),
            (Some(10), Some(10), Some(30))
        );
        let beside = |by| film.beside(20, by).map(|one| one.at_ms);
        assert_eq!(
            (beside(-9), beside(1), beside(9)),
            (Some(10), Some(30), Some(30))
        );
    }

    #[test]
    fn notes_up_to_a_time_come_newest_first() {
        let film = Film::default();
        for ms in [1, 2, 3] {
            film.note(ms, format!("n{ms}"));
        }
        let texts = film.notes(2, 5).into_iter().map(|note| note.text);
        assert_eq!(texts.collect::<Vec<_>>(), ["n2", "n1"]);
    }
}
