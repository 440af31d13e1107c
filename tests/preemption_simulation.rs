//! Preemption in simulated clusters, judged by oracles: it takes no more than is claimed, comes to
//! rest, and leaves every queue that wants it with its guarantee.
//!
//! `CAPSCHED_PREEMPTION_SEEDS` sets the number of clusters.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a scene that cannot be set up is a failed test; the number of clusters is told"
)]

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    AppSpec, Ask, AskCall, NodeReport, NodeSpec, PreemptionRound, Rescheduler, Sequential,
};
use capsched::commit::{PreemptionReason, Verdict, VerdictKind, Verdicts};
use capsched::config;
use capsched::id::{ApplicationId, ContainerId, NodeName};
use capsched::resource::ResourceVector;
use capsched::simulator::Random;

const GIB: i64 = 1024;
const MONITOR: &str = "yarn.resourcemanager.monitor.capacity.preemption.";
/// Clusters in an ordinary run of the tests.
const SEEDS: u64 = 300;
/// Rounds after which everything must have come to rest.
const ROUNDS: usize = 120;

/// A mistake put into the verdicts, to see the oracles fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// Three more containers of a leaf that gives.
    TakesMore,
    /// A container of the leaf that has least, again and again.
    TakesBack,
    /// Nothing is ever killed.
    NeverKills,
}

struct Leaf {
    path: String,
    guaranteed: i64,
    app: ApplicationId,
    /// MiB of its containers.
    size: i64,
    /// MiB taken from it so far.
    taken: i64,
    /// What may be taken from it while its demand stays.
    excess: i64,
}

struct World {
    engine: Sequential,
    policy: Rescheduler,
    leaves: Vec<Leaf>,
    nodes: Vec<NodeName>,
    mistake: Mistake,
    /// Containers asked back or killed in some round.
    chosen: BTreeSet<ContainerId>,
}

/// Whole per cents that add up to 100, at least 5 each.
fn parts(random: &mut Random, n: usize) -> Vec<u64> {
    let mut parts = vec![5; n];
    for _ in 0..(100 - 5 * n) / 5 {
        let at = usize::try_from(random.below(n as u64)).unwrap();
        parts[at] += 5;
    }
    let rest = 100 - parts.iter().sum::<u64>();
    parts[0] += rest;
    parts
}

/// The keys of a tree of two or three parents, some of which are leaves, and the leaves' paths.
fn tree(random: &mut Random) -> (BTreeMap<String, String>, Vec<String>) {
    let mut keys = BTreeMap::new();
    let mut leaves = Vec::new();
    let tops = 2 + usize::try_from(random.below(2)).unwrap();
    let names: Vec<_> = (0..tops).map(|i| format!("q{i}")).collect();
    let mut put = |key: String, value: String| {
        keys.insert(format!("yarn.scheduler.capacity.{key}"), value);
    };
    put("root.queues".to_owned(), names.join(","));
    for (name, part) in names.iter().zip(parts(random, tops)) {
        let path = format!("root.{name}");
        put(format!("{path}.capacity"), part.to_string());
        let below = usize::try_from(random.below(3)).unwrap();
        if below < 2 {
            leaves.push(path);
            continue;
        }
        put(format!("{path}.queues"), "x,y".to_owned());
        for (child, part) in ["x", "y"].iter().zip(parts(random, 2)) {
            put(format!("{path}.{child}.capacity"), part.to_string());
            leaves.push(format!("{path}.{child}"));
        }
    }
    for leaf in &leaves {
        put(format!("{leaf}.user-limit-factor"), "100".to_owned());
    }
    put("maximum-am-resource-percent".to_owned(), "1".to_owned());
    if random.below(3) == 0 {
        let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        put("resource-calculator".to_owned(), calculator.to_owned());
    }
    if random.below(3) == 0 {
        put("lazy-preemption-enabled".to_owned(), "true".to_owned());
    }
    (keys, leaves)
}

fn site(random: &mut Random) -> BTreeMap<String, String> {
    let per_round = ["0.1", "0.3", "1.0"][usize::try_from(random.below(3)).unwrap()];
    let wait = ["0", "1000", "2500"][usize::try_from(random.below(3)).unwrap()];
    let mut site = BTreeMap::from([(
        "yarn.resourcemanager.scheduler.monitor.enable".to_owned(),
        "true".to_owned(),
    )]);
    for (name, value) in [
        ("natural_termination_factor", "1.0"),
        ("max_ignored_over_capacity", "0"),
        ("total_preemption_per_round", per_round),
        ("max_wait_before_kill", wait),
    ] {
        site.insert(format!("{MONITOR}{name}"), value.to_owned());
    }
    site
}

