//! Preemption in simulated clusters, judged by oracles: it takes no more than is claimed, comes to
//! rest, and leaves every queue that wants it with its guarantee.
//!
//! `CAPSCHED_PREEMPTION_SEEDS` sets the number of clusters.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a scene that cannot be set up is a failed test; the number of clusters is printed"
)]

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    AppSpec, Ask, AskCall, NodeReport, NodeSpec, PreemptionRound, Rescheduler, Sequential,
};
use capsched::commit::{PreemptionReason, Verdict, VerdictKind, Verdicts};
use capsched::config;
use capsched::id::{ApplicationId, ContainerId, NodeName, PartitionId};
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
    /// In thousandths of the guarantee.
    dead_zone: i64,
}

/// Tens of per cent that add up to 100, at least `least` each.
fn parts(random: &mut Random, n: usize, least: usize) -> Vec<usize> {
    let mut parts = vec![least; n];
    for _ in 0..(100 - least * n) / 10 {
        parts[below(random, n)] += 10;
    }
    parts
}

fn below(random: &mut Random, n: usize) -> usize {
    usize::try_from(random.below(n as u64)).unwrap()
}

/// The keys of a tree of two or three parents, some of which are leaves, and the leaves' paths.
fn tree(random: &mut Random, least: usize) -> (BTreeMap<String, String>, Vec<String>) {
    let mut keys = BTreeMap::new();
    let mut leaves = Vec::new();
    let tops = 2 + below(random, 2);
    let names: Vec<_> = (0..tops).map(|i| format!("q{i}")).collect();
    let mut put = |key: String, value: String| {
        keys.insert(format!("yarn.scheduler.capacity.{key}"), value);
    };
    put(
        "schedule-asynchronously.enable".to_owned(),
        "false".to_owned(),
    );
    put("root.queues".to_owned(), names.join(","));
    for (name, part) in names.iter().zip(parts(random, tops, least)) {
        let path = format!("root.{name}");
        put(format!("{path}.capacity"), part.to_string());
        if below(random, 3) < 2 {
            leaves.push(path);
            continue;
        }
        put(format!("{path}.queues"), "x,y".to_owned());
        for (child, part) in ["x", "y"].iter().zip(parts(random, 2, 2 * least)) {
            put(format!("{path}.{child}.capacity"), part.to_string());
            leaves.push(format!("{path}.{child}"));
        }
    }
    for leaf in &leaves {
        put(format!("{leaf}.user-limit-factor"), "100".to_owned());
    }
    put("maximum-am-resource-percent".to_owned(), "1".to_owned());
    let many = "per-node-heartbeat.maximum-offswitch-assignments";
    put(many.to_owned(), "100".to_owned());
    if random.below(3) == 0 {
        let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        put("resource-calculator".to_owned(), calculator.to_owned());
    }
    if random.below(3) == 0 {
        put("lazy-preemption-enabled".to_owned(), "true".to_owned());
    }
    (keys, leaves)
}

