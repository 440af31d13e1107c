//! Tables of a page, and the lines below them that say where their figures come from.

use std::fmt::Write;

use serde_json::Value;

use crate::record::FIGURES;
use crate::results;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    head: &'static str,
    number: bool,
    optional: bool,
}

impl Column {
    /// A column of words.
    pub(crate) const fn words(head: &'static str) -> Self {
        Self {
            head,
            number: false,
            optional: false,
        }
    }

    /// A column of numbers, which stand at its right edge.
    pub(crate) const fn numbers(head: &'static str) -> Self {
        Self {
            number: true,
            ..Self::words(head)
        }
    }

    /// The same column, left out where every row has nothing in it.
    pub(crate) const fn if_any(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }
}

/// Writes a table.
pub(crate) fn table(out: &mut String, columns: &[Column], rows: &[Vec<String>]) {
    let says = |at: usize| {
        rows.iter()
            .any(|row| !["", "0"].contains(&row[at].as_str()))
    };
    let shown: Vec<usize> = (0..columns.len())
        .filter(|&at| !columns[at].optional || says(at))
        .collect();
    let mut line = |cells: Vec<&str>| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    line(shown.iter().map(|&at| columns[at].head).collect());
    let rule = |&at: &usize| if columns[at].number { "---:" } else { "---" };
    line(shown.iter().map(rule).collect());
    for row in rows {
        line(shown.iter().map(|&at| row[at].as_str()).collect());
    }
}

/// The name of the workload that a record is of.
pub(crate) fn workload(record: &Value) -> &str {
    match results::text(record, "shape") {
        "" => results::text(record, "workload"),
        shape => shape,
    }
}

/// Sorts workloads as people count: letters, then the number, then what follows.
pub(crate) fn rank(workload: &str) -> (&str, u32, &str) {
    let digit = |c: char| c.is_ascii_digit();
    let (letters, rest) = workload.split_at(workload.find(digit).unwrap_or(workload.len()));
    let (number, rest) = rest.split_at(rest.find(|c| !digit(c)).unwrap_or(rest.len()));
    (letters, number.parse().unwrap_or(0), rest)
}

/// Sorts modes from the simplest to the one with most in it.
pub(crate) fn mode_rank(mode: &str) -> usize {
    let known = ["heartbeat", "asynchronous", "global"];
    let at = known.iter().position(|&name| name == mode);
    at.unwrap_or(known.len())
}

/// What stands beside a mode where whoever calls decides.
pub(crate) const NO_THREADS: &str = "no threads";

/// The mode of a record and the threads that decide in it.
pub(crate) fn mode(record: &Value) -> String {
    let mode = results::text(record, "mode");
    match (results::number(record, "threads").unwrap_or(0), mode) {
        (0, _) => format!("{mode}, {NO_THREADS}"),
        (_, "heartbeat") => format!("{mode}, with threads"),
        (1, _) => format!("{mode}, 1 proposer"),
        (n, _) => format!("{mode}, {n} proposers"),
    }
}

/// Groups of names by what they have in common, both in the order of their first appearance.
type Groups<'a> = Vec<(String, Vec<&'a str>)>;

fn group<'a>(records: &[&'a Value], key: impl Fn(&Value) -> String) -> Groups<'a> {
    let mut groups: Groups<'a> = Vec::new();
    for record in records {
        let key = key(record);
        let at = groups.iter().position(|(known, _)| *known == key);
        let at = at.unwrap_or_else(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        let name = workload(record);
        if !groups[at].1.contains(&name) {
            groups[at].1.push(name);
        }
    }
    groups
}

/// Where the figures of some records come from, and the commands that repeat them.
pub(crate) fn sources(out: &mut String, records: &[&Value]) {
    let named = |(key, names): &(String, Vec<&str>)| match names.as_slice() {
        [] | [""] => key.clone(),
        names => format!("{key} ({})", names.join(", ")),
    };
    let list = |groups: &Groups<'_>| match groups.as_slice() {
        [(key, _)] => key.clone(),
        groups => groups.iter().map(named).collect::<Vec<_>>().join(" and "),
    };
    let machine = |record: &Value| {
        format!(
            "{}, {} cores, Linux {}, {}, build `{}`",
            results::text(record, "machine"),
            results::number(record, "cores").unwrap_or(0),
            results::text(record, "kernel"),
            results::text(record, "rustc"),
            profile(record),
        )
    };
    let commits = group(records, |record| results::text(record, "commit").to_owned());
    let many = if commits.len() > 1 { "s" } else { "" };
    let machines = list(&group(records, machine));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\nCommit{many} {}, {machines}.\n", list(&commits));
    for (command, names) in group(records, command) {
        let _ = writeln!(out, "- {}: `{command}`", names.join(", "));
    }
    out.push('\n');
}

/// The profile of a record by its present name: up to schema 4 `release` was built as `max` is now.
fn profile(record: &Value) -> &str {
    match results::text(record, "profile") {
        "release" if was_renamed(record) => FIGURES,
        profile => profile,
    }
}

