//! The player: a minimal resource manager around the engine that carries out steps.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use capsched::api::{
    AppError, AppSpec, AppStage, Ask, AskCall, AskError, ConstrainedAsk, Decision, NodeReport,
    NodeSpec, PartitionSpec, Sequential, StateView, SubmitError, TreeSettings,
};
use capsched::config;
use capsched::id::{ApplicationId, ContainerId, NodeName};
use capsched::resource::ResourceVector;
use serde_json::{Map, Value, json};

use super::compare::{Difference, differences};
use super::decision::Teller;
use super::scenario::{self, Action, Scenario, reference};

type Pairs = BTreeMap<String, String>;

/// The engine and what the resource manager around it remembers.
struct Player<'a> {
    scenario: &'a Scenario,
    engine: Sequential,
    config: Pairs,
    /// Where each application ever submitted stood after the last step.
    seen: BTreeMap<u32, Option<AppStage>>,
    unmanaged: BTreeMap<u32, bool>,
}

/// Plays a scenario; the first step that differs, and how.
pub(super) fn play(scenario: &Scenario) -> Result<Option<(usize, Vec<Difference>)>> {
    let first = &scenario.steps[0];
    let mut player = match start(scenario) {
        Ok(player) => player,
        Err(code) => {
            let actual = json!({"accepted": false, "error": {"code": code}});
            if !matches!(first.action, Action::Start {}) {
                let found = differences(&json!({"accepted": true}), &actual);
                return Ok(Some((0, found)));
            }
            let found = differences(&first.expect, &actual);
            return Ok((!found.is_empty()).then_some((0, found)));
        }
    };
    for (i, step) in scenario.steps.iter().enumerate() {
        let actual = player.step(&step.action)?;
        let found = differences(&step.expect, &actual);
        if !found.is_empty() {
            return Ok(Some((i, found)));
        }
    }
    Ok(None)
}

fn start(scenario: &Scenario) -> Result<Player<'_>, String> {
    let types = &scenario.resource_types;
    let settings = settings(&scenario.site, &scenario.config, types)?;
    let labels: Vec<_> = scenario
        .cluster_labels
        .iter()
        .map(|label| PartitionSpec {
            name: label.name.clone(),
            exclusive: label.exclusive,
        })
        .collect();
    let engine = Sequential::new(settings, &labels).map_err(|error| error.code().to_owned())?;
    Ok(Player {
        scenario,
        engine,
        config: scenario.config.clone(),
        seen: BTreeMap::new(),
        unmanaged: BTreeMap::new(),
    })
}

/// The tree of a configuration, or the code of the reason why there is none.
fn settings(site: &Pairs, pairs: &Pairs, types: &[String]) -> Result<TreeSettings, String> {
    match config::from_pairs(site, pairs, types) {
        Ok(loaded) => Ok(loaded.settings),
        Err(report) => {
            let code = report.first_error().map_or("other", |error| error.code);
            // The scenarios have no words for the other reasons.
            let known = ["capacity_sum", "mixed_capacity_modes"];
            let code = known.into_iter().find(|known| *known == code);
            Err(code.unwrap_or("other").to_owned())
        }
    }
}

type Answer = Map<String, Value>;

fn skipped(out: &mut Answer, why: &str) {
    out.insert("skipped".into(), json!(why));
}

fn error(out: &mut Answer, code: &str) {
    out.insert("error".into(), json!({"code": code}));
}

