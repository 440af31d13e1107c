//! Gangs on many nodes are asked for after a look at the nodes in parts: others are served in between, and each gang comes
//! to the same as one that is asked for in a single piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, Closeness, Desk, DeskAnswer, GangAsk, NodeName,
    NodeReport, NodeSpec, ResourceVector, Sequential, StateView, TreeSettings,
};
use capsched::commit::Ledger;
use capsched::queue::{ConfiguredState, QueueState};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::RngSeed;

use super::label_turns::assert_same;
use super::trees::settings_at;
use super::turns::{FETCHES, LEAVES, LONG, alone, beside_a_fetch};

/// More than two parts.
const NODES: u32 = 1100;

fn name(number: u32) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

fn size(units: i64) -> ResourceVector {
    ResourceVector::of(&[1024 * units, units])
}

fn spec(number: u32) -> NodeSpec {
    NodeSpec {
        rack: format!("/rack-{}", number % 40),
        ..NodeSpec::new(name(number), size(4))
    }
}

/// Nodes of four units, on some of which containers run, and two applications that may ask.
fn cluster() -> Sequential {
    let mut engine = Sequential::new(settings_at([], LEAVES), &[]).unwrap();
    let nodes: Vec<_> = (0..NODES).map(spec).collect();
    engine.add_nodes(&nodes, &mut Vec::new()).unwrap();
    for (app, leaf) in [(LONG, "root.a"), (FETCHES, "root.b")] {
        engine.submit(&AppSpec::new(app, leaf, "ann")).unwrap();
    }
    let asks = AskCall::asking(vec![Ask::anywhere(size(2), 200)]);
    engine.ask(FETCHES, &asks).unwrap();
    for number in 0..200 {
        let report = NodeReport::AsExpected;
        engine.heartbeat(&name(number), &report).unwrap();
    }
    engine.ask(FETCHES, &AskCall::default()).unwrap();
    engine.take_events();
    engine
}

fn gang(request_id: i64, minimum: u32, units: i64, close: Closeness) -> GangAsk {
    GangAsk {
        request_id,
        close,
        elastic: 3,
        ..GangAsk::of(minimum, size(units), 60_000)
    }
}

/// The gangs that wait, and the nodes that each holds.
fn waiting(ledger: &Ledger) -> Vec<String> {
    let gangs = ledger.waiting_gangs().iter();
    let held = |gang| ledger.nodes_held_for(gang).collect::<Vec<_>>();
    gangs
        .map(|gang| format!("{gang:?} {:?}", held(gang)))
        .collect()
}

fn assert_alike(desk: &Desk, whole: Sequential) {
    assert_eq!(waiting(desk.ledger()), waiting(whole.ledger()));
    let whole = Desk::of(whole);
    assert_same(desk, &whole);
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
}

fn members(ledger: &Ledger) -> usize {
    let app = ledger.app(LONG).unwrap();
    ledger.live_containers(app).count()
}

#[test]
fn a_gang_that_is_placed_and_one_that_waits() {
    for (minimum, placed) in [(700, 700), (2300, 0)] {
        for close in [Closeness::Anywhere, Closeness::Rack] {
            let ask = || gang(0, minimum, 2, close.clone());
            let (mut whole, mut desk) = (cluster(), Desk::of(cluster()));
            let (turns, asked) = beside_a_fetch(&mut desk, |desk| desk.ask_gang(LONG, ask()));
            assert_eq!(asked, Ok(()));
            whole.ask(FETCHES, &AskCall::default()).unwrap();
            whole.ask_gang(LONG, &ask()).unwrap();
            let expected = if close == Closeness::Anywhere {
                placed
            } else {
                0
            };
            // Members of one that is placed are planned in parts, too.
            let least = if expected > 0 { 5 } else { 3 };
            assert!(turns >= least, "{turns}");
            assert_eq!(members(desk.ledger()), expected);
            assert_alike(&desk, whole);
        }
    }
}

/// A gang that waits follows the nodes from its first look on.
#[test]
fn room_that_others_leave_between_two_parts() {
    let ask = gang(0, 2001, 2, Closeness::Anywhere);
    let (mut whole, mut desk) = (cluster(), Desk::of(cluster()));
    let mut asked = desk.ask_gang(LONG, ask.clone());
    desk.turn();
    // Nodes that were looked at have more room from now on.
    let release = AskCall {
        release: (1..=3).collect(),
        ..AskCall::default()
    };
    let released = alone(&mut desk, |desk| desk.ask(vec![(FETCHES, release.clone())]));
    assert!(released[0].is_ok());
    while asked.take().is_none() {
        assert_eq!(members(desk.ledger()), 0);
        desk.turn();
    }
    assert_eq!(members(desk.ledger()), 2001);
    whole.ask(FETCHES, &release).unwrap();
    whole.ask_gang(LONG, &ask).unwrap();
    assert_alike(&desk, whole);
}

