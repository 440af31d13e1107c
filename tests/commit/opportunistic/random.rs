//! Random runs with opportunistic containers.

use super::cluster::{APP, OTHER, add_node, asks, cluster, node, size, waits};
use capsched::api::{
    AppSpec, AskCall, ContainerChange, ContainerId, ContainerUpdate, Event, NodeReport, Sequential,
};
use proptest::prelude::*;

/// One step of a random run.
#[derive(Clone, Debug)]
enum Step {
    Ask(bool, i32, i64),
    Guaranteed(bool, i64),
    Fetch(bool),
    Beat(u8),
    Finish(bool, u32),
    Change(bool, u32, bool),
    Lose(u8),
    End(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (any::<bool>(), 0..6_i32, 1..7_i64).prop_map(|(a, n, gib)| Step::Ask(a, n, gib)),
        4 => (any::<bool>(), 1..7_i64).prop_map(|(a, gib)| Step::Guaranteed(a, gib)),
        4 => any::<bool>().prop_map(Step::Fetch),
        6 => (0..3_u8).prop_map(Step::Beat),
        3 => (any::<bool>(), 1..20_u32).prop_map(|(a, n)| Step::Finish(a, n)),
        3 => (any::<bool>(), 1..20_u32, any::<bool>()).prop_map(|(a, n, up)| Step::Change(a, n, up)),
        1 => (0..3_u8).prop_map(Step::Lose),
        1 => any::<bool>().prop_map(Step::End),
    ];
    proptest::collection::vec(step, 1..60)
}

fn carry_out(engine: &mut Sequential, step: &Step) {
    let app = |first: bool| if first { APP } else { OTHER };
    match *step {
        Step::Ask(first, count, gib) => {
            let _ = engine.ask_opportunistic(app(first), &asks(count, gib));
        }
        Step::Guaranteed(first, gib) => {
            let _ = engine.ask(app(first), &AskCall::asking(asks(1, gib)));
        }
        Step::Fetch(first) => drop(engine.ask(app(first), &AskCall::default())),
        Step::Beat(number) => drop(engine.heartbeat(&node(number), &NodeReport::AsExpected)),
        Step::Finish(first, number) => {
            engine.container_finished(ContainerId::new(app(first), number));
        }
        Step::Change(first, number, up) => {
            let ledger = engine.ledger();
            let slot = ledger.live_container(ContainerId::new(app(first), number));
            let version = slot.map_or(0, |slot| ledger.container_version(slot));
            let change = if up {
                ContainerChange::Promote
            } else {
                ContainerChange::Demote
            };
            let update = ContainerUpdate {
                container: number,
                version,
                change,
            };
            drop(engine.ask(app(first), &AskCall::updating(vec![update])));
        }
        Step::Lose(number) => {
            if engine.remove_node(&node(number)).is_err() {
                add_node(engine, number);
            }
        }
        Step::End(first) => {
            let queue = if first { "root.a" } else { "root.b" };
            if engine.finish_app(app(first)).is_err() {
                let _ = engine.submit(&AppSpec::new(app(first), queue, "ann"));
            }
        }
    }
}

/// The limit of queues as a look at all nodes finds it, and what is started on each.
fn check(engine: &Sequential) {
    let ledger = engine.ledger();
    let settings = waits(3);
    let queues: Vec<_> = ledger
        .nodes_by_name()
        .map(|(_, node)| (node, ledger.node_rooms().queue(node).unwrap()))
        .collect();
    let lengths: Vec<u32> = queues.iter().map(|(_, queue)| queue.length()).collect();
    assert!(
        lengths
            .iter()
            .all(|&length| length <= settings.queue_capacity)
    );
    let limit = ledger.node_rooms().longest_queue().unwrap();
    assert!((settings.shortest_limit..=settings.longest_limit).contains(&limit));
    for (_, queue) in queues {
        assert_eq!(queue.started() == 0, queue.used().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any steps every node that reports and fetches ends with room for what is guaranteed, and once all
    /// applications ended nothing is left on any node.
    #[test]
    fn queues_follow_what_happens(steps in steps()) {
        let mut engine = cluster(3, 3);
        for step in &steps {
            carry_out(&mut engine, step);
            check(&engine);
        }
        for app in [APP, OTHER] {
            let _ = engine.finish_app(app);
        }
        for number in [0, 1, 2, 0, 1, 2] {
            let _ = engine.heartbeat(&node(number), &NodeReport::AsExpected);
        }
        let ledger = engine.ledger();
        for (_, node) in ledger.nodes_by_name() {
            prop_assert!(ledger.node_rooms().queue(node).unwrap().is_empty());
            let row = &ledger.state().nodes[node];
            prop_assert_eq!((row.containers, row.free.get()), (0, size(8, 8)));
        }
    }

    /// Guaranteed decisions do not depend on opportunistic containers, whatever happens to them.
    #[test]
    fn guaranteed_decisions_do_not_depend_on_them(steps in steps()) {
        let decisions = |with: bool| {
            let mut engine = cluster(3, 3);
            let mut placed = Vec::new();
            for step in &steps {
                let plain = matches!(step, Step::Guaranteed(..) | Step::Fetch(_) | Step::Beat(_) | Step::Lose(_));
                if plain || (with && matches!(step, Step::Ask(..))) {
                    carry_out(&mut engine, step);
                }
                for event in engine.take_events() {
                    if let Event::Allocated { container, node, size, .. } = event {
                        placed.push((container.app, node, size));
                    }
                }
            }
            placed
        };
        prop_assert_eq!(decisions(true), decisions(false));
    }
}
