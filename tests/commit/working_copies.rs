//! A proposer's working copy follows its own proposals as the ledger does.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ConstrainedAsk, NodeName, NodeSpec, PartitionSpec,
};
use capsched::commit::{CommitOutcome, Ledger, Unsettled};
use capsched::config;
use capsched::fast_path::AllFast;
use capsched::id::{PartitionId, QueueSlot};
use capsched::policy::{Locality, is_idle, order_children, visited_children};
use capsched::proposer::{
    Candidates, Outcome, OverlayResult, Proposal, ProposalKind, apply_to_copy, observe_on_copy,
    propose,
};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;
use capsched::snapshot::State;

const NODES: [(&str, &str); 2] = [("h1", "/r1"), ("h2", "/r2")];

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

/// Parents and leaves on both partitions; two nodes of `gpu`, which shares what its own leave idle,
/// and one of the default partition.
fn ledger() -> Ledger {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    };
    set("root.queues", "p,q");
    set("root.p.queues", "a,b");
    set(
        "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    );
    set("node-locality-delay", "0");
    set("root.accessible-node-labels.gpu.capacity", "100");
    for queue in ["p", "q", "p.a", "p.b"] {
        for prefix in ["", "accessible-node-labels.gpu."] {
            set(&format!("root.{queue}.{prefix}capacity"), "50");
        }
        set(&format!("root.{queue}.user-limit-factor"), "10");
        set(&format!("root.{queue}.minimum-user-limit-percent"), "50");
    }
    let site = BTreeMap::from([(
        "yarn.resourcemanager.placement-constraints.handler".to_owned(),
        "scheduler".to_owned(),
    )]);
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site, &pairs, &types).unwrap();
    let lent = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: false,
    };
    let mut ledger = Ledger::new(loaded.settings, &[lent]).unwrap();
    for (host, rack) in NODES {
        let name = NodeName::new(host, 1).unwrap();
        let mut node = NodeSpec::new(name, of(16_384, 16));
        (node.rack, node.partition) = (rack.to_owned(), "gpu".to_owned());
        ledger.add_node(&node).unwrap();
    }
    let name = NodeName::new("h3", 1).unwrap();
    ledger
        .add_node(&NodeSpec::new(name, of(65_536, 64)))
        .unwrap();
    ledger.drain_follow_ups();
    ledger
}

/// Two users in either leaf, who go on asking, though one application of ann does not.
fn demand(ledger: &mut Ledger) {
    let anywhere = |priority, memory, count| Ask {
        priority,
        ..Ask::anywhere(of(memory, 1), count)
    };
    let at = |place: &str, count, ask: &Ask| Ask {
        place: place.to_owned(),
        count,
        ..ask.clone()
    };
    let placed = anywhere(1, 2048, 40);
    let local = [
        at("h1", 2, &placed),
        at("/r1", 4, &placed),
        at("/r2", 2, &placed),
        placed,
    ];
    let constrained = ConstrainedAsk {
        priority: 1,
        request_id: 7,
        size: of(1024, 2),
        count: 3,
        tags: vec!["web".to_owned()],
        constraint: None,
    };
    let calls = [
        (1, "root.p.a", "ann", AskCall::asking(local.into())),
        (
            2,
            "root.p.a",
            "bob",
            AskCall::asking(vec![anywhere(2, 1024, 50)]),
        ),
        (
            3,
            "root.q",
            "ann",
            AskCall {
                constrained: vec![constrained],
                ..AskCall::default()
            },
        ),
        (
            4,
            "root.q",
            "carol",
            AskCall::asking(vec![anywhere(1, 3072, 50)]),
        ),
        (
            5,
            "root.q",
            "ann",
            AskCall::asking(vec![anywhere(1, 1024, 1)]),
        ),
    ];
    for (number, queue, user, call) in calls {
        submit(ledger, number, queue, user, &call);
    }
}

fn submit(ledger: &mut Ledger, number: u32, queue: &str, user: &str, call: &AskCall) {
    let id = ApplicationId::new(number);
    let app = ledger.submit(&AppSpec::new(id, queue, user)).unwrap();
    ledger.drain_follow_ups();
    ledger.ask(app, call).unwrap();
    ledger.drain_follow_ups();
}

