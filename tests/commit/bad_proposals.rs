//! Proposals that no sound proposer makes are refused, and change nothing.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec};
use capsched::cluster::Killable;
use capsched::commit::{CommitOutcome, Conflict, Ledger};
use capsched::id::NodeSlot;
use capsched::proposer::{
    Alternate, Candidates, Outcome, Proposal, ProposalKind, Release, propose,
};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;

fn ask(ledger: &mut Ledger, number: u32, priority: i32, memory: i64) {
    let app = ledger.app(ApplicationId::new(number)).unwrap();
    let ask = Ask {
        priority,
        ..Ask::anywhere(ResourceVector::of(&[memory, 1]), 1)
    };
    ledger.ask(app, &AskCall::asking(vec![ask])).unwrap();
    ledger.drain_follow_ups();
}

/// What a pass over a node proposes.
fn proposed(ledger: &Ledger, node: usize) -> Proposal {
    let candidates = Candidates::node(NodeSlot::at(node));
    let outcome = propose(
        ledger.state(),
        &candidates,
        Exclusivity::Respect,
        &mut Vec::new(),
    );
    match outcome {
        Outcome::Proposed(proposal) => proposal,
        other => panic!("{other:?}"),
    }
}

fn commit(ledger: &mut Ledger, proposal: Proposal) -> CommitOutcome {
    let committed = ledger.commit(&Outcome::Proposed(proposal), &[]);
    ledger.drain_follow_ups();
    committed
}

/// Two nodes, of which the first is nearly full; what an application of `a` would reserve there.
fn nearly_full() -> (Ledger, Proposal) {
    let pairs = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
    ];
    let mut ledger = Ledger::new(crate::trees::settings(pairs), &[]).unwrap();
    for i in 0..2 {
        let name = NodeName::new(&format!("h{i}"), 1).unwrap();
        let node = NodeSpec::new(name, ResourceVector::of(&[10_240, 10]));
        ledger.add_node(&node).unwrap();
    }
    for (number, queue) in [(1, "root.a"), (2, "root.b")] {
        let spec = AppSpec::new(ApplicationId::new(number), queue, "ann");
        ledger.submit(&spec).unwrap();
        ledger.drain_follow_ups();
    }
    ask(&mut ledger, 1, 5, 7168);
    let first = proposed(&ledger, 0);
    assert_eq!(first.kind, ProposalKind::Allocate);
    assert_eq!(commit(&mut ledger, first), CommitOutcome::Committed);
    ask(&mut ledger, 1, 5, 7168);
    let second = proposed(&ledger, 0);
    assert_eq!(second.kind, ProposalKind::Reserve);
    (ledger, second)
}

/// The same with the reservation, whose application asks for something small besides.
fn ledger() -> Ledger {
    let (mut ledger, reservation) = nearly_full();
    assert_eq!(commit(&mut ledger, reservation), CommitOutcome::Committed);
    ask(&mut ledger, 1, 7, 1024);
    ledger
}

#[test]
fn a_reservation_serves_no_other_key() {
    let mut ledger = ledger();
    let held = ledger.state().nodes[NodeSlot::at(0)].reserved.unwrap();
    let mut proposal = proposed(&ledger, 1);
    proposal.node = NodeSlot::at(0);
    proposal.incarnation = ledger.state().nodes[proposal.node].incarnation;
    proposal.size = ResourceVector::of(&[1024, 1]).into();
    proposal.reserved = Some(held.number);
    proposal.key.priority = 7;
    assert_ne!(proposal.key, held.key);
    let refused = CommitOutcome::Rejected(Conflict::ReservationChanged);
    for kind in [ProposalKind::Allocate, ProposalKind::Reserve] {
        let bad = Proposal {
            kind,
            ..proposal.clone()
        };
        assert_eq!(commit(&mut ledger, bad), refused, "{kind:?}");
    }
    let after = &ledger.state().nodes[NodeSlot::at(0)];
    assert_eq!(after.reserved, Some(held));
}

/// It would keep others off the node for as long as its application waits.
#[test]
fn no_node_is_reserved_for_more_than_it_has() {
    let (mut ledger, proposal) = nearly_full();
    let too_large = Proposal {
        size: ResourceVector::of(&[10_241, 1]).into(),
        ..proposal.clone()
    };
    let refused = CommitOutcome::Rejected(Conflict::DoesNotFit);
    assert_eq!(commit(&mut ledger, too_large), refused);
    assert_eq!(ledger.state().nodes[NodeSlot::at(0)].reserved, None);
    assert_eq!(commit(&mut ledger, proposal), CommitOutcome::Committed);
}

