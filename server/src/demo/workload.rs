//! What happens when: beats of nodes and masters, arrivals, ends of containers, nodes that leave and return.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use capsched::api::{ApplicationId, ContainerId, NodeName, NodeReport};

use super::DemoOptions;
use super::cluster;
use super::job::{Job, MEAN_GIB_S, Step};
use super::random::Random;
use super::settings::{ADMINISTRATOR, LEAVES};
use crate::rm::{Command, ResourceManager};

/// Between two heartbeats of a node or a master, in ms.
const BEAT_MS: u64 = 1000;

/// Applications ask for so many hundredths of the cluster.
const LOAD: u64 = 115;

/// How long a node is out, in ms.
const AWAY_MS: (u64, u64) = (20_000, 60_000);

/// Between two nodes that leave, in ms.
const LEAVES_MS: (u64, u64) = (30_000, 90_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    NodeBeats(u32),
    MasterBeats(ApplicationId),
    Ends(ContainerId),
    Arrives,
    NodeLeaves,
    NodeReturns(u32),
}

/// All that is to happen.
#[derive(Debug)]
pub(super) struct Workload {
    due: BinaryHeap<Reverse<(u64, Action)>>,
    jobs: BTreeMap<ApplicationId, Job>,
    names: Vec<NodeName>,
    away: Vec<bool>,
    random: Random,
    /// Mean time between two arrivals, in ms.
    between_ms: u64,
    now: u64,
}

impl Workload {
    /// Registers the nodes. Some applications are there from the start, so that there is something to see at once.
    pub(super) fn new(rm: &ResourceManager, options: &DemoOptions) -> Self {
        let names = (0..options.nodes).filter_map(|index| cluster::name(index).parse().ok());
        let work_gib = cluster::memory_gib(options.nodes) * LOAD / 100;
        let mut workload = Self {
            due: BinaryHeap::new(),
            jobs: BTreeMap::new(),
            names: names.collect(),
            away: vec![false; usize::try_from(options.nodes).unwrap_or(0)],
            random: Random::of(options.seed),
            between_ms: (1000 * MEAN_GIB_S / work_gib.max(1)).max(1),
            now: 0,
        };
        for index in 0..options.nodes {
            // One that is refused stays out; its beats are refused too.
            let _ = cluster::register(rm, index);
            let first = workload.random.within(1, BEAT_MS);
            workload.at(first, Action::NodeBeats(index));
        }
        let begin = 30_000 / workload.between_ms;
        for _ in 0..begin.clamp(4, 500) {
            let first = workload.random.within(1, 1000);
            workload.at(first, Action::Arrives);
        }
        workload.at(1000, Action::Arrives);
        workload.at(LEAVES_MS.1, Action::NodeLeaves);
        workload.next_arrival();
        workload
    }

    fn at(&mut self, time: u64, action: Action) {
        self.due.push(Reverse((time, action)));
    }

    fn later(&mut self, after: u64, action: Action) {
        self.at(self.now + after, action);
    }

    fn next_arrival(&mut self) {
        let after = self.random.within(1, 2 * self.between_ms);
        self.later(after, Action::Arrives);
    }

    /// Does what is due, and returns when something is due next.
    pub(super) fn run_until(&mut self, rm: &ResourceManager, now: u64) -> u64 {
        while let Some(Reverse((time, action))) = self.due.peek().copied() {
            if time > now {
                return time;
            }
            self.due.pop();
            self.now = time;
            self.carry_out(rm, action);
        }
        now + BEAT_MS
    }

    fn carry_out(&mut self, rm: &ResourceManager, action: Action) {
        match action {
            Action::NodeBeats(index) => self.node_beats(rm, index),
            Action::MasterBeats(app) => self.master_beats(rm, app),
            Action::Ends(container) => {
                if let Some(job) = self.jobs.get_mut(&container.app) {
                    job.ended(rm, container);
                }
            }
            Action::Arrives => self.arrives(rm),
            Action::NodeLeaves => self.node_leaves(rm),
            Action::NodeReturns(index) => {
                let _ = cluster::register(rm, index);
                if let Some(away) = self.away.get_mut(index as usize) {
                    *away = false;
                }
            }
        }
    }

    fn node_beats(&mut self, rm: &ResourceManager, index: u32) {
        let at = index as usize;
        if let (Some(name), Some(false)) = (self.names.get(at), self.away.get(at)) {
            // A node that an administrator removed gets a refusal, and is out for good.
            let _ = rm.heartbeat(name, NodeReport::AsExpected);
        }
        self.later(BEAT_MS, Action::NodeBeats(index));
    }

    fn master_beats(&mut self, rm: &ResourceManager, app: ApplicationId) {
        let Some(job) = self.jobs.get_mut(&app) else {
            return;
        };
        match job.step(rm, &mut self.random) {
            Step::Over => {
                self.jobs.remove(&app);
            }
            Step::Goes(placed) => {
                for (container, lasts) in placed {
                    self.later(lasts, Action::Ends(container));
                }
                self.later(BEAT_MS, Action::MasterBeats(app));
            }
        }
    }

    fn arrives(&mut self, rm: &ResourceManager) {
        let chosen = self.random.within(1, 100);
        let mut below = 0;
        let leaf = LEAVES.iter().find(|leaf| {
            below += leaf.share;
            chosen <= below
        });
        let job = leaf.and_then(|leaf| Job::submit(rm, leaf, &mut self.random));
        if let Some(job) = job {
            let app = job.id();
            self.jobs.insert(app, job);
            self.later(BEAT_MS / 2, Action::MasterBeats(app));
        }
        // Those of the start beget no further ones.
        if self.now > 1000 {
            self.next_arrival();
        }
    }

    fn node_leaves(&mut self, rm: &ResourceManager) {
        let after = self.random.within(LEAVES_MS.0, LEAVES_MS.1);
        self.later(after, Action::NodeLeaves);
        let Some(last) = self.names.len().checked_sub(1) else {
            return;
        };
        let index = u32::try_from(self.random.within(0, last as u64)).unwrap_or(0);
        let at = index as usize;
        if self.away[at] {
            return;
        }
        let node = self.names[at].to_string();
        if rm
            .execute(ADMINISTRATOR, Command::RemoveNode { node })
            .is_ok()
        {
            self.away[at] = true;
            let back = self.random.within(AWAY_MS.0, AWAY_MS.1);
            self.later(back, Action::NodeReturns(index));
        }
    }
}
