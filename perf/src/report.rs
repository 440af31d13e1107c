//! `perf report`: the tables of the README, from the records of this machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::output::say;
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
        say!("{}", text.trim_end_matches('\n'));
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

/// All tables, each with where its figures come from.
fn tables(records: &[Value]) -> String {
    let mut out = String::new();
    against_hadoop(&mut out, records);
    open_loops(&mut out, records);
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

/// The commits that a table's rows are of, each with its shapes where there are several.
fn commits(rows: &[&Value]) -> String {
    let mut shapes: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
        let dirty = row.get("dirty").and_then(Value::as_bool) == Some(true);
        let changed = if dirty { " with changes" } else { "" };
        let commit = format!("{}{changed}", results::text(row, "commit"));
        let shape = ["shape", "workload"].map(|field| results::text(row, field));
        let shape = shape.into_iter().find(|name| !name.is_empty());
        let at = shapes.iter().position(|(known, _)| *known == commit);
        let at = at.unwrap_or_else(|| {
            shapes.push((commit, Vec::new()));
            shapes.len() - 1
        });
        let of_commit = &mut shapes[at].1;
        of_commit.extend(shape.filter(|shape| !of_commit.contains(shape)));
    }
    if let [(commit, _)] = shapes.as_slice() {
        return format!("Commit {commit}");
    }
    let each = shapes
        .iter()
        .map(|(commit, shapes)| format!("{commit} ({})", shapes.join(", ")));
    format!("Commits {}", each.collect::<Vec<_>>().join(" and "))
}

fn source(out: &mut String, rows: &[&Value], command: &str) {
    let Some(record) = rows.last() else { return };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n{}, {}, {} cores, Linux {}, {}, build `{}`: `{command}`\n",
        commits(rows),
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
    if pairs.is_empty() {
        return;
    }
    out.push_str(
        "| shape | our mode | ours/s | Hadoop's best/s | times its best (min to max) | times the same mode | rounds |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for pair in &pairs {
        let in_part = |field: &str| match pair.get(field).and_then(Value::as_bool) {
            Some(false) => ", in part",
            _ => "",
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} ({}{}) | {} ({} to {}) | {}{} | {} |",
            results::text(pair, "shape"),
            results::text(pair, "mode"),
            figure(pair, "ours_per_second"),
            figure(pair, "peer_best_per_second"),
            results::text(pair, "peer_best"),
            in_part("peer_best_complete"),
            times(pair, "ratio_best"),
            times(pair, "ratio_best_min"),
            times(pair, "ratio_best_max"),
            times(pair, "ratio_same_mode"),
            in_part("peer_same_mode_complete"),
            results::number(pair, "peer_best_rounds").unwrap_or(0),
        );
    }
    source(out, &pairs, "cargo run --release -p perf -- peers --record");
}

/// Open loops at fixed rates.
fn open_loops(out: &mut String, records: &[Value]) {
    let is_open = |record: &Value| results::text(record, "kind") == "open";
    let number = |record: &Value, field: &str| results::number(record, field).unwrap_or(0);
    let key = |record: &Value| {
        let [threads, awake, rate] =
            ["threads", "awake_us", "offered_per_second"].map(|field| number(record, field));
        // A share of what saturates is another rate each time.
        let rate = match record.get("saturation_per_second") {
            Some(all) => format!("{}", (rate * 10).div_ceil(all.as_u64().unwrap_or(1).max(1))),
            None => format!("{rate} exactly"),
        };
        let [workload, mode] = ["workload", "mode"].map(|field| results::text(record, field));
        format!("{workload} {mode} {threads} {awake} {rate}")
    };
    let rows = latest(records, is_open, key);
    if rows.is_empty() {
        return;
    }
    out.push_str(
        "| workload | mode | awake, us | asks/s offered | served | p50, us | p99, us | p99.9, us | of an echo |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in &rows {
        let micros = |field: &str| {
            let tenths = number(row, field) / 100;
            format!("{}.{}", grouped(tenths / 10), tenths % 10)
        };
        let echo = match row.get("echo_latency_ns") {
            Some(_) => micros("echo_latency_ns.p999"),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {echo} |",
            results::text(row, "workload"),
            results::text(row, "mode"),
            figure(row, "awake_us"),
            figure(row, "offered_per_second"),
            figure(row, "served_per_second"),
            micros("latency_ns.p50"),
            micros("latency_ns.p99"),
            micros("latency_ns.p999"),
        );
    }
    source(out, &rows, "cargo run --release -p perf -- open --record");
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
    if rows.is_empty() {
        return;
    }
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
    source(out, &rows, "cargo run --release -p perf -- record");
}

