//! The simulate command: seeds, faults, books, and a replayable report of what broke.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::simulator::faults::{self, Replay, Setup, Summary, Violation};
use capsched::sync::{AtomicBool, Ordering};
use capsched::time::{Clock, SystemClock};
use clap::Args as Arguments;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::aside;
use crate::output::{self, Problem};
use crate::reference::ReferenceArg;
use crate::text_file;
use crate::watchdog::Watchdog;

/// Seeds that are run twice: one in this many.
const TWICE: u64 = 20;

/// Seeds from which on a run must have met everything that it is to judge.
const MANY: u64 = 100;

/// Longest report that is replayed, in bytes.
const MOST_BYTES: u64 = 1 << 28;

/// Simulate clusters with faults, judged by books kept from outputs alone.
#[derive(Arguments, Debug)]
pub(crate) struct Args {
    /// Seeds, the last one left out; a single number is that seed alone.
    #[arg(long, value_name = "A..B", default_value = "0..100", value_parser = crate::values::seeds)]
    seeds: Range<u64>,
    /// Steps for each seed, before the calm end.
    #[arg(long, value_name = "N", default_value_t = 5000)]
    events: usize,
    /// Threads; seeds are shared out among them.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Report a seed that takes longer than so many seconds as stuck, and end; 0 waits for ever. A
    /// minute and a tenth of a second a step unless given.
    #[arg(long, value_name = "SECONDS", conflicts_with = "replay")]
    watchdog: Option<u64>,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
    /// Succeed only if one of these invariants is broken, as by a planted bug; others are passed over.
    #[arg(
        long,
        value_name = "ID,..",
        value_delimiter = ',',
        conflicts_with = "replay"
    )]
    demand: Vec<String>,
    /// Where replayable reports of failures go.
    #[arg(long, value_name = "DIR", default_value = "target/simulate")]
    reports: PathBuf,
    /// Replay a report instead of drawing steps.
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    replay: Option<PathBuf>,
    #[command(flatten)]
    reference: ReferenceArg,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// What some seeds came to.
#[derive(Default)]
struct Found {
    summary: Summary,
    seeds: u64,
    /// Over the decisions of all seeds, in whatever order they end.
    hash: u64,
    failures: Vec<(u64, usize, Violation)>,
}

impl Args {
    fn setup(&self, seed: u64) -> Setup {
        Setup {
            reference: self.reference.release,
            ..Setup::of(seed)
        }
    }

    /// Whether a failure is reported and ends the run: any, or one that is demanded.
    fn wants(&self, violation: &Violation) -> bool {
        self.demand.is_empty() || self.demand.iter().any(|id| id == violation.id)
    }
}

impl Found {
    /// What a run over many seeds did not meet though it must, so that its silence would mean nothing.
    fn unmet(&self) -> Vec<&'static str> {
        if self.seeds < MANY || !self.failures.is_empty() {
            return Vec::new();
        }
        self.summary.unmet()
    }
}

/// Runs the seeds or the replay; the exit code says whether anything broke, or what was demanded.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.events == 0 {
        bail!("--events is at least 1");
    }
    if let Some(file) = &args.replay {
        return replay(file);
    }
    // A panic of the engine is a finding and is printed with the report.
    std::panic::set_hook(Box::new(|_| {}));
    let steps = u64::try_from(args.events).unwrap_or(u64::MAX);
    let limit = args.watchdog.unwrap_or(60 + steps / 10);
    let watchdog = Watchdog::new(limit);
    watchdog.watching(
        |stuck| end_stuck(args, stuck, limit),
        || judged(args, &watchdog),
    )
}

