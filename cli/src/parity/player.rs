//! The player: a minimal resource manager around the engine that carries out steps.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use capsched::api::{
    AppStage, AttributeMapping, Event, NodeReport, NodeSpec, PartitionSpec, PreemptionSettings,
    Reference, RefreshError, Rescheduler, Sequential, StateView, TreeSettings,
};
use capsched::config::{self, Options};
use capsched::id::{ApplicationId, NodeName};
use serde_json::{Map, Value, json};

use super::compare::differences;
use super::decision::DecisionWriter;
use super::refresh::not_started;
use super::scenario::{Action, Scenario, reference};
use super::setting::Refused;
use super::verdict::Verdict;

mod applications;
mod meant;

use meant::Meant;

type Pairs = BTreeMap<String, String>;

/// The engine and what the resource manager around it remembers.
#[derive(Debug)]
pub(super) struct Player<'a> {
    scenario: &'a Scenario,
    options: Options,
    engine: Sequential,
    preemption: Rescheduler,
    config: Pairs,
    /// What a difference may follow from.
    meant: Meant,
    /// The label that each node was given last.
    labels: BTreeMap<NodeName, String>,
    /// Where each application ever submitted stood after the last step.
    seen: BTreeMap<u32, Option<AppStage>>,
}

/// Plays a scenario up to the first step that differs.
pub(super) fn play(scenario: &Scenario, reference: Reference) -> Result<Verdict> {
    let mut player = match start(scenario, reference) {
        Ok(player) => player,
        Err(refused) => return Ok(not_started(scenario, &refused)),
    };
    for (i, step) in scenario.steps.iter().enumerate() {
        let actual = player.step(&step.action)?;
        let verdict = Verdict::of_step(i, step.shown(), differences(&step.expect, &actual));
        if !verdict.passed() {
            return Ok(player.explained(verdict));
        }
        player.note_refusal(&step.expect);
    }
    Ok(Verdict::Passed)
}

/// The partition that labels of a node name.
fn label(labels: &[String]) -> String {
    labels.first().cloned().unwrap_or_default()
}

fn start(scenario: &Scenario, reference: Reference) -> Result<Player<'_>, Refused> {
    let options = Options {
        resource_types: Some(scenario.resource_types.clone()),
        reference,
        ..Options::default()
    };
    let (settings, preemption) = settings(&scenario.site, &scenario.config, &options)?;
    let labels: Vec<_> = scenario
        .cluster_labels
        .iter()
        .map(|label| PartitionSpec {
            name: label.name.clone(),
            exclusive: label.exclusive,
        })
        .collect();
    let engine = Sequential::new(settings, &labels).map_err(|error| Refused {
        words: vec![error.code().to_owned()],
        code: error.code().to_owned(),
        adds_queues: false,
    })?;
    let preemption = Rescheduler::new(preemption);
    Ok(Player::over(scenario, engine, preemption, options))
}

/// The tree of a configuration, or the reasons why there is none.
fn settings(
    site: &Pairs,
    pairs: &Pairs,
    options: &Options,
) -> Result<(TreeSettings, PreemptionSettings), Refused> {
    match config::load_pairs(site, pairs, options) {
        Ok(loaded) => Ok((loaded.settings, loaded.preemption)),
        Err(report) => {
            let code = report.first_error().map_or("other", |error| error.code);
            // The scenarios have no words for the other reasons.
            let known = ["capacity_sum", "mixed_capacity_modes"];
            let word = known.into_iter().find(|known| *known == code);
            Err(Refused {
                words: vec![word.unwrap_or("other").to_owned()],
                code: code.to_owned(),
                adds_queues: false,
            })
        }
    }
}

