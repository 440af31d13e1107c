//! The two functions that Java calls, with what Java sends and with nonsense.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched_java::sessions::{call, start};
use capsched_java::wire::{Reader, Writer};
use proptest::prelude::*;

const DONE: u8 = 0;
const REFUSED: u8 = 1;

const STOP: i32 = 0;
const REFRESH: i32 = 1;
const REGISTER_NODE: i32 = 2;
const HEARTBEAT: i32 = 5;
const SUBMIT: i32 = 6;
const RECOVER: i32 = 7;
const ASK: i32 = 9;
const CONTAINER_FINISHED: i32 = 10;
const EVENTS: i32 = 12;
const QUEUE: i32 = 15;
const CONTAINER_EXITED: i32 = 18;
const END_ATTEMPT: i32 = 19;
const START_ATTEMPT: i32 = 20;

fn xml(pairs: &[(&str, &str)]) -> String {
    let property = |(key, value): &(&str, &str)| {
        format!("<property><name>{key}</name><value>{value}</value></property>")
    };
    let all: String = pairs.iter().map(property).collect();
    format!("<configuration>{all}</configuration>")
}

fn files(writer: &mut Writer, a: &str, b: &str) {
    writer.text("yarn");
    writer.text(&xml(&[(
        "yarn.resourcemanager.scheduler.monitor.enable",
        "false",
    )]));
    writer.text(&xml(&[
        ("yarn.scheduler.capacity.root.queues", "a,b"),
        ("yarn.scheduler.capacity.root.a.capacity", a),
        ("yarn.scheduler.capacity.root.b.capacity", b),
    ]));
}

fn request(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.into_bytes()
}

/// An engine of two queues in heartbeat mode.
fn engine() -> i64 {
    let answer = start(&request(|writer| {
        writer.text("3.4.2");
        writer.text("heartbeat");
        writer.int(1);
        writer.list(&["memory-mb", "vcores"], |writer, name| writer.text(name));
        writer.int(0);
        files(writer, "50", "50");
    }));
    assert_eq!(answer[0], DONE, "{}", refusal(&answer));
    Reader::new(&answer[1..]).long().unwrap()
}

/// Code and text of a refusal.
fn refusal(answer: &[u8]) -> String {
    let mut reader = Reader::new(&answer[1..]);
    let (code, text) = (reader.text(), reader.text());
    format!("{}: {}", code.unwrap_or_default(), text.unwrap_or_default())
}

fn node(writer: &mut Writer) {
    writer.text("n0");
    writer.int(8041);
}

fn amounts(writer: &mut Writer, memory: i64, vcores: i64) {
    writer.list(&[memory, vcores], |writer, amount| writer.long(*amount));
}

fn application(writer: &mut Writer) {
    writer.long(1);
    writer.int(1);
}

fn register(handle: i64) -> Vec<u8> {
    let request = request(|writer| {
        node(writer);
        writer.text("/default-rack");
        amounts(writer, 8192, 8);
        writer.text("");
        writer.int(0);
        writer.int(0);
    });
    call(handle, REGISTER_NODE, &request)
}

fn submit(handle: i64, queue: &str) -> Vec<u8> {
    submit_keeping(handle, queue, false)
}

/// Submits an application that keeps containers or not.
fn submit_keeping(handle: i64, queue: &str, keeps: bool) -> Vec<u8> {
    let request = request(|writer| {
        application(writer);
        writer.text("ann");
        writer.text(queue);
        writer.flag(false);
        writer.flag(true);
        amounts(writer, 1024, 1);
        writer.flag(false);
        writer.flag(false);
        writer.int(0);
        writer.flag(keeps);
        writer.int(0);
    });
    call(handle, SUBMIT, &request)
}

fn heartbeat(handle: i64) -> Vec<u8> {
    let request = request(|writer| {
        node(writer);
        writer.int(0);
        writer.int(0);
    });
    call(handle, HEARTBEAT, &request)
}

/// Kinds and container numbers of the decisions so far.
fn decisions(handle: i64) -> Vec<(u8, u32)> {
    let answer = call(handle, EVENTS, &[]);
    let mut reader = Reader::new(&answer);
    let decisions = reader.flag().and_then(|_| {
        reader.list(|reader| {
            // The kind, then the container: application, attempt, number.
            let kind = u8::from(reader.flag()?);
            reader.long()?;
            reader.int()?;
            reader.int()?;
            let number = reader.count()?;
            reader.text()?;
            reader.int()?;
            reader.list(Reader::long)?;
            reader.int()?;
            reader.long()?;
            Ok((kind, number))
        })
    });
    decisions.unwrap()
}

