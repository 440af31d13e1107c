//! Calls about applications and containers.

use capsched::api::{AppSpec, AppStage, ApplicationId, ContainerId, Restarts, Submitted};
use capsched::config::Caller;

use super::nodes::answer_codes;
use crate::abi::{
    self, AppRecord, BufferRecord, CAPSCHED_TYPES, ContainerKey, SubmittedRecord, TextRef,
};
use crate::convert::{self, amounts, known_flags, vector};
use crate::engine_handle::{Held, engine};
use crate::fault::{Answer, Fault, guarded};
use crate::memory::Memory;
use crate::reply::Buffer;

const APP_FLAGS: u32 = abi::CAPSCHED_APP_PRIORITY
    | abi::CAPSCHED_APP_MASTER
    | abi::CAPSCHED_APP_MASTER_PARTITION
    | abi::CAPSCHED_APP_PARTITION
    | abi::CAPSCHED_APP_PARENT
    | abi::CAPSCHED_APP_RESTARTS
    | abi::CAPSCHED_APP_KEEPS_CONTAINERS;

fn spec(memory: Memory, app: *const AppRecord) -> Answer<AppSpec> {
    let given = memory.read(app)?;
    known_flags(given.flags, APP_FLAGS)?;
    let has = |flag: u32| given.flags & flag != 0;
    let text = |flag: u32, text: TextRef, what: &str| -> Answer<Option<String>> {
        has(flag).then(|| memory.text(text, what)).transpose()
    };
    let parent = text(
        abi::CAPSCHED_APP_PARENT,
        given.placement_parent,
        "placement_parent",
    )?;
    let of_master = abi::CAPSCHED_APP_MASTER_PARTITION;
    Ok(AppSpec {
        id: ApplicationId::new(given.app),
        user: memory.text(given.user, "user")?,
        queue: memory.text(given.queue, "queue")?,
        placement_parent: parent,
        priority: has(abi::CAPSCHED_APP_PRIORITY).then_some(given.priority),
        refused_priority: None,
        master: has(abi::CAPSCHED_APP_MASTER).then(|| vector(&given.master)),
        master_partition: text(of_master, given.master_partition, "master_partition")?,
        partition: text(abi::CAPSCHED_APP_PARTITION, given.partition, "partition")?,
        tags: memory.texts(given.tags, given.tag_count, "tags")?,
        restarts: if has(abi::CAPSCHED_APP_KEEPS_CONTAINERS) {
            Restarts::KeepingContainers
        } else if has(abi::CAPSCHED_APP_RESTARTS) {
            Restarts::WithoutContainers
        } else {
            Restarts::Never
        },
    })
}

fn submitted(held: &Held, submitted: &Submitted) -> SubmittedRecord {
    SubmittedRecord {
        size: 0,
        queue: held.queues.number(&submitted.queue),
        stage: match submitted.stage {
            AppStage::Parked => abi::CAPSCHED_STAGE_PARKED,
            AppStage::Waiting => abi::CAPSCHED_STAGE_WAITING,
            AppStage::Active => abi::CAPSCHED_STAGE_ACTIVE,
            AppStage::Between => abi::CAPSCHED_STAGE_BETWEEN,
            AppStage::Done | AppStage::Gone => abi::CAPSCHED_STAGE_DONE,
        },
        has_master: u32::from(submitted.master.is_some()),
        master: submitted
            .master
            .as_ref()
            .map_or([0; CAPSCHED_TYPES], amounts),
    }
}

/// Submits an application. The caller is trusted: neither access lists nor placement rules are looked at.
///
/// # Safety
///
/// `app` has the size that it says, and its arrays as many elements; `answer` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_submit(
    engine: u64,
    app: *const AppRecord,
    answer: *mut SubmittedRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.read(answer.cast_const())?;
        let accepted = held.engine.submit(spec(memory, app)?)?;
        memory.write_sized(answer, &submitted(&held, &accepted));
        Ok(())
    })
}

