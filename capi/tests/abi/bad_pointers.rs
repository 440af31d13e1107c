//! Null pointers and handles of nothing in each place: every call answers a code, and the state stays as it was.

use std::ptr::{null, null_mut};

use crate::support::{
    self, Host, Records, answer, app_of, busy, c, call_of, node_of, options_of, refused, report_of,
    submitted, text,
};
use capsched_c::calls::{
    apps::*, engine::*, events::*, nodes::*, queues::*, requests::*, views::*,
};
use capsched_c::*;

/// Has calls with a null pointer checked.
fn null_in(host: &Host, what: &str, call: &mut dyn FnMut() -> i32) {
    refused(host, CAPSCHED_ERR_NULL, what, call);
}

#[test]
fn a_null_pointer_is_refused_by_calls_about_nodes() {
    let (host, node) = busy();
    let (engine, mut number) = (host.engine, 0_u32);
    let spec = node_of("n1:8041", 1024, 1);
    null_in(&host, "options", &mut || {
        c!(capsched_engine_start(null(), &mut 0_u64))
    });
    null_in(&host, "refresh", &mut || {
        c!(capsched_refresh(engine, null()))
    });
    null_in(&host, "node", &mut || {
        c!(capsched_node_add(engine, null(), &raw mut number))
    });
    null_in(&host, "number", &mut || {
        c!(capsched_node_add(engine, &raw const spec, null_mut()))
    });
    null_in(&host, "reconnect", &mut || {
        c!(capsched_node_reconnect(engine, null()))
    });
    null_in(&host, "total", &mut || {
        c!(capsched_node_resize(engine, node, null()))
    });
}

#[test]
fn a_null_pointer_is_refused_by_calls_about_applications() {
    let (host, _) = busy();
    let (app, call) = (app_of(2, "root.a", "ann"), call_of(1));
    let (engine, mut given, mut answers) = (host.engine, submitted(), answer());
    let mut room = Records::new(4);
    let buffer = room.buffer();
    null_in(&host, "app", &mut || {
        c!(capsched_submit(engine, null(), &raw mut given))
    });
    null_in(&host, "answer", &mut || {
        c!(capsched_submit(engine, &raw const app, null_mut()))
    });
    null_in(&host, "calls", &mut || {
        c!(capsched_asks(engine, null(), 1, &raw mut answers, buffer))
    });
    null_in(&host, "answers", &mut || {
        c!(capsched_asks(
            engine,
            &raw const call,
            1,
            null_mut(),
            buffer
        ))
    });
    null_in(&host, "buffer", &mut || {
        c!(capsched_asks(
            engine,
            &raw const call,
            1,
            &raw mut answers,
            null_mut()
        ))
    });
    null_in(&host, "priority", &mut || {
        c!(capsched_app_priority(engine, 1, 1, null_mut()))
    });
}

#[test]
fn a_null_pointer_is_refused_by_calls_with_reports() {
    let (host, node) = busy();
    let (engine, report, mut code) = (host.engine, report_of(node), 0_i32);
    let key = ContainerKey {
        app: 1,
        attempt: 1,
        container: 1,
    };
    let mut room = Records::new(4);
    let buffer = room.buffer();
    null_in(&host, "reports", &mut || {
        c!(capsched_heartbeats(
            engine,
            null(),
            1,
            &raw mut code,
            buffer
        ))
    });
    null_in(&host, "codes", &mut || {
        c!(capsched_heartbeats(
            engine,
            &raw const report,
            1,
            null_mut(),
            buffer
        ))
    });
    null_in(&host, "containers", &mut || {
        c!(capsched_containers_finished(
            engine,
            null(),
            1,
            &raw mut code
        ))
    });
    null_in(&host, "codes of ends", &mut || {
        c!(capsched_containers_kill(
            engine,
            &raw const key,
            1,
            null_mut()
        ))
    });
}

