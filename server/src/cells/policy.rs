//! The policy of a router: cells with their addresses, and which of them an application of a queue goes to.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use capsched::api::ApplicationId;
use foldhash::quality::FixedState;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::names::{CellAddress, CellName, shown};

/// Cells at most.
pub const MOST_CELLS: usize = 256;

/// Rules at most.
const MOST_RULES: usize = 10_000;

/// Addresses of one cell at most: its leader and its standbys.
const MOST_ADDRESSES: usize = 16;

/// Largest weight.
const MOST_WEIGHT: u32 = 1_000_000;

/// Longest path of a queue, in bytes.
const LONGEST_QUEUE: usize = 1024;

/// Queues that an error names.
const SHOWN: usize = 8;

/// Start of the hash that spreads applications over cells. It never changes, so that a policy gives the same cells to
/// the same applications in every router.
const SEED: u64 = 0x6361_7073;

/// The queue of a submission that names none.
const DEFAULT_QUEUE: &str = "root.default";

/// A policy as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyText {
    cells: Vec<CellText>,
    queues: Vec<RuleText>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CellText {
    name: CellName,
    addresses: Vec<CellAddress>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    queue: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<CellName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    weights: Vec<WeightText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fall_back: Vec<CellName>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightText {
    cell: CellName,
    weight: u32,
}

/// Why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolicyProblem {
    /// It is no JSON of this form.
    #[error("the policy cannot be read: {0}")]
    Form(String),
    /// A value does not fit.
    #[error("{place}: {reason}")]
    Value {
        /// Where, such as `queues[3].home`.
        place: String,
        /// Why.
        reason: String,
    },
}

fn at(place: impl Into<String>, reason: impl Into<String>) -> PolicyProblem {
    PolicyProblem::Value {
        place: place.into(),
        reason: reason.into(),
    }
}

/// Which cells the applications of a queue and of all queues below it go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    queue: String,
    /// Each weight is at least 1.
    cells: Vec<(CellName, u32)>,
    fall_back: Vec<CellName>,
}

impl Rule {
    /// The path of the queue.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// Whether a queue is this one or below it.
    fn covers(&self, queue: &str) -> bool {
        let rest = queue.strip_prefix(&*self.queue);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    fn last_part(&self) -> &str {
        self.queue.rsplit('.').next().unwrap_or_default()
    }

    /// Cells with their weights among those that pass a filter.
    fn weighted<'a>(&'a self, is_up: &impl Fn(&CellName) -> bool) -> Vec<(&'a CellName, u64)> {
        let cells = self.cells.iter().filter(|(cell, _)| is_up(cell));
        cells
            .map(|(cell, weight)| (cell, (*weight).into()))
            .collect()
    }

    /// The cell of an application: by weight among the cells that are up, else the first one up to fall back on.
    /// The same application and the same cells give the same answer.
    fn cell_of(
        &self,
        application: ApplicationId,
        is_up: &impl Fn(&CellName) -> bool,
    ) -> Option<&CellName> {
        let weighted = self.weighted(is_up);
        let total: u64 = weighted.iter().map(|(_, weight)| weight).sum();
        if total == 0 {
            return self.fall_back.iter().find(|cell| is_up(cell));
        }
        let hash =
            FixedState::with_seed(SEED).hash_one((application.cluster, application.sequence));
        let mut left = hash % total;
        for (cell, weight) in weighted {
            match left.checked_sub(weight) {
                Some(behind) => left = behind,
                None => return Some(cell),
            }
        }
        None
    }

    /// All cells that it names.
    fn named(&self) -> impl Iterator<Item = &CellName> {
        let cells = self.cells.iter().map(|(cell, _)| cell);
        cells.chain(&self.fall_back)
    }
}

