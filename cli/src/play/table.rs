//! The table of runs: one column a run, one line a figure, in groups; empty lines are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capsched::simulator::{Delays, Waits};

use super::backlog::chart;
use super::figures::{grouped, percent, rate, seconds, time, virtual_time};
use super::left::{WIDTH, wrapped};
use super::outcome::Outcome;
use super::phases::phases;
use super::usage::usage;

/// Queues whose waits are shown; `--json` has all.
const QUEUES: usize = 8;

/// A line: its label, what it means, and the figure of a run, if it has one.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) meaning: &'static str,
    pub(super) cells: Vec<Option<String>>,
}

impl Line {
    pub(super) fn new(
        label: impl Into<String>,
        meaning: &'static str,
        runs: &[Outcome],
        cell: impl Fn(&Outcome) -> Option<String>,
    ) -> Self {
        Self {
            label: label.into(),
            meaning,
            cells: runs.iter().map(cell).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(Option::is_none)
    }
}

/// Figures of some runs side by side; `explain`: followed by what each line means.
pub(crate) fn table(runs: &[Outcome], explain: bool) -> String {
    let mut groups = vec![
        head(runs),
        applications(runs),
        [containers(runs), without_place(runs), load(runs)]
            .into_iter()
            .flatten()
            .collect(),
        waits(runs),
        delays(runs),
        by_queue(runs),
        usage(runs),
        phases(runs),
        conflicts(runs),
        engine(runs),
    ];
    for group in &mut groups {
        group.retain(|line| !line.is_empty());
    }
    groups.retain(|group| !group.is_empty());
    let mut out = aligned(&groups);
    out.push_str(&chart(runs));
    if explain {
        out.push_str(&meanings(groups.iter().flatten()));
    }
    out
}

/// What lines mean, one after the other.
pub(super) fn meanings<'a>(lines: impl Iterator<Item = &'a Line>) -> String {
    let mut out = "\nWhat the lines mean\n".to_owned();
    for line in lines.filter(|line| !line.meaning.is_empty()) {
        let _ = writeln!(out, "  {}", line.label.trim());
        out.push_str(&wrapped(line.meaning, 6));
    }
    out
}

fn head(runs: &[Outcome]) -> Vec<Line> {
    let engine = |run: &Outcome| {
        Some(match (run.row.sequential, run.row.threads) {
            (true, _) => "sequential".to_owned(),
            (false, 1) => "1 thread".to_owned(),
            (false, n) => format!("{n} threads"),
        })
    };
    let mut lines = vec![
        Line::new(
            "scheduling mode",
            "When containers are placed: at node heartbeats, by a thread that walks the nodes \
             (asynchronous), or by decisions over all nodes of a partition (global, what YARN \
             calls multi-node placement).",
            runs,
            |run| Some(run.row.mode.name().to_owned()),
        ),
        Line::new(
            "follows Hadoop",
            "The release whose rules and defaults hold.",
            runs,
            |run| Some(run.row.reference.to_string()),
        ),
        Line::new(
            "engine",
            "The sequential engine repeats exactly. Threads race as in production, and their \
             latencies are measured by the clock on the wall.",
            runs,
            engine,
        ),
    ];
    lines.extend(differences(runs));
    lines
}

/// What differs among the runs beside their modes: configuration, cluster, seed, load, costs.
fn differences(runs: &[Outcome]) -> Vec<Line> {
    let kinds = runs.first().map_or(&[][..], |run| &run.differs);
    let line = |(kind, _): &(&'static str, String)| {
        Line::new(*kind, "", runs, |run| {
            let found = run.differs.iter().find(|(other, _)| other == kind);
            found.map(|(_, value)| shortened(value, 24))
        })
    };
    kinds.iter().map(line).collect()
}

