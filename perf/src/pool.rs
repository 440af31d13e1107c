//! Rounds of several records taken together: of one commit, however many runs they came from.

use serde_json::Value;

use crate::results;
use crate::stats::{Ratio, Spread};
use crate::table::{mode_rank, rank, workload};

/// The records of one commit for each key, oldest first: of the newest one with so many rounds of the key or
/// more, and of the newest one where no commit has. Keys are sorted by workload, mode and threads, then as they first appear.
pub(crate) fn newest<'a>(
    records: &'a [Value],
    rounds: u64,
    fits: impl Fn(&Value) -> bool,
    key: impl Fn(&Value) -> String,
) -> Vec<Vec<&'a Value>> {
    let mut keys: Vec<(String, Commits<'a>)> = Vec::new();
    for record in records.iter().filter(|record| fits(record)) {
        let (key, commit) = (key(record), results::text(record, "commit"));
        let at = keys.iter().position(|(known, _)| *known == key);
        let at = at.unwrap_or_else(|| {
            keys.push((key, Vec::new()));
            keys.len() - 1
        });
        // The commit of the latest record comes last.
        let commits = &mut keys[at].1;
        let of_commit = commits.iter().position(|(known, _)| *known == commit);
        let mut of_commit = of_commit.map_or_else(|| (commit, Vec::new()), |at| commits.remove(at));
        of_commit.1.push(record);
        commits.push(of_commit);
    }
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for (_, mut commits) in keys {
        let enough = |(_, records): &(&str, Vec<&Value>)| {
            records.iter().map(|record| rounds_of(record)).sum::<u64>() >= rounds
        };
        let at = commits.iter().rposition(enough);
        let at = at.unwrap_or(commits.len() - 1);
        groups.push(commits.swap_remove(at).1);
    }
    groups.sort_by_key(|group| {
        let first = group[0];
        let threads = results::number(first, "threads").unwrap_or(0);
        let mode = mode_rank(results::text(first, "mode"));
        (rank(workload(first)), mode, threads)
    });
    groups
}

/// The records of a key by commit.
type Commits<'a> = Vec<(&'a str, Vec<&'a Value>)>;

/// Rounds of ours that a record is of.
fn rounds_of(record: &Value) -> u64 {
    let fields = ["ours_rounds", "rounds"].into_iter();
    let mut found = fields.filter_map(|field| results::number(record, field));
    found.next().unwrap_or(1)
}

/// The rates of a side of a record. Those up to schema 3 have their ends and their median only, which are all
/// of them up to three rounds.
fn rates(record: &Value, fields: [&str; 5]) -> Vec<u64> {
    let [all, median, min, max, rounds] = fields;
    if let Some(rates) = record.get(all).and_then(Value::as_array) {
        return rates.iter().filter_map(Value::as_u64).collect();
    }
    let number = |field: &str| results::number(record, field).unwrap_or(0);
    let between = |rounds: usize| std::iter::repeat_n(number(median), rounds);
    match usize::try_from(number(rounds)).unwrap_or(0) {
        0 | 1 => vec![number(median)],
        2 => vec![number(min), number(max)],
        n => [number(min), number(max)]
            .into_iter()
            .chain(between(n - 2))
            .collect(),
    }
}

/// The figures of records that have one rate in each round, or the ends of several.
pub(crate) fn spread(records: &[&Value]) -> Spread {
    let of_record = |record: &&Value| match results::number(record, "decisions_per_second") {
        Some(rate) => vec![rate],
        None => rates(record, ["rates", "median", "min", "max", "rounds"]),
    };
    let all: Vec<u64> = records.iter().flat_map(of_record).collect();
    Spread::of(&all).unwrap_or_default()
}

/// One way to run Hadoop's scheduler, over all runs of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) rates: Vec<u64>,
    pub(crate) complete: bool,
}

impl Peer {
    pub(crate) fn spread(&self) -> Spread {
        Spread::of(&self.rates).unwrap_or_default()
    }
}

/// A shape in one of our modes beside Hadoop, over all runs of a commit.
#[derive(Clone, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) records: Vec<&'a Value>,
    pub(crate) ours: Spread,
    pub(crate) best: Peer,
    pub(crate) same: Peer,
}

impl Pair<'_> {
    /// Medians, and the ends of both sides against each other.
    pub(crate) fn to_best(&self) -> Ratio {
        self.ours.over(self.best.spread())
    }

    /// The same for the fastest way of the same mode, which is never below the other.
    pub(crate) fn to_same(&self) -> Ratio {
        self.ours.over(self.same.spread())
    }
}

