//! Nonsense of each kind: every call answers a code, and the state stays as it was.

use std::ffi::c_char;
use std::mem::size_of;
use std::ptr::{null, null_mut};

use crate::support::{
    self, Records, amounts, answer, app_of, ask_of, busy, bytes, c, call_of, error_text,
    error_word, node_of, options_of, refused, report_of, size, submitted, text,
};
use capsched_c::calls::{apps::*, engine::*, events::*, nodes::*, requests::*};
use capsched_c::*;

#[test]
fn sizes_of_structs_decide_the_version() {
    let (host, _) = busy();
    let mut number = 0;
    let whole = size_of::<NodeRecord>();
    for wrong in [0, 1, whole - 1, 4097, 0xdead_beef] {
        let node = NodeRecord {
            size: u32::try_from(wrong).unwrap(),
            ..node_of("n1:8041", 1, 1)
        };
        refused(&host, CAPSCHED_ERR_VERSION, "a size", || {
            c!(capsched_node_add(
                host.engine,
                &raw const node,
                &raw mut number
            ))
        });
    }
    // A newer host: fields behind the known ones.
    #[repr(C)]
    struct Newer(NodeRecord, u64);
    let newer = size::<Newer>();
    let mut node = Newer(
        NodeRecord {
            size: newer,
            ..node_of("n1:8041", 1, 1)
        },
        7,
    );
    refused(&host, CAPSCHED_ERR_VERSION, "an unknown field", || {
        c!(capsched_node_add(
            host.engine,
            (&raw const node).cast(),
            &raw mut number
        ))
    });
    node.1 = 0;
    let code = c!(capsched_node_add(
        host.engine,
        (&raw const node).cast(),
        &raw mut number
    ));
    assert_eq!(code, CAPSCHED_OK, "{}", error_text());
    // Elements of one array have one size.
    let mut calls = [call_of(1), call_of(1)];
    calls[1].size += 8;
    let (mut answers, mut room) = ([answer(), answer()], Records::new(4));
    refused(&host, CAPSCHED_ERR_VERSION, "sizes that differ", || {
        c!(capsched_asks(
            host.engine,
            calls.as_ptr(),
            2,
            answers.as_mut_ptr(),
            room.buffer()
        ))
    });
    let mut buffer = BufferRecord {
        record_size: 8,
        ..Records::new(0).record()
    };
    refused(&host, CAPSCHED_ERR_VERSION, "small records", || {
        c!(capsched_events(host.engine, 0, &raw mut buffer))
    });
}

#[test]
fn counts_texts_and_numbers_out_of_range_are_refused() {
    let (host, node) = busy();
    let (engine, mut room) = (host.engine, Records::new(4));
    let (call, mut answers) = (call_of(1), answer());
    for count in [CAPSCHED_MAX_COUNT + 1, usize::MAX] {
        refused(&host, CAPSCHED_ERR_LIMIT, "a count", || {
            c!(capsched_asks(
                engine,
                &raw const call,
                count,
                &raw mut answers,
                room.buffer()
            ))
        });
    }
    let long = TextRef {
        data: c"x".as_ptr(),
        length: usize::MAX,
    };
    refused(&host, CAPSCHED_ERR_LIMIT, "a text", || {
        c!(capsched_app_move(engine, 1, long))
    });
    refused(&host, CAPSCHED_ERR_UTF8, "bytes", || {
        c!(capsched_app_move(engine, 1, bytes(b"a\xff")))
    });
    refused(&host, CAPSCHED_ERR_INVALID, "how", || {
        c!(capsched_node_attributes(
            engine,
            node,
            9,
            text(""),
            null(),
            0
        ))
    });
    refused(
        &host,
        CAPSCHED_ERR_INVALID,
        "flags of an application",
        || {
            let (app, mut given) = (
                AppRecord {
                    flags: 999,
                    ..app_of(2, "root.a", "ann")
                },
                submitted(),
            );
            c!(capsched_submit(engine, &raw const app, &raw mut given))
        },
    );
    refused(&host, CAPSCHED_ERR_INVALID, "no room for events", || {
        c!(capsched_events(engine, 0, Records::new(0).buffer()))
    });
}

