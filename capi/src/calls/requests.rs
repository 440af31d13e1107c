//! Calls of applications: what they ask for, give back and change.

use capsched::api::{
    ApplicationId, Ask, AskCall, AskError, Closeness, ConstrainedAsk, ContainerChange,
    ContainerUpdate, GangAsk,
};

use crate::abi::{
    self, AnswerRecord, AskRecord, BufferRecord, CAPSCHED_TYPES, CallRecord, ConstrainedRecord,
    GangRecord, UpdateRecord,
};
use crate::convert::{self, amounts, known_flags, vector};
use crate::engine_handle::{Held, engine};
use crate::fault::{Answer, Fault, guarded, note};
use crate::memory::Memory;
use crate::reply::Buffer;

fn ask(memory: Memory, given: &AskRecord) -> Answer<Ask> {
    known_flags(
        given.flags,
        abi::CAPSCHED_ASK_PARTITION | abi::CAPSCHED_ASK_STRICT,
    )?;
    let has = |flag: u32| given.flags & flag != 0;
    let partition = has(abi::CAPSCHED_ASK_PARTITION);
    Ok(Ask {
        priority: given.priority,
        request_id: given.request_id,
        place: memory.text(given.place, "place")?,
        size: vector(&given.amounts),
        count: given.count,
        relax_locality: !has(abi::CAPSCHED_ASK_STRICT),
        partition: partition
            .then(|| memory.text(given.partition, "partition"))
            .transpose()?,
    })
}

fn constrained(memory: Memory, given: &ConstrainedRecord) -> Answer<ConstrainedAsk> {
    known_flags(given.flags, abi::CAPSCHED_ASK_CONSTRAINT)?;
    let has = given.flags != 0;
    Ok(ConstrainedAsk {
        priority: given.priority,
        request_id: given.request_id,
        size: vector(&given.amounts),
        count: given.count,
        tags: memory.texts(given.tags, given.tag_count, "tags")?,
        constraint: has
            .then(|| memory.text(given.constraint, "constraint"))
            .transpose()?,
    })
}

fn call(memory: Memory, given: &CallRecord) -> Answer<AskCall> {
    let asks = memory.read_all(given.asks, given.ask_count)?;
    let special = memory.read_all(given.constrained, given.constrained_count)?;
    let (add, remove) = (given.blacklist_add, given.blacklist_remove);
    Ok(AskCall {
        asks: asks
            .iter()
            .map(|one| ask(memory, one))
            .collect::<Answer<_>>()?,
        constrained: special
            .iter()
            .map(|one| constrained(memory, one))
            .collect::<Answer<_>>()?,
        release: memory.copy_all(given.release, given.release_count, "release")?,
        blacklist_add: memory.texts(add, given.blacklist_add_count, "blacklist_add")?,
        blacklist_remove: memory.texts(remove, given.blacklist_remove_count, "blacklist_remove")?,
        updates: memory
            .read_all(given.updates, given.update_count)?
            .iter()
            .map(update)
            .collect::<Answer<_>>()?,
    })
}

fn update(given: &UpdateRecord) -> Answer<ContainerUpdate> {
    let size = vector(&given.amounts);
    let sized = given.amounts.iter().any(|&amount| amount != 0);
    let change = match given.change {
        abi::CAPSCHED_UPDATE_INCREASE => ContainerChange::Increase(size),
        abi::CAPSCHED_UPDATE_DECREASE => ContainerChange::Decrease(size),
        abi::CAPSCHED_UPDATE_PROMOTE | abi::CAPSCHED_UPDATE_DEMOTE if sized => {
            let text = "a promotion or a demotion has no size";
            return Err(Fault::invalid("amounts", text));
        }
        abi::CAPSCHED_UPDATE_PROMOTE => ContainerChange::Promote,
        abi::CAPSCHED_UPDATE_DEMOTE => ContainerChange::Demote,
        other => return Err(Fault::invalid("change", format_args!("{other} is none"))),
    };
    Ok(ContainerUpdate {
        container: given.container,
        version: given.version,
        change,
    })
}