#[test]
fn asks_that_are_refused() {
    let mut desk = Desk::of(cluster());
    let before = (StateView::of(desk.ledger()), waiting(desk.ledger()));
    let endless = GangAsk {
        within_ms: 0,
        ..gang(0, 5, 1, Closeness::Anywhere)
    };
    let label = GangAsk {
        partition: Some("none".to_owned()),
        ..gang(0, 5, 1, Closeness::Anywhere)
    };
    let many = gang(0, 10_001, 1, Closeness::Anywhere);
    for ask in [endless, label, many] {
        let expected = cluster().ask_gang(LONG, &ask);
        let (turns, refused) = beside_a_fetch(&mut desk, |desk| desk.ask_gang(LONG, ask));
        assert!(expected.is_err() && turns < 3, "{expected:?} {turns}");
        assert_eq!(refused, expected);
        assert_eq!(
            (StateView::of(desk.ledger()), waiting(desk.ledger())),
            before
        );
    }
    let unknown = ApplicationId::new(99);
    let asked = alone(&mut desk, |desk| {
        desk.ask_gang(unknown, gang(0, 5, 1, Closeness::Anywhere))
    });
    assert_eq!(asked, Err(AskError::UnknownApplication(unknown)));
    // The application ends between two parts.
    let mut asked = desk.ask_gang(LONG, gang(0, 5, 1, Closeness::Anywhere));
    desk.turn();
    assert_eq!(alone(&mut desk, |desk| desk.finish_app(LONG)), Ok(()));
    while asked.take().is_none_or(|asked| {
        assert_eq!(asked, Err(AskError::UnknownApplication(LONG)));
        false
    }) {
        desk.turn();
    }
}

/// What others do between two parts.
#[derive(Clone, Debug)]
enum Call {
    Nothing,
    Ask(i64, i32),
    Release(u32),
    Exclude(u32),
    /// Of the application of the gang, under another key.
    OwnAsk,
    /// Of the same.
    Finish,
    Beat(u32),
    AddNode(u32),
    RemoveNode(u32),
    Gang(i64, u32, i64, bool),
    /// Time in ms.
    Pass(u64),
    /// Of the queue of the gang.
    Stop,
}

/// The queues of [`cluster`] of which the one of the gang takes no more applications.
fn stopped() -> TreeSettings {
    let mut settings = settings_at([], LEAVES);
    for queue in &mut settings.queues {
        if &*queue.path == "root.a" {
            queue.state = Some(ConfiguredState::Stopped);
        }
    }
    settings
}

fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => Just(Call::Nothing),
        2 => (1i64..5, 0i32..4).prop_map(|(units, count)| Call::Ask(units, count)),
        2 => (1u32..200).prop_map(Call::Release),
        1 => (0..NODES).prop_map(Call::Exclude),
        1 => Just(Call::OwnAsk),
        4 => (0..NODES).prop_map(Call::Beat),
        1 => (NODES..2 * NODES).prop_map(Call::AddNode),
        1 => (0..NODES).prop_map(Call::RemoveNode),
        1 => (1u64..40_000).prop_map(Call::Pass),
        3 => (0i64..3, 0u32..120, 1i64..5, any::<bool>())
            .prop_map(|(id, minimum, units, rack)| Call::Gang(id, minimum, units, rack)),
    ]
}

impl Call {
    fn ask(&self) -> AskCall {
        match *self {
            Self::Ask(units, count) => AskCall::asking(vec![Ask::anywhere(size(units), count)]),
            Self::Release(number) => AskCall {
                release: vec![number],
                ..AskCall::default()
            },
            Self::Exclude(node) => AskCall {
                blacklist_add: vec![format!("n{node}")],
                ..AskCall::default()
            },
            Self::OwnAsk => AskCall::asking(vec![Ask {
                request_id: 99,
                ..Ask::anywhere(size(1), 1)
            }]),
            _ => AskCall::default(),
        }
    }

    /// Of the application that asks for gangs, or of the other one.
    fn of(&self) -> ApplicationId {
        let own = matches!(self, Self::Exclude(_) | Self::OwnAsk | Self::Gang(..));
        if own { LONG } else { FETCHES }
    }

    fn gang(&self) -> Option<GangAsk> {
        let Self::Gang(id, minimum, units, rack) = *self else {
            return None;
        };
        let close = if rack {
            Closeness::Rack
        } else {
            Closeness::Anywhere
        };
        Some(gang(id, minimum, units, close))
    }

