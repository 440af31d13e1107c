//! Engines behind the scheduler trait: sequential ones run step by step, and threaded ones.

mod explained;
mod preemption;
mod rounds;
mod threaded;

use std::collections::{BTreeMap, BTreeSet};

use super::container_error::ContainerError;
use super::scheduler::{RoundPart, Scheduler};
use crate::commit::{
    AppError, AskError, Event, HeartbeatReply, NodeError, PartitionSpec, Recovered, RefreshError,
    SubmitError, Submitted,
};
use crate::id::{ApplicationId, ContainerId, Map, NodeName, NodeSlot};
use crate::metrics::Closed;
use crate::queue::{
    AppSpec, Ask, AskCall, AskReply, GangAsk, NodeReport, NodeSpec, RunningContainer, TreeSettings,
};
use crate::rescheduler::Rescheduler;
use crate::runtime::Sequential;

/// Which of the three modes decides, when rounds are run step by step.
///
/// ```
/// use capsched::api::ModeKind;
///
/// assert_eq!(ModeKind::Global.name(), "global");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModeKind {
    /// Nodes are scheduled at their heartbeats.
    Heartbeat,
    /// Rounds walk the nodes one by one, whatever their heartbeats.
    Asynchronous,
    /// Rounds look at all nodes of a partition.
    Global,
}

impl ModeKind {
    /// The mode's name in output: `heartbeat`, `asynchronous`, `global`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Asynchronous => "asynchronous",
            Self::Global => "global",
        }
    }
}

/// A sequential engine in one of the modes. Same calls, same decisions.
///
/// ```
/// use capsched::api::*;
///
/// let mut engine = Stepped::new(Engine::builder(example::settings()).sequential()?, ModeKind::Asynchronous);
/// engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[8192, 8])))?;
/// engine.submit(AppSpec::new(ApplicationId::new(1), "root.a", "ann"))?;
/// let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 1);
/// engine.ask(ApplicationId::new(1), AskCall::asking(vec![ask]))?;
/// assert_eq!(engine.tick(), 1); // a round looks at every node; no heartbeat was needed
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stepped {
    engine: Sequential,
    mode: ModeKind,
    nodes: Vec<(NodeName, NodeSlot)>,
    partitions: BTreeSet<String>,
    events: Vec<Event>,
    /// Proposals that the commit refused, by reason.
    conflicts: BTreeMap<&'static str, u64>,
    /// The same by application, since it last got something.
    refused: Map<ApplicationId, u64>,
    /// Where the next asynchronous walk starts.
    start: usize,
    /// Nodes that a round in parts has walked, or attempts that it made on its partition.
    walked: usize,
    /// The partition that a round in parts goes on with; nothing: the first.
    within: Option<String>,
    /// Whether attempts look at all nodes whatever the settings say.
    all_nodes: bool,
    preemption: Rescheduler,
    /// When the next round of preemption is due in ms.
    due_ms: u64,
}

impl Stepped {
    /// An engine that is scheduled in `mode`, whatever its configuration says about asynchronous
    /// scheduling.
    #[must_use]
    pub fn new(mut engine: Sequential, mode: ModeKind) -> Self {
        engine.keep_silently();
        engine.name_mode(mode == ModeKind::Heartbeat);
        Self {
            engine,
            mode,
            nodes: Vec::new(),
            partitions: BTreeSet::new(),
            events: Vec::new(),
            conflicts: BTreeMap::new(),
            refused: Map::default(),
            start: 0,
            walked: 0,
            within: None,
            all_nodes: false,
            preemption: Rescheduler::default(),
            due_ms: 0,
        }
    }

    /// One tick: in heartbeat mode every node reports once, in the other modes one round runs. The
    /// number of containers placed.
    pub fn tick(&mut self) -> usize {
        if self.mode != ModeKind::Heartbeat {
            return self.schedule();
        }
        for (node, _) in &self.nodes {
            // A node that is known here is registered.
            let _ = self.engine.heartbeat(node, &NodeReport::AsExpected);
        }
        self.gather()
    }

    /// Takes over new settings of queues and scheduler.
    ///
    /// # Errors
    ///
    /// When a live scheduler may not change to them; nothing changed then.
    pub fn reconfigure(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        self.refresh(settings, None)
    }