fn site(random: &mut Random, dead_zone: &str) -> BTreeMap<String, String> {
    let per_round = ["0.1", "0.3", "1.0"][below(random, 3)];
    let wait = ["0", "1000", "2500"][below(random, 3)];
    let mut site = BTreeMap::from([(
        "yarn.resourcemanager.scheduler.monitor.enable".to_owned(),
        "true".to_owned(),
    )]);
    for (name, value) in [
        ("natural_termination_factor", "1.0"),
        ("max_ignored_over_capacity", dead_zone),
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
        let coarse = seed % 2 == 1;
        let (dead_zone, least, gib) = if coarse {
            ("0.1", 20, 50)
        } else {
            ("0.01", 10, 25)
        };
        let (queues, paths) = tree(&mut random, least);
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&site(&mut random, dead_zone), &queues, &types).unwrap();
        let mut world = Self {
            engine: Sequential::new(loaded.settings, &[]).unwrap(),
            policy: Rescheduler::new(loaded.preemption),
            leaves: Vec::new(),
            nodes: Vec::new(),
            mistake,
            chosen: BTreeSet::new(),
            dead_zone: if coarse { 100 } else { 10 },
        };
        for i in 0..4 {
            let name: NodeName = format!("h{i}:1").parse().unwrap();
            let size = ResourceVector::of(&[gib * GIB, gib]);
            world
                .engine
                .add_node(&NodeSpec::new(name.clone(), size))
                .unwrap();
            world.nodes.push(name);
        }
        world.fill(&mut random, &paths, coarse);
        world
    }

    /// Some leaves take everything; then all want more than there is. Those that claim do so in
    /// containers of 1 GiB, so that whatever is taken for them helps.
    fn fill(&mut self, random: &mut Random, paths: &[String], coarse: bool) {
        let greedy = 1 + below(random, paths.len() - 1);
        for (i, path) in paths.iter().enumerate() {
            let app = ApplicationId::new(u32::try_from(i).unwrap() + 1);
            self.submit(app, path);
            let guaranteed = self.part(path).guaranteed.memory();
            let mut size = GIB;
            if coarse && i < greedy {
                // No larger than the dead zone: who gives one does not fall below the guarantee.
                let most = (guaranteed / 10 / GIB).clamp(1, 3);
                size = GIB * i64::try_from(random.between(1, most.unsigned_abs())).unwrap();
            }
            self.leaves.push(Leaf {
                path: path.clone(),
                guaranteed,
                app,
                size,
                taken: 0,
                excess: 0,
            });
            if i < greedy {
                self.engine.ask(app, &asks(size, 250)).unwrap();
            }
        }
        self.beat(80);
        for i in 0..self.leaves.len() {
            let used = self.part(&self.leaves[i].path).used.memory();
            let leaf = &mut self.leaves[i];
            leaf.excess = (used - leaf.guaranteed).max(0);
            if i >= greedy {
                self.engine.ask(leaf.app, &asks(GIB, 250)).unwrap();
            }
        }
    }

    fn part(&self, path: &str) -> &capsched::queue::QueuePart {
        let ledger = self.engine.ledger();
        ledger.state().queues[ledger.queue(path).unwrap()].part(PartitionId::DEFAULT)
    }

    fn submit(&mut self, id: ApplicationId, queue: &str) {
        let spec = AppSpec::new(id, queue, "u");
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
            state.queues[slot].part(PartitionId::DEFAULT).used.memory() - killable.memory(),
            state.apps[app].part(PartitionId::DEFAULT).pending.memory(),
        )
    }

    /// MiB above its guarantee that are left to a leaf.
    fn ignored(&self, leaf: &Leaf) -> i64 {
        let above = (self.used_and_pending(leaf).0 - leaf.guaranteed).max(0);
        above.min(leaf.guaranteed * self.dead_zone / 1000)
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
                verdicts.verdicts.clear();
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
            if verdict.kind == VerdictKind::DropReservation {
                // Nothing runs there, and the reference drops each one that it looks at.
                continue;
            }
            let leaf = self.leaf_of(verdict.container);
            *by_leaf.entry(leaf).or_default() += self.leaves[leaf].size;
            if verdict.kind == VerdictKind::Kill {
                self.leaves[leaf].taken += self.leaves[leaf].size;
            }
            self.chosen.insert(verdict.container);
        }
        let taken: i64 = by_leaf.values().sum();
        // Guarantees are shares cut to whole MiB, so that each leaf may be one short.
        let cut = i64::try_from(self.leaves.len()).unwrap();
        let slack: i64 = by_leaf.keys().map(|&leaf| self.leaves[leaf].size).sum();
        let slack = slack + cut;
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
            self.beat(3);
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
        if quiet <= 6 {
            return Err("in circles: no rest".to_owned());
        }
        // Under lazy preemption a queue with its guarantee that ties with the claimant at the root may
        // propose, again and again, a reservation that the commit refuses: the reference's rule.
        if self.engine.ledger().state().settings.lazy_preemption {
            return Ok(());
        }
        let ignored: i64 = self.leaves.iter().map(|leaf| self.ignored(leaf)).sum();
        for leaf in &self.leaves {
            let (used, pending) = self.used_and_pending(leaf);
            let wanted = (used + pending).min(leaf.guaranteed);
            let most = used + leaf.size + ignored;
            if most < wanted || (used == 0 && wanted > 0) {
                return Err(format!(
                    "below its guarantee: {} has {used} of {wanted} MiB",
                    leaf.path
                ));
            }
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
