//! The state of a scheduler that runs is rebuilt: by recovery, from a journal, and from a file.

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, Ask, AskCall, Engine, Event, GangAsk, ModeKind, NodeSpec, Reason, Rebuild, Restarts,
    Scheduler, StateView, Stepped,
};
use capsched::simulator::Random;
use capsched::simulator::journal::{Journaled, SnapshotHead, StateSnapshot};

use crate::cluster::{Cluster, app, cluster, gib, node};
use crate::snapshots::{Course, packed, saved};

const MODES: [&str; 3] = ["heartbeat", "asynchronous", "global"];

/// Random runs of each mode.
const SEEDS: u64 = 8;

/// Calls behind the moment.
const CALLS: usize = 60;

/// A run up to a moment, with its state as a file that takes over what lives.
fn rebuilt(mode: &str, random: &mut Random) -> (Journaled<Stepped>, StateSnapshot, Course) {
    let (live, saved, course) = saved(mode, random);
    let rebuild = Rebuild::of(live.scheduler().engine().ledger());
    let snapshot = StateSnapshot::rebuilt(saved.head, &rebuild).unwrap();
    (live, snapshot, course)
}

fn view(engine: &Stepped) -> StateView {
    StateView::of(engine.engine().ledger())
}

#[test]
fn a_journal_of_what_lives_replays_to_the_state_of_the_engine_that_took_it_over() {
    let mut decided = 0;
    for mode in MODES {
        for seed in 0..SEEDS {
            let mut random = Random::new(seed);
            let (live, snapshot, mut course) = rebuilt(mode, &mut random);
            // The engine itself takes over what lives, without a journal in between.
            let mut recovered = snapshot.head.engine().unwrap();
            Rebuild::of(live.scheduler().engine().ledger()).make(&mut recovered);
            let read = StateSnapshot::read(&packed(&snapshot)[..]).unwrap();
            assert_eq!(read, snapshot, "{mode} {seed}");
            let mut replayed = read.head.engine().unwrap();
            read.replay(&mut replayed).unwrap();
            let [a, b] = [&recovered, &replayed].map(StateSnapshot::fingerprint);
            assert_eq!(a, b, "{mode} {seed}");
            let (mut other, mut same) = (course.clone(), random.clone());
            for call in 0..CALLS {
                let before = (course.gather(&mut recovered), other.gather(&mut replayed));
                assert_eq!(before.0, before.1, "{mode} {seed}: call {call}");
                decided += before.0.len();
                course.call(&mut recovered, &mut random);
                other.call(&mut replayed, &mut same);
            }
            let [a, b] = [&recovered, &replayed].map(StateSnapshot::fingerprint);
            assert_eq!(a, b, "{mode} {seed}");
        }
    }
    assert!(decided > 200, "{decided}");
}

#[test]
fn what_lives_has_the_same_books_in_the_state_that_is_built_anew() {
    let (mut containers, mut waiting) = (0, 0);
    for mode in MODES {
        for seed in 0..SEEDS {
            let (live, snapshot, _) = rebuilt(mode, &mut Random::new(seed));
            let mut anew = snapshot.head.engine().unwrap();
            snapshot.replay(&mut anew).unwrap();
            let (a, b) = (view(live.scheduler()), view(&anew));
            let what = format!("{mode} {seed}: {:?}", snapshot.head.left_out);
            assert_eq!(a.apps.len(), b.apps.len(), "{what}");
            for (a, b) in a.apps.iter().zip(&b.apps) {
                assert_eq!((a.app, &a.queue, a.priority), (b.app, &b.queue, b.priority));
                assert_eq!((&a.live, &a.used), (&b.live, &b.used), "{what}");
                assert_eq!(a.pending, b.pending, "application {} of {what}", a.app);
                containers += a.live.len();
                waiting += usize::from(a.pending != a.used);
            }
            let ends = |text: &String| text.contains("that ended or change take room");
            if !snapshot.head.left_out.iter().any(ends) {
                for (a, b) in a.nodes.iter().zip(&b.nodes) {
                    assert_eq!((&a.node, &a.total), (&b.node, &b.total), "{what}");
                    assert_eq!((&a.allocated, a.containers), (&b.allocated, b.containers));
                }
            }
        }
    }
    assert!(containers > 50 && waiting > 20, "{containers} {waiting}");
}

