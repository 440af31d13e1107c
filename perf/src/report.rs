//! `perf report`: the tables of the README, from the records of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::Value;

use crate::output::{aside, say};
use crate::pool::{self, Pair};
use crate::results;
use crate::stats::{Spread, grouped, ratio};
use crate::table::{self, Column, table, workload};

/// Between these lines of a page the tables stand.
const BEGIN: &str = "<!-- figures of perf: begin -->";
const END: &str = "<!-- figures of perf: end -->";

/// Arguments of `perf report`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Records; those of this machine unless given.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Takes the newest commit of a row that has so many rounds, instead of the newest one; where none has, the
    /// newest.
    #[arg(long, default_value_t = 1)]
    least_rounds: u64,
    /// Tables, separated by commas; all unless given.
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Which>,
    /// Page that has the two lines between which the tables are written; printed without one.
    #[arg(long)]
    page: Option<PathBuf>,
}

/// A table by what its records measured.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// Ours beside Hadoop's scheduler.
    Peers,
    /// Latencies of open loops.
    Open,
    /// Workloads by themselves.
    Runs,
    /// Bare pipelines.
    Probe,
    /// Simpler designs.
    Baselines,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let path = args
        .records
        .clone()
        .unwrap_or_else(results::of_this_machine);
    let (records, left_out) = clean(results::read(&path)?);
    for ((kind, commit), workloads) in left_out {
        let workloads = workloads.into_iter().collect::<Vec<_>>().join(", ");
        aside!(
            "left out, measured with changes that are not in its commit {commit}: {kind} {workloads}"
        );
    }
    let wanted = match args.tables.as_slice() {
        [] => Which::value_variants(),
        some => some,
    };
    let text = tables(&records, args.least_rounds, wanted);
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

/// Workloads that records are of, by kind and commit.
type LeftOut = BTreeMap<(String, String), BTreeSet<String>>;

/// The records whose commit has all of their sources, and what the others are of: nobody can repeat those.
fn clean(records: Vec<Value>) -> (Vec<Value>, LeftOut) {
    let mut left_out = LeftOut::new();
    let mut keep = |record: &Value| {
        let dirty = record.get("dirty").and_then(Value::as_bool) == Some(true);
        if dirty {
            let [kind, commit] = ["kind", "commit"].map(|field| results::text(record, field));
            let kind = if kind.is_empty() { "run" } else { kind };
            let workloads = left_out.entry((kind.to_owned(), commit.to_owned()));
            workloads.or_default().insert(workload(record).to_owned());
        }
        !dirty
    };
    let kept = records.into_iter().filter(|record| keep(record)).collect();
    (kept, left_out)
}

/// Tables, each with where its figures come from.
fn tables(records: &[Value], rounds: u64, wanted: &[Which]) -> String {
    let mut out = String::new();
    for table in wanted {
        match table {
            Which::Peers => against_hadoop(&mut out, records, rounds),
            Which::Open => open_loops(&mut out, records),
            Which::Runs => alone(&mut out, records, rounds),
            Which::Probe => ceiling(&mut out, records),
            Which::Baselines => simpler(&mut out, records, rounds),
        }
    }
    out
}

/// A row of a table, with the records that it is of.
type Row<'a> = (Vec<&'a Value>, Vec<String>);

/// A table with what it needs to be understood and repeated.
fn write(out: &mut String, columns: &[Column], rows: Vec<Row<'_>>) {
    if rows.is_empty() {
        return;
    }
    let (records, cells): (Vec<Vec<&Value>>, Vec<Vec<String>>) = rows.into_iter().unzip();
    table(out, columns, &cells);
    let alone = |cell: &String| cell.ends_with(table::NO_THREADS);
    if cells.iter().flatten().any(alone) {
        out.push_str(WHAT_NO_THREADS_MEANS);
    }
    let records: Vec<&Value> = records.into_iter().flatten().collect();
    table::sources(out, &records);
}

const WHAT_NO_THREADS_MEANS: &str = "\n`no threads`: whoever calls decides, on the calling thread; there is no \
    committer thread to hand over to.\n";

/// The latest record of each group, by itself.
fn latest(groups: Vec<Vec<&Value>>) -> impl Iterator<Item = &Value> {
    groups.into_iter().filter_map(|group| group.last().copied())
}

