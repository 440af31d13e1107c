//! Placement constraints over the application's own tags: in, notin and cardinality.

use super::state::{App, KeyAsk, NodeIdx, Scheduler};

/// Bounds on how many containers with each of the tags a node or rack may hold.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    rack: bool,
    low: i64,
    high: Option<i64>,
    tags: Vec<String>,
}

/// Reads Hadoop's text form, as `notin,node,cache`.
pub(crate) fn parse(text: &str) -> Constraint {
    let part: Vec<&str> = text.split(',').map(str::trim).collect();
    let rack = part[1].eq_ignore_ascii_case("rack");
    let end = part.len();
    let (low, high, tags) = match part[0].to_ascii_lowercase().as_str() {
        "in" => (1, None, &part[2..]),
        "notin" => (0, Some(0), &part[2..]),
        _ => (
            part[end - 2].parse().unwrap(),
            Some(part[end - 1].parse().unwrap()),
            &part[2..end - 2],
        ),
    };
    Constraint {
        rack,
        low,
        high,
        tags: tags.iter().map(|t| (*t).to_owned()).collect(),
    }
}

impl Scheduler {
    /// Whether a scheduling request may go to this node, asked for in partition `look`.
    pub(crate) fn holds(&self, app: &App, ask: &KeyAsk, node: NodeIdx, look: &str) -> bool {
        if ask.partition != look {
            return false;
        }
        let Some(c) = &ask.constraint else {
            return true;
        };
        let rack = &self.nodes[node].rack;
        let nodes: Vec<NodeIdx> = if c.rack {
            self.node_of
                .values()
                .copied()
                .filter(|n| self.nodes[*n].rack == *rack)
                .collect()
        } else {
            vec![node]
        };
        let count = |tag: &String| {
            let running = nodes.iter().flat_map(|n| self.nodes[*n].running.keys());
            let mine = running
                .map(|c| &self.containers[*c])
                .filter(|c| c.app == app.number);
            let running = mine.filter(|c| c.tags.contains(tag)).count();
            let left = self.left_tags.iter().filter(|left| {
                let here = if c.rack {
                    left.rack == *rack
                } else {
                    left.node == self.nodes[node].name
                };
                here && left.app == app.number && left.tags.contains(tag)
            });
            (running + left.count()) as i64
        };
        let counts: Vec<i64> = c.tags.iter().map(count).collect();
        let enough = c.low <= 0 || counts.iter().all(|n| *n >= c.low);
        enough && c.high.is_none_or(|high| counts.iter().all(|n| *n <= high))
    }
}
