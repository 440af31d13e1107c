//! Nodes of a simulation: they register, get lost, change and report, and the books follow.

use std::sync::Arc;

use super::action::{Action, Report};
use super::books::Held;
use super::fault;
use super::setup::{SetupMode, node_name, rack};
use super::world::{Checked, World};
use crate::api::{NodeName, NodeReport, NodeSpec};

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
                self.hear()?;
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
                if self.books.has_exiting(&name) {
                    return Ok(());
                }
                let moved = self.pipeline.call(|e| e.relabel_node(&name, label));
                self.expect_node(&name, moved.is_ok())?;
                self.hear()?;
                if let Some(book) = self.books.nodes.get_mut(&name) {
                    book.label = label;
                }
            }
            Action::Decommission { node } => {
                let name = node_name(node);
                let told = self.pipeline.call(|e| e.decommission_node(&name));
                self.expect_node(&name, told.is_ok())?;
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

    pub(super) fn heartbeat(&mut self, node: u8, report: Report) -> Checked {
        let name = node_name(node);
        let elsewhere = |held: &Held| held.node != name;
        let others: Vec<_> = self
            .books
            .live
            .iter()
            .filter(|(_, held)| elsewhere(held))
            .map(|(id, _)| *id)
            .take(3)
            .collect();
        let report = match report {
            Report::Expected => NodeReport::AsExpected,
            Report::Nothing => NodeReport::Exactly {
                launched: Vec::new(),
                exited: Vec::new(),
            },
            Report::Others => NodeReport::Exactly {
                launched: others.clone(),
                exited: others,
            },
        };
        let schedules = self.setup.mode == SetupMode::Heartbeat;
        let reply = self.pipeline.call(|engine| {
            if schedules {
                engine.heartbeat(&name, &report)
            } else {
                engine.node_reported(&name, &report)
            }
        });
        self.expect_node(&name, reply.is_ok())?;
        // What the node reported happened before what it was given.
        if let Ok(reply) = reply {
            self.books.reported(&name, &reply)?;
        }
        Ok(())
    }
}
