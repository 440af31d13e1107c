//! Samples of processor time: a signal interrupts the process so many times a second, and its stack is noted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use pprof::ProfilerGuardBuilder;
use tokio::sync::Mutex;

/// Samples a second of processor time. No divisor of what happens regularly.
const FREQUENCY: i32 = 99;

/// Libraries whose stacks cannot be followed safely from a signal.
const APART: [&str; 4] = ["libc", "libgcc", "pthread", "vdso"];

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProfileProblem {
    /// One is being taken.
    Busy,
    /// The system refuses it.
    Failed(String),
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// Takes samples for so long: a line a stack, outermost function first, with the number of samples.
pub(super) async fn folded(pause: Duration) -> Result<String, ProfileProblem> {
    let _one = ONE_AT_A_TIME.try_lock().map_err(|_| ProfileProblem::Busy)?;
    let failed = |error: pprof::Error| ProfileProblem::Failed(error.to_string());
    let builder = ProfilerGuardBuilder::default()
        .frequency(FREQUENCY)
        .blocklist(&APART);
    let guard = builder.build().map_err(failed)?;
    tokio::time::sleep(pause).await;
    // Names of functions are looked up here, which takes a while.
    let text =
        tokio::task::spawn_blocking(move || guard.report().build().map(|report| lines(&report)))
            .await;
    let text = text.map_err(|error| ProfileProblem::Failed(error.to_string()))?;
    text.map_err(failed)
}

fn lines(report: &pprof::Report) -> String {
    let named = |frames: &pprof::Frames| {
        let mut names = vec![plain(&frames.thread_name)];
        for symbols in frames.frames.iter().rev() {
            names.extend(symbols.iter().rev().map(|symbol| plain(&symbol.name())));
        }
        names.join(";")
    };
    // The order of the report is chance, and sums do not depend on it.
    let samples = report
        .data
        .iter()
        .map(|(frames, &count)| (named(frames), count));
    let mut stacks: BTreeMap<String, i64> = BTreeMap::new();
    samples.for_each(|(stack, count)| {
        *stacks.entry(stack).or_default() += i64::try_from(count).unwrap_or(i64::MAX);
    });
    let mut text = String::new();
    for (stack, count) in stacks {
        // A write to a string does not fail.
        let _ = writeln!(text, "{stack} {count}");
    }
    text
}

/// A name without what separates names.
fn plain(name: &str) -> String {
    name.replace([';', '\n', '\r'], ",")
}