/// Scheduling delays, and how the scheduler kept up where its work costs time.
fn delays(runs: &[Outcome]) -> Vec<Line> {
    let delay = |of: fn(&Delays) -> u64| {
        move |run: &Outcome| {
            let delays = &run.report.delays;
            (delays.count > 0).then(|| time(of(delays).saturating_mul(1000)))
        }
    };
    let meaning = "From the call that asks for a container to its placement, in virtual time.";
    vec![
        Line::new("scheduling delay p50", meaning, runs, delay(|d| d.p50_us)),
        Line::new("                 p95", meaning, runs, delay(|d| d.p95_us)),
        Line::new("                 p99", meaning, runs, delay(|d| d.p99_us)),
        Line::new(
            "scheduler busy",
            "Share of the run in which the scheduler worked, by the costs of its work.",
            runs,
            |run| {
                let busy = run.busy_permille()?;
                Some(percent(u32::try_from(busy).unwrap_or(u32::MAX)))
            },
        ),
        Line::new(
            "begins late p95",
            "How long heartbeats and rounds waited for a scheduler at work.",
            runs,
            |run| Some(virtual_time(run.report.scheduler?.late.p95_ms)),
        ),
    ]
}

pub(super) fn unless_zero(n: u64) -> Option<String> {
    (n > 0).then(|| grouped(n))
}

fn applications(runs: &[Outcome]) -> Vec<Line> {
    vec![
        Line::new(
            "apps submitted",
            "Applications that the scheduler accepted.",
            runs,
            |run| Some(grouped(run.report.counts.submitted)),
        ),
        Line::new(
            "apps refused",
            "Applications that it rejected at submission.",
            runs,
            |run| unless_zero(run.report.counts.refused),
        ),
        Line::new(
            "apps completed",
            "Applications all of whose containers ran to their end.",
            runs,
            |run| Some(grouped(run.report.counts.finished)),
        ),
        Line::new(
            "apps failed",
            "Applications that ended early: their master was lost, or a request was refused.",
            runs,
            |run| unless_zero(run.report.counts.failed),
        ),
        Line::new(
            "apps still running or pending",
            "Applications that were not done when the run ended, services among them.",
            runs,
            |run| unless_zero(run.report.counts.unfinished),
        ),
    ]
}

fn containers(runs: &[Outcome]) -> Vec<Line> {
    vec![
        Line::new(
            "containers asked",
            "Containers of all applications that came, masters (AM) and refused ones included. \
             It is the sum of allocated, pending, not asked yet and refused.",
            runs,
            |run| Some(grouped(run.report.counts.offered)),
        ),
        Line::new(
            "containers allocated",
            "Containers that got a place on a node and kept it to their end.",
            runs,
            |run| Some(grouped(run.report.counts.placed)),
        ),
    ]
}

fn without_place(runs: &[Outcome]) -> Vec<Line> {
    vec![
        Line::new(
            "containers pending",
            "Containers asked for and not placed when the run ended.",
            runs,
            |run| unless_zero(run.report.counts.waiting),
        ),
        Line::new(
            "containers not asked yet",
            "Containers that nobody asked for: a stage that did not begin, or a job that failed.",
            runs,
            |run| unless_zero(run.report.counts.not_asked),
        ),
        Line::new(
            "containers refused",
            "Containers of refused applications and requests.",
            runs,
            |run| unless_zero(run.report.counts.refused_containers),
        ),
        Line::new(
            "containers lost",
            "Containers taken by preemption or with their node, and asked for again.",
            runs,
            |run| unless_zero(run.report.counts.lost),
        ),
    ]
}

fn load(runs: &[Outcome]) -> Vec<Line> {
    vec![
        Line::new(
            "asked an hour while jobs come",
            "Containers asked in an hour of virtual time, from the first submission to the last.",
            runs,
            |run| run.load().map(|(offered, _)| rate(offered)),
        ),
        Line::new(
            "allocated an hour, same time",
            "Containers placed in an hour of that same window, whatever came later.",
            runs,
            |run| run.load().map(|(_, achieved)| rate(achieved)),
        ),
    ]
}

