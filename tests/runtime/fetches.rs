//! Fetches beside visits of all queues: they are answered in the pauses of a visit, and decide nothing.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, Desk, Engine, Mode, NodeName,
    NodeReport, NodeSpec, ResourceVector, Sequential, StateView, TreeSettings,
};
use capsched::commit::{ContainerState, TreeCopy};
use capsched::config;
use capsched::fast_path::AllFast;
use capsched::queue::{GangAsk, OpportunisticSettings};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Tree {
    leaves: usize,
    before: usize,
    legacy: bool,
}

/// More leaves than moments between two pauses of a visit.
const MANY: Tree = Tree {
    leaves: 200,
    before: 0,
    legacy: true,
};

/// Priority of the asks for gangs.
const GANG: i32 = 7;

/// Fewer.
const FEW: Tree = Tree { leaves: 10, ..MANY };

/// A tree of so many leaves, of which seven have a capacity. So many of the others come before them.
fn settings(tree: Tree, capacity: u32) -> TreeSettings {
    let Tree {
        leaves,
        before,
        legacy,
    } = tree;
    let mut names: Vec<_> = (0..leaves).map(|leaf| format!("leaf{leaf}")).collect();
    names.rotate_right(before);
    let key = |key: &str| format!("yarn.scheduler.capacity.{key}");
    let mut pairs = BTreeMap::from([
        (key("root.queues"), format!("{},a", names.join(","))),
        (key("root.a.capacity"), "30".to_owned()),
        (key("maximum-am-resource-percent"), "0.3".to_owned()),
        (key("legacy-queue-mode.enabled"), legacy.to_string()),
        (key("schedule-asynchronously.enable"), "false".to_owned()),
    ]);
    for leaf in 0..leaves {
        let name = format!("leaf{leaf}");
        let share = match leaf {
            0 => capacity,
            1 => 20 - capacity,
            2..7 => 10,
            _ => 0,
        };
        pairs.insert(key(&format!("root.{name}.capacity")), share.to_string());
        pairs.insert(
            key(&format!("root.{name}.minimum-user-limit-percent")),
            "30".to_owned(),
        );
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    loaded.settings
}

fn name(number: u32) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

fn total(units: i64) -> ResourceVector {
    ResourceVector::of(&[1024 * units, units])
}

fn size() -> ResourceVector {
    total(1)
}

fn id(number: u32) -> ApplicationId {
    ApplicationId::new(number)
}

/// Three nodes and some applications of several users, each with asks.
fn engine(tree: Tree) -> Sequential {
    let mut engine = Sequential::new(settings(tree, 10), &[]).unwrap();
    for number in 0..3 {
        let node = NodeSpec::new(name(number), total(40));
        engine.add_node(&node).unwrap();
    }
    for number in 0..9 {
        let queue = match number % 4 {
            0 => "root.a".to_owned(),
            leaf => format!("root.leaf{}", leaf - 1),
        };
        let user = ["ann", "bob", "eve"][number as usize % 3];
        engine
            .submit(&AppSpec::new(id(number), &queue, user))
            .unwrap();
        let ask = Ask::anywhere(size(), 5);
        engine.ask(id(number), &AskCall::asking(vec![ask])).unwrap();
    }
    engine.heartbeat(&name(0), &NodeReport::AsExpected).unwrap();
    // From now on each application that is active has a headroom.
    engine.resize_node(&name(0), total(41)).unwrap();
    engine.take_events();
    engine
}

fn ids(reply: &AskReply) -> Vec<String> {
    let allocated = reply.allocated.iter();
    let finished = reply.finished.iter();
    let allocated = allocated.map(|granted| format!("{granted:?}"));
    allocated
        .chain(finished.map(|finished| format!("{finished:?}")))
        .collect()
}

/// Takes turns until the committer has nothing to do.
fn settle(desk: &mut Desk) {
    for _ in 0..20 {
        desk.turn();
    }
}

/// What a desk is sent.
type Change = Box<dyn Fn(&Desk)>;

#[test]
fn a_fetch_is_answered_while_a_change_visits_all_queues() {
    let _fast = AllFast::begin();
    let prepared = |desk: &Desk| {
        let mut copy = TreeCopy::of(desk.ledger());
        copy.go_on(desk.ledger(), &mut { usize::MAX });
        copy.prepare(Box::new(settings(MANY, 5))).unwrap()
    };
    let changes: [(&str, Change); 5] = [
        (
            "add",
            Box::new(|desk| drop(desk.add_node(NodeSpec::new(name(9), total(8))))),
        ),
        (
            "resize",
            Box::new(|desk| drop(desk.resize_node(name(1), total(50)))),
        ),
        (
            "reconnect",
            Box::new(|desk| drop(desk.reconnect_node(NodeSpec::new(name(1), total(30))))),
        ),
        ("remove", Box::new(|desk| drop(desk.remove_node(name(2))))),
        (
            "refresh",
            Box::new(move |desk| drop(desk.install(prepared(desk)))),
        ),
    ];
    for (what, change) in &changes {
        let mut expected = engine(MANY);
        let mut desk = Desk::of(engine(MANY));
        let mut fetch = desk.fetch_in_part(id(0), 0);
        change(&desk);
        desk.turn();
        let reply = fetch.take().unwrap_or_else(|| panic!("{what}: waits"));
        let whole = expected.ask(id(0), &AskCall::default()).unwrap();
        assert!(
            !whole.allocated.is_empty(),
            "{what}: it has something to fetch"
        );
        assert_eq!(ids(&reply.unwrap()), ids(&whole), "{what}");
    }
}

#[test]
fn without_a_pause_a_fetch_is_answered_in_the_next_turn() {
    let mut desk = Desk::of(engine(FEW));
    let mut fetch = desk.fetch_in_part(id(0), 0);
    let _resized = desk.resize_node(name(1), total(50));
    desk.turn();
    assert!(fetch.take().is_none(), "a visit of few queues has no pause");
    desk.turn();
    assert!(fetch.take().unwrap().is_ok());
}

#[test]
fn what_waits_for_its_master_is_answered_after_the_visit() {
    let _fast = AllFast::begin();
    let mut engine = engine(MANY);
    let waits = AppSpec {
        master: Some(size()),
        ..AppSpec::new(id(100), "root.a", "ann")
    };
    engine.submit(&waits).unwrap();
    let mut desk = Desk::of(engine);
    let mut fetch = desk.fetch_in_part(id(100), 0);
    let mut other = desk.fetch_in_part(id(1), 0);
    let mut unknown = desk.fetch_in_part(id(101), 0);
    let _resized = desk.resize_node(name(1), total(50));
    desk.turn();
    assert!(fetch.take().is_none());
    assert!(
        other.take().unwrap().is_ok(),
        "it is not held by the one before it"
    );
    assert_eq!(
        unknown.take().unwrap().unwrap_err(),
        AskError::UnknownApplication(id(101))
    );
    desk.turn();
    assert_eq!(
        fetch.take().unwrap().unwrap_err(),
        AskError::MasterNotRunning(id(100))
    );
}

/// An application with so many containers to fetch.
fn with_much_to_fetch(tree: Tree, containers: i32) -> Sequential {
    let mut engine = engine(tree);
    engine
        .add_node(&NodeSpec::new(name(9), total(4_000)))
        .unwrap();
    let ask = Ask::anywhere(size(), containers);
    engine.ask(id(0), &AskCall::asking(vec![ask])).unwrap();
    for _ in 0..containers {
        engine.heartbeat(&name(9), &NodeReport::AsExpected).unwrap();
    }
    engine
}

fn acquired(desk: &Desk, app: u32) -> usize {
    let ledger = desk.ledger();
    let live = ledger.live_containers(ledger.app(id(app)).unwrap());
    live.filter(|container| container.state != ContainerState::Allocated)
        .count()
}

#[test]
fn an_answer_longer_than_a_pause_is_whole() {
    let _fast = AllFast::begin();
    let mut desk = Desk::of(with_much_to_fetch(MANY, 1_000));
    let mut fetch = desk.fetch_in_part(id(0), 0);
    let _resized = desk.resize_node(name(1), total(50));
    let before = acquired(&desk, 0);
    desk.turn();
    assert!(acquired(&desk, 0) > before, "it was begun in a pause");
    assert!(fetch.take().is_none());
    settle(&mut desk);
    let reply = fetch.take().unwrap().unwrap();
    assert!(reply.allocated.len() > 900, "{}", reply.allocated.len());
    let mut numbers: Vec<_> = reply
        .allocated
        .iter()
        .map(|granted| granted.container)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), reply.allocated.len());
}