/// The next decisions. A call may return before what it decided is delivered, so they are asked for until there are
/// some, for ten seconds at most.
fn next_decisions(handle: i64) -> Vec<(u8, u32)> {
    for _ in 0..10_000 {
        let some = decisions(handle);
        if !some.is_empty() {
            return some;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Vec::new()
}

#[test]
fn a_master_is_placed_and_its_application_asks() {
    let handle = engine();
    assert_eq!(register(handle)[0], DONE);
    let submitted = submit(handle, "a");
    assert_eq!(submitted[0], DONE, "{}", refusal(&submitted));
    assert_eq!(Reader::new(&submitted[1..]).text().as_deref(), Ok("root.a"));
    assert_eq!(heartbeat(handle)[0], DONE);
    assert_eq!(next_decisions(handle), [(1, 1)], "container 1 is allocated");

    let ask = request(|writer| {
        application(writer);
        writer.int(1);
        writer.signed(1);
        writer.long(0);
        writer.text("*");
        amounts(writer, 1024, 1);
        writer.signed(1);
        writer.flag(true);
        writer.flag(false);
        for _ in 0..5 {
            writer.int(0);
        }
    });
    let answer = call(handle, ASK, &ask);
    assert_eq!(answer[0], DONE, "{}", refusal(&answer));
    assert_eq!(heartbeat(handle)[0], DONE);
    assert_eq!(next_decisions(handle), [(1, 2)], "container 2 is allocated");
    assert_eq!(call(handle, STOP, &[])[0], DONE);
}

#[test]
fn attempts_end_and_start_again() {
    let handle = engine();
    assert_eq!(register(handle)[0], DONE);
    assert_eq!(submit_keeping(handle, "a", true)[0], DONE);
    let app = request(application);
    let refused = call(handle, START_ATTEMPT, &app);
    assert!(
        refusal(&refused).starts_with("attempt_runs: "),
        "{}",
        refusal(&refused)
    );
    assert_eq!(heartbeat(handle)[0], DONE);
    assert_eq!(next_decisions(handle), [(1, 1)]);
    let exited = request(|writer| {
        application(writer);
        writer.int(1);
        writer.int(1);
        writer.signed(1);
    });
    assert_eq!(call(handle, CONTAINER_EXITED, &exited), [DONE, 1]);
    let refused = call(handle, END_ATTEMPT, &app);
    assert!(
        refusal(&refused).starts_with("no_attempt: "),
        "{}",
        refusal(&refused)
    );
    let started = call(handle, START_ATTEMPT, &app);
    assert_eq!(started[0], DONE, "{}", refusal(&started));
    assert_eq!(Reader::new(&started[1..]).count(), Ok(2));
    assert_eq!(call(handle, END_ATTEMPT, &app), [DONE]);
    assert_eq!(call(handle, STOP, &[])[0], DONE);
}

const INCREASE: u32 = 0;
const DECREASE: u32 = 1;
const PROMOTE: u32 = 2;
const DEMOTE: u32 = 3;

/// A call of the application with changes of its container 1: version, kind, and memory where it has a size.
fn changes(handle: i64, changes: &[(u32, u32, Option<i64>)]) -> Vec<u8> {
    let request = request(|writer| {
        application(writer);
        for _ in 0..5 {
            writer.int(0);
        }
        writer.list(changes, |writer, (version, kind, memory)| {
            writer.int(1);
            writer.int(*version);
            writer.int(*kind);
            if let Some(memory) = memory {
                amounts(writer, *memory, 1);
            }
        });
    });
    call(handle, ASK, &request)
}

/// A container that changed: its number, how, its memory and its version.
type Changed = (u32, u32, i64, u32);

/// Containers that changed, and the reasons of refusals.
fn changed(answer: &[u8]) -> (Vec<Changed>, Vec<String>) {
    assert_eq!(answer[0], DONE, "{}", refusal(answer));
    let mut reader = Reader::new(&answer[1..]);
    let id = |reader: &mut Reader<'_>| {
        reader.long()?;
        Ok((reader.count()?, reader.count()?, reader.count()?))
    };
    reader.list(id).unwrap();
    reader.list(Reader::count).unwrap();
    reader.list(Reader::count).unwrap();
    reader.list(Reader::long).unwrap();
    let changed = reader.list(|reader| {
        let (number, kind) = (reader.count()?, reader.count()?);
        let memory = reader.list(Reader::long)?[0];
        Ok((number, kind, memory, reader.count()?))
    });
    let refused = reader.list(|reader| {
        reader.count()?;
        reader.count()?;
        reader.text()
    });
    reader.end().unwrap();
    (changed.unwrap(), refused.unwrap())
}

/// An engine whose application has its master's container, of 1,024 MiB, on the only node.
fn with_a_container() -> i64 {
    let handle = engine();
    assert_eq!(register(handle)[0], DONE);
    assert_eq!(submit(handle, "a")[0], DONE);
    assert_eq!(heartbeat(handle)[0], DONE);
    assert_eq!(next_decisions(handle), [(1, 1)]);
    assert_eq!(changed(&changes(handle, &[])), (Vec::new(), Vec::new()));
    handle
}

#[test]
fn containers_change_and_their_application_learns_it() {
    let handle = with_a_container();
    let none = (Vec::new(), Vec::new());
    assert_eq!(
        changed(&changes(handle, &[(0, INCREASE, Some(3072))])),
        none
    );
    assert_eq!(heartbeat(handle)[0], DONE);
    assert_eq!(decisions(handle), [], "an auxiliary container is no news");
    let (grown, _) = changed(&changes(handle, &[]));
    assert_eq!(grown, [(1, INCREASE, 3072, 1)]);
    let (shrunk, _) = changed(&changes(handle, &[(1, DECREASE, Some(2048))]));
    assert_eq!(shrunk, [(1, DECREASE, 2048, 2)]);
    let (demoted, _) = changed(&changes(handle, &[(2, DEMOTE, None)]));
    assert_eq!(demoted, [(1, DEMOTE, 2048, 3)]);
    assert_eq!(changed(&changes(handle, &[(3, PROMOTE, None)])), none);
    assert_eq!(heartbeat(handle)[0], DONE);
    let (promoted, _) = changed(&changes(handle, &[]));
    assert_eq!(promoted, [(1, PROMOTE, 2048, 4)]);
    assert_eq!(call(handle, STOP, &[])[0], DONE);
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let handle = with_a_container();
    let wrong = [
        (9, INCREASE, Some(3072)),
        (0, INCREASE, Some(1 << 40)),
        (0, DECREASE, Some(3072)),
    ];
    let (none, reasons) = changed(&changes(handle, &wrong));
    assert_eq!(none, []);
    assert_eq!(
        reasons,
        [
            "INCORRECT_CONTAINER_VERSION_ERROR",
            "RESOURCE_OUTSIDE_ALLOWED_RANGE",
            "RESOURCE_OUTSIDE_ALLOWED_RANGE"
        ]
    );
    let unknown = changes(handle, &[(0, DECREASE, Some(1024)), (0, 4, None)]);
    assert!(
        refusal(&unknown).contains("there is no change 4"),
        "{}",
        refusal(&unknown)
    );
    let (shrunk, _) = changed(&changes(handle, &[(0, DECREASE, Some(1024))]));
    assert_eq!(shrunk, [(1, DECREASE, 1024, 1)], "nothing had changed");
    assert_eq!(call(handle, STOP, &[])[0], DONE);
}

#[test]
fn a_node_comes_back_with_the_version_of_its_container() {
    let handle = engine();
    let recover = request(|writer| {
        application(writer);
        writer.text("ann");
        writer.text("root.a");
        writer.flag(false);
        writer.flag(true);
        amounts(writer, 1024, 1);
        writer.flag(false);
        writer.flag(false);
        writer.int(0);
        writer.flag(false);
        writer.int(1);
        writer.flag(true);
        writer.int(1);
    });
    let recovered = call(handle, RECOVER, &recover);
    assert_eq!(recovered[0], DONE, "{}", refusal(&recovered));
    let register = |opportunistic: u8| {
        request(|writer| {
            node(writer);
            writer.text("/default-rack");
            amounts(writer, 8192, 8);
            writer.text("");
            writer.int(0);
            writer.list(&[1_u32], |writer, number| {
                application(writer);
                writer.int(1);
                writer.int(*number);
                amounts(writer, 2048, 1);
                writer.signed(1);
                writer.long(0);
                writer.long(0);
                writer.int(5);
                writer.byte(opportunistic);
            });
        })
    };
    let nonsense = call(handle, REGISTER_NODE, &register(7));
    assert!(
        refusal(&nonsense).contains("7 is no flag"),
        "{}",
        refusal(&nonsense)
    );
    assert_eq!(call(handle, REGISTER_NODE, &register(0))[0], DONE);
    let (shrunk, refused) = changed(&changes(handle, &[(5, DECREASE, Some(1024))]));
    assert_eq!(
        (shrunk, refused),
        (vec![(1, DECREASE, 1024, 6)], Vec::new())
    );
    assert_eq!(call(handle, STOP, &[])[0], DONE);
}

#[test]
fn what_is_wrong_is_refused_with_a_reason() {
    let handle = engine();
    assert_eq!(register(handle)[0], DONE);
    let again = register(handle);
    assert_eq!(again[0], REFUSED);
    assert!(refusal(&again).starts_with("node: "), "{}", refusal(&again));

    let nowhere = submit(handle, "root.c");
    assert!(
        refusal(&nowhere).contains("root.c"),
        "{}",
        refusal(&nowhere)
    );

    let capacities = request(|writer| files(writer, "80", "80"));
    let refused = call(handle, REFRESH, &capacities);
    assert!(
        refusal(&refused).starts_with("refresh: "),
        "{}",
        refusal(&refused)
    );
    let capacities = request(|writer| files(writer, "30", "70"));
    assert_eq!(call(handle, REFRESH, &capacities)[0], DONE);

    let queue = call(handle, QUEUE, &request(|writer| writer.text("root.b")));
    let mut reader = Reader::new(&queue[1..]);
    assert_eq!(reader.flag(), Ok(true));
    assert_eq!(reader.text().as_deref(), Ok("root.b"));
    assert_eq!(
        (reader.flag(), reader.text().as_deref()),
        (Ok(true), Ok("RUNNING"))
    );
    assert_eq!(
        reader
            .int()
            .map(|bits| f32::from_bits(bits.cast_unsigned())),
        Ok(0.7)
    );

    let container = request(|writer| {
        application(writer);
        writer.int(1);
        writer.int(77);
    });
    let ended = call(handle, CONTAINER_FINISHED, &container);
    assert_eq!(ended, [DONE, 0], "it is not live");
    assert_eq!(call(handle, STOP, &[])[0], DONE);
}

#[test]
fn handles_and_calls_that_do_not_exist_are_refused() {
    let handle = engine();
    assert!(refusal(&call(handle, 21, &[])).starts_with("call: "));
    assert!(refusal(&call(handle, -1, &[])).starts_with("call: "));
    assert_eq!(call(handle, STOP, &[])[0], DONE);
    for gone in [handle, 0, -1, i64::MAX] {
        let answer = call(gone, EVENTS, &[]);
        assert!(refusal(&answer).starts_with("handle: "), "{gone}");
    }
}

#[test]
fn an_engine_does_not_start_on_what_it_does_not_know() {
    let with = |release: &str, mode: &str, a: &str| {
        start(&request(|writer| {
            writer.text(release);
            writer.text(mode);
            writer.int(1);
            writer.list(&["memory-mb", "vcores"], |writer, name| writer.text(name));
            writer.int(0);
            files(writer, a, "50");
        }))
    };
    assert!(refusal(&with("2.10.1", "heartbeat", "50")).contains("2.10.1"));
    assert!(refusal(&with("3.4.2", "lazy", "50")).contains("lazy"));
    assert!(refusal(&with("3.4.2", "heartbeat", "70")).starts_with("configuration: "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nonsense_is_answered_and_the_engine_lives(
        calls in proptest::collection::vec((1..21_i32, proptest::collection::vec(any::<u8>(), 0..64)), 1..32)
    ) {
        let handle = engine();
        prop_assert_eq!(register(handle)[0], DONE);
        for (number, bytes) in calls {
            // A wait of random length is no nonsense.
            if number != 13 {
                let answer = call(handle, number, &bytes);
                prop_assert!(answer[0] == DONE || answer[0] == REFUSED);
            }
        }
        prop_assert_eq!(heartbeat(handle)[0], DONE);
        prop_assert_eq!(call(handle, STOP, &[])[0], DONE);
    }
}