fn waits(runs: &[Outcome]) -> Vec<Line> {
    let first = |of: fn(&Waits) -> u64| {
        move |run: &Outcome| {
            let waits = &run.report.first_container;
            (waits.count > 0).then(|| virtual_time(of(waits)))
        }
    };
    let meaning = "From submission to the first container after the master's, in virtual time.";
    vec![
        Line::new(
            "all done after",
            "Virtual time at which the last container was placed or ended; work that is left not counted.",
            runs,
            |run| Some(virtual_time(run.report.finished_ms)),
        ),
        Line::new("first container p50", meaning, runs, first(|w| w.p50_ms)),
        Line::new("                p95", meaning, runs, first(|w| w.p95_ms)),
        Line::new("                p99", meaning, runs, first(|w| w.p99_ms)),
        Line::new(
            "longest wait",
            "The longest of these waits. An application that never got a container counts up to \
             the end of the run.",
            runs,
            |run| {
                let any = run.report.counts.submitted > 0;
                any.then(|| virtual_time(run.report.longest_wait_ms))
            },
        ),
        Line::new(
            "apps never served",
            "Applications that never got a container besides their master's.",
            runs,
            |run| unless_zero(run.report.counts.unserved),
        ),
    ]
}

/// Waits of the queues that most applications went to.
fn by_queue(runs: &[Outcome]) -> Vec<Line> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (queue, waits) in runs.iter().flat_map(|run| &run.report.first_by_queue) {
        *counts.entry(queue).or_default() += waits.count;
    }
    if counts.len() < 2 {
        return Vec::new();
    }
    let mut queues: Vec<(&str, u64)> = counts.into_iter().collect();
    queues.sort_by_key(|(queue, n)| (std::cmp::Reverse(*n), *queue));
    let meaning = "First container by queue: half of its applications waited at most p50.";
    let of_queue = |(queue, _): &(&str, u64)| {
        let cell = |of: fn(&Waits) -> u64| {
            move |run: &Outcome| {
                let waits = run.report.first_by_queue.get(*queue)?;
                Some(virtual_time(of(waits)))
            }
        };
        let name = shortened(queue, 24);
        [
            Line::new(format!("{name} p50"), meaning, runs, cell(|w| w.p50_ms)),
            Line::new(
                format!("{:>1$} p95", "", name.len()),
                "",
                runs,
                cell(|w| w.p95_ms),
            ),
        ]
    };
    queues.iter().take(QUEUES).flat_map(of_queue).collect()
}

/// The end of a path that fits into so many columns.
fn shortened(path: &str, columns: usize) -> String {
    let n = path.chars().count();
    if n <= columns {
        return path.to_owned();
    }
    let end: String = path.chars().skip(n - columns + 2).collect();
    format!("..{end}")
}

fn conflicts(runs: &[Outcome]) -> Vec<Line> {
    let mut reasons: Vec<&str> = runs
        .iter()
        .flat_map(|run| run.conflicts.iter().map(|(reason, _)| *reason))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    let mut lines = vec![Line::new(
        "rejected at commit",
        "Decisions that the commit refused: the state had changed since they were made, or they \
         name a node that another application reserved.",
        runs,
        |run| {
            let all = run.conflicts.iter().map(|(_, n)| n).sum();
            unless_zero(all)
        },
    )];
    for reason in reasons {
        let meaning = refusal_meaning(reason);
        lines.push(Line::new(format!("  {reason}"), meaning, runs, |run| {
            let found = run.conflicts.iter().find(|(name, _)| *name == reason);
            found.map(|(_, n)| grouped(*n))
        }));
    }
    lines
}