impl Player<'_> {
    fn step(&mut self, action: &Action) -> Result<Value> {
        if matches!(action, Action::State {}) {
            return Ok(serde_json::to_value(StateView::of(self.engine.ledger()))?);
        }
        let mut out = Answer::new();
        self.carry_out(action, &mut out)?;
        self.tell_events(&mut out);
        self.tell_stages(&mut out);
        Ok(Value::Object(out))
    }

    fn carry_out(&mut self, action: &Action, out: &mut Answer) -> Result<()> {
        match action {
            Action::Start {} => bail!("the configuration was accepted, a refusal was recorded"),
            Action::Preempt {} | Action::AdvanceClock { .. } => {
                bail!("preemption is not supported")
            }
            Action::State {} => {}
            Action::Submit(submit) => self.submit(submit, out),
            Action::Ask(ask) => self.ask(ask, out),
            Action::Complete { app, container } => {
                let number = Some(*container);
                self.complete(*app, number, out);
            }
            Action::CompleteNth { app, nth } => {
                let number = self.nth(*app, *nth, &[]);
                self.complete(*app, number, out);
            }
            Action::FinishApp { app } | Action::KillApp { app } => {
                if self.engine.finish_app(ApplicationId::new(*app)).is_err() {
                    skipped(out, "no such application");
                }
            }
            Action::ChangePriority { app, priority } => {
                match self
                    .engine
                    .change_priority(ApplicationId::new(*app), *priority)
                {
                    Ok(effective) => {
                        out.insert("priority".into(), json!(effective));
                    }
                    Err(_) => skipped(out, "no such application"),
                }
            }
            Action::MoveApp { app, queue } => self.move_app(*app, queue, out),
            Action::Reconfigure { set, remove } => self.reconfigure(set, remove, out),
            _ => self.node_action(action, out)?,
        }
        Ok(())
    }

    fn node_action(&mut self, action: &Action, out: &mut Answer) -> Result<()> {
        let label = |labels: &[String]| labels.first().cloned().unwrap_or_default();
        match action {
            Action::AddNode {
                node,
                rack,
                res,
                labels,
            } => {
                if self.engine.ledger().node(&node.0).is_some() {
                    skipped(out, "node is already registered");
                    return Ok(());
                }
                let mut spec = NodeSpec::new(node.0.clone(), res.0);
                spec.partition = label(labels);
                if let Some(rack) = rack {
                    spec.rack.clone_from(rack);
                }
                self.engine.add_node(&spec)?;
            }
            Action::RemoveNode { node } => {
                if self.known(&node.0, out) {
                    self.engine.remove_node(&node.0)?;
                }
            }
            Action::UpdateNodeResource {
                node,
                res,
                overcommit_timeout,
            } => {
                if overcommit_timeout.is_some_and(|timeout| timeout != -1) {
                    bail!("overcommit timeouts other than -1 are not supported");
                }
                if self.known(&node.0, out) {
                    self.engine.resize_node(&node.0, res.0)?;
                }
            }
            Action::UpdateNodeLabels { node, labels } => {
                if self.known(&node.0, out) {
                    self.engine.relabel_node(&node.0, &label(labels))?;
                }
            }
            Action::Decommission { node } => {
                if self.known(&node.0, out) {
                    self.engine.decommission_node(&node.0)?;
                }
            }
            _ => self.round(action, out)?,
        }
        Ok(())
    }

    /// Heartbeats and attempts.
    fn round(&mut self, action: &Action, out: &mut Answer) -> Result<()> {
        match action {
            Action::Heartbeat { node } => {
                if self.known(&node.0, out) {
                    let reply = self.engine.heartbeat(&node.0, &NodeReport::AsExpected)?;
                    list(
                        out,
                        "launched",
                        reply.launched.into_iter().map(reference).collect(),
                    );
                    list(
                        out,
                        "exited",
                        reply.exited.into_iter().map(reference).collect(),
                    );
                }
            }
            Action::ScheduleNode { node } => {
                if self.known(&node.0, out) {
                    match self.engine.schedule_node(&node.0) {
                        Some(attempt) => {
                            out.insert("assigned".into(), json!(attempt.proposed));
                        }
                        None => skipped(out, "node is not running"),
                    }
                }
            }
            Action::SchedulePartition { partition, times } => {
                match self
                    .engine
                    .schedule_partition(partition, times.unwrap_or(1))
                {
                    Some(attempt) => {
                        out.insert("assigned".into(), json!(attempt.proposed));
                    }
                    None => skipped(out, "no running node in the partition"),
                }
            }
            other => bail!("step {other:?} is not known"),
        }
        Ok(())
    }

    fn known(&self, node: &NodeName, out: &mut Answer) -> bool {
        let known = self.engine.ledger().node(node).is_some();
        if !known {
            skipped(out, "no such node");
        }
        known
    }

    fn submit(&mut self, submit: &scenario::Submit, out: &mut Answer) {
        let id = ApplicationId::new(submit.app);
        let spec = AppSpec {
            id,
            user: submit.user.clone(),
            queue: match &submit.placement_parent {
                Some(parent) => format!("{parent}.{}", submit.queue),
                None => submit.queue.clone(),
            },
            priority: submit.priority,
            master: match (&submit.am, submit.unmanaged) {
                (Some(size), false) => Some(size.0),
                (None, false) => Some(ResourceVector::NONE),
                (_, true) => None,
            },
            master_partition: submit.am_label.clone(),
            partition: submit.label.clone(),
            tags: Vec::new(),
        };
        match self.engine.submit(&spec) {
            Ok(accepted) => {
                out.insert("accepted".into(), json!(true));
                out.insert("state".into(), json!(stage_name(Some(accepted.stage))));
                if let Some(size) = accepted.master {
                    let types = self.scenario.resource_types.len();
                    out.insert("am".into(), json!(size.values(types)));
                }
                self.unmanaged.insert(submit.app, submit.unmanaged);
                self.seen.entry(submit.app).or_insert(None);
            }
            Err(refused) => {
                out.insert("accepted".into(), json!(false));
                error(out, submit_code(&refused));
            }
        }
    }

    fn ask(&mut self, ask: &scenario::Ask, out: &mut Answer) {
        let id = ApplicationId::new(ask.app);
        if !self.may_ask(id) {
            skipped(out, "application master is not running");
            return;
        }
        let mut release: Vec<u32> = ask.release.clone();
        if let Some(positions) = &ask.release_nth {
            release.retain(|number| self.is_live(id, *number));
            for &position in positions {
                release.extend(self.nth(ask.app, position, &release));
            }
            out.insert("released".into(), json!(release));
        }
        let call = AskCall {
            asks: ask.requests.iter().map(to_ask).collect(),
            constrained: ask.scheduling_requests.iter().map(to_constrained).collect(),
            release,
            blacklist_add: ask.blacklist_add.clone(),
            blacklist_remove: ask.blacklist_remove.clone(),
        };
        match self.engine.ask(id, &call) {
            Ok(reply) => {
                let numbers = reply
                    .allocated
                    .iter()
                    .map(|granted| granted.container.number);
                list(out, "allocated", numbers.collect());
                let types = self.scenario.resource_types.len();
                out.insert("headroom".into(), json!(reply.headroom.values(types)));
                list(out, "finished", reply.finished);
                list(out, "preempt_negotiable", reply.asked_back);
            }
            Err(refused) => error(out, ask_code(&refused)),
        }
    }

    fn may_ask(&self, id: ApplicationId) -> bool {
        let ledger = self.engine.ledger();
        ledger.app(id).is_some_and(|slot| {
            let app = &ledger.state().apps[slot];
            app.unmanaged || app.master.is_some()
        })
    }

    fn is_live(&self, id: ApplicationId, number: u32) -> bool {
        let container = ContainerId { app: id, number };
        self.engine.ledger().live_container(container).is_some()
    }

    /// The container at a position among those handed to an application and not ended.
    fn nth(&self, app: u32, position: usize, without: &[u32]) -> Option<u32> {
        let ledger = self.engine.ledger();
        let slot = ledger.app(ApplicationId::new(app))?;
        let handed: Vec<u32> = ledger
            .live_containers(slot)
            .filter(|container| container.is_handed() && !container.master)
            .map(|container| container.id.number)
            .filter(|number| !without.contains(number))
            .collect();
        if handed.is_empty() {
            return None;
        }
        Some(handed[position % handed.len()])
    }

    fn complete(&mut self, app: u32, number: Option<u32>, out: &mut Answer) {
        let ledger = self.engine.ledger();
        let id = number.map(|number| ContainerId {
            app: ApplicationId::new(app),
            number,
        });
        let handed = id.filter(|&id| {
            ledger
                .live_container(id)
                .is_some_and(|slot| ledger.container(slot).is_handed())
        });
        match handed {
            Some(id) => {
                out.insert("container".into(), json!(reference(id)));
                self.engine.container_finished(id);
            }
            None => skipped(out, "no such container"),
        }
    }

    fn move_app(&mut self, app: u32, queue: &str, out: &mut Answer) {
        match self.engine.move_app(ApplicationId::new(app), queue) {
            Ok(()) => {
                out.insert("moved".into(), json!(true));
            }
            Err(AppError::Unknown(_)) => skipped(out, "no such application"),
            Err(refused) => {
                out.insert("moved".into(), json!(false));
                error(out, refused.code());
            }
        }
    }

    fn reconfigure(&mut self, set: &Pairs, remove: &[String], out: &mut Answer) {
        let mut changed = self.config.clone();
        changed.retain(|key, _| !remove.contains(key));
        changed.extend(set.iter().map(|(key, value)| (key.clone(), value.clone())));
        let (site, types) = (&self.scenario.site, &self.scenario.resource_types);
        let accepted = settings(site, &changed, types)
            .is_ok_and(|settings| self.engine.reconfigure(settings).is_ok());
        out.insert("accepted".into(), json!(accepted));
        if accepted {
            self.config = changed;
        } else {
            error(out, "invalid_configuration");
            // The reference applies its old configuration once more.
            if let Ok(settings) = settings(site, &self.config, types) {
                self.engine.reapply(settings);
            }
        }
        let view = self.engine.ledger().child_order();
        out.insert("child_order".into(), json!(view));
    }

    fn tell_stages(&mut self, out: &mut Answer) {
        let (mut activated, mut made_runnable) = (Vec::new(), Vec::new());
        let ledger = self.engine.ledger();
        for (&app, seen) in &mut self.seen {
            let stage = ledger
                .app(ApplicationId::new(app))
                .map_or(AppStage::Done, |slot| ledger.state().apps[slot].stage);
            if stage == AppStage::Active && *seen != Some(AppStage::Active) {
                activated.push(app);
            }
            let freed = stage != AppStage::Parked && stage != AppStage::Done;
            if *seen == Some(AppStage::Parked) && freed {
                made_runnable.push(app);
            }
            *seen = Some(stage);
        }
        list(out, "activated", activated);
        list(out, "made_runnable", made_runnable);
    }

    fn teller(&self) -> Teller<'_> {
        Teller {
            types: self.scenario.resource_types.len(),
            state: self.engine.ledger().state(),
        }
    }

    fn tell_events(&mut self, out: &mut Answer) {
        let mut decisions: Vec<Value> = Vec::new();
        let (mut started, mut lost) = (Vec::new(), Vec::new());
        for event in self.engine.take_events() {
            match &event {
                Decision::MasterStarted { app, container } => {
                    started.extend(container.map(|_| app.sequence));
                }
                Decision::MasterLost { app } => lost.push(app.sequence),
                _ => self.teller().tell(&event, &mut decisions),
            }
        }
        list(out, "decisions", decisions);
        list(out, "am_started", started);
        list(out, "am_lost", lost);
    }
}