/// Submits an application in the name of `user`: placement rules choose the queue, and access lists say whether the
/// user may submit there. `groups` are those of the user, the primary one first.
///
/// # Safety
///
/// As `capsched_submit`; `groups` has `group_count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_submit_as(
    engine: u64,
    user: TextRef,
    groups: *const TextRef,
    group_count: usize,
    app: *const AppRecord,
    answer: *mut SubmittedRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.read(answer.cast_const())?;
        let user = memory.text(user, "user")?;
        let groups = memory.texts(groups, group_count, "groups")?;
        let app = spec(memory, app)?;
        let caller = Caller {
            user: &user,
            groups: &groups,
            real_user: None,
        };
        let of = |name: &str| {
            if name == user {
                groups.clone()
            } else {
                Vec::new()
            }
        };
        let accepted = held.engine.submit_as(caller, of, app)?;
        memory.write_sized(answer, &submitted(&held, &accepted));
        Ok(())
    })
}

/// Takes over an application that was accepted before a restart. `master` is the number of its master's container,
/// 0 where the master does not run and is asked for.
///
/// # Safety
///
/// `app` has the size that it says, and its arrays as many elements; `buffer` has the size that it says, and its
/// records as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_app_recover(
    engine: u64,
    app: *const AppRecord,
    attempt: u32,
    master: u32,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        if attempt == 0 {
            return Err(Fault::invalid("attempt", "attempts count from 1"));
        }
        let master = (master > 0).then_some(master);
        let recovered = held
            .engine
            .recover_app(spec(memory, app)?, attempt, master)?;
        buffer.fill(convert::recovered(&recovered))
    })
}

/// Ends an application with its containers and reservations.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_app_finish(engine: u64, app: u32) -> i32 {
    guarded(|| {
        Ok(self::engine(engine)?
            .engine
            .finish_app(ApplicationId::new(app))?)
    })
}

/// Changes the priority of an application; `effective` gets the one that holds.
///
/// # Safety
///
/// `effective` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_app_priority(
    engine: u64,
    app: u32,
    priority: i32,
    effective: *mut i32,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(effective, "the place of the priority")?;
        let now = held
            .engine
            .change_priority(ApplicationId::new(app), priority)?;
        memory.write(effective, now);
        Ok(())
    })
}

/// Moves an application to another leaf.
///
/// # Safety
///
/// `queue` has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_app_move(engine: u64, app: u32, queue: TextRef) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let queue = memory.text(queue, "queue")?;
        Ok(held.engine.move_app(ApplicationId::new(app), queue)?)
    })
}

/// Containers that ended by themselves. `codes` gets 0 for each that was live, else `CAPSCHED_ERR_UNKNOWN`.
///
/// # Safety
///
/// `containers` and `codes` have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_containers_finished(
    engine: u64,
    containers: *const ContainerKey,
    count: usize,
    codes: *mut i32,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        ends(memory, engine, (containers, count), codes, |held, id, _| {
            Ok(held.engine.container_finished(id))
        })
    })
}

/// Kills containers. `codes` gets 0 for each that was live, else `CAPSCHED_ERR_UNKNOWN`.
///
/// # Safety
///
/// As `capsched_containers_finished`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_containers_kill(
    engine: u64,
    containers: *const ContainerKey,
    count: usize,
    codes: *mut i32,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        ends(memory, engine, (containers, count), codes, |held, id, _| {
            Ok(held.engine.kill_container(id)?)
        })
    })
}

/// Ends containers one after the other; a code for each. `end` gets the position of each.
pub(super) fn ends(
    memory: Memory,
    engine: u64,
    (containers, count): (*const ContainerKey, usize),
    codes: *mut i32,
    end: impl Fn(&Held, ContainerId, usize) -> Answer<bool>,
) -> Answer {
    let held = self::engine(engine)?;
    let keys = memory.copy_all(containers, count, "containers")?;
    if count > 0 {
        memory.expects(codes, "codes")?;
    }
    let one = |(at, key): (usize, ContainerKey)| -> Answer {
        let id = convert::container_id(key)?;
        if end(&held, id, at)? {
            return Ok(());
        }
        let text = format_args!("{id} is not live");
        Err(Fault::new(
            abi::CAPSCHED_ERR_UNKNOWN,
            "unknown_container",
            text,
        ))
    };
    let faults = keys.into_iter().enumerate();
    let faults = faults.map(|key| one(key).err()).collect();
    answer_codes(memory, codes, faults);
    Ok(())
}
