//! The calls as a host in C makes them.

use std::thread;
use std::time::Duration;

use crate::support::{self, Host, Records, c, error_word, node_of, options_of, text, texts};
use capsched_c::calls::{
    apps::*, engine::*, events::*, nodes::*, queues::*, requests::*, views::*,
};
use capsched_c::*;

#[test]
fn an_application_gets_containers_and_gives_them_back() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let node = host.add_node("n0:8041", 8192, 8);
    assert_eq!(host.submit(1, "root.a", "ann"), CAPSCHED_OK);
    assert_eq!(host.ask(1, 3, 1024), (CAPSCHED_OK, Vec::new()));
    for _ in 0..3 {
        assert_eq!(host.heartbeat(node), (CAPSCHED_OK, Vec::new()));
    }
    let events = host.events(0);
    let placed = events.iter().filter(|one| one.kind == CAPSCHED_ALLOCATED);
    let placed: Vec<_> = placed
        .map(|one| (one.app, one.container, one.node, one.amounts[0]))
        .collect();
    assert_eq!(
        placed,
        [(1, 1, node, 1024), (1, 2, node, 1024), (1, 3, node, 1024)]
    );
    assert_eq!(host.name_of(capsched_queue_name, events[1].queue), "root.a");
    assert_eq!(host.name_of(capsched_node_name, node), "n0:8041");
    let (code, granted) = host.ask(1, 0, 1024);
    let granted: Vec<_> = granted
        .iter()
        .map(|one| (one.kind, one.container))
        .collect();
    assert_eq!(
        (code, &granted[..]),
        (
            CAPSCHED_OK,
            &[1, 2, 3].map(|number| (CAPSCHED_GRANTED, number))[..]
        )
    );
    let (code, launched) = host.heartbeat(node);
    assert_eq!(
        (code, launched.len(), launched[0].kind),
        (CAPSCHED_OK, 3, CAPSCHED_LAUNCHED)
    );

    let (code, answered) = host.release(1, &[2, 77]);
    let answered: Vec<_> = answered
        .iter()
        .map(|one| (one.kind, one.container))
        .collect();
    let expected = [(CAPSCHED_NOT_LIVE, 77)];
    assert_eq!((code, &answered[..]), (CAPSCHED_OK, &expected[..]));
    let key = |container| ContainerKey {
        app: 1,
        attempt: 1,
        container,
    };
    assert_eq!(
        host.finished(&[key(1), key(1), key(9)]),
        [CAPSCHED_OK, CAPSCHED_ERR_UNKNOWN, CAPSCHED_ERR_UNKNOWN]
    );
    assert_eq!(
        host.killed(&[key(3), key(3)]),
        [CAPSCHED_OK, CAPSCHED_ERR_UNKNOWN]
    );
    let words = ["released", "exited", "killed"].map(str::to_owned);
    assert_eq!(
        ends_of(&host),
        [2, 1, 3].into_iter().zip(words).collect::<Vec<_>>()
    );
    let (_, learned) = host.ask(1, 0, 1024);
    let learned = learned.iter().filter(|one| one.kind == CAPSCHED_FINISHED);
    let learned: Vec<_> = learned
        .map(|one| (one.container, one.exit_status))
        .collect();
    assert_eq!(learned, [(1, 0), (2, -100), (3, -106)]);
    assert_eq!(capsched_app_finish(host.engine, 1), CAPSCHED_OK);
    assert!(host.json(capsched_state_json).contains("\"apps\":[]"));
    assert!(host.json(capsched_counts_json).contains("\"killed\":1"));
}

/// The containers that ended, each with the word of the cause.
fn ends_of(host: &Host) -> Vec<(u32, String)> {
    let events = host.events(0);
    let ended = events.iter().filter(|one| one.kind == CAPSCHED_ENDED);
    ended
        .map(|one| (one.container, host.reason(CAPSCHED_ENDED, one.reason)))
        .collect()
}

