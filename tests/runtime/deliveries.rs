//! Events come with the moment at which they were handed over, however late they are read.

use std::time::Duration;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Decision, DeliveredEvents, Mode, NodeSpec, Threaded,
};
use capsched::resource::ResourceVector;
use capsched::time::ManualClock;

#[test]
fn each_event_was_told_when_it_happened() {
    let settings = crate::trees::settings([
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
    ]);
    let clock = ManualClock::at(0);
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::start(settings, &[], mode, clock.clone()).unwrap();
    let size = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(NodeSpec::new("n:1".parse().unwrap(), size))
        .unwrap();
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    for containers in 1..=2 {
        clock.advance(Duration::from_nanos(100));
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), containers);
        engine.ask(app, AskCall::asking(vec![ask])).unwrap();
        engine.quiesce();
    }
    clock.advance(Duration::from_nanos(100));

    let (mut events, mut told) = (Vec::new(), Vec::new());
    engine.append_deliveries(&mut events, &mut told);
    let mut placed = Vec::new();
    let mut from = 0;
    for DeliveredEvents { at_ns, end } in told {
        assert!(from < end, "nothing is no event");
        let here = events[from..end].iter();
        let allocated = |event: &&Decision| matches!(event, Decision::Allocated { .. });
        placed.extend(here.filter(allocated).map(|_| at_ns));
        from = end;
    }
    assert_eq!(placed, [100, 200, 200]);
    assert_eq!(from, events.len(), "each event has its moment");
}