/// Runs the seeds and prints their results.
fn judged(args: &Args, watchdog: &Watchdog) -> Result<ExitCode> {
    let clock = SystemClock::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(args.threads));
    let pool = pool.build().context("threads cannot be started")?;
    let stop = AtomicBool::new(false);
    let seeds = args.seeds.clone().into_par_iter();
    let mut all: Found = pool.install(|| {
        let one = |found, seed| add(found, args, seed, watchdog, &stop);
        seeds.fold(Found::default, one).reduce(Found::default, join)
    });
    let seconds = std::time::Duration::from_nanos(clock.now_ns()).as_secs_f64();
    all.failures.sort_by_key(|(seed, ..)| *seed);
    let reports = report(args, &all.failures, watchdog)?;
    print(args, &all, &reports, seconds);
    let wanted = all.failures.iter().any(|(.., found)| args.wants(found));
    let good = if args.demand.is_empty() {
        !wanted && all.unmet().is_empty()
    } else {
        wanted
    };
    Ok(ExitCode::from(if good { 0 } else { output::PROBLEM }))
}

fn join(mut all: Found, part: Found) -> Found {
    all.summary.merge(&part.summary);
    all.seeds += part.seeds;
    all.hash = all.hash.wrapping_add(part.hash);
    all.failures.extend(part.failures);
    all
}

/// Runs one seed more, unless a failure has ended the run.
fn add(mut found: Found, args: &Args, seed: u64, watchdog: &Watchdog, stop: &AtomicBool) -> Found {
    if stop.load(Ordering::Relaxed) {
        return found;
    }
    let before = found.failures.len();
    let setup = args.setup(seed);
    let actions = faults::draw(&setup, args.events);
    let outcome = watchdog.seed(seed, || faults::run(&setup, &actions));
    found.seeds += 1;
    found.summary.merge(&outcome.summary);
    // A sum does not depend on the order; the seed separates equal runs of two seeds.
    let own = outcome.digest ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    found.hash = found.hash.wrapping_add(own);
    let again = || watchdog.seed(seed, || faults::run(&setup, &actions)).digest;
    if seed.is_multiple_of(TWICE) && again() != outcome.digest {
        let violation = Violation {
            id: "determinism",
            text: "two runs of the seed decided differently".to_owned(),
        };
        found.failures.push((seed, args.events, violation));
    }
    if let Some((step, violation)) = outcome.failure {
        found.failures.push((seed, step, violation));
    }
    let mut new = found.failures[before..].iter();
    if !args.keep_going && new.any(|(.., found)| args.wants(found)) {
        stop.store(true, Ordering::Relaxed);
    }
    found
}

/// Reports a seed that does not end, and ends the process: its thread cannot be stopped.
fn end_stuck(args: &Args, seed: u64, limit: u64) -> ! {
    if args.json {
        output::line(json!({"stuck": seed, "events": args.events, "after_seconds": limit}));
    } else {
        output::line(format_args!(
            "seed {seed} is stuck: it runs for more than {limit} s; try it alone with: \
             capsched simulate --seeds {seed} --events {} --reference {}",
            args.events, args.reference.release
        ));
    }
    std::process::exit(i32::from(output::PROBLEM))
}

/// Writes a shortened, replayable report for the first failure of each invariant.
fn report(
    args: &Args,
    failures: &[(u64, usize, Violation)],
    watchdog: &Watchdog,
) -> Result<Vec<PathBuf>> {
    let mut reported = Vec::new();
    let mut files = Vec::new();
    for (seed, step, violation) in failures {
        let known = reported.contains(&violation.id) || violation.id == "determinism";
        if known || !args.wants(violation) {
            continue;
        }
        reported.push(violation.id);
        let setup = args.setup(*seed);
        let mut actions = faults::draw(&setup, args.events);
        actions.truncate(*step);
        let replay = watchdog.seed(*seed, || faults::shrink(&setup, &actions, violation));
        fs::create_dir_all(&args.reports)
            .with_context(|| format!("{}: cannot be made", args.reports.display()))?;
        let file = args.reports.join(format!("{}-{seed}.json", violation.id));
        let text = serde_json::to_string_pretty(&replay)?;
        aside::write(&file, text.as_bytes(), true)?;
        files.push(file);
    }
    Ok(files)
}

#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "a rate for display"
)]
fn print(args: &Args, found: &Found, reports: &[PathBuf], seconds: f64) {
    let rate = found.summary.steps as f64 / seconds.max(0.001);
    if args.json {
        output::line(to_json(args, found, reports, (seconds, rate)));
    } else {
        print_summary(found, seconds, rate);
        print_findings(args, found, reports);
    }
}