/// What a tick places: application, node and size.
fn next(engine: &mut Stepped) -> Vec<(u32, String, String)> {
    let mut events = Vec::new();
    engine.events(&mut events);
    events.clear();
    engine.tick();
    engine.events(&mut events);
    let placed = |event: &Event| match event {
        Event::Allocated {
            container,
            node,
            size,
            ..
        } => Some((
            container.app.sequence,
            node.to_string(),
            format!("{size:?}"),
        )),
        _ => None,
    };
    let mut placed: Vec<_> = events.iter().filter_map(placed).collect();
    placed.sort();
    placed
}

/// Whether a sentence of what is left out is about nothing that the next round of these runs depends on: their asks
/// name no places, and no round of preemption runs.
fn is_harmless(sentence: &str) -> bool {
    let of = [
        "in any case",
        "keys have counters",
        "containers were placed and not launched",
        "what rounds of preemption remember",
    ];
    of.iter().any(|words| sentence.contains(words))
}

#[test]
fn where_nothing_that_counts_is_left_out_the_next_round_places_the_same() {
    let (mut states, mut decided) = (0, 0);
    for seed in 0..200 {
        let (live, snapshot, _) = rebuilt("heartbeat", &mut Random::new(seed));
        let mut left_out = snapshot.head.left_out.iter();
        if !left_out.all(|sentence| is_harmless(sentence)) {
            continue;
        }
        let mut anew = snapshot.head.engine().unwrap();
        snapshot.replay(&mut anew).unwrap();
        let mut going_on = live.scheduler().trial();
        let (a, b) = (next(&mut going_on), next(&mut anew));
        assert_eq!(a, b, "{seed}: {:?}", snapshot.head.left_out);
        (states, decided) = (states + 1, decided + a.len());
    }
    assert!(states > 10 && decided > 10, "{states} {decided}");
}

