//! Bad calls about applications and nodes: each is refused with a clear error or does nothing, and
//! the state stays as it was. The rows F and G of the catalogue, one test each.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, AppStage, ApplicationId, Ask, AskCall, ConstrainedAsk, ContainerId, Event, MAX_VALUE,
    NodeName, NodeReport, NodeSpec, PartitionSpec, ResourceVector, Sequential, StateView,
};
use capsched::config;

const APP: ApplicationId = ApplicationId::new(1);

/// Two leaves below `root.p`, a stopped one, and one with room for two applications.
fn engine() -> Sequential {
    let p = "yarn.scheduler.capacity.";
    let pairs: BTreeMap<String, String> = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "p,off,small"),
        ("root.p.queues", "a,b"),
        ("root.p.capacity", "80"),
        ("root.p.a.capacity", "50"),
        ("root.p.b.capacity", "50"),
        ("root.p.a.user-limit-factor", "-1"),
        ("root.off.capacity", "10"),
        ("root.off.state", "STOPPED"),
        ("root.small.capacity", "10"),
        ("root.small.maximum-applications", "2"),
        ("maximum-am-resource-percent", "1"),
        ("node-locality-delay", "0"),
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
    ]
    .into_iter()
    .map(|(key, value)| (format!("{p}{key}"), value.to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let site = [("yarn.cluster.max-application-priority", "10")];
    let site = site
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let settings = config::from_pairs(&site, &pairs, &types).unwrap().settings;
    let labels = ["x", "y"].map(|name| PartitionSpec {
        name: name.to_owned(),
        exclusive: true,
    });
    Sequential::new(settings, &labels).unwrap()
}

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

fn node(host: &str) -> NodeName {
    NodeName::new(host, 1).unwrap()
}

/// The engine with two nodes of 8 GiB and an unmanaged application in `root.p.a`.
fn running() -> Sequential {
    let mut engine = engine();
    for host in ["h1", "h2"] {
        engine
            .add_node(&NodeSpec::new(node(host), of(8192, 8)))
            .unwrap();
    }
    engine
        .submit(&AppSpec::new(APP, "root.p.a", "ann"))
        .unwrap();
    engine.take_events();
    engine
}

/// Makes a call and checks that it left the state and the log of decisions as they were.
fn untouched<T>(engine: &mut Sequential, call: impl FnOnce(&mut Sequential) -> T) -> T {
    let before = StateView::of(engine.ledger());
    let answer = call(engine);
    assert_eq!(before, StateView::of(engine.ledger()));
    assert_eq!(engine.take_events(), []);
    answer
}

fn asking(size: ResourceVector, count: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(size, count)])
}

/// The code and the text of a refused ask.
fn refused(engine: &mut Sequential, call: &AskCall) -> (&'static str, String) {
    let error = untouched(engine, |engine| engine.ask(APP, call).unwrap_err());
    (error.code(), error.to_string())
}

fn decisions(engine: &mut Sequential) -> Vec<Event> {
    engine.take_events()
}

fn beat(engine: &mut Sequential, host: &str) -> Vec<Event> {
    engine
        .heartbeat(&node(host), &NodeReport::AsExpected)
        .unwrap();
    decisions(engine)
}

/// The numbers of the containers that an application is handed.
fn handed(engine: &mut Sequential, app: ApplicationId) -> Vec<u32> {
    let reply = engine.ask(app, &AskCall::default()).unwrap();
    reply
        .allocated
        .iter()
        .map(|one| one.container.number)
        .collect()
}

#[test]
fn f01_a_count_of_zero_cancels_and_other_counts_out_of_range_are_refused() {
    let mut engine = running();
    for count in [-1, i32::MIN, 1_000_001, i32::MAX] {
        let (code, text) = refused(&mut engine, &asking(of(1024, 1), count));
        assert_eq!(code, "container_count");
        assert!(text.contains(&count.to_string()), "{text}");
    }
    let before = StateView::of(engine.ledger());
    engine.ask(APP, &asking(of(1024, 1), 3)).unwrap();
    engine.ask(APP, &asking(of(1024, 1), 0)).unwrap();
    assert_eq!(
        StateView::of(engine.ledger()).queues[1].labels,
        before.queues[1].labels
    );
}

