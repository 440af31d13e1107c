//! The best value of one property by a stated goal, and how sure that is over orders of the nodes.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values of settings are decimal fractions, and scores are figures of a report"
)]

use std::fmt;

use anyhow::Result;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::candidate::{Common, full};
use super::figures::RunSummary;
use super::{Progress, play};
use crate::output::Problem;
use crate::play::{Cluster, grouped, virtual_time};
use crate::recipe::Staged;

/// Most values of a search.
const MOST: usize = 200;

/// Values of a property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    key: String,
    values: Vec<f64>,
}

/// What is made small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    what: Figure,
    queue: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    WaitP50,
    WaitP95,
    Unplaced,
}

/// Reads `KEY=A..B` or `KEY=A..B:STEP`; ten steps when left out.
pub(crate) fn range(text: &str) -> Result<Range, String> {
    let bad = || {
        let shown = text.escape_debug();
        format!("`{shown}` is not KEY=A..B or KEY=A..B:STEP, as in root.dev.capacity=20..60:10")
    };
    let (key, values) = text.split_once('=').ok_or_else(bad)?;
    let (ends, step) = match values.split_once(':') {
        Some((ends, step)) => (ends, Some(step)),
        None => (values, None),
    };
    let (from, to) = ends.split_once("..").ok_or_else(bad)?;
    let number = |text: &str| {
        let number: f64 = text.trim().parse().map_err(|_| bad())?;
        number.is_finite().then_some(number).ok_or_else(bad)
    };
    let (from, to) = (number(from)?, number(to)?);
    let step = step.map_or(Ok((to - from) / 10.0), number)?;
    if key.trim().is_empty() || from >= to || step <= 0.0 {
        return Err(bad());
    }
    let count = ((to - from) / step + 1e-9).floor();
    if count >= MOST as f64 {
        return Err(format!("at most {MOST} values; take a larger step"));
    }
    let values = (0..=count as u32).map(|index| from + step * f64::from(index));
    Ok(Range {
        key: full(key.trim()),
        values: values.collect(),
    })
}

/// Reads `wait-p95` or `wait-p95:root.dev`.
pub(crate) fn goal(text: &str) -> Result<Goal, String> {
    let (what, queue) = match text.split_once(':') {
        Some((what, queue)) => (what, Some(queue.to_owned())),
        None => (text, None),
    };
    let what = match what {
        "wait-p50" => Figure::WaitP50,
        "wait-p95" => Figure::WaitP95,
        "unplaced" => Figure::Unplaced,
        _ => {
            let shown = text.escape_debug();
            return Err(format!(
                "`{shown}` is no goal; there are wait-p50, wait-p95 and unplaced"
            ));
        }
    };
    Ok(Goal { what, queue })
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Figure::WaitP50 => "wait for the first container at p50",
            Figure::WaitP95 => "wait for the first container at p95",
            Figure::Unplaced => "containers not placed",
        };
        let queue = self.queue.as_deref().unwrap_or("all queues");
        write!(f, "{what}, {queue}")
    }
}

impl Goal {
    fn score(&self, run: &RunSummary) -> Result<u64> {
        let figures = match &self.queue {
            None => &run.all,
            Some(queue) => run.figures_of(queue).ok_or_else(|| {
                let known: Vec<&str> = run.queues.keys().map(String::as_str).collect();
                let problem = format!("no job is in {queue}; there are {}", known.join(", "));
                anyhow::Error::new(Problem(problem))
            })?,
        };
        Ok(match self.what {
            Figure::WaitP50 => figures.p50_ms,
            Figure::WaitP95 => figures.p95_ms,
            Figure::Unplaced => figures.unplaced,
        })
    }

    fn shown(&self, score: u64) -> String {
        match self.what {
            Figure::WaitP50 | Figure::WaitP95 => virtual_time(score),
            Figure::Unplaced => grouped(score),
        }
    }
}

/// Scores of one value over the seeds; nothing for the run as it was.
#[derive(Clone, Debug)]
struct Tried {
    value: Option<f64>,
    scores: Vec<u64>,
}

impl Tried {
    fn median(&self) -> u64 {
        let mut sorted = self.scores.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0)
    }

    /// In how many seeds it is better than another one, and in how many equal.
    fn against(&self, other: &Self) -> (usize, usize) {
        let pairs = || self.scores.iter().zip(&other.scores);
        (
            pairs().filter(|(a, b)| a < b).count(),
            pairs().filter(|(a, b)| a == b).count(),
        )
    }
}

/// What a search found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    key: String,
    goal: Goal,
    seeds: u64,
    now: Tried,
    tried: Vec<Tried>,
    refused: Vec<(f64, String)>,
    best: usize,
}