#[test]
fn everything_that_a_call_can_say_of_an_application_is_carried_over() {
    let mut live = cluster(&[], &["n0", "n1"]);
    let at = |place: &str, count| Ask {
        place: place.to_owned(),
        priority: 7,
        request_id: 3,
        ..Ask::anywhere(gib(4), count)
    };
    let restarting = AppSpec::new(app(2), "root.b", "bob").with_master(gib(1));
    live.submit(restarting.restarting(Restarts::WithoutContainers));
    live.beat(2);
    live.engine.end_attempt(app(2)).unwrap();
    // The node reports that its container is gone.
    live.beat(1);
    live.submit(AppSpec::new(app(1), "root.a", "ann"));
    let call = AskCall {
        asks: vec![at("n0", 2), at("/default-rack", 2), at("*", 3)],
        blacklist_add: vec!["n1".to_owned()],
        ..AskCall::default()
    };
    live.engine.ask(app(1), call).unwrap();
    live.submit(AppSpec::new(app(3), "root.b", "eve").with_master(gib(1)));
    live.submit(AppSpec::new(app(4), "root.a", "ann"));
    live.engine.advance(5_000);
    let gang = GangAsk::of(3, gib(8), 60_000);
    live.engine.ask_gang(app(4), gang).unwrap();
    live.engine.advance(25_000);

    let rebuild = Rebuild::of(live.engine.engine().ledger());
    // Times count from the gang, which is the oldest thing that still matters.
    assert_eq!(rebuild.now_ms(), 20_000);
    let engine = Engine::builder(live.loaded.settings.clone()).partition("gpu", true);
    let engine = engine.recovering().sequential().unwrap();
    let mut anew = Stepped::new(engine, ModeKind::Heartbeat);
    assert_eq!(rebuild.make(&mut anew), Vec::<String>::new());
    assert_eq!(view(&anew), view(&live.engine));
    let waits = |engine: &Stepped| {
        let all = engine.explain_all();
        all.iter()
            .map(|why| {
                (
                    why.app,
                    why.containers(),
                    why.dominant().map(|of| of.reason),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(waits(&anew), waits(&live.engine));
    assert_eq!(waits(&anew).len(), 3);
    // The same is placed next, and nothing of application 1 on the node that it excludes.
    let placed = next(&mut anew.trial());
    assert_eq!(placed, next(&mut live.engine.trial()));
    let of_first = placed.iter().filter(|(number, ..)| *number == 1);
    let nodes: Vec<&str> = of_first.map(|(_, node, _)| node.as_str()).collect();
    assert_eq!(nodes, ["n0:0"]);
    // The second attempt follows, and the gang is given up at its own time.
    assert_eq!(anew.start_attempt(app(2)), Ok(2));
    for (engine, end) in [(&mut anew, 60_000), (&mut live.engine, 65_000)] {
        engine.advance(end - 1);
        assert_eq!(engine.engine().ledger().waiting_gangs().len(), 1);
        engine.advance(end);
        assert_eq!(engine.engine().ledger().waiting_gangs().len(), 0);
    }
}

/// What a server saves of a cluster, as it is after the file was written and read again.
fn through_a_file(live: &Cluster) -> StateSnapshot {
    let rebuild = Rebuild::of(live.engine.engine().ledger());
    let mut head = SnapshotHead {
        types: ["memory-mb", "vcores"].map(str::to_owned).into(),
        site: BTreeMap::new(),
        scheduler: BTreeMap::new(),
        labels: rebuild.labels().to_vec(),
        mode: "heartbeat".to_owned(),
        reference: "3.4".to_owned(),
        preemption: None,
        every_beat: false,
        at_ms: 0,
        recovers: true,
        left_out: Vec::new(),
    };
    head.keep(&live.loaded.properties);
    let snapshot = StateSnapshot::rebuilt(head, &rebuild).unwrap();
    StateSnapshot::read(&packed(&snapshot)[..]).unwrap()
}

#[test]
fn hosts_and_racks_that_an_application_excludes_are_excluded_in_the_state_of_the_file() {
    let mut live = cluster(&[], &["n0", "n2"]);
    let rack = NodeSpec {
        rack: "/r1".to_owned(),
        ..NodeSpec::new(node("n1"), gib(8))
    };
    live.engine.add_node(rack).unwrap();
    let excluding = |places: &[&str], asks: Vec<Ask>| AskCall {
        blacklist_add: places.iter().map(|&place| place.to_owned()).collect(),
        ..AskCall::asking(asks)
    };
    let anywhere = |count| vec![Ask::anywhere(gib(2), count)];
    for (number, places, asks) in [
        (1, &["n0", "/r1"][..], anywhere(6)),
        (2, &["n0", "n1", "n2"], anywhere(1)),
        // It asks for nothing yet.
        (3, &["n1", "n2"], Vec::new()),
    ] {
        live.submit(AppSpec::new(app(number), "root.a", "ann"));
        let call = excluding(places, asks);
        live.engine.ask(app(number), call).unwrap();
    }
    let snapshot = through_a_file(&live);
    let mut anew = snapshot.head.engine().unwrap();
    snapshot.replay(&mut anew).unwrap();
    for engine in [&live.engine, &anew] {
        let waits = engine.explain(app(2)).unwrap();
        assert_eq!(waits.dominant().unwrap().reason, Reason::ExcludedNodes);
    }
    for engine in [&mut live.engine, &mut anew] {
        engine.ask(app(3), AskCall::asking(anywhere(6))).unwrap();
        let mut placed = Vec::new();
        for _ in 0..6 {
            placed.extend(next(engine));
        }
        let of = |number: u32| {
            let own = placed.iter().filter(|(owner, ..)| *owner == number);
            own.map(|(_, node, _)| node.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(1), ["n2:0"; 4]);
        assert_eq!(of(2), [""; 0]);
        assert_eq!(of(3), ["n0:0"; 4]);
        // What was excluded is not, once the application says so.
        let call = AskCall {
            blacklist_remove: vec!["/r1".to_owned()],
            ..AskCall::default()
        };
        engine.ask(app(1), call).unwrap();
        let (_, node, _) = &next(engine)[0];
        assert_eq!(node, "n1:0");
    }
}

#[test]
fn what_no_call_carries_over_is_listed_with_its_number() {
    let mut live = cluster(&[], &["n0", "n1"]);
    live.asks(1, "root.a", "ann", (2, 6));
    live.beat(1);
    live.asks(2, "root.b", "bob", (1, 4));
    live.beat(2);
    let left_out = Rebuild::of(live.engine.engine().ledger()).left_out();
    let says = |words: &str| left_out.iter().any(|sentence| sentence.starts_with(words));
    assert!(says("1 reservations: "), "{left_out:?}");
    assert!(
        says("2 containers were placed and not launched"),
        "{left_out:?}"
    );
    assert!(says("in any case: "), "{left_out:?}");
    // Handed out and launched, a container is like any other.
    live.engine.ask(app(1), AskCall::default()).unwrap();
    live.beat(1);
    let left_out = Rebuild::of(live.engine.engine().ledger()).left_out();
    assert!(
        !left_out
            .iter()
            .any(|sentence| sentence.contains("not launched"))
    );
}
