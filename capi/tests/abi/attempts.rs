//! Attempts: ended and started again with their containers, by a master that exits or by a call.

use std::ptr::null_mut;

use crate::support::{Host, amounts, app_of, c, error_word, refused, submitted};
use capsched_c::calls::{apps::*, attempts::*, engine::*};
use capsched_c::*;

fn submit(host: &Host, app: u32, flags: u32) {
    let spec = AppRecord {
        flags: CAPSCHED_APP_MASTER | flags,
        master: amounts(1024, 1),
        ..app_of(app, "root.a", "ann")
    };
    let mut answer = submitted();
    let code = c!(capsched_submit(
        host.engine,
        &raw const spec,
        &raw mut answer
    ));
    assert_eq!(code, CAPSCHED_OK);
}

/// Events of a kind: the attempt and the container of each.
fn of_kind(host: &Host, kind: u32) -> Vec<(u32, u32)> {
    assert_eq!(capsched_quiesce(host.engine), CAPSCHED_OK);
    let events = host.events(0);
    let own = events.iter().filter(|one| one.kind == kind);
    own.map(|one| (one.attempt, one.container)).collect()
}

fn exited(host: &Host, key: ContainerKey, status: i32) -> i32 {
    let mut code = 77;
    let call = c!(capsched_containers_exited(
        host.engine,
        &raw const key,
        &raw const status,
        1,
        &raw mut code
    ));
    assert_eq!(call, CAPSCHED_OK);
    code
}

#[test]
fn containers_outlive_the_attempt_of_their_master() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let node = host.add_node("n0:8041", 8192, 8);
    submit(&host, 1, CAPSCHED_APP_KEEPS_CONTAINERS);
    host.heartbeat(node);
    assert_eq!(of_kind(&host, CAPSCHED_MASTER_STARTED), [(1, 1)]);
    host.ask(1, 1, 1024);
    host.heartbeat(node);
    let (code, granted) = host.ask(1, 0, 1024);
    assert_eq!((code, granted.len()), (CAPSCHED_OK, 1));
    host.heartbeat(node);
    let master = ContainerKey {
        app: 1,
        attempt: 1,
        container: 1,
    };
    assert_eq!(exited(&host, master, 1), CAPSCHED_OK);
    assert_eq!(exited(&host, master, 1), CAPSCHED_ERR_UNKNOWN);
    assert_eq!(of_kind(&host, CAPSCHED_ATTEMPT_ENDED), [(1, 0)]);
    let mut attempt = 0;
    let code = c!(capsched_attempt_start(host.engine, 1, &raw mut attempt));
    assert_eq!((code, attempt), (CAPSCHED_OK, 2));
    host.heartbeat(node);
    assert_eq!(of_kind(&host, CAPSCHED_MASTER_STARTED), [(2, 3)]);
    let (_, answered) = host.release(1, &[2]);
    assert!(answered.is_empty(), "{answered:?}");
    assert_eq!(of_kind(&host, CAPSCHED_ENDED), [(1, 2)]);
}

#[test]
fn calls_that_do_not_fit_the_attempt_are_refused() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    host.add_node("n0:8041", 8192, 8);
    submit(&host, 1, CAPSCHED_APP_RESTARTS);
    let mut attempt = 0;
    refused(&host, CAPSCHED_ERR_REFUSED, "an attempt that runs", || {
        c!(capsched_attempt_start(host.engine, 1, &raw mut attempt))
    });
    assert_eq!(error_word(), "attempt_runs");
    assert_eq!(capsched_attempt_end(host.engine, 1), CAPSCHED_OK);
    refused(&host, CAPSCHED_ERR_REFUSED, "no attempt", || {
        capsched_attempt_end(host.engine, 1)
    });
    assert_eq!(error_word(), "no_attempt");
    refused(&host, CAPSCHED_ERR_UNKNOWN, "no application", || {
        capsched_attempt_end(host.engine, 9)
    });
    refused(&host, CAPSCHED_ERR_UNKNOWN, "no application", || {
        c!(capsched_attempt_start(host.engine, 9, &raw mut attempt))
    });
    refused(&host, CAPSCHED_ERR_NULL, "no room for the attempt", || {
        c!(capsched_attempt_start(host.engine, 1, null_mut()))
    });
    assert_eq!(attempt, 0);
}
