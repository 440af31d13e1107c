//! The rows of a state as nodes, applications and asks of the API.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::facts::LedgerFacts;
use super::left_out::LeftOut;
use super::{RebuiltApp, RebuiltEntry};
use crate::commit::{LiveContainer, WaitingGang};
use crate::id::{AppSlot, ApplicationId, Map, NameId, NodeSlot, PartitionId, SchedulerKey};
use crate::queue::{
    App, AppSpec, AppStage, Ask, AskCall, ConstrainedAsk, GangAsk, KeyAsks, NodeSpec,
    RunningContainer,
};
use crate::snapshot::State;

/// Reads the rows of a state, and counts what it leaves out.
pub(super) struct RowReader<'a> {
    state: &'a State,
    facts: &'a LedgerFacts,
    /// Applications by id with the ids that they get.
    apps: Vec<(AppSlot, ApplicationId)>,
    /// What runs, by node.
    running: BTreeMap<NodeSlot, Vec<RunningContainer>>,
    /// The moment from which times count.
    since_ms: u64,
    left_out: LeftOut,
}

impl<'a> RowReader<'a> {
    /// Looks at everything that runs.
    pub(super) fn of(state: &'a State, facts: &'a LedgerFacts) -> Self {
        let known = by_id(state);
        let sequence = |at: usize| known[at].0.sequence;
        let distinct = (1..known.len()).all(|at| sequence(at - 1) < sequence(at));
        let number = |(at, &(id, slot)): (u32, &(ApplicationId, AppSlot))| {
            let number = if distinct { id.sequence } else { at };
            (slot, ApplicationId::new(number))
        };
        let mut left_out = LeftOut::of(state, facts);
        left_out.renumbered = if distinct { 0 } else { known.len() };
        let mut reader = Self {
            state,
            facts,
            apps: (1..).zip(&known).map(number).collect(),
            running: BTreeMap::new(),
            since_ms: facts.rest.now_ms,
            left_out,
        };
        reader.find_running();
        reader
    }

    /// The present time, as times count here.
    pub(super) fn now_ms(&self) -> u64 {
        self.facts.rest.now_ms.saturating_sub(self.since_ms)
    }

    /// What was counted.
    pub(super) fn left_out(self) -> LeftOut {
        self.left_out
    }

    fn find_running(&mut self) {
        let apps = self.apps.iter().enumerate();
        let orders: Map<AppSlot, (usize, ApplicationId)> =
            apps.map(|(at, &(slot, id))| (slot, (at, id))).collect();
        for (node, live) in self.facts.running.by_node() {
            let running = self.running_with_new_ids(live, &orders);
            if !running.is_empty() {
                self.running.insert(node, running);
            }
        }
        let gangs = self.facts.rest.gangs.iter();
        let asked = gangs.map(|gang| gang.asked_ms).min();
        self.since_ms = self.since_ms.min(asked.unwrap_or(u64::MAX));
        for running in self.running.values_mut().flatten() {
            running.created_ms -= self.since_ms;
        }
    }

    /// Containers of a node whose applications did not end, with the ids that these get, in the order of the old ids.
    fn running_with_new_ids(
        &mut self,
        live: &[LiveContainer],
        orders: &Map<AppSlot, (usize, ApplicationId)>,
    ) -> Vec<RunningContainer> {
        let ordered = live.iter().filter_map(|live| {
            let (order, id) = orders.get(&live.app).copied()?;
            Some((order, id, live))
        });
        let mut ordered: Vec<_> = ordered.collect();
        ordered.sort_unstable_by_key(|(order, _, live)| (*order, live.running.id.number));
        let read = |(_, id, live): (usize, ApplicationId, &LiveContainer)| {
            let mut running = live.running.clone();
            self.since_ms = self.since_ms.min(running.created_ms);
            self.left_out.not_launched += usize::from(!live.launched);
            self.left_out.borrowed += usize::from(live.borrowed);
            running.id.app = id;
            running
        };
        ordered.into_iter().map(read).collect()
    }

    /// Nodes in the order of their registration, with what they run.
    pub(super) fn nodes(&mut self) -> Vec<(NodeSpec, Vec<RunningContainer>)> {
        let mut registered = self.facts.rest.registered.clone();
        registered.sort_unstable();
        let mut nodes = Vec::new();
        for (_, slot) in registered {
            let row = &self.state.nodes[slot];
            let running = self.running.remove(&slot).unwrap_or_default();
            self.left_out.note_node(row, running.len());
            let spec = NodeSpec {
                name: row.name.clone(),
                rack: self.place(row.rack),
                total: row.total.get(),
                partition: self.label(row.partition),
                attributes: row.attributes.to_vec(),
            };
            nodes.push((spec, running));
        }
        nodes
    }

    /// Applications in the order in which they are taken over.
    pub(super) fn apps(&mut self) -> Vec<RebuiltApp> {
        let mut ordered = self.apps.clone();
        let apps = &self.state.apps;
        ordered.sort_by_key(|&(slot, _)| (turn(&apps[slot]), apps[slot].start));
        let starts = ordered.windows(2);
        let overtaken = starts.filter(|pair| apps[pair[0].0].start > apps[pair[1].0].start);
        self.left_out.overtaken = overtaken.count();
        let read = |(slot, id)| self.app(slot, id);
        ordered.into_iter().map(read).collect()
    }

