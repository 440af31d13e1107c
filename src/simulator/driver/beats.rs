//! Heartbeats of all nodes, spread evenly over the interval and left out while nothing waits.

use crate::api::NodeName;

/// The nodes in order of registration; node `i` of `n` beats at `i / n` of every interval.
///
/// Beats are numbered through time: beat `b` is that of node `b % n` in period `b / n`. The number
/// alone advances the time, so a pause does not shift anyone.
#[derive(Debug)]
pub(super) struct Beats {
    nodes: Vec<NodeName>,
    interval_ms: u64,
    /// Number of the next beat.
    next: u64,
}

impl Beats {
    pub(super) const fn new(interval_ms: u64) -> Self {
        Self {
            nodes: Vec::new(),
            interval_ms,
            next: 0,
        }
    }

    /// Adds or removes a node; the numbering starts again at `now_ms`.
    pub(super) fn change(&mut self, now_ms: u64, change: impl FnOnce(&mut Vec<NodeName>)) {
        change(&mut self.nodes);
        self.next = 0;
        self.resume(now_ms);
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.nodes.len()).expect("a number of nodes fits in a u64")
    }

    /// Continues with the first beat at or after `now_ms` that was not taken yet.
    pub(super) fn resume(&mut self, now_ms: u64) {
        if !self.nodes.is_empty() {
            self.next = self.next.max(self.first_from(now_ms));
        }
    }

    /// The first beat at a time or later.
    fn first_from(&self, at_ms: u64) -> u64 {
        if at_ms == u64::MAX {
            return u64::MAX;
        }
        let n = self.len();
        let period = at_ms / self.interval_ms;
        let within = at_ms % self.interval_ms;
        // The smallest i with i * interval / n >= within.
        let first = within.saturating_mul(n).div_ceil(self.interval_ms);
        let mut beat = period.saturating_mul(n).saturating_add(first);
        while self.time(beat) < at_ms {
            beat += 1;
        }
        beat
    }

    /// Continues behind a scheduler that is late: a beat whose node has sent the next one meanwhile
    /// is left out, as the resource manager keeps one update of a node at a time.
    // As RMNodeImpl.nextHeartBeat.
    pub(super) fn catch_up(&mut self, now_ms: u64) {
        let n = self.len();
        if n == 0 {
            return;
        }
        let late = now_ms.saturating_sub(self.time(self.next));
        self.next += late / self.interval_ms * n;
    }

    /// Time of the next beat; nothing without nodes.
    pub(super) fn at(&self) -> Option<u64> {
        (!self.nodes.is_empty()).then(|| self.time(self.next))
    }

    /// Takes the next beat: the node whose turn it is.
    pub(super) fn take(&mut self) -> Option<NodeName> {
        let index = usize::try_from(self.next % self.len().max(1)).ok()?;
        self.next += 1;
        self.nodes.get(index).cloned()
    }

    /// The node whose turn is next.
    pub(super) fn next_node(&self) -> Option<&NodeName> {
        let index = usize::try_from(self.next % self.len().max(1)).ok()?;
        self.nodes.get(index)
    }

    /// How many beats come before a time.
    pub(super) fn coming_before(&self, at_ms: u64) -> u64 {
        if self.nodes.is_empty() {
            return 0;
        }
        self.first_from(at_ms).saturating_sub(self.next)
    }

    /// Takes so many beats at once; the time of the last of them.
    pub(super) fn take_many(&mut self, count: u64) -> Option<u64> {
        let last = self.next.checked_add(count)?.checked_sub(1)?;
        self.next = last + 1;
        (count > 0).then(|| self.time(last))
    }

    fn time(&self, beat: u64) -> u64 {
        let n = self.len();
        beat / n * self.interval_ms + beat % n * self.interval_ms / n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(n: u16) -> Beats {
        let mut beats = Beats::new(1000);
        beats.change(0, |nodes| {
            nodes.extend((0..n).map(|i| NodeName::new(&format!("n{i}"), 0).unwrap()));
        });
        beats
    }

    fn take(beats: &mut Beats) -> (u64, String) {
        let at = beats.at().unwrap();
        (at, beats.take().unwrap().host().to_owned())
    }

    #[test]
    fn every_node_beats_once_per_interval_at_its_own_offset() {
        let mut beats = beats(3);
        let seen: Vec<(u64, String)> = (0..4).map(|_| take(&mut beats)).collect();
        let expected = [(0, "n0"), (333, "n1"), (666, "n2"), (1000, "n0")];
        assert_eq!(seen, expected.map(|(at, host)| (at, host.to_owned())));
    }

    #[test]
    fn a_pause_shifts_nobody() {
        let mut beats = beats(3);
        for (resume, at, host) in [
            (5000, 5000, "n0"),
            (5001, 5333, "n1"),
            (5333, 5666, "n2"),
            (5667, 6000, "n0"),
            (7334, 7666, "n2"),
        ] {
            beats.resume(resume);
            assert_eq!(take(&mut beats), (at, host.to_owned()), "from {resume}");
        }
    }

    #[test]
    fn beats_behind_a_late_scheduler_keep_their_order_and_are_one_for_each_node() {
        let mut beats = beats(3);
        take(&mut beats);
        beats.catch_up(900);
        assert_eq!(take(&mut beats), (333, "n1".to_owned()));
        beats.catch_up(2700);
        assert_eq!(take(&mut beats), (2666, "n2".to_owned()));
        beats.catch_up(2700);
        assert_eq!(take(&mut beats), (3000, "n0".to_owned()));
    }
}
