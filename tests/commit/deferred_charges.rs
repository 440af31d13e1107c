//! Queues above leaves, charged for many containers together, refuse and hold what they would one by
//! one.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec, PartitionSpec};
use capsched::commit::{CommitOutcome, Ledger, Unsettled, UnsettledView};
use capsched::fast_path::AllFast;
use capsched::id::{AppSlot, NodeSlot, PartitionId, QueueSlot};
use capsched::policy::Locality;
use capsched::proposer::{Outcome, Proposal, ProposalKind};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;
use proptest::prelude::*;

const LEAVES: [&str; 5] = [
    "root.p.r.a",
    "root.p.b",
    "root.q.c",
    "root.q.d",
    "root.p.r.e",
];

/// Two partitions of three nodes each. Both parents have maxima, on the default partition below what
/// their leaves may have together; what is below `p` comes to its own, too.
fn ledger(calculator: &str) -> Ledger {
    let calculator = format!("org.apache.hadoop.yarn.util.resource.{calculator}");
    let pairs = [
        ("root.queues", "p,q"),
        ("root.p.queues", "r,b"),
        ("root.p.r.queues", "a,e"),
        ("root.q.queues", "c,d"),
        ("root.p.capacity", "50"),
        ("root.p.maximum-capacity", "60"),
        ("root.q.capacity", "50"),
        ("root.q.maximum-capacity", "70"),
        ("root.p.r.capacity", "50"),
        ("root.p.r.maximum-capacity", "70"),
        ("root.p.r.a.capacity", "50"),
        ("root.p.r.e.capacity", "50"),
        ("root.p.b.capacity", "50"),
        ("root.q.c.capacity", "50"),
        ("root.q.d.capacity", "50"),
        ("root.p.r.a.user-limit-factor", "10"),
        ("root.p.r.e.user-limit-factor", "10"),
        ("root.p.b.user-limit-factor", "10"),
        ("root.q.c.user-limit-factor", "10"),
        ("root.q.d.user-limit-factor", "10"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.p.accessible-node-labels.gpu.capacity", "50"),
        ("root.q.accessible-node-labels.gpu.capacity", "50"),
        ("root.p.r.accessible-node-labels.gpu.capacity", "50"),
        ("root.p.r.a.accessible-node-labels.gpu.capacity", "50"),
        ("root.p.r.e.accessible-node-labels.gpu.capacity", "50"),
        ("root.p.b.accessible-node-labels.gpu.capacity", "50"),
        ("root.q.c.accessible-node-labels.gpu.capacity", "50"),
        ("root.q.d.accessible-node-labels.gpu.capacity", "50"),
        ("maximum-am-resource-percent", "1"),
        ("resource-calculator", calculator.as_str()),
    ];
    let lent = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mut ledger = Ledger::new(crate::trees::settings(pairs), &[lent]).unwrap();
    for i in 0..6 {
        add_node(&mut ledger, i, if i < 3 { "" } else { "gpu" });
    }
    for (number, queue) in (1..).zip(LEAVES) {
        let id = ApplicationId::new(number);
        let mut spec = AppSpec::new(id, queue, "ann");
        spec.master = None;
        let app = ledger.submit(&spec).unwrap();
        ledger.drain_follow_ups();
        let asks = [("", 1, 40), ("gpu", 2, 3)].map(|(partition, priority, count)| Ask {
            priority,
            partition: (!partition.is_empty()).then(|| partition.to_owned()),
            ..Ask::anywhere(ResourceVector::of(&[1024 * i64::from(priority), 1]), count)
        });
        ledger.ask(app, &AskCall::asking(asks.to_vec())).unwrap();
        ledger.drain_follow_ups();
    }
    ledger.track(true);
    ledger
}

fn add_node(ledger: &mut Ledger, number: usize, partition: &str) {
    let name = NodeName::new(&format!("h{number}"), 1).unwrap();
    let mut node = NodeSpec::new(name, ResourceVector::of(&[16_384, 16]));
    partition.clone_into(&mut node.partition);
    ledger.add_node(&node).unwrap();
    ledger.drain_follow_ups();
}

/// What an application asks under one of its keys, on a node, as a proposer would say it.
fn proposal(view: UnsettledView<'_>, (app, key, node): (usize, usize, usize)) -> Option<Proposal> {
    let app = AppSlot::at(app);
    let row = &view.apps()[app];
    let asks = row.keys.get(key)?;
    let node = NodeSlot::at(node);
    Some(Proposal {
        kind: ProposalKind::Allocate,
        app,
        generation: row.generation,
        key: asks.key,
        node,
        incarnation: view.nodes()[node].incarnation,
        alternate: None,
        size: asks.places.first()?.size.clone(),
        locality: Locality::Any,
        requested: Some(Locality::Any),
        exclusivity: Exclusivity::Respect,
        counted: true,
        reserved: None,
        exchange: None,
        kill: Vec::new(),
    })
}

/// An application asks anew for so many containers on the default partition.
fn ask_again(ledger: &mut Ledger, app: usize, count: i32) {
    let ask = Ask {
        priority: 1,
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), count)
    };
    ledger
        .ask(AppSlot::at(app), &AskCall::asking(vec![ask]))
        .unwrap();
    ledger.drain_follow_ups();
}