#[test]
fn f02_an_ask_for_nothing_is_raised_to_the_minimum() {
    for size in [of(0, 0), of(0, 4), of(4096, 0)] {
        let mut engine = running();
        engine.ask(APP, &asking(size, 1)).unwrap();
        let decisions = beat(&mut engine, "h1");
        let Some(Event::Allocated { size: got, .. }) = decisions.first() else {
            panic!("{decisions:?}");
        };
        assert_eq!(*got, size.component_max(&of(1024, 1)));
    }
}

#[test]
fn f03_an_ask_above_the_maximum_names_both() {
    let mut engine = running();
    for size in [of(8193, 1), of(1024, 5), of(-1, 1), of(1024, -1)] {
        let (code, text) = refused(&mut engine, &asking(size, 1));
        assert_eq!(code, "resource_out_of_range");
        assert!(text.contains(&size.to_string()), "{text}");
        assert!(text.contains(&of(8192, 4).to_string()), "{text}");
    }
}

#[test]
fn f04_an_ask_that_no_node_can_hold_waits_without_an_attempt_succeeding() {
    let mut engine = engine();
    engine
        .add_node(&NodeSpec::new(node("h1"), of(8192, 1)))
        .unwrap();
    engine
        .add_node(&NodeSpec::new(node("h2"), of(1024, 4)))
        .unwrap();
    engine
        .submit(&AppSpec::new(APP, "root.p.a", "ann"))
        .unwrap();
    engine.ask(APP, &asking(of(4096, 4), 1)).unwrap();
    engine.take_events();
    for host in ["h1", "h2", "h1", "h2"] {
        assert_eq!(beat(&mut engine, host), []);
    }
}

#[test]
fn f05_a_size_holds_the_types_of_the_cluster_only() {
    let mut engine = running();
    // A third type where the cluster has two: more of it than the maximum, which is nothing.
    let (code, _) = refused(&mut engine, &asking(ResourceVector::of(&[1024, 1, 1]), 1));
    assert_eq!(code, "resource_out_of_range");
}

#[test]
fn f06_sums_that_would_overflow_are_refused() {
    let mut engine = running();
    let (code, _) = refused(&mut engine, &asking(of(i64::MAX, i64::MAX), i32::MAX));
    assert_eq!(code, "resource_out_of_range");
    for id in 0..100 {
        let ask = Ask {
            request_id: id,
            ..Ask::anywhere(of(8192, 4), 1_000_000)
        };
        engine.ask(APP, &AskCall::asking(vec![ask])).unwrap();
    }
    let view = StateView::of(engine.ledger());
    let pending = view.queues[0].labels[""].pending.clone().unwrap();
    assert_eq!(pending, [8192 * 100_000_000, 4 * 100_000_000]);
}

#[test]
fn f07_more_asks_than_the_bound_are_refused() {
    let mut engine = running();
    let ask = |id| Ask {
        request_id: id,
        ..Ask::anywhere(of(1024, 1), 1)
    };
    let (code, text) = refused(
        &mut engine,
        &AskCall::asking((0..100_001).map(ask).collect()),
    );
    assert_eq!(code, "too_many_asks");
    assert!(text.contains("100001"), "{text}");
}

#[test]
fn f08_priorities_of_requests_are_any_and_those_of_applications_are_capped() {
    let mut engine = running();
    for priority in [i32::MIN, i32::MAX] {
        let ask = Ask {
            priority,
            ..Ask::anywhere(of(1024, 1), 1)
        };
        engine.ask(APP, &AskCall::asking(vec![ask])).unwrap();
    }
    assert_eq!(engine.change_priority(APP, i32::MAX), Ok(10));
    assert_eq!(engine.change_priority(APP, i32::MIN), Ok(i32::MIN));
}

#[test]
fn f09_places_that_nobody_knows_match_nothing_and_the_last_of_equal_ones_counts() {
    let mut engine = running();
    let at = |place: &str, count| Ask {
        place: place.to_owned(),
        ..Ask::anywhere(of(1024, 1), count)
    };
    let any = Ask {
        relax_locality: false,
        ..Ask::anywhere(of(1024, 1), 2)
    };
    let asks = vec![
        at("nowhere", 1),
        at("/no-rack", 1),
        at("h2", 9),
        at("h2", 1),
        any,
    ];
    engine.ask(APP, &AskCall::asking(asks)).unwrap();
    assert_eq!(beat(&mut engine, "h1"), []);
    assert_eq!(
        beat(&mut engine, "h2").len(),
        0,
        "the rack of h2 was not asked for"
    );
}