fn gang(memory: Memory, given: &GangRecord) -> Answer<GangAsk> {
    known_flags(given.flags, abi::CAPSCHED_ASK_PARTITION)?;
    let attribute = memory.text(given.attribute, "attribute")?;
    let close = match given.close {
        abi::CAPSCHED_CLOSE_ATTRIBUTE => Closeness::Attribute(attribute),
        _ if !attribute.is_empty() => {
            let text = "only CAPSCHED_CLOSE_ATTRIBUTE has one";
            return Err(Fault::invalid("attribute", text));
        }
        abi::CAPSCHED_CLOSE_ANYWHERE => Closeness::Anywhere,
        abi::CAPSCHED_CLOSE_RACK => Closeness::Rack,
        other => return Err(Fault::invalid("close", format_args!("{other} is none"))),
    };
    Ok(GangAsk {
        priority: given.priority,
        request_id: given.request_id,
        size: vector(&given.amounts),
        minimum: given.minimum,
        elastic: given.elastic,
        within_ms: given.within_ms,
        close,
        partition: (given.flags != 0)
            .then(|| memory.text(given.partition, "partition"))
            .transpose()?,
    })
}

/// Asks for a gang, or withdraws the one that waits under its key. Its containers come with the replies to later
/// calls of the application, and events show what becomes of it.
///
/// # Safety
///
/// `gang` has the size that it says, and its texts as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_ask_gang(engine: u64, app: u32, gang: *const GangRecord) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let gang = self::gang(memory, &memory.read(gang)?)?;
        Ok(held.engine.ask_gang(ApplicationId::new(app), gang)?)
    })
}

/// Asks for opportunistic containers, which are placed outside of queue limits and may have to wait on their nodes. They come
/// with the replies to calls of the application, each of which tries again what was not placed. An ask replaces the
/// earlier one with its key and place; 512 asks at most. Since version 3 of the interface.
///
/// # Safety
///
/// `asks` has `count` elements of the size that they say, and their texts as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_ask_opportunistic(
    engine: u64,
    app: u32,
    asks: *const AskRecord,
    count: usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let given = memory.read_all(asks, count)?;
        let asks = given.iter().map(|one| ask(memory, one));
        let asks = asks.collect::<Answer<Vec<_>>>()?;
        Ok(held
            .engine
            .ask_opportunistic(ApplicationId::new(app), asks)?)
    })
}

/// Calls of applications, carried out in their order; each is carried out as a whole or refused. `answers` gets a
/// code for each, and the call answers 0 unless it is refused as a whole. The latest error is that of the first
/// that was refused.
///
/// # Safety
///
/// `calls` and `answers` have `count` elements of the size that they say; the lists of the calls have as many
/// elements as they say; `buffer` has the size that it says, and its records as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_asks(
    engine: u64,
    calls: *const CallRecord,
    count: usize,
    answers: *mut AnswerRecord,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        memory.read_all(answers.cast_const(), count)?;
        let given = memory.read_all(calls, count)?;
        let (records, outcomes) = answered(&held, memory, &given);
        let mut first = None;
        for (at, outcome) in outcomes.into_iter().enumerate() {
            let answer = outcome.unwrap_or_else(|fault| {
                let code = fault.code;
                first.get_or_insert(fault.of_call(at));
                answer_of(code)
            });
            memory.write_sized(memory.place_of(answers, at), &answer);
        }
        if let Some(first) = first {
            note(first);
        }
        buffer.fill(records)
    })
}

const fn answer_of(code: i32) -> AnswerRecord {
    AnswerRecord {
        size: 0,
        code,
        records: 0,
        headroom: [0; CAPSCHED_TYPES],
    }
}

/// Has the calls carried out that were understood: the records of their replies, and the answer to each call.
fn answered(
    held: &Held,
    memory: Memory,
    given: &[CallRecord],
) -> (Vec<abi::FlatRecord>, Vec<Answer<AnswerRecord>>) {
    let mut sent = Vec::new();
    let mut send = |one: &CallRecord| {
        call(memory, one).map(|call| sent.push((ApplicationId::new(one.app), call)))
    };
    let understood: Vec<Answer> = given.iter().map(&mut send).collect();
    let mut replies = held.engine.ask_all(sent).into_iter();
    let mut records = Vec::new();
    let mut answer = |(at, one): (usize, Answer)| {
        let reply = one.and_then(|()| Ok(replies.next().unwrap_or(Err(AskError::Closed))?))?;
        let call = u32::try_from(at).unwrap_or(u32::MAX);
        let own = convert::ask_reply(held, given[at].app, &reply).into_iter();
        let before = records.len();
        records.extend(own.map(|record| abi::FlatRecord { call, ..record }));
        Ok(AnswerRecord {
            records: u64::try_from(records.len() - before).unwrap_or(u64::MAX),
            headroom: amounts(&reply.headroom),
            ..answer_of(abi::CAPSCHED_OK)
        })
    };
    let answers = understood
        .into_iter()
        .enumerate()
        .map(&mut answer)
        .collect();
    (records, answers)
}