fn figure(record: &Value, field: &str) -> String {
    grouped(results::number(record, field).unwrap_or(0))
}

/// A median with the ends of what it is of.
fn with_ends(spread: Spread) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(grouped);
    format!("{median} ({min} to {max})")
}

/// Ratios, from alternating runs only.
fn against_hadoop<'a>(out: &mut String, records: &'a [Value], rounds: u64) {
    let pairs = pool::pairs(records, rounds);
    let columns = [
        Column::words("shape"),
        Column::words("our mode"),
        Column::numbers("ours/s"),
        Column::numbers("Hadoop's best/s"),
        Column::numbers("times its best (min to max)"),
        Column::numbers("times the same mode"),
        Column::numbers("rounds, ours and Hadoop's"),
    ];
    let row = |pair: Pair<'a>| (pair.records.clone(), cells(&pair));
    write(out, &columns, pairs.into_iter().map(row).collect());
}

fn cells(pair: &Pair<'_>) -> Vec<String> {
    let in_part = |complete: bool| if complete { "" } else { ", in part" };
    let (best, same) = (&pair.best, &pair.same);
    let to_best = pair.to_best();
    vec![
        workload(pair.records[0]).to_owned(),
        table::mode(pair.records[0]),
        grouped(pair.ours.median),
        format!(
            "{} ({}{})",
            grouped(best.spread().median),
            best.name,
            in_part(best.complete)
        ),
        format!(
            "{:.1} ({:.1} to {:.1})",
            to_best.median, to_best.min, to_best.max
        ),
        format!("{:.1}{}", pair.to_same().median, in_part(same.complete)),
        format!("{} and {}", pair.ours.rounds, best.spread().rounds),
    ]
}

/// Open loops at fixed rates. Percentiles of several runs have no common one: the latest run is shown.
fn open_loops<'a>(out: &mut String, records: &'a [Value]) {
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
    let columns = [
        Column::words("workload"),
        Column::words("mode"),
        Column::numbers("threads stay awake, us").if_any(),
        Column::numbers("asks/s offered"),
        Column::numbers("asks/s served"),
        Column::numbers("p50, us"),
        Column::numbers("p99, us"),
        Column::numbers("p99.9, us"),
        Column::numbers("p99.9 of an echo, us").if_any(),
    ];
    let micros = |record: &Value, field: &str| {
        let tenths = number(record, field) / 100;
        format!("{}.{}", grouped(tenths / 10), tenths % 10)
    };
    let awake = |record: &Value| match number(record, "awake_us") {
        0 => String::new(),
        us => grouped(us),
    };
    let row = |record: &'a Value| {
        let echo = record.get("echo_latency_ns");
        let cells = vec![
            workload(record).to_owned(),
            table::mode(record),
            awake(record),
            figure(record, "offered_per_second"),
            figure(record, "served_per_second"),
            micros(record, "latency_ns.p50"),
            micros(record, "latency_ns.p99"),
            micros(record, "latency_ns.p999"),
            echo.map_or_else(String::new, |_| micros(record, "echo_latency_ns.p999")),
        ];
        (vec![record], cells)
    };
    let rows = latest(pool::newest(records, 1, is_open, key)).map(row);
    write(out, &columns, rows.collect());
}

/// Our engine on all workloads.
fn alone<'a>(out: &mut String, records: &'a [Value], rounds: u64) {
    let is_round = |record: &Value| record.get("decisions_per_second").is_some();
    let columns = [
        Column::words("workload"),
        Column::words("mode"),
        Column::numbers("decisions/s (min to max)"),
        Column::numbers("rounds"),
        Column::numbers("proposals refused at most, %"),
        Column::numbers("nodes beyond the fewest at most, %").if_any(),
        Column::numbers("containers on a node, most and mean").if_any(),
        Column::numbers("peak memory, MiB"),
    ];
    let row = |group: Vec<&'a Value>| {
        let most = |field: &str| {
            let found = group
                .iter()
                .filter_map(|record| results::number(record, field));
            found.max()
        };
        let percent = |ppm: Option<u64>| ppm.map(|ppm| ratio(ppm, 10_000).to_string());
        let spread = pool::spread(&group);
        let cells = vec![
            workload(group[0]).to_owned(),
            table::mode(group[0]),
            with_ends(spread),
            spread.rounds.to_string(),
            percent(most("rejected_ppm")).unwrap_or_default(),
            percent(most("packing_gap_ppm")).unwrap_or_default(),
            on_a_node(&group),
            (most("peak_rss_kib").unwrap_or(0) / 1024).to_string(),
        ];
        (group, cells)
    };
    let groups = pool::newest(records, rounds, is_round, of_a_mode);
    write(out, &columns, groups.into_iter().map(row).collect());
}