#[test]
fn f10_an_application_may_shut_out_every_node_and_let_them_in_again() {
    let mut engine = running();
    let call = AskCall {
        blacklist_add: vec!["h1".to_owned(), "h2".to_owned(), "h1".to_owned()],
        blacklist_remove: vec!["never-listed".to_owned()],
        ..asking(of(1024, 1), 1)
    };
    engine.ask(APP, &call).unwrap();
    assert_eq!(beat(&mut engine, "h1"), []);
    assert_eq!(beat(&mut engine, "h2"), []);
    let call = AskCall {
        blacklist_remove: vec!["h1".to_owned()],
        ..AskCall::default()
    };
    engine.ask(APP, &call).unwrap();
    assert_eq!(beat(&mut engine, "h1").len(), 1);
}

#[test]
fn f11_each_wrong_queue_has_its_code() {
    let mut engine = running();
    let queues = [
        ("root.p", "not_a_leaf"),
        ("root", "not_a_leaf"),
        ("root.p.none", "unknown_queue"),
        ("", "unknown_queue"),
        ("root..a", "unknown_queue"),
        ("root.off", "queue_stopped"),
        ("off", "queue_stopped"),
    ];
    for (queue, code) in queues {
        let spec = AppSpec::new(ApplicationId::new(2), queue, "ann");
        let before = StateView::of(engine.ledger()).apps;
        let error = engine.submit(&spec).unwrap_err();
        assert_eq!((queue, error.code()), (queue, code));
        assert!(error.to_string().contains(queue), "{error}");
        assert_eq!(StateView::of(engine.ledger()).apps, before);
    }
}

#[test]
fn f12_a_number_is_given_once_while_its_application_lives() {
    let mut engine = running();
    for queue in ["root.p.a", "root.p.b"] {
        let spec = AppSpec::new(APP, queue, "ann");
        let error = untouched(&mut engine, |engine| engine.submit(&spec).unwrap_err());
        assert_eq!(error.code(), "duplicate_application");
    }
    let earlier = ApplicationId { cluster: 0, ..APP };
    engine
        .submit(&AppSpec::new(earlier, "root.p.a", "ann"))
        .unwrap();
}

#[test]
fn f13_names_of_users_are_checked() {
    let mut engine = running();
    let long = "u".repeat(257);
    for user in ["", "a\nb", "a\u{0}b", "\u{1b}[31m", &long] {
        let spec = AppSpec::new(ApplicationId::new(2), "root.p.a", user);
        let error = untouched(&mut engine, |engine| engine.submit(&spec).unwrap_err());
        assert_eq!(error.code(), "user_name");
        assert!(!error.to_string().contains(char::is_control), "{error}");
        assert!(error.to_string().len() < 120, "{error}");
    }
    for (number, user) in [(2, "root"), (3, "1000"), (4, "a:b,c")] {
        let spec = AppSpec::new(ApplicationId::new(number), "root.p.a", user);
        assert_eq!(engine.submit(&spec).unwrap().stage, AppStage::Active);
    }
}

#[test]
fn f14_releasing_what_one_does_not_hold_does_nothing() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    assert_eq!(handed(&mut engine, APP), [1]);
    let other = ApplicationId::new(2);
    engine
        .submit(&AppSpec::new(other, "root.p.b", "bob"))
        .unwrap();
    engine.take_events();
    let release = |numbers: &[u32]| AskCall {
        release: numbers.to_vec(),
        ..AskCall::default()
    };
    // Numbers belong to the caller: those of others cannot even be named.
    untouched(&mut engine, |engine| {
        engine.ask(other, &release(&[1, 2, u32::MAX])).unwrap()
    });
    untouched(&mut engine, |engine| {
        engine.ask(APP, &release(&[0, 99])).unwrap()
    });
    engine.ask(APP, &release(&[1, 1])).unwrap();
    assert_eq!(decisions(&mut engine).len(), 1);
    engine.ask(APP, &release(&[1])).unwrap();
    assert_eq!(decisions(&mut engine), []);
}

