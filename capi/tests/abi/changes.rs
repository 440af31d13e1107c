//! Changes of containers and gangs, and hosts that were built with version 1 of the interface.

use std::mem::offset_of;

use crate::bad_calls::Dice;
use crate::support::{
    Host, Records, amounts, app_of, busy, c, call_of, error_text, error_word, gang_of, node_of,
    refused, size, text, update_of,
};
use capsched_c::calls::{apps::*, events::*, nodes::*, requests::*, views::*};
use capsched_c::*;

/// Kind, container, change, version and memory of records.
fn seen(records: &[FlatRecord]) -> Vec<(u32, u32, u32, u32, i64)> {
    let one = |one: &FlatRecord| {
        (
            one.kind,
            one.container,
            one.update,
            one.version,
            one.amounts[0],
        )
    };
    records.iter().map(one).collect()
}

fn beat(host: &Host, nodes: [u32; 2]) {
    for node in nodes {
        host.heartbeat(node);
    }
}

/// What a change of container 1 comes to at once.
fn changed(change: u32, version: u32, memory: i64) -> Vec<(u32, u32, u32, u32, i64)> {
    vec![(CAPSCHED_CHANGED, 1, change, version, memory)]
}

#[test]
fn a_container_grows_shrinks_and_is_demoted_and_promoted() {
    let (host, node) = busy();
    assert!(!host.events(0).is_empty());
    let (increase, decrease) = (CAPSCHED_UPDATE_INCREASE, CAPSCHED_UPDATE_DECREASE);
    let (promote, demote) = (CAPSCHED_UPDATE_PROMOTE, CAPSCHED_UPDATE_DEMOTE);

    let (code, records) = host.change(1, &[update_of(1, 0, increase, 2048)]);
    assert_eq!(
        (code, records),
        (CAPSCHED_OK, Vec::new()),
        "{}",
        error_text()
    );
    host.heartbeat(node);
    let events = host.events(0);
    let grant = events.iter().find(|one| one.kind == CAPSCHED_ALLOCATED);
    assert_eq!(
        grant.map(|one| (one.related, one.amounts[0])),
        Some((1, 1024))
    );
    let (_, records) = host.change(1, &[]);
    assert_eq!(seen(&records), changed(increase, 1, 2048));
    assert_eq!(
        (records[0].node, records[0].flags),
        (node, CAPSCHED_FLAG_VERSION)
    );
    let (_, records) = host.change(1, &[update_of(1, 1, decrease, 1024)]);
    assert_eq!(seen(&records), changed(decrease, 2, 1024));
    let (_, records) = host.change(1, &[update_of(1, 2, demote, 0)]);
    assert_eq!(seen(&records), changed(demote, 3, 1024));
    host.change(1, &[update_of(1, 3, promote, 0)]);
    host.heartbeat(node);
    let (_, records) = host.change(1, &[]);
    assert_eq!(seen(&records), changed(promote, 4, 1024));

    let events = host.events(0);
    let updates = events.iter().filter(|one| one.kind == CAPSCHED_UPDATED);
    let updates: Vec<_> = updates
        .map(|one| (one.update, one.version, one.flags))
        .collect();
    let (set, none) = (
        CAPSCHED_FLAG_VERSION,
        CAPSCHED_FLAG_VERSION | CAPSCHED_FLAG_OPPORTUNISTIC,
    );
    assert_eq!(
        updates,
        [
            (increase, 1, set),
            (decrease, 2, set),
            (demote, 3, none),
            (promote, 4, set)
        ]
    );
    let related = |one: &FlatRecord| one.kind != CAPSCHED_UPDATED || one.related > 2;
    assert!(
        events.iter().all(related),
        "each has an auxiliary container"
    );
}

