//! The steps of a simulation as plain data, and how a seed draws them.

use serde::{Deserialize, Serialize};

use super::setup::{Setup, SetupMode, VARIANTS, index, small};
use crate::simulator::Random;

/// Applications that may live at once; the oldest one ends when another is submitted.
const WINDOW: u32 = 14;

/// One step. Numbers stand for names: node 3 is `n3:1`, leaf 2 the third one of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say it with their names")]
pub enum Action {
    /// A node registers.
    AddNode { node: u8, size: u8, label: u8 },
    /// A node is lost.
    RemoveNode { node: u8 },
    /// A node gets another total.
    ResizeNode { node: u8, size: u8 },
    /// A node gets another label.
    RelabelNode { node: u8, label: u8 },
    /// A node takes no containers any more.
    Decommission { node: u8 },
    /// A node reports.
    Heartbeat { node: u8, report: NodeReportKind },
    /// An application is submitted.
    Submit {
        app: u32,
        leaf: u8,
        user: u8,
        master: bool,
    },
    /// An application asks; `place` 0 is anywhere, others a node.
    Ask {
        app: u32,
        priority: u8,
        size: u8,
        count: u32,
        place: u8,
        label: u8,
        release: bool,
    },
    /// A container of an application ends by itself, reported once or twice.
    Finish { app: u32, nth: u8, twice: bool },
    /// An application ends.
    End { app: u32 },
    /// An application moves.
    Move { app: u32, leaf: u8 },
    /// An application gets another priority.
    Priority { app: u32, priority: u8 },
    /// A configuration is loaded.
    Reload { variant: u8 },
    /// A proposer takes a turn, after it looked for a newer snapshot or not.
    Turn { proposer: u8, follow: Follow },
    /// A proposer hands its batches over.
    HandOver { proposer: u8 },
    /// A proposer dies between two turns and starts afresh.
    Restart { proposer: u8 },
    /// A proposer dies in the midst of a turn, before a decision of a number, and starts afresh.
    Die { proposer: u8, decision: u8 },
    /// What a proposer is about to hand over is distorted.
    Distort { proposer: u8, seed: u32 },
    /// The committer takes a batch of a proposer.
    Commit { proposer: u8 },
    /// The committer publishes.
    Publish,
    /// The nodes are sorted.
    Sort,
    /// Time passes.
    Advance { ms: u32 },
}

/// When a proposer follows the published snapshot before its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follow {
    /// Not at all, as one that was asleep.
    Never,
    /// When a thread would between two rounds.
    WhenDue,
    /// When there is a newer one.
    Always,
}

/// What a node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeReportKind {
    /// Everything went as expected.
    Expected,
    /// Nothing was launched and nothing stopped.
    Nothing,
    /// Containers of other nodes were launched and stopped.
    Others,
    /// What it saw is on its way. An earlier report arrives, of this or another node, perhaps not for
    /// the last time.
    Late,
}

/// A family of faults, for shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Nodes,
    Heartbeats,
    Apps,
    Config,
    Proposers,
}

impl Family {
    pub(super) const ALL: [Self; 5] = [
        Self::Nodes,
        Self::Heartbeats,
        Self::Apps,
        Self::Config,
        Self::Proposers,
    ];
}

impl Action {
    /// Whether it is a step of proposers or the commit of a batch, which nothing comes before.
    pub(super) fn is_of_proposers(&self) -> bool {
        matches!(
            self,
            Self::Turn { .. }
                | Self::HandOver { .. }
                | Self::Restart { .. }
                | Self::Die { .. }
                | Self::Distort { .. }
                | Self::Commit { .. }
        )
    }

    /// The family that the step belongs to, if it is a fault.
    pub(super) fn family(&self) -> Option<Family> {
        match self {
            Self::RemoveNode { .. }
            | Self::ResizeNode { .. }
            | Self::RelabelNode { .. }
            | Self::Decommission { .. } => Some(Family::Nodes),
            Self::Heartbeat { report, .. } if *report != NodeReportKind::Expected => {
                Some(Family::Heartbeats)
            }
            Self::Finish { twice: true, .. } => Some(Family::Heartbeats),
            Self::Move { .. } | Self::Priority { .. } => Some(Family::Apps),
            Self::Reload { .. } => Some(Family::Config),
            Self::Turn {
                follow: Follow::Never,
                ..
            }
            | Self::Restart { .. }
            | Self::Die { .. }
            | Self::Distort { .. } => Some(Family::Proposers),
            _ => None,
        }
    }
}

