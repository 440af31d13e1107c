//! Over random runs: one dominant reason for each pending application, whatever happens.

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, AppStage, Ask, AskCall, Engine, ModeKind, NodeSpec, Reason, Scheduler as _, Stepped,
    explain, explain_all, waiting,
};
use capsched::simulator::{Random, fitted_to};

use crate::cluster::{Cluster, app, cluster, gib, node};

/// Applications that wait for something, counted from the rows alone.
fn pending(engine: &Stepped) -> usize {
    let ledger = engine.engine().ledger();
    let state = ledger.state();
    let waits = |slot| {
        let row = &state.apps[slot];
        match row.stage {
            AppStage::Parked | AppStage::Waiting => true,
            AppStage::Active => row.keys.iter().any(|asks| asks.is_outstanding()),
            AppStage::Between | AppStage::Done | AppStage::Gone => false,
        }
    };
    ledger
        .apps_by_id()
        .into_iter()
        .filter(|(_, slot)| waits(*slot))
        .count()
}

fn check(cluster: &Cluster, seen: &mut BTreeMap<Reason, usize>) {
    let ledger = cluster.engine.engine().ledger();
    let found = cluster.engine.explain_all();
    let mut by_reason: BTreeMap<Reason, usize> = BTreeMap::new();
    for why in &found {
        let dominant = why.dominant().expect("a reason").reason;
        let firsts = why.keys.iter().filter_map(|key| key.findings.first());
        let lowest = firsts.map(|found| found.reason).min();
        assert_eq!(Some(dominant), lowest, "{why:?}");
        *by_reason.entry(dominant).or_default() += 1;
        *seen.entry(dominant).or_default() += 1;
    }
    assert_eq!(by_reason.values().sum::<usize>(), pending(&cluster.engine));
    let simple = waiting(ledger);
    let containers = |id| found.iter().find(|why| why.app == id).unwrap().containers();
    for (id, waits) in simple {
        let sum: u64 = waits.iter().map(|wait| wait.containers).sum();
        assert_eq!(sum, containers(id));
    }
    let pure = explain_all(ledger, cluster.engine.under_way());
    assert_eq!(pure, found);
    // What explanations of one state share changes none of them.
    for why in &found {
        let alone = explain(ledger, why.app, cluster.engine.under_way());
        assert_eq!(alone.as_ref(), Some(why));
    }
}

fn step(cluster: &mut Cluster, random: &mut Random, next: &mut u32) {
    let live = cluster.engine.engine().ledger().apps_by_id();
    let chosen = |random: &mut Random| {
        let at = usize::try_from(random.below(live.len().max(1) as u64)).unwrap();
        live.get(at).map(|(id, _)| *id)
    };
    match random.below(8) {
        0 | 1 => {
            let (queue, user) = (["root.a", "root.b"], ["ann", "bob", "eve"]);
            let queue = queue[usize::try_from(random.below(2)).unwrap()];
            let user = user[usize::try_from(random.below(3)).unwrap()];
            let mut spec = AppSpec::new(app(*next), queue, user);
            if random.below(2) == 0 {
                spec = spec.with_master(gib(1));
            }
            spec.priority = Some(i32::try_from(random.below(3)).unwrap());
            *next += u32::from(cluster.engine.submit(spec).is_ok());
        }
        2..=4 => {
            let size = 1 + i64::try_from(random.below(9)).unwrap();
            let count = i32::try_from(random.below(5)).unwrap();
            if let Some(id) = chosen(random) {
                let call = capsched::api::AskCall::asking(vec![Ask::anywhere(gib(size), count)]);
                let _refused = cluster.engine.ask(id, call);
            }
        }
        5 if random.below(3) == 0 => {
            if let Some(id) = chosen(random) {
                cluster.engine.finish_app(id).unwrap();
            }
        }
        _ => cluster.beat(1),
    }
}

#[test]
fn reasons_of_random_runs_add_up_to_the_pending_applications() {
    let mut seen = BTreeMap::new();
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let conf = [
            ("root.a.maximum-capacity", "75"),
            ("root.b.max-parallel-apps", "4"),
            ("root.b.maximum-am-resource-percent", "0.2"),
            ("root.a.user-limit-factor", "1"),
        ];
        let mut cluster = cluster(&conf, &["n0", "n1"]);
        let mut next = 1;
        for _ in 0..120 {
            step(&mut cluster, &mut random, &mut next);
            check(&cluster, &mut seen);
        }
    }
    assert!(seen.len() >= 8, "{seen:?}");
}