#[test]
fn changes_that_make_no_sense_are_refused_one_by_one() {
    let (host, _) = busy();
    let (increase, decrease) = (CAPSCHED_UPDATE_INCREASE, CAPSCHED_UPDATE_DECREASE);
    let before = host.hash();
    let updates = [
        update_of(77, 0, increase, 2048),
        update_of(1, 9, increase, 2048),
        update_of(1, 0, increase, 1 << 40),
        update_of(1, 0, decrease, 4096),
    ];
    let (code, records) = host.change(1, &updates);
    let refusals: Vec<_> = records
        .iter()
        .map(|one| (one.kind, one.container, one.update, one.flags))
        .collect();
    let (kind, versioned) = (CAPSCHED_CHANGE_REFUSED, CAPSCHED_FLAG_VERSION);
    let expected = [
        (kind, 77, increase, 0),
        (kind, 1, increase, versioned),
        (kind, 1, increase, versioned),
        (kind, 1, decrease, versioned),
    ];
    assert_eq!((code, &refusals[..]), (CAPSCHED_OK, &expected[..]));
    let word = |one: &FlatRecord| host.reason(one.kind, one.reason);
    let words: Vec<_> = records.iter().map(word).collect();
    assert_eq!(
        words,
        [
            "INVALID_CONTAINER_ID",
            "INCORRECT_CONTAINER_VERSION_ERROR",
            "RESOURCE_OUTSIDE_ALLOWED_RANGE",
            "RESOURCE_OUTSIDE_ALLOWED_RANGE"
        ]
    );
    assert_eq!(host.hash(), before);

    // What is no change at all refuses its call.
    for wrong in [
        update_of(1, 0, 0, 2048),
        update_of(1, 0, 5, 2048),
        update_of(1, 0, CAPSCHED_UPDATE_PROMOTE, 2048),
        update_of(1, 0, CAPSCHED_UPDATE_DEMOTE, -1),
    ] {
        let good = update_of(2, 0, decrease, 512);
        refused(&host, CAPSCHED_ERR_INVALID, "a change", || {
            host.change(1, &[good, wrong]).0
        });
    }
    let null = CallRecord {
        update_count: 1,
        ..call_of(1)
    };
    refused(&host, CAPSCHED_ERR_NULL, "no changes", || {
        host.call(&null).0
    });
    let size = UpdateRecord {
        size: 8,
        ..update_of(1, 0, decrease, 512)
    };
    refused(&host, CAPSCHED_ERR_VERSION, "a size", || {
        host.change(1, &[size]).0
    });
}

#[test]
fn a_gang_is_placed_whole_or_given_up() {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let nodes = [
        host.add_node("n0:8041", 4096, 4),
        host.add_node("n1:8041", 4096, 4),
    ];
    assert_eq!(host.submit(1, "root.a", "ann"), CAPSCHED_OK);
    host.events(0);
    assert_eq!(
        host.gang(1, &gang_of(3, 2048)),
        CAPSCHED_OK,
        "{}",
        error_text()
    );
    beat(&host, nodes);
    let (_, granted) = host.ask(1, 0, 1024);
    let members: Vec<_> = granted
        .iter()
        .map(|one| (one.kind, one.priority, one.request_id, one.amounts[0]))
        .collect();
    assert_eq!(members, [(CAPSCHED_GRANTED, 7, 3, 2048); 3]);
    let events = host.events(0);
    let placed = events.iter().find(|one| one.kind == CAPSCHED_GANG_PLACED);
    assert_eq!(
        placed.map(|one| (one.app, one.members, one.priority, one.request_id)),
        Some((1, 3, 7, 3))
    );

    // A second one finds no room, and holds what there is until it is withdrawn.
    let second = GangRecord {
        priority: 8,
        close: CAPSCHED_CLOSE_RACK,
        ..gang_of(2, 2048)
    };
    assert_eq!(host.gang(1, &second), CAPSCHED_OK);
    let withdrawn = GangRecord {
        minimum: 0,
        ..second
    };
    assert_eq!(host.gang(1, &withdrawn), CAPSCHED_OK);
    beat(&host, nodes);
    assert!(host.ask(1, 0, 1024).1.is_empty());
    let short = GangRecord {
        within_ms: 1,
        ..second
    };
    assert_eq!(host.gang(1, &short), CAPSCHED_OK);
    let mut found = Vec::new();
    // The engine gives it up by its own clock.
    for _ in 0..600 {
        found.extend(host.events(100));
        if found.iter().any(|one| one.kind == CAPSCHED_GANG_EXPIRED) {
            break;
        }
        beat(&host, nodes);
    }
    let expired = found.iter().find(|one| one.kind == CAPSCHED_GANG_EXPIRED);
    let expired = expired.expect("it is given up");
    assert_eq!((expired.members, expired.priority), (2, 8));
    assert_eq!(host.reason(expired.kind, expired.reason), "room");
}

