//! A small cluster around the engine: nodes that beat in turn, applications that ask.

use anyhow::{Result, anyhow};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, NodeName, NodeReport, NodeSpec,
    PartitionView, Rescheduler, ResourceVector, Sequential, StateView, UserLimits,
};
use capsched::config::{self, ConfigSource, Layer, Options};

const SITE: &str = include_str!("../../../configs/scenarios/yarn-site.xml");

/// MiB of a GB, as YARN counts.
const GB: i64 = 1024;

/// A size of `gb` GB and a number of vcores.
pub(super) fn size(gb: i64, vcores: i64) -> ResourceVector {
    ResourceVector::of(&[gb * GB, vcores])
}

/// The engine with what an example needs to know about it. Applications have no container for a
/// master, so that every container is one that was asked for.
pub(super) struct Cluster {
    engine: Sequential,
    nodes: Vec<NodeName>,
    /// The node whose turn it is.
    turn: usize,
    apps: u32,
    placed: Vec<ContainerId>,
    /// Rounds of preemption, when the configuration switches them on.
    preemption: Rescheduler,
    now_ms: u64,
    /// When the next of them is due.
    round_ms: u64,
}

impl Cluster {
    /// A cluster of equal nodes under configuration files that are laid over each other.
    pub(super) fn new(files: &[&str], nodes: u16, each: ResourceVector) -> Result<Self> {
        let layered = files.iter().map(|text| (*text, Layer::Scheduler));
        let sources: Vec<_> = std::iter::once((SITE, Layer::Site))
            .chain(layered)
            .map(|(text, layer)| ConfigSource {
                name: "scenario".to_owned(),
                bytes: text.into(),
                layer,
            })
            .collect();
        let loaded = config::load(&sources, &Options::default())
            .map_err(|report| anyhow!("scenario refused: {:?}", report.first_error()))?;
        let mut cluster = Self {
            engine: Sequential::new(loaded.settings, &[])?,
            preemption: Rescheduler::new(loaded.preemption),
            now_ms: 0,
            round_ms: 0,
            nodes: Vec::new(),
            turn: 0,
            apps: 0,
            placed: Vec::new(),
        };
        for number in 1..=nodes {
            let name = NodeName::new(&format!("node-{number:03}"), 8041)?;
            let spec = NodeSpec::new(name.clone(), each);
            cluster.engine.add_node(&spec)?;
            cluster.nodes.push(name);
        }
        Ok(cluster)
    }

    /// Submits an application.
    pub(super) fn submit(&mut self, user: &str, queue: &str) -> Result<ApplicationId> {
        self.apps += 1;
        let id = ApplicationId::new(self.apps);
        self.engine.submit(&AppSpec::new(id, queue, user))?;
        Ok(id)
    }

    /// Asks for `count` containers, instead of what is outstanding.
    pub(super) fn ask(&mut self, app: ApplicationId, of: ResourceVector, count: i64) -> Result<()> {
        let call = AskCall {
            asks: vec![Ask::anywhere(of, i32::try_from(count)?)],
            ..AskCall::default()
        };
        self.engine.ask(app, &call)?;
        Ok(())
    }

    /// Lets the next nodes beat, and gathers what was placed.
    pub(super) fn beat(&mut self, nodes: usize) -> Result<()> {
        for _ in 0..nodes {
            let node = &self.nodes[self.turn];
            self.engine.heartbeat(node, &NodeReport::AsExpected)?;
            self.turn = (self.turn + 1) % self.nodes.len();
        }
        for event in self.engine.take_events() {
            if let Event::Allocated { container, .. } = event {
                self.placed.push(container);
            }
        }
        Ok(())
    }

