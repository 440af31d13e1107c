//! Nodes of a simulation: they register, get lost, change and report, and the books follow.

use std::sync::Arc;

use super::action::{Action, NodeReportKind};
use super::books::BookedContainer;
use super::fault;
use super::setup::{SetupMode, node_name, rack};
use super::world::{Checked, World};
use crate::api::{NodeName, NodeReport, NodeSpec};

/// Reports that may be on their way at once.
const MOST_LATE: usize = 8;

impl World<'_> {
    pub(super) fn change_node(&mut self, action: &Action) -> Checked {
        match *action {
            Action::AddNode { node, size, label } => {
                let (name, total) = (node_name(node), self.setup.node_size(size));
                let label = self.setup.label(label);
                let spec = NodeSpec {
                    rack: rack(node),
                    partition: label.to_owned(),
                    ..NodeSpec::new(name.clone(), total)
                };
                let added = self.pipeline.call(|e| e.add_node(&spec)).is_ok();
                self.expect_node(&name, !added)?;
                if added {
                    self.books.node_added(name.clone(), total, label);
                    let registration = self.books.nodes[&name].registration;
                    Arc::make_mut(&mut self.registered).insert(name, registration);
                }
            }
            Action::RemoveNode { node } => {
                let name = node_name(node);
                let removed = self.pipeline.call(|e| e.remove_node(&name)).is_ok();
                self.expect_node(&name, removed)?;
                self.receive()?;
                if removed {
                    self.books.node_removed(&name)?;
                    Arc::make_mut(&mut self.registered).remove(&name);
                }
            }
            Action::ResizeNode { node, size } => {
                let (name, total) = (node_name(node), self.setup.node_size(size));
                let resized = self.pipeline.call(|e| e.resize_node(&name, total));
                self.expect_node(&name, resized.is_ok())?;
                if let Some(book) = self.books.nodes.get_mut(&name) {
                    book.total = total;
                }
            }
            Action::RelabelNode { node, label } => {
                let (name, label) = (node_name(node), self.setup.label(label));
                // Containers that ended and still take space change partition once more, as in the
                // reference: the figures of both are off then.
                if !self.books.exiting_on(&name).is_empty() {
                    return Ok(());
                }
                let moved = self.pipeline.call(|e| e.relabel_node(&name, label));
                self.expect_node(&name, moved.is_ok())?;
                self.receive()?;
                if let Some(book) = self.books.nodes.get_mut(&name) {
                    book.label = label;
                }
            }
            Action::Decommission { node } => {
                let name = node_name(node);
                let answer = self.pipeline.call(|e| e.decommission_node(&name));
                self.expect_node(&name, answer.is_ok())?;
                if let Some(book) = self.books.nodes.get_mut(&name) {
                    book.leaving = true;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn expect_node(&self, name: &NodeName, known: bool) -> Checked {
        if self.books.nodes.contains_key(name) == known {
            return Ok(());
        }
        fault("N11", format!("the engine knows {name}: {known}"))
    }

    pub(super) fn heartbeat(&mut self, node: u8, report: NodeReportKind) -> Checked {
        let name = node_name(node);
        let report = match report {
            NodeReportKind::Expected => NodeReport::AsExpected,
            NodeReportKind::Nothing => NodeReport::Exactly {
                launched: Vec::new(),
                exited: Vec::new(),
            },
            NodeReportKind::Others => {
                let on_others = |held: &BookedContainer| held.node != name;
                let others: Vec<_> = self.books.live_where(on_others).take(3).collect();
                NodeReport::Exactly {
                    launched: others.clone(),
                    exited: others,
                }
            }
            NodeReportKind::Late => return self.late_heartbeat(node),
        };
        self.report(&name, &report)
    }

    /// A node sends what is true now; one of the reports on their way arrives, in no order, and some arrive
    /// again. With it the node may have been lost, or be another one.
    fn late_heartbeat(&mut self, node: u8) -> Checked {
        let name = node_name(node);
        let seen = NodeReport::Exactly {
            launched: self.books.live_where(|held| held.node == name).collect(),
            exited: self.books.exiting_on(&name),
        };
        self.late.push_back((name, seen));
        let at = usize::from(node) * 7 % MOST_LATE;
        let arrives = match self.late.get(at) {
            Some(again) if node.is_multiple_of(4) => Some(again.clone()),
            _ => self.late.remove(at),
        };
        if self.late.len() > MOST_LATE {
            // The oldest one is lost.
            self.late.pop_front();
        }
        let Some((name, report)) = arrives else {
            return Ok(());
        };
        self.summary.late_reports += 1;
        self.report(&name, &report)
    }

    fn report(&mut self, name: &NodeName, report: &NodeReport) -> Checked {
        let schedules = self.setup.mode == SetupMode::Heartbeat;
        let reply = self.pipeline.call(|engine| {
            if schedules {
                engine.heartbeat(name, report)
            } else {
                engine.node_reported(name, report)
            }
        });
        self.expect_node(name, reply.is_ok())?;
        // What the node reported happened before what it was given.
        if let Ok(reply) = reply {
            self.books.reported(name, &reply)?;
        }
        Ok(())
    }
}