#[test]
fn gangs_that_make_no_sense_are_refused() {
    let (host, _) = busy();
    let gang = gang_of(2, 1024);
    let refusals = [
        GangRecord {
            minimum: 10_001,
            ..gang
        },
        GangRecord {
            elastic: 2_000_000,
            ..gang
        },
        GangRecord {
            within_ms: 0,
            ..gang
        },
        GangRecord {
            within_ms: u64::MAX,
            ..gang
        },
        GangRecord {
            amounts: amounts(-1, 1),
            ..gang
        },
        GangRecord {
            amounts: amounts(i64::MAX, 1),
            ..gang
        },
        GangRecord {
            close: CAPSCHED_CLOSE_ATTRIBUTE,
            attribute: text("no prefix"),
            ..gang
        },
        GangRecord {
            flags: CAPSCHED_ASK_PARTITION,
            partition: text("gpu"),
            ..gang
        },
    ];
    for wrong in refusals {
        refused(&host, CAPSCHED_ERR_REFUSED, "a gang", || {
            host.gang(1, &wrong)
        });
    }
    let unknown = [
        GangRecord { close: 3, ..gang },
        GangRecord { flags: 2, ..gang },
        GangRecord {
            attribute: text("a/b"),
            ..gang
        },
    ];
    for wrong in unknown {
        refused(&host, CAPSCHED_ERR_INVALID, "a gang", || {
            host.gang(1, &wrong)
        });
    }
}

#[test]
fn gangs_of_nobody_and_of_no_struct_are_refused() {
    let (host, _) = busy();
    let gang = gang_of(2, 1024);
    refused(&host, CAPSCHED_ERR_UNKNOWN, "an application", || {
        host.gang(99, &gang)
    });
    assert_eq!(error_word(), "unknown_application");
    refused(&host, CAPSCHED_ERR_NULL, "no gang", || {
        c!(capsched_ask_gang(host.engine, 1, std::ptr::null()))
    });
    let short = GangRecord { size: 16, ..gang };
    refused(&host, CAPSCHED_ERR_VERSION, "a size", || {
        host.gang(1, &short)
    });
    refused(&host, CAPSCHED_ERR_HANDLE, "an engine", || {
        c!(capsched_ask_gang(0, 1, &raw const gang))
    });
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let managed = AppRecord {
        flags: CAPSCHED_APP_MASTER,
        master: amounts(1024, 1),
        ..app_of(5, "root.a", "ann")
    };
    let mut answer = crate::support::submitted();
    let code = c!(capsched_submit(
        host.engine,
        &raw const managed,
        &raw mut answer
    ));
    assert_eq!(code, CAPSCHED_OK);
    refused(&host, CAPSCHED_ERR_REFUSED, "no master", || {
        host.gang(5, &gang)
    });
    assert_eq!(error_word(), "master_not_running");
}

#[test]
fn a_node_comes_back_with_containers_that_were_changed() {
    let host = Host::start_with(|options| options.recovering = 1);
    let running = |container, version, flags| RunningRecord {
        size: size::<RunningRecord>(),
        priority: 1,
        key: ContainerKey {
            app: 1,
            attempt: 1,
            container,
        },
        reserved: 0,
        request_id: 0,
        created_ms: 0,
        amounts: amounts(1024, 1),
        version,
        flags,
    };
    let containers = [
        running(1, 4, 0),
        running(2, 0, CAPSCHED_RUNNING_OPPORTUNISTIC),
    ];
    let (node, mut number, mut room) = (node_of("n0:8041", 8192, 8), 0, Records::new(8));
    let mut register = |containers: &[RunningRecord]| {
        c!(capsched_node_recover(
            host.engine,
            &raw const node,
            containers.as_ptr(),
            containers.len(),
            &raw mut number,
            room.buffer()
        ))
    };
    refused(&host, CAPSCHED_ERR_INVALID, "flags", || {
        register(&[running(1, 0, 2)])
    });
    assert_eq!(register(&containers), CAPSCHED_OK, "{}", error_text());
    let app = app_of(1, "root.a", "ann");
    let code = c!(capsched_app_recover(
        host.engine,
        &raw const app,
        1,
        0,
        room.buffer()
    ));
    assert_eq!((code, room.written().len()), (CAPSCHED_OK, 2));
    let decrease = CAPSCHED_UPDATE_DECREASE;
    let (_, records) = host.change(1, &[update_of(1, 4, decrease, 1024)]);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].kind, records[0].version), (CAPSCHED_CHANGED, 5));
    let (_, records) = host.change(1, &[update_of(2, 0, CAPSCHED_UPDATE_PROMOTE, 0)]);
    assert!(records.is_empty(), "it waits for room: {records:?}");
    host.heartbeat(number);
    let (_, records) = host.change(1, &[]);
    assert_eq!(
        seen(&records),
        [(CAPSCHED_CHANGED, 2, CAPSCHED_UPDATE_PROMOTE, 1, 1024)]
    );
}

