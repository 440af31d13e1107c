//! Commands of the largest legal size beside a caller that only fetches: it is served after a bounded number of
//! items, and the long command comes to the same as in one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, ConstrainedAsk,
    ContainerId, Desk, DeskAnswer, HeartbeatReply, NodeError, NodeName, NodeReport, NodeSpec,
    OpportunisticSettings, PreemptionReason, ResourceVector, Sequential, StateView, TreeSettings,
};
use capsched::commit::{Ledger, Verdict, VerdictKind, Verdicts};
use capsched::config;
use capsched::id::{NodeSlot, PartitionId};
use capsched::snapshot::State;

pub(super) const LONG: ApplicationId = ApplicationId::new(1);
pub(super) const FETCHES: ApplicationId = ApplicationId::new(2);

/// Items of the long commands about containers, which have to be placed first.
pub(super) const CONTAINERS: i32 = 3000;

pub(super) fn settings() -> TreeSettings {
    let further = [
        ("schedule-asynchronously.enable", "false"),
        ("root.b.maximum-am-resource-percent", "1"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100000"),
        ("per-node-heartbeat.maximum-container-assignments", "100000"),
    ];
    let pairs = LEAVES.into_iter().chain(further).map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let site = [(
        "yarn.resourcemanager.placement-constraints.handler",
        "scheduler",
    )];
    let site = site.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site.into(), &pairs.collect(), &types);
    loaded.unwrap().settings
}

/// Two leaves of which each user may have all.
pub(super) const LEAVES: [(&str, &str); 5] = [
    ("root.queues", "a,b"),
    ("root.a.capacity", "60"),
    ("root.b.capacity", "40"),
    ("root.a.user-limit-factor", "100"),
    ("root.b.user-limit-factor", "100"),
];

pub(super) fn node() -> NodeName {
    NodeName::new("n0", 1).unwrap()
}

pub(super) fn size() -> ResourceVector {
    ResourceVector::of(&[1024, 1])
}

/// An engine with a large node and two applications, of which the first one has so many containers that it has
/// not fetched.
fn engine(containers: i32) -> Sequential {
    let mut engine = Sequential::new(settings(), &[]).unwrap();
    let room = ResourceVector::of(&[1 << 30, 1 << 20]);
    engine.add_node(&NodeSpec::new(node(), room)).unwrap();
    for app in [LONG, FETCHES] {
        engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    }
    if containers > 0 {
        let ask = Ask::anywhere(size(), containers);
        engine.ask(LONG, &AskCall::asking(vec![ask])).unwrap();
        engine.heartbeat(&node(), &NodeReport::AsExpected).unwrap();
    }
    engine.take_events();
    engine
}

fn desk_with(containers: i32) -> Desk {
    Desk::of(engine(containers))
}

/// Sends a long command and a fetch behind it; turns until the long one is answered, and its answer. The fetch is
/// answered in the first of them.
pub(super) fn beside_a_fetch<T>(
    desk: &mut Desk,
    long: impl FnOnce(&Desk) -> DeskAnswer<T>,
) -> (usize, T) {
    let mut answer = long(desk);
    let mut fetch = desk.ask(vec![(FETCHES, AskCall::default())]);
    desk.turn();
    let fetched = fetch.take().expect("the fetch is served first");
    assert!(fetched.iter().all(Result::is_ok), "{fetched:?}");
    for turns in 1..100_000 {
        if let Some(answer) = answer.take() {
            return (turns, answer);
        }
        desk.turn();
    }
    panic!("never answered");
}

/// One call of the first application beside a fetch; what it came to.
fn call(desk: &mut Desk, call: AskCall) -> (usize, Result<AskReply, AskError>) {
    let (turns, mut answers) = beside_a_fetch(desk, |desk| desk.ask(vec![(LONG, call)]));
    (turns, answers.remove(0))
}

fn pending(desk: &Desk) -> i64 {
    let root = &desk.ledger().state().queues[State::ROOT];
    root.part(PartitionId::DEFAULT).pending.memory()
}