/// What a reason of the commit means; empty for one that is not known.
fn refusal_meaning(reason: &str) -> &'static str {
    match reason {
        "app-gone" => "The application had ended.",
        "node-gone" => "The node had left, or had come back as another one.",
        "node-state" => "The node took no containers any more, or none on borrowed capacity.",
        "ask-gone" => "Nothing of that kind was asked for any more.",
        "reservation-changed" => "The node was reserved for another container than expected.",
        "exchange-gone" => "The reservation to be given up for the container was gone.",
        "victim-gone" => "A container to be killed had ended, or was not to be killed any more.",
        "does-not-fit" => "The node had too little room left.",
        "over-user-limit" => "The user would have been over the user limit.",
        "over-queue-limit" => "A queue would have been over its maximum.",
        "constraint" => "The placement constraint did not hold any more.",
        _ => "",
    }
}

fn engine(runs: &[Outcome]) -> Vec<Line> {
    vec![
        Line::new(
            "wall time of the run",
            "How long this run took here, driver and auditor included.",
            runs,
            |run| Some(seconds(run.wall_ns)),
        ),
        Line::new(
            "  of it in the engine",
            "The part of it within calls of the engine.",
            runs,
            |run| Some(seconds(run.engine_ns)),
        ),
        Line::new(
            "allocations a second here",
            "Allocations of this run by its wall time. Virtual time waits until the engine has \
             answered; `perf` measures how fast it can be.",
            runs,
            |run| run.per_second().map(rate),
        ),
        Line::new(
            "invariant violations",
            "What the auditor found wrong, who sees only the outputs of the engine.",
            runs,
            |run| Some(grouped(run.violations())),
        ),
        Line::new(
            "decisions (hash)",
            "Equal for runs that decided the same at the same virtual times.",
            runs,
            |run| {
                let hash = run.report.decisions >> 16;
                run.row.sequential.then(|| format!("{hash:012x}"))
            },
        ),
    ]
}

/// Groups with an empty line between them. Columns have one width; where they do not fit into a
/// terminal side by side, the rest follows below.
pub(super) fn aligned(groups: &[Vec<Line>]) -> String {
    let all = || groups.iter().flatten();
    let first = all().map(|line| line.label.len()).max().unwrap_or(0);
    let cells = all().flat_map(|line| &line.cells).flatten();
    let width = cells.map(String::len).max().unwrap_or(0) + 2;
    let columns = all().map(|line| line.cells.len()).max().unwrap_or(0);
    let beside = (WIDTH.saturating_sub(first) / width).max(1);
    let mut out = String::new();
    for start in (0..columns).step_by(beside) {
        for (index, group) in groups.iter().enumerate() {
            if index > 0 || start > 0 {
                out.push('\n');
            }
            for line in group {
                let mut text = format!("{:<first$}", line.label);
                for cell in line.cells.iter().skip(start).take(beside) {
                    let _ = write!(text, "{:>width$}", cell.as_deref().unwrap_or("-"));
                }
                let _ = writeln!(out, "{}", text.trim_end());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, cells: &[&str]) -> Line {
        let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
        Line {
            label: label.to_owned(),
            meaning: "",
            cells: cells.iter().map(cell).collect(),
        }
    }

    #[test]
    fn columns_never_touch_and_an_absent_figure_is_a_dash() {
        let groups = [
            vec![line("mode", &["asynchronous", "global"])],
            vec![line("a long label", &["1", ""])],
        ];
        let text = aligned(&groups);
        let expected = "mode          asynchronous        global\n\n\
                        a long label             1             -\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn more_columns_than_a_terminal_has_go_below() {
        let cells: Vec<String> = (0..12).map(|n| format!("column-{n:02}")).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let text = aligned(&[vec![line("a label of some length", &cells)]]);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(text.matches("column-").count(), 12);
        assert_eq!(text.matches("a label").count(), 3);
    }

    #[test]
    fn every_reason_of_the_commit_is_explained() {
        use capsched::commit::Conflict;
        use capsched::metrics::Closed;
        for reason in Conflict::ALL {
            assert!(!refusal_meaning(reason.name()).is_empty(), "{reason:?}");
        }
    }

    #[test]
    fn long_paths_keep_their_end() {
        assert_eq!(shortened("root.a", 8), "root.a");
        assert_eq!(shortened("root.production.serving", 10), "...serving");
    }
}
