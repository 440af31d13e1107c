//! Reports of nodes to an engine with threads: one by one, together, at rest and after the end.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    Ask, AskCall, Engine, Event, HeartbeatReply, Mode, NodeError, NodeName, NodeReport, NodeSpec,
    StateView, Threaded,
};
use capsched::resource::ResourceVector;
use capsched::time::ManualClock;

use crate::engines::{MODES, asking, placed, quiet_while_events_are_read, settings};

type Reported = Result<HeartbeatReply, NodeError>;

/// Four containers are placed, launched, and all but one given back and stopped; reports of the
/// nodes are handed over together or one by one, with that of a lost node among them. All answers,
/// everything that happened, and the state in the end.
fn reports(mode: Mode, together: bool) -> (Vec<Reported>, Vec<Event>, StateView) {
    let engine = Threaded::start(settings(), &[], mode, ManualClock::at(0)).unwrap();
    let names: Vec<NodeName> = (0..4).map(|i| format!("n{i}:1").parse().unwrap()).collect();
    for name in &names {
        let node = NodeSpec::new(name.clone(), ResourceVector::of(&[4096, 8]));
        engine.add_node(node).unwrap();
    }
    engine.remove_node(names[2].clone()).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 4);
    let app = asking(&engine, 1, &[AskCall::asking(vec![ask])]);
    let beat = |what: &dyn Fn(usize) -> NodeReport| -> Vec<Reported> {
        let all = names.iter().cloned().enumerate();
        let all = all.map(|(i, name)| (name, what(i)));
        let replies = if together {
            engine.heartbeat_all(all.collect())
        } else {
            all.map(|(name, report)| engine.heartbeat(name, report))
                .collect()
        };
        engine.quiesce();
        replies
    };
    let expected = |_: usize| NodeReport::AsExpected;
    let mut replies = [beat(&expected), beat(&expected)].concat();
    let allocated = engine.ask(app, AskCall::default()).unwrap().allocated;
    replies.extend(beat(&expected));
    let release = allocated.iter().skip(1).map(|got| got.container.number);
    let call = AskCall {
        release: release.collect(),
        ..AskCall::default()
    };
    engine.ask(app, call).unwrap();
    let nothing = |_: usize| NodeReport::Exactly {
        launched: Vec::new(),
        exited: Vec::new(),
    };
    let replied = beat(&nothing);
    let stopped = |i: usize| NodeReport::Exactly {
        launched: Vec::new(),
        exited: replied[i].clone().unwrap_or_default().to_stop,
    };
    replies.extend(replied.iter().cloned());
    replies.extend(beat(&stopped));
    let state = engine.state().unwrap();
    engine.quiesce();
    (replies, engine.take_events(), state)
}

#[test]
fn reports_together_are_answered_in_order_and_do_what_each_does_alone() {
    let lost = Err(NodeError::Unknown("n2:1".parse().unwrap()));
    for mode in MODES {
        let (replies, _, state) = reports(mode, true);
        for (i, reply) in replies.iter().enumerate() {
            assert_eq!(*reply == lost, i % 4 == 2, "{mode:?} {i} {reply:?}");
            assert!(reply.is_ok() || *reply == lost, "{mode:?} {i} {reply:?}");
        }
        let sum = |of: &dyn Fn(&HeartbeatReply) -> usize| -> usize {
            replies.iter().flatten().map(of).sum()
        };
        let [launched, ordered, exited] = [
            sum(&|reply| reply.launched.len()),
            sum(&|reply| reply.to_stop.len()),
            sum(&|reply| reply.exited.len()),
        ];
        assert_eq!([launched, ordered, exited], [4, 3, 3], "{mode:?}");
        assert_eq!(state.apps[0].live.len(), 1, "{mode:?}");
        let containers = state.nodes.iter().map(|node| node.containers);
        assert_eq!(containers.sum::<u32>(), 1, "{mode:?}");
    }
    let one_by_one = reports(Mode::Heartbeat, false);
    assert_eq!(reports(Mode::Heartbeat, true), one_by_one);
}

/// Nothing is left for the proposers to find when nodes report, and the space that containers free
/// then is used on the spot.
#[test]
fn reports_at_rest_let_the_proposers_sleep_on() {
    // By this clock no pass takes long, however slow the machine is.
    let mode = Mode::Global { threads: 2 };
    let engine = Threaded::start(settings(), &[], mode, ManualClock::at(0)).unwrap();
    let name: NodeName = "n0:1".parse().unwrap();
    let node = NodeSpec::new(name.clone(), ResourceVector::of(&[4096, 8]));
    engine.add_node(node).unwrap();
    let ask = |count| AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)]);
    let app = asking(&engine, 1, &[ask(4)]);
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 4, "{events:?}");
    let beat = || engine.heartbeat_all(vec![(name.clone(), NodeReport::AsExpected)]);
    let got = engine.ask(app, AskCall::default()).unwrap().allocated;
    assert!(beat().iter().all(Result::is_ok));
    engine.quiesce();
    let before = engine.snapshot();
    assert!(beat().iter().all(Result::is_ok));
    while engine.snapshot().version == before.version {
        std::thread::yield_now();
    }
    assert_eq!(engine.snapshot().news, before.news, "a proposer was woken");

    // The container stops at the report of its node, and then there is room for another one.
    let call = AskCall {
        release: vec![got[0].container.number],
        ..ask(1)
    };
    engine.ask(app, call).unwrap();
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 0, "{events:?}");
    assert_eq!(beat().len(), 1);
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 1, "{events:?}");
}

#[test]
fn reports_that_come_after_the_end_are_refused_each() {
    let engine = Engine::builder(settings()).start().unwrap();
    let report = || ("n0:1".parse().unwrap(), NodeReport::AsExpected);
    assert_eq!(engine.heartbeat_all(Vec::new()), []);
    engine.request_stop();
    while engine.heartbeat(report().0, report().1) != Err(NodeError::Closed) {}
    let late = engine.heartbeat_all(vec![report(), report()]);
    assert_eq!(late, vec![Err(NodeError::Closed); 2]);
}
