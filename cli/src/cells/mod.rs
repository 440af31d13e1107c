//! `capsched cells`: a simulated federation of cells, with a cell that goes down and comes back.

mod cell;
mod federation;
mod load;

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::output::{PROBLEM, Problem, line};
use crate::values::seed;
use cell::Recovery;
use federation::Outcome;

/// Simulate a federation: cells with an engine each, and applications that a router's policy sends to them.
///
/// Time is virtual. Each second applications arrive, containers end, and every node sends a heartbeat. Each queue is
/// spread over some cells. One cell goes down; its applications wait, and new ones go to other cells. Then another
/// resource manager takes it over. Nodes never change their cell. Books are kept from outputs alone. Exit code 1: a
/// node was oversubscribed, or a container was lost.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Cells.
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..=256))]
    cells: u16,
    /// Nodes of each cell.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// Containers that a node has room for.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    slots: u32,
    /// Leaf queues, the first with the most work.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    queues: u32,
    /// Cells that each queue is spread over; 1: one home cell.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=256))]
    spread: u16,
    /// How full the load keeps all cells, in percent. Above 100 containers wait in line.
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u64).range(1..=200))]
    fill: u64,
    /// Mean life of a container in virtual s, exponentially distributed.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    life_s: u64,
    /// Virtual seconds to simulate.
    #[arg(long, value_name = "S", default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Virtual second at which the first cell goes down; 0: none does.
    #[arg(long, value_name = "S", default_value_t = 60)]
    fail_at: u64,
    /// Virtual seconds until another resource manager takes it over.
    #[arg(long, value_name = "S", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    down_s: u64,
    /// Threads; cells are shared out among them.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// What decides the load.
    #[arg(long, value_name = "S", default_value_t = 7, value_parser = seed)]
    seed: u64,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// The smallest, the mean and the largest of some figures, and the largest in thousandths of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    least: u64,
    mean: u64,
    most: u64,
    most_of_mean: u64,
}

impl Spread {
    fn of(figures: &[u64]) -> Self {
        let sum: u64 = figures.iter().sum();
        let count = (figures.len() as u64).max(1);
        let most = figures.iter().copied().max().unwrap_or(0);
        Self {
            least: figures.iter().copied().min().unwrap_or(0),
            mean: sum / count,
            most,
            most_of_mean: (most * count * 1000).checked_div(sum).unwrap_or(0),
        }
    }

    fn json(self) -> serde_json::Value {
        json!({
            "least": self.least, "mean": self.mean, "most": self.most, "most_of_mean_thousandths": self.most_of_mean,
        })
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.most_of_mean / 1000, self.most_of_mean % 1000);
        write!(
            f,
            "{} to {}, mean {}; the most is {whole}.{part:03} of the mean",
            self.least, self.most, self.mean
        )
    }
}

/// How many a second, by a wall time in us.
fn a_second(count: u64, us: u64) -> u64 {
    count.saturating_mul(1_000_000).checked_div(us).unwrap_or(0)
}

/// A time in us as text.
fn seconds(us: u64) -> String {
    format!("{}.{:03} s", us / 1_000_000, us / 1000 % 1000)
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    args.check()?;
    let outcome = federation::run(args)?;
    if args.json {
        line(outcome.json(args));
    } else {
        outcome.print(args);
    }
    let lost = outcome
        .recovery
        .as_ref()
        .map_or(0, |recovery| recovery.lost);
    Ok(match outcome.oversubscribed + lost {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(PROBLEM),
    })
}

impl Args {
    fn check(&self) -> Result<()> {
        let text = match self.fail_at {
            0 => return Ok(()),
            at if at.saturating_add(self.down_s) > self.seconds => format!(
                "a cell that goes down at {at} s for {} s is not back within {} s: give more --seconds, or --fail-at 0",
                self.down_s, self.seconds
            ),
            _ => return Ok(()),
        };
        Err(Problem(text).into())
    }

    fn all_nodes(&self) -> u64 {
        u64::from(self.cells) * u64::from(self.nodes)
    }

    /// Containers that arrive each second.
    fn containers_a_second(&self) -> u64 {
        let slots = self.all_nodes() * u64::from(self.slots);
        (slots * self.fill / 100 / self.life_s).max(1)
    }
}

impl Outcome {
    fn placed_in_all(&self) -> u64 {
        self.placed.iter().sum()
    }

    fn json(&self, args: &Args) -> serde_json::Value {
        let apps: u64 = self.apps.iter().sum();
        let recovery = self.recovery.as_ref().map(|back| {
            json!({
                "applications": back.apps, "nodes": back.nodes, "containers_before": back.before,
                "containers_ended_while_down": back.ended, "containers_taken_over": back.taken,
                "containers_lost": back.lost, "recovery_us": back.took_us, "first_placement_s": back.first_s,
                "decisions_in_the_second_before": self.before_failure,
                "decisions_in_the_second_of_the_failure": self.after_failure,
                "applications_sent_elsewhere": self.rerouted,
            })
        });
        json!({
            "cells": args.cells, "nodes": args.all_nodes(), "virtual_s": args.seconds, "applications": apps,
            "decisions": self.placed_in_all(), "deciding_us": self.deciding_us,
            "decisions_a_second": a_second(self.placed_in_all(), self.deciding_us),
            "routing_us": self.routing_us, "routed_a_second": a_second(apps, self.routing_us),
            "decisions_by_cell": Spread::of(&self.placed).json(), "running_by_cell": Spread::of(&self.running).json(),
            "waiting": self.waiting, "refused": self.refused, "oversubscribed": self.oversubscribed,
            "hash": format!("{:016x}", self.hash), "failover": recovery,
        })
    }

