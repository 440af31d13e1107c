//! `perf report`: the tables of the README, from the records of this machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::results;
use crate::stats::{Spread, grouped, ratio};

/// Between these lines of a page the tables stand.
const BEGIN: &str = "<!-- figures of perf: begin -->";
const END: &str = "<!-- figures of perf: end -->";

/// Arguments of `perf report`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Records; those of this machine unless given.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Page that has the two lines between which the tables are written; printed without one.
    #[arg(long)]
    page: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let path = args
        .records
        .clone()
        .unwrap_or_else(results::of_this_machine);
    let text = tables(&results::read(&path)?);
    let Some(page) = &args.page else {
        print!("{text}");
        return Ok(());
    };
    let old = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let new = put_between(&old, &text)
        .with_context(|| format!("{}: no lines {BEGIN} and {END}", page.display()))?;
    fs::write(page, new).with_context(|| page.display().to_string())
}

fn put_between(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{text}\n{END}{after}"))
}

/// Both tables, each with where its figures come from.
fn tables(records: &[Value]) -> String {
    let mut out = String::new();
    against_hadoop(&mut out, records);
    alone(&mut out, records);
    ceiling(&mut out, records);
    out
}

/// The latest record of each key, in the order of the first appearance of the keys.
fn latest(
    records: &[Value],
    fits: impl Fn(&Value) -> bool,
    key: impl Fn(&Value) -> String,
) -> Vec<&Value> {
    let mut order: Vec<String> = Vec::new();
    let mut found = BTreeMap::new();
    for record in records.iter().filter(|record| fits(record)) {
        let key = key(record);
        if !order.contains(&key) {
            order.push(key.clone());
        }
        found.insert(key, record);
    }
    order.iter().map(|key| found[key]).collect()
}

fn source(out: &mut String, record: &Value, command: &str) {
    let dirty = record.get("dirty").and_then(Value::as_bool);
    let changed = if dirty == Some(true) {
        " with changes"
    } else {
        ""
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\nCommit {}{changed}, {}, {} cores, Linux {}, {}, build `{}`: `{command}`\n",
        results::text(record, "commit"),
        results::text(record, "machine"),
        results::number(record, "cores").unwrap_or(0),
        results::text(record, "kernel"),
        results::text(record, "rustc"),
        results::text(record, "profile"),
    );
}

fn figure(record: &Value, field: &str) -> String {
    grouped(results::number(record, field).unwrap_or(0))
}

fn times(record: &Value, field: &str) -> String {
    let found = record.get(field).and_then(Value::as_f64).unwrap_or(0.0);
    format!("{found:.1}")
}

/// Ratios, from alternating runs only.
fn against_hadoop(out: &mut String, records: &[Value]) {
    let is_pair = |record: &Value| results::text(record, "kind") == "peers";
    let key = |record: &Value| {
        format!(
            "{} {}",
            results::text(record, "shape"),
            results::text(record, "mode")
        )
    };
    let pairs = latest(records, is_pair, key);
    let Some(last) = pairs.last() else { return };
    out.push_str(
        "| shape | our mode | ours/s | Hadoop's best/s | times its best (min to max) | times the same mode |\n\
         | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for pair in &pairs {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} ({}) | {} ({} to {}) | {} |",
            results::text(pair, "shape"),
            results::text(pair, "mode"),
            figure(pair, "ours_per_second"),
            figure(pair, "peer_best_per_second"),
            results::text(pair, "peer_best"),
            times(pair, "ratio_best"),
            times(pair, "ratio_best_min"),
            times(pair, "ratio_best_max"),
            times(pair, "ratio_same_mode"),
        );
    }
    source(out, last, "cargo run --release -p perf -- peers --record");
}

/// Our engine on all workloads.
fn alone(out: &mut String, records: &[Value]) {
    let is_round = |record: &Value| record.get("decisions_per_second").is_some();
    let key = |record: &Value| {
        format!(
            "{} {} {}",
            results::text(record, "workload"),
            results::text(record, "mode"),
            results::number(record, "threads").unwrap_or(0)
        )
    };
    let rows = latest(records, is_round, key);
    let Some(last) = rows.last() else { return };
    out.push_str(
        "| workload | mode | proposers | decisions/s (min to max) | refused, % | peak memory, MiB |\n\
         | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for row in &rows {
        let same = |record: &&Value| {
            is_round(record)
                && key(record) == key(row)
                && results::text(record, "commit") == results::text(row, "commit")
        };
        let rate = |record| results::number(record, "decisions_per_second");
        let rates: Vec<u64> = records.iter().filter(same).filter_map(rate).collect();
        let spread = Spread::of(&rates).unwrap_or_default();
        let refused = results::number(row, "rejected_ppm").unwrap_or(0);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} ({} to {}) | {} | {} |",
            results::text(row, "workload"),
            results::text(row, "mode"),
            results::number(row, "threads").unwrap_or(0),
            grouped(spread.median),
            grouped(spread.min),
            grouped(spread.max),
            ratio(refused, 10_000),
            results::number(row, "peak_rss_kib").unwrap_or(0) / 1024,
        );
    }
    source(out, last, "cargo run --release -p perf -- record");
}

/// Bare pipeline and simpler designs.
fn ceiling(out: &mut String, records: &[Value]) {
    let kind = |record: &Value| ["probe", "baseline"].contains(&results::text(record, "kind"));
    let key = |record: &Value| {
        format!(
            "{} {}",
            results::text(record, "shape"),
            results::text(record, "design")
        )
    };
    let lines = latest(records, kind, key);
    let Some(last) = lines.last() else { return };
    out.push_str("| shape | design | per second (min to max) |\n| --- | --- | ---: |\n");
    for line in &lines {
        let design = match results::text(line, "design") {
            "" => "limit probe, no policy at all",
            design => design,
        };
        let _ = writeln!(
            out,
            "| {} | {design} | {} ({} to {}) |",
            results::text(line, "shape"),
            figure(line, "median"),
            figure(line, "min"),
            figure(line, "max"),
        );
    }
    source(
        out,
        last,
        "cargo run --release -p perf -- probe --record` and `... baselines --record",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_lines_is_replaced() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = put_between(&page, "new").unwrap();
        assert_eq!(new, format!("a\n{BEGIN}\n\nnew\n{END}\nb\n"));
        assert_eq!(put_between("no lines", "new"), None);
    }

    #[test]
    fn the_latest_pair_of_a_shape_and_mode_is_shown_once() {
        let pair = |rate: u64| {
            serde_json::json!({"kind": "peers", "shape": "S1", "mode": "global",
                "ours_per_second": rate, "ratio_best": 12.5})
        };
        let text = tables(&[pair(1_000), pair(2_000)]);
        assert!(text.contains("2,000") && !text.contains("1,000"), "{text}");
        assert!(text.contains("12.5"), "{text}");
    }
}