/// Why no cell is found for a submission.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RouteProblem {
    /// No rule covers the queue.
    #[error("no cell has the queue `{queue}`: there are rules for {known}")]
    UnknownQueue {
        /// The queue.
        queue: String,
        /// Queues of rules.
        known: String,
    },
    /// A short name fits several rules.
    #[error("the queue `{queue}` may be one of {rules}: give its whole path")]
    AmbiguousQueue {
        /// The queue.
        queue: String,
        /// Queues of the rules that fit.
        rules: String,
    },
    /// All cells of the rule are down.
    #[error("no cell of the queue `{queue}` is up: {cells}")]
    NoCell {
        /// The queue.
        queue: String,
        /// The cells.
        cells: String,
    },
}

/// The cell of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellChoice {
    /// The cell.
    pub cell: CellName,
    /// The queue of the rule that chose it.
    pub rule: String,
}

/// Cells with their addresses, and the rules of queues.
///
/// A policy is valid: names are unique, every cell that a rule names exists, and each rule has a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    text: PolicyText,
    /// Those of longer paths first.
    rules: Vec<Rule>,
}

impl Policy {
    /// Reads a policy in JSON.
    ///
    /// # Errors
    ///
    /// As [`PolicyProblem`], with the place and the value.
    pub fn read(json: &[u8]) -> Result<Self, PolicyProblem> {
        let text: PolicyText =
            serde_json::from_slice(json).map_err(|error| PolicyProblem::Form(error.to_string()))?;
        let cells = check_cells(&text.cells)?;
        if text.queues.len() > MOST_RULES {
            let reason = format!("{} rules, at most {MOST_RULES}", text.queues.len());
            return Err(at("queues", reason));
        }
        let mut rules = Vec::with_capacity(text.queues.len());
        let mut queues = BTreeSet::new();
        for (i, rule) in text.queues.iter().enumerate() {
            let place = format!("queues[{i}]");
            rules.push(check_rule(rule, &place, &cells)?);
            if !queues.insert(&rule.queue) {
                let reason = format!("`{}` has a rule already", rule.queue);
                return Err(at(format!("{place}.queue"), reason));
            }
        }
        if rules.is_empty() {
            return Err(at("queues", "there is no rule"));
        }
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.queue.len()));
        Ok(Self { text, rules })
    }

    /// The policy in JSON, as it was read.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(&self.text).unwrap_or_default()
    }

    /// Cells with their addresses, in the order in which they were written.
    pub fn cells(&self) -> impl Iterator<Item = (&CellName, &[CellAddress])> {
        let cells = self.text.cells.iter();
        cells.map(|cell| (&cell.name, &cell.addresses[..]))
    }

    /// Whether a cell is one of the policy.
    #[must_use]
    pub fn has(&self, cell: &CellName) -> bool {
        self.text.cells.iter().any(|known| known.name == *cell)
    }

    /// The rule of a queue: that of the longest path which covers it. A name without `root` belongs to the rule whose
    /// last part is its first part, or is a child of root.
    ///
    /// # Errors
    ///
    /// That no rule covers the queue, or that a short name fits several.
    pub fn rule(&self, queue: &str) -> Result<&Rule, RouteProblem> {
        let queue = match queue {
            "" => DEFAULT_QUEUE,
            named => named,
        };
        if queue == "root" || queue.starts_with("root.") {
            return self.rule_of_path(queue, queue);
        }
        let first = queue.split('.').next().unwrap_or_default();
        let mut named = self.rules.iter().filter(|rule| rule.last_part() == first);
        match (named.next(), named.next()) {
            (None, _) => self.rule_of_path(&format!("root.{queue}"), queue),
            (Some(rule), None) => {
                self.rule_of_path(&format!("{}{}", rule.queue, &queue[first.len()..]), queue)
            }
            (Some(_), Some(_)) => {
                let rules = self.rules.iter().filter(|rule| rule.last_part() == first);
                Err(RouteProblem::AmbiguousQueue {
                    queue: shown(queue),
                    rules: listed(rules.map(|rule| &*rule.queue)),
                })
            }
        }
    }

    fn rule_of_path(&self, path: &str, given: &str) -> Result<&Rule, RouteProblem> {
        let found = self.rules.iter().find(|rule| rule.covers(path));
        found.ok_or_else(|| RouteProblem::UnknownQueue {
            queue: shown(given),
            known: listed(self.text.queues.iter().map(|rule| &*rule.queue)),
        })
    }

    /// The cell of an application that is submitted to a queue. Cost: O(rules).
    ///
    /// # Errors
    ///
    /// As [`Policy::rule`], or that no cell of the rule passes `is_up`.
    pub fn cell_of(
        &self,
        queue: &str,
        application: ApplicationId,
        is_up: impl Fn(&CellName) -> bool,
    ) -> Result<CellChoice, RouteProblem> {
        let rule = self.rule(queue)?;
        let found = rule.cell_of(application, &is_up);
        let cell = found.ok_or_else(|| RouteProblem::NoCell {
            queue: shown(queue),
            cells: listed(rule.named().map(CellName::as_str)),
        })?;
        Ok(CellChoice {
            cell: cell.clone(),
            rule: rule.queue.clone(),
        })
    }
}

