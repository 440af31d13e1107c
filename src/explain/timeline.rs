//! What an application waited for over time: spans of one reason each.

use super::finding::Finding;

/// A time in which an application waited for one reason by one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitSpan {
    /// Begin in virtual ms.
    pub from_ms: u64,
    /// End in virtual ms; the reason holds before it.
    pub to_ms: u64,
    /// The reason as it was first; nothing while the application waited for nothing.
    pub finding: Option<Finding>,
    /// Most containers that waited at once.
    pub containers: u64,
}

impl WaitSpan {
    /// Length in virtual ms.
    #[must_use]
    pub const fn length_ms(&self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }
}

/// The spans of one application, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    spans: Vec<WaitSpan>,
}

impl Timeline {
    /// Notes what holds from a moment on, until something else is noted. `containers`: how many wait.
    pub fn note(&mut self, at_ms: u64, finding: Option<&Finding>, containers: u64) {
        if let Some(last) = self.spans.last_mut() {
            last.to_ms = at_ms;
            if same(last.finding.as_ref(), finding) {
                last.containers = last.containers.max(containers);
                return;
            }
            if last.from_ms == at_ms {
                self.spans.pop();
                return self.note(at_ms, finding, containers);
            }
        }
        self.spans.push(WaitSpan {
            from_ms: at_ms,
            to_ms: at_ms,
            finding: finding.cloned(),
            containers,
        });
    }

    /// Whether the last span goes on with a finding, so that noting it keeps no copy.
    #[must_use]
    pub fn goes_on(&self, finding: Option<&Finding>) -> bool {
        let last = self.spans.last();
        last.is_some_and(|last| same(last.finding.as_ref(), finding))
    }

    /// Ends the last span.
    pub fn end(&mut self, at_ms: u64) {
        if let Some(last) = self.spans.last_mut() {
            last.to_ms = at_ms;
        }
    }

    /// Forgets all spans but so many, the first ones first.
    pub fn keep_last(&mut self, most: usize) {
        let more = self.spans.len().saturating_sub(most);
        self.spans.drain(..more);
    }

    /// The spans.
    #[must_use]
    pub fn spans(&self) -> &[WaitSpan] {
        &self.spans
    }
}

/// Whether two findings are one reason: the same token and setting.
fn same(a: Option<&Finding>, b: Option<&Finding>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.reason == b.reason && a.property == b.property,
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Reason;

    #[test]
    fn spans_follow_each_other_and_equal_reasons_are_one() {
        let am = Finding::new(Reason::AmLimitQueue, "first".to_owned());
        let later = Finding::new(Reason::AmLimitQueue, "second".to_owned());
        let max = Finding::new(Reason::QueueMaxCapacity, String::new());
        let mut timeline = Timeline::default();
        assert!(!timeline.goes_on(None), "there is no span yet");
        timeline.note(10, Some(&am), 1);
        assert!(timeline.goes_on(Some(&later)) && !timeline.goes_on(Some(&max)));
        assert!(!timeline.goes_on(None));
        timeline.note(20, Some(&later), 3);
        timeline.note(50, None, 0);
        timeline.note(50, Some(&max), 2);
        timeline.note(70, None, 0);
        timeline.end(90);
        let lengths: Vec<_> = timeline.spans().iter().map(WaitSpan::length_ms).collect();
        assert_eq!(lengths, [40, 20, 20]);
        assert_eq!(timeline.spans()[0].finding.as_ref(), Some(&am));
        assert_eq!(timeline.spans()[0].containers, 3);
        let joined = timeline
            .spans()
            .windows(2)
            .all(|pair| pair[0].to_ms == pair[1].from_ms);
        assert!(joined);
        timeline.keep_last(5);
        assert_eq!(timeline.spans().len(), 3);
        timeline.keep_last(2);
        assert_eq!(timeline.spans()[0].finding.as_ref(), Some(&max));
    }
}