fn pairs(of: &Pairs) -> Vec<(String, String)> {
    let pairs = of.iter();
    pairs
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

type Answer = Map<String, Value>;

fn skipped(out: &mut Answer, why: &str) {
    out.insert("skipped".into(), json!(why));
}

fn error(out: &mut Answer, code: &str) {
    out.insert("error".into(), json!({"code": code}));
}

impl<'a> Player<'a> {
    /// A player over an engine that was started with the scenario's configuration.
    pub(super) fn over(
        scenario: &'a Scenario,
        engine: Sequential,
        preemption: Rescheduler,
        options: Options,
    ) -> Self {
        Self {
            scenario,
            options,
            engine,
            preemption,
            config: scenario.config.clone(),
            meant: Meant::default(),
            labels: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    /// The engine, to be read.
    pub(super) fn engine(&self) -> &Sequential {
        &self.engine
    }

    /// The verdict on a step that differs.
    pub(super) fn explained(&self, verdict: Verdict) -> Verdict {
        self.meant.explained(verdict)
    }

    /// Looks at a recorded refusal of a refresh.
    pub(super) fn note_refusal(&mut self, recorded: &Value) {
        self.meant.note_refusal(&self.engine, recorded);
    }

    /// Replaces the whole configuration.
    pub(super) fn refresh(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        self.engine.reconfigure(settings)
    }

    /// Carries out a step; what it came to, in the words of the recordings.
    pub(super) fn step(&mut self, action: &Action) -> Result<Value> {
        if matches!(action, Action::State {}) {
            return Ok(serde_json::to_value(StateView::of(self.engine.ledger()))?);
        }
        let mut out = Answer::new();
        self.carry_out(action, &mut out)?;
        self.meant.note_lists(&self.engine);
        self.write_events(&mut out);
        self.write_stages(&mut out);
        Ok(Value::Object(out))
    }

    fn carry_out(&mut self, action: &Action, out: &mut Answer) -> Result<()> {
        match action {
            Action::Start {} => bail!("the configuration was accepted, a refusal was recorded"),
            Action::Preempt {} => self.preempt(out),
            Action::AdvanceClock { ms } => self.engine.advance_clock(*ms),
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
        match action {
            Action::AddNode { .. } => self.add_node(action, out)?,
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
                    self.labels.insert(node.0.clone(), label(labels));
                }
            }
            Action::UpdateNodeAttributes { node, attributes } => {
                if self.known(&node.0, out) {
                    self.replace_attributes(&node.0, attributes)?;
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

    fn add_node(&mut self, action: &Action, out: &mut Answer) -> Result<()> {
        let Action::AddNode {
            node,
            rack,
            res,
            labels,
            attributes,
        } = action
        else {
            bail!("step {action:?} adds no node");
        };
        let mut spec = NodeSpec::new(node.0.clone(), res.0);
        let before = self.labels.get(&node.0);
        spec.partition = match labels {
            Some(labels) => label(labels),
            None => before.cloned().unwrap_or_default(),
        };
        spec.attributes = pairs(attributes);
        if let Some(rack) = rack {
            spec.rack.clone_from(rack);
        }
        if self.engine.ledger().node(&spec.name).is_some() {
            skipped(out, "node is already registered");
        } else {
            self.engine.add_node(&spec)?;
            self.labels.insert(spec.name, spec.partition);
        }
        Ok(())
    }

    fn replace_attributes(&mut self, node: &NodeName, attributes: &Pairs) -> Result<()> {
        let all = AttributeMapping::Replace {
            prefix: String::new(),
        };
        self.engine.map_attributes(node, &all, &pairs(attributes))?;
        Ok(())
    }

    fn heartbeat(&mut self, node: &NodeName, out: &mut Answer) -> Result<()> {
        if self.known(node, out) {
            let reply = self.engine.heartbeat(node, &NodeReport::AsExpected)?;
            let references = |ids: Vec<_>| ids.into_iter().map(reference).collect::<Vec<_>>();
            list(out, "launched", references(reply.launched));
            list(out, "exited", references(reply.exited));
        }
        Ok(())
    }

    /// Heartbeats and attempts.
    fn round(&mut self, action: &Action, out: &mut Answer) -> Result<()> {
        match action {
            Action::Heartbeat { node } => self.heartbeat(&node.0, out)?,
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

    fn reconfigure(&mut self, set: &Pairs, remove: &[String], out: &mut Answer) {
        let mut changed = self.config.clone();
        changed.retain(|key, _| !remove.contains(key));
        changed.extend(set.iter().map(|(key, value)| (key.clone(), value.clone())));
        let site = &self.scenario.site;
        let fresh = settings(site, &changed, &self.options).ok();
        let accepted = fresh.as_ref().is_some_and(|(settings, preemption)| {
            let accepted = self.engine.reconfigure(settings.clone()).is_ok();
            if accepted {
                self.preemption.settings = preemption.clone();
            }
            accepted
        });
        out.insert("accepted".into(), json!(accepted));
        if accepted {
            self.config = changed;
        } else {
            error(out, "invalid_configuration");
            if let Ok((present, _)) = settings(site, &self.config, &self.options) {
                self.meant.half_applied |= self.engine.check_reconfigure(&present).is_err();
                let refused = fresh.map(|(refused, _)| refused);
                self.engine.reapply(refused, present);
            }
        }
        let view = self.engine.ledger().state().child_order();
        out.insert("child_order".into(), json!(view));
    }

    /// One round of preemption: what it asks back, and what it kills or drops.
    fn preempt(&mut self, out: &mut Answer) {
        let policy = &mut self.preemption;
        let round = self.engine.preempt(|ledger| policy.round(ledger));
        list(
            out,
            "mark",
            round.marks.into_iter().map(reference).collect(),
        );
        let kills = round.kills.into_iter();
        let mut rows: Vec<_> = kills.map(|id| (id, json!(reference(id)))).collect();
        rows.extend(round.dropped.into_iter().map(|id| {
            let [app, number] = reference(id);
            (id, json!([app, number, "KILL_RESERVED_CONTAINER"]))
        }));
        rows.sort_by_key(|(id, _)| *id);
        let rows = rows.into_iter().map(|(_, rows)| rows);
        list(out, "kill", rows.collect());
    }

    fn write_stages(&mut self, out: &mut Answer) {
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

    fn decision_writer(&self) -> DecisionWriter<'_> {
        DecisionWriter {
            types: self.scenario.resource_types.len(),
            state: self.engine.ledger().state(),
        }
    }

    fn write_events(&mut self, out: &mut Answer) {
        let mut decisions: Vec<Value> = Vec::new();
        let (mut started, mut lost) = (Vec::new(), Vec::new());
        for event in self.engine.take_events() {
            match &event {
                Event::MasterStarted { app, container } => {
                    started.extend(container.map(|_| app.sequence));
                }
                Event::MasterLost { app } => lost.push(app.sequence),
                _ => self.decision_writer().write(&event, &mut decisions),
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