fn check_cells(cells: &[CellText]) -> Result<BTreeSet<&CellName>, PolicyProblem> {
    if cells.is_empty() || cells.len() > MOST_CELLS {
        let reason = format!("{} cells, 1 to {MOST_CELLS} are expected", cells.len());
        return Err(at("cells", reason));
    }
    let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
    for (i, cell) in cells.iter().enumerate() {
        if !names.insert(&cell.name) {
            let reason = format!("there is a cell `{}` already", cell.name);
            return Err(at(format!("cells[{i}].name"), reason));
        }
        let count = cell.addresses.len();
        if count == 0 || count > MOST_ADDRESSES {
            let reason = format!("{count} addresses, 1 to {MOST_ADDRESSES} are expected");
            return Err(at(format!("cells[{i}].addresses"), reason));
        }
        for (k, address) in cell.addresses.iter().enumerate() {
            if !addresses.insert(address) {
                let reason = format!("{address} is an address of a cell already");
                return Err(at(format!("cells[{i}].addresses[{k}]"), reason));
            }
        }
    }
    Ok(names)
}

fn check_queue(queue: &str, place: &str) -> Result<(), PolicyProblem> {
    let whole = queue == "root" || queue.starts_with("root.");
    let odd = |part: &str| {
        part.is_empty() || part.contains(|c: char| c.is_control() || c.is_whitespace())
    };
    if !whole || queue.len() > LONGEST_QUEUE || queue.split('.').any(odd) {
        let reason = format!("`{}` is no path of a queue, such as root.a.b", shown(queue));
        return Err(at(format!("{place}.queue"), reason));
    }
    Ok(())
}

fn check_rule(
    rule: &RuleText,
    place: &str,
    cells: &BTreeSet<&CellName>,
) -> Result<Rule, PolicyProblem> {
    check_queue(&rule.queue, place)?;
    let named = |place: String, cell: &CellName| match cells.contains(cell) {
        true => Ok(()),
        false => Err(at(place, format!("there is no cell `{cell}`"))),
    };
    let weights = match (&rule.home, &rule.weights[..]) {
        (Some(home), []) => {
            named(format!("{place}.home"), home)?;
            vec![(home.clone(), 1)]
        }
        (None, weights @ [_, ..]) => {
            let mut seen = BTreeSet::new();
            for (k, one) in weights.iter().enumerate() {
                let place = format!("{place}.weights[{k}]");
                named(format!("{place}.cell"), &one.cell)?;
                if !seen.insert(&one.cell) {
                    let reason = format!("`{}` has a weight already", one.cell);
                    return Err(at(format!("{place}.cell"), reason));
                }
                if !(1..=MOST_WEIGHT).contains(&one.weight) {
                    let reason =
                        format!("{} is not in the range from 1 to {MOST_WEIGHT}", one.weight);
                    return Err(at(format!("{place}.weight"), reason));
                }
            }
            weights
                .iter()
                .map(|one| (one.cell.clone(), one.weight))
                .collect()
        }
        _ => return Err(at(place, "either `home` or `weights` is expected")),
    };
    for (k, cell) in rule.fall_back.iter().enumerate() {
        named(format!("{place}.fall_back[{k}]"), cell)?;
    }
    Ok(Rule {
        queue: rule.queue.clone(),
        cells: weights,
        fall_back: rule.fall_back.clone(),
    })
}