fn asks(count: i64, of: impl Fn(i64) -> Ask) -> AskCall {
    AskCall::asking((0..count).map(of).collect())
}

#[test]
fn asks_with_many_request_ids() {
    let with_id = |request_id| Ask {
        request_id,
        ..Ask::anywhere(size(), 1)
    };
    let mut desk = desk_with(0);
    let (turns, reply) = call(&mut desk, asks(100_000, with_id));
    assert!(reply.is_ok() && turns >= 300, "{turns}");
    assert_eq!(pending(&desk), 100_000 * 1024);
    // Cancelled in the same way.
    let cancel = |request_id| Ask {
        count: 0,
        ..with_id(request_id)
    };
    let (turns, reply) = call(&mut desk, asks(100_000, cancel));
    assert!(reply.is_ok() && turns >= 300, "{turns}");
    assert_eq!(pending(&desk), 0);
}

#[test]
fn asks_for_many_hosts_under_one_key() {
    let anywhere = Ask::anywhere(size(), 5);
    let on = |host| Ask {
        place: if host == 0 {
            "*".to_owned()
        } else {
            format!("h{host}")
        },
        ..anywhere.clone()
    };
    let mut desk = desk_with(0);
    let (turns, reply) = call(&mut desk, asks(100_000, on));
    assert!(reply.is_ok() && turns >= 300, "{turns}");
    assert_eq!(pending(&desk), 5 * 1024);
    let app = desk.ledger().app(LONG).unwrap();
    let keys = &desk.ledger().state().apps[app].keys;
    assert_eq!((keys.len(), keys[0].places.len()), (1, 100_000));
}

#[test]
fn scheduling_requests_with_many_ids() {
    let request = |request_id| ConstrainedAsk {
        priority: 1,
        request_id,
        size: size(),
        count: 1,
        tags: Vec::new(),
        constraint: None,
    };
    let requests = AskCall {
        constrained: (0..50_000).map(request).collect(),
        ..AskCall::default()
    };
    let mut desk = desk_with(0);
    let (turns, reply) = call(&mut desk, requests);
    assert!(reply.is_ok() && turns >= 150, "{turns}");
    assert_eq!(pending(&desk), 50_000 * 1024);
}

#[test]
fn places_not_to_use() {
    let names: Vec<_> = (0..100_000).map(|at| format!("h{at}")).collect();
    let added = AskCall {
        blacklist_add: names.clone(),
        ..AskCall::default()
    };
    let mut desk = desk_with(0);
    let (turns, reply) = call(&mut desk, added);
    assert!(reply.is_ok() && turns >= 150, "{turns}");
    let app = desk.ledger().app(LONG).unwrap();
    assert_eq!(desk.ledger().state().apps[app].blacklist.len(), 100_000);
    let removed = AskCall {
        blacklist_remove: names,
        ..AskCall::default()
    };
    let (_, reply) = call(&mut desk, removed);
    assert!(reply.is_ok());
    assert!(desk.ledger().state().apps[app].blacklist.is_empty());
}

#[test]
fn containers_that_are_fetched_and_given_back() {
    let mut desk = desk_with(CONTAINERS);
    let (turns, reply) = call(&mut desk, AskCall::default());
    let fetched = reply.unwrap().allocated;
    assert_eq!(fetched.len(), usize::try_from(CONTAINERS).unwrap());
    assert!(fetched.is_sorted_by_key(|granted| granted.container));
    assert!(turns >= 5, "{turns}");

    let mut desk = desk_with(CONTAINERS);
    let release = (1..=u32::try_from(CONTAINERS).unwrap()).collect();
    let release = AskCall {
        release,
        ..AskCall::default()
    };
    let (turns, reply) = call(&mut desk, release);
    // What was not fetched is asked for again, and nothing of it is left.
    assert!(reply.unwrap().allocated.is_empty());
    assert!(turns >= 5, "{turns}");
    assert_eq!(pending(&desk), i64::from(CONTAINERS) * 1024);
}