fn asks(size: i64, count: i32) -> AskCall {
    let ask = Ask {
        priority: 1,
        request_id: 0,
        place: "*".to_owned(),
        size: ResourceVector::of(&[size, size / GIB]),
        count,
        relax_locality: true,
        partition: None,
    };
    AskCall {
        asks: vec![ask],
        ..AskCall::default()
    }
}

impl World {
    fn new(seed: u64, mistake: Mistake) -> Self {
        let mut random = Random::new(seed);
        let (queues, paths) = tree(&mut random);
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&site(&mut random), &queues, &types).unwrap();
        let mut world = Self {
            engine: Sequential::new(loaded.settings, &[]).unwrap(),
            policy: Rescheduler::new(loaded.preemption),
            leaves: Vec::new(),
            nodes: Vec::new(),
            mistake,
            chosen: BTreeSet::new(),
        };
        for i in 0..2 + random.below(3) {
            let name: NodeName = format!("h{i}:1").parse().unwrap();
            let gib = 20 + i64::try_from(random.below(21)).unwrap();
            let size = ResourceVector::of(&[gib * GIB, gib]);
            world
                .engine
                .add_node(&NodeSpec::new(name.clone(), size))
                .unwrap();
            world.nodes.push(name);
        }
        world.fill(&mut random, &paths);
        world
    }

    /// Some leaves take everything; then all want more than there is, in containers of 1 GiB.
    fn fill(&mut self, random: &mut Random, paths: &[String]) {
        let greedy = 1 + random.below(paths.len() as u64 - 1);
        for (i, path) in paths.iter().enumerate() {
            let id = ApplicationId::new(u32::try_from(i).unwrap() + 1);
            let first = (i as u64) < greedy;
            let size = if first {
                1 + i64::try_from(random.below(3)).unwrap()
            } else {
                1
            };
            self.submit(id, path);
            self.leaves.push(Leaf {
                path: path.clone(),
                guaranteed: 0,
                app: id,
                size: size * GIB,
                taken: 0,
                excess: 0,
            });
            if first {
                self.engine.ask(id, &asks(size * GIB, 60)).unwrap();
            }
        }
        self.beat(80);
        for leaf in &mut self.leaves {
            let ledger = self.engine.ledger();
            let slot = ledger.queue(&leaf.path).unwrap();
            let part = &ledger.state().queues[slot].parts[0];
            leaf.guaranteed = part.guaranteed.memory();
            leaf.excess = (part.used.memory() - leaf.guaranteed).max(0);
        }
        for i in 0..self.leaves.len() {
            let app = self.leaves[i].app;
            if (i as u64) >= greedy {
                self.engine.ask(app, &asks(GIB, 200)).unwrap();
            }
        }
    }

    fn submit(&mut self, id: ApplicationId, queue: &str) {
        let spec = AppSpec {
            placement_parent: None,
            id,
            user: "u".to_owned(),
            queue: queue.to_owned(),
            priority: None,
            master: None,
            master_partition: None,
            partition: None,
            tags: Vec::new(),
        };
        self.engine.submit(&spec).unwrap();
    }

    fn beat(&mut self, times: usize) {
        for _ in 0..times {
            for node in &self.nodes {
                self.engine
                    .heartbeat(node, &NodeReport::AsExpected)
                    .unwrap();
            }
        }
    }

    fn used_and_pending(&self, leaf: &Leaf) -> (i64, i64) {
        let ledger = self.engine.ledger();
        let state = ledger.state();
        let slot = ledger.queue(&leaf.path).unwrap();
        let killable = state.killable(slot, capsched::id::PartitionId::DEFAULT);
        let app = ledger.app(leaf.app).unwrap();
        (
            state.queues[slot].parts[0].used.memory() - killable.memory(),
            state.apps[app].parts[0].pending.memory(),
        )
    }

    /// MiB that leaves lack of their guarantees and want.
    fn claims(&self) -> i64 {
        let lacking = |leaf: &Leaf| {
            let (used, pending) = self.used_and_pending(leaf);
            ((used + pending).min(leaf.guaranteed) - used).max(0)
        };
        self.leaves.iter().map(lacking).sum()
    }

    fn leaf_of(&self, container: ContainerId) -> usize {
        let mine = |leaf: &Leaf| leaf.app == container.app;
        self.leaves.iter().position(mine).unwrap()
    }

    /// Puts the mistake into the verdicts.
    fn spoil(&self, verdicts: &mut Verdicts) {
        let ledger = self.engine.ledger();
        let kill = |leaf: &Leaf, n: usize| -> Vec<Verdict> {
            let live = ledger.live_containers(ledger.app(leaf.app).unwrap());
            let verdict = |container: &capsched::commit::Container| Verdict {
                container: container.id,
                node: container.node,
                reason: PreemptionReason::OverGuarantee,
                kind: VerdictKind::Kill,
            };
            live.take(n).map(verdict).collect()
        };
        match self.mistake {
            Mistake::None => {}
            Mistake::TakesMore if verdicts.verdicts.is_empty() => {}
            Mistake::TakesMore => {
                let leaf = self.leaf_of(verdicts.verdicts[0].container);
                verdicts.verdicts.extend(kill(&self.leaves[leaf], 30));
            }
            Mistake::TakesBack => {
                let least = self
                    .leaves
                    .iter()
                    .min_by_key(|leaf| self.used_and_pending(leaf).0);
                verdicts.verdicts.extend(kill(least.unwrap(), 1));
            }
            Mistake::NeverKills => {
                verdicts
                    .verdicts
                    .retain(|verdict| verdict.kind != VerdictKind::Kill);
            }
        }
    }

    /// One round, checked against what is claimed at its start.
    fn round(&mut self) -> Result<PreemptionRound, String> {
        let claims = self.claims();
        let mut verdicts = self.policy.round(self.engine.ledger());
        self.spoil(&mut verdicts);
        let mut by_leaf: BTreeMap<usize, i64> = BTreeMap::new();
        for verdict in &verdicts.verdicts {
            let leaf = self.leaf_of(verdict.container);
            *by_leaf.entry(leaf).or_default() += self.leaves[leaf].size;
            if verdict.kind == VerdictKind::Kill {
                self.leaves[leaf].taken += self.leaves[leaf].size;
            }
            self.chosen.insert(verdict.container);
        }
        let taken: i64 = by_leaf.values().sum();
        let slack: i64 = by_leaf.keys().map(|&leaf| self.leaves[leaf].size).sum();
        if taken > claims + slack {
            return Err(format!(
                "more than needed: {taken} MiB for claims of {claims}"
            ));
        }
        Ok(self.engine.preempt(|_| verdicts))
    }

    fn run(&mut self) -> Result<(), String> {
        let mut quiet = 0;
        for _ in 0..ROUNDS {
            let round = self.round()?;
            self.beat(12);
            self.engine.advance_clock(1000);
            let done = round == PreemptionRound::default();
            quiet = if done { quiet + 1 } else { 0 };
            for leaf in &self.leaves {
                if leaf.taken > leaf.excess + leaf.size {
                    return Err(format!(
                        "in circles: {} gave {} MiB of {} above its guarantee",
                        leaf.path, leaf.taken, leaf.excess
                    ));
                }
            }
            if quiet > 6 {
                break;
            }
        }
        for leaf in &self.leaves {
            let (used, pending) = self.used_and_pending(leaf);
            let wanted = (used + pending).min(leaf.guaranteed);
            if used + leaf.size <= wanted {
                return Err(format!(
                    "below its guarantee: {} has {used} of {wanted} MiB",
                    leaf.path
                ));
            }
        }
        if quiet <= 6 {
            return Err("in circles: no rest".to_owned());
        }
        Ok(())
    }
}

fn seeds() -> u64 {
    let set = std::env::var("CAPSCHED_PREEMPTION_SEEDS").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

#[test]
fn preemption_takes_what_is_claimed_comes_to_rest_and_leaves_everybody_the_guarantee() {
    let mut taken = 0;
    let n = seeds();
    for seed in 0..n {
        let mut world = World::new(seed, Mistake::None);
        if let Err(fault) = world.run() {
            panic!("seed {seed}: {fault}");
        }
        taken += world.chosen.len();
    }
    println!("{n} clusters, {taken} containers taken");
    assert!(taken as u64 > n, "preemption did something");
}

/// Whether an oracle finds a mistake in some cluster.
fn found(mistake: Mistake, oracle: &str) -> bool {
    (0..40).any(|seed| {
        let outcome = World::new(seed, mistake).run();
        outcome.is_err_and(|fault| fault.starts_with(oracle))
    })
}

#[test]
fn the_oracles_find_mistakes_that_are_put_in() {
    assert!(found(Mistake::TakesMore, "more than needed"));
    assert!(found(Mistake::TakesBack, "in circles"));
    assert!(found(Mistake::NeverKills, "below its guarantee"));
}
