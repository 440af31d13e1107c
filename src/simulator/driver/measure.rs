//! The figures of a run: samples of the time series, the fairness gap, the report.

use super::agenda::Due;
use super::pace::Pace;
use super::record::{Delays, RunWatch, Sample, Waits};
use super::run::Driver;
use super::running::RunningJob;
use super::settings::RunReport;
use crate::api::{MAX_TYPES, Scheduler};
use crate::simulator::workload::MappingReport;

impl Driver<dyn Scheduler + '_> {
    /// Takes the figures over as they stand: a container was placed or ended.
    pub(super) fn figures_so_far(&mut self) {
        let (used, total) = self.ledger.cluster();
        let figures = &mut self.figures;
        figures.at_ms = self.now_ms;
        figures.usage = self.usage.clone();
        figures.packing = self.placing.packing.clone();
        figures.gaps = self.gaps;
        let most = figures.most.iter_mut().enumerate();
        for (index, most) in most.filter(|(index, _)| used[*index] != 0) {
            let share = i128::from(used[index]) * 1000 / i128::from(total[index].max(1));
            *most = u32::try_from(share).unwrap_or(0).max(*most);
        }
    }

    /// The longest wait for a first container: of jobs that still wait for one, up to now.
    fn longest_wait(&self) -> u64 {
        let unserved = self
            .apps
            .values()
            .filter(|app| app.first_container_ms.is_none())
            .filter(|app| app.waiting() > 0 || app.waits_for_master());
        let waited = unserved.map(|app| self.now_ms - app.submitted_ms).max();
        self.first.max().max(waited.unwrap_or(0))
    }

    pub(super) fn sample(&mut self, watch: &mut dyn RunWatch) {
        let gap_permille = self.gap();
        let (sum, n, most) = self.gaps;
        self.gaps = (sum + u64::from(gap_permille), n + 1, most.max(gap_permille));
        let sample = Sample {
            at_ms: self.now_ms,
            used: self.ledger.leaves(),
            total: self.ledger.cluster().1,
            waiting: self.queues.waiting(),
            late_ms: self
                .pace
                .as_ref()
                .map_or(0, |pace| pace.late_ms(self.now_ms)),
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
        let unmet = self.queues.unmet();
        let gap = |(queue, guarantee): &(String, u32)| {
            if !unmet.contains(queue.as_str()) {
                return 0;
            }
            let used = self.ledger.used_by(queue);
            let share = (0..self.settings.types)
                .filter(|&index| total[index] > 0)
                .map(|index| i128::from(used[index]) * 1000 / i128::from(total[index]))
                .max();
            let share = u32::try_from(share.unwrap_or(0)).unwrap_or(0);
            guarantee.saturating_sub(share)
        };
        self.settings.guarantees.iter().map(gap).max().unwrap_or(0)
    }

    pub(super) fn report(&self) -> RunReport {
        let mut counts = self.counts.clone();
        counts.not_asked += self.apps.values().map(RunningJob::not_asked).sum::<u64>();
        counts.unfinished = counts.submitted - counts.finished - counts.failed;
        counts.unserved = counts.submitted.saturating_sub(self.first.len());
        counts.waiting = self.queues.waiting();
        let (sum, n, most) = self.figures.gaps;
        let mean = u32::try_from(sum / n.max(1)).unwrap_or(u32::MAX);
        let mut messages = self.ledger.findings().to_vec();
        messages.extend(self.messages.iter().cloned());
        RunReport {
            ended_ms: self.now_ms,
            finished_ms: self.figures.at_ms,
            last_submission_ms: self.last_submission_ms,
            decisions: self.hash.value(),
            counts,
            delays: Delays::of(&self.delays),
            scheduler: self.pace.as_ref().map(Pace::load),
            first_container: Waits::of(&self.first),
            first_by_queue: self.queues.first_waits(),
            longest_wait_ms: self.longest_wait(),
            turnaround: Waits::of(&self.turnaround),
            used_permille: self.figures.usage.permille(self.settings.types),
            packed_permille: self.figures.packing.permille(self.settings.types),
            locality: self.placing.locality,
            most_used_permille: self.figures.most[..self.settings.types.min(MAX_TYPES)].to_vec(),
            refusals: self.refusals.clone(),
            gap_permille: (mean, most),
            series: self.series.lines(),
            violations: self.ledger.violations().clone(),
            messages,
            mapping: MappingReport::default(),
        }
    }
}
