//! Calls about attempts of applications.

use capsched::api::ApplicationId;

use super::apps::ends;
use crate::abi::ContainerKey;
use crate::engine_handle::engine;
use crate::fault::guarded;
use crate::memory::Memory;

/// Ends the attempt of an application. The application stays in its queue with what it keeps, and asks for nothing
/// until `capsched_attempt_start`. Since version 4 of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_attempt_end(engine: u64, app: u32) -> i32 {
    guarded(|| {
        let held = self::engine(engine)?;
        Ok(held.engine.end_attempt(ApplicationId::new(app))?)
    })
}

/// Starts the next attempt of an application, which asks for its master's container; `attempt` gets its number. Since
/// version 4 of the interface.
///
/// # Safety
///
/// `attempt` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_attempt_start(engine: u64, app: u32, attempt: *mut u32) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(attempt, "the place of the attempt")?;
        let number = held.engine.start_attempt(ApplicationId::new(app))?;
        memory.write(attempt, number);
        Ok(())
    })
}

/// Containers that ended by themselves with these exit statuses. One that may be the fault of its node, of a master,
/// has the next master placed elsewhere, where the settings say so. `codes` gets 0 for each that was live, else
/// `CAPSCHED_ERR_UNKNOWN`. Since version 4 of the interface.
///
/// # Safety
///
/// `containers`, `statuses` and `codes` have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_containers_exited(
    engine: u64,
    containers: *const ContainerKey,
    statuses: *const i32,
    count: usize,
    codes: *mut i32,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let statuses = memory.copy_all(statuses, count, "statuses")?;
        ends(
            memory,
            engine,
            (containers, count),
            codes,
            |held, id, at| Ok(held.engine.container_exited(id, statuses[at])),
        )
    })
}
