//! What hands a container out, and what comes of one that ends before and after that.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskReply, ContainerId, Ending, Engine, Event, HandOut,
    Mode, NodeName, NodeReport, NodeSpec, ResourceVector,
};

use crate::engines::settings;

const APP: ApplicationId = ApplicationId::new(1);
const ASKED: i32 = 4;

fn node() -> NodeName {
    NodeName::new("n0", 1).unwrap()
}

/// An engine with room for eight containers, of which an application asked for four.
fn engine(mode: Mode, by: HandOut) -> Engine {
    let builder = Engine::builder(settings()).mode(mode).hand_out(by);
    let engine = builder.start().unwrap();
    let size = ResourceVector::of(&[8192, 8]);
    engine.add_node(NodeSpec::new(node(), size)).unwrap();
    engine.submit(AppSpec::new(APP, "root.a", "u")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), ASKED);
    engine.ask(APP, AskCall::asking(vec![ask])).unwrap();
    engine
}

/// Lets the engine place what it can; the containers that it shows by events.
fn placed(engine: &Engine, mode: Mode) -> Vec<ContainerId> {
    for _ in 0..8 {
        if mode == Mode::Heartbeat {
            engine.heartbeat(node(), NodeReport::AsExpected).unwrap();
        }
        engine.quiesce();
    }
    let events = engine.take_events().into_iter();
    let allocated = events.filter_map(|event| match event {
        Event::Allocated { container, .. } => Some(container),
        _ => None,
    });
    allocated.collect()
}

fn giving_back(containers: &[ContainerId]) -> AskCall {
    AskCall {
        release: containers.iter().map(|id| id.number).collect(),
        ..AskCall::default()
    }
}

/// A driver that gives back what events show, before it fetched anything, gets it again for ever where replies
/// hand out, and once where events do.
fn finished_numbers(reply: &AskReply) -> Vec<u32> {
    reply.finished.iter().map(|one| one.number).collect()
}

#[test]
fn what_an_event_handed_out_is_not_asked_for_again_when_it_is_given_back() {
    for mode in [Mode::Heartbeat, Mode::Global { threads: 1 }] {
        for (by, again) in [(HandOut::Event, 0), (HandOut::Reply, ASKED)] {
            let engine = engine(mode, by);
            let first = placed(&engine, mode);
            assert_eq!(first.len(), 4, "{mode:?}");
            let reply = engine.ask(APP, giving_back(&first)).unwrap();
            assert!(reply.allocated.is_empty(), "{mode:?} {by:?}");
            assert!(reply.unknown.is_empty(), "{mode:?} {by:?}");
            let next = placed(&engine, mode);
            let again = usize::try_from(again).unwrap();
            assert_eq!(next.len(), again, "{mode:?} {by:?}");
            drop(engine.stop());
        }
    }
}

/// After the reply handed them out, a release is final in either case, and its end is acknowledged.
#[test]
fn what_a_reply_handed_out_is_not_asked_for_again_when_it_is_given_back() {
    let engine = engine(Mode::Heartbeat, HandOut::Reply);
    let first = placed(&engine, Mode::Heartbeat);
    let fetched = engine.ask(APP, AskCall::default()).unwrap().allocated;
    assert_eq!(fetched.len(), 4);
    let reply = engine.ask(APP, giving_back(&first)).unwrap();
    assert!(reply.finished.is_empty());
    let reply = engine.ask(APP, giving_back(&first[..1])).unwrap();
    assert_eq!(finished_numbers(&reply), [1, 2, 3, 4]);
    assert_eq!(reply.unknown, [1], "it ended with the call before");
    assert_eq!(placed(&engine, Mode::Heartbeat), []);
}

/// Handed out by an event, a container is launched by its node, and its loss is final.
#[test]
fn nodes_launch_and_lose_what_events_handed_out() {
    let engine = engine(Mode::Heartbeat, HandOut::Event);
    let all = placed(&engine, Mode::Heartbeat);
    let reply = engine.ask(APP, AskCall::default()).unwrap();
    assert!(reply.allocated.is_empty(), "events handed them out");
    let state = engine.state().unwrap();
    assert_eq!(state.apps[0].live, [1, 2, 3, 4]);
    engine.remove_node(node()).unwrap();
    engine.quiesce();
    let killed = |event: &Event| {
        matches!(event, Event::Ended { container, ending: Ending::Killed, .. }
            if all.contains(container))
    };
    assert_eq!(engine.take_events().iter().filter(|e| killed(e)).count(), 4);
    let size = ResourceVector::of(&[8192, 8]);
    engine.add_node(NodeSpec::new(node(), size)).unwrap();
    assert_eq!(placed(&engine, Mode::Heartbeat), [], "nobody asked again");
    let reply = engine.ask(APP, AskCall::default()).unwrap();
    assert_eq!(finished_numbers(&reply), [1, 2, 3, 4]);
}
