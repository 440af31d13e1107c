//! Calls that show the state, as JSON and as a hash.

use std::ffi::c_char;

use capsched::api::{ApplicationId, CallError};
use serde::Serialize;

use crate::abi::{self, TextRef};
use crate::engine_handle::engine;
use crate::fault::{Answer, Fault, guarded};
use crate::memory::Memory;

fn json(view: &impl Serialize) -> Answer<String> {
    serde_json::to_string(view).map_err(|error| Fault::new(abi::CAPSCHED_ERR_PANIC, "json", error))
}

fn found<T: Serialize>(view: Result<Option<T>, CallError>, what: &str) -> Answer<String> {
    let view = view?.ok_or_else(|| {
        let text = format_args!("there is no such {what}");
        Fault::new(abi::CAPSCHED_ERR_UNKNOWN, &format!("unknown_{what}"), text)
    })?;
    json(&view)
}

/// Everything there is, as JSON. Costs as much as there is.
///
/// # Safety
///
/// `buffer` has `capacity` bytes, `length` one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_state_json(
    engine: u64,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let state = self::engine(engine)?.engine.state()?;
        memory.write_text(&json(&state)?, buffer, capacity, length)
    })
}

/// A number that is equal for equal states: of everything that `capsched_state_json` shows.
///
/// # Safety
///
/// `hash` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_state_hash(engine: u64, hash: *mut u64) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(hash, "the place of the hash")?;
        let text = json(&held.engine.state()?)?;
        // FNV-1a.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        memory.write(hash, text.bytes().fold(0xcbf2_9ce4_8422_2325, step));
        Ok(())
    })
}

/// One live application, as JSON.
///
/// # Safety
///
/// As `capsched_state_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_app_json(
    engine: u64,
    app: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let view = self::engine(engine)?.engine.app(ApplicationId::new(app));
        memory.write_text(&found(view, "application")?, buffer, capacity, length)
    })
}

/// One registered node, as JSON.
///
/// # Safety
///
/// As `capsched_state_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_json(
    engine: u64,
    node: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let view = held.engine.node(&held.node(node)?);
        memory.write_text(&found(view, "node")?, buffer, capacity, length)
    })
}

/// One queue, as JSON, by its full path or by a name that no other queue has.
///
/// # Safety
///
/// As `capsched_state_json`; `queue` has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_queue_json(
    engine: u64,
    queue: TextRef,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let view = held.engine.queue(&memory.text(queue, "queue")?);
        memory.write_text(&found(view, "queue")?, buffer, capacity, length)
    })
}

/// How many events of each kind there were since the engine was built, as JSON.
///
/// # Safety
///
/// As `capsched_state_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_counts_json(
    engine: u64,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let counts = self::engine(engine)?.engine.event_counts()?;
        memory.write_text(&json(&counts)?, buffer, capacity, length)
    })
}