/// What limits and orders read, in words that name the difference.
fn figures(state: &State) -> Vec<String> {
    let mut out = Vec::new();
    for node in state.nodes.iter() {
        let row = (
            &node.name,
            node.free.get(),
            node.allocated.get(),
            node.containers,
        );
        out.push(format!("node {row:?}"));
    }
    for queue in state.queues.iter() {
        for part in state.partition_ids().map(|at| queue.part(at)) {
            let shares = (part.used_capacity, part.absolute_used, &part.ranks);
            let row = (
                part.used.get(),
                part.pending.get(),
                part.reserved.get(),
                shares,
            );
            out.push(format!("{} {row:?}", queue.settings.path));
        }
        if let Some(leaf) = &queue.leaf {
            for part in state.partition_ids().map(|at| &leaf.parts[at]) {
                let row = (part.usage_ratio, part.active_used.get());
                out.push(format!("users of {} {row:?}", queue.settings.path));
            }
            let row = (leaf.asking_users, leaf.active_weight, leaf.users_version);
            out.push(format!("users of {} {row:?}", queue.settings.path));
        }
    }
    for user in state.users.iter() {
        let row = (user.asking_apps, user.active);
        out.push(format!("user {} asks {row:?}", user.name));
        for part in state.partition_ids().map(|at| &user.parts[at]) {
            let row = (part.used.get(), part.usage_ratio);
            out.push(format!("user {} {row:?}", user.name));
        }
    }
    for app in state.apps.iter() {
        out.push(format!("app {} asks {}", app.id, app.asking));
        for part in state.partition_ids().map(|at| app.part(at)) {
            out.push(format!(
                "app {} {:?}",
                app.id,
                (part.used.get(), part.pending.get())
            ));
        }
        for key in &app.keys {
            let row = (key.is_outstanding(), &key.places);
            out.push(format!("app {} {:?} {row:?}", app.id, key.key));
        }
    }
    out
}

/// The first figure that differs, of the copy and of the ledger.
fn difference(copy: &State, ledger: &State) -> Option<(String, String)> {
    let (copy, ledger) = (figures(copy), figures(ledger));
    assert_eq!(copy.len(), ledger.len());
    let mut pairs = copy.into_iter().zip(ledger);
    pairs.find(|(copy, ledger)| copy != ledger)
}

/// The first container that a pass over one node finds on the copy, which follows the pass, and
/// how far; the ledger commits it.
fn step(
    ledger: &mut Ledger,
    copy: &mut State,
    host: &str,
    lent: Exclusivity,
) -> Option<(Proposal, OverlayResult)> {
    let node = ledger.node(&NodeName::new(host, 1).unwrap()).unwrap();
    let mut seen = Vec::new();
    let outcome = propose(copy, &Candidates::node(node), lent, &mut seen);
    observe_on_copy(copy, &seen);
    let proposal = match &outcome {
        Outcome::Proposed(proposal) if proposal.kind == ProposalKind::Allocate => proposal,
        // Reservations wait for the ledger's answer.
        _ => {
            ledger.observe(&seen);
            return None;
        }
    };
    let followed = apply_to_copy(copy, proposal);
    assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
    ledger.drain_follow_ups();
    Some((proposal.clone(), followed))
}

#[test]
fn copy_and_ledger_agree_while_a_partition_lends_to_asks_of_the_default_one() {
    let mut ledger = ledger();
    demand(&mut ledger);
    let mut copy = ledger.state().clone();
    let mut placed = Vec::new();
    let mut idle = 0;
    while idle < 2 {
        let before = placed.len();
        for (host, _) in NODES {
            if let Some((one, followed)) = step(&mut ledger, &mut copy, host, Exclusivity::Ignore) {
                assert_eq!(followed, OverlayResult::Yes, "{one:?}");
                placed.push(one);
            }
            assert_eq!(
                difference(&copy, ledger.state()),
                None,
                "{:?}",
                placed.last()
            );
        }
        idle = if placed.len() == before { idle + 1 } else { 0 };
    }
    let gpu = ledger.partition("gpu").unwrap();
    assert!(placed.len() >= 12, "{}", placed.len());
    for level in [Locality::Node, Locality::Rack, Locality::Any] {
        assert!(placed.iter().any(|one| one.locality == level), "{level:?}");
    }
    let root = ledger.state().queues.iter().next().unwrap();
    assert!(!root.part(gpu).used.is_none() && root.part(PartitionId::DEFAULT).used.is_none());
    let asking = |number| {
        let app = ledger.app(ApplicationId::new(number)).unwrap();
        !ledger.state().apps[app].part(gpu).used.is_none()
    };
    assert_eq!([1, 2, 3, 4, 5].map(asking), [true; 5]);
    let row = ledger.app(ApplicationId::new(5)).unwrap();
    assert!(!ledger.state().apps[row].asking);
}

#[test]
fn a_copy_follows_users_until_they_ask_for_nothing_more() {
    let mut ledger = ledger();
    for (number, user, count) in [(1, "ann", 2), (2, "bob", 3), (3, "ann", 1)] {
        let call = AskCall::asking(vec![Ask::anywhere(of(1024, 1), count)]);
        submit(&mut ledger, number, "root.q", user, &call);
    }
    let mut copy = ledger.state().clone();
    let queue = ledger.queue("root.q").unwrap();
    let mut asking = Vec::new();
    for _ in 0..6 {
        let (one, followed) = step(&mut ledger, &mut copy, "h3", Exclusivity::Respect).unwrap();
        assert_eq!(followed, OverlayResult::Yes, "{one:?}");
        assert_eq!(difference(&copy, ledger.state()), None, "{one:?}");
        asking.push(copy.queues[queue].as_leaf().asking_users);
    }
    assert_eq!(asking, [2, 2, 2, 2, 1, 0], "first in, first out");
    assert!(copy.users.iter().all(|user| !user.active));
}