#[test]
fn replies_that_find_no_room_are_fetched_piece_by_piece() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let node = host.add_node("n0:8041", 8192, 8);
    host.submit(1, "root.a", "ann");
    host.ask(1, 5, 1024);
    for _ in 0..5 {
        host.heartbeat(node);
    }
    let call = support::call_of(1);
    let mut answer = support::answer();
    let mut room = Records::new(2);
    let code = c!(capsched_asks(
        host.engine,
        &raw const call,
        1,
        &raw mut answer,
        room.buffer()
    ));
    assert_eq!(
        (code, answer.code, answer.records),
        (CAPSCHED_OK, CAPSCHED_OK, 5)
    );
    let mut numbers: Vec<u32> = room.written().iter().map(|one| one.container).collect();
    let first_rest = room.rest();
    while room.rest() != 0 {
        let rest = room.rest();
        assert_eq!(c!(capsched_rest(rest, room.buffer())), CAPSCHED_OK);
        numbers.extend(room.written().iter().map(|one| one.container));
    }
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(
        c!(capsched_rest(first_rest, room.buffer())),
        CAPSCHED_ERR_HANDLE
    );
    assert_eq!(capsched_rest_drop(first_rest), CAPSCHED_ERR_HANDLE);

    // Events that find no room wait for the next call. The answer to a call may come before its events.
    assert_eq!(capsched_quiesce(host.engine), CAPSCHED_OK);
    let mut room = Records::new(1);
    let mut kinds = Vec::new();
    loop {
        // One that a call took from the engine and had no room for waits as well.
        let left = 6 - kinds.len() as u64;
        assert_eq!(host.events_waiting(), left);
        assert_eq!(
            c!(capsched_events(host.engine, 0, room.buffer())),
            CAPSCHED_OK
        );
        let Some(one) = room.written().first().copied() else {
            break;
        };
        kinds.push(one.kind);
    }
    assert_eq!(
        kinds,
        [
            [CAPSCHED_MASTER_STARTED].as_slice(),
            &[CAPSCHED_ALLOCATED; 5]
        ]
        .concat()
    );
}

#[test]
fn records_of_a_newer_host_are_filled_with_zeros_and_nothing_is_written_behind_the_room() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    host.submit(1, "root.a", "ann");
    assert_eq!(capsched_quiesce(host.engine), CAPSCHED_OK);
    let size = size_of::<FlatRecord>() + 8;
    let mut room = vec![0xee_u8; 2 * size];
    let mut buffer = Records::new(0).record();
    buffer.record_size = u32::try_from(size).unwrap();
    buffer.records = room.as_mut_ptr().cast();
    buffer.capacity = 1;
    assert_eq!(
        c!(capsched_events(host.engine, 0, &raw mut buffer)),
        CAPSCHED_OK
    );
    assert_eq!(buffer.written, 1);
    assert_eq!(room[..4], CAPSCHED_MASTER_STARTED.to_ne_bytes());
    assert!(
        room[size_of::<FlatRecord>()..size]
            .iter()
            .all(|&byte| byte == 0)
    );
    assert!(room[size..].iter().all(|&byte| byte == 0xee));
}

#[test]
fn the_descriptor_can_be_read_exactly_while_events_wait() {
    let host = Host::start(CAPSCHED_MODE_GLOBAL);
    let mut descriptor = -1;
    assert_eq!(
        c!(capsched_wake_fd(host.engine, &raw mut descriptor)),
        CAPSCHED_OK
    );
    let readable = |millis| support::readable(descriptor, millis);
    assert!(readable(0), "the first look is due at once");
    assert_eq!((host.events(0).len(), readable(0)), (0, false));
    host.submit(1, "root.a", "ann");
    host.add_node("n0:8041", 8192, 8);
    host.ask(1, 3, 1024);
    let mut placed = 0;
    while placed < 3 {
        assert!(readable(60_000), "{placed} of 3 after a minute");
        loop {
            let events = host.events(0);
            placed += events
                .iter()
                .filter(|one| one.kind == CAPSCHED_ALLOCATED)
                .count();
            if events.is_empty() {
                break;
            }
        }
    }
    assert!(!readable(0), "all events are taken");
    assert_eq!(capsched_engine_request_stop(host.engine), CAPSCHED_OK);
    assert!(readable(60_000), "the end is something to look at");
    assert_eq!(host.events_code(0), CAPSCHED_ERR_CLOSED);
    assert!(readable(0), "it stays so");
}