#[test]
fn f15_a_move_is_carried_out_or_refused_as_a_whole() {
    let mut engine = running();
    for (queue, code) in [
        ("root.off", "queue_stopped"),
        ("root.p", "not_a_leaf"),
        ("nowhere", "unknown_queue"),
    ] {
        let error = untouched(&mut engine, |engine| {
            engine.move_app(APP, queue).unwrap_err()
        });
        assert_eq!(error.code(), code);
    }
    for number in 2..4 {
        let spec = AppSpec::new(ApplicationId::new(number), "root.small", "bob");
        engine.submit(&spec).unwrap();
    }
    engine.take_events();
    let apps = StateView::of(engine.ledger()).apps;
    assert_eq!(
        engine.move_app(APP, "root.small").unwrap_err().code(),
        "max_applications"
    );
    assert_eq!(StateView::of(engine.ledger()).apps, apps);
    engine.move_app(APP, "root.p.a").unwrap();
    assert_eq!(StateView::of(engine.ledger()).apps, apps);
}

#[test]
fn f16_an_application_ends_once() {
    let mut engine = running();
    engine.finish_app(APP).unwrap();
    engine.take_events();
    for app in [APP, ApplicationId::new(77)] {
        let error = untouched(&mut engine, |engine| engine.finish_app(app).unwrap_err());
        assert_eq!(error.code(), "unknown_application");
        assert!(error.to_string().contains(&app.to_string()));
    }
}

#[test]
fn f17_the_size_of_a_container_is_never_changed() {
    // No call does it: a new ask under the same key leaves what runs as it is.
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    engine.ask(APP, &asking(of(2048, 1), 1)).unwrap();
    let view = StateView::of(engine.ledger());
    assert_eq!(view.nodes[0].allocated, [1024, 1]);
}

#[test]
fn f18_the_latest_ask_of_a_key_wins() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 50)).unwrap();
    engine.ask(APP, &asking(of(2048, 1), 1)).unwrap();
    let view = StateView::of(engine.ledger());
    assert_eq!(view.queues[0].labels[""].pending, Some(vec![2048, 1]));
    assert_eq!(beat(&mut engine, "h1").len(), 1);
    assert_eq!(beat(&mut engine, "h2"), []);
}

#[test]
fn f19_one_user_fills_its_queue_and_not_those_of_others() {
    let mut engine = running();
    let mut refused = 0;
    for number in 2..1002 {
        let spec = AppSpec::new(ApplicationId::new(number), "root.small", "eve");
        refused += usize::from(engine.submit(&spec).is_err());
    }
    assert_eq!(refused, 998);
    let other = AppSpec::new(ApplicationId::new(5000), "root.p.b", "bob");
    assert_eq!(engine.submit(&other).unwrap().stage, AppStage::Active);
}

#[test]
fn f20_a_repeated_heartbeat_reports_nothing_twice() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    handed(&mut engine, APP);
    let report = NodeReport::Exactly {
        launched: vec![ContainerId::new(APP, 1)],
        exited: Vec::new(),
    };
    let first = engine.heartbeat(&node("h1"), &report).unwrap();
    assert_eq!(first.launched.len(), 1);
    engine.take_events();
    let again = untouched(&mut engine, |engine| {
        engine.heartbeat(&node("h1"), &report).unwrap()
    });
    assert_eq!(again.launched, []);
}

#[test]
fn a_key_that_is_cancelled_forgets_the_places_named_after_it() {
    let mut engine = running();
    let anywhere = Ask::anywhere(of(1024, 1), 0);
    let at_a_host = Ask {
        place: "h9".to_owned(),
        count: 1,
        ..anywhere.clone()
    };
    let call = AskCall::asking(vec![anywhere, at_a_host]);
    engine.ask(APP, &call).unwrap();
    let app = engine.ledger().app(APP).unwrap();
    let mut keys = engine.ledger().state().apps[app].keys.iter();
    assert!(keys.all(|key| !key.known && key.places.is_empty()));
}

#[test]
fn a_malformed_constraint_is_refused_with_its_place() {
    let mut engine = running();
    for (text, value) in [
        ("notin,planet,web", "planet"),
        ("cardinality,node,web,2,x", "x"),
        ("and(in,node,a:", "and(in,node,a:"),
        ("", ""),
    ] {
        let request = ConstrainedAsk {
            priority: 1,
            request_id: 5,
            size: of(1024, 1),
            count: 1,
            tags: vec!["web".to_owned()],
            constraint: Some(text.to_owned()),
        };
        let call = AskCall {
            constrained: vec![request],
            ..asking(of(1024, 1), 1)
        };
        let (code, message) = refused(&mut engine, &call);
        assert_eq!(code, "scheduling_request");
        assert!(
            message.contains("character") && message.contains(value),
            "{message}"
        );
    }
}