#[test]
fn an_application_that_ends_with_many_containers() {
    let mut desk = desk_with(CONTAINERS);
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.finish_app(LONG));
    assert_eq!(ended, Ok(()));
    assert!(turns >= 5, "{turns}");
    assert_eq!(desk.ledger().app(LONG), None);
    assert_eq!(pending(&desk), 0);
    let root = &desk.ledger().state().queues[State::ROOT];
    assert!(root.part(PartitionId::DEFAULT).used.is_none());
}

#[test]
fn an_attempt_that_ends_with_many_containers() {
    let mut desk = desk_with(CONTAINERS);
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.end_attempt(LONG));
    assert_eq!(ended, Ok(()));
    assert!(turns >= 5, "{turns}");
    assert!(root_uses_nothing(&desk));
    assert_eq!(pending(&desk), 0);
    let ended = alone(&mut desk, |desk| desk.end_attempt(LONG));
    assert_eq!(ended, Err(AppError::NoAttempt(LONG)));
    // One that ended between two parts ended as the call wants.
    let mut desk = desk_with(CONTAINERS);
    let mut first = desk.end_attempt(LONG);
    desk.turn();
    let ended = alone(&mut desk, |desk| desk.end_attempt(LONG));
    assert_eq!((ended, first.take()), (Ok(()), Some(Ok(()))));
}

#[test]
fn many_calls_and_many_reports_together() {
    let calls = vec![(LONG, AskCall::default()); 10_000];
    let mut desk = desk_with(0);
    let (turns, answers) = beside_a_fetch(&mut desk, |desk| desk.ask(calls));
    assert!(answers.iter().all(Result::is_ok) && answers.len() == 10_000);
    assert!(turns >= 15, "{turns}");

    let reports = vec![(node(), NodeReport::AsExpected); 10_000];
    let (turns, replies) = beside_a_fetch(&mut desk, |desk| desk.heartbeat_all(reports));
    assert_eq!(replies, vec![Ok(HeartbeatReply::default()); 10_000]);
    assert!(turns >= 60, "{turns}");
}

fn root_uses_nothing(desk: &Desk) -> bool {
    let root = &desk.ledger().state().queues[State::ROOT];
    root.part(PartitionId::DEFAULT).used.is_none()
}

#[test]
fn a_node_that_is_lost_with_many_containers() {
    let mut desk = desk_with(CONTAINERS);
    let (turns, removed) = beside_a_fetch(&mut desk, |desk| desk.remove_node(node()));
    assert_eq!(removed, Ok(()));
    assert!(turns >= 5, "{turns}");
    assert!(desk.ledger().node(&node()).is_none() && root_uses_nothing(&desk));
    // What the application had not fetched is asked for again, as after a removal in one piece.
    let mut whole = engine(CONTAINERS);
    whole.remove_node(&node()).unwrap();
    assert_eq!(pending(&desk), pending(&Desk::of(whole)));
    let (_, again) = beside_a_fetch(&mut desk, |desk| desk.remove_node(node()));
    assert_eq!(again, Err(NodeError::Unknown(node())));
}

/// Between two parts the node takes no containers, and its reports are taken.
#[test]
fn a_node_that_is_about_to_go_takes_nothing() {
    let mut desk = desk_with(CONTAINERS);
    let mut removed = desk.remove_node(node());
    desk.turn();
    let before = pending(&desk);
    let mut report = desk.heartbeat_all(vec![(node(), NodeReport::AsExpected)]);
    desk.turn();
    assert!(report.take().unwrap()[0].is_ok());
    assert!(pending(&desk) >= before);
    while removed.take().is_none() {
        desk.turn();
    }
    assert!(root_uses_nothing(&desk));
}

