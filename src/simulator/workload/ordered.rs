//! The last step of every import: order by time, times from the first job, unique names, a
//! tolerated number of bad rows.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::error::{TraceError, TraceErrorKind};
use super::job::{FileName, Job, Run, Workload};
use super::report::MappingReport;
use crate::id::Set;

/// Names that are remembered for the test of duplicates, 16 bytes each; beyond them the test ends
/// with a warning, so that memory stays bounded.
const NAMES: usize = 1 << 22;

/// A gap after the first job above this many ms (about 31 years) suggests a wrong unit.
const SUSPICIOUS_GAP_MS: u64 = 1_000_000_000_000;

/// How jobs that are out of order by time are brought into order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorting {
    /// Within this many jobs; a job that is further out of place is an error.
    Window(usize),
    /// All jobs are read first. Memory grows with the trace.
    Full,
}

/// What is done when a name appears twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// The second row is a bad row.
    Refuse,
    /// The second row gets a suffix with its line.
    Suffix,
}

/// Settings of [`InOrder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderSettings {
    /// How jobs are ordered.
    pub sorting: Sorting,
    /// What happens to equal names.
    pub duplicates: Duplicates,
    /// Bad rows that are left out with a count before one becomes an error.
    pub skip_bad: u64,
    /// Submission times are divided by this; run times stay. 0 counts as 1.
    pub compress: u64,
    /// Whether containers run for ever: the trace as a test of how full the cluster gets.
    pub hold: bool,
}

impl Default for OrderSettings {
    fn default() -> Self {
        Self {
            sorting: Sorting::Window(4096),
            duplicates: Duplicates::Refuse,
            skip_bad: 0,
            compress: 1,
            hold: false,
        }
    }
}

/// A workload in order of time whose first job comes at 0 ms.
#[derive(Debug)]
pub struct InOrder<W> {
    inner: W,
    file: FileName,
    settings: OrderSettings,
    held: BinaryHeap<WaitingJob>,
    taken: u64,
    ended: bool,
    base_ms: Option<u64>,
    /// Time and line of the job handed out last.
    last: (u64, u64),
    names: Set<u128>,
    own: MappingReport,
}

#[derive(Debug)]
struct WaitingJob {
    at_ms: u64,
    sequence: u64,
    /// Boxed, because the heap moves its entries often.
    job: Box<Job>,
}

impl Ord for WaitingJob {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap gives its largest, and the earliest is wanted.
        (other.at_ms, other.sequence).cmp(&(self.at_ms, self.sequence))
    }
}

impl PartialOrd for WaitingJob {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WaitingJob {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for WaitingJob {}

/// Whether a queue can be meant: names without blanks around them, of a length that can be one.
fn is_path(queue: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.len() <= 256 && name.trim() == name;
    queue.len() <= 4096 && queue.split('.').all(is_name)
}

impl<W: Workload> InOrder<W> {
    /// `inner` in order; `file` names it in errors.
    #[must_use]
    pub fn new(inner: W, file: &str, settings: OrderSettings) -> Self {
        Self {
            inner,
            file: file.into(),
            settings,
            held: BinaryHeap::new(),
            taken: 0,
            ended: false,
            base_ms: None,
            last: (0, 0),
            names: Set::default(),
            own: MappingReport::default(),
        }
    }

    /// Fills the window.
    fn fill(&mut self) -> Result<(), TraceError> {
        let window = match self.settings.sorting {
            Sorting::Window(jobs) => jobs.max(1),
            Sorting::Full => usize::MAX,
        };
        while !self.ended && self.held.len() < window {
            match self.inner.next() {
                None => self.ended = true,
                Some(Ok(job)) => {
                    if let Some(job) = self.with_own_name(job)? {
                        self.taken += 1;
                        self.held.push(WaitingJob {
                            at_ms: job.at_ms,
                            sequence: self.taken,
                            job: Box::new(job),
                        });
                    }
                }
                Some(Err(error)) => self.bad(error)?,
            }
        }
        Ok(())
    }

    /// Counts a tolerated bad row, or hands the error on.
    fn bad(&mut self, error: TraceError) -> Result<(), TraceError> {
        let skipped = self.own.dropped.get("bad row").copied().unwrap_or(0);
        if error.is_one_row() && skipped < self.settings.skip_bad {
            self.own.drop_row("bad row");
            self.own.warn(error.to_string());
            return Ok(());
        }
        self.ended |= !error.is_one_row();
        Err(error)
    }

    fn with_own_name(&mut self, mut job: Job) -> Result<Option<Job>, TraceError> {
        if !is_path(&job.queue) {
            let message = "the queue is no path of names with dots between them";
            let error = TraceError::new(TraceErrorKind::BadRow, &self.file, job.line, message)
                .with_value(&job.queue);
            return self.bad(error).map(|()| None);
        }
        if self.names.len() >= NAMES {
            if self.names.len() == NAMES {
                self.own
                    .warn("more than 4194304 jobs: equal names are not looked for any more");
                self.names.insert(0);
            }
            return Ok(Some(job));
        }
        if self.names.insert(fnv128(&job.name)) {
            return Ok(Some(job));
        }
        match self.settings.duplicates {
            Duplicates::Suffix => {
                job.name = format!("{}#{}", job.name, job.line);
                self.own.guess("suffix for a name that appears twice");
                Ok(Some(job))
            }
            Duplicates::Refuse => {
                let message = "the name appears twice";
                let error = TraceError::new(TraceErrorKind::BadRow, &self.file, job.line, message)
                    .with_value(&job.name);
                self.bad(error).map(|()| None)
            }
        }
    }