/// Figures of all queues: path, use, outstanding, used shares.
fn figures(ledger: &Ledger) -> Vec<String> {
    let state = ledger.state();
    let figures = state.queues.iter().flat_map(|queue| {
        let parts = state.partition_ids().map(|partition| queue.part(partition));
        parts.map(|part| {
            let shares = (part.used_capacity, part.absolute_used);
            let path = &queue.settings.path;
            format!("{path}: {:?} {:?} {shares:?}", part.used, part.pending)
        })
    });
    figures.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn together_comes_to_the_same_as_one_by_one(
        dominant in any::<bool>(),
        tries in prop::collection::vec((0..8_usize, 0..8_u8, 0..3_usize, 0..32_u8), 1..200),
    ) {
        let calculator = if dominant { "DominantResourceCalculator" } else { "DefaultResourceCalculator" };
        let [mut together, mut single] =
            [ledger(calculator), ledger(calculator)].map(Unsettled::new);
        for (app, elsewhere, node, pause) in tries {
            // Mostly below `p`, which comes to its maximum then.
            let app = [0, 1, 4, 0, 1, 4, 2, 3][app];
            let (key, nodes) = if elsewhere == 0 { (1, 3) } else { (0, 0) };
            let Some(proposal) = proposal(single.view(), (app, key, nodes + node)) else {
                continue;
            };
            let outcome = Outcome::Proposed(proposal);
            let found = match pause {
                1 => together.commit_now(&outcome, &[]),
                _ => together.batch().commit(&outcome, &[]),
            };
            let expected = single.commit_now(&outcome, &[]);
            prop_assert_eq!(found, expected);
            let state = single.charged().state();
            for (queue, row) in together.view().queues().zip(state.queues.iter()) {
                for partition in state.partition_ids() {
                    let part = row.part(partition);
                    prop_assert_eq!(queue.used(partition), part.used.get());
                    prop_assert_eq!(queue.pending(partition), part.pending.get());
                }
            }
            if pause == 0 {
                let together = figures(together.settled());
                prop_assert_eq!(together, figures(single.charged()));
            }
            if pause < 6 {
                for ledger in [&mut together, &mut single] {
                    let ledger = ledger.settled();
                    match pause {
                        0 | 1 => {}
                        // None at times, so that another leaf may come first.
                        2 => ask_again(ledger, app, 0),
                        3 => ask_again(ledger, app, 40),
                        // Ranks are made anew after that, each when its queue is next charged.
                        _ => add_node(ledger, ledger.state().nodes.len(), ""),
                    }
                }
            }
        }
        for ledger in [&mut together, &mut single] {
            ledger.settled().drain_follow_ups();
        }
        let [together, single] = [&mut together, &mut single].map(Unsettled::settled);
        prop_assert_eq!(figures(together), figures(single));
        let [found, expected] = [together, single].map(Ledger::take_events);
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_parent_at_its_maximum_refuses_what_its_leaves_have_room_for() {
    let _fast = AllFast::begin();
    let mut ledger = Unsettled::new(ledger("DominantResourceCalculator"));
    let parent = ledger.charged().queue("root.p").unwrap();
    let figures_of = |ledger: &Unsettled<Ledger>| {
        let queue = ledger.view().queue(parent);
        let (charged, used) = (
            queue.charged(PartitionId::DEFAULT),
            queue.used(PartitionId::DEFAULT),
        );
        (charged.memory(), used.memory())
    };
    let mut placed = 0;
    for i in 0..40 {
        let wanted = proposal(ledger.view(), (i % 2, 0, placed / 14)).unwrap();
        let outcome = ledger.batch().commit(&Outcome::Proposed(wanted), &[]);
        placed += usize::from(outcome == CommitOutcome::Committed);
        if placed == 10 {
            assert_eq!(figures_of(&ledger), (0, 10 * 1024), "it is left for later");
            assert!(ledger.if_settled().is_none());
        }
    }
    // 60 % of 48 GiB is room for 28 containers of one, of which `r` may have 20.
    assert_eq!((placed, figures_of(&ledger).1), (28, 28 * 1024));
    ledger.settled();
    assert_eq!(figures_of(&ledger), (28 * 1024, 28 * 1024));
    assert!(ledger.if_settled().is_some());
}

#[cfg(debug_assertions)]
#[test]
fn a_container_beyond_the_room_of_an_ancestor_is_noticed() {
    use capsched::fast_path::{PlantedFlaw, with_flaw};
    let scene = a_parent_at_its_maximum_refuses_what_its_leaves_have_room_for;
    let noticed = with_flaw(PlantedFlaw::DeferredChargesIgnoreRoom, || {
        std::panic::catch_unwind(scene).is_err()
    });
    assert!(noticed);
}

/// Opportunities of a key after batches placed so many of its containers, which count a look or do not.
#[cfg(debug_assertions)]
fn opportunities(containers: usize, counted: bool) -> i32 {
    let mut ledger = Unsettled::new(ledger("DominantResourceCalculator"));
    for _ in 0..containers {
        ledger.settled();
        let found = proposal(ledger.view(), (0, 0, 0)).unwrap();
        let outcome = Outcome::Proposed(Proposal { counted, ..found });
        let committed = ledger.batch().commit(&outcome, &[]);
        assert_eq!(committed, CommitOutcome::Committed);
    }
    ledger.settled().state().apps[AppSlot::at(0)].keys[0].opportunities
}

#[cfg(debug_assertions)]
#[test]
fn a_simple_allocation_counts_a_look_where_its_proposal_does_as_the_general_path() {
    use capsched::fast_path::{FastPath, with_slow};
    let _fast = AllFast::begin();
    for (counted, expected) in [(true, 4), (false, 0)] {
        let general = with_slow(&[FastPath::SimpleAllocation], || opportunities(4, counted));
        assert_eq!((opportunities(4, counted), general), (expected, expected));
    }
}

#[test]
fn follow_ups_of_a_batch_see_all_its_charges() {
    let _fast = AllFast::begin();
    let mut ledger = Unsettled::new(ledger("DominantResourceCalculator"));
    let spec = AppSpec::new(ApplicationId::new(6), "root.q.c", "ann");
    let spec = spec.with_master(ResourceVector::of(&[1024, 1]));
    ledger.settled_ledger().submit(&spec).unwrap();
    ledger.drain_follow_ups();
    let root = |ledger: &Unsettled<Ledger>| {
        let root = ledger.view().queue(QueueSlot::at(0));
        (
            root.charged(PartitionId::DEFAULT),
            root.used(PartitionId::DEFAULT),
        )
    };
    let place = |ledger: &mut Unsettled<Ledger>, of| {
        let outcome = Outcome::Proposed(proposal(ledger.view(), of).unwrap());
        let committed = ledger.batch().commit(&outcome, &[]);
        assert_eq!(committed, CommitOutcome::Committed);
    };
    place(&mut ledger, (5, 0, 2));
    place(&mut ledger, (0, 0, 0));
    let (charged, all) = root(&ledger);
    assert_ne!(charged, all, "the container's charge waits");
    ledger.drain_follow_ups();
    let (charged, all) = root(&ledger);
    assert_eq!(charged, all, "the master's start reads the charges");
}