/// How evenly a churn left its containers: the most on one node, and the mean of the nodes that have any, where
/// the records say how many there are.
fn on_a_node(group: &[&Value]) -> String {
    let most = |record: &&&Value| results::number(record, "most_on_node").unwrap_or(0);
    let Some(record) = group.iter().max_by_key(most) else {
        return String::new();
    };
    let [most, all, nodes] = ["most_on_node", "containers_at_rest", "used_nodes"]
        .map(|field| results::number(record, field));
    match (most, all, nodes) {
        (Some(most), Some(all), Some(nodes)) => format!("{most} and {}", ratio(all, nodes)),
        (Some(most), _, _) => most.to_string(),
        _ => String::new(),
    }
}

fn of_a_mode(record: &Value) -> String {
    let threads = results::number(record, "threads").unwrap_or(0);
    let mode = results::text(record, "mode");
    format!("{} {mode} {threads}", workload(record))
}

/// What a record of a ceiling measured; the oldest do not say, and are of the hand-over alone.
fn design_of(record: &Value) -> &str {
    match results::text(record, "design") {
        "" => crate::handoff::DESIGN,
        design => design,
    }
}

fn of_a_design(record: &Value) -> String {
    format!("{} {}", workload(record), design_of(record))
}

/// Bare pipelines, and what part of them the engine reached in the same rounds.
fn ceiling<'a>(out: &mut String, records: &'a [Value]) {
    let columns = [
        Column::words("shape"),
        Column::words("bare pipeline, 1 proposer and 1 committer"),
        Column::numbers("records/s (min to max)"),
        Column::numbers("ours, % of it"),
    ];
    let is_probe = |record: &Value| results::text(record, "kind") == "probe";
    let row = |record: &'a Value| {
        let share = record.get("ours_percent").and_then(Value::as_f64);
        let cells = vec![
            workload(record).to_owned(),
            design_of(record).to_owned(),
            with_ends(pool::spread(&[record])),
            share.map_or_else(String::new, |percent| percent.to_string()),
        ];
        (vec![record], cells)
    };
    // Each run is judged by the engine beside it, so that several are not taken together.
    let rows = latest(pool::newest(records, 1, is_probe, of_a_design)).map(row);
    write(out, &columns, rows.collect());
}

/// Simpler designs beside ours.
fn simpler<'a>(out: &mut String, records: &'a [Value], rounds: u64) {
    let columns = [
        Column::words("shape"),
        Column::words("design"),
        Column::words("mode"),
        Column::numbers("threads that decide"),
        Column::numbers("containers/s (min to max)"),
        Column::numbers("rounds"),
    ];
    let is_baseline = |record: &Value| results::text(record, "kind") == "baseline";
    let key = |record: &Value| format!("{} {:?}", of_a_design(record), how_of_design(record));
    let mut groups = pool::newest(records, rounds, is_baseline, key);
    groups.sort_by_key(|group| {
        let at = |design: &&str| *design == design_of(group[0]);
        let place = crate::baselines::DESIGNS.iter().position(at);
        (table::rank(workload(group[0])), place)
    });
    let row = |group: Vec<&'a Value>| {
        let (mode, threads) = how_of_design(group[0]);
        let spread = pool::spread(&group);
        let cells = vec![
            workload(group[0]).to_owned(),
            design_of(group[0]).to_owned(),
            mode.to_owned(),
            threads.to_string(),
            with_ends(spread),
            spread.rounds.to_string(),
        ];
        (group, cells)
    };
    write(out, &columns, groups.into_iter().map(row).collect());
}