fn list<T: serde::Serialize>(out: &mut Answer, key: &str, items: Vec<T>) {
    if !items.is_empty() {
        out.insert(key.into(), json!(items));
    }
}

fn to_ask(request: &scenario::Request) -> Ask {
    Ask {
        priority: request.priority.unwrap_or(1),
        request_id: request.id,
        place: request.name.clone().unwrap_or_else(|| "*".to_owned()),
        size: request.res.0,
        count: request.count.unwrap_or(1),
        relax_locality: request.relax.unwrap_or(true),
        partition: request.label.clone(),
    }
}

fn to_constrained(request: &scenario::SchedulingRequest) -> ConstrainedAsk {
    ConstrainedAsk {
        priority: request.priority.unwrap_or(1),
        request_id: request.id,
        size: request.res.0,
        count: request.count.unwrap_or(1),
        tags: request.tags.clone(),
        constraint: request.constraint.clone(),
    }
}

fn stage_name(stage: Option<AppStage>) -> &'static str {
    match stage {
        Some(AppStage::Parked) => "non_runnable",
        Some(AppStage::Waiting) => "pending",
        Some(AppStage::Active) => "active",
        Some(AppStage::Done | AppStage::Gone) | None => "done",
    }
}

fn submit_code(refused: &SubmitError) -> &'static str {
    refused.code()
}

fn ask_code(refused: &AskError) -> &'static str {
    refused.code()
}
