//! Calls about queues.

use capsched::api::AppError;

use crate::abi::{self, BufferRecord, FlatRecord, TextRef};
use crate::engine_handle::engine;
use crate::fault::{Fault, guarded};
use crate::memory::Memory;
use crate::reply::Buffer;

/// A queue and those below it take no applications from now on; those that they have go on.
///
/// # Safety
///
/// `queue` has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_queue_drain(engine: u64, queue: TextRef) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        Ok(held.engine.drain_queue(&memory.text(queue, "queue")?)?)
    })
}

/// Moves all applications of a leaf to another one; a record for each that moved or stays.
///
/// # Safety
///
/// The texts have as many bytes as they say; `buffer` has the size that it says, and its records as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_queue_move_apps(
    engine: u64,
    from: TextRef,
    to: TextRef,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        let (from, to) = (memory.text(from, "from")?, memory.text(to, "to")?);
        let apps = held.engine.move_all_apps(&from, &to)?;
        let moved = apps.moved.into_iter();
        let moved = moved.map(|app| FlatRecord::about_app(abi::CAPSCHED_APP_MOVED, app));
        let stays = |(app, error): (_, AppError)| FlatRecord {
            code: Fault::from(error).code,
            ..FlatRecord::about_app(abi::CAPSCHED_APP_STAYS, app)
        };
        buffer.fill(moved.chain(apps.refused.into_iter().map(stays)).collect())
    })
}

/// Ends all applications of a leaf; a record for each.
///
/// # Safety
///
/// As `capsched_queue_move_apps`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_queue_kill_apps(
    engine: u64,
    queue: TextRef,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        let killed = held.engine.kill_all_apps(&memory.text(queue, "queue")?)?;
        let killed = killed.into_iter();
        let killed = killed.map(|app| FlatRecord::about_app(abi::CAPSCHED_APP_KILLED, app));
        buffer.fill(killed.collect())
    })
}