#[test]
fn a_round_of_preemption_with_many_verdicts() {
    let verdicts = |kind| {
        let verdict = |number| Verdict {
            container: ContainerId::new(LONG, number),
            node: NodeSlot(0),
            reason: PreemptionReason::OverGuarantee,
            kind,
        };
        let numbers = 1..=u32::try_from(CONTAINERS).unwrap();
        Verdicts {
            verdicts: numbers.map(verdict).collect(),
            ..Verdicts::default()
        }
    };
    let mut desk = desk_with(CONTAINERS);
    let asked = VerdictKind::AskBack { deadline_ms: 1 };
    let (turns, round) = beside_a_fetch(&mut desk, |desk| desk.preempt(verdicts(asked)));
    assert!(turns >= 5, "{turns}");
    assert_eq!(round.marks.len(), usize::try_from(CONTAINERS).unwrap());
    let kill = verdicts(VerdictKind::Kill);
    let (turns, round) = beside_a_fetch(&mut desk, |desk| desk.preempt(kill));
    assert!(turns >= 5, "{turns}");
    assert_eq!(round.kills.len(), usize::try_from(CONTAINERS).unwrap());
    assert!(root_uses_nothing(&desk));
}

/// Applications of a leaf besides the two that there are.
const APPS: u32 = 2000;

fn with_apps() -> Desk {
    let mut engine = engine(CONTAINERS);
    for number in 3..3 + APPS {
        let app = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
        engine.submit(&app).unwrap();
    }
    Desk::of(engine)
}

#[test]
fn all_applications_of_a_leaf_are_ended() {
    let mut desk = with_apps();
    let (turns, killed) = beside_a_fetch(&mut desk, |desk| desk.kill_all_apps("root.a"));
    assert!(turns >= 8, "{turns}");
    let killed = killed.unwrap();
    assert!(killed.is_sorted() && killed.len() == 2 + APPS as usize);
    assert!(desk.ledger().apps_by_id().is_empty() && root_uses_nothing(&desk));
    let nobody = alone(&mut desk, |desk| desk.kill_all_apps("root.a"));
    assert_eq!(nobody, Ok(Vec::new()));
    assert!(alone(&mut desk, |desk| desk.kill_all_apps("root.z")).is_err());
}

/// The answer to a command that nothing goes beside.
pub(super) fn alone<T>(desk: &mut Desk, call: impl FnOnce(&Desk) -> DeskAnswer<T>) -> T {
    let mut answer = call(desk);
    loop {
        desk.turn();
        if let Some(answer) = answer.take() {
            return answer;
        }
    }
}

/// Between two parts an application ends, and starts again in another queue.
#[test]
fn an_application_that_left_its_queue_meanwhile_is_not_ended() {
    let mut desk = with_apps();
    let mut killed = desk.kill_all_apps("root.a");
    desk.turn();
    let last = ApplicationId::new(2 + APPS);
    assert_eq!(alone(&mut desk, |desk| desk.finish_app(last)), Ok(()));
    let again = AppSpec::new(last, "root.b", "ann");
    assert!(alone(&mut desk, |desk| desk.submit(again)).is_ok());
    let killed = loop {
        if let Some(killed) = killed.take() {
            break killed.unwrap();
        }
        desk.turn();
    };
    assert!(!killed.contains(&last) && killed.len() == 1 + APPS as usize);
    let live = desk.ledger().apps_by_id();
    assert_eq!(live.iter().map(|&(id, _)| id).collect::<Vec<_>>(), [last]);
}

#[test]
fn all_applications_of_a_leaf_are_moved() {
    let mut desk = with_apps();
    let (turns, moved) = beside_a_fetch(&mut desk, |desk| desk.move_all_apps("root.a", "root.b"));
    assert!(turns >= 4, "{turns}");
    let moved = moved.unwrap();
    let all = moved.moved.len() + moved.refused.len();
    assert_eq!(all, 2 + APPS as usize);
    assert!(moved.moved.contains(&LONG), "{:?}", moved.refused.first());
    let leaf = desk.ledger().queue("root.b").unwrap();
    let used = desk.ledger().state().queues[leaf]
        .part(PartitionId::DEFAULT)
        .used
        .memory();
    assert_eq!(used, i64::from(CONTAINERS) * 1024);
}