/// Plays every value with every order of the nodes. The first order is that of the run.
pub(super) fn search(
    staged: &Staged,
    (range, goal, seeds): (&Range, &Goal, u64),
    common: &Common<'_>,
) -> Result<Found> {
    let (clusters, refused) = clusters(staged, range, common)?;
    let scores = scores(staged, &clusters, (goal, seeds))?;
    let of_seeds = scores.chunks(usize::try_from(seeds)?);
    let tried = |((value, _), scores): (&Valued, &[u64])| Tried {
        value: *value,
        scores: scores.to_vec(),
    };
    let mut tried: Vec<Tried> = clusters.iter().zip(of_seeds).map(tried).collect();
    let now = tried.remove(0);
    let best = (0..tried.len()).min_by_key(|&at| tried[at].median());
    Ok(Found {
        key: range.key.clone(),
        goal: goal.clone(),
        seeds,
        now,
        tried,
        refused,
        best: best.unwrap_or(0),
    })
}

/// The scores of all clusters, those of one after the other, in each as many as there are orders.
fn scores(staged: &Staged, clusters: &[Valued], (goal, seeds): (&Goal, u64)) -> Result<Vec<u64>> {
    let runs: Vec<(usize, u64)> = (0..clusters.len())
        .flat_map(|at| (0..seeds).map(move |seed| (at, seed)))
        .collect();
    let progress = Progress::of(runs.len());
    let score = |&(at, seed): &(usize, u64)| {
        let (value, cluster) = &clusters[at];
        let mut cluster = cluster.clone();
        if seed > 0 {
            cluster.shuffle(seed);
        }
        let score = goal.score(&play(staged, "", &cluster)?)?;
        let value = value.map_or_else(|| "now".to_owned(), written);
        let (order, shown) = (seed + 1, goal.shown(score));
        progress.ended(format_args!("{value}, order {order} of {seeds}: {shown}"));
        Ok(score)
    };
    // The first run says whether the goal can be judged at all.
    let (first, others) = runs.split_at(runs.len().min(1));
    let mut scores: Vec<u64> = first.iter().map(score).collect::<Result<_>>()?;
    let others: Vec<Result<u64>> = others.par_iter().map(score).collect();
    scores.extend(others.into_iter().collect::<Result<Vec<u64>>>()?);
    Ok(scores)
}

/// A cluster with the value that it has; nothing for the run as it was.
type Valued = (Option<f64>, Cluster);

/// A value that is not accepted, and why.
type Refused = (f64, String);

/// The cluster as it was, one for each value that is accepted, and the values that are not.
fn clusters(
    staged: &Staged,
    range: &Range,
    common: &Common<'_>,
) -> Result<(Vec<Valued>, Vec<Refused>)> {
    let base = common.with_pairs(staged, &[], "as it was")?;
    let mut clusters: Vec<Valued> = vec![(None, base.cluster)];
    let mut refused = Vec::new();
    for &value in &range.values {
        let pairs = with_siblings(&staged.cluster, &range.key, value);
        match common.with_pairs(staged, &pairs, "candidate") {
            Ok(candidate) => clusters.push((Some(value), candidate.cluster)),
            Err(error) => refused.push((value, error.to_string())),
        }
    }
    if clusters.len() == 1 {
        let why = refused.first().map_or("", |(_, why)| why.as_str());
        let problem = format!("no value of {} is accepted: {why}", range.key);
        return Err(anyhow::Error::new(Problem(problem)));
    }
    Ok((clusters, refused))
}

/// A value of a property, and for a capacity in percent those of the queues beside it: they share what
/// is left as they do now. Weights and amounts need not add up.
fn with_siblings(cluster: &Cluster, key: &str, value: f64) -> Vec<(String, String)> {
    let mut pairs = vec![(key.to_owned(), written(value))];
    let siblings = siblings(cluster, key).unwrap_or_default();
    let sum: f64 = siblings.iter().map(|(_, now)| now).sum();
    if sum <= 0.0 {
        return pairs;
    }
    let share = |now: f64| ((100.0 - value) * now / sum * 1000.0).round() / 1000.0;
    let mut rest = 100.0 - value;
    for (at, (key, now)) in siblings.iter().enumerate() {
        // The last takes what rounding left.
        let of_key = if at + 1 == siblings.len() {
            rest
        } else {
            share(*now)
        };
        rest -= of_key;
        pairs.push((key.clone(), written(of_key)));
    }
    pairs
}