#[test]
fn g01_a_node_without_anything_is_registered_and_never_used() {
    let mut engine = running();
    engine
        .add_node(&NodeSpec::new(node("h0"), of(0, 0)))
        .unwrap();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    assert_eq!(beat(&mut engine, "h0"), []);
    assert_eq!(beat(&mut engine, "h1").len(), 1);
}

#[test]
fn g02_a_node_that_lacks_one_type_divides_nothing_by_zero() {
    let mut engine = engine();
    engine
        .add_node(&NodeSpec::new(node("h1"), of(0, 8)))
        .unwrap();
    engine
        .submit(&AppSpec::new(APP, "root.p.a", "ann"))
        .unwrap();
    // The maximum allocation follows the largest node: there is no memory to ask for.
    engine.take_events();
    let (code, _) = refused(&mut engine, &asking(of(1024, 1), 1));
    assert_eq!(code, "resource_out_of_range");
}

#[test]
fn g03_a_total_out_of_range_is_refused() {
    let mut engine = running();
    for total in [
        of(-1, 1),
        of(1, -1),
        of(i64::MAX, 1),
        of(MAX_VALUE + 1, 1),
        of(i64::MIN, 0),
    ] {
        let spec = NodeSpec::new(node("h9"), total);
        let error = untouched(&mut engine, |engine| engine.add_node(&spec).unwrap_err());
        assert!(error.to_string().contains(&total.to_string()), "{error}");
        let resized = |engine: &mut Sequential| engine.resize_node(&node("h1"), total);
        assert!(untouched(&mut engine, resized).is_err());
    }
}

#[test]
fn g03_types_that_the_cluster_does_not_know_are_passed_over() {
    let mut engine = running();
    let more = ResourceVector::of(&[4096, 4, 7, i64::MIN]);
    engine.add_node(&NodeSpec::new(node("h3"), more)).unwrap();
    engine.resize_node(&node("h2"), more).unwrap();
    let slots = engine.ledger().nodes_by_name();
    let totals: Vec<_> = slots
        .map(|(_, slot)| engine.ledger().state().nodes[slot].total.get())
        .collect();
    assert_eq!(totals, [of(8192, 8), of(4096, 4), of(4096, 4)]);
    let (code, text) = refused(&mut engine, &asking(ResourceVector::of(&[1024, 1, 1]), 1));
    assert_eq!(code, "resource_out_of_range", "{text}");
    engine.ask(APP, &asking(of(1024, 1), 9)).unwrap();
    assert_eq!(beat(&mut engine, "h3").len(), 1);
}

#[test]
fn g04_the_sum_of_all_nodes_stays_in_range() {
    let mut engine = engine();
    let most = of(MAX_VALUE, 8);
    engine.add_node(&NodeSpec::new(node("h1"), most)).unwrap();
    let second = NodeSpec::new(node("h2"), most);
    untouched(&mut engine, |engine| engine.add_node(&second).unwrap_err());
    engine
        .resize_node(&node("h1"), of(MAX_VALUE - 1, 8))
        .unwrap();
    engine
        .add_node(&NodeSpec::new(node("h2"), of(1, 1)))
        .unwrap();
    engine.take_events();
    let grown = |engine: &mut Sequential| engine.resize_node(&node("h1"), most);
    assert!(untouched(&mut engine, grown).is_err());
}

#[test]
fn g05_a_name_is_registered_once_and_a_new_incarnation_starts_empty() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    let again = NodeSpec::new(node("h1"), of(4096, 4));
    let error = untouched(&mut engine, |engine| engine.add_node(&again).unwrap_err());
    assert!(error.to_string().contains("h1:1"), "{error}");
    engine.remove_node(&node("h1")).unwrap();
    engine.add_node(&again).unwrap();
    let view = StateView::of(engine.ledger());
    let reborn = view.nodes.iter().find(|one| &*one.node == "h1:1").unwrap();
    assert_eq!(reborn.allocated, [0, 0]);
}

#[test]
fn g06_names_of_nodes_are_checked() {
    let long = "h".repeat(256);
    for host in ["", " ", "a b", "a\nb", "a/b", "a:b", &long] {
        let error = NodeName::new(host, 1).unwrap_err().to_string();
        assert!(
            error.len() < 200 && !error.contains(char::is_control),
            "{error}"
        );
    }
    for host in ["localhost", "b\u{fc}ro", "10.0.0.1"] {
        assert_eq!(NodeName::new(host, 0).unwrap().host(), host);
    }
    // One host may run several nodes, which differ in their ports.
    let mut engine = running();
    let other = NodeName::new("h1", 2).unwrap();
    engine.add_node(&NodeSpec::new(other, of(1024, 1))).unwrap();
}

