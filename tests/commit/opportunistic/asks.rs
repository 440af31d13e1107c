//! Asks for opportunistic containers: replaced, withdrawn, in order, bounded and refused; in every mode.

use super::cluster::{APP, asks, beat, cluster, fetch, news, node, place, settings, size, waits};
use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, Engine, Mode, NodeSpec};

#[test]
fn what_an_ended_application_asked_for_is_forgotten() {
    let mut engine = cluster(1, 0);
    place(&mut engine, APP, &asks(9, 4));
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 7);
    engine.finish_app(APP).unwrap();
    beat(&mut engine, 0);
    beat(&mut engine, 0);
    engine.submit(&AppSpec::new(APP, "root.a", "ann")).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
    assert!(fetch(&mut engine, APP).allocated.is_empty());
}

#[test]
fn an_ask_replaces_the_earlier_one_and_is_withdrawn_with_none() {
    let mut engine = cluster(0, 0);
    engine.ask_opportunistic(APP, &asks(9, 1)).unwrap();
    engine.ask_opportunistic(APP, &asks(2, 1)).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 2);
    engine.ask_opportunistic(APP, &asks(0, 1)).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
    // A place alone asks for nothing.
    let on_host = Ask {
        place: "n0".to_owned(),
        ..Ask::anywhere(size(1, 1), 3)
    };
    engine.ask_opportunistic(APP, &[on_host]).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
}

#[test]
fn important_keys_come_first() {
    let mut engine = cluster(1, 0);
    let with = |priority, gib| Ask {
        priority,
        ..Ask::anywhere(size(gib, 1), 1)
    };
    engine
        .ask_opportunistic(APP, &[with(7, 6), with(2, 4)])
        .unwrap();
    let granted = fetch(&mut engine, APP).allocated;
    assert_eq!((granted.len(), granted[0].priority), (1, 2));
}

#[test]
fn wrong_asks_are_refused_and_change_nothing() {
    let mut engine = cluster(1, 1);
    engine
        .submit(&AppSpec::new(ApplicationId::new(3), "root.b", "bob").with_master(size(1, 1)))
        .unwrap();
    let ask = Ask::anywhere(size(1, 1), 1);
    let unknown = ApplicationId::new(99);
    let refused = [
        engine.ask_opportunistic(unknown, &asks(1, 1)),
        engine.ask_opportunistic(ApplicationId::new(3), &asks(1, 1)),
        engine.ask_opportunistic(APP, &asks(-1, 1)),
        engine.ask_opportunistic(APP, &asks(1, -1)),
        engine.ask_opportunistic(APP, &asks(1, 9999)),
        engine.ask_opportunistic(
            APP,
            &[Ask {
                place: String::new(),
                ..ask.clone()
            }],
        ),
        engine.ask_opportunistic(
            APP,
            &[Ask {
                partition: Some("none".to_owned()),
                ..ask.clone()
            }],
        ),
        engine.ask_opportunistic(APP, &vec![ask.clone(); 513]),
        // The second ask of the call is wrong, and the first is not taken over either.
        engine.ask_opportunistic(
            APP,
            &[
                ask.clone(),
                Ask {
                    count: i32::MAX,
                    ..ask
                },
            ],
        ),
    ];
    let codes = refused.map(|refused| refused.unwrap_err().code());
    let expected = [
        "unknown_application",
        "master_not_running",
        "container_count",
        "resource_out_of_range",
        "resource_out_of_range",
        "place",
        "label_access",
        "opportunistic",
        "container_count",
    ];
    assert_eq!(codes, expected);
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
    assert!(news(&mut engine).0.is_empty());
}

#[test]
fn an_application_has_a_bounded_number_of_keys() {
    let mut engine = cluster(0, 0);
    let with = |request_id| Ask {
        request_id,
        ..Ask::anywhere(size(1, 1), 1)
    };
    let calls = (0..30).map(|call| {
        let asks: Vec<_> = (call * 512..(call + 1) * 512).map(with).collect();
        engine.ask_opportunistic(APP, &asks).is_ok()
    });
    let taken = calls.filter(|&taken| taken).count();
    assert!((19..=20).contains(&taken), "{taken}");
}

#[test]
fn a_running_engine_places_them_in_every_mode() {
    for mode in [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 1 },
    ] {
        let engine = Engine::builder(settings(Some(waits(2))))
            .mode(mode)
            .start()
            .unwrap();
        engine.add_node(NodeSpec::new(node(0), size(8, 8))).unwrap();
        engine.submit(AppSpec::new(APP, "root.a", "ann")).unwrap();
        engine.ask_opportunistic(APP, asks(5, 2)).unwrap();
        let reply = engine.ask(APP, AskCall::default()).unwrap();
        assert_eq!(reply.allocated.len(), 5);
        let view = engine
            .node(&node(0))
            .unwrap()
            .unwrap()
            .opportunistic
            .unwrap();
        assert_eq!((view.queued, view.started), (1, 4));
        let counts = engine.event_counts().unwrap();
        let counted = (counts.opportunistic_queued, counts.opportunistic_started);
        assert_eq!((counted, counts.allocated), ((1, 4), 0));
    }
}
