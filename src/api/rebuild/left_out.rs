//! What a rebuilt state leaves out, in words.

use std::collections::BTreeSet;

use super::facts::LedgerFacts;
use crate::cluster::{Node, NodeState};
use crate::id::{AppSlot, QueueSlot};
use crate::queue::{App, AppStage};
use crate::snapshot::State;

/// What holds for every state.
const ALWAYS: &str = "in any case: where the next round begins, the next numbers of containers, in which order a node \
                      got its containers, limits of users as last handed out, nodes that failed masters, ends that \
                      no application fetched yet";

/// How much is left out of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut {
    /// Applications with other numbers, since two have the same.
    pub(super) renumbered: usize,
    /// Neighbours in the order of recovery of which the first started later.
    pub(super) overtaken: usize,
    /// Containers that are placed and not launched.
    pub(super) not_launched: usize,
    /// Containers on capacity of another partition.
    pub(super) borrowed: usize,
    reservations: usize,
    /// Keys with counters of opportunities.
    counters: usize,
    increases: usize,
    /// Containers that take room and do not live.
    ending: usize,
    decommissioning: usize,
    tags: usize,
    killable: usize,
    opportunistic: usize,
    held_nodes: usize,
    gangs: usize,
    constraints: usize,
    lifetimes: usize,
    attempts: usize,
    empty_queues: usize,
}

impl LeftOut {
    /// What is seen without a look at applications and nodes.
    pub(super) fn of(state: &State, facts: &LedgerFacts) -> Self {
        Self {
            opportunistic: whole(facts.rest.opportunistic),
            held_nodes: facts.rest.held_nodes,
            gangs: facts.running.whole_gangs(),
            constraints: facts.rest.constraints,
            lifetimes: facts.rest.lifetimes,
            empty_queues: empty_queues(state),
            ..Self::default()
        }
    }

    /// Counts what is left out of an application.
    pub(super) fn note_app(&mut self, row: &App) {
        for key in &row.keys {
            self.reservations += key.reserved.len();
            // Opportunities decide where a host or a rack is named beside `*`.
            let for_places = key.opportunities != 0 && key.places.len() > 1;
            let counts = for_places || key.missed != 0 || key.re_reservations != 0;
            self.counters += usize::from(counts);
            let increases = key.key.updates.is_some() && !key.places.is_empty();
            self.increases += usize::from(increases);
        }
        let waits = matches!(row.stage, AppStage::Waiting | AppStage::Parked);
        self.attempts += usize::from(row.unmanaged && waits && row.attempt > 1);
    }

    /// Counts what is left out of a node of which so many containers are carried over.
    pub(super) fn note_node(&mut self, row: &Node, carried: usize) {
        self.ending += whole(row.containers).saturating_sub(carried);
        self.decommissioning += usize::from(row.state == NodeState::Decommissioning);
        self.tags += row.tags.iter().map(|tag| whole(tag.count)).sum::<usize>();
        self.killable += row.killable.len();
    }

    /// A sentence for each kind of which there is something, and one that holds for every state.
    pub(super) fn sentences(&self) -> Vec<String> {
        let kinds = self.of_apps().into_iter().chain(self.of_cluster());
        let said = kinds.filter(|&(count, _)| count > 0);
        let said = said.map(|(count, what)| format!("{count} {what}"));
        said.chain([ALWAYS.to_owned()]).collect()
    }

    fn of_apps(&self) -> [(usize, &'static str); 9] {
        [
            (
                self.reservations,
                "reservations: their nodes have that room free",
            ),
            (
                self.counters,
                "keys have counters of missed opportunities: they wait for locality anew",
            ),
            (
                self.not_launched,
                "containers were placed and not launched: they count as running",
            ),
            (
                self.increases,
                "increases of containers wait: they are not asked for",
            ),
            (
                self.opportunistic,
                "opportunistic containers have no node: they are not asked for",
            ),
            (
                self.lifetimes,
                "applications have a lifetime: it begins anew",
            ),
            (
                self.attempts,
                "applications without a master wait in a later attempt: it is their first",
            ),
            (
                self.renumbered,
                "applications have new numbers in the order of their ids: some share a number",
            ),
            (
                self.overtaken,
                "older applications wait while younger ones run: ties of the fair order may differ",
            ),
        ]
    }

    fn of_cluster(&self) -> [(usize, &'static str); 9] {
        [
            (
                self.ending,
                "containers that ended or change take room on nodes: that room is free",
            ),
            (
                self.borrowed,
                "containers run on capacity of another label: they count for their node's label",
            ),
            (
                self.held_nodes,
                "nodes are held for gangs: they are open to everybody",
            ),
            (
                self.gangs,
                "gangs are placed: preemption takes their members one by one",
            ),
            (
                self.tags,
                "allocation tags of containers: constraints do not see them",
            ),
            (
                self.constraints,
                "placement constraints of applications and of the cluster: they are not known",
            ),
            (
                self.killable,
                "containers may be killed when their place is needed: they may not",
            ),
            (
                self.decommissioning,
                "nodes are decommissioning: room that gets free there is given again",
            ),
            (
                self.empty_queues,
                "queues that were created are empty: they do not exist",
            ),
        ]
    }
}

fn whole(count: impl TryInto<usize>) -> usize {
    count.try_into().unwrap_or(usize::MAX)
}

/// Queues that submissions created and that hold no application.
fn empty_queues(state: &State) -> usize {
    let apps = (0..state.apps.len()).map(AppSlot::at);
    let live = apps.filter(|&app| !state.apps[app].stage.is_over());
    let used: BTreeSet<QueueSlot> = live
        .flat_map(|app| state.chain(state.apps[app].leaf))
        .collect();
    let all = (0..state.queues.len()).map(QueueSlot::at);
    all.filter(|queue| {
        let row = &state.queues[*queue];
        row.settings.dynamic && !row.removed && !used.contains(queue)
    })
    .count()
}