    /// On an engine whose calls have one piece; refusals are as good as other answers.
    fn whole(&self, engine: &mut Sequential) {
        match *self {
            Self::Nothing | Self::Gang(..) | Self::Pass(_) => {}
            Self::Beat(node) => drop(engine.heartbeat(&name(node), &NodeReport::AsExpected)),
            Self::AddNode(node) => drop(engine.add_node(&spec(node))),
            Self::RemoveNode(node) => drop(engine.remove_node(&name(node))),
            Self::Finish => drop(engine.finish_app(LONG)),
            Self::Stop => engine.reconfigure(stopped()).unwrap(),
            _ => drop(engine.ask(self.of(), &self.ask())),
        }
    }

    /// What shows in the turn of a call already, before any part.
    fn first(&self, engine: &mut Sequential) {
        if let Self::Pass(ms) = *self {
            engine.advance_to(engine.ledger().now_ms() + ms);
        }
    }

    /// The same as [`Self::whole`], and a turn in which it is carried out behind a part of a gang.
    fn in_turn(&self, desk: &mut Desk) {
        fn send<T>(desk: &mut Desk, call: impl FnOnce(&Desk) -> DeskAnswer<T>) {
            let mut answer = call(desk);
            desk.turn();
            assert!(answer.take().is_some(), "it is served in one turn");
        }
        match *self {
            Self::Nothing | Self::Gang(..) => desk.turn(),
            Self::Beat(node) => {
                let report = vec![(name(node), NodeReport::AsExpected)];
                send(desk, |desk| desk.heartbeat_all(report));
            }
            Self::AddNode(node) => send(desk, |desk| desk.add_node(spec(node))),
            // Its containers end before.
            Self::RemoveNode(node) => drop(alone(desk, |desk| desk.remove_node(name(node)))),
            // Behind the last part of a gang its containers are fetched or ended in parts.
            Self::OwnAsk | Self::Exclude(_) => {
                drop(alone(desk, |desk| desk.ask(vec![(LONG, self.ask())])));
            }
            Self::Finish => drop(alone(desk, |desk| desk.finish_app(LONG))),
            Self::Pass(ms) => {
                desk.pass(Duration::from_millis(ms));
                desk.turn();
            }
            Self::Stop => send(desk, |desk| desk.reconfigure(stopped())),
            _ => send(desk, |desk| desk.ask(vec![(self.of(), self.ask())])),
        }
    }
}

/// Gangs that are asked for and not answered yet, with the engine to which each comes in one piece.
struct Gangs {
    asked: Vec<(GangAsk, DeskAnswer<Result<(), AskError>>)>,
    whole: Sequential,
}

impl Gangs {
    /// Asks for those in one piece that were answered by now.
    fn follow(&mut self) {
        let whole = &mut self.whole;
        self.asked.retain_mut(|(ask, answer)| {
            let answer = answer.take();
            if let Some(answer) = &answer {
                assert_eq!(&whole.ask_gang(LONG, ask), answer);
            }
            answer.is_none()
        });
    }
}

/// After some turns of a gang that is asked for, something changes: it comes to the same as in one piece.
fn changes_meanwhile(ask: &GangAsk, turns: u32, change: &[Call]) -> (Desk, Sequential) {
    let mut desk = Desk::of(cluster());
    let mut gangs = Gangs {
        asked: vec![(ask.clone(), desk.ask_gang(LONG, ask.clone()))],
        whole: cluster(),
    };
    for _ in 0..turns {
        desk.turn();
        assert_eq!(members(desk.ledger()), 0, "{turns} {change:?}");
    }
    for call in change {
        call.in_turn(&mut desk);
        call.first(&mut gangs.whole);
        gangs.follow();
        call.whole(&mut gangs.whole);
    }
    for _ in 0..40 {
        desk.turn();
        gangs.follow();
    }
    assert!(gangs.asked.is_empty(), "{turns} {change:?}");
    (desk, gangs.whole)
}

/// Whatever changes after the members are planned, all of them are placed or none, as in one piece.
#[test]
fn changes_after_the_members_are_planned() {
    let changes = [
        vec![Call::Nothing],
        vec![Call::RemoveNode(900)],
        vec![Call::Ask(4, 1), Call::Beat(901)],
        vec![Call::OwnAsk, Call::Beat(902)],
        vec![Call::Release(3)],
        vec![Call::Exclude(903)],
        vec![Call::Finish],
    ];
    let ask = gang(0, 1500, 2, Closeness::Anywhere);
    for (turns, change) in (3..6).flat_map(|turns| changes.iter().map(move |of| (turns, of))) {
        let (desk, whole) = changes_meanwhile(&ask, turns, change);
        if turns == 5 && matches!(change[..], [Call::Finish]) {
            // The gang is placed before, and its containers end in parts. How much of them the row of an application that
            // is gone counts as asked again depends on the parts; nobody reads it.
            let whole = StateView::of(whole.ledger());
            assert_eq!(StateView::of(desk.ledger()), whole);
        } else {
            assert_alike(&desk, whole);
        }
    }
}

