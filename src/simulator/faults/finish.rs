//! The end of a simulation: without faults everything that fits is placed, and then all goes away.

use super::action::{Action, Follow, NodeReportKind};
use super::setup::{LABEL, SetupLabel, SetupMode, node_name};
use super::world::World;
use super::{Violation, fault};
use crate::api::ApplicationId;

/// Rounds without a new container after which the proposers count as at rest: more than the
/// opportunities that an ask may let pass before it takes any node.
const QUIET: u32 = 100;

/// Rounds without a new container until which nodes report.
const REPORTS: u32 = 20;

/// Rounds in a row that may bring refusals and nothing else: each node is tried once.
const REFUSALS: u32 = 50;

/// Rounds after which they must be at rest.
const ROUNDS: u32 = 5_000;

impl World<'_> {
    /// Faults are over: proposers look at the newest snapshot and nothing waits. They come to
    /// rest, and then a pass of its own over the live state finds nothing to place (L1).
    pub(super) fn come_to_rest(&mut self) -> Result<(), Violation> {
        let (mut quiet, mut refusing) = (0, 0);
        for _ in 0..ROUNDS {
            let (before, refused) = (self.books.allocated, self.summary.refused);
            self.counted = false;
            // Nodes report at first; then nothing happens but what the proposers do.
            self.calm_round(quiet < REPORTS)?;
            let placed = self.books.allocated > before;
            // Proposers whose counters move wait for a moment and try again, also in vain.
            let again = self.summary.refused > refused && !self.counted && quiet >= REPORTS;
            quiet = if placed { 0 } else { quiet + 1 };
            refusing = if again { refusing + 1 } else { 0 };
            if refusing == REFUSALS {
                return fault(
                    "P6",
                    "a refused proposal is made again and again".to_owned(),
                );
            }
            if quiet == QUIET {
                return self.nothing_is_left_to_place();
            }
            if quiet == 0 {
                self.refused_before_rest = false;
            }
            self.refused_before_rest |= self.summary.refused > refused;
        }
        fault("L1", format!("no rest after {ROUNDS} rounds"))
    }

    fn calm_round(&mut self, reports: bool) -> Result<(), Violation> {
        for node in 0..self.setup.nodes {
            if reports && self.books.nodes.contains_key(&node_name(node)) {
                let report = NodeReportKind::Expected;
                self.step(&Action::Heartbeat { node, report })?;
            }
        }
        if self.pipeline.is_changed() {
            self.step(&Action::Publish)?;
        }
        self.step(&Action::Sort)?;
        for proposer in 0..self.setup.proposers {
            let follow = Follow::Always;
            self.step(&Action::Turn { proposer, follow })?;
            // Until everything that waits in a short queue has passed through it.
            for _ in 0..200 {
                self.step(&Action::HandOver { proposer })?;
                self.step(&Action::Commit { proposer })?;
                let accounts = self.pipeline.accounts();
                if accounts.held + accounts.queued == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn nothing_is_left_to_place(&mut self) -> Result<(), Violation> {
        let before = self.books.allocated;
        if self.setup.mode == SetupMode::Global {
            for label in ["", LABEL] {
                if label.is_empty() || self.setup.label != SetupLabel::None {
                    self.pipeline
                        .call(|engine| engine.schedule_partition(label, 3));
                }
            }
        } else {
            for node in 0..self.setup.nodes {
                let name = node_name(node);
                self.pipeline.call(|engine| engine.schedule_node(&name));
            }
        }
        self.check()?;
        match self.books.allocated > before {
            false => self.summary.rests_judged += 1,
            // What is refused for ever may stand before what could be placed.
            true if self.refused_before_rest => self.summary.rests_excused += 1,
            true => {
                let text = "a pass of its own places what the proposers left";
                return fault("L1", text.to_owned());
            }
        }
        Ok(())
    }

    /// All applications end: nothing is left of anything.
    pub(super) fn drain(&mut self) -> Result<(), Violation> {
        let apps: Vec<ApplicationId> = self.books.apps.keys().copied().collect();
        for app in apps {
            self.end(app)?;
        }
        for _ in 0..2 {
            self.calm_round(true)?;
        }
        self.check()?;
        if !self.books.is_empty() {
            return fault("L6", "something outlives the last application".to_owned());
        }
        let view = self.pipeline.engine().view();
        for queue in view.queues().filter(|queue| !queue.is_removed()) {
            for partition in view.partition_ids() {
                let (used, pending) = (queue.used(partition), queue.pending(partition));
                if !used.is_none() || !pending.is_none() {
                    let path = &queue.settings().path;
                    let text = format!("{path} keeps {used} used and {pending} pending");
                    return fault("Q1", text);
                }
            }
        }
        Ok(())
    }
}
