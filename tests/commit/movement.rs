//! An application moves with containers of several sizes: figures of both leaves are those of moving one container after
//! the other, in the order in which the reference walks its hash map.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    reason = "test code, and usage ratios are sums in `f32`"
)]

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, NodeName, NodeReport, NodeSpec,
    ResourceVector, Sequential,
};
use capsched::id::{PartitionId, java_order};

const APP: ApplicationId = ApplicationId::new(1);

/// Two leaves with an application of another user each, and one in `root.a` with containers of several sizes.
fn engine(containers: i64) -> Sequential {
    let pairs = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100000"),
        ("per-node-heartbeat.maximum-container-assignments", "100000"),
    ];
    let site = [("yarn.scheduler.minimum-allocation-mb", "1")];
    let settings = crate::trees::settings_at(site, pairs);
    let mut engine = Sequential::new(settings, &[]).unwrap();
    let name = NodeName::new("n1", 1).unwrap();
    let total = ResourceVector::of(&[1_234_577, 100_003]);
    engine
        .add_node(&NodeSpec::new(name.clone(), total))
        .unwrap();
    engine.submit(&AppSpec::new(APP, "root.a", "ann")).unwrap();
    for (number, leaf) in [(2, "root.a"), (3, "root.b")] {
        let app = ApplicationId::new(number);
        engine.submit(&AppSpec::new(app, leaf, "bob")).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[8191, 3]), 30);
        engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    }
    let sized = |request_id: i64| Ask {
        request_id,
        ..Ask::anywhere(ResourceVector::of(&[1 + request_id * 37 % 1021, 1]), 1)
    };
    let call = AskCall::asking((0..containers).map(sized).collect());
    engine.ask(APP, &call).unwrap();
    engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    let placed = engine.ask(APP, &AskCall::default()).unwrap().allocated;
    assert_eq!(i64::try_from(placed.len()), Ok(containers));
    engine
}

/// What a leaf keeps of its users on the default partition: the usage ratio and what active ones use.
fn users_of(engine: &Sequential, leaf: &str) -> (f32, ResourceVector) {
    let leaf = engine.ledger().queue(leaf).unwrap();
    let row = engine.ledger().state().queues[leaf].leaf.as_ref().unwrap();
    let part = &row.parts[PartitionId::DEFAULT];
    (part.usage_ratio, part.active_used.get())
}

/// What root and both leaves use.
fn of_queues(engine: &Sequential) -> [ResourceVector; 3] {
    ["root", "root.a", "root.b"].map(|queue| {
        let queue = engine.ledger().queue(queue).unwrap();
        let row = &engine.ledger().state().queues[queue];
        row.part(PartitionId::DEFAULT).used.get()
    })
}

/// What the application's containers use together.
fn used_by_app(engine: &Sequential) -> ResourceVector {
    let sizes = containers(engine, false).into_iter().map(|one| one.1);
    sizes.fold(ResourceVector::NONE, |sum, size| sum + size)
}

/// Numbers and sizes of the containers, by number or in the order of a hash map of their ids.
fn containers(engine: &Sequential, hashed: bool) -> Vec<(u32, ResourceVector)> {
    let app = engine.ledger().app(APP).unwrap();
    let live = engine.ledger().live_containers(app);
    let mut live: Vec<_> = live.map(|c| (c.id.number, c.size.get())).collect();
    if hashed {
        java_order::sort(&mut live, 0, |&(number, _)| {
            java_order::container_hash(ContainerId::new(APP, number))
        });
    }
    live
}

/// The usage ratio of a leaf after steps that each change what one of its users uses.
fn after(mut ratio: f32, mut used: ResourceVector, steps: &[ResourceVector]) -> f32 {
    let total = ResourceVector::of(&[1_234_577, 100_003]);
    let share = |used: &ResourceVector| {
        let share = |i: usize| used[i] as f32 / total[i] as f32;
        share(0).max(share(1))
    };
    for &step in steps {
        let before = share(&used);
        used += step;
        ratio += share(&used) - before;
    }
    ratio
}

#[test]
fn usage_ratios_move_container_by_container() {
    let mut engine = engine(500);
    let nothing = ResourceVector::NONE;
    let (before, all) = (users_of(&engine, "root.a").0, used_by_app(&engine));
    let [root, a, b] = of_queues(&engine);
    let sizes = |hashed| containers(&engine, hashed).into_iter().map(|one| one.1);
    let leaving: Vec<_> = sizes(true).map(|size| nothing - size).collect();
    let coming: Vec<_> = sizes(true).collect();
    let by_number: Vec<_> = sizes(false).collect();
    let there = users_of(&engine, "root.b").0;
    let expected = (after(before, all, &leaving), after(there, nothing, &coming));
    // The order decides, and so does each step.
    let plain = after(there, nothing, &by_number).to_bits();
    assert_ne!(plain, expected.1.to_bits());
    let at_once = after(there, nothing, &[all]).to_bits();
    assert_ne!(at_once, expected.1.to_bits());

    engine.move_app(APP, "root.b").unwrap();
    let (left, come) = (users_of(&engine, "root.a").0, users_of(&engine, "root.b").0);
    assert_eq!(left.to_bits(), expected.0.to_bits());
    assert_eq!(come.to_bits(), expected.1.to_bits());
    assert_eq!(of_queues(&engine), [root, a - all, b + all]);
}

#[test]
fn an_application_that_stays_where_it_is_moves_there_and_back() {
    let mut engine = engine(500);
    let (before, all) = (users_of(&engine, "root.a").0, used_by_app(&engine));
    let [root, a, b] = of_queues(&engine);
    let sizes = containers(&engine, true).into_iter().map(|one| one.1);
    let steps: Vec<_> = sizes
        .flat_map(|size| [ResourceVector::NONE - size, size])
        .collect();
    let expected = after(before, all, &steps);
    engine.move_app(APP, "root.a").unwrap();
    assert_eq!(users_of(&engine, "root.a").0.to_bits(), expected.to_bits());
    assert_eq!(of_queues(&engine), [root, a, b]);
}

/// What an application asks under many keys moves as a whole.
#[test]
fn outstanding_asks_of_all_keys_move() {
    let mut engine = engine(10);
    let sized = |request_id: i64| Ask {
        request_id,
        ..Ask::anywhere(ResourceVector::of(&[request_id % 7 + 1, 1]), 2)
    };
    let call = AskCall::asking((100..400).map(sized).collect());
    engine.ask(APP, &call).unwrap();
    let pending = |engine: &Sequential, queue: &str| {
        let queue = engine.ledger().queue(queue).unwrap();
        let row = &engine.ledger().state().queues[queue];
        row.part(PartitionId::DEFAULT).pending.get()
    };
    let all: i64 = (100..400).map(|id| 2 * (id % 7 + 1)).sum();
    let all = ResourceVector::of(&[all, 600]);
    assert_eq!(pending(&engine, "root.a"), all);
    engine.move_app(APP, "root.b").unwrap();
    let moved = ["root", "root.a", "root.b"].map(|queue| pending(&engine, queue));
    assert_eq!(moved, [all, ResourceVector::NONE, all]);
}