    fn app(&mut self, slot: AppSlot, id: ApplicationId) -> RebuiltApp {
        let row = &self.state.apps[slot];
        self.left_out.note_app(row);
        RebuiltApp {
            spec: self.spec(row, id),
            entry: entry_of(row),
            call: self.call(row),
            gangs: self.gangs(row.id),
        }
    }

    /// What the application would be submitted with now.
    fn spec(&self, row: &App, id: ApplicationId) -> AppSpec {
        let (state, of) = (self.state, &row.submission);
        let queue = &state.queues[row.leaf].settings;
        let above = queue.path.rsplit_once('.').filter(|_| queue.dynamic);
        let text = |text: &Arc<str>| text.to_string();
        AppSpec {
            id,
            user: of.user_name.to_string(),
            queue: queue.path.to_string(),
            placement_parent: above.map(|(parent, _)| parent.to_owned()),
            priority: Some(row.priority),
            refused_priority: None,
            master: (!row.unmanaged).then_some(of.master_size),
            master_partition: of.master_label.map(|label| self.label(label)),
            partition: of.default_partition.as_ref().map(text),
            tags: of.tags.iter().map(text).collect(),
            restarts: of.restarts,
        }
    }

    /// Everything that is outstanding, but for the master, which the scheduler itself asks for.
    fn call(&self, row: &App) -> AskCall {
        let mut call = AskCall::default();
        for key in &row.keys {
            let of_master = key.key == SchedulerKey::MASTER && row.waits_for_master();
            if of_master || key.key.updates.is_some() {
                continue;
            }
            match &key.constrained {
                Some(_) => call.constrained.extend(constrained(key)),
                None => self.asks(key, &mut call.asks),
            }
        }
        let excluded = row.blacklist.iter();
        call.blacklist_add = excluded.map(|&place| self.place(place)).collect();
        call
    }

    /// The asks of a key.
    fn asks(&self, key: &KeyAsks, into: &mut Vec<Ask>) {
        for ask in key.places.iter().filter(|ask| ask.count > 0) {
            into.push(Ask {
                priority: key.key.priority,
                request_id: key.key.request_id,
                place: self.place(ask.place),
                size: ask.size.get(),
                count: ask.count,
                relax_locality: ask.relax,
                partition: ask.partition.map(|label| self.label(label)),
            });
        }
    }

    /// The gangs of an application that wait, with the time that they have left.
    fn gangs(&self, app: ApplicationId) -> Vec<GangAsk> {
        let gangs = self.facts.rest.gangs.iter();
        let gangs = gangs.filter(|gang| gang.app == app);
        let ask = |gang: &WaitingGang| GangAsk {
            priority: gang.key.priority,
            request_id: gang.key.request_id,
            size: gang.size,
            minimum: gang.minimum,
            elastic: gang.elastic,
            within_ms: gang
                .deadline_ms
                .saturating_sub(self.facts.rest.now_ms)
                .max(1),
            close: gang.close.clone(),
            partition: Some(self.label(gang.partition)),
        };
        gangs.map(ask).collect()
    }

    fn label(&self, partition: PartitionId) -> String {
        self.state.partitions[partition].name.to_string()
    }

    fn place(&self, place: NameId) -> String {
        let name = self.facts.running.place_names().get(place.index());
        name.map_or_else(String::new, |name| name.to_string())
    }
}

/// Applications that did not end, by id.
fn by_id(state: &State) -> Vec<(ApplicationId, AppSlot)> {
    let apps = (0..state.apps.len()).map(AppSlot::at);
    let apps = apps.filter(|&app| !state.apps[app].stage.is_over());
    let mut apps: Vec<_> = apps.map(|app| (state.apps[app].id, app)).collect();
    apps.sort_unstable();
    apps
}

/// When an application comes in.
fn turn(row: &App) -> u8 {
    match row.stage {
        AppStage::Active if row.may_ask() => 0,
        AppStage::Active => 1,
        AppStage::Between => 2,
        AppStage::Waiting => 3,
        AppStage::Parked | AppStage::Done | AppStage::Gone => 4,
    }
}

fn entry_of(row: &App) -> RebuiltEntry {
    let waits = matches!(row.stage, AppStage::Waiting | AppStage::Parked);
    match row.stage {
        AppStage::Between => RebuiltEntry::BetweenAttempts(row.attempt),
        // Taken over, an application that needs no master would be served at once.
        _ if row.unmanaged && waits => RebuiltEntry::Submitted,
        _ => RebuiltEntry::Recovered(row.attempt, row.master),
    }
}

/// The scheduling request of a key, if containers of it are outstanding.
fn constrained(key: &KeyAsks) -> Option<ConstrainedAsk> {
    let fixed = key.constrained.as_ref()?;
    let count = key.count(NameId::ANY);
    (count > 0).then(|| ConstrainedAsk {
        priority: key.key.priority,
        request_id: key.key.request_id,
        size: fixed.size,
        count,
        tags: fixed.tags.iter().map(ToString::to_string).collect(),
        constraint: fixed.constraint.as_ref().map(ToString::to_string),
    })
}
