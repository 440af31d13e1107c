//! One measured round as a line of JSON.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use capsched::metrics::Histogram;
use capsched::time::{Clock, SystemClock};
use serde::Serialize;

use crate::beside::Aside;
use crate::machine;
use crate::rounds::{How, Round};
use crate::shape::Shape;

/// Version of the fields below; it grows with every change of their meaning.
const SCHEMA: u32 = 5;

/// The profile of builds that figures are taken from.
pub(crate) const FIGURES: &str = "max";

/// Refuses to measure with a build of another profile than [`FIGURES`].
///
/// # Errors
///
/// Names the profile of this build, and the command to use instead.
pub(crate) fn ensure_profile() -> Result<()> {
    let built = env!("PERF_PROFILE");
    ensure!(
        built == FIGURES,
        "figures are taken from builds of profile `{FIGURES}`, and this one has profile `{built}`\n\
         run `{}`, or add `--any-profile` for a figure that is not to be compared",
        command(FIGURES)
    );
    Ok(())
}

/// Where and by what a figure was made.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Origin {
    schema: u32,
    commit: String,
    dirty: bool,
    date_ms: u64,
    machine: String,
    cores: usize,
    /// How engines with threads run; drivers without do as the system likes.
    pinning: &'static str,
    /// Who sets the frequency of the first core, or `none` where the system does not say.
    governor: String,
    kernel: String,
    rustc: &'static str,
    profile: &'static str,
    allocator: &'static str,
    /// What repeats the measurement.
    command: String,
}

/// The command line of this process, as cargo runs it in a profile from the folder of the workspace.
fn command(profile: &str) -> String {
    let profile = match profile {
        "release" => "--release ".to_owned(),
        "dev" => String::new(),
        other => format!("--profile {other} "),
    };
    let arguments = std::env::args().skip(1).map(|argument| quoted(&argument));
    let arguments = arguments.collect::<Vec<_>>().join(" ");
    let line = format!("cargo run {profile}-p perf -- {arguments}");
    line.trim_end_matches(" -- ").to_owned()
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

impl Origin {
    pub(crate) fn now() -> Self {
        let (commit, dirty) = machine::commit();
        Self {
            schema: SCHEMA,
            commit,
            dirty,
            date_ms: SystemClock::new().now_ms(),
            machine: machine::processor(),
            cores: machine::cores(),
            pinning: "a core for each thread, as far as there are",
            governor: machine::governor(),
            kernel: machine::kernel(),
            rustc: env!("PERF_RUSTC"),
            profile: env!("PERF_PROFILE"),
            allocator: machine::allocator(),
            command: command(env!("PERF_PROFILE")),
        }
    }
}

/// Everything about one round.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    #[serde(flatten)]
    origin: Origin,
    workload: String,
    workload_hash: String,
    config_hash: String,
    seed: u64,
    mode: String,
    threads: usize,
    round: usize,
    /// Whether the round reached its target in time.
    complete: bool,
    /// Containers placed in the measure, at most the target.
    placed: u64,
    /// Decisions that the time was taken of.
    decisions: u64,
    elapsed_ns: u64,
    decisions_per_second: u64,
    /// What the latencies are of.
    latency_of: String,
    latency_ns: Percentiles,
    /// Refused proposals by reason.
    conflicts: BTreeMap<&'static str, u64>,
    /// Refused among a million proposals.
    rejected_ppm: u64,
    /// Proposals that went to their second node after the first was refused.
    retries: u64,
    /// Traces only: pods that no node had room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    unplaced: Option<u64>,
    rss_kib: u64,
    peak_rss_kib: u64,
    /// Churn only.
    #[serde(flatten)]
    aside: Option<Aside>,
    /// Of all decisions in order without threads, of the totals of queues with them.
    decision_hash: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Percentiles {
    n: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Percentiles {
    pub(crate) fn of(histogram: &Histogram) -> Self {
        let latency = histogram.latency();
        Self {
            n: latency.n,
            p50: latency.p50,
            p90: latency.p90,
            p99: latency.p99,
            p999: latency.p999,
            max: latency.max,
        }
    }
}

impl Record {
    pub(crate) fn new(shape: &Shape, how: How, number: usize, round: &Round) -> Self {
        Self {
            origin: Origin::now(),
            workload: shape.name.clone(),
            workload_hash: shape.hash(),
            config_hash: shape.config_hash(how.mode),
            seed: crate::churn::SEED,
            mode: how.mode.name().to_owned(),
            threads: how.threads,
            round: number,
            complete: round.complete,
            placed: round.placed,
            decisions: round.counted,
            elapsed_ns: round.elapsed_ns,
            decisions_per_second: round.per_second(),
            latency_of: round.latency_of.to_owned(),
            latency_ns: Percentiles::of(&round.latency),
            conflicts: round.conflicts.clone(),
            rejected_ppm: round.rejected() * 1_000_000 / (round.rejected() + round.counted).max(1),
            retries: round.retries,
            unplaced: round.unplaced,
            rss_kib: machine::status_kib("VmRSS"),
            peak_rss_kib: machine::status_kib("VmHWM"),
            aside: round.aside,
            decision_hash: round.hash.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_given_to_a_shell() {
        assert_eq!(quoted("S1,S3"), "S1,S3");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        // What follows are the arguments of the test program, or nothing.
        assert!(command("release").starts_with("cargo run --release -p perf"));
        assert!(command("max").starts_with("cargo run --profile max -p perf"));
    }
}
