//! The backlog: events on their way to the readers, in segments of bounded length.
//!
//! Calls go on while nobody reads, so the backlog has no bound. As one list it would be copied as a whole whenever it
//! outgrows its memory, and every caller would wait for that. So what comes is added to the last segment up to a
//! bound, and begins a segment beyond it.
//!
//! Cost of adding: a copy of at most [`SEGMENT`] events, and of them again where the segment grows.

use std::collections::VecDeque;

use crate::commit::Event;

/// Most events of a segment that others were added to.
const SEGMENT: usize = 1024;

/// Events in order, until the ring has room for them.
#[derive(Debug, Default)]
pub(super) struct EventBacklog(VecDeque<Vec<Event>>);

impl EventBacklog {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds events behind all others.
    pub(super) fn add(&mut self, mut events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        match self.0.back_mut() {
            Some(last) if last.len() + events.len() <= SEGMENT => last.append(&mut events),
            _ => self.0.push_back(events),
        }
    }

    /// Takes the first segment.
    pub(super) fn take_first(&mut self) -> Option<Vec<Event>> {
        self.0.pop_front()
    }

    /// Puts back a segment that was taken just before.
    pub(super) fn put_back(&mut self, segment: Vec<Event>) {
        self.0.push_front(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ApplicationId;

    fn event(number: usize) -> Event {
        let number = u32::try_from(number).expect("few events");
        Event::MasterStarted {
            app: ApplicationId::new(number),
            container: None,
        }
    }

    /// Adds events in parts; the length of each segment.
    fn segments(parts: &[usize]) -> Vec<usize> {
        let (mut backlog, mut added) = (EventBacklog::default(), 0);
        for &part in parts {
            backlog.add((added..added + part).map(event).collect());
            added += part;
        }
        let first = backlog.take_first();
        if let Some(first) = first {
            backlog.put_back(first);
        }
        let (mut lengths, mut taken) = (Vec::new(), Vec::new());
        while let Some(segment) = backlog.take_first() {
            lengths.push(segment.len());
            taken.extend(segment);
        }
        assert!(backlog.is_empty());
        assert_eq!(taken, (0..added).map(event).collect::<Vec<_>>());
        lengths
    }

    #[test]
    fn no_segment_grows_beyond_its_bound() {
        assert_eq!(segments(&vec![1; 2 * SEGMENT + 1]), [SEGMENT, SEGMENT, 1]);
        assert_eq!(segments(&[SEGMENT - 1, 2]), [SEGMENT - 1, 2]);
    }

    #[test]
    fn what_comes_together_stays_together_and_nothing_is_no_segment() {
        assert_eq!(segments(&[5, 3 * SEGMENT, 1]), [5, 3 * SEGMENT, 1]);
        assert!(segments(&[0, 0]).is_empty());
    }
}
