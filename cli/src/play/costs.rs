//! Costs of a scheduler by name or from a file.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use capsched::simulator::{CommitOverlap, CostPoint, Costs, CostsError};
use serde::Deserialize;
use toml::Spanned;

use crate::output::Problem;
use crate::text_file;

/// Costs of the reference, measured beside ours on one machine.
const HADOOP: &str = include_str!("../../../configs/costs/hadoop-3.4.2.toml");

/// Costs of this engine, measured in the same run.
const OURS: &str = include_str!("../../../configs/costs/ours.toml");

/// Longest file of costs, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Costs with the name that they were asked for by; none where work takes no virtual time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedCosts {
    name: String,
    costs: Option<Costs>,
}

impl fmt::Display for NamedCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What a file of costs holds. Times are ns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostsFile {
    /// Threads that propose in the asynchronous and the global mode.
    threads: Spanned<u32>,
    /// `waits`: proposers stand still during a commit; `overlaps`: they go on.
    commits: Overlap,
    /// Attempts of the global mode between two pauses; until one finds nothing when left out.
    attempts_a_round: Option<Spanned<u32>>,
    /// Costs by the size of the cluster.
    size: Vec<Spanned<SizeRow>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Overlap {
    Waits,
    Overlaps,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct SizeRow {
    nodes: u64,
    heartbeat_ns: u64,
    visit_ns: u64,
    decision_ns: u64,
    commit_ns: u64,
    sort_ns: u64,
    #[serde(default)]
    in_turn_ns: u64,
}

impl NamedCosts {
    /// Work that takes no virtual time.
    pub(crate) fn none() -> Self {
        Self {
            name: "none".to_owned(),
            costs: None,
        }
    }

    /// `none`, `hadoop`, `ours`, or a file.
    /// `threads`: scheduler threads instead of those of the file.
    pub(crate) fn named(name: &str, threads: Option<u32>) -> Result<Self> {
        let text = match name {
            "none" => return Ok(Self::none()),
            "hadoop" => HADOOP.to_owned(),
            "ours" => OURS.to_owned(),
            path => read(Path::new(path))?,
        };
        let costs = parsed(&text).map_err(|(place, why)| {
            anyhow::Error::new(Problem(format!("{name}:{place}: {why}")))
        })?;
        let costs = match threads {
            None => costs,
            Some(threads) => costs
                .with_threads(threads)
                .map_err(|error| anyhow::Error::new(Problem(format!("--cost-threads: {error}"))))?,
        };
        Ok(Self {
            name: name.to_owned(),
            costs: Some(costs),
        })
    }

    /// The costs; nothing where work takes no virtual time.
    pub(crate) const fn costs(&self) -> Option<&Costs> {
        self.costs.as_ref()
    }
}

fn read(path: &Path) -> Result<String> {
    let shown = path.display();
    std::fs::metadata(path)
        .with_context(|| format!("--costs {shown} is neither none, hadoop or ours nor a file"))?;
    text_file::read(path, MAX_BYTES)
}

/// The costs of a text, or the place (line and column) and what is wrong there.
fn parsed(text: &str) -> Result<Costs, (String, String)> {
    let file: CostsFile = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        (place(text, start), error.message().trim().to_owned())
    })?;
    let rows = file.size.iter().map(|row| *row.get_ref());
    let points = rows.map(SizeRow::point).collect();
    let attempts = file.attempts_a_round.as_ref().map(|n| *n.get_ref());
    let commits = match file.commits {
        Overlap::Waits => CommitOverlap::Waits,
        Overlap::Overlaps => CommitOverlap::Overlaps,
    };
    Costs::new(points, *file.threads.get_ref(), commits, attempts).map_err(|error| {
        let of_size = |nodes: u64| {
            let last = file.size.iter().rfind(|row| row.get_ref().nodes == nodes);
            last.map_or(0, |row| row.span().start)
        };
        let start = match &error {
            CostsError::NoPoint => 0,
            CostsError::Nodes(nodes)
            | CostsError::Free(nodes)
            | CostsError::TooLong { nodes, .. } => of_size(*nodes),
            CostsError::Threads(_) => file.threads.span().start,
            CostsError::Attempts => {
                let attempts = file.attempts_a_round.as_ref();
                attempts.map_or(0, |n| n.span().start)
            }
        };
        (place(text, start), error.to_string())
    })
}

impl SizeRow {
    const fn point(self) -> CostPoint {
        CostPoint {
            nodes: self.nodes,
            heartbeat_ns: self.heartbeat_ns,
            visit_ns: self.visit_ns,
            decision_ns: self.decision_ns,
            commit_ns: self.commit_ns,
            sort_ns: self.sort_ns,
            in_turn_ns: self.in_turn_ns,
        }
    }
}

/// Line and column of a byte, from 1.
fn place(text: &str, byte: usize) -> String {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |last| last.chars().count())
        + 1;
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "threads = 1\ncommits = \"waits\"\n\n[[size]]\nnodes = 10\n\
        heartbeat_ns = 1\nvisit_ns = 2\ndecision_ns = 3\ncommit_ns = 4\nsort_ns = 5\n";

    #[test]
    fn the_measured_sets_are_costs() {
        for name in ["hadoop", "ours"] {
            let named = NamedCosts::named(name, None).unwrap();
            assert!(named.costs().unwrap().at(1000).decision_ns > 0, "{name}");
        }
        assert_eq!(NamedCosts::named("none", None).unwrap().costs(), None);
    }

    #[test]
    fn a_wrong_file_is_refused_with_place_and_value() {
        assert!(parsed(GOOD).is_ok());
        for (from, to, place, value) in [
            ("threads = 1", "threads = 0", "1:11", "threads = 0"),
            ("threads = 1", "threads = -1", "1:11", "-1"),
            ("\"waits\"", "\"perhaps\"", "2:11", "perhaps"),
            ("visit_ns = 2", "visit_ns = 1.5", "7:12", "1.5"),
            ("visit_ns = 2\n", "", "4:1", "visit_ns"),
            ("sort_ns = 5", "sort_ns = 5\nspeed = 1", "11:1", "speed"),
            (
                "commit_ns = 4",
                "commit_ns = 9000000000000",
                "4:1",
                "9000000000000",
            ),
            ("nodes = 10", "nodes = 0", "4:1", "nodes = 0"),
            ("commits", "attempts_a_round = 0\ncommits", "2:20", "0"),
            ("[[size]]", "[[size", "4:7", ""),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let (found, why) = parsed(&text).unwrap_err();
            assert_eq!(found, place, "{to}: {why}");
            assert!(why.contains(value), "{to}: {why}");
        }
        let twice = format!(
            "{GOOD}{}",
            GOOD.split_once('\n')
                .unwrap()
                .1
                .split_once("\n\n")
                .unwrap()
                .1
        );
        let (found, why) = parsed(&twice).unwrap_err();
        assert!(
            found.starts_with("11:") && why.contains("10"),
            "{found}: {why}"
        );
    }
}