/// Whether a record is from before the profile of figures had a name of its own.
fn was_renamed(record: &Value) -> bool {
    results::number(record, "schema").is_none_or(|schema| schema <= 4)
}

/// What repeats a record; the oldest do not say, but for the pairs with Hadoop, and get one of their settings.
fn command(record: &Value) -> String {
    let said = results::text(record, "command");
    if !said.is_empty() {
        return match said.strip_prefix("cargo run --release ") {
            Some(rest) if was_renamed(record) => format!("cargo run --profile {FIGURES} {rest}"),
            _ => said.to_owned(),
        };
    }
    let number = |field: &str| results::number(record, field).unwrap_or(0);
    let workload = workload(record);
    let settings = || {
        let mode = results::text(record, "mode");
        format!("{workload} --mode {mode} --threads {}", number("threads"))
    };
    let what = match results::text(record, "kind") {
        "open" => open(record, &settings()),
        "probe" => format!("probe --shapes {workload} --rounds {}", number("rounds")),
        "baseline" => format!(
            "baselines --shapes {workload} --threads {} --rounds {}",
            number("threads"),
            number("rounds")
        ),
        _ => format!("run {} --rounds 1", settings()),
    };
    format!("cargo run --profile {FIGURES} -p perf -- {what}")
}

/// The command of an open loop: at a rate, or at a share of what saturated the engine.
fn open(record: &Value, settings: &str) -> String {
    let number = |field: &str| results::number(record, field).unwrap_or(0);
    let offered = number("offered_per_second");
    let rate = match number("saturation_per_second") {
        0 => format!("--rates {offered}"),
        all if offered == all / 2 => "--half".to_owned(),
        _ => "--sweep".to_owned(),
    };
    let seconds = (number("asked") + offered / 2) / offered.max(1);
    let echo = record.get("echo_latency_ns").map_or("", |_| " --echo");
    format!("open {settings} {rate} --seconds {seconds}{echo}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_sorted_as_people_count() {
        let sorted = [
            "S1", "S2", "S4", "S4U", "S5", "S5-open", "W1", "W1-50k", "W6", "W7", "W10-10",
            "W12-1000",
        ];
        let mut found = sorted;
        found.reverse();
        found.sort_by_key(|name| rank(name));
        assert_eq!(found, sorted);
    }

    #[test]
    fn a_column_that_says_nothing_is_left_out_where_it_may_be() {
        let columns = [
            Column::words("a"),
            Column::numbers("b").if_any(),
            Column::numbers("c"),
        ];
        let rows = |b: &str| [vec!["x".to_owned(), b.to_owned(), "0".to_owned()]];
        let written = |b: &str| {
            let mut out = String::new();
            table(&mut out, &columns, &rows(b));
            out
        };
        assert_eq!(written(""), "| a | c |\n| --- | ---: |\n| x | 0 |\n");
        assert!(written("7").contains("| a | b | c |"));
    }

    #[test]
    fn heartbeats_on_the_thread_of_the_caller_are_told_from_threads() {
        let mode_of =
            |name: &str, threads: u64| mode(&serde_json::json!({"mode": name, "threads": threads}));
        assert_eq!(mode_of("heartbeat", 0), "heartbeat, no threads");
        assert_eq!(mode_of("heartbeat", 1), "heartbeat, with threads");
        assert_eq!(mode_of("global", 2), "global, 2 proposers");
    }

    #[test]
    fn every_commit_machine_and_command_is_named_with_its_workloads() {
        let record = |shape: &str, commit: &str, command: &str| {
            serde_json::json!({"kind": "peers", "shape": shape, "commit": commit,
                "command": command, "machine": "M", "cores": 2})
        };
        let rendered = |records: &[Value]| {
            let mut out = String::new();
            sources(&mut out, &records.iter().collect::<Vec<_>>());
            out
        };
        let old = [record("S1", "aa", "x"), record("S2", "aa", "x")];
        let text = rendered(&old);
        assert!(text.contains("Commit aa, M, 2 cores,"), "{text}");
        assert!(text.contains("- S1, S2: `x`"), "{text}");
        let both = [old.as_slice(), &[record("S3", "bb", "y")]].concat();
        let text = rendered(&both);
        assert!(text.contains("Commits aa (S1, S2) and bb (S3),"), "{text}");
        assert!(text.contains("- S3: `y`"), "{text}");
    }

    #[test]
    fn an_old_record_gets_a_command_of_its_settings() {
        let open = serde_json::json!({"kind": "open", "workload": "W", "mode": "global",
            "threads": 1, "offered_per_second": 500, "saturation_per_second": 1001, "asked": 5000});
        let expected = "perf -- open W --mode global --threads 1 --half --seconds 10";
        assert!(command(&open).ends_with(expected), "{}", command(&open));
    }
}