#[test]
fn g07_a_heartbeat_of_an_unknown_node_changes_nothing() {
    let mut engine = running();
    let report = NodeReport::AsExpected;
    let unknown = |engine: &mut Sequential| engine.heartbeat(&node("h7"), &report).unwrap_err();
    assert!(untouched(&mut engine, unknown).to_string().contains("h7:1"));
    engine.remove_node(&node("h2")).unwrap();
    engine.take_events();
    let lost = |engine: &mut Sequential| engine.heartbeat(&node("h2"), &report).unwrap_err();
    assert!(untouched(&mut engine, lost).to_string().contains("h2:1"));
}

#[test]
fn g08_a_node_may_shrink_below_its_use() {
    let mut engine = running();
    engine.ask(APP, &asking(of(4096, 4), 2)).unwrap();
    beat(&mut engine, "h1");
    for total in [of(1024, 1), of(0, 0), of(0, 8)] {
        engine.resize_node(&node("h1"), total).unwrap();
        assert_eq!(beat(&mut engine, "h1"), []);
    }
    let view = StateView::of(engine.ledger());
    assert_eq!(view.nodes[0].available, [-4096, 4]);
    engine.resize_node(&node("h1"), of(8192, 8)).unwrap();
    assert_eq!(beat(&mut engine, "h1").len(), 1);
}

#[test]
fn g09_a_total_that_swings_ends_where_it_stops() {
    let mut engine = running();
    engine.resize_node(&node("h1"), of(8192, 8)).unwrap();
    let before = StateView::of(engine.ledger());
    for i in 0..1000 {
        engine.resize_node(&node("h1"), of(1024 + i, 1)).unwrap();
        engine.resize_node(&node("h1"), of(8192, 8)).unwrap();
    }
    assert_eq!(StateView::of(engine.ledger()), before);
}

#[test]
fn g10_an_end_that_cannot_be_changes_nothing() {
    let mut engine = running();
    let id = |number| ContainerId::new(APP, number);
    let finished = |engine: &mut Sequential, id| untouched(engine, |e| e.container_finished(id));
    assert!(!finished(&mut engine, id(1)));
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    assert!(engine.container_finished(id(1)));
    engine.take_events();
    assert!(!finished(&mut engine, id(1)));
    let nobody = ContainerId::new(ApplicationId::new(99), 1);
    assert!(!finished(&mut engine, nobody));
}

#[test]
fn g11_containers_of_ended_applications_are_to_be_stopped() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    handed(&mut engine, APP);
    beat(&mut engine, "h1");
    engine.finish_app(APP).unwrap();
    let nothing = NodeReport::Exactly {
        launched: Vec::new(),
        exited: Vec::new(),
    };
    let reply = engine.heartbeat(&node("h1"), &nothing).unwrap();
    assert_eq!(reply.to_stop, [ContainerId::new(APP, 1)]);
    assert_eq!(StateView::of(engine.ledger()).nodes[0].allocated, [1024, 1]);
    beat(&mut engine, "h1");
    assert_eq!(StateView::of(engine.ledger()).nodes[0].allocated, [0, 0]);
}

#[test]
fn g12_g13_a_report_of_containers_that_nobody_granted_counts_for_nothing() {
    let mut engine = running();
    let claimed = (1..10_000).map(|number| ContainerId::new(APP, number));
    let report = NodeReport::Exactly {
        launched: claimed.clone().collect(),
        exited: claimed.collect(),
    };
    let reply = untouched(&mut engine, |engine| {
        engine.heartbeat(&node("h1"), &report).unwrap()
    });
    assert_eq!((reply.launched, reply.exited), (Vec::new(), Vec::new()));
}