/// Two leaves that share the partition `gpu`, four nodes, and rounds of preemption that ask for all that is missing.
fn labelled(mode: ModeKind) -> Cluster {
    let label = "accessible-node-labels";
    let names = ["root.a", "root.b"].map(|queue| {
        (
            format!("{queue}.{label}"),
            format!("{queue}.{label}.gpu.capacity"),
        )
    });
    let root = format!("root.{label}.gpu.capacity");
    let conf = [
        (root.as_str(), "100"),
        (names[0].0.as_str(), "gpu"),
        (names[0].1.as_str(), "60"),
        (names[1].0.as_str(), "gpu"),
        (names[1].1.as_str(), "40"),
        ("root.b.max-parallel-apps", "4"),
        ("root.a.maximum-am-resource-percent", "0.2"),
    ];
    let mut made = cluster(&conf, &[]);
    let mut preemption = made.loaded.preemption.clone();
    preemption.enabled = true;
    preemption.total_per_round = 1.0;
    preemption.natural_termination_factor = 1.0;
    let settings = fitted_to(mode, made.loaded.settings.clone());
    let engine = Engine::builder(settings)
        .partition("gpu", true)
        .sequential();
    made.engine = Stepped::new(engine.unwrap(), mode).with_preemption(preemption);
    for (host, label) in [("n0", ""), ("n1", ""), ("n2", "gpu"), ("n3", "gpu")] {
        let mut spec = NodeSpec::new(node(host), gib(8));
        spec.partition = label.to_owned();
        made.engine.add_node(spec).unwrap();
    }
    made
}

/// One step on labelled nodes: as [`step`], or an ask on a partition, the end of a container, or time for rounds.
fn labelled_step(cluster: &mut Cluster, random: &mut Random, next: &mut u32, now_ms: &mut u64) {
    let ledger = cluster.engine.engine().ledger();
    let live = ledger.apps_by_id();
    let at = usize::try_from(random.below(live.len().max(1) as u64)).unwrap();
    match random.below(6) {
        0 => {
            let mut ask = Ask::anywhere(gib(1 + i64::try_from(random.below(9)).unwrap()), 3);
            ask.partition = Some("gpu".to_owned());
            if let Some((id, _)) = live.get(at) {
                let _refused = cluster.engine.ask(*id, AskCall::asking(vec![ask]));
            }
        }
        1 => {
            *now_ms += 1 + random.below(8_000);
            cluster.engine.advance(*now_ms);
        }
        _ => step(cluster, random, next),
    }
}

#[test]
fn reasons_add_up_with_labels_and_preemption_in_all_modes() {
    for mode in [
        ModeKind::Heartbeat,
        ModeKind::Asynchronous,
        ModeKind::Global,
    ] {
        let mut seen = BTreeMap::new();
        let mut verdicts = 0;
        for seed in 100..112 {
            let mut random = Random::new(seed);
            let mut cluster = labelled(mode);
            let (mut next, mut now_ms) = (1, 0);
            for _ in 0..120 {
                labelled_step(&mut cluster, &mut random, &mut next, &mut now_ms);
                check(&cluster, &mut seen);
                let found = cluster.engine.explain_all();
                verdicts += found.iter().filter(|why| why.preemption.is_some()).count();
            }
        }
        assert!(seen.len() >= 8, "{mode:?}: {seen:?}");
        assert!(
            seen.contains_key(&Reason::PreemptionInProgress),
            "{mode:?}: {seen:?}"
        );
        assert!(verdicts > 0, "{mode:?}");
    }
}

#[test]
fn a_running_engine_explains_what_a_stepped_one_does() {
    use capsched::api::Mode;
    let mut stepped = cluster(&[("root.a.maximum-capacity", "50")], &["n0"]);
    stepped.asks(1, "root.a", "ann", (6, 1));
    stepped.beat(6);
    let engine = Engine::builder(stepped.loaded.settings.clone()).mode(Mode::Heartbeat);
    let threaded = engine.start().unwrap();
    let name = crate::cluster::node("n0");
    threaded
        .add_node(NodeSpec::new(name.clone(), gib(8)))
        .unwrap();
    threaded
        .submit(AppSpec::new(app(1), "root.a", "ann"))
        .unwrap();
    let call = capsched::api::AskCall::asking(vec![Ask::anywhere(gib(1), 6)]);
    threaded.ask(app(1), call).unwrap();
    for _ in 0..6 {
        threaded
            .heartbeat(name.clone(), capsched::api::NodeReport::AsExpected)
            .unwrap();
    }
    threaded.quiesce();
    assert_eq!(Engine::explain(&threaded, app(1)), Some(stepped.why(1)));
}
