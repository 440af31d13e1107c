//! The tables of a run: use of the queues over time, and the jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;

use super::folder::text;
use crate::output::Problem;

/// Points on the axis of time.
pub(super) const BUCKETS: u64 = 120;

/// What queues use over time.
#[derive(Debug, Default, Serialize)]
pub(super) struct Use {
    /// Virtual seconds.
    pub(super) at_s: Vec<u64>,
    /// Name of the resource type.
    pub(super) of: String,
    /// Amounts by queue.
    pub(super) queues: BTreeMap<String, Vec<i64>>,
    /// Containers that wait in the whole cluster.
    pub(super) waiting: Vec<u64>,
    /// Fairness gap in thousandths.
    pub(super) gap_permille: Vec<u64>,
}

/// Containers by time: asked and placed.
#[derive(Debug, Default, Serialize)]
pub(super) struct Rate {
    pub(super) at_s: Vec<u64>,
    pub(super) asked: Vec<u64>,
    pub(super) placed: Vec<u64>,
}

fn reader(text: &str) -> csv::Reader<&[u8]> {
    let mut builder = csv::ReaderBuilder::new();
    builder.comment(Some(b'#')).from_reader(text.as_bytes())
}

fn broken(path: &Path, line: u64, what: &str) -> anyhow::Error {
    anyhow!(Problem(format!("{}:{line}: {what}", path.display())))
}

/// Reads `queues.csv`.
pub(super) fn usage(path: &Path) -> Result<Use> {
    let text = text(path)?;
    let mut table = reader(&text);
    let head = table
        .headers()
        .with_context(|| path.display().to_string())?
        .clone();
    let column = |name: &str| head.iter().position(|field| field == name);
    let found = (
        column("at_ms"),
        column("queue"),
        column("waiting_in_cluster"),
    );
    let (Some(at), Some(queue), Some(waiting)) = found else {
        return Err(broken(path, 1, "no table of queues"));
    };
    let gap = column("fairness_gap_permille");
    let amount = queue + 1;
    let mut rows: BTreeMap<u64, (BTreeMap<String, i64>, u64, u64)> = BTreeMap::new();
    for record in table.records() {
        let record =
            record.map_err(|error| anyhow!(Problem(format!("{}: {error}", path.display()))))?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |at: usize| record.get(at).unwrap_or("");
        let number = |at: usize| {
            let wrong = |_| broken(path, line, "a field is no number");
            field(at).parse::<u64>().map_err(wrong)
        };
        let row = rows.entry(number(at)? / 1_000).or_default();
        let used = i64::try_from(number(amount)?).unwrap_or(i64::MAX);
        row.0.insert(field(queue).to_owned(), used);
        row.1 = number(waiting)?;
        row.2 = gap.map(number).transpose()?.unwrap_or(0);
    }
    Ok(by_queue(rows, head.get(amount).unwrap_or("").to_owned()))
}

fn by_queue(rows: BTreeMap<u64, (BTreeMap<String, i64>, u64, u64)>, of: String) -> Use {
    let names: BTreeSet<String> = rows
        .values()
        .flat_map(|row| row.0.keys().cloned())
        .collect();
    let mut all = Use {
        of,
        ..Use::default()
    };
    for (at_s, (used, waiting, gap)) in rows {
        all.at_s.push(at_s);
        all.waiting.push(waiting);
        all.gap_permille.push(gap);
        for name in &names {
            let amounts = all.queues.entry(name.clone()).or_default();
            amounts.push(used.get(name).copied().unwrap_or(0));
        }
    }
    all
}

/// One job of a run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) submitted_ms: u64,
    /// Containers.
    pub(super) asked: u64,
}

/// Reads `jobs.csv`.
pub(super) fn jobs(path: &Path) -> Result<Vec<Job>> {
    let text = text(path)?;
    let mut table = reader(&text);
    let head = table
        .headers()
        .with_context(|| path.display().to_string())?
        .clone();
    let column = |name: &str| head.iter().position(|field| field == name);
    let (Some(submitted), Some(asked)) = (column("submitted_ms"), column("containers_asked"))
    else {
        return Err(broken(path, 1, "no table of jobs"));
    };
    let mut all = Vec::new();
    for record in table.records() {
        let record =
            record.map_err(|error| anyhow!(Problem(format!("{}: {error}", path.display()))))?;
        let line = record.position().map_or(0, csv::Position::line);
        let number = |at: usize| {
            let wrong = |_| broken(path, line, "a field is no number");
            record.get(at).unwrap_or("").parse::<u64>().map_err(wrong)
        };
        all.push(Job {
            submitted_ms: number(submitted)?,
            asked: number(asked)?,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn queues_without_a_line_use_nothing() {
        let csv = file(
            "# {}\nat_ms,queue,memory-mb,vcores,waiting_in_cluster,fairness_gap_permille\n\
             1000,root.a,512,1,3,20\n1000,root.b,256,1,3,20\n2000,root.b,128,1,0,0\n",
        );
        let all = usage(csv.path()).unwrap();
        assert_eq!((all.at_s, all.of.as_str()), (vec![1, 2], "memory-mb"));
        assert_eq!(all.queues["root.a"], [512, 0]);
        assert_eq!(all.queues["root.b"], [256, 128]);
        assert_eq!((all.waiting, all.gap_permille), (vec![3, 0], vec![20, 0]));
    }

    #[test]
    fn foreign_tables_are_refused_with_their_place() {
        for text in [
            "",
            "a,b\n1,2\n",
            "at_ms,queue,memory-mb,waiting_in_cluster\nx,root.a,1,0\n",
        ] {
            let csv = file(text);
            let error = usage(csv.path()).unwrap_err();
            assert!(error.is::<Problem>(), "{error}");
        }
        let table = file("job,submitted_ms,containers_asked\na,5,2\n");
        let all = jobs(table.path()).unwrap();
        assert_eq!((all[0].submitted_ms, all[0].asked), (5, 2));
        assert!(jobs(file("job,queue\na,b\n").path()).is_err());
    }
}