#[test]
fn a_long_fetch_holds_no_other_one() {
    let mut desk = Desk::of(with_much_to_fetch(FEW, 1_000));
    let mut long = desk.fetch(id(0));
    for app in [1, 2, 3] {
        let mut short = desk.fetch(id(app));
        desk.turn();
        assert!(short.take().is_some_and(|reply| reply.is_ok()));
        assert!(long.take().is_none());
    }
    settle(&mut desk);
    assert!(long.take().unwrap().unwrap().allocated.len() > 900);
}

/// A caller that has its answer leaves the long call of another one to the committer's thread.
#[test]
fn a_caller_that_fetched_does_not_begin_with_a_long_call() {
    let mut desk = Desk::of(with_much_to_fetch(MANY, 1_000));
    let mut removed = desk.remove_node(name(9));
    desk.turn();
    let before = desk
        .ledger()
        .live_containers(desk.ledger().app(id(0)).unwrap())
        .count();
    let mut fetch = desk.fetch(id(1));
    assert!(desk.visit(false), "its thread has to go on");
    assert!(fetch.take().unwrap().is_ok());
    let after = desk
        .ledger()
        .live_containers(desk.ledger().app(id(0)).unwrap())
        .count();
    assert_eq!(after, before, "no container of the node ended meanwhile");
    settle(&mut desk);
    assert_eq!(removed.take(), Some(Ok(())));
}