/// A gang waits from its last part on, however long the parts before took.
#[test]
fn the_deadline_passes_between_two_parts() {
    let pass = [Call::Pass(60_001)];
    for turns in 0..5 {
        let (desk, whole) = changes_meanwhile(&gang(0, 1500, 2, Closeness::Anywhere), turns, &pass);
        assert_eq!(members(desk.ledger()), 1500);
        assert_alike(&desk, whole);
        if turns < 3 {
            let ask = gang(0, 2300, 2, Closeness::Anywhere);
            let (desk, whole) = changes_meanwhile(&ask, turns, &pass);
            assert_eq!(desk.ledger().waiting_gangs()[0].deadline_ms, 120_001);
            assert_alike(&desk, whole);
        }
    }
}

/// Another gang waits under the same key. Its time is over before the one that would replace it is asked for.
#[test]
fn the_deadline_of_the_one_that_is_replaced_passes_between_two_parts() {
    let (first, second) = (
        gang(0, 2300, 2, Closeness::Anywhere),
        gang(0, 1500, 2, Closeness::Anywhere),
    );
    for turns in 1..5 {
        let (mut whole, mut desk) = (cluster(), Desk::of(cluster()));
        let asked = alone(&mut desk, |desk| desk.ask_gang(LONG, first.clone()));
        assert_eq!(asked, Ok(()));
        whole.ask_gang(LONG, &first).unwrap();
        let mut asked = desk.ask_gang(LONG, second.clone());
        (0..turns).for_each(|_| desk.turn());
        assert_eq!(desk.ledger().waiting_gangs().len(), 1, "{turns}");
        Call::Pass(60_001).in_turn(&mut desk);
        assert!(desk.ledger().waiting_gangs().is_empty(), "{turns}");
        while asked.take().is_none() {
            desk.turn();
        }
        Call::Pass(60_001).first(&mut whole);
        whole.ask_gang(LONG, &second).unwrap();
        assert_eq!(members(desk.ledger()), 1500);
        assert_alike(&desk, whole);
    }
}

/// A queue that drains serves the applications that it has, gangs as well.
#[test]
fn its_queue_is_stopped_between_two_parts() {
    for (minimum, placed) in [(1500, 1500), (2300, 0)] {
        let most = if placed > 0 { 5 } else { 3 };
        for turns in 0..most {
            let ask = gang(0, minimum, 2, Closeness::Anywhere);
            let (desk, whole) = changes_meanwhile(&ask, turns, &[Call::Stop]);
            let state = desk.ledger().state();
            let leaf = desk.ledger().queue("root.a").unwrap();
            assert_eq!(state.queues[leaf].state, QueueState::Draining, "{turns}");
            assert_eq!(members(desk.ledger()), placed);
            assert_alike(&desk, whole);
        }
    }
}

/// A container of the same application takes a number, on a node that has room for as many members as before.
#[test]
fn a_number_is_taken_after_the_members_are_planned() {
    let ask = gang(0, 900, 3, Closeness::Anywhere);
    let (desk, whole) = changes_meanwhile(&ask, 2, &[Call::OwnAsk, Call::Beat(902)]);
    assert_eq!(members(desk.ledger()), 901);
    assert_alike(&desk, whole);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        rng_seed: RngSeed::Fixed(37),
        ..ProptestConfig::default()
    })]

    /// A gang counts where its last part was.
    #[test]
    fn it_comes_to_the_same_whatever_others_do_meanwhile(calls in vec(calls(), 8..60)) {
        let mut desk = Desk::of(cluster());
        let mut gangs = Gangs { asked: Vec::new(), whole: cluster() };
        for call in &calls {
            let sent = call.gang().map(|ask| (ask.clone(), desk.ask_gang(LONG, ask)));
            call.in_turn(&mut desk);
            call.first(&mut gangs.whole);
            gangs.follow();
            call.whole(&mut gangs.whole);
            gangs.asked.extend(sent);
            // One that was refused at once.
            gangs.follow();
        }
        while !gangs.asked.is_empty() {
            desk.turn();
            gangs.follow();
        }
        assert_alike(&desk, gangs.whole);
    }
}