#[test]
fn who_waits_for_events_returns_when_the_engine_stops() {
    let host = Host::start(CAPSCHED_MODE_ASYNCHRONOUS);
    let engine = host.engine;
    let wait = move || {
        let mut room = Records::new(8);
        loop {
            match c!(capsched_events(engine, -1, room.buffer())) {
                CAPSCHED_OK => {}
                code => return code,
            }
        }
    };
    let code = thread::scope(|scope| {
        let waiter = scope.spawn(wait);
        // Whether it waits already makes no difference to what follows.
        thread::sleep(Duration::from_millis(20));
        assert_eq!(capsched_engine_stop(engine), CAPSCHED_OK);
        waiter.join().expect("it returns")
    });
    assert!(
        [CAPSCHED_ERR_CLOSED, CAPSCHED_ERR_HANDLE].contains(&code),
        "{code}"
    );
    assert_eq!(capsched_engine_stop(engine), CAPSCHED_ERR_HANDLE);
    assert_eq!(capsched_quiesce(engine), CAPSCHED_ERR_HANDLE);
}

#[test]
fn a_restart_takes_over_what_nodes_run() {
    let host = Host::start_with(|options| options.recovering = 1);
    let running = |container| RunningRecord {
        size: u32::try_from(size_of::<RunningRecord>()).unwrap(),
        priority: 1,
        key: ContainerKey {
            app: 1,
            attempt: 2,
            container,
        },
        reserved: 0,
        request_id: 0,
        created_ms: 0,
        amounts: support::amounts(1024, 1),
        version: 0,
        flags: 0,
    };
    let stranger = RunningRecord {
        key: ContainerKey {
            app: 9,
            attempt: 1,
            container: 4,
        },
        ..running(0)
    };
    let containers = [running(3), running(4), stranger];
    let (mut number, mut room) = (0, Records::new(8));
    let node = node_of("n0:8041", 8192, 8);
    let code = c!(capsched_node_recover(
        host.engine,
        &raw const node,
        containers.as_ptr(),
        3,
        &raw mut number,
        room.buffer()
    ));
    let kinds = |room: &Records| {
        room.written()
            .iter()
            .map(|one| (one.kind, one.container))
            .collect::<Vec<_>>()
    };
    assert_eq!((code, number), (CAPSCHED_OK, 1));
    assert_eq!(
        kinds(&room),
        [
            (CAPSCHED_WAITING, 3),
            (CAPSCHED_WAITING, 4),
            (CAPSCHED_WAITING, 4)
        ]
    );
    let app = support::app_of(1, "root.a", "ann");
    assert_eq!(
        c!(capsched_app_recover(
            host.engine,
            &raw const app,
            2,
            0,
            room.buffer()
        )),
        CAPSCHED_OK
    );
    assert_eq!(kinds(&room), [(CAPSCHED_TAKEN, 3), (CAPSCHED_TAKEN, 4)]);
    assert_eq!(
        c!(capsched_finish_recovery(host.engine, room.buffer())),
        CAPSCHED_OK
    );
    assert_eq!(kinds(&room), [(CAPSCHED_TO_STOP, 4)]);
}

