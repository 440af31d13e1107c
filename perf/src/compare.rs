//! `perf compare`: two builds of this driver in turn on one workload.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::limits;
use crate::output::say;
use crate::results;
use crate::stats::{Spread, grouped};

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
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut hashes = Vec::new();
    let mut decisions = [BTreeSet::new(), BTreeSet::new()];
    for _ in 0..args.rounds {
        let [by_a, by_b] = &mut decisions;
        for (binary, rates, decisions) in [(&args.a, &mut a, by_a), (&args.b, &mut b, by_b)] {
            let record = one(binary, args, any_profile)?;
            let whole = record.get("complete").and_then(Value::as_bool) != Some(false);
            ensure!(whole, "{}: a round ran out of time", binary.display());
            let rate = results::number(&record, "decisions_per_second");
            rates.push(rate.context("a record has a rate")?);
            decisions.insert(results::text(&record, "decision_hash").to_owned());
            let hash = results::text(&record, "workload_hash").to_owned();
            if !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
    }
    ensure!(
        hashes.len() == 1,
        "the builds know different workloads of the name {}",
        args.workload
    );
    let [a, b] = [a, b].map(|rates| Spread::of(&rates).unwrap_or_default());
    for (name, found) in [("A", a), ("B", b)] {
        say!(
            "{name}: {}/s ({} to {}) over {} rounds",
            grouped(found.median),
            grouped(found.min),
            grouped(found.max),
            found.rounds
        );
    }
    say!("{}", alike(&decisions));
    let ratio = b.over(a);
    say!(
        "B is {} times A ({} to {})",
        ratio.median,
        ratio.min,
        ratio.max
    );
    Ok(())
}

/// What the hashes of both builds' decisions say of them.
fn alike([a, b]: &[BTreeSet<String>; 2]) -> &'static str {
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
        let verdict = |a: &[&str], b: &[&str]| alike(&[set(a), set(b)]);
        assert!(verdict(&["x"], &["x"]).starts_with("both decided alike"));
        assert!(verdict(&[""], &[""]).contains("not known"));
        assert!(verdict(&[""], &["x"]).contains("not known"));
        assert!(verdict(&["x"], &["y"]).contains("never"));
        assert!(verdict(&["x", "y"], &["z"]).contains("never"));
        assert!(verdict(&["x", "y"], &["y"]).contains("does not repeat"));
        assert!(verdict(&["x", "y"], &["x", "y"]).contains("does not repeat"));
    }
}
