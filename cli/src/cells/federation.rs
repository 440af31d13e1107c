//! A federation: cells side by side, applications that the policy routes, and a cell that goes down and comes back.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use capsched::api::{AppSpec, ApplicationId, TreeSettings};
use capsched::config;
use capsched::time::{Clock, SystemClock};
use capsched_server::cells::{CellName, Policy};
use rayon::prelude::*;
use serde_json::json;

use super::Args;
use super::cell::{Recovery, SimCell};
use super::load::Load;

/// The resource types of every cell.
const TYPES: [&str; 2] = ["memory-mb", "vcores"];

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Applications and decisions of each cell in order.
    pub(super) apps: Vec<u64>,
    pub(super) placed: Vec<u64>,
    /// Containers that ran at the end by cell, and those that waited in all.
    pub(super) running: Vec<u64>,
    pub(super) waiting: u64,
    pub(super) oversubscribed: u64,
    /// Over the decisions of all cells; the same for the same arguments, whatever the threads.
    pub(super) hash: u64,
    /// Wall time in which cells decided, and in which applications were routed, in us.
    pub(super) deciding_us: u64,
    pub(super) routing_us: u64,
    /// Decisions of a second with all cells up, at most, and those of the second after the failure.
    pub(super) before_failure: u64,
    pub(super) after_failure: u64,
    /// Applications that went elsewhere since a cell was down, and those that no cell took.
    pub(super) rerouted: u64,
    pub(super) refused: u64,
    pub(super) recovery: Option<Recovery>,
}

/// The policy of a federation: each queue is spread over some cells evenly, beginning with another cell each.
pub(super) fn policy(cells: usize, queues: u32, spread: usize) -> Result<Policy> {
    let name = |cell: usize| format!("cell-{}", cell % cells);
    let of_cell = |cell: usize| {
        let address = format!("http://127.0.0.1:{}", 10_000 + cell);
        json!({"name": name(cell), "addresses": [address]})
    };
    let rule = |queue: u32| {
        let first = queue as usize;
        let weights = (first..first + spread).map(|cell| json!({"cell": name(cell), "weight": 1}));
        let next = (first + spread..first + cells).map(name);
        json!({
            "queue": format!("root.q{queue}"),
            "weights": weights.collect::<Vec<_>>(),
            "fall_back": next.collect::<Vec<_>>(),
        })
    };
    let text = json!({
        "cells": (0..cells).map(of_cell).collect::<Vec<_>>(),
        "queues": (0..queues).map(rule).collect::<Vec<_>>(),
    });
    Policy::read(text.to_string().as_bytes()).context("the policy of the federation")
}

/// Queues of equal weight, which all cells have.
pub(super) fn settings(queues: u32) -> Result<TreeSettings> {
    let names: Vec<String> = (0..queues).map(|queue| format!("q{queue}")).collect();
    let mut keys = vec![
        ("root.queues".to_owned(), names.join(",")),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
        ("maximum-applications".to_owned(), "100000000".to_owned()),
        (
            "per-node-heartbeat.maximum-offswitch-assignments".to_owned(),
            "1000".to_owned(),
        ),
    ];
    for name in &names {
        keys.push((format!("root.{name}.capacity"), "1w".to_owned()));
        keys.push((
            format!("root.{name}.user-limit-factor"),
            "1000000".to_owned(),
        ));
    }
    let keys = keys.into_iter();
    let keys = keys.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value));
    let types = TYPES.map(str::to_owned);
    let loaded = config::from_pairs(&BTreeMap::new(), &keys.collect(), &types);
    let loaded = loaded.map_err(|report| anyhow!("{report:?}"))?;
    Ok(loaded.settings)
}

/// A running federation.
struct Federation<'a> {
    args: &'a Args,
    policy: Policy,
    numbers: BTreeMap<CellName, usize>,
    cells: Vec<SimCell>,
    load: Load,
    next_app: u32,
    clock: SystemClock,
    outcome: Outcome,
}