#[test]
fn the_application_of_a_gang_fetches_all_of_it_or_nothing() {
    let _fast = AllFast::begin();
    for pauses in 0..4 {
        let mut desk = Desk::of(engine(FEW));
        let fetched = |reply: Option<Result<AskReply, AskError>>| {
            let reply = reply.expect("it is answered").unwrap();
            let of_gang = reply.allocated.iter();
            of_gang.filter(|granted| granted.priority == GANG).count()
        };
        let gang = GangAsk {
            priority: GANG,
            ..GangAsk::of(12, size(), 60_000)
        };
        let mut own = desk.fetch_in_part(id(0), pauses);
        let mut other = desk.fetch_in_part(id(1), pauses);
        let mut asked = desk.ask_gang(id(0), gang);
        desk.turn();
        assert_eq!(asked.take(), Some(Ok(())), "it is placed in one part");
        if pauses < 3 {
            assert_eq!(fetched(other.take()), 0);
        }
        settle(&mut desk);
        let mut again = desk.fetch(id(0));
        settle(&mut desk);
        let (own, again) = (own.take().unwrap(), again.take().unwrap());
        let headrooms = [&own, &again].map(|reply| reply.as_ref().unwrap().headroom);
        let (first, second) = (fetched(Some(own)), fetched(Some(again)));
        assert!(
            [(12, 0), (0, 12)].contains(&(first, second)),
            "{pauses}: {first} and {second}"
        );
        assert!(
            first == 0 || headrooms[0] == headrooms[1],
            "{pauses}: what is fetched is charged, {headrooms:?}"
        );
    }
}

