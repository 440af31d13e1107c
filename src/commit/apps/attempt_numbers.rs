//! Numbers of attempts: an application that starts again goes on behind its last one, so that no two
//! containers have the same id.
//!
//! Tests: `tests/commit/attempts.rs`.

use std::collections::VecDeque;

use crate::id::{ApplicationId, Map};

/// Ended applications of which the last attempt is remembered; the oldest are forgotten first.
// As yarn.resourcemanager.max-completed-applications, which bounds what is kept of ended ones.
const REMEMBERED: usize = 65_536;

/// The last attempts of ended applications.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct AttemptNumbers {
    last: Map<ApplicationId, u32>,
    /// In order of their ends; an application that ended again stands there again.
    ended: VecDeque<(ApplicationId, u32)>,
}

impl AttemptNumbers {
    /// The number of the next attempt of an application that does not live.
    pub(in crate::commit) fn next(&self, app: ApplicationId) -> u32 {
        let last = self.last.get(&app).copied();
        last.map_or(1, |last| last.saturating_add(1))
    }

    /// Notes that an application ended with an attempt; the one that is forgotten for it, if one is.
    pub(in crate::commit) fn note_end(
        &mut self,
        app: ApplicationId,
        attempt: u32,
    ) -> Option<ApplicationId> {
        self.last.insert(app, attempt);
        self.ended.push_back((app, attempt));
        if self.ended.len() <= REMEMBERED {
            return None;
        }
        let (oldest, attempt) = self.ended.pop_front()?;
        let is_last = self.last.get(&oldest) == Some(&attempt);
        is_last.then(|| self.last.remove(&oldest));
        is_last.then_some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attempts_of_the_latest_applications_are_remembered() {
        let mut numbers = AttemptNumbers::default();
        let (first, second) = (ApplicationId::new(1), ApplicationId::new(2));
        assert_eq!(numbers.next(first), 1);
        for attempt in 1..=10 {
            assert_eq!(numbers.next(first), attempt);
            numbers.note_end(first, attempt);
        }
        numbers.note_end(second, 1);
        let remembered = u32::try_from(REMEMBERED).unwrap();
        for number in 3..remembered + 2 {
            numbers.note_end(ApplicationId::new(number), 1);
        }
        assert_eq!(numbers.next(second), 2);
        assert_eq!(numbers.next(first), 1, "it ended too long ago");
        assert_eq!(numbers.ended.len(), REMEMBERED);
    }
}