    /// Lets time pass; a round of preemption that comes due runs. Whether it decided anything, or
    /// something that was asked back may still be killed.
    pub(super) fn pass(&mut self, ms: u64) -> bool {
        self.now_ms += ms;
        self.engine.advance_to(self.now_ms);
        let Some(interval) = self.preemption.settings.interval_ms() else {
            return false;
        };
        if self.now_ms >= self.round_ms {
            self.round_ms = self.now_ms + interval;
            let policy = &mut self.preemption;
            self.engine.preempt(|ledger| policy.round(ledger));
        }
        !self.preemption.is_at_rest()
    }

    /// Containers placed since the last call.
    pub(super) fn take_placed(&mut self) -> Vec<ContainerId> {
        std::mem::take(&mut self.placed)
    }

    /// Ends a container by itself.
    pub(super) fn finish_container(&mut self, container: ContainerId) {
        self.engine.container_finished(container);
    }

    /// Ends an application with all its containers.
    pub(super) fn finish(&mut self, app: ApplicationId) -> Result<()> {
        Ok(self.engine.finish_app(app)?)
    }

    /// Everything there is.
    pub(super) fn view(&self) -> View {
        View(StateView::of(self.engine.ledger()))
    }

    /// The headroom that the scheduler reports to an application, in GB.
    pub(super) fn headroom(&mut self, app: ApplicationId) -> Result<i64> {
        let reply = self.engine.ask(app, &AskCall::default())?;
        Ok(reply.headroom.memory() / GB)
    }

    /// The limits of a user in a leaf, in GB: as enforced, and that of all users.
    pub(super) fn limits(&self, leaf: &str, user: &str) -> Result<(i64, i64)> {
        let limits = UserLimits::of(self.engine.ledger(), leaf, user);
        let limits = limits.ok_or_else(|| anyhow!("no leaf {leaf}"))?;
        let gb = |limit: ResourceVector| limit.memory() / GB;
        Ok((gb(limits.enforced), gb(limits.of_all_users)))
    }
}

/// A view of the state, read in GB.
pub(super) struct View(StateView);

impl View {
    fn of_queue<'a>(
        &'a self,
        path: &str,
        amount: impl Fn(&'a PartitionView) -> Option<&'a [i64]>,
    ) -> i64 {
        let queue = self.0.queues.iter().find(|queue| queue.path == path);
        let label = queue.and_then(|queue| queue.labels.get(""));
        label.and_then(amount).map_or(0, |amount| amount[0] / GB)
    }

    /// What a queue uses.
    pub(super) fn used(&self, path: &str) -> i64 {
        self.of_queue(path, |label| label.used.as_deref())
    }

    /// What a queue is guaranteed.
    pub(super) fn guarantee(&self, path: &str) -> i64 {
        self.of_queue(path, |label| Some(&label.eff_min))
    }

    /// What a queue may use at most.
    pub(super) fn maximum(&self, path: &str) -> i64 {
        self.of_queue(path, |label| Some(&label.eff_max))
    }

    /// What a user uses in a leaf.
    pub(super) fn used_by(&self, path: &str, user: &str) -> i64 {
        let queue = self.0.queues.iter().find(|queue| queue.path == path);
        let user = queue.and_then(|queue| queue.leaf.as_ref()?.users.get(user));
        let used = user.and_then(|user| user.used.get(""));
        used.map_or(0, |used| used[0] / GB)
    }

    /// What an application uses, and what it asked and did not get.
    pub(super) fn app(&self, id: ApplicationId) -> (i64, i64) {
        let app = self.0.apps.iter().find(|app| app.app == id.sequence);
        app.map_or((0, 0), |app| {
            let gb = |amounts: &std::collections::BTreeMap<String, Vec<i64>>| {
                amounts.get("").map_or(0, |amounts| amounts[0] / GB)
            };
            (gb(&app.used), gb(&app.pending))
        })
    }

    /// The first node: memory allocated in GB, vcores allocated, vcores left, containers.
    pub(super) fn first_node(&self) -> [i64; 4] {
        let node = &self.0.nodes[0];
        [
            node.allocated[0] / GB,
            node.allocated[1],
            node.available[1],
            i64::from(node.containers),
        ]
    }
}