impl<'a> Federation<'a> {
    fn new(args: &'a Args) -> Result<Self> {
        let count = usize::from(args.cells);
        let policy = policy(count, args.queues, usize::from(args.spread.min(args.cells)))?;
        let numbers = policy
            .cells()
            .enumerate()
            .map(|(number, (name, _))| (name.clone(), number));
        let numbers = numbers.collect();
        let settings = settings(args.queues)?;
        let cells: Result<Vec<SimCell>> = (0..count)
            .into_par_iter()
            .map(|cell| {
                SimCell::new(
                    &settings,
                    (cell, args.nodes, args.slots),
                    (args.seed, args.life_s),
                )
            })
            .collect();
        let load = Load::new(args.seed, args.queues, args.containers_a_second());
        Ok(Self {
            args,
            policy,
            numbers,
            cells: cells?,
            load,
            next_app: 1,
            clock: SystemClock::new(),
            outcome: Outcome::default(),
        })
    }

    /// Routes the applications of a second; those of each cell.
    fn route(&mut self) -> Vec<Vec<(AppSpec, u32)>> {
        let mut routed: Vec<Vec<(AppSpec, u32)>> = vec![Vec::new(); self.cells.len()];
        let drawn = self.load.second();
        let begun_ns = self.clock.now_ns();
        for app in drawn {
            let id = ApplicationId::new(self.next_app);
            self.next_app += 1;
            let queue = format!("root.q{}", app.queue);
            let is_up = |name: &CellName| self.cells[self.numbers[name]].is_up();
            let Ok(choice) = self.policy.cell_of(&queue, id, is_up) else {
                self.outcome.refused += 1;
                continue;
            };
            if self.cells.iter().any(|cell| !cell.is_up()) {
                let usual = self.policy.cell_of(&queue, id, |_| true);
                self.outcome.rerouted += u64::from(usual.as_ref() != Ok(&choice));
            }
            let spec = AppSpec::new(id, &queue, "user");
            routed[self.numbers[&choice.cell]].push((spec, app.containers));
        }
        self.outcome.routing_us += self.clock.now_ns().saturating_sub(begun_ns) / 1000;
        routed
    }

    /// One second of all cells, which decide at once.
    fn second(&mut self, now_s: u64) -> Result<()> {
        let routed = self.route();
        let before: u64 = self.cells.iter().map(|cell| cell.figures.placed).sum();
        let begun_ns = self.clock.now_ns();
        let carried: Result<Vec<()>> = self
            .cells
            .par_iter_mut()
            .zip(routed)
            .map(|(cell, apps)| {
                for (spec, containers) in apps {
                    cell.submit(spec, containers)?;
                }
                cell.second(now_s)
            })
            .collect();
        carried?;
        self.outcome.deciding_us += self.clock.now_ns().saturating_sub(begun_ns) / 1000;
        let after: u64 = self.cells.iter().map(|cell| cell.figures.placed).sum();
        match self.args.fail_at {
            at if now_s + 1 == at => self.outcome.before_failure = after - before,
            at if now_s == at => self.outcome.after_failure = after - before,
            _ => {}
        }
        Ok(())
    }

    fn run(mut self) -> Result<Outcome> {
        let (fail_at, back_at) = (self.args.fail_at, self.args.fail_at + self.args.down_s);
        for now_s in 1..=self.args.seconds {
            if now_s == fail_at {
                self.cells[0].fail();
            }
            if now_s == back_at && fail_at > 0 {
                self.cells[0].come_back(now_s)?;
            }
            self.second(now_s)?;
        }
        let mut outcome = self.outcome;
        for cell in &self.cells {
            outcome.apps.push(cell.figures.apps);
            outcome.placed.push(cell.figures.placed);
            outcome.running.push(cell.running());
            outcome.waiting += cell.waiting();
            outcome.oversubscribed += cell.figures.oversubscribed;
            outcome.hash = outcome.hash.rotate_left(7) ^ cell.figures.hash;
        }
        let failed = fail_at > 0 && back_at <= self.args.seconds;
        outcome.recovery = failed.then(|| self.cells[0].recovery.clone());
        Ok(outcome)
    }
}

/// Runs a federation on so many threads.
pub(super) fn run(args: &Args) -> Result<Outcome> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(args.threads));
    let pool = pool.build().context("threads cannot be started")?;
    pool.install(|| Federation::new(args)?.run())
}