#[test]
fn nobody_gives_up_what_another_has_reserved_or_more_than_there_is() {
    let mut ledger = ledger();
    ask(&mut ledger, 2, 5, 1024);
    let held = ledger.state().nodes[NodeSlot::at(0)].reserved.unwrap();
    let release = Release {
        app: held.app,
        key: held.key,
        number: held.number,
        node: NodeSlot::at(0),
        size: held.size,
    };
    let proposal = proposed(&ledger, 1);
    let [own, other] = [1, 2].map(|number| ledger.app(ApplicationId::new(number)).unwrap());
    assert_eq!((held.app, proposal.app), (own, other), "b has nothing yet");
    let twice = Release {
        size: held.size.times(2),
        ..release
    };
    let of_another = Proposal {
        exchange: Some(Box::new(release)),
        ..proposal.clone()
    };
    let too_large = Proposal {
        app: own,
        generation: ledger.state().apps[own].generation,
        exchange: Some(Box::new(twice)),
        ..proposal.clone()
    };
    for bad in [of_another, too_large] {
        let refused = CommitOutcome::Rejected(Conflict::ExchangeGone);
        assert_eq!(commit(&mut ledger, bad), refused);
    }
    let after = &ledger.state().nodes[NodeSlot::at(0)];
    assert_eq!(after.reserved, Some(held));
    assert_eq!(commit(&mut ledger, proposal), CommitOutcome::Committed);
}

#[test]
fn nobody_is_killed_who_is_not_marked_for_it() {
    let mut ledger = ledger();
    ask(&mut ledger, 2, 5, 1024);
    let app = ledger.app(ApplicationId::new(1)).unwrap();
    let live = ledger.live_containers(app).next().unwrap();
    let victim = Killable {
        container: live.id,
        app,
        leaf: ledger.state().apps[app].leaf,
        size: live.size.get(),
        ended: false,
    };
    let proposal = proposed(&ledger, 1);
    assert_ne!(proposal.node, live.node, "its space would be no room there");
    let here = Proposal {
        node: live.node,
        incarnation: ledger.state().nodes[live.node].incarnation,
        ..proposal.clone()
    };
    for proposal in [here, proposal.clone()] {
        let bad = Proposal {
            kill: vec![victim],
            ..proposal
        };
        let refused = CommitOutcome::Rejected(Conflict::VictimGone);
        assert_eq!(commit(&mut ledger, bad), refused);
    }
    assert_eq!(ledger.live_containers(app).count(), 1);
    assert_eq!(commit(&mut ledger, proposal), CommitOutcome::Committed);
}

#[test]
fn nothing_is_lent_on_a_node_of_a_partition_that_lends_nothing() {
    let mut ledger = ledger();
    ask(&mut ledger, 2, 5, 1024);
    let proposal = proposed(&ledger, 1);
    let bad = Proposal {
        exclusivity: Exclusivity::Ignore,
        ..proposal.clone()
    };
    let refused = CommitOutcome::Rejected(Conflict::NodeState);
    assert_eq!(commit(&mut ledger, bad), refused);
    assert_eq!(commit(&mut ledger, proposal), CommitOutcome::Committed);
}

#[test]
fn only_containers_that_may_be_anywhere_go_elsewhere() {
    let mut ledger = ledger();
    // That of `b` has reserved nothing.
    ask(&mut ledger, 2, 5, 1024);
    let sound = Proposal {
        counted: true,
        alternate: Some(Alternate {
            node: NodeSlot::at(1),
            incarnation: ledger.state().nodes[NodeSlot::at(1)].incarnation,
        }),
        ..proposed(&ledger, 1)
    };
    let reserves = Proposal {
        kind: ProposalKind::Reserve,
        ..sound.clone()
    };
    let local = Proposal {
        counted: false,
        ..sound.clone()
    };
    for (bad, elsewhere) in [(reserves, false), (local, false), (sound, true)] {
        let lost = Proposal {
            incarnation: bad.incarnation + 1,
            ..bad
        };
        let expected = if elsewhere {
            CommitOutcome::CommittedElsewhere
        } else {
            CommitOutcome::Rejected(Conflict::NodeGone)
        };
        assert_eq!(commit(&mut ledger, lost), expected);
    }
}

/// Of one container that is asked, and of several: they are checked on different ways.
#[test]
fn a_node_that_registered_again_takes_nothing_that_was_proposed_before() {
    for count in [1, 5] {
        let pairs = [
            ("root.queues", "a"),
            ("root.a.capacity", "100"),
            ("maximum-am-resource-percent", "1"),
        ];
        let mut ledger = Ledger::new(crate::trees::settings(pairs), &[]).unwrap();
        let name = NodeName::new("h0", 1).unwrap();
        let node = NodeSpec::new(name.clone(), ResourceVector::of(&[10_240, 10]));
        ledger.add_node(&node).unwrap();
        let spec = AppSpec::new(ApplicationId::new(1), "root.a", "ann");
        let app = ledger.submit(&spec).unwrap();
        ledger.drain_follow_ups();
        let asks = vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)];
        ledger.ask(app, &AskCall::asking(asks)).unwrap();
        ledger.drain_follow_ups();
        let proposal = proposed(&ledger, 0);
        ledger.remove_node(&name).unwrap();
        ledger.drain_follow_ups();
        let slot = ledger.add_node(&node).unwrap();
        ledger.drain_follow_ups();
        assert_eq!(slot, proposal.node, "the slot is used again");
        let refused = CommitOutcome::Rejected(Conflict::NodeGone);
        assert_eq!(commit(&mut ledger, proposal), refused, "{count} asked");
    }
}