/// Mode and deciding threads of a baseline; records up to schema 3 have no mode, and the number of threads that
/// was asked for, which is not that of the design on one thread.
fn how_of_design(record: &Value) -> (&str, u64) {
    let threads = results::number(record, "threads").unwrap_or(0);
    let said = results::text(record, "mode");
    match design_of(record) {
        _ if !said.is_empty() => (said, threads),
        "ours, global" => ("global", threads),
        "lock per node" => ("none", threads),
        "sequential" => ("asynchronous", 1),
        _ => ("asynchronous", threads),
    }
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
    fn a_shape_and_mode_is_shown_once_as_of_its_newest_commit() {
        let pair = |rate: u64| {
            serde_json::json!({"kind": "peers", "shape": "S1", "mode": "global",
                "ours_per_second": rate, "commit": rate.to_string(),
                "peer_best": "global, 1 thread", "peer_best_per_second": 160,
                "peer_same_mode": "global, 1 thread", "peer_same_mode_per_second": 160})
        };
        let text = tables(&[pair(1_000), pair(2_000)], 1, Which::value_variants());
        assert!(!text.contains("in part"), "{text}");
        assert!(text.contains("2,000") && !text.contains("1,000"), "{text}");
        assert!(text.contains("12.5"), "{text}");
    }

    #[test]
    fn what_hadoop_did_not_finish_is_marked() {
        let pair = serde_json::json!({"kind": "peers", "shape": "S1", "mode": "global",
            "ours_per_second": 75, "peer_best": "x", "peer_best_per_second": 20,
            "peer_best_complete": true, "peer_same_mode": "global, 1 thread",
            "peer_same_mode_per_second": 10, "peer_same_mode_complete": false});
        let text = tables(&[pair], 1, Which::value_variants());
        assert!(
            text.contains("20 (x)") && text.contains("7.5, in part |"),
            "{text}"
        );
    }

    #[test]
    fn an_open_loop_is_shown_with_its_echo() {
        let open = |p50: u64| {
            serde_json::json!({"kind": "open", "workload": "W", "mode": "global", "threads": 1,
                "offered_per_second": 500, "latency_ns": {"p50": p50, "p99": 2_000_000, "p999": 1},
                "echo_latency_ns": {"p999": 70_250}})
        };
        let text = tables(&[open(900), open(12_340)], 1, Which::value_variants());
        let row = "| W | global, 1 proposer | 500 | 0 | 12.3 | 2,000.0 | 0.0 | 70.2 |";
        assert!(text.contains(row) && !text.contains("| 0.9 |"), "{text}");
        assert!(
            text.contains("p99.9 of an echo, us") && !text.contains("awake"),
            "{text}"
        );
    }

    #[test]
    fn records_of_changed_sources_are_left_out_and_counted() {
        let round = |dirty: bool| {
            serde_json::json!({"workload": "W9", "mode": "global", "commit": "aa", "dirty": dirty,
                "decisions_per_second": 5})
        };
        let (kept, left_out) = clean(vec![round(true), round(false), round(true)]);
        assert_eq!(kept, [round(false)]);
        let reported: Vec<_> = left_out.into_iter().collect();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            reported,
            [((text("run"), text("aa")), BTreeSet::from([text("W9")]))]
        );
    }

    #[test]
    fn a_churn_is_shown_with_how_it_left_its_nodes() {
        let round = |rate: u64, gap: u64| {
            serde_json::json!({"workload": "W9", "mode": "global", "threads": 2,
                "decisions_per_second": rate, "rejected_ppm": 300, "packing_gap_ppm": gap,
                "most_on_node": 32, "used_nodes": 1000, "containers_at_rest": 31_040})
        };
        let text = tables(
            &[round(100, 0), round(300, 24_500)],
            1,
            Which::value_variants(),
        );
        let row =
            "| W9 | global, 2 proposers | 200 (100 to 300) | 2 | 0.03 | 2.45 | 32 and 31.04 | 0 |";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn a_simpler_design_is_shown_with_its_mode_and_threads() {
        let line = |design: &str| {
            serde_json::json!({"kind": "baseline", "shape": "S1", "design": design, "threads": 2,
                "median": 7, "min": 7, "max": 7, "rounds": 1})
        };
        let text = tables(
            &[line("ours, global"), line("sequential")],
            1,
            Which::value_variants(),
        );
        let rows = "| S1 | sequential | asynchronous | 1 | 7 (7 to 7) | 1 |\n\
                    | S1 | ours, global | global | 2 | 7 (7 to 7) | 1 |";
        assert!(text.contains(rows), "{text}");
    }
}