    /// The same with the labels that the cluster knows from then on, all of it or nothing. Without labels those that
    /// it knows stay.
    ///
    /// # Errors
    ///
    /// When a live scheduler may not change to them; nothing changed then.
    pub fn refresh(
        &mut self,
        mut settings: TreeSettings,
        labels: Option<&[PartitionSpec]>,
    ) -> Result<(), RefreshError> {
        if self.all_nodes {
            settings.scheduler.look_at_all_nodes();
        }
        match labels {
            None => self.engine.reconfigure(settings)?,
            Some(labels) => self.engine.reconfigure_with_labels(settings, labels)?,
        }
        self.gather();
        Ok(())
    }

    /// Carries out every heartbeat, round and attempt, even those that surely come to nothing; decisions are the
    /// same, and take longer.
    #[must_use]
    pub fn carrying_out_all(mut self) -> Self {
        self.engine.carry_out_all(true);
        self
    }

    /// Proposals that the commit refused, by reason.
    #[must_use]
    pub fn conflicts(&self) -> &BTreeMap<&'static str, u64> {
        &self.conflicts
    }

    /// The engine, to be read.
    #[must_use]
    pub fn engine(&self) -> &Sequential {
        &self.engine
    }

    /// How many events wait to be taken.
    #[must_use]
    pub fn events_waiting(&self) -> usize {
        self.events.len() + self.engine.ledger().event_count()
    }

    fn gather(&mut self) -> usize {
        let before = self.events.len();
        let events = self.engine.take_events();
        for event in &events {
            match event {
                Event::Rejected { conflict, app, .. } => {
                    *self.conflicts.entry(conflict.name()).or_default() += 1;
                    *self.refused.entry(*app).or_default() += 1;
                }
                Event::Allocated { container, .. } if !self.refused.is_empty() => {
                    self.refused.remove(&container.app);
                }
                _ => {}
            }
        }
        let changes = events.into_iter().filter(Event::changes_something);
        self.events.extend(changes);
        let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
        self.events[before..].iter().filter(placed).count()
    }
}