#[test]
fn an_application_asks_until_its_last_key_is_served() {
    let mut ledger = ledger();
    let keys = [1, 2].map(|priority| Ask {
        priority,
        ..Ask::anywhere(of(1024, 1), 1)
    });
    let one = AskCall::asking(vec![Ask::anywhere(of(1024, 1), 9)]);
    submit(
        &mut ledger,
        1,
        "root.q",
        "ann",
        &AskCall::asking(keys.into()),
    );
    submit(&mut ledger, 2, "root.q", "ann", &one);
    let mut copy = ledger.state().clone();
    let app = ledger.app(ApplicationId::new(1)).unwrap();
    let mut asked = Vec::new();
    while copy.apps[app].asking {
        let (one, followed) = step(&mut ledger, &mut copy, "h3", Exclusivity::Respect).unwrap();
        assert_eq!(followed, OverlayResult::Yes, "{one:?}");
        assert_eq!(difference(&copy, ledger.state()), None, "{one:?}");
        asked.extend((one.app == app).then_some(copy.apps[app].asking));
    }
    assert_eq!(asked, [true, false], "after each of its two keys");
}

/// Only the ledger finds the record of a user that was dropped while an application still asks, and
/// that of one whose application moved.
#[test]
fn a_copy_leaves_users_with_another_record_to_the_ledger() {
    for changed in ["nothing", "dropped", "moved"] {
        let mut ledger = ledger();
        for (number, count) in [(1, 1), (2, 9)] {
            let call = AskCall::asking(vec![Ask::anywhere(of(1024, 1), count)]);
            submit(&mut ledger, number, "root.q", "ann", &call);
        }
        let mut copy = ledger.state().clone();
        let app = ledger.app(ApplicationId::new(1)).unwrap();
        let node = ledger.node(&NodeName::new("h3", 1).unwrap()).unwrap();
        let candidates = Candidates::node(node);
        let outcome = propose(&copy, &candidates, Exclusivity::Respect, &mut Vec::new());
        let Outcome::Proposed(proposal) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(proposal.app, app);
        let user = copy.apps[app].user;
        match changed {
            "dropped" => copy.users[user].removed = true,
            "moved" => copy.users[user].leaf = ledger.queue("root.p.a").unwrap(),
            _ => {}
        }
        let before = figures(&copy);
        let followed = apply_to_copy(&mut copy, &proposal);
        if changed == "nothing" {
            assert_eq!(followed, OverlayResult::Yes);
            assert_eq!(
                (copy.apps[app].asking, copy.users[user].asking_apps),
                (false, 1)
            );
        } else {
            assert_eq!(followed, OverlayResult::No, "{changed}");
            assert_eq!(figures(&copy), before, "{changed}");
        }
    }
}

/// Passes come to the children that ask for something, in the order of the comparison; where a queue
/// knows the leaf that comes first below it, that is the leaf that they come to.
fn assert_visited_in_order(state: &State) {
    let [root, gpu] = [PartitionId::DEFAULT, PartitionId(1)];
    for (slot, partition) in (0..state.queues.len()).flat_map(|i| [(i, root), (i, gpu)]) {
        let parent = QueueSlot::at(slot);
        let visited = visited_children(state, parent, partition, Exclusivity::Respect);
        if let Some(visited) = visited {
            let mut children = order_children(state, parent, partition);
            children.retain(|&child| !is_idle(state.queues[child].part(partition)));
            assert_eq!(visited.collect::<Vec<_>>(), children);
        }
    }
    let known = visited_children(state, State::ROOT, root, Exclusivity::Respect);
    assert!(known.is_some(), "keys tell the order below root");
}

#[test]
fn what_commits_leave_for_later_comes_to_the_same() {
    let _fast = AllFast::begin();
    let [mut at_once, mut later] = [ledger(), ledger()].map(|mut ledger| {
        demand(&mut ledger);
        ledger.track(true);
        Unsettled::new(ledger)
    });
    let (mut placed, mut behind) = (0, 0);
    for round in 0..60 {
        let (host, lent) = match round % 4 {
            0 => ("h1", Exclusivity::Ignore),
            1 => ("h2", Exclusivity::Ignore),
            _ => ("h3", Exclusivity::Respect),
        };
        let ledger = at_once.charged();
        let node = ledger.node(&NodeName::new(host, 1).unwrap()).unwrap();
        let mut seen = Vec::new();
        let candidates = Candidates::node(node);
        let outcome = propose(ledger.state(), &candidates, lent, &mut seen);
        let committed = at_once.commit_now(&outcome, &seen);
        assert_eq!(later.batch().commit(&outcome, &seen), committed);
        placed += usize::from(committed == CommitOutcome::Committed);
        if round % 7 == 6 {
            let at_once = at_once.charged().state();
            behind += usize::from(later.if_settled().is_none());
            let later = later.settled().state();
            assert_eq!(difference(later, at_once), None);
            assert_visited_in_order(later);
            assert_visited_in_order(at_once);
        }
    }
    assert!(
        placed > 20 && behind > 2,
        "{placed} placed, {behind} behind"
    );
}
