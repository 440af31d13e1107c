//! The ledger against events that keep and that break each invariant.

use super::*;
use crate::api::{Ask, EndCause, Granted};

const APP: ApplicationId = ApplicationId::new(1);

fn id(number: u32) -> ContainerId {
    ContainerId::new(APP, number)
}

fn node(host: &str) -> NodeName {
    NodeName::new(host, 0).unwrap()
}

fn allocated(number: u32, host: &str, mib: i64) -> Event {
    let place = (node(host), "root.a.b".into());
    Event::placed(id(number), place, ResourceVector::of(&[mib, 1]), (1, 0))
}

fn released(number: u32) -> Event {
    let size = ResourceVector::of(&[1, 1]);
    Event::ended(id(number), node("n1"), size, EndCause::Exited)
}

/// A ledger with two nodes of 10 MiB and an application that wants 9 containers.
fn ledger() -> AuditBooks {
    let mut ledger = AuditBooks::default();
    for host in ["n1", "n2"] {
        let total = ResourceVector::of(&[10, 10]);
        ledger.node_added(&NodeSpec::new(node(host), total));
    }
    ledger.submitted(APP, "u", false);
    let call = AskCall {
        asks: vec![Ask::anywhere(ResourceVector::of(&[1, 1]), 9)],
        ..AskCall::default()
    };
    ledger.asked(APP, &call);
    ledger
}

fn ids(ledger: &AuditBooks) -> Vec<&'static str> {
    ledger.violations().keys().copied().collect()
}

#[test]
fn an_honest_run_has_no_violation_and_ends_at_zero() {
    let mut ledger = ledger();
    ledger.event(&allocated(1, "n1", 4));
    ledger.event(&allocated(2, "n2", 10));
    ledger.check();
    assert_eq!(ledger.used_by("root.a"), ResourceVector::of(&[14, 2]));
    ledger.event(&released(1));
    ledger.event(&released(2));
    ledger.app_ended(APP);
    ledger.check();
    assert_eq!(ids(&ledger), [""; 0]);
    assert_eq!(ledger.cluster().0, ResourceVector::NONE);
}

#[test]
fn each_violation_is_found_under_its_id() {
    let expect = |events: &[Event], expected: &[&str]| {
        let mut ledger = ledger();
        ledger.limit("root.a", ResourceVector::of(&[15, 15]));
        for event in events {
            ledger.event(event);
        }
        ledger.check();
        assert_eq!(ids(&ledger), expected, "{:?}", ledger.findings());
    };
    expect(&[allocated(1, "n1", 11)], &["N1"]);
    expect(&[allocated(1, "n9", 1)], &["N4"]);
    expect(&[allocated(1, "n1", 8), allocated(2, "n2", 8)], &["Q4"]);
    expect(&[released(7)], &["K3"]);
    expect(
        &[allocated(1, "n1", 1), released(1), allocated(1, "n1", 1)],
        &["K1"],
    );
    let ten: Vec<Event> = (1..=10).map(|n| allocated(n, "n1", 1)).collect();
    expect(&ten, &["U7"]);
    let reserved =
        |number, host: &str| Event::held(id(number), node(host), ResourceVector::of(&[1, 1]));
    expect(&[reserved(1, "n1"), allocated(1, "n2", 1)], &["R3"]);
    expect(&[reserved(1, "n1"), reserved(2, "n1")], &["N5"]);
    expect(&[reserved(1, "n1"), released(1), reserved(2, "n1")], &[]);
    let moved = |number, from: &str, to: &str| Event::ReservationMoved {
        container: id(number),
        from: node(from),
        to: node(to),
        size: ResourceVector::of(&[1, 1]),
    };
    let follows = [
        reserved(1, "n1"),
        moved(1, "n1", "n2"),
        reserved(2, "n1"),
        allocated(1, "n2", 1),
    ];
    expect(&follows, &[]);
    expect(&[moved(1, "n1", "n2")], &["R1"]);
}

#[test]
fn two_owners_of_a_reservation_are_found() {
    let mut ledger = ledger();
    ledger.submitted(ApplicationId::new(2), "v", false);
    for app in [APP, ApplicationId::new(2)] {
        let container = ContainerId::new(app, 1);
        ledger.event(&Event::held(
            container,
            node("n1"),
            ResourceVector::of(&[1, 1]),
        ));
    }
    assert_eq!(ids(&ledger), ["R1"]);
}

#[test]
fn what_outlives_its_node_or_application_is_found() {
    let mut ledger = ledger();
    ledger.event(&allocated(1, "n1", 1));
    ledger.node_removed(&node("n1"));
    ledger.app_ended(APP);
    ledger.check();
    assert_eq!(ids(&ledger), ["N4", "U8"]);
}

#[test]
fn handing_over_twice_or_negative_headroom_is_found() {
    let mut ledger = ledger();
    ledger.event(&allocated(1, "n1", 4));
    let mut reply = AskReply {
        allocated: vec![Granted {
            container: id(1),
            node: node("n1"),
            size: ResourceVector::of(&[4, 1]),
            priority: 1,
            request_id: 0,
            opportunistic: false,
        }],
        ..AskReply::default()
    };
    ledger.replied(APP, &reply);
    assert_eq!(ids(&ledger), [""; 0]);
    reply.headroom = ResourceVector::of(&[-1, 0]);
    ledger.replied(APP, &reply);
    assert_eq!(ids(&ledger), ["K6", "U6"]);
}

#[test]
fn what_the_scheduler_states_is_compared() {
    let mut ledger = ledger();
    ledger.event(&allocated(1, "n1", 4));
    ledger.queue_stated("root.a", &ResourceVector::of(&[4, 1]));
    ledger.node_stated(&node("n1"), &ResourceVector::of(&[4, 1]));
    assert_eq!(ids(&ledger), [""; 0]);
    ledger.queue_stated("root", &ResourceVector::of(&[5, 1]));
    ledger.node_stated(&node("n2"), &ResourceVector::of(&[5, 1]));
    assert_eq!(ids(&ledger), ["N3", "Q1"]);
}

#[test]
fn a_reservation_that_fits_for_longer_than_a_round_is_found() {
    let reserved = Event::held(id(2), node("n1"), ResourceVector::of(&[6, 1]));
    let wait = |ms: u64, ends: bool| {
        let mut ledger = ledger();
        ledger.looks_every(1000);
        ledger.event(&allocated(1, "n1", 8));
        ledger.event(&reserved);
        // It does not fit yet.
        ledger.advance(50_000);
        ledger.event(&released(1));
        ledger.advance(50_000 + ms);
        if ends {
            ledger.event(&allocated(2, "n1", 6));
        }
        ledger.end();
        ids(&ledger)
    };
    for ends in [false, true] {
        assert_eq!(wait(1000, ends), [""; 0]);
        assert_eq!(wait(1001, ends), ["R4"]);
    }
}