#[test]
fn hosts_of_version_1_call_with_shorter_structs() {
    let (host, node) = busy();
    // What lies behind is no part of their struct.
    let call = CallRecord {
        size: u32::try_from(offset_of!(CallRecord, updates)).unwrap(),
        update_count: usize::MAX,
        ..call_of(1)
    };
    assert_eq!(host.call(&call), (CAPSCHED_OK, Vec::new()));
    let short = CallRecord {
        size: call.size - 8,
        ..call
    };
    let (mut answer, mut room) = (crate::support::answer(), Records::new(4));
    refused(&host, CAPSCHED_ERR_VERSION, "a shorter call", || {
        c!(capsched_asks(
            host.engine,
            &raw const short,
            1,
            &raw mut answer,
            room.buffer()
        ))
    });
    host.events(0);
    host.ask(1, 2, 1024);
    host.heartbeat(node);
    host.heartbeat(node);
    // Two records of their size, and a third one's room that stays as it is.
    let whole = offset_of!(FlatRecord, update);
    let mut bytes = vec![0xaa_u8; 3 * whole];
    let mut buffer = BufferRecord {
        record_size: u32::try_from(whole).unwrap(),
        records: bytes.as_mut_ptr().cast(),
        capacity: 2,
        ..Records::new(0).record()
    };
    let code = c!(capsched_events(host.engine, 0, &raw mut buffer));
    assert_eq!((code, buffer.written), (CAPSCHED_OK, 2), "{}", error_text());
    let kind = |at: usize| u32::from_ne_bytes(bytes[at * whole..][..4].try_into().unwrap());
    assert_eq!((kind(0), kind(1)), (CAPSCHED_ALLOCATED, CAPSCHED_ALLOCATED));
    assert!(bytes[2 * whole..].iter().all(|&byte| byte == 0xaa));
    assert!(host.json(capsched_state_json).contains("root.a"));
}

/// Numbers without a sense: a code, never a panic, and a refusal changes nothing.
#[test]
fn random_changes_and_gangs_are_answered_by_codes() {
    let (host, _) = busy();
    let mut dice = Dice(9);
    for round in 0..200 {
        let amounts: [i64; CAPSCHED_TYPES] = std::array::from_fn(|_| dice.roll().cast_signed());
        let before = host.hash();
        let change = UpdateRecord {
            container: dice.word() % 4,
            version: dice.word() % 2,
            change: dice.word() % 6,
            amounts,
            ..update_of(1, 0, 0, 0)
        };
        let gang = GangRecord {
            priority: dice.word().cast_signed(),
            request_id: dice.roll().cast_signed(),
            minimum: dice.word(),
            elastic: dice.word(),
            within_ms: dice.roll(),
            close: dice.word() % 4,
            flags: dice.word() % 3,
            amounts,
            ..gang_of(1, 1)
        };
        let app = dice.word() % 3;
        let code = match round % 2 {
            0 => host.change(app, &[change]).0,
            _ => host.gang(app, &gang),
        };
        assert!(
            (CAPSCHED_ERR_REFUSED..=CAPSCHED_OK).contains(&code),
            "{round}: {code} {}",
            error_text()
        );
        if code != CAPSCHED_OK {
            assert_eq!(host.hash(), before, "{round}");
        }
    }
}