/// The capacities of the queues beside one, where all of them are in percent.
fn siblings(cluster: &Cluster, key: &str) -> Option<Vec<(String, f64)>> {
    let prefix = "yarn.scheduler.capacity.";
    let path = key.strip_prefix(prefix)?.strip_suffix(".capacity")?;
    let (parent, own) = path.rsplit_once('.')?;
    let properties = cluster.origin.properties();
    let names = properties.raw(&format!("{prefix}{parent}.queues"))?;
    let names = names.split(',').map(str::trim);
    let siblings = names.filter(|name| !name.is_empty() && *name != own);
    siblings
        .map(|name| {
            let key = format!("{prefix}{parent}.{name}.capacity");
            let value = properties.raw(&key)?.trim().parse().ok()?;
            Some((key, value))
        })
        .collect()
}

/// A number with at most three decimals and no zeros at its end.
fn written(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Found {
    /// The result in words: the value, its scores, and in how many orders of the nodes it is better.
    fn verdict(&self) -> String {
        let best = &self.tried[self.best];
        let value = best.value.map(written).unwrap_or_default();
        let (better, equal) = best.against(&self.now);
        let seeds = self.scores_of(best);
        let (now, score) = (
            self.goal.shown(self.now.median()),
            self.goal.shown(best.median()),
        );
        if best.median() >= self.now.median() {
            return format!(
                "no value is better than now ({now} in the median of {} orders)",
                self.seeds
            );
        }
        let firsts = (0..best.scores.len()).filter(|&seed| {
            let own = best.scores[seed];
            self.tried.iter().all(|other| own <= other.scores[seed])
        });
        format!(
            "{} = {value}: {score} instead of {now} in the median of {} orders of the nodes ({seeds}); better than \
             now in {better} of them, equal in {equal}, and best of all values in {}",
            self.key,
            self.seeds,
            firsts.count()
        )
    }

    fn scores_of(&self, tried: &Tried) -> String {
        let least = tried.scores.iter().min().copied().unwrap_or(0);
        let most = tried.scores.iter().max().copied().unwrap_or(0);
        format!("{} to {}", self.goal.shown(least), self.goal.shown(most))
    }

    /// The result as JSON.
    pub(super) fn to_json(&self) -> Value {
        let tried = |tried: &Tried| {
            let (better, equal) = tried.against(&self.now);
            json!({"value": tried.value, "scores": tried.scores, "median": tried.median(),
                "better_than_now": better, "equal_to_now": equal})
        };
        json!({
            "version": 1,
            "property": self.key,
            "goal": self.goal.to_string(),
            "seeds": self.seeds,
            "now": {"scores": self.now.scores, "median": self.now.median()},
            "tried": self.tried.iter().map(tried).collect::<Vec<Value>>(),
            "refused": self.refused.iter().map(|(value, why)| json!({"value": value, "why": why})).collect::<Vec<Value>>(),
            "best": self.tried[self.best].value,
            "verdict": self.verdict(),
        })
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} by the goal: {}\n", self.key, self.goal)?;
        writeln!(
            f,
            "{:>10}{:>14}{:>26}  better than now",
            "value", "median", "range"
        )?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, tried: &Tried, end: &str| {
            let (median, range) = (self.goal.shown(tried.median()), self.scores_of(tried));
            writeln!(f, "{name:>10}{median:>14}{range:>26}  {end}")
        };
        row(f, "now", &self.now, "")?;
        for (at, tried) in self.tried.iter().enumerate() {
            let mark = if at == self.best { "  <- best" } else { "" };
            let end = format!("{} of {}{mark}", tried.against(&self.now).0, self.seeds);
            row(
                f,
                &tried.value.map(written).unwrap_or_default(),
                tried,
                &end,
            )?;
        }
        for (value, why) in &self.refused {
            writeln!(f, "{:>10}  refused: {why}", written(*value))?;
        }
        writeln!(f, "\n{}", self.verdict())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends_and_perhaps_a_step() {
        let read = range("root.dev.capacity=20..60:10").unwrap();
        assert_eq!(read.key, "yarn.scheduler.capacity.root.dev.capacity");
        assert_eq!(read.values, [20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(range("x=0..1").unwrap().values.len(), 11);
        for bad in [
            "x",
            "x=1",
            "x=2..1",
            "x=1..2:0",
            "x=1..2:-1",
            "=1..2",
            "x=a..b",
            "x=0..9:0.001",
        ] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn goals_are_named() {
        assert_eq!(goal("unplaced").unwrap().queue, None);
        let of_queue = goal("wait-p50:root.dev").unwrap();
        assert_eq!(
            (of_queue.what, of_queue.queue.as_deref()),
            (Figure::WaitP50, Some("root.dev"))
        );
        assert!(goal("speed").is_err());
    }
}