/// What a record of a ceiling measured; the oldest do not say, and are of the hand-over alone.
fn design_of(record: &Value) -> &str {
    match results::text(record, "design") {
        "" => crate::handoff::DESIGN,
        design => design,
    }
}

/// Bare pipeline and simpler designs.
fn ceiling(out: &mut String, records: &[Value]) {
    let kind = |record: &Value| ["probe", "baseline"].contains(&results::text(record, "kind"));
    let key = |record: &Value| format!("{} {}", results::text(record, "shape"), design_of(record));
    let lines = latest(records, kind, key);
    if lines.is_empty() {
        return;
    }
    out.push_str("| shape | design | per second (min to max) |\n| --- | --- | ---: |\n");
    for line in &lines {
        let design = design_of(line);
        let share = line.get("ours_percent").and_then(Value::as_f64);
        let share = share.map_or_else(String::new, |percent| format!("; ours {percent} % of it"));
        let _ = writeln!(
            out,
            "| {} | {design}{share} | {} ({} to {}) |",
            results::text(line, "shape"),
            figure(line, "median"),
            figure(line, "min"),
            figure(line, "max"),
        );
    }
    source(
        out,
        &lines,
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
        assert!(!text.contains("in part"), "{text}");
        assert!(text.contains("2,000") && !text.contains("1,000"), "{text}");
        assert!(text.contains("12.5"), "{text}");
    }

    #[test]
    fn what_hadoop_did_not_finish_is_marked() {
        let pair = serde_json::json!({"kind": "peers", "shape": "S1", "mode": "global",
            "peer_best": "x", "peer_best_complete": true, "peer_same_mode_complete": false,
            "ratio_same_mode": 7.5});
        let text = tables(&[pair]);
        assert!(
            text.contains("(x)") && text.contains("7.5, in part |"),
            "{text}"
        );
    }

    #[test]
    fn an_open_loop_is_shown_with_its_echo() {
        let open = |p50: u64| {
            serde_json::json!({"kind": "open", "workload": "W", "mode": "global",
                "offered_per_second": 500, "latency_ns": {"p50": p50, "p99": 2_000_000, "p999": 1},
                "echo_latency_ns": {"p999": 70_250}})
        };
        let text = tables(&[open(900), open(12_340)]);
        let row = "| W | global | 0 | 500 | 0 | 12.3 | 2,000.0 | 0.0 | 70.2 |";
        assert!(text.contains(row) && !text.contains("| 0.9 |"), "{text}");
    }

    #[test]
    fn every_commit_that_rows_are_of_is_named() {
        let pair = |shape: &str, commit: &str, dirty: bool| {
            serde_json::json!({"kind": "peers", "shape": shape, "mode": "global",
                "commit": commit, "dirty": dirty})
        };
        let old = [pair("S1", "aa", false), pair("S2", "aa", false)];
        assert!(tables(&old).contains("Commit aa,"));
        let both = [old, [pair("S2", "bb", true), pair("S3", "bb", true)]].concat();
        let text = tables(&both);
        let named = "Commits aa (S1) and bb with changes (S2, S3),";
        assert!(text.contains(named), "{text}");
    }
}