/// Draws the steps of a seed.
pub(super) struct Draw<'a> {
    setup: &'a Setup,
    random: Random,
    /// Steps that may be drawn, with their weights.
    weights: Vec<(Kind, u64)>,
    total: u64,
    submitted: u32,
    /// A step that follows the last one.
    next: Option<Action>,
    /// Nodes that have registered at the beginning.
    begun: u8,
    /// Proposers that died.
    deaths: u8,
}

#[derive(Clone, Copy)]
enum Kind {
    Add,
    Remove,
    Resize,
    Relabel,
    Decommission,
    Heartbeat,
    Submit,
    Ask,
    Finish,
    End,
    Move,
    Priority,
    Reload,
    Turn,
    HandOver,
    Restart,
    Distort,
    Commit,
    Publish,
    Sort,
    Advance,
}

impl<'a> Draw<'a> {
    pub(super) fn new(setup: &'a Setup) -> Self {
        let mut random = Random::stream(setup.seed, 2);
        let faults = setup.faults;
        let mut rate = |on: bool, most: u64| if on { 1 + random.below(most) } else { 0 };
        let threads = setup.mode != SetupMode::Heartbeat;
        let weights: Vec<(Kind, u64)> = vec![
            (Kind::Add, 2 + rate(faults.nodes, 10)),
            (Kind::Remove, rate(faults.nodes, 10)),
            (Kind::Resize, rate(faults.nodes, 8)),
            (Kind::Relabel, rate(faults.nodes, 4)),
            (Kind::Decommission, rate(faults.nodes, 2)),
            (Kind::Heartbeat, 40),
            (Kind::Submit, 10 + rate(faults.apps, 20)),
            (Kind::Ask, 60),
            (Kind::Finish, 50),
            (Kind::End, rate(faults.apps, 20)),
            (Kind::Move, rate(faults.apps, 6)),
            (Kind::Priority, rate(faults.apps, 6)),
            (Kind::Reload, rate(faults.config, 8)),
            (Kind::Turn, if threads { 90 } else { 0 }),
            (Kind::HandOver, if threads { 90 } else { 0 }),
            (
                Kind::Restart,
                if threads {
                    rate(faults.proposers, 8)
                } else {
                    0
                },
            ),
            (
                Kind::Distort,
                if threads {
                    rate(faults.proposers, 30)
                } else {
                    0
                },
            ),
            (
                Kind::Commit,
                if !threads {
                    0
                } else if faults.queue {
                    50
                } else {
                    100
                },
            ),
            (Kind::Publish, 30 + rate(faults.queue, 60)),
            (Kind::Sort, 5),
            (Kind::Advance, 10),
        ];
        let total = weights.iter().map(|(_, weight)| weight).sum();
        Self {
            setup,
            random,
            weights,
            total,
            submitted: 0,
            next: None,
            begun: 0,
            deaths: 0,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn byte(&mut self, n: u8) -> u8 {
        small(self.random.below(u64::from(n)))
    }

    fn kind(&mut self) -> Kind {
        let mut left = self.below(self.total);
        for &(kind, weight) in &self.weights {
            if left < weight {
                return kind;
            }
            left -= weight;
        }
        Kind::Publish
    }

    fn app(&mut self) -> u32 {
        let back = u32::from(self.byte(14)).min(WINDOW - 1);
        self.submitted.saturating_sub(back).max(1)
    }

    fn add(&mut self, node: u8) -> Action {
        // A node without anything is rare.
        let size = if self.below(30) == 0 { 4 } else { self.byte(4) };
        let label = self.byte(6);
        Action::AddNode { node, size, label }
    }

    /// The next step.
    pub(super) fn step(&mut self) -> Action {
        if let Some(next) = self.next.take() {
            return next;
        }
        if self.begun < self.setup.nodes {
            self.begun += 1;
            return self.add(self.begun - 1);
        }
        let kind = self.kind();
        match kind {
            Kind::Add | Kind::Remove | Kind::Resize | Kind::Relabel | Kind::Decommission => {
                self.node_step(kind)
            }
            Kind::Heartbeat => self.heartbeat(),
            Kind::Submit => self.submit(),
            Kind::Ask => self.ask(),
            Kind::Finish | Kind::End | Kind::Move | Kind::Priority => self.app_step(kind),
            Kind::Reload => Action::Reload {
                variant: self.byte(VARIANTS),
            },
            Kind::Turn | Kind::HandOver | Kind::Restart | Kind::Distort | Kind::Commit => {
                self.proposer_step(kind)
            }
            Kind::Publish => Action::Publish,
            Kind::Sort => Action::Sort,
            Kind::Advance => Action::Advance {
                ms: [1, 100, 5000][index(self.below(3))],
            },
        }
    }

    fn node_step(&mut self, kind: Kind) -> Action {
        let node = self.byte(self.setup.nodes);
        match kind {
            Kind::Remove => Action::RemoveNode { node },
            Kind::Resize => Action::ResizeNode {
                node,
                size: self.byte(5),
            },
            Kind::Relabel => Action::RelabelNode {
                node,
                label: self.byte(6),
            },
            Kind::Decommission => Action::Decommission { node },
            _ => self.add(node),
        }
    }

    fn heartbeat(&mut self) -> Action {
        let node = self.byte(self.setup.nodes);
        let odd = self.setup.faults.heartbeats && self.below(3) == 0;
        let report = match (odd, self.below(3)) {
            (false, _) => NodeReportKind::Expected,
            (true, 0) => NodeReportKind::Nothing,
            (true, 1) => NodeReportKind::Others,
            (true, _) => NodeReportKind::Late,
        };
        Action::Heartbeat { node, report }
    }

    fn submit(&mut self) -> Action {
        self.submitted += 1;
        if self.submitted > WINDOW {
            self.next = Some(Action::End {
                app: self.submitted - WINDOW,
            });
        }
        Action::Submit {
            app: self.submitted,
            leaf: self.byte(9),
            user: self.byte(4),
            master: self.below(2) == 0,
        }
    }

    fn ask(&mut self) -> Action {
        let huge = self.setup.faults.apps && self.below(30) == 0;
        let count = if huge {
            100_000
        } else {
            [0, 1, 2, 3, 5, 9][index(self.below(6))]
        };
        Action::Ask {
            app: self.app(),
            priority: self.byte(3),
            size: self.byte(6),
            count,
            place: if self.below(3) == 0 {
                1 + self.byte(self.setup.nodes)
            } else {
                0
            },
            label: self.byte(6),
            release: self.below(5) == 0,
        }
    }

    fn app_step(&mut self, kind: Kind) -> Action {
        let app = self.app();
        match kind {
            Kind::End => Action::End { app },
            Kind::Move => Action::Move {
                app,
                leaf: self.byte(9),
            },
            Kind::Priority => Action::Priority {
                app,
                priority: self.byte(5),
            },
            _ => Action::Finish {
                app,
                nth: self.byte(20),
                twice: self.setup.faults.heartbeats && self.below(4) == 0,
            },
        }
    }

    fn proposer_step(&mut self, kind: Kind) -> Action {
        let proposer = self.byte(self.setup.proposers);
        match kind {
            Kind::Turn => Action::Turn {
                proposer,
                follow: match self.setup.faults.proposers.then(|| self.below(3)) {
                    Some(0) => Follow::Never,
                    Some(1) => Follow::WhenDue,
                    _ => Follow::Always,
                },
            },
            Kind::HandOver => Action::HandOver { proposer },
            Kind::Restart => {
                self.deaths = self.deaths.wrapping_add(1);
                // Every other one comes in a turn, early or late.
                match self.deaths % 2 {
                    0 => Action::Restart { proposer },
                    _ => Action::Die {
                        proposer,
                        decision: 1 + self.deaths / 2 % 17 * 5 % 17,
                    },
                }
            }
            Kind::Distort => Action::Distort {
                proposer,
                seed: u32::try_from(self.below(1 << 32)).unwrap_or(u32::MAX),
            },
            _ => Action::Commit { proposer },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_steps_every_time() {
        let setup = Setup::of(7);
        let draw = || {
            let mut draw = Draw::new(&setup);
            (0..500).map(|_| draw.step()).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
    }

    #[test]
    fn without_faults_no_family_is_met() {
        let setup = Setup {
            faults: Families::default(),
            ..Setup::of(3)
        };
        let mut draw = Draw::new(&setup);
        assert!((0..2000).all(|_| draw.step().family().is_none()));
    }

    use super::super::setup::Families;
}
