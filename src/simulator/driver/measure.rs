//! The figures of a run: samples of the time series, the fairness gap, the report.

use super::agenda::Due;
use super::record::{Sample, Waits, Watch};
use super::run::Driver;
use super::settings::RunReport;
use crate::api::Scheduler;
use crate::simulator::workload::MappingReport;

impl<S: Scheduler> Driver<S> {
    pub(super) fn sample(&mut self, watch: &mut dyn Watch) {
        let gap_permille = self.gap();
        let (sum, n, most) = self.gaps;
        self.gaps = (sum + u64::from(gap_permille), n + 1, most.max(gap_permille));
        let sample = Sample {
            at_ms: self.now_ms,
            used: self.ledger.leaves(),
            total: self.ledger.cluster().1,
            waiting: self.n_waiting,
            gap_permille,
        };
        watch.sample(&sample);
        self.series.push(sample);
        let next = self.now_ms.saturating_add(self.settings.sample_ms.max(1));
        self.agenda.add(next, Due::Sample);
    }

    /// How far the worst queue with unmet demand is below its guarantee.
    fn gap(&self) -> u32 {
        let total = self.ledger.cluster().1;
        let gap = |(queue, guarantee): &(String, u32)| {
            let below = |path: &str| {
                path.strip_prefix(queue.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let wants = self.waiting.iter().any(|(path, n)| *n > 0 && below(path));
            let used = self.ledger.used_by(queue);
            let share = (0..self.settings.types)
                .filter(|&index| total[index] > 0)
                .map(|index| i128::from(used[index]) * 1000 / i128::from(total[index]))
                .max();
            let share = u32::try_from(share.unwrap_or(0)).unwrap_or(0);
            if wants {
                guarantee.saturating_sub(share)
            } else {
                0
            }
        };
        self.settings.guarantees.iter().map(gap).max().unwrap_or(0)
    }

    pub(super) fn report(&self) -> RunReport {
        let mut counts = self.counts.clone();
        counts.unfinished = counts.submitted - counts.finished - counts.failed;
        counts.unserved = counts.submitted.saturating_sub(self.first.len());
        counts.waiting = self.n_waiting;
        let (sum, n, most) = self.gaps;
        let mean = u32::try_from(sum / n.max(1)).unwrap_or(u32::MAX);
        let mut messages = self.ledger.findings().to_vec();
        messages.extend(self.messages.iter().cloned());
        RunReport {
            ended_ms: self.now_ms,
            last_submission_ms: self.last_submission_ms,
            decisions: self.hash.value(),
            counts,
            first_container: Waits::of(&self.first),
            turnaround: Waits::of(&self.turnaround),
            used_permille: self.usage.permille(self.settings.types),
            gap_permille: (mean, most),
            series: self.series.lines(),
            violations: self.ledger.violations().clone(),
            messages,
            mapping: MappingReport::default(),
        }
    }
}
