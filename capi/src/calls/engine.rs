//! Calls about an engine as a whole, and about what went wrong.

use std::ffi::c_char;

use capsched::api::EngineEnd;

use crate::abi::{self, BufferRecord, OptionsRecord};
use crate::convert;
use crate::engine_handle::{self, engine};
use crate::fault::{self, Fault, guarded};
use crate::memory::Memory;
use crate::reply::{self, Buffer};
use crate::settings;

/// The version of this interface: `CAPSCHED_ABI_VERSION` of the header that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_abi_version() -> u32 {
    abi::CAPSCHED_ABI_VERSION
}

/// The text of the latest refused call of this thread, without a NUL. With a capacity of 0 only its length is
/// written.
///
/// # Safety
///
/// `buffer` has `capacity` bytes, `length` one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_last_error(
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    let latest = fault::latest();
    let text = latest.as_ref().map_or("", |fault| fault.text.as_str());
    keeping(latest.as_ref(), || {
        memory.write_text(text, buffer, capacity, length)
    })
}

/// A stable word for the latest refused call of this thread, such as `unknown_queue` or `E_XML_DOCTYPE`.
///
/// # Safety
///
/// As `capsched_last_error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_last_error_word(
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    let latest = fault::latest();
    let word = latest.as_ref().map_or("", |fault| fault.word.as_str());
    keeping(latest.as_ref(), || {
        memory.write_text(word, buffer, capacity, length)
    })
}

/// Runs a call that shows the latest fault, which stays the latest one.
fn keeping(latest: Option<&Fault>, call: impl FnOnce() -> fault::Answer) -> i32 {
    let code = guarded(call);
    if let Some(latest) = latest {
        fault::note(latest.clone());
    }
    code
}

/// Builds and starts an engine. Preemption and access lists are those of the configuration.
///
/// # Safety
///
/// `options` has the size that it says, and its arrays as many elements; `handle` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_engine_start(
    options: *const OptionsRecord,
    handle: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        memory.expects(handle, "the place of the handle")?;
        let options = memory.read(options)?;
        let started = settings::start(memory, &options)?;
        memory.write(handle, engine_handle::hold(started)?);
        Ok(())
    })
}

/// Asks for the end and returns at once: calls that were accepted are still answered, later ones are refused.
/// Events stay readable. The handle stays until `capsched_engine_stop`.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_engine_request_stop(engine: u64) -> i32 {
    guarded(|| {
        self::engine(engine)?.engine.request_stop();
        Ok(())
    })
}

/// Ends an engine and gives its handle back. Waits for calls that are under way; one that waits for events returns.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_engine_stop(engine: u64) -> i32 {
    guarded(|| match engine_handle::end(engine)? {
        EngineEnd::Stopped => Ok(()),
        EngineEnd::Poisoned(cause) => Err(Fault::new(
            abi::CAPSCHED_ERR_PANIC,
            "poisoned",
            format_args!("{}: {}", cause.thread, cause.message),
        )),
    })
}

/// Takes over another configuration as a whole, or nothing of it: queues, preemption, placement rules, access lists and
/// labels. Of the options, `sources`, `hadoop`, `daemon` and `partitions` count. With partitions the cluster knows these
/// labels from then on, and nodes of other ones lose theirs; without any, labels stay as they are.
///
/// # Safety
///
/// As `capsched_engine_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_refresh(engine: u64, options: *const OptionsRecord) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let options = memory.read(options)?;
        let files = settings::files(memory, &options)?;
        let labels = settings::partitions(memory, &options)?;
        let labels = (!labels.is_empty()).then_some(labels.as_slice());
        held.engine
            .refresh(&files.sources, &files.options, &files.daemon, labels)?;
        Ok(())
    })
}

/// Waits until every proposer has looked at the present state and found nothing to do.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_quiesce(engine: u64) -> i32 {
    guarded(|| {
        self::engine(engine)?.engine.quiesce();
        Ok(())
    })
}

/// Runs a round of preemption now; what it decided goes to `buffer`.
///
/// # Safety
///
/// `buffer` has the size that it says, and its records as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_preempt(engine: u64, buffer: *mut BufferRecord) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        let round = held.engine.preempt_now().ok_or_else(|| {
            Fault::new(
                abi::CAPSCHED_ERR_CLOSED,
                "closed",
                "the engine has shut down",
            )
        })?;
        let mut records = convert::containers(abi::CAPSCHED_PREEMPT_ASKED, &round.marks);
        records.extend(convert::containers(
            abi::CAPSCHED_PREEMPT_KILLED,
            &round.kills,
        ));
        records.extend(convert::containers(
            abi::CAPSCHED_PREEMPT_DROPPED,
            &round.dropped,
        ));
        records.extend(convert::containers(
            abi::CAPSCHED_PREEMPT_MOVED,
            &round.moved,
        ));
        buffer.fill(records)
    })
}

/// Ends the recovery that `recovering` began; containers that no application claimed are to be stopped.
///
/// # Safety
///
/// As `capsched_preempt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_finish_recovery(engine: u64, buffer: *mut BufferRecord) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        let to_stop = held.engine.finish_recovery()?;
        buffer.fill(convert::containers(abi::CAPSCHED_TO_STOP, &to_stop))
    })
}

/// Fetches more records of a reply that found no room in its buffer. `buffer.rest` is 0 with the last one, and the
/// handle is given back then.
///
/// # Safety
///
/// As `capsched_preempt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_rest(rest: u64, buffer: *mut BufferRecord) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| Buffer::expect(memory, buffer)?.fill_from(rest))
}

/// Gives up the rest of a reply.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_rest_drop(rest: u64) -> i32 {
    guarded(|| reply::give_up(rest))
}
