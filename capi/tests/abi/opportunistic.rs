//! Opportunistic containers: asked for, queued and started on their nodes, and refused where a call makes no sense.

use crate::support::{
    Host, amounts, app_of, ask_of, busy, c, error_word, options_of, refused, size, submitted, text,
};
use capsched_c::calls::{apps::*, engine::*, requests::*};
use capsched_c::*;

const SITE: &str = "<configuration>\
    <property><name>yarn.resourcemanager.opportunistic-container-allocation.enabled</name><value>true</value></property>\
    <property><name>yarn.nodemanager.opportunistic-containers-max-queue-length</name><value>5</value></property>\
    </configuration>";

/// An engine whose settings enable them, with a node of 8 GiB and an application.
fn host() -> (Host, u32) {
    let site = SourceRecord {
        size: size::<SourceRecord>(),
        layer: CAPSCHED_LAYER_SITE,
        name: text("yarn-site.xml"),
        bytes: text(SITE),
    };
    let queues = [text(crate::support::QUEUES)];
    let (options, mut sources) = options_of(&queues);
    sources.push(site);
    let options = OptionsRecord {
        sources: sources.as_ptr(),
        source_count: sources.len(),
        ..options
    };
    let mut engine = 0;
    let code = c!(capsched_engine_start(&raw const options, &raw mut engine));
    assert_eq!(code, CAPSCHED_OK, "{}", crate::support::error_text());
    let host = Host { engine };
    let node = host.add_node("n0:8041", 8192, 8);
    host.submit(1, "root.a", "ann");
    (host, node)
}

fn asked(host: &Host, app: u32, asks: &[AskRecord]) -> i32 {
    c!(capsched_ask_opportunistic(
        host.engine,
        app,
        asks.as_ptr(),
        asks.len()
    ))
}

/// Kinds and containers of the events about opportunistic containers.
fn steps(host: &Host) -> Vec<(u32, u32)> {
    assert_eq!(capsched_quiesce(host.engine), CAPSCHED_OK);
    let events = host.events(0);
    let own = events
        .iter()
        .filter(|one| one.flags & CAPSCHED_FLAG_OPPORTUNISTIC != 0);
    own.map(|one| (one.kind, one.container)).collect()
}

#[test]
fn they_start_where_there_is_room_and_wait_elsewhere() {
    let (host, node) = host();
    let (queued, started) = (
        CAPSCHED_OPPORTUNISTIC_QUEUED,
        CAPSCHED_OPPORTUNISTIC_STARTED,
    );
    assert_eq!(asked(&host, 1, &[ask_of(3, 4096)]), CAPSCHED_OK);
    assert_eq!(
        steps(&host),
        [(started, 1), (started, 2), (queued, 3)],
        "two have room"
    );
    let (_, granted) = host.ask(1, 0, 1024);
    let seen: Vec<_> = granted
        .iter()
        .map(|one| (one.kind, one.flags, one.amounts[0], one.node))
        .collect();
    let flag = CAPSCHED_FLAG_OPPORTUNISTIC;
    assert_eq!(seen, [(CAPSCHED_GRANTED, flag, 4096, node); 3]);
    host.release(1, &[1]);
    host.heartbeat(node);
    assert_eq!(steps(&host), [(started, 3)]);
    // A guaranteed container is no opportunistic one.
    host.ask(1, 1, 1024);
    host.heartbeat(node);
    let (_, granted) = host.ask(1, 0, 1024);
    assert_eq!(granted.iter().map(|one| one.flags).max(), Some(0));
}

#[test]
fn asks_that_make_no_sense_are_refused() {
    let (host, _) = host();
    let good = ask_of(1, 1024);
    let refusals = [
        AskRecord { count: -1, ..good },
        AskRecord {
            count: 2_000_000,
            ..good
        },
        AskRecord {
            amounts: amounts(-1, 1),
            ..good
        },
        AskRecord {
            amounts: amounts(i64::MAX, 1),
            ..good
        },
        AskRecord {
            place: text(""),
            ..good
        },
        AskRecord {
            flags: CAPSCHED_ASK_PARTITION,
            partition: text("gpu"),
            ..good
        },
    ];
    for wrong in refusals {
        refused(&host, CAPSCHED_ERR_REFUSED, "an ask", || {
            asked(&host, 1, &[good, wrong])
        });
    }
    refused(&host, CAPSCHED_ERR_REFUSED, "too many", || {
        asked(&host, 1, &vec![good; 513])
    });
    assert_eq!(error_word(), "opportunistic");
    let flags = [AskRecord { flags: 64, ..good }];
    refused(&host, CAPSCHED_ERR_INVALID, "flags", || {
        asked(&host, 1, &flags)
    });
    refused(&host, CAPSCHED_ERR_UNKNOWN, "an application", || {
        asked(&host, 99, &[good])
    });
    refused(&host, CAPSCHED_ERR_NULL, "no asks", || {
        c!(capsched_ask_opportunistic(
            host.engine,
            1,
            std::ptr::null(),
            1
        ))
    });
    refused(&host, CAPSCHED_ERR_LIMIT, "a length", || {
        c!(capsched_ask_opportunistic(
            host.engine,
            1,
            &raw const good,
            usize::MAX
        ))
    });
    let short = [AskRecord { size: 8, ..good }];
    refused(&host, CAPSCHED_ERR_VERSION, "a size", || {
        asked(&host, 1, &short)
    });
    refused(&host, CAPSCHED_ERR_HANDLE, "an engine", || {
        c!(capsched_ask_opportunistic(0, 1, &raw const good, 1))
    });
    assert_eq!(asked(&host, 1, &[]), CAPSCHED_OK, "nothing is asked for");
    assert!(steps(&host).is_empty());
}

#[test]
fn they_are_refused_where_nothing_enables_them_and_before_the_master_runs() {
    let (plain, _) = busy();
    refused(&plain, CAPSCHED_ERR_REFUSED, "they are off", || {
        asked(&plain, 1, &[ask_of(1, 1024)])
    });
    assert_eq!(error_word(), "opportunistic");
    let (host, _) = host();
    let managed = AppRecord {
        flags: CAPSCHED_APP_MASTER,
        master: amounts(1024, 1),
        ..app_of(5, "root.a", "ann")
    };
    let mut answer = submitted();
    let code = c!(capsched_submit(
        host.engine,
        &raw const managed,
        &raw mut answer
    ));
    assert_eq!(code, CAPSCHED_OK);
    refused(&host, CAPSCHED_ERR_REFUSED, "no master", || {
        asked(&host, 5, &[ask_of(1, 1024)])
    });
    assert_eq!(error_word(), "master_not_running");
}
