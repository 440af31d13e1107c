//! How far a hunt is: a bar on a terminal, else a line a minute on standard error.

use std::ops::Range;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::note;
use crate::play::grouped;

/// Time between two lines where standard error is no terminal.
const LINE_MS: u64 = 60_000;

/// What a hunt has met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HuntCounts {
    pub(super) scenarios: u64,
    pub(super) steps: usize,
    pub(super) differences: usize,
}

/// Shows how far a hunt is. Nothing is left of a bar when this is dropped.
#[derive(Debug)]
pub(super) struct HuntProgress {
    bar: ProgressBar,
    seeds: u64,
    most_ms: Option<u64>,
    /// When the next line is due.
    next_line_ms: u64,
}

impl HuntProgress {
    /// For a hunt over seeds that ends after so many minutes.
    pub(super) fn new(seeds: &Range<u64>, minutes: Option<u64>) -> Self {
        let most_ms = minutes.map(|minutes| minutes.saturating_mul(60_000));
        let seeds = seeds.end.saturating_sub(seeds.start);
        let bar = ProgressBar::new(most_ms.unwrap_or(seeds));
        let style = ProgressStyle::with_template("hunt {bar:30} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            seeds,
            most_ms,
            next_line_ms: LINE_MS,
        }
    }

    /// Shows the counts after so many ms.
    pub(super) fn show(&mut self, counts: HuntCounts, ms: u64) {
        let text = self.text(counts, ms);
        if self.bar.is_hidden() {
            if ms >= self.next_line_ms {
                self.next_line_ms = ms + LINE_MS;
                note(text);
            }
            return;
        }
        self.bar
            .set_position(self.most_ms.map_or(counts.scenarios, |most| ms.min(most)));
        self.bar.set_message(text);
    }

    /// Writes something else while the bar is away.
    pub(super) fn beside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    fn text(&self, counts: HuntCounts, ms: u64) -> String {
        let left = self.left_ms(counts.scenarios, ms);
        let left = left.map_or(String::new(), |ms| {
            format!(", {}:{:02} left", ms / 60_000, ms / 1000 % 60)
        });
        format!(
            "{} scenarios, {} steps, {} differ{left}",
            grouped(counts.scenarios),
            grouped(u64::try_from(counts.steps).unwrap_or(u64::MAX)),
            counts.differences,
        )
    }

    /// The time until the seeds or the minutes are used up, whichever comes first.
    fn left_ms(&self, scenarios: u64, ms: u64) -> Option<u64> {
        let rest = u128::from(self.seeds.saturating_sub(scenarios));
        let seeds = (rest * u128::from(ms)).checked_div(u128::from(scenarios));
        let seeds = seeds.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX));
        let minutes = self.most_ms.map(|most| most.saturating_sub(ms));
        seeds.into_iter().chain(minutes).min()
    }
}

impl Drop for HuntProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_what_ends_first() {
        let counts = HuntCounts {
            scenarios: 25,
            steps: 1234,
            differences: 2,
        };
        let seeds_alone = HuntProgress::new(&(100..200), None);
        let text = seeds_alone.text(counts, 25_000);
        assert_eq!(text, "25 scenarios, 1,234 steps, 2 differ, 1:15 left");
        let minutes_first = HuntProgress::new(&(0..1_000_000_000), Some(2));
        let text = minutes_first.text(counts, 25_000);
        assert!(text.ends_with(", 1:35 left"), "{text}");
        let seeds_first = HuntProgress::new(&(0..50), Some(60));
        let text = seeds_first.text(counts, 25_000);
        assert!(text.ends_with(", 0:25 left"), "{text}");
        let text = HuntProgress::new(&(0..50), None).text(HuntCounts::default(), 7);
        assert_eq!(text, "0 scenarios, 0 steps, 0 differ");
    }
}