#[test]
fn a_null_pointer_is_refused_by_other_calls() {
    let (host, _) = busy();
    let engine = host.engine;
    null_in(&host, "events", &mut || {
        c!(capsched_events(engine, 0, null_mut()))
    });
    null_in(&host, "descriptor", &mut || {
        c!(capsched_wake_fd(engine, null_mut()))
    });
    null_in(&host, "events waiting", &mut || {
        c!(capsched_events_waiting(engine, null_mut()))
    });
    null_in(&host, "preempt", &mut || {
        c!(capsched_preempt(engine, null_mut()))
    });
    null_in(&host, "recovery", &mut || {
        c!(capsched_finish_recovery(engine, null_mut()))
    });
    null_in(&host, "hash", &mut || {
        c!(capsched_state_hash(engine, null_mut()))
    });
    null_in(&host, "length", &mut || {
        c!(capsched_state_json(engine, null_mut(), 0, null_mut()))
    });
    let mut length = 0;
    null_in(&host, "text", &mut || {
        c!(capsched_state_json(engine, null_mut(), 9, &raw mut length))
    });
    let lying = TextRef {
        data: null(),
        length: 5,
    };
    null_in(&host, "queue", &mut || {
        c!(capsched_app_move(engine, 1, lying))
    });
}

#[test]
fn handles_of_nothing_are_refused_by_every_call() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let ended = Host::start(CAPSCHED_MODE_HEARTBEAT).engine;
    let (mut number, mut effective, mut hash, mut room) = (0, 0, 0, Records::new(4));
    let (node, app, mut given) = (
        node_of("n1:8041", 1, 1),
        app_of(2, "root.a", "ann"),
        submitted(),
    );
    let (buffer, files) = (room.buffer(), [text(support::QUEUES)]);
    let (options, _sources) = options_of(&files);
    for handle in [
        0,
        1,
        u64::MAX,
        ended,
        host.engine ^ (1 << 28),
        host.engine + 100_000,
    ] {
        let calls: &[(&str, &dyn Fn() -> i32)] = &[
            ("stop", &|| capsched_engine_stop(handle)),
            ("request_stop", &|| capsched_engine_request_stop(handle)),
            ("quiesce", &|| capsched_quiesce(handle)),
            ("refresh", &|| {
                c!(capsched_refresh(handle, &raw const options))
            }),
            ("remove", &|| capsched_node_remove(handle, 1)),
            ("decommission", &|| capsched_node_decommission(handle, 1)),
            ("recommission", &|| capsched_node_recommission(handle, 1)),
            ("finish", &|| capsched_app_finish(handle, 1)),
            ("rest_drop", &|| capsched_rest_drop(handle)),
            ("move", &|| c!(capsched_app_move(handle, 1, text("root.a")))),
            ("drain", &|| {
                c!(capsched_queue_drain(handle, text("root.a")))
            }),
        ];
        for (what, call) in calls {
            refused(&host, CAPSCHED_ERR_HANDLE, what, call);
        }
        let of_none = |what: &str, call: &mut dyn FnMut() -> i32| {
            refused(&host, CAPSCHED_ERR_HANDLE, what, call);
        };
        of_none("add", &mut || {
            c!(capsched_node_add(handle, &raw const node, &raw mut number))
        });
        of_none("submit", &mut || {
            c!(capsched_submit(handle, &raw const app, &raw mut given))
        });
        of_none("priority", &mut || {
            c!(capsched_app_priority(handle, 1, 1, &raw mut effective))
        });
        of_none("asks", &mut || {
            c!(capsched_asks(handle, null(), 0, null_mut(), buffer))
        });
        of_none("beats", &mut || {
            c!(capsched_heartbeats(handle, null(), 0, null_mut(), buffer))
        });
        of_none("events", &mut || c!(capsched_events(handle, 0, buffer)));
        of_none("events waiting", &mut || {
            c!(capsched_events_waiting(handle, &raw mut hash))
        });
        of_none("preempt", &mut || c!(capsched_preempt(handle, buffer)));
        of_none("rest", &mut || c!(capsched_rest(handle, buffer)));
        of_none("fd", &mut || {
            c!(capsched_wake_fd(handle, &raw mut effective))
        });
        of_none("hash", &mut || {
            c!(capsched_state_hash(handle, &raw mut hash))
        });
    }
}