#[test]
fn options_out_of_range_and_files_of_another_kind_are_refused() {
    let (host, _) = busy();
    let engine = host.engine;
    let files = [text(support::QUEUES)];
    let changes: [fn(&mut OptionsRecord); 5] = [
        |options| options.mode = 999,
        |options| options.threads = 5000,
        |options| options.hand_out = 2,
        |options| options.hadoop = 33,
        |options| options.recovering = 2,
    ];
    for change in changes {
        let (mut options, _sources) = options_of(&files);
        change(&mut options);
        refused(&host, CAPSCHED_ERR_INVALID, "an option", || {
            c!(capsched_engine_start(&raw const options, &mut 0_u64))
        });
    }
    for junk in ["", "<!DOCTYPE x>", "{}", "<configuration/>"] {
        let files = [text(junk)];
        let (options, _sources) = options_of(&files);
        refused(&host, CAPSCHED_ERR_CONFIG, junk, || {
            c!(capsched_engine_start(&raw const options, &mut 0_u64))
        });
        refused(&host, CAPSCHED_ERR_CONFIG, junk, || {
            c!(capsched_refresh(engine, &raw const options))
        });
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let (host, _) = busy();
    let words = |ask: AskRecord| {
        let before = host.hash();
        let call = CallRecord {
            asks: &raw const ask,
            ask_count: 1,
            ..call_of(1)
        };
        let (code, records) = host.call(&call);
        assert_eq!((host.hash(), records), (before, Vec::new()));
        (code, error_word())
    };
    let refused_as = |word: &str| (CAPSCHED_ERR_REFUSED, word.to_owned());
    for count in [-1, i32::MIN, 1_000_001, i32::MAX] {
        assert_eq!(words(ask_of(count, 1024)), refused_as("container_count"));
    }
    for memory in [-1, i64::MIN, i64::MAX, 1 << 53, 9000] {
        assert_eq!(
            words(ask_of(1, memory)),
            refused_as("resource_out_of_range"),
            "{memory}"
        );
    }
    let named = |place: &'static str| AskRecord {
        place: text(place),
        ..ask_of(1, 1024)
    };
    for place in ["", "a\nb"] {
        assert_eq!(words(named(place)), refused_as("place"));
    }
    let labelled = AskRecord {
        flags: CAPSCHED_ASK_PARTITION,
        partition: text("gpu"),
        ..ask_of(1, 1024)
    };
    assert_eq!(words(labelled), refused_as("label_access"));
    let unknown = AskRecord {
        flags: 64,
        ..ask_of(1, 1024)
    };
    assert_eq!(words(unknown), (CAPSCHED_ERR_INVALID, "invalid".to_owned()));
    for app in [0, 2, u32::MAX] {
        let (code, _) = host.ask(app, 1, 1024);
        assert_eq!(
            (code, error_word()),
            (CAPSCHED_ERR_UNKNOWN, "unknown_application".to_owned())
        );
        refused(&host, CAPSCHED_ERR_UNKNOWN, "finish", || {
            capsched_app_finish(host.engine, app)
        });
    }
    let long = "u".repeat(10_000);
    for (queue, user, code) in [
        ("root", "ann", CAPSCHED_ERR_REFUSED),
        ("root.none", "ann", CAPSCHED_ERR_UNKNOWN),
        ("", "ann", CAPSCHED_ERR_UNKNOWN),
        ("root.a", "", CAPSCHED_ERR_REFUSED),
        ("root.a", "a\nb", CAPSCHED_ERR_REFUSED),
        ("root.a", &long, CAPSCHED_ERR_REFUSED),
    ] {
        refused(&host, code, queue, || host.submit(2, queue, user));
    }
    refused(&host, CAPSCHED_ERR_DUPLICATE, "twice", || {
        host.submit(1, "root.a", "ann")
    });
}