impl Scheduler for Stepped {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.engine.add_node(&node)?;
        let slot = self.engine.ledger().node(&node.name);
        self.nodes.extend(slot.map(|slot| (node.name, slot)));
        self.partitions.insert(node.partition);
        self.gather();
        Ok(())
    }

    fn add_nodes(&mut self, nodes: Vec<NodeSpec>) -> Result<(), NodeError> {
        let mut added = Vec::with_capacity(nodes.len());
        let result = self.engine.add_nodes(&nodes, &mut added);
        for (node, slot) in nodes.into_iter().zip(added) {
            self.nodes.push((node.name, slot));
            self.partitions.insert(node.partition);
        }
        self.gather();
        result
    }

    fn register_node(
        &mut self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        let recovered = self.engine.register_node(&node, &running)?;
        let slot = self.engine.ledger().node(&node.name);
        self.nodes.extend(slot.map(|slot| (node.name, slot)));
        self.partitions.insert(node.partition);
        self.gather();
        Ok(recovered)
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.engine.remove_node(node)?;
        self.nodes.retain(|(other, _)| other != node);
        self.gather();
        Ok(())
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        let submitted = self.engine.submit(&app)?;
        self.gather();
        Ok(submitted)
    }

    fn recover_app(
        &mut self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        let recovered = self.engine.recover_app(&app, attempt, master);
        self.gather();
        recovered
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        let reply = self.engine.ask(app, &call);
        self.gather();
        reply
    }

    fn ask_gang(&mut self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        let result = self.engine.ask_gang(app, &gang);
        self.gather();
        result
    }

    fn ask_opportunistic(&mut self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        let result = self.engine.ask_opportunistic(app, &asks);
        self.gather();
        result
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        let reply = match self.mode {
            ModeKind::Heartbeat => self.engine.heartbeat(node, &report),
            ModeKind::Asynchronous | ModeKind::Global => self.engine.node_reported(node, &report),
        };
        self.gather();
        reply
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        self.container_exited(container, 0)
    }

    fn container_exited(
        &mut self,
        container: ContainerId,
        status: i32,
    ) -> Result<(), ContainerError> {
        if !self.engine.container_exited(container, status) {
            return Err(ContainerError(container));
        }
        self.gather();
        Ok(())
    }

    fn end_attempt(&mut self, app: ApplicationId) -> Result<(), AppError> {
        let result = self.engine.end_attempt(app);
        self.gather();
        result
    }

    fn start_attempt(&mut self, app: ApplicationId) -> Result<u32, AppError> {
        let result = self.engine.start_attempt(app);
        self.gather();
        result
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.engine.finish_app(app)?;
        self.gather();
        Ok(())
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    fn schedule(&mut self) -> usize {
        self.engine.begin_round();
        match self.mode {
            ModeKind::Heartbeat => {}
            ModeKind::Asynchronous => self.walk_nodes(),
            ModeKind::Global => self.walk_partitions(),
        }
        self.engine.end_round();
        self.gather()
    }

    fn schedule_part(&mut self, steps: u64) -> RoundPart {
        let part = match self.mode {
            ModeKind::Heartbeat => RoundPart {
                ended: true,
                ..RoundPart::default()
            },
            ModeKind::Asynchronous => self.walk_on(steps),
            ModeKind::Global => self.attempt_on(steps),
        };
        self.gather();
        part
    }

    fn next_alarm_ms(&self) -> u64 {
        let preemption = self.preemption.settings.interval_ms();
        let preemption = preemption.map_or(u64::MAX, |_| self.due_ms);
        let deadline = self.engine.ledger().next_deadline();
        preemption.min(deadline.unwrap_or(u64::MAX))
    }

    fn pass_heartbeats(&mut self, first: &NodeName, most: u64) -> u64 {
        let schedules = self.mode == ModeKind::Heartbeat;
        self.engine
            .pass_heartbeats(&self.nodes, first, most, schedules)
    }

    fn looks_may_bring(&mut self) -> bool {
        self.engine.may_starve_later()
    }

    fn pass_rounds(&mut self, most: u64) -> u64 {
        let rounds = self.engine.repeat_round(most);
        if self.mode == ModeKind::Asynchronous
            && let Ok(nodes @ 1..) = u64::try_from(self.nodes.len())
        {
            let start = u64::try_from(self.start).unwrap_or(0) + rounds % nodes;
            self.start = usize::try_from(start % nodes).unwrap_or(0);
        }
        rounds
    }

    fn advance(&mut self, to_ms: u64) {
        self.preempt_until(to_ms);
        self.engine.advance_to(to_ms);
        self.gather();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config;
    use crate::queue::Ask;
    use crate::resource::ResourceVector;

    fn settings(a: &str, b: &str, mode: ModeKind) -> TreeSettings {
        let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                     ResourceUsageMultiNodeLookupPolicy";
        let mut pairs = vec![
            ("root.queues", "a,b"),
            ("root.a.capacity", a),
            ("root.b.capacity", b),
            ("root.a.user-limit-factor", "10"),
        ];
        if mode == ModeKind::Global {
            pairs.extend([
                ("multi-node-placement-enabled", "true"),
                ("multi-node-sorting.policy.names", "usage"),
                ("multi-node-sorting.policy", "usage"),
                ("multi-node-sorting.policy.usage.class", class),
            ]);
        }
        let own = |(key, value): (&str, &str)| {
            (format!("yarn.scheduler.capacity.{key}"), value.to_owned())
        };
        let pairs: BTreeMap<String, String> = pairs.into_iter().map(own).collect();
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
        loaded.unwrap().settings
    }

    #[test]
    fn ticks_place_everything_in_every_mode_and_a_refresh_keeps_it() {
        for mode in [
            ModeKind::Heartbeat,
            ModeKind::Asynchronous,
            ModeKind::Global,
        ] {
            let sequential = Sequential::new(settings("50", "50", mode), &[]).unwrap();
            let mut engine = Stepped::new(sequential, mode);
            for name in ["n0:1", "n1:1"] {
                let size = ResourceVector::of(&[4096, 4]);
                let node = NodeSpec::new(name.parse().unwrap(), size);
                engine.add_node(node).unwrap();
            }
            let app = ApplicationId::new(1);
            engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
            let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 8);
            engine.ask(app, AskCall::asking(vec![ask])).unwrap();
            let placed: usize = (0..8).map(|_| engine.tick()).sum();
            assert_eq!(placed, 8, "{mode:?}");
            engine.reconfigure(settings("20", "80", mode)).unwrap();
            assert_eq!(engine.tick(), 0, "{mode:?}");
        }
    }
}