#[test]
fn queues_are_operated() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let engine = host.engine;
    for app in 1..=3 {
        host.submit(app, "root.a", "ann");
    }
    assert_eq!(
        c!(capsched_app_move(engine, 3, text("root.b"))),
        CAPSCHED_OK
    );
    let mut room = Records::new(8);
    assert_eq!(
        c!(capsched_queue_move_apps(
            engine,
            text("root.a"),
            text("root.b"),
            room.buffer()
        )),
        CAPSCHED_OK
    );
    assert_eq!(
        room.written()
            .iter()
            .map(|one| (one.kind, one.app))
            .collect::<Vec<_>>(),
        [1, 2].map(|app| (CAPSCHED_APP_MOVED, app))
    );
    assert_eq!(
        c!(capsched_queue_drain(engine, text("root.b"))),
        CAPSCHED_OK
    );
    assert_eq!(host.submit(4, "root.b", "ann"), CAPSCHED_ERR_REFUSED);
    assert_eq!(error_word(), "queue_stopped");
    assert_eq!(
        c!(capsched_queue_kill_apps(
            engine,
            text("root.b"),
            room.buffer()
        )),
        CAPSCHED_OK
    );
    assert_eq!(room.written().len(), 3);
}

#[test]
fn nodes_are_operated() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    assert_eq!(host.name_of(capsched_partition_name, 0), "");
    assert_eq!(host.name_of(capsched_type_name, 1), "vcores");
    let node = host.add_node("n0:8041", 8192, 8);
    let (engine, mut room) = (host.engine, Records::new(8));
    assert_eq!(
        c!(capsched_node_resize(
            engine,
            node,
            support::amounts(4096, 4).as_ptr()
        )),
        CAPSCHED_OK
    );
    assert_eq!(capsched_node_decommission(engine, node), CAPSCHED_OK);
    assert_eq!(capsched_node_recommission(engine, node), CAPSCHED_OK);
    let spec = node_of("n0:8041", 16_384, 16);
    assert_eq!(
        c!(capsched_node_reconnect(engine, &raw const spec)),
        CAPSCHED_OK
    );
    assert!(
        host.name_of(capsched_node_json, node)
            .contains("\"total\":[16384,16]")
    );
    assert_eq!(capsched_node_remove(engine, node), CAPSCHED_OK);
    assert_eq!(capsched_node_remove(engine, node), CAPSCHED_ERR_UNKNOWN);
    assert_eq!(
        host.add_node("n0:8041", 1024, 1),
        node,
        "the number stands for the name"
    );
    let mut effective = 0;
    host.submit(7, "root.a", "ann");
    assert_eq!(
        c!(capsched_app_priority(engine, 7, 5, &raw mut effective)),
        CAPSCHED_OK
    );
    assert_eq!(c!(capsched_preempt(engine, room.buffer())), CAPSCHED_OK);
    assert!(room.written().is_empty());
}

#[test]
fn a_refresh_is_taken_over_as_a_whole_or_refused() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let before = host.hash();
    let wrong = support::QUEUES.replace(">60<", ">61<");
    let sources = [text(&wrong)];
    let (options, _sources) = options_of(&sources);
    assert_eq!(
        c!(capsched_refresh(host.engine, &raw const options)),
        CAPSCHED_ERR_CONFIG
    );
    assert_eq!((host.hash(), error_word().is_empty()), (before, false));
    let turned = support::QUEUES
        .replace(">60<", ">x<")
        .replace(">40<", ">60<")
        .replace(">x<", ">40<");
    let sources = [text(&turned)];
    let (options, _sources) = options_of(&sources);
    assert_eq!(
        c!(capsched_refresh(host.engine, &raw const options)),
        CAPSCHED_OK
    );
    assert_ne!(host.hash(), before);
}

#[test]
fn users_submit_by_rules_and_access_lists() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let app = support::app_of(1, "root.a", "ann");
    let mut answer = support::submitted();
    let groups = texts(&["staff", "ops"]);
    let code = c!(capsched_submit_as(
        host.engine,
        text("ann"),
        groups.as_ptr(),
        groups.len(),
        &raw const app,
        &raw mut answer
    ));
    assert_eq!(
        (code, answer.stage, answer.has_master),
        (CAPSCHED_OK, CAPSCHED_STAGE_WAITING, 0)
    );
    assert_eq!(host.name_of(capsched_queue_name, answer.queue), "root.a");
}