/// Some of the names, and how many more there are.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let first = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(queues: &serde_json::Value) -> Result<Policy, PolicyProblem> {
        let cells = json!([
            {"name": "east", "addresses": ["http://127.0.0.1:1/"]},
            {"name": "west", "addresses": ["https://west.example.org:2", "http://[::1]:3"]},
            {"name": "north", "addresses": ["http://127.0.0.1:4"]},
        ]);
        let text = json!({"cells": cells, "queues": queues}).to_string();
        Policy::read(text.as_bytes())
    }

    fn valid() -> Policy {
        let queues = json!([
            {"queue": "root.prod", "home": "east", "fall_back": ["north", "west"]},
            {"queue": "root.prod.etl", "home": "west"},
            {"queue": "root.a.dev", "home": "north"},
            {"queue": "root.b.dev", "home": "north"},
            {"queue": "root.c", "weights": [{"cell": "east", "weight": 3}, {"cell": "west", "weight": 1}],
             "fall_back": ["north"]},
        ]);
        policy(&queues).unwrap()
    }

    fn cell(queue: &str, down: &[&str]) -> Result<String, RouteProblem> {
        let app = ApplicationId::new(7);
        let found = valid().cell_of(queue, app, |cell| !down.contains(&cell.as_str()));
        found.map(|choice| choice.cell.to_string())
    }

    #[test]
    fn the_longest_path_counts_and_short_names_are_found() {
        for (queue, expected) in [
            ("root.prod", "east"),
            ("root.prod.x.y", "east"),
            ("root.prod.etl", "west"),
            ("root.prod.etl.y", "west"),
            ("prod", "east"),
            ("prod.etl", "west"),
            ("etl", "west"),
            ("etl.y", "west"),
        ] {
            assert_eq!(cell(queue, &[]).as_deref(), Ok(expected), "{queue}");
        }
    }

    #[test]
    fn queues_without_a_rule_and_ambiguous_names_are_refused_with_the_rules() {
        for queue in [
            "",
            "root",
            "root.product",
            "other",
            "root.a",
            "root..prod",
            "ROOT.prod",
        ] {
            let problem = cell(queue, &[]).unwrap_err();
            assert!(
                matches!(problem, RouteProblem::UnknownQueue { .. }),
                "{queue}: {problem}"
            );
            assert!(problem.to_string().contains("root.prod"), "{problem}");
        }
        let problem = cell("dev", &[]).unwrap_err().to_string();
        assert!(
            problem.contains("root.a.dev") && problem.contains("root.b.dev"),
            "{problem}"
        );
    }

    #[test]
    fn while_a_cell_is_down_its_applications_fall_back_in_order() {
        assert_eq!(cell("root.prod", &["east"]).as_deref(), Ok("north"));
        assert_eq!(cell("root.prod", &["east", "north"]).as_deref(), Ok("west"));
        let problem = cell("root.prod", &["east", "north", "west"]).unwrap_err();
        assert!(
            problem.to_string().contains("east, north, west"),
            "{problem}"
        );
        assert!(cell("root.prod.etl", &["west"]).is_err());
        assert_eq!(cell("root.c", &["east"]).as_deref(), Ok("west"));
        assert_eq!(cell("root.c", &["east", "west"]).as_deref(), Ok("north"));
    }

    #[test]
    fn weights_share_applications_and_the_same_one_gets_the_same_cell() {
        let policy = valid();
        let of = |sequence| {
            let app = ApplicationId {
                cluster: 1_700_000_000_000,
                sequence,
            };
            policy.cell_of("root.c", app, |_| true).unwrap().cell
        };
        let east = (0..4000)
            .filter(|&sequence| of(sequence).as_str() == "east")
            .count();
        assert!(
            (2850..=3150).contains(&east),
            "{east} of 4000 with three quarters of the weight"
        );
        assert!((0..100).all(|sequence| of(sequence) == of(sequence)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let weights = |weights: serde_json::Value| json!([{"queue": "root", "weights": weights}]);
        for (queues, expected) in [
            (json!([]), "queues: there is no rule"),
            (json!([{"queue": "root"}]), "queues[0]: either"),
            (
                json!([{"queue": "root", "home": "east", "weights": [{"cell": "east", "weight": 1}]}]),
                "queues[0]: either",
            ),
            (
                json!([{"queue": "root", "home": "south"}]),
                "queues[0].home: there is no cell `south`",
            ),
            (
                json!([{"queue": "root", "home": "east", "fall_back": ["south"]}]),
                "queues[0].fall_back[0]",
            ),
            (
                json!([{"queue": "prod", "home": "east"}]),
                "queues[0].queue: `prod`",
            ),
            (
                json!([{"queue": "root..a", "home": "east"}]),
                "queues[0].queue",
            ),
            (
                json!([{"queue": "root", "home": "east"}, {"queue": "root", "home": "west"}]),
                "queues[1].queue",
            ),
            (
                weights(json!([{"cell": "east", "weight": 0}])),
                "queues[0].weights[0].weight: 0 is not",
            ),
            (
                weights(json!([{"cell": "east", "weight": 1}, {"cell": "east", "weight": 1}])),
                "queues[0].weights[1].cell",
            ),
            (
                weights(json!([{"cell": "south", "weight": 1}])),
                "queues[0].weights[0].cell",
            ),
            (
                weights(json!([{"cell": "east", "weight": -1}])),
                "cannot be read",
            ),
            (
                json!([{"queue": "root", "home": "a b"}]),
                "`a b` is no name of a cell",
            ),
            (
                json!([{"queue": "root", "hom": "east"}]),
                "unknown field `hom`",
            ),
        ] {
            let problem = policy(&queues).unwrap_err().to_string();
            assert!(problem.contains(expected), "{queues}: {problem}");
        }
    }

    #[test]
    fn names_and_addresses_are_unique_and_addresses_are_those_of_servers() {
        let read = |cells: serde_json::Value| {
            let queues = json!([{"queue": "root", "home": "a"}]);
            Policy::read(
                json!({"cells": cells, "queues": queues})
                    .to_string()
                    .as_bytes(),
            )
        };
        let one = |address: &str| json!([{"name": "a", "addresses": [address]}]);
        for address in [
            "127.0.0.1:1",
            "ftp://h:1",
            "http://h",
            "http://h:0",
            "http://h:1/x",
            "http://u@h:1",
            "http://h:1?x",
            "",
        ] {
            let problem = read(one(address)).unwrap_err().to_string();
            assert!(
                problem.contains("is no address of a cell"),
                "{address}: {problem}"
            );
        }
        assert!(read(one("http://h:1")).is_ok());
        let twice = json!([{"name": "a", "addresses": ["http://h:1"]}, {"name": "a", "addresses": ["http://h:2"]}]);
        assert!(
            read(twice)
                .unwrap_err()
                .to_string()
                .starts_with("cells[1].name")
        );
        let shared = json!([{"name": "a", "addresses": ["http://h:1"]}, {"name": "b", "addresses": ["http://h:1"]}]);
        assert!(
            read(shared)
                .unwrap_err()
                .to_string()
                .starts_with("cells[1].addresses[0]")
        );
        assert!(read(json!([{"name": "a", "addresses": []}])).is_err());
        assert!(read(json!([])).is_err());
        for text in ["", "[]", "{", "{\"cells\":1}"] {
            assert!(
                matches!(Policy::read(text.as_bytes()), Err(PolicyProblem::Form(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_policy_is_written_as_it_was_read() {
        let text = valid().to_json().to_string();
        assert_eq!(Policy::read(text.as_bytes()), Ok(valid()));
    }
}