#[test]
fn nodes_and_reports_that_make_no_sense_are_refused() {
    let (host, node) = busy();
    let mut number = 0;
    let long = "h".repeat(10_000);
    for (name, memory, code) in [
        ("n1:8041", -1, CAPSCHED_ERR_REFUSED),
        ("n1:8041", i64::MAX, CAPSCHED_ERR_REFUSED),
        ("n1:8041", i64::MIN, CAPSCHED_ERR_REFUSED),
        ("n0:8041", 1024, CAPSCHED_ERR_DUPLICATE),
        ("", 1024, CAPSCHED_ERR_REFUSED),
        ("n1:99999", 1024, CAPSCHED_ERR_REFUSED),
        (&long, 1024, CAPSCHED_ERR_REFUSED),
    ] {
        let spec = node_of(name, memory, 1);
        refused(&host, code, name, || {
            c!(capsched_node_add(
                host.engine,
                &raw const spec,
                &raw mut number
            ))
        });
    }
    refused(&host, CAPSCHED_ERR_REFUSED, "a label", || {
        c!(capsched_node_relabel(host.engine, node, text("gpu")))
    });
    refused(&host, CAPSCHED_ERR_REFUSED, "a total", || {
        c!(capsched_node_resize(
            host.engine,
            node,
            amounts(-5, 1).as_ptr()
        ))
    });
    for nobody in [0, node + 1, u32::MAX] {
        refused(&host, CAPSCHED_ERR_UNKNOWN, "a heartbeat", || {
            host.heartbeat(nobody).0
        });
        refused(&host, CAPSCHED_ERR_UNKNOWN, "a removal", || {
            capsched_node_remove(host.engine, nobody)
        });
    }
    let strangers = [(1, 1, 77), (9, 1, 1), (u32::MAX, u32::MAX, u32::MAX)];
    let strangers = strangers.map(|(app, attempt, container)| ContainerKey {
        app,
        attempt,
        container,
    });
    let before = host.hash();
    let exact = ReportRecord {
        flags: CAPSCHED_REPORT_EXACT,
        exited: strangers.as_ptr(),
        exited_count: strangers.len(),
        ..report_of(node)
    };
    let (code, records) = host.report(&exact);
    assert_eq!((code, records.len(), host.hash()), (CAPSCHED_OK, 3, before));
    assert!(records.iter().all(|one| one.kind == CAPSCHED_NOT_KNOWN));
    let no_attempt = ContainerKey {
        app: 1,
        attempt: 0,
        container: 1,
    };
    assert_eq!(host.finished(&[no_attempt]), [CAPSCHED_ERR_INVALID]);
    let flags = ReportRecord {
        flags: 8,
        ..report_of(node)
    };
    refused(&host, CAPSCHED_ERR_INVALID, "flags of a report", || {
        host.report(&flags).0
    });
}

/// A source of numbers that repeats.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Often a number that means something, else any bits.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bits = self.0 >> 11;
        match bits % 4 {
            0 => bits % 5,
            1 => u64::MAX >> (bits % 64),
            _ => bits.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::try_from(self.roll() & 0xffff_ffff).expect("32 bits")
    }
}

/// Structs of random numbers, without pointers: a code, never a panic, and a refusal changes nothing.
#[test]
fn random_numbers_are_answered_by_codes() {
    let (host, _) = busy();
    let (mut dice, mut room) = (Dice(7), Records::new(4));
    for round in 0..400 {
        let amounts: [i64; CAPSCHED_TYPES] = std::array::from_fn(|_| dice.roll().cast_signed());
        let before = host.hash();
        let ask = AskRecord {
            priority: dice.word().cast_signed(),
            request_id: dice.roll().cast_signed(),
            count: dice.word().cast_signed(),
            flags: dice.word(),
            amounts,
            ..ask_of(1, 1)
        };
        let call = CallRecord {
            asks: &raw const ask,
            ask_count: 1,
            ..call_of(dice.word() % 3)
        };
        let app = AppRecord {
            flags: dice.word() % 64,
            master: amounts,
            ..app_of(dice.word(), "root.a", "ann")
        };
        let (spec, mut number, mut given) = (
            NodeRecord {
                total: amounts,
                ..node_of("n7:1", 1, 1)
            },
            0,
            submitted(),
        );
        let engine = host.engine;
        let code = match round % 6 {
            0 => host.call(&call).0,
            1 => c!(capsched_submit(engine, &raw const app, &raw mut given)),
            2 => c!(capsched_node_add(engine, &raw const spec, &raw mut number)),
            3 => c!(capsched_node_resize(
                engine,
                dice.word() % 3,
                amounts.as_ptr()
            )),
            4 => c!(capsched_app_priority(
                engine,
                dice.word() % 3,
                dice.word().cast_signed(),
                &mut 0_i32
            )),
            _ => c!(capsched_rest(dice.roll(), room.buffer())),
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
    let mut length = 0;
    let code = c!(capsched_reason(
        9999,
        9999,
        null_mut::<c_char>(),
        0,
        &raw mut length
    ));
    assert_eq!(code, CAPSCHED_ERR_UNKNOWN);
}
