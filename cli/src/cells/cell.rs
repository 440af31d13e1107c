//! One cell: an engine with its nodes, the applications that were sent there, and books kept from outputs alone.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, HandOut, NodeName, NodeReport,
    NodeSpec, ResourceVector, RunningContainer, Sequential, TreeSettings,
};
use capsched::id::Map;
use capsched::time::{Clock, SystemClock};

use super::load::Random;

/// What every container has.
const SLOT: [i64; 2] = [1024, 1];

/// The attempt of every application.
const ATTEMPT: u32 = 1;

/// An application in its cell.
#[derive(Clone, Debug)]
struct SimApp {
    spec: AppSpec,
    /// Containers that were asked for and are not placed.
    waiting: u32,
    /// Containers that run.
    running: u32,
}

/// What a cell came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CellFigures {
    pub(super) apps: u64,
    pub(super) placed: u64,
    /// Containers that were placed on a node without room for them; a defect of the scheduler.
    pub(super) oversubscribed: u64,
    /// Over every decision in order.
    pub(super) hash: u64,
}

/// How a cell came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    pub(super) apps: u64,
    pub(super) nodes: u64,
    /// Containers that ran when the cell went down.
    pub(super) before: u64,
    /// Containers that ended while it was down.
    pub(super) ended: u64,
    /// Containers that the engine took over.
    pub(super) taken: u64,
    /// Containers of live applications that it did not take over.
    pub(super) lost: u64,
    /// Wall time of the start with all applications and nodes, in us.
    pub(super) took_us: u64,
    /// Virtual seconds after the start until a container was placed.
    pub(super) first_s: Option<u64>,
}

/// A cell.
pub(super) struct SimCell {
    settings: TreeSettings,
    engine: Sequential,
    nodes: Vec<NodeSpec>,
    by_name: Map<NodeName, usize>,
    /// Free slots by node, as outputs have it.
    free: Vec<i64>,
    /// Running containers with their nodes.
    running: Map<ContainerId, usize>,
    /// Containers by the second at which they end.
    ends: BTreeMap<u64, Vec<ContainerId>>,
    apps: BTreeMap<ApplicationId, SimApp>,
    random: Random,
    life_s: u64,
    down: bool,
    /// When it came back, while nothing was placed since.
    back_s: Option<u64>,
    pub(super) figures: CellFigures,
    pub(super) recovery: Recovery,
}

fn slot() -> ResourceVector {
    ResourceVector::of(&SLOT)
}

fn asking(count: u32) -> Result<AskCall> {
    let ask = Ask::anywhere(slot(), i32::try_from(count)?);
    Ok(AskCall::asking(vec![ask]))
}