/// All shapes and modes that ran beside Hadoop, each at its newest commit with so many rounds.
pub(crate) fn pairs<'a>(records: &'a [Value], rounds: u64) -> Vec<Pair<'a>> {
    let is_pair = |record: &Value| results::text(record, "kind") == "peers";
    let key = |record: &Value| format!("{} {}", workload(record), results::text(record, "mode"));
    let pair = |of_key: Vec<&'a Value>| -> Option<Pair<'a>> {
        let beside = |record: &&Value| {
            let alike = |field| results::text(record, field) == results::text(of_key[0], field);
            is_pair(record) && alike("commit") && alike("shape")
        };
        let peers = hadoop(&records.iter().filter(beside).collect::<Vec<_>>());
        let mode = results::text(of_key[0], "mode");
        let fastest = |fits: &dyn Fn(&Peer) -> bool| {
            let fitting = peers.iter().filter(|peer| fits(peer));
            fitting.max_by_key(|peer| peer.spread().median).cloned()
        };
        let ours = of_key.iter().flat_map(|record| {
            let fields = [
                "ours_rates",
                "ours_per_second",
                "ours_min",
                "ours_max",
                "ours_rounds",
            ];
            rates(record, fields)
        });
        Some(Pair {
            ours: Spread::of(&ours.collect::<Vec<_>>())?,
            best: fastest(&|_| true)?,
            // Names of ways to run Hadoop begin with their mode.
            same: fastest(&|peer| peer.name.starts_with(mode))?,
            records: of_key,
        })
    };
    let groups = newest(records, rounds, is_pair, key);
    groups.into_iter().filter_map(pair).collect()
}

/// Every way to run Hadoop that some records have. The modes of a run have the same rounds, which count
/// once.
fn hadoop(records: &[&Value]) -> Vec<Peer> {
    let mut seen: Vec<(&str, Vec<u64>)> = Vec::new();
    let mut peers: Vec<Peer> = Vec::new();
    for record in records {
        for side in ["peer_best", "peer_same_mode"] {
            let field = |what: &str| format!("{side}_{what}");
            let name = results::text(record, side);
            let found = rates(
                record,
                [
                    &field("rates"),
                    &field("per_second"),
                    &field("min"),
                    &field("max"),
                    "peer_best_rounds",
                ],
            );
            let once = (name, found.clone());
            if seen.contains(&once) {
                continue;
            }
            seen.push(once);
            let complete = record.get(field("complete")).and_then(Value::as_bool);
            let complete = complete.unwrap_or(true);
            match peers.iter_mut().find(|peer| peer.name == name) {
                Some(peer) => {
                    peer.rates.extend(found);
                    peer.complete &= complete;
                }
                None => peers.push(Peer {
                    name: name.to_owned(),
                    rates: found,
                    complete,
                }),
            }
        }
    }
    peers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(commit: &str, mode: &str, ours: u64, best: (&str, u64), same: u64) -> Value {
        serde_json::json!({"kind": "peers", "shape": "S1", "mode": mode, "commit": commit,
            "ours_per_second": ours, "ours_min": ours, "ours_max": ours, "ours_rounds": 1,
            "peer_best": best.0, "peer_best_per_second": best.1, "peer_best_rounds": 1,
            "peer_same_mode": format!("{mode}, 1 thread"), "peer_same_mode_per_second": same})
    }

    #[test]
    fn runs_of_the_newest_commit_are_taken_together() {
        let records = [
            pair("old", "global", 9_999, ("heartbeat", 1), 1),
            pair("new", "global", 1_000, ("heartbeat", 100), 10),
            // The same round of Hadoop, recorded with another mode of ours.
            pair("new", "asynchronous", 500, ("heartbeat", 100), 90),
            pair("new", "global", 3_000, ("asynchronous, 1 thread", 140), 30),
        ];
        let found = pairs(&records, 1);
        let modes = |pair: &Pair<'_>| results::text(pair.records[0], "mode").to_owned();
        let named: Vec<String> = found.iter().map(modes).collect();
        assert_eq!(named, ["asynchronous", "global"]);
        let global = &found[1];
        assert_eq!((global.ours.median, global.ours.rounds), (2_000, 2));
        // 90 and 140 of the asynchronous way, over both runs.
        let best = (global.best.name.as_str(), global.best.spread().median);
        assert_eq!(best, ("asynchronous, 1 thread", 115));
        assert_eq!(global.same.rates, [10, 30]);
        assert!(global.to_same().median >= global.to_best().median);
    }

    #[test]
    fn one_round_of_a_later_commit_does_not_replace_three_where_three_are_wanted() {
        let round = |commit: &str| serde_json::json!({"workload": "S1", "commit": commit});
        let shown = |commits: &[&str]| {
            let records: Vec<Value> = commits.iter().map(|commit| round(commit)).collect();
            let groups = newest(&records, 3, |_| true, |_| String::new());
            (
                results::text(groups[0][0], "commit").to_owned(),
                groups[0].len(),
            )
        };
        assert_eq!(shown(&["a", "a", "b", "a"]), ("a".to_owned(), 3));
        assert_eq!(shown(&["a", "a", "a", "b", "b", "b"]), ("b".to_owned(), 3));
        assert_eq!(shown(&["a", "a", "b"]), ("b".to_owned(), 1));
    }

    #[test]
    fn three_rounds_are_known_from_their_ends_and_their_median() {
        let record = serde_json::json!({"median": 2, "min": 1, "max": 9, "rounds": 3});
        let both = [&record, &record];
        let found = spread(&both);
        assert_eq!(
            (found.median, found.min, found.max, found.rounds),
            (2, 1, 9, 6)
        );
        let listed = serde_json::json!({"rates": [5, 7], "median": 6, "rounds": 2});
        assert_eq!(spread(&[&listed]).median, 6);
    }
}