/// The result as one object; `seconds` and steps a second come with it.
fn to_json(args: &Args, found: &Found, reports: &[PathBuf], (seconds, rate): (f64, f64)) -> Value {
    let failure = |(seed, step, violation): &(u64, usize, Violation)| json!({"seed": seed, "step": step, "invariant": violation.id, "text": violation.text});
    let failures: Vec<_> = found.failures.iter().map(failure).collect();
    json!({
        "seeds": found.seeds, "from": args.seeds.start, "to": args.seeds.end,
        "events": args.events, "hash": format!("{:016x}", found.hash), "summary": found.summary, "seconds": seconds,
        "steps_per_second": rate, "failures": failures, "reports": reports, "unmet": found.unmet(),
    })
}

/// What the seeds did, for people.
fn print_summary(found: &Found, seconds: f64, rate: f64) {
    let summary = &found.summary;
    output::line(format_args!(
        "{} seeds, {} steps in {seconds:.1} s ({rate:.0}/s): {} containers, {} reservations, {} reloads and {} refused",
        found.seeds,
        summary.steps,
        summary.allocated,
        summary.reserved,
        summary.reloads,
        summary.reloads_refused,
    ));
    let outcomes: Vec<_> = summary
        .outcomes
        .iter()
        .map(|(f, n)| format!("{f} {n}"))
        .collect();
    output::line(format_args!(
        "decisions: {}; hash {:016x}",
        outcomes.join(", "),
        found.hash
    ));
    output::line(format_args!(
        "{} proposers died in a turn with {} decisions in hand, {} reports came late; {} decisions were made on the live state, the state was compared around {} refusals; {} ends in rest were judged, {} excused",
        summary.deaths,
        summary.lost,
        summary.late_reports,
        summary.made_on_live,
        summary.refusals_watched,
        summary.rests_judged,
        summary.rests_excused,
    ));
}

/// What was broken, and what was met too seldom to judge.
fn print_findings(args: &Args, found: &Found, reports: &[PathBuf]) {
    for (seed, step, violation) in found.failures.iter().take(20) {
        output::line(format_args!("seed {seed} broke {violation} (step {step})"));
    }
    for file in reports {
        output::line(format_args!(
            "replay with: capsched simulate --replay {}",
            file.display()
        ));
    }
    if found.failures.is_empty() {
        output::line("no invariant was broken");
    }
    if !found.unmet().is_empty() {
        let unmet = found.unmet().join(", ");
        output::line(format_args!("too little was met to judge: {unmet}"));
    }
    let wanted = |(.., found): &(u64, usize, Violation)| args.wants(found);
    if !args.demand.is_empty() && !found.failures.iter().any(wanted) {
        output::line(format_args!(
            "none of {} was broken",
            args.demand.join(", ")
        ));
    }
}

/// Plays a report and shows its last steps.
fn replay(file: &Path) -> Result<ExitCode> {
    let text = text_file::read(file, MOST_BYTES)?;
    let name = file.display().to_string();
    let replay: Replay =
        serde_json::from_str(&text).map_err(|error| Problem::json(&name, 1, &error))?;
    replay
        .setup
        .check()
        .map_err(|refusal| Problem(format!("{name}: {refusal}")))?;
    // A panic of the engine is a finding, as when the steps were drawn.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = faults::run(&replay.setup, &replay.actions);
    let (step, violation) = match outcome.failure {
        None => {
            output::line(format_args!(
                "{} steps do not break {} any more",
                replay.actions.len(),
                replay.invariant
            ));
            return Ok(ExitCode::SUCCESS);
        }
        Some(failure) => failure,
    };
    for (i, action) in replay
        .actions
        .iter()
        .enumerate()
        .take(step)
        .skip(step.saturating_sub(20))
    {
        output::line(format_args!(
            "{:>5}  {}",
            i + 1,
            serde_json::to_string(action)?
        ));
    }
    output::line(format_args!("step {step} breaks {violation}"));
    Ok(ExitCode::from(output::PROBLEM))
}