/// So many leaves below root, of which the last one has a maximum in percent.
pub(super) fn flat(leaves: usize, maximum: &str) -> TreeSettings {
    let prefix = "yarn.scheduler.capacity.root";
    let names: Vec<String> = (0..leaves).map(|at| format!("q{at}")).collect();
    let mut pairs = BTreeMap::from([(format!("{prefix}.queues"), names.join(","))]);
    for name in &names {
        pairs.insert(format!("{prefix}.{name}.capacity"), "1w".to_owned());
    }
    let last = format!("{prefix}.q{}.maximum-capacity", leaves - 1);
    pairs.insert(last, maximum.to_owned());
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

/// A refresh is one item: it holds as a whole or not at all. Its time grows with the number of queues.
#[test]
fn a_refresh_of_many_queues() {
    let mut engine = Sequential::new(flat(3000, "50"), &[]).unwrap();
    for app in [LONG, FETCHES] {
        engine.submit(&AppSpec::new(app, "root.q7", "ann")).unwrap();
    }
    let mut desk = Desk::of(engine);
    let (turns, refreshed) = beside_a_fetch(&mut desk, |desk| desk.reconfigure(flat(3100, "60")));
    assert_eq!((turns, refreshed), (1, Ok(())));
    let ledger = desk.ledger();
    assert_eq!(ledger.state().queues[State::ROOT].children.len(), 3100);
    let last = ledger.queue("root.q3099").unwrap();
    let part = ledger.state().queues[last].part(PartitionId::DEFAULT);
    assert_eq!(part.maximum_capacity.to_bits(), 0.6_f32.to_bits());
}

/// Opportunistic containers that one ask wants.
const WAITING: i32 = 40_000;

/// A large node has room for all of them.
#[test]
fn opportunistic_containers_are_placed_in_parts() {
    let mut settings = settings();
    settings.scheduler.opportunistic = Some(OpportunisticSettings::default());
    let mut engine = Sequential::new(settings, &[]).unwrap();
    let room = ResourceVector::of(&[1 << 30, 1 << 20]);
    engine.add_node(&NodeSpec::new(node(), room)).unwrap();
    for app in [LONG, FETCHES] {
        engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    }
    let mut desk = Desk::of(engine);
    let asks = vec![Ask::anywhere(size(), WAITING)];
    let (turns, asked) = beside_a_fetch(&mut desk, |desk| desk.ask_opportunistic(LONG, asks));
    assert_eq!(asked, Ok(()));
    // A container takes five items: the key that is tried, the look at the node, and three to place it. A turn of 512
    // items begins the last one with what is left.
    assert!(turns >= 40_000 / 512_usize.div_ceil(5), "{turns}");
    assert_eq!(desk.ledger().opportunistic_waiting(LONG), 0);
    let (turns, reply) = call(&mut desk, AskCall::default());
    assert_eq!(reply.unwrap().allocated.len(), 40_000);
    assert!(turns >= 75, "{turns}");
}

/// A cluster on which opportunistic containers run, wait and find no node, beside guaranteed ones.
fn mixed_nodes() -> Sequential {
    let mut settings = settings();
    settings.scheduler.opportunistic = Some(OpportunisticSettings::default());
    let mut engine = Sequential::new(settings, &[]).unwrap();
    for number in 0..60_i64 {
        let spec = NodeSpec {
            rack: format!("/r{}", number % 4),
            ..NodeSpec::new(host(number), ResourceVector::of(&[4096 + number * 512, 8]))
        };
        engine.add_node(&spec).unwrap();
    }
    for app in [LONG, FETCHES] {
        engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    }
    let guaranteed = AskCall::asking(vec![Ask::anywhere(size(), 100)]);
    engine.ask(FETCHES, &guaranteed).unwrap();
    for number in 0..60 {
        let report = NodeReport::AsExpected;
        engine.heartbeat(&host(number), &report).unwrap();
    }
    let fetched = engine.ask(FETCHES, &AskCall::default()).unwrap();
    assert_eq!(fetched.allocated.len(), 100);
    engine.take_events();
    engine
}

fn host(number: i64) -> NodeName {
    NodeName::new(&format!("h{number}"), 1).unwrap()
}

/// Asks of several sizes under several keys: anywhere, on a rack or a host, there alone or if possible.
fn mixed_asks() -> Vec<Ask> {
    let ask = |request_id: i64, place: String, count| Ask {
        request_id,
        place,
        relax_locality: request_id % 3 > 0,
        ..Ask::anywhere(ResourceVector::of(&[(request_id % 5 + 1) * 512, 1]), count)
    };
    let of_key = |key: i64| {
        [
            ask(key, format!("h{}", key * 7 % 60), 9),
            ask(key, format!("/r{}", key % 4), 13),
            ask(key, "*".to_owned(), 40),
        ]
    };
    // No node is of that rack.
    let never = |place: &str| Ask {
        relax_locality: false,
        ..ask(600, place.to_owned(), 3)
    };
    let never = [never("/none"), never("*")];
    (0..20).flat_map(of_key).chain(never).collect()
}

/// What became of opportunistic containers: views, queues of nodes, what waits.
fn opportunistic_state(ledger: &Ledger) -> (StateView, Vec<String>, String) {
    let nodes = ledger.nodes_by_name();
    let queues = nodes.map(|(name, node)| format!("{name} {:?}", ledger.node_rooms().queue(node)));
    let waits = format!("{:?}", ledger.waiting_opportunistic(None));
    (StateView::of(ledger), queues.collect(), waits)
}

#[test]
fn opportunistic_containers_come_to_the_same_in_parts() {
    let mut whole = mixed_nodes();
    whole.ask_opportunistic(LONG, &mixed_asks()).unwrap();
    let mut desk = Desk::of(mixed_nodes());
    let (turns, asked) =
        beside_a_fetch(&mut desk, |desk| desk.ask_opportunistic(LONG, mixed_asks()));
    assert_eq!(asked, Ok(()));
    assert!(turns >= 5, "{turns}");
    let expected = opportunistic_state(whole.ledger());
    assert_eq!(opportunistic_state(desk.ledger()), expected);
    let left = whole.ledger().opportunistic_waiting(LONG);
    let (running, waiting) = (expected.0.apps[0].live.len(), left);
    assert!(running > 300 && waiting > 3, "{running} {waiting}");

    // What a later call of the application places and fetches is the same as well.
    let fetched = whole.ask(LONG, &AskCall::default()).unwrap();
    let (_, reply) = call(&mut desk, AskCall::default());
    assert_eq!(reply, Ok(fetched));
    assert_eq!(
        opportunistic_state(desk.ledger()),
        opportunistic_state(whole.ledger())
    );
}

/// An application that ends between two parts of its call, and one that comes after it with the same number.
#[test]
fn a_call_of_an_application_that_ended_meanwhile_is_refused() {
    let mut desk = desk_with(0);
    let with_id = |request_id| Ask {
        request_id,
        ..Ask::anywhere(size(), 1)
    };
    let mut long = desk.ask(vec![(LONG, asks(10_000, with_id))]);
    let mut ended = desk.finish_app(LONG);
    let mut again = desk.submit(AppSpec::new(LONG, "root.a", "ann"));
    desk.turn();
    assert_eq!(ended.take(), Some(Ok(())));
    assert!(again.take().unwrap().is_ok());
    desk.turn();
    let answers = long.take().unwrap();
    assert_eq!(answers, [Err(AskError::UnknownApplication(LONG))]);
    assert_eq!(pending(&desk), 0);
}
