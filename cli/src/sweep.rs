//! At what load each mode falls behind: the scheduling delay that the scheduler's work adds.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::play::{Outcome, grouped, time};

/// Differences below this share of a delay say nothing.
const NOISE_PERCENT: u64 = 5;

/// One load: what each mode adds to the delay.
#[derive(Debug)]
struct Step {
    load: u64,
    /// Containers asked for in an hour, of the first mode; nothing where all came in one burst.
    hourly: Option<u64>,
    /// By mode and costs: the delay at p95 with and without costs, in us, and the share of the time
    /// in which the scheduler worked, in thousandths.
    points: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Point {
    name: String,
    with_us: u64,
    without_us: u64,
    busy_permille: u64,
}

impl Point {
    /// Whether the costs add more than so many us, and more than noise: other decisions alone move a long delay.
    const fn is_behind(&self, most_us: u64) -> bool {
        let added = self.with_us.saturating_sub(self.without_us);
        added > most_us && added.saturating_mul(100 / NOISE_PERCENT) > self.without_us
    }
}

/// The loads of a sweep with what each mode came to.
#[derive(Debug)]
pub(crate) struct Sweep {
    steps: Vec<Step>,
    /// From which added delay on a mode counts as behind, in ms.
    behind_ms: u64,
}

/// A run of a sweep: its load, its costs, and the run.
pub(crate) type Swept<'a> = (u64, String, &'a Outcome);

impl Sweep {
    /// A sweep of runs, each load and mode with and without costs.
    pub(crate) fn of(runs: &[Swept<'_>], behind_ms: u64) -> Self {
        let mut loads: Vec<u64> = runs.iter().map(|(load, ..)| *load).collect();
        loads.sort_unstable();
        loads.dedup();
        let step = |load: u64| {
            let of_load: Vec<&Swept<'_>> = runs.iter().filter(|run| run.0 == load).collect();
            let first = of_load.first().and_then(|(.., run)| run.asked_an_hour());
            let dear = of_load.iter().filter(|(_, costs, _)| costs != "none");
            let point = |swept: &&Swept<'_>| {
                let (_, costs, run) = *swept;
                let free = of_load.iter().find(|(_, other, free)| {
                    other == "none" && free.row == run.row && free.same_setting(run)
                });
                Point {
                    name: format!("{}, {costs}", run.row),
                    with_us: run.report.delays.p95_us,
                    without_us: free.map_or(0, |(.., free)| free.report.delays.p95_us),
                    busy_permille: run.busy_permille().unwrap_or(0),
                }
            };
            Step {
                load,
                hourly: first,
                points: dear.map(point).collect(),
            }
        };
        Self {
            steps: loads.into_iter().map(step).collect(),
            behind_ms,
        }
    }

    /// Names of the modes with their costs, in their order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for point in self.steps.iter().flat_map(|step| &step.points) {
            if !names.contains(&point.name.as_str()) {
                names.push(&point.name);
            }
        }
        names
    }

    /// The first load at which a mode is behind.
    fn behind(&self, name: &str) -> Option<u64> {
        let late = |step: &&Step| {
            let mut points = step.points.iter().filter(|point| point.name == name);
            points.any(|point| point.is_behind(self.behind_ms.saturating_mul(1000)))
        };
        self.steps.iter().find(late).map(|step| step.load)
    }

    /// The sweep as a table, and what follows.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        for name in self.names() {
            let _ = writeln!(
                out,
                "{name}\n  {:>6} {:>16} {:>14} {:>14} {:>8}",
                "load", "asked an hour", "delay p95", "without costs", "busy"
            );
            for step in &self.steps {
                for point in step.points.iter().filter(|point| point.name == name) {
                    let busy = point.busy_permille;
                    let _ = writeln!(
                        out,
                        "  {:>6} {:>16} {:>14} {:>14} {:>6}.{} %",
                        format!("x{}", step.load),
                        step.hourly.map_or_else(|| "-".to_owned(), grouped),
                        time(point.with_us.saturating_mul(1000)),
                        time(point.without_us.saturating_mul(1000)),
                        busy / 10,
                        busy % 10
                    );
                }
            }
        }
        out.push('\n');
        for name in self.names() {
            let _ = match self.behind(name) {
                Some(load) => writeln!(
                    out,
                    "{name}: behind from load x{load} on;\n  its costs add more than {} ms and {NOISE_PERCENT} % at p95",
                    self.behind_ms
                ),
                None => writeln!(out, "{name}: keeps up with every load here"),
            };
        }
        out
    }

    /// The same as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let step = |step: &Step| {
            let point = |point: &Point| {
                json!({"name": point.name, "delay_p95_us": point.with_us,
                    "delay_p95_us_without_costs": point.without_us,
                    "busy_permille": point.busy_permille})
            };
            json!({"load": step.load, "asked_an_hour": step.hourly,
                "modes": step.points.iter().map(point).collect::<Vec<_>>()})
        };
        let behind = self
            .names()
            .into_iter()
            .map(|name| json!({"name": name, "behind_from_load": self.behind(name)}));
        json!({"behind_ms": self.behind_ms,
            "loads": self.steps.iter().map(step).collect::<Vec<_>>(),
            "saturation": behind.collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, with_us: u64, without_us: u64) -> Point {
        Point {
            name: name.to_owned(),
            with_us,
            without_us,
            busy_permille: 17,
        }
    }

    #[test]
    fn a_mode_is_behind_from_the_first_load_at_which_costs_add_too_much() {
        let step = |load, points| Step {
            load,
            hourly: Some(1000 * load),
            points,
        };
        let sweep = Sweep {
            steps: vec![
                step(1, vec![point("a", 900_000, 800_000), point("b", 5, 0)]),
                step(2, vec![point("a", 9_000_000, 8_000_000), point("b", 6, 9)]),
                step(3, vec![point("a", 80_000_000, 78_000_000)]),
                step(4, vec![point("a", 9_000_001, 8_000_000), point("b", 7, 0)]),
            ],
            behind_ms: 1000,
        };
        assert_eq!((sweep.behind("a"), sweep.behind("b")), (Some(4), None));
        let text = sweep.table();
        assert!(text.contains("a: behind from load x4"), "{text}");
        assert!(text.contains("b: keeps up"), "{text}");
        assert!(
            text.contains("900.0 ms") && text.contains("80.00 s"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(sweep.to_json()["saturation"][0]["behind_from_load"], 4);
    }
}