impl SimCell {
    /// A cell with so many nodes of so many slots.
    pub(super) fn new(
        settings: &TreeSettings,
        (number, nodes, slots): (usize, u32, u32),
        (seed, life_s): (u64, u64),
    ) -> Result<Self> {
        let size = ResourceVector::of(&[SLOT[0] * i64::from(slots), SLOT[1] * i64::from(slots)]);
        let names = (0..nodes).map(|node| NodeName::new(&format!("c{number}n{node}"), 8041));
        let nodes: Result<Vec<NodeSpec>, _> = names
            .map(|name| Ok::<_, capsched::api::NodeNameError>(NodeSpec::new(name?, size)))
            .collect();
        let nodes = nodes?;
        let by_name = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.name.clone(), at));
        let mut engine = start(settings)?;
        for node in &nodes {
            engine.add_node(node)?;
        }
        drop(engine.take_events());
        Ok(Self {
            settings: settings.clone(),
            engine,
            by_name: by_name.collect(),
            free: vec![i64::from(slots); nodes.len()],
            nodes,
            running: Map::default(),
            ends: BTreeMap::new(),
            apps: BTreeMap::new(),
            random: Random::seeded(seed ^ (number as u64).wrapping_mul(0xd134_2543_de82_ef95)),
            life_s,
            down: false,
            back_s: None,
            figures: CellFigures::default(),
            recovery: Recovery::default(),
        })
    }

    pub(super) const fn is_up(&self) -> bool {
        !self.down
    }

    /// Containers that run.
    pub(super) fn running(&self) -> u64 {
        self.running.len() as u64
    }

    /// Containers that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.apps.values().map(|app| u64::from(app.waiting)).sum()
    }

    /// Takes an application.
    pub(super) fn submit(&mut self, spec: AppSpec, containers: u32) -> Result<()> {
        let id = spec.id;
        self.engine.submit(&spec)?;
        self.engine.ask(id, &asking(containers)?)?;
        let app = SimApp {
            spec,
            waiting: containers,
            running: 0,
        };
        self.apps.insert(id, app);
        self.figures.apps += 1;
        Ok(())
    }

    /// One second: containers end, every node sends a heartbeat, and what was decided is entered.
    pub(super) fn second(&mut self, now_s: u64) -> Result<()> {
        for container in self.ends.remove(&now_s).unwrap_or_default() {
            if self.down {
                self.recovery.ended += 1;
                self.enter_end(container);
                continue;
            }
            if !self.engine.container_finished(container) {
                return Err(anyhow!("{container} runs, and the engine does not know it"));
            }
        }
        if self.down {
            return Ok(());
        }
        for node in &self.nodes {
            self.engine.heartbeat(&node.name, &NodeReport::AsExpected)?;
        }
        let placed = self.figures.placed;
        for decision in self.engine.take_events() {
            self.enter(&decision, now_s)?;
        }
        if self.figures.placed > placed
            && let Some(back_s) = self.back_s.take()
        {
            self.recovery.first_s = Some(now_s - back_s);
        }
        self.finish_apps(true)
    }

    fn enter(&mut self, decision: &Event, now_s: u64) -> Result<()> {
        match decision {
            Event::Allocated {
                container, node, ..
            } => {
                let at = self.by_name.get(node).copied();
                let at =
                    at.ok_or_else(|| anyhow!("{container} is on {node}, which is no node here"))?;
                self.free[at] -= 1;
                self.figures.oversubscribed += u64::from(self.free[at] < 0);
                self.figures.placed += 1;
                let number =
                    u64::from(container.number) ^ (u64::from(container.app.sequence) << 32);
                let mixed = self.figures.hash.rotate_left(5) ^ number ^ ((at as u64) << 16);
                self.figures.hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                self.running.insert(*container, at);
                let end_s = now_s + self.random.life_s(self.life_s);
                self.ends.entry(end_s).or_default().push(*container);
                if let Some(app) = self.apps.get_mut(&container.app) {
                    app.waiting = app.waiting.saturating_sub(1);
                    app.running += 1;
                }
            }
            Event::Ended { container, .. } => self.enter_end(*container),
            _ => {}
        }
        Ok(())
    }

    fn enter_end(&mut self, container: ContainerId) {
        if let Some(at) = self.running.remove(&container) {
            self.free[at] += 1;
        }
        if let Some(app) = self.apps.get_mut(&container.app) {
            app.running = app.running.saturating_sub(1);
        }
    }

    /// Ends applications that have run all of their containers.
    fn finish_apps(&mut self, in_engine: bool) -> Result<()> {
        let done = |app: &SimApp| app.waiting == 0 && app.running == 0;
        let ended: Vec<ApplicationId> = self
            .apps
            .iter()
            .filter(|(_, app)| done(app))
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            if in_engine {
                self.engine.finish_app(id)?;
            }
            self.apps.remove(&id);
        }
        Ok(())
    }

    /// The resource manager of the cell is gone. Nodes keep what they run.
    pub(super) fn fail(&mut self) {
        self.down = true;
        self.recovery.before = self.running();
    }

    /// Another resource manager takes over: applications come from its store, and nodes register with what they run.
    // As RMAppManager.recover and ResourceTrackerService.registerNodeManager.
    pub(super) fn come_back(&mut self, now_s: u64) -> Result<()> {
        self.finish_apps(false)?;
        let mut by_node: Vec<Vec<RunningContainer>> = vec![Vec::new(); self.nodes.len()];
        let mut running: Vec<(&ContainerId, &usize)> = self.running.iter().collect();
        running.sort();
        for (container, at) in running {
            by_node[*at].push(RunningContainer::new(*container, slot()));
        }
        let clock = SystemClock::new();
        let begun_ns = clock.now_ns();
        let mut engine = start(&self.settings)?;
        engine.begin_recovery();
        for app in self.apps.values() {
            engine.recover_app(&app.spec, ATTEMPT, None)?;
        }
        let mut taken = 0;
        for (node, running) in self.nodes.iter().zip(&by_node) {
            taken += engine.register_node(node, running)?.taken.len() as u64;
        }
        let to_stop = engine.finish_recovery();
        for (id, app) in self.apps.iter().filter(|(_, app)| app.waiting > 0) {
            engine.ask(*id, &asking(app.waiting)?)?;
        }
        drop(engine.take_events());
        self.recovery.took_us = clock.now_ns().saturating_sub(begun_ns) / 1000;
        self.recovery.apps = self.apps.len() as u64;
        self.recovery.nodes = self.nodes.len() as u64;
        self.recovery.taken = taken;
        self.recovery.lost = self.running().saturating_sub(taken) + to_stop.len() as u64;
        self.engine = engine;
        self.down = false;
        self.back_s = Some(now_s);
        Ok(())
    }
}

fn start(settings: &TreeSettings) -> Result<Sequential> {
    let mut engine = Sequential::new(settings.clone(), &[])?;
    engine.set_hand_out(HandOut::Event);
    // A cell schedules its nodes at their heartbeats.
    engine.name_mode(true);
    Ok(engine)
}
