//! Calls that take events, and the names behind the numbers of records.

use std::ffi::c_char;
use std::time::Duration;

use crate::abi::{self, BufferRecord, TextRef};
use crate::convert;
use crate::engine_handle::engine;
use crate::fault::{Answer, Fault, guarded};
use crate::memory::Memory;
use crate::reply::Buffer;

/// Takes events in their order, as many as there is room for; waits for the first one at most `timeout_ms`, 0 for
/// a look, negative for as long as the engine runs. Each event goes to one reader. Nothing in time: 0 and no record. Once the engine has
/// shut down and every event was taken: `CAPSCHED_ERR_CLOSED`.
///
/// # Safety
///
/// `buffer` has the size that it says, and its records as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_events(
    engine: u64,
    timeout_ms: i64,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        if buffer.capacity() == 0 {
            return Err(Fault::invalid("capacity", "there is no room for an event"));
        }
        let patience = u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis);
        buffer.fill(held.events(buffer.capacity(), patience)?)
    })
}

/// How many events wait to be taken. None is dropped: an engine whose events nobody takes grows with each submission,
/// end and release.
///
/// # Safety
///
/// `waiting` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_events_waiting(engine: u64, waiting: *mut u64) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(waiting, "the place of the number")?;
        memory.write(waiting, held.events_waiting());
        Ok(())
    })
}

/// A descriptor that can be read while events wait, and once the engine has ended. Its owner is the engine: do not
/// read, write or close it. After each wake take events until there are none; a look at an empty list makes it
/// unreadable again.
///
/// # Safety
///
/// `descriptor` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_wake_fd(engine: u64, descriptor: *mut i32) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(descriptor, "the place of the descriptor")?;
        memory.write(descriptor, held.wake_fd()?);
        Ok(())
    })
}

/// The word of a `reason` in a record of a kind, such as `preempted`.
///
/// # Safety
///
/// `buffer` has `capacity` bytes, `length` one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_reason(
    kind: u32,
    reason: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let word = convert::reason(kind, reason).ok_or_else(|| {
            let text = format_args!("kind {kind} has no reason {reason}");
            Fault::new(abi::CAPSCHED_ERR_UNKNOWN, "unknown_reason", text)
        })?;
        memory.write_text(word, buffer, capacity, length)
    })
}

/// The name behind a number of a node, as `host:port`.
///
/// # Safety
///
/// As `capsched_reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_name(
    engine: u64,
    node: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let name = self::engine(engine)?.node(node)?.to_string();
        memory.write_text(&name, buffer, capacity, length)
    })
}

/// The number of a node by its name, registered now or before.
///
/// # Safety
///
/// `name` has as many bytes as it says; `node` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_number(engine: u64, name: TextRef, node: *mut u32) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(node, "the place of the number")?;
        let text = memory.text(name, "the name of the node")?;
        let known = text.parse().ok().and_then(|name| held.nodes.known(&name));
        memory.write(node, found(known, "node", &text)?);
        Ok(())
    })
}

fn found<T>(known: Option<T>, what: &str, name: &str) -> Answer<T> {
    known.ok_or_else(|| {
        let (word, name) = (format!("unknown_{what}"), name.escape_debug());
        let text = format_args!("there is no {what} `{name}`");
        Fault::new(abi::CAPSCHED_ERR_UNKNOWN, &word, text)
    })
}

/// The full path behind a number of a queue.
///
/// # Safety
///
/// As `capsched_reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_queue_name(
    engine: u64,
    queue: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let path = found(held.queues.name(queue), "queue", &format!("number {queue}"))?;
        memory.write_text(&path, buffer, capacity, length)
    })
}

/// The name behind a number of a partition; empty for the default one, 0.
///
/// # Safety
///
/// As `capsched_reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_partition_name(
    engine: u64,
    partition: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let at = usize::try_from(partition).unwrap_or(usize::MAX);
        let name = held.engine.inspect(move |ledger| {
            let partitions = ledger.state().partitions.iter();
            partitions.map(|one| one.name.to_string()).nth(at)
        })?;
        let name = found(name, "partition", &format!("number {partition}"))?;
        memory.write_text(&name, buffer, capacity, length)
    })
}

/// The name of a resource type by its place in vectors.
///
/// # Safety
///
/// As `capsched_reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_type_name(
    engine: u64,
    place: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let at = usize::try_from(place).unwrap_or(usize::MAX);
        let name = held.engine.inspect(move |ledger| {
            let types = &ledger.state().settings.resource_types;
            types.get(at).map(ToString::to_string)
        })?;
        let name = found(name, "resource type", &format!("at place {place}"))?;
        memory.write_text(&name, buffer, capacity, length)
    })
}
