//! `perf compare`: two builds of this driver in turn on one workload.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::limits;
use crate::output::say;
use crate::results;
use crate::stats::{Paired, Spread, fastest_quarter, grouped};

/// Arguments of `perf compare`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A build of this driver, the earlier one as a rule.
    a: PathBuf,
    /// Another build.
    b: PathBuf,
    /// Name of a workload.
    #[arg(long, default_value = "S1")]
    workload: String,
    /// Mode of both.
    #[arg(long, default_value = "global")]
    mode: String,
    /// Proposer threads of both.
    #[arg(long, default_value_t = 1, value_parser = limits::threads())]
    threads: usize,
    /// Rounds of each, in turn.
    #[arg(long, default_value_t = 5, value_parser = limits::rounds())]
    rounds: usize,
}

/// Runs the command.
pub(crate) fn run(args: &Args, any_profile: bool) -> Result<()> {
    let mut sides = [Side::default(), Side::default()];
    for round in 0..args.rounds {
        for side in order(round) {
            let binary = [&args.a, &args.b][side];
            sides[side].add(&one(binary, args, any_profile)?, binary)?;
        }
    }
    let [a, b] = &sides;
    ensure!(
        a.workloads == b.workloads && a.workloads.len() == 1,
        "the builds know different workloads of the name {}",
        args.workload
    );
    for (name, side) in [("A", a), ("B", b)] {
        say!("{name}: {}", side.rates());
    }
    say!("{}", alike([&a.decisions, &b.decisions]));
    let ratio = b.spread().over(a.spread());
    let (median, min, max) = (ratio.median, ratio.min, ratio.max);
    say!("B is {median} times A ({min} to {max})");
    say!("{}", in_pairs(&a.rates, &b.rates));
    say!("{}", of_the_fastest(&a.rates, &b.rates));
    Ok(())
}

/// Which of the two builds is first in a round: they take turns, so that a trend of the machine meets both.
fn order(round: usize) -> [usize; 2] {
    if round.is_multiple_of(2) {
        [0, 1]
    } else {
        [1, 0]
    }
}

/// What the rounds of one build came to.
#[derive(Debug, Default)]
struct Side {
    /// Decisions a second, a round each.
    rates: Vec<u64>,
    decisions: BTreeSet<String>,
    workloads: BTreeSet<String>,
}

impl Side {
    fn add(&mut self, record: &Value, binary: &Path) -> Result<()> {
        let whole = record.get("complete").and_then(Value::as_bool) != Some(false);
        ensure!(whole, "{}: a round ran out of time", binary.display());
        let rate = results::number(record, "decisions_per_second");
        self.rates.push(rate.context("a record has a rate")?);
        let text = |name| results::text(record, name).to_owned();
        self.decisions.insert(text("decision_hash"));
        self.workloads.insert(text("workload_hash"));
        Ok(())
    }

    fn spread(&self) -> Spread {
        Spread::of(&self.rates).unwrap_or_default()
    }

    fn rates(&self) -> String {
        let found = self.spread();
        let [median, min, max] = [found.median, found.min, found.max].map(grouped);
        format!("{median}/s ({min} to {max}) over {} rounds", found.rounds)
    }
}

/// The ratio of rounds that were measured one right after the other.
fn in_pairs(a: &[u64], b: &[u64]) -> String {
    let pairs: Vec<(u64, u64)> = b.iter().copied().zip(a.iter().copied()).collect();
    let Paired { median, low, high } = Paired::percent(&pairs).unwrap_or_default();
    format!("in pairs B has {median} % of A's rate ({low} to {high}, 19 times in 20)")
}

/// The ratio where both ran undisturbed: work of others on the machine takes away from a rate and adds nothing.
fn of_the_fastest(a: &[u64], b: &[u64]) -> String {
    let [a, b] = [a, b].map(|rates| Spread::of(&fastest_quarter(rates)).unwrap_or_default());
    let ratio = b.over(a);
    let (median, min, max, rounds) = (ratio.median, ratio.min, ratio.max, a.rounds);
    format!("of the fastest quarter B is {median} times A ({min} to {max}, {rounds} rounds)")
}

/// What the hashes of both builds' decisions say of them.
fn alike([a, b]: [&BTreeSet<String>; 2]) -> &'static str {
    // A churn has no hash, nor had fills that were cut short in earlier builds.
    if a.contains("") || b.contains("") {
        "whether both decided alike is not known: records of this workload have no hash of it"
    } else if a == b && a.len() == 1 {
        "both decided alike in every round"
    } else if a.is_disjoint(b) {
        "A and B never decided alike"
    } else {
        "A and B decided alike in some rounds: the mode does not repeat itself"
    }
}

/// One round of one build, which refuses to measure in another profile than `max` unless `any_profile`.
fn one(binary: &Path, args: &Args, any_profile: bool) -> Result<Value> {
    let output = Command::new(binary)
        .args(["run", &args.workload, "--mode", &args.mode, "--json"])
        .args(["--threads", &args.threads.to_string(), "--rounds", "1"])
        .args(any_profile.then_some("--any-profile"))
        .output()
        .with_context(|| binary.display().to_string())?;
    ensure!(
        output.status.success(),
        "{}: {}",
        binary.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("{}: `{line}`", binary.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_that_decide_otherwise_are_told_from_a_mode_that_does_not_repeat() {
        let set = |hashes: &[&str]| hashes.iter().map(|&hash| hash.to_owned()).collect();
        let verdict = |a: &[&str], b: &[&str]| alike([&set(a), &set(b)]);
        assert!(verdict(&["x"], &["x"]).starts_with("both decided alike"));
        assert!(verdict(&[""], &[""]).contains("not known"));
        assert!(verdict(&[""], &["x"]).contains("not known"));
        assert!(verdict(&["x"], &["y"]).contains("never"));
        assert!(verdict(&["x", "y"], &["z"]).contains("never"));
        assert!(verdict(&["x", "y"], &["y"]).contains("does not repeat"));
        assert!(verdict(&["x", "y"], &["x", "y"]).contains("does not repeat"));
    }

    #[test]
    fn what_disturbs_some_rounds_does_not_move_the_ratio_of_the_fastest() {
        let a = [50, 100, 55, 104, 60, 40, 45, 57];
        let b = [98, 44, 41, 49, 43, 47, 102, 46];
        assert_eq!(
            of_the_fastest(&a, &b),
            "of the fastest quarter B is 0.98 times A (0.94 to 1.02, 2 rounds)"
        );
        assert_eq!(
            in_pairs(&a, &b),
            "in pairs B has 80.7 % of A's rate (71.66 to 196, 19 times in 20)"
        );
    }
}