    fn print(&self, args: &Args) {
        let apps: u64 = self.apps.iter().sum();
        line(format_args!(
            "{} cells, {} nodes, {} virtual s on {} threads",
            args.cells,
            args.all_nodes(),
            args.seconds,
            args.threads
        ));
        line(format_args!(
            "decisions: {} in {}, {} a second with a heartbeat of every node each virtual second",
            self.placed_in_all(),
            seconds(self.deciding_us),
            a_second(self.placed_in_all(), self.deciding_us)
        ));
        line(format_args!(
            "routing: {apps} applications in {}, {} a second; {} refused",
            seconds(self.routing_us),
            a_second(apps, self.routing_us),
            self.refused
        ));
        line(format_args!(
            "decisions by cell: {}",
            Spread::of(&self.placed)
        ));
        line(format_args!(
            "running by cell at the end: {}",
            Spread::of(&self.running)
        ));
        line(format_args!(
            "waiting at the end: {}; oversubscribed: {}; hash {:016x}",
            self.waiting, self.oversubscribed, self.hash
        ));
        if let Some(back) = &self.recovery {
            self.print_failover(args, back);
        }
    }

    fn print_failover(&self, args: &Args, back: &Recovery) {
        line(format_args!(
            "failover of one cell, down for {} virtual s: {} applications went to other cells; decisions in the second \
             before {}, in that of the failure {}",
            args.down_s, self.rerouted, self.before_failure, self.after_failure
        ));
        let first = match back.first_s {
            Some(0) => "in the same second".to_owned(),
            Some(after) => format!("{after} virtual s later"),
            None => "never".to_owned(),
        };
        line(format_args!(
            "recovery: {} nodes and {} applications in {}; of {} containers {} ended meanwhile, {} were taken over, {} \
             lost; first placement {first}",
            back.nodes,
            back.apps,
            seconds(back.took_us),
            back.before,
            back.ended,
            back.taken,
            back.lost
        ));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Whole {
        #[command(flatten)]
        args: Args,
    }

    fn small(more: &[&str]) -> Args {
        of_cells("4", more)
    }

    fn of_cells(cells: &str, more: &[&str]) -> Args {
        let given = [
            "cells", "--cells", cells, "--nodes", "200", "--queues", "12", "--spread", "2",
            "--life-s", "5",
        ];
        let more = more.iter().copied();
        Whole::try_parse_from(given.into_iter().chain(more))
            .unwrap()
            .args
    }

    #[test]
    fn a_cell_that_comes_back_has_what_its_nodes_run() {
        let args = small(&["--seconds", "30", "--fail-at", "20", "--down-s", "3"]);
        args.check().unwrap();
        let outcome = federation::run(&args).unwrap();
        let back = outcome.recovery.clone().unwrap();
        assert!(
            back.before > 0 && back.taken > 0 && back.ended > 0,
            "{back:?}"
        );
        assert_eq!((back.lost, back.taken), (0, back.before - back.ended));
        assert_eq!(
            (back.nodes, outcome.oversubscribed, outcome.refused),
            (200, 0, 0)
        );
        assert!(outcome.rerouted > 0 && back.first_s.is_some());
        assert!(outcome.placed.iter().all(|placed| *placed > 0));
    }

    #[test]
    fn the_same_arguments_give_the_same_decisions_on_any_threads() {
        let hash = |threads: &str| {
            let args = small(&["--seconds", "12", "--fail-at", "6", "--threads", threads]);
            federation::run(&args).unwrap().hash
        };
        assert_eq!(hash("1"), hash("3"));
        let other = small(&["--seconds", "12", "--fail-at", "6", "--seed", "8"]);
        assert_ne!(hash("1"), federation::run(&other).unwrap().hash);
    }

    #[test]
    fn without_another_cell_applications_of_a_cell_that_is_down_are_refused() {
        let args = of_cells("1", &["--seconds", "12", "--fail-at", "6"]);
        let outcome = federation::run(&args).unwrap();
        assert!(outcome.refused > 0);
        assert_eq!(outcome.after_failure, 0);
    }

    #[test]
    fn a_cell_that_never_comes_back_is_refused() {
        let error = small(&["--seconds", "12", "--fail-at", "11"])
            .check()
            .unwrap_err();
        assert!(error.to_string().contains("--fail-at 0"), "{error}");
        small(&["--seconds", "12", "--fail-at", "0"])
            .check()
            .unwrap();
    }

    #[test]
    fn spreads_name_the_least_the_mean_and_the_most() {
        let spread = Spread::of(&[10, 20, 30]);
        assert_eq!(
            (spread.least, spread.mean, spread.most, spread.most_of_mean),
            (10, 20, 30, 1500)
        );
        assert_eq!(Spread::of(&[]).most_of_mean, 0);
    }
}