    fn placed(&mut self, held: WaitingJob) -> Result<Job, TraceError> {
        let WaitingJob { at_ms, mut job, .. } = held;
        let base = *self.base_ms.get_or_insert(at_ms);
        let (last_at, last_line) = self.last;
        if self.last.1 != 0 && at_ms < last_at {
            let message = format!(
                "the job is {} ms earlier than the one on line {last_line}, too far for the \
                 sorting window; sort the whole trace instead",
                last_at - at_ms
            );
            self.ended = true;
            self.held.clear();
            return Err(TraceError::new(
                TraceErrorKind::BadFile,
                &self.file,
                job.line,
                message,
            ));
        }
        if last_at == base && at_ms - base > SUSPICIOUS_GAP_MS {
            let text = format!(
                "line {}: a gap of over 31 years; is the unit right?",
                job.line
            );
            self.own.warn(text);
        }
        self.last = (at_ms, job.line.max(1));
        job.at_ms = at_ms.saturating_sub(base) / self.settings.compress.max(1);
        if self.settings.hold {
            for group in &mut job.tasks {
                group.run = Run::Forever;
            }
        }
        Ok(*job)
    }
}

impl<W: Workload> Iterator for InOrder<W> {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill() {
            return Some(Err(error));
        }
        let held = self.held.pop()?;
        Some(self.placed(held))
    }
}

impl<W: Workload> Workload for InOrder<W> {
    fn report(&self) -> MappingReport {
        let mut report = self.inner.report();
        report.add(&self.own);
        report
    }
}

/// FNV-1a of 128 bits: wide enough that two names of one trace never meet by chance.
fn fnv128(text: &str) -> u128 {
    text.bytes()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ResourceVector;
    use crate::simulator::workload::{Ready, TaskGroup};

    fn jobs(times: &[u64]) -> Ready {
        let size = ResourceVector::of(&[1, 1]);
        Ready::new(
            times
                .iter()
                .zip(1..)
                .map(|(&at_ms, line)| Job {
                    at_ms,
                    user: "u".to_owned(),
                    queue: "q".to_owned(),
                    name: format!("j{}", at_ms % 1000),
                    priority: None,
                    master: None,
                    partition: None,
                    tags: Vec::new(),
                    tasks: vec![TaskGroup::new(size, 1, Run::Same(1))],
                    line,
                })
                .collect(),
        )
    }

    fn ordered(times: &[u64], settings: &OrderSettings) -> InOrder<Ready> {
        InOrder::new(jobs(times), "t", settings.clone())
    }

    fn window(jobs: usize) -> OrderSettings {
        OrderSettings {
            sorting: Sorting::Window(jobs),
            ..OrderSettings::default()
        }
    }

    #[test]
    fn jobs_are_sorted_within_the_window_and_start_at_zero() {
        let mut order = ordered(&[500, 300, 700, 600], &window(2));
        let times: Vec<u64> = order.by_ref().map(|job| job.unwrap().at_ms).collect();
        assert_eq!(times, [0, 200, 300, 400]);
    }

    #[test]
    fn a_job_out_of_place_beyond_the_window_names_both_lines() {
        let mut order = ordered(&[500, 600, 700, 100], &window(2));
        let error = order.find_map(Result::err).unwrap();
        assert_eq!(error.line, 4);
        assert!(error.message.contains("line 2"), "{error}");
        assert!(order.next().is_none());
        let full = OrderSettings {
            sorting: Sorting::Full,
            ..OrderSettings::default()
        };
        assert_eq!(
            ordered(&[500, 600, 700, 100], &full)
                .filter(Result::is_ok)
                .count(),
            4
        );
    }

    #[test]
    fn equal_names_are_refused_or_get_a_suffix_or_are_skipped() {
        let mut order = ordered(&[1, 1], &OrderSettings::default());
        let error = order.find_map(Result::err).unwrap();
        assert_eq!(error.to_string(), "t:2: the name appears twice: `j1`");
        let suffix = OrderSettings {
            duplicates: Duplicates::Suffix,
            ..OrderSettings::default()
        };
        let names: Vec<String> = ordered(&[1, 1], &suffix).map(|j| j.unwrap().name).collect();
        assert_eq!(names, ["j1", "j1#2"]);
        let skip = OrderSettings {
            skip_bad: 1,
            ..OrderSettings::default()
        };
        let mut order = ordered(&[1, 1], &skip);
        assert_eq!(order.by_ref().filter(Result::is_ok).count(), 1);
        assert_eq!(order.report().dropped["bad row"], 1);
    }

    #[test]
    fn times_are_compressed_and_containers_held_on_wish() {
        let settings = OrderSettings {
            compress: 10,
            hold: true,
            ..OrderSettings::default()
        };
        let all: Vec<Job> = ordered(&[100, 351], &settings)
            .map(Result::unwrap)
            .collect();
        assert_eq!((all[0].at_ms, all[1].at_ms), (0, 25));
        assert_eq!(all[0].tasks[0].run, Run::Forever);
    }

    #[test]
    fn a_gap_of_decades_is_warned_about() {
        let mut order = ordered(&[0, 2_000_000_000_001], &OrderSettings::default());
        assert_eq!(order.by_ref().filter(Result::is_ok).count(), 2);
        assert!(order.report().warnings[0].contains("31 years"));
    }
}
