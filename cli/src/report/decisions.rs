//! The log of decisions: containers placed over time, and the use of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

use super::folder::text;
use super::tables::BUCKETS;
use crate::output::Problem;

/// Rows of the picture of nodes.
const ROWS: usize = 48;

/// One line of the log; lines of other kinds have neither node nor container.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    at_ms: u64,
    #[serde(default)]
    did: String,
    #[serde(default)]
    container: Option<String>,
    #[serde(default)]
    node: Option<String>,
    #[serde(default)]
    size: Vec<i64>,
}

/// Use of groups of nodes over time.
#[derive(Debug, Default, Serialize)]
pub(super) struct Nodes {
    pub(super) at_s: Vec<u64>,
    /// Time between two of them, in virtual ms.
    pub(super) span_ms: u64,
    /// The first node of each group.
    pub(super) groups: Vec<String>,
    /// Nodes of a group.
    pub(super) group_size: usize,
    /// For each group and time, the mean use in thousandths of the most that its nodes ever had.
    pub(super) permille: Vec<Vec<i64>>,
}

/// What the log holds.
#[derive(Debug)]
pub(super) struct Decisions {
    lines: Vec<Line>,
    /// When the last decision was made.
    last_ms: u64,
}

impl Decisions {
    /// Reads `decisions.jsonl`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = text(path)?;
        let shown = path.display().to_string();
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| anyhow!(Problem::json(&shown, at + 1, &error)))?;
            lines.push(line);
        }
        let last_ms = lines.iter().map(|line| line.at_ms).max().unwrap_or(0);
        Ok(Self { lines, last_ms })
    }

    /// When each decision was made.
    pub(super) fn times_ms(&self) -> impl Iterator<Item = u64> + '_ {
        self.lines.iter().map(|line| line.at_ms)
    }

    /// Width of a column of the picture of nodes, in ms.
    fn width_ms(&self) -> u64 {
        (self.last_ms / BUCKETS + 1).max(1)
    }

    /// Containers placed, by span of `width` ms.
    pub(super) fn placed(&self, width: u64) -> BTreeMap<u64, u64> {
        let mut buckets = BTreeMap::new();
        for line in self.lines.iter().filter(|line| line.did == "allocated") {
            *buckets.entry(line.at_ms / width).or_default() += 1;
        }
        buckets
    }

    /// Use of the nodes by memory, in the order of their names.
    pub(super) fn nodes(&self) -> Nodes {
        let width = self.width_ms();
        let names: BTreeMap<&str, usize> = self
            .lines
            .iter()
            .filter_map(|line| line.node.as_deref())
            .collect::<BTreeSet<&str>>()
            .into_iter()
            .enumerate()
            .map(|(at, name)| (name, at))
            .collect();
        if names.is_empty() {
            return Nodes::default();
        }
        let columns = usize::try_from(self.last_ms / width + 1).unwrap_or(1);
        let used = self.used(&names, columns);
        grouped(&names, &used, columns, width)
    }

    /// Memory in use on each node at the end of each bucket.
    fn used(&self, names: &BTreeMap<&str, usize>, columns: usize) -> Vec<Vec<i64>> {
        let width = self.width_ms();
        let mut held: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
        let mut changes = vec![vec![0_i64; columns]; names.len()];
        for line in &self.lines {
            let column = usize::try_from(line.at_ms / width).unwrap_or(0);
            let Some(container) = line.container.as_deref() else {
                continue;
            };
            match (line.did.as_str(), line.node.as_deref()) {
                ("allocated", Some(node)) => {
                    let (node, size) = (names[node], line.size.first().copied().unwrap_or(0));
                    held.insert(container, (node, size));
                    changes[node][column] += size;
                }
                ("released", _) => {
                    if let Some((node, size)) = held.remove(container) {
                        changes[node][column] -= size;
                    }
                }
                _ => {}
            }
        }
        for row in &mut changes {
            let mut sum = 0;
            for cell in row {
                sum += *cell;
                *cell = sum;
            }
        }
        changes
    }
}

/// Rows of so many nodes, each cell relative to the most that each node had.
fn grouped(names: &BTreeMap<&str, usize>, used: &[Vec<i64>], columns: usize, width: u64) -> Nodes {
    let size = used.len().div_ceil(ROWS);
    let group = |rows: &[Vec<i64>]| -> Vec<i64> {
        let most: i64 = rows
            .iter()
            .map(|row| row.iter().max().copied().unwrap_or(0))
            .sum();
        let cell = |column: usize| {
            let sum: i64 = rows.iter().map(|row| row[column]).sum();
            sum.saturating_mul(1_000).checked_div(most).unwrap_or(0)
        };
        (0..columns).map(cell).collect()
    };
    let times = (0..columns).map(|column| u64::try_from(column).unwrap_or(0) * width / 1_000);
    let firsts = names.keys().step_by(size).map(ToString::to_string);
    Nodes {
        at_s: times.collect(),
        span_ms: width,
        groups: firsts.collect(),
        group_size: size,
        permille: used.chunks(size).map(group).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_ms: u64, did: &str, container: &str, node: Option<&str>, memory: i64) -> Line {
        Line {
            at_ms,
            did: did.to_owned(),
            container: Some(container.to_owned()),
            node: node.map(str::to_owned),
            size: vec![memory, 1],
        }
    }

    #[test]
    fn a_node_is_in_use_from_placement_to_release() {
        let log = Decisions {
            lines: vec![
                line(0, "allocated", "c1", Some("a"), 100),
                line(60_000, "allocated", "c2", Some("a"), 100),
                line(60_000, "allocated", "c3", Some("b"), 10),
                line(119_000, "released", "c1", None, 0),
            ],
            last_ms: 119_000,
        };
        let nodes = log.nodes();
        assert_eq!(
            (nodes.groups, nodes.group_size),
            (vec!["a".to_owned(), "b".to_owned()], 1)
        );
        assert_eq!((nodes.span_ms, nodes.at_s[1]), (992, 0));
        let (a, b) = (&nodes.permille[0], &nodes.permille[1]);
        assert_eq!(
            (a[0], a[a.len() / 2 + 1], a[a.len() - 1]),
            (500, 1_000, 500)
        );
        assert_eq!((b[0], b[b.len() - 1]), (0, 1_000));
        assert_eq!(log.placed(1_000).values().sum::<u64>(), 3);
    }
}
