//! Why gangs wait, with figures, and what was seen to help.

use capsched::api::{Closeness, GangAsk, NodeName, Reason, Scheduler as _};

use super::cluster::{app, cluster, gib};

fn gang(minimum: u32, size: i64) -> GangAsk {
    GangAsk {
        request_id: 9,
        ..GangAsk::of(minimum, gib(size), 60_000)
    }
}

#[test]
fn a_gang_without_room_says_how_many_members_fit_and_fewer_are_seen_to_help() {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    cluster.asks(1, "root.b", "bob", (1, 6));
    cluster.beat(1);
    cluster.asks(2, "root.a", "ann", (0, 1));
    cluster.engine.ask_gang(app(2), gang(2, 8)).unwrap();
    let found = cluster.reason(2, Reason::GangWaits);
    assert_eq!(
        found.detail,
        "a gang of 2 needs memory-mb 8192, vcores 1 for each; the nodes have room for 1 now; it holds 2 \
         nodes and is given up at 60000 ms"
    );
    let figures = &found.evidence;
    assert_eq!(
        (figures.dimension.as_deref(), figures.limit, figures.asked),
        (Some("members"), Some(1), Some(2))
    );
    let steps = cluster.steps(2);
    assert_eq!(steps[0].what, "ask for a gang of 1", "{steps:?}");
    assert_eq!(steps[0].admits, 1);
    assert!(cluster.helps(2, "add a node like "), "{steps:?}");
}

#[test]
fn a_gang_that_empty_nodes_cannot_take_says_so() {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    cluster.asks(1, "root.a", "ann", (0, 1));
    let on_a_rack = GangAsk {
        close: Closeness::Attribute("site/hall".to_owned()),
        ..gang(2, 8)
    };
    cluster.engine.ask_gang(app(1), on_a_rack).unwrap();
    let found = cluster.reason(1, Reason::GangWaits);
    let ending = "the largest value of site/hall at best has room for 0 when empty";
    assert!(found.detail.ends_with(ending), "{}", found.detail);
}

#[test]
fn a_gang_beyond_the_maximum_of_its_queue_names_queue_and_setting() {
    let mut cluster = cluster(&[("root.a.maximum-capacity", "50")], &["n0", "n1"]);
    cluster.asks(1, "root.a", "ann", (0, 1));
    cluster.engine.ask_gang(app(1), gang(3, 4)).unwrap();
    let found = cluster.reason(1, Reason::QueueMaxCapacity);
    assert_eq!(found.evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(found.evidence.asked, Some(12 * 1024));
    let set = cluster.sets(1, "root.a.maximum-capacity");
    assert!(
        set.parse::<f32>().is_ok_and(|percent| percent > 50.0),
        "{set}"
    );
}

#[test]
fn a_held_node_says_what_it_is_held_for() {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.asks(1, "root.b", "bob", (1, 6));
    cluster.beat(1);
    cluster.asks(2, "root.a", "ann", (1, 1));
    cluster.engine.ask_gang(app(2), gang(1, 8)).unwrap();
    let node: NodeName = super::cluster::node("n0");
    let checked = capsched::api::why_not(cluster.engine.engine().ledger(), app(2), &node);
    let text = format!("{checked:?}");
    assert!(text.contains("is held for a gang"), "{text}");
}