#[test]
fn g14_labels_that_the_cluster_does_not_have_are_refused() {
    let mut engine = running();
    for label in ["z", "x,y", "x y", " "] {
        let mut spec = NodeSpec::new(node("h9"), of(1024, 1));
        spec.partition = label.to_owned();
        let error = untouched(&mut engine, |engine| engine.add_node(&spec).unwrap_err());
        assert!(error.to_string().contains(label), "{error}");
        let moved = |engine: &mut Sequential| engine.relabel_node(&node("h1"), label);
        assert!(untouched(&mut engine, moved).is_err());
    }
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    engine.relabel_node(&node("h1"), "x").unwrap();
    let view = StateView::of(engine.ledger());
    assert_eq!(view.queues[0].labels["x"].used, Some(vec![1024, 1]));
    assert_eq!(view.queues[0].labels[""].used, None);
}

#[test]
fn g15_g16_no_clock_of_a_node_matters_and_a_late_heartbeat_is_one_more() {
    // Reports carry no time. One that comes twice finds nothing left to do.
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    assert_eq!(beat(&mut engine, "h1").len(), 1);
    untouched(&mut engine, |engine| {
        engine
            .heartbeat(&node("h1"), &NodeReport::AsExpected)
            .unwrap()
    });
}

#[test]
fn g17_a_node_that_comes_and_goes_leaves_nothing_behind() {
    let mut engine = running();
    // What the user may have is looked up anew with every change of the cluster.
    engine.resize_node(&node("h1"), of(8192, 8)).unwrap();
    let before = StateView::of(engine.ledger());
    for _ in 0..1000 {
        engine
            .add_node(&NodeSpec::new(node("h3"), of(8192, 8)))
            .unwrap();
        engine.remove_node(&node("h3")).unwrap();
    }
    engine.take_events();
    assert_eq!(StateView::of(engine.ledger()), before);
}

/// An ask for a rack of that name would be one for anywhere.
#[test]
fn racks_without_a_proper_name_are_refused() {
    let mut engine = engine();
    let long = "r".repeat(257);
    for rack in ["", "*", "/r\u{7}", long.as_str()] {
        let node = NodeSpec::new(node("h1"), of(8192, 8));
        let rack = rack.to_owned();
        let spec = NodeSpec { rack, ..node };
        let error = untouched(&mut engine, |engine| engine.add_node(&spec).unwrap_err());
        assert!(
            error.to_string().ends_with("` is not the name of a rack"),
            "{error}"
        );
    }
}

#[test]
fn f21_names_of_places_are_checked() {
    let mut engine = running();
    let long = "h".repeat(257);
    for place in ["", "a\nb", long.as_str()] {
        let ask = Ask {
            place: place.to_owned(),
            ..Ask::anywhere(of(1024, 1), 1)
        };
        assert_eq!(refused(&mut engine, &AskCall::asking(vec![ask])).0, "place");
        for call in [
            AskCall {
                blacklist_add: vec![place.to_owned()],
                ..AskCall::default()
            },
            AskCall {
                blacklist_remove: vec!["h1".to_owned(), place.to_owned()],
                ..AskCall::default()
            },
        ] {
            assert_eq!(refused(&mut engine, &call).0, "place");
        }
    }
}

#[test]
fn f22_releases_of_unknown_containers_are_answered() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    assert_eq!(handed(&mut engine, APP), [1]);
    let call = AskCall {
        release: vec![7, 1, 0, 1, u32::MAX],
        ..AskCall::default()
    };
    let reply = engine.ask(APP, &call).unwrap();
    assert_eq!(reply.unknown, [7, 0, 1, u32::MAX], "1 was given back twice");
}

#[test]
fn g18_reports_of_unknown_containers_are_answered() {
    let mut engine = running();
    engine.ask(APP, &asking(of(1024, 1), 1)).unwrap();
    beat(&mut engine, "h1");
    handed(&mut engine, APP);
    let known = ContainerId::new(APP, 1);
    let never = ContainerId::new(APP, 9);
    let foreign = ContainerId::new(ApplicationId::new(99), 1);
    let report = NodeReport::Exactly {
        launched: vec![never, known],
        exited: vec![foreign, never],
    };
    let reply = engine.heartbeat(&node("h1"), &report).unwrap();
    assert_eq!(
        (reply.launched, reply.unknown),
        (vec![known], vec![never, foreign])
    );
    // Launched before is no news, but known.
    let again = engine.heartbeat(&node("h1"), &report).unwrap();
    assert_eq!(
        (again.launched, again.unknown),
        (vec![], vec![never, foreign])
    );
    let elsewhere = engine.heartbeat(&node("h2"), &report).unwrap();
    assert_eq!(elsewhere.unknown, [known, never, foreign]);
}