/// What callers do in turn.
#[derive(Clone, Debug)]
enum Step {
    /// Another total of a node; an application fetches meanwhile, after so many pauses.
    Resize(u32, i64, (u32, usize)),
    /// Another capacity of the first leaves; the same.
    Refresh(u32, (u32, usize)),
    Ask(u32, i32),
    Fetch(u32),
    Report(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let fetch = || (0..9u32, 0..4usize);
    prop_oneof![
        (0..3u32, 1..80i64, fetch()).prop_map(|(node, units, by)| Step::Resize(node, units, by)),
        (1..19u32, fetch()).prop_map(|(capacity, by)| Step::Refresh(capacity, by)),
        (0..9u32, 0..20i32).prop_map(|(app, count)| Step::Ask(app, count)),
        (0..9u32).prop_map(Step::Fetch),
        (0..3u32).prop_map(Step::Report),
    ]
}

/// Carries a step out on a committer whose visits pause, and on an engine where the fetch comes before the change.
fn both(desk: &mut Desk, whole: &mut Sequential, tree: Tree, step: &Step) {
    match *step {
        Step::Resize(node, units, (app, pauses)) => {
            let before = whole.ask(id(app), &AskCall::default()).unwrap();
            whole.resize_node(&name(node), total(units)).unwrap();
            let mut fetch = desk.fetch_in_part(id(app), pauses);
            let mut resized = desk.resize_node(name(node), total(units));
            settle(desk);
            assert_eq!(resized.take(), Some(Ok(())));
            assert_eq!(ids(&fetch.take().unwrap().unwrap()), ids(&before));
        }
        Step::Refresh(capacity, (app, pauses)) => {
            let before = whole.ask(id(app), &AskCall::default()).unwrap();
            let settings = settings(tree, capacity);
            whole.reconfigure(settings.clone()).unwrap();
            let mut copy = TreeCopy::of(desk.ledger());
            copy.go_on(desk.ledger(), &mut { usize::MAX });
            let prepared = copy.prepare(Box::new(settings)).unwrap();
            let mut fetch = desk.fetch_in_part(id(app), pauses);
            let mut installed = desk.install(prepared);
            settle(desk);
            assert_eq!(installed.take().unwrap().0, Some(Ok(())));
            assert_eq!(ids(&fetch.take().unwrap().unwrap()), ids(&before));
        }
        Step::Ask(app, count) => {
            let call = AskCall::asking(vec![Ask::anywhere(size(), count)]);
            let expected = whole.ask(id(app), &call).unwrap();
            let mut asked = desk.ask(vec![(id(app), call)]);
            settle(desk);
            let reply = asked.take().unwrap().remove(0).unwrap();
            assert_eq!(format!("{reply:?}"), format!("{expected:?}"));
        }
        Step::Fetch(app) => {
            let expected = whole.ask(id(app), &AskCall::default()).unwrap();
            let mut fetch = desk.fetch(id(app));
            settle(desk);
            let reply = fetch.take().unwrap().unwrap();
            assert_eq!(format!("{reply:?}"), format!("{expected:?}"));
        }
        Step::Report(node) => {
            let expected = whole.heartbeat(&name(node), &NodeReport::AsExpected);
            let mut reported = desk.heartbeat(name(node), NodeReport::AsExpected);
            settle(desk);
            assert_eq!(reported.take(), Some(expected));
        }
    }
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fetches_in_pauses_change_no_decision(
        legacy in any::<bool>(),
        (before, behind) in (0..130usize, 60..80usize),
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let leaves = before + behind;
        let tree = Tree { leaves, before, legacy };
        let mut whole = engine(tree);
        let mut desk = Desk::of(engine(tree));
        for step in &steps {
            both(&mut desk, &mut whole, tree, step);
        }
    }
}

/// A fetch directly before its leaf is entered computes what does not hold afterwards.
#[test]
fn a_prepared_refresh_pauses_before_each_leaf() {
    for before in 0..70 {
        let tree = Tree { before, ..MANY };
        let mut desk = Desk::publishing(engine(tree));
        let fetches: Vec<_> = (0..9)
            .flat_map(|app| [0, 1, 2].map(|pauses| desk.fetch_in_part(id(app), pauses)))
            .collect();
        let mut copy = TreeCopy::of(desk.ledger());
        copy.go_on(desk.ledger(), &mut { usize::MAX });
        let prepared = copy.prepare(Box::new(settings(tree, 5))).unwrap();
        let mut installed = desk.install(prepared);
        settle(&mut desk);
        assert_eq!(installed.take().unwrap().0, Some(Ok(())));
        let answered = fetches.into_iter().filter_map(|mut fetch| fetch.take());
        assert_eq!(answered.filter(Result::is_ok).count(), 27);
        let mut without = Desk::publishing(engine(tree));
        let mut copy = TreeCopy::of(without.ledger());
        copy.go_on(without.ledger(), &mut { usize::MAX });
        let prepared = copy.prepare(Box::new(settings(tree, 5))).unwrap();
        let _installed = without.install(prepared);
        settle(&mut without);
        for app in 0..9 {
            let headrooms = [&mut desk, &mut without].map(|desk| {
                let mut fetch = desk.fetch(id(app));
                settle(desk);
                fetch.take().unwrap().unwrap().headroom
            });
            assert_eq!(headrooms[0], headrooms[1], "{before}: {app}");
        }
    }
}

#[test]
fn with_opportunistic_containers_what_is_to_be_handed_over_waits() {
    let _fast = AllFast::begin();
    let mut enabled = settings(MANY, 10);
    enabled.scheduler.opportunistic = Some(OpportunisticSettings::default());
    let mut engine = Sequential::new(enabled, &[]).unwrap();
    engine.add_node(&NodeSpec::new(name(1), total(40))).unwrap();
    for app in [0, 1] {
        let spec = AppSpec::new(id(app), "root.a", "ann");
        engine.submit(&spec).unwrap();
    }
    let ask = Ask::anywhere(size(), 2);
    engine.ask(id(0), &AskCall::asking(vec![ask])).unwrap();
    engine.heartbeat(&name(1), &NodeReport::AsExpected).unwrap();
    let mut desk = Desk::of(engine);
    let mut has = desk.fetch_in_part(id(0), 0);
    let mut has_none = desk.fetch_in_part(id(1), 0);
    let _resized = desk.resize_node(name(1), total(50));
    desk.turn();
    assert!(has.take().is_none());
    assert!(has_none.take().unwrap().is_ok());
    desk.turn();
    assert_eq!(has.take().unwrap().unwrap().allocated.len(), 1);
}

/// A report of many containers pauses as well, before the node is scheduled.
#[test]
fn a_fetch_is_answered_while_a_node_reports_many_containers() {
    let _fast = AllFast::begin();
    let prepared = || {
        let mut engine = with_much_to_fetch(FEW, 300);
        engine.ask(id(0), &AskCall::default()).unwrap();
        engine
    };
    let (mut desk, mut before, mut behind) = (Desk::of(prepared()), prepared(), prepared());
    // It comes after the first pause.
    let mut fetch = desk.fetch_in_part(id(1), 1);
    let mut reported = desk.heartbeat(name(9), NodeReport::AsExpected);
    desk.turn();
    let mut fetched = ids(&fetch.take().expect("no turn comes between").unwrap());
    let expected = before.ask(id(1), &AskCall::default()).unwrap();
    assert_eq!(fetched, ids(&expected));
    let report = behind.heartbeat(&name(9), &NodeReport::AsExpected);
    assert!(report.as_ref().unwrap().launched.len() > 250);
    assert_eq!(reported.take(), Some(report));
    let mut rest = desk.fetch(id(1));
    desk.turn();
    fetched.extend(ids(&rest.take().unwrap().unwrap()));
    let all = behind.ask(id(1), &AskCall::default()).unwrap();
    assert_eq!(fetched, ids(&all));
    assert_eq!(StateView::of(desk.ledger()), StateView::of(behind.ledger()));
}

/// A fetch counts as each call does: what it leaves is shown, and the next ask is served at once.
#[test]
fn fetches_between_rests_leave_the_engine_at_rest() {
    let modes = [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 1 },
        Mode::Global { threads: 2 },
    ];
    for mode in modes {
        let engine = Engine::builder(settings(FEW, 10))
            .mode(mode)
            .start()
            .unwrap();
        engine.add_node(NodeSpec::new(name(1), total(40))).unwrap();
        let app = AppSpec::new(id(0), "root.a", "ann");
        engine.submit(app).unwrap();
        for _ in 0..3 {
            engine.quiesce();
            engine.ask(id(0), AskCall::default()).unwrap();
            engine.ask(id(0), AskCall::default()).unwrap();
        }
        let ask = Ask::anywhere(size(), 1);
        engine.ask(id(0), AskCall::asking(vec![ask])).unwrap();
        engine.heartbeat(name(1), NodeReport::AsExpected).unwrap();
        engine.quiesce();
        let reply = engine.ask(id(0), AskCall::default()).unwrap();
        assert_eq!(reply.allocated.len(), 1, "{mode:?}");
        engine.quiesce();
        assert!(engine.is_running(), "{mode:?}");
    }
}
