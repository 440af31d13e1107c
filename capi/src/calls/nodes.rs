//! Calls about nodes and what they report.

use capsched::api::{AttributeMapping, NodeError, NodeReport, NodeSpec, RunningContainer};

use crate::abi::{
    self, AttributeRecord, BufferRecord, CAPSCHED_TYPES, NodeRecord, ReportRecord, RunningRecord,
    TextRef,
};
use crate::convert::{self, vector};
use crate::engine_handle::{Held, engine};
use crate::fault::{Answer, Fault, guarded, note};
use crate::memory::Memory;
use crate::reply::Buffer;

fn attributes(
    memory: Memory,
    first: *const AttributeRecord,
    count: usize,
) -> Answer<Vec<(String, String)>> {
    let given = memory.read_all(first, count)?;
    let pair = |one: AttributeRecord| {
        let name = memory.text(one.name, "the name of an attribute")?;
        Ok((name, memory.text(one.value, "the value of an attribute")?))
    };
    given.into_iter().map(pair).collect()
}

fn spec(memory: Memory, node: *const NodeRecord) -> Answer<NodeSpec> {
    let given = memory.read(node)?;
    let name = memory.text(given.name, "the name of the node")?;
    let name = name.parse().map_err(NodeError::Name)?;
    let spec = NodeSpec::new(name, vector(&given.total));
    let rack = memory.text(given.rack, "the rack")?;
    Ok(NodeSpec {
        partition: memory.text(given.partition, "the partition")?,
        attributes: attributes(memory, given.attributes, given.attribute_count)?,
        rack: if rack.is_empty() {
            spec.rack.clone()
        } else {
            rack
        },
        ..spec
    })
}

/// Registers a node; the number that stands for its name from now on.
///
/// # Safety
///
/// `node` has the size that it says, and its arrays as many elements; `number` is one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_add(
    engine: u64,
    node: *const NodeRecord,
    number: *mut u32,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(number, "the place of the number")?;
        let node = spec(memory, node)?;
        let name = node.name.clone();
        held.engine.add_node(node)?;
        memory.write(number, held.nodes.number(&name));
        Ok(())
    })
}

fn running(
    memory: Memory,
    first: *const RunningRecord,
    count: usize,
) -> Answer<Vec<RunningContainer>> {
    let given = memory.read_all(first, count)?;
    let one = |one: RunningRecord| {
        convert::known_flags(one.flags, abi::CAPSCHED_RUNNING_OPPORTUNISTIC)?;
        Ok(RunningContainer {
            priority: one.priority,
            request_id: one.request_id,
            created_ms: one.created_ms,
            version: one.version,
            opportunistic: one.flags != 0,
            ..RunningContainer::new(convert::container_id(one.key)?, vector(&one.amounts))
        })
    };
    given.into_iter().map(one).collect()
}

/// Registers a node with the containers that it runs, after a restart. The reply says which were taken over, wait
/// for their application, or are to be stopped.
///
/// # Safety
///
/// As `capsched_node_add`; `containers` has `count` elements, `buffer` the size that it says, and its records as
/// many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_recover(
    engine: u64,
    node: *const NodeRecord,
    containers: *const RunningRecord,
    count: usize,
    number: *mut u32,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        memory.expects(number, "the place of the number")?;
        let buffer = Buffer::expect(memory, buffer)?;
        let (node, containers) = (spec(memory, node)?, running(memory, containers, count)?);
        let name = node.name.clone();
        let recovered = held.engine.register_node(node, containers)?;
        memory.write(number, held.nodes.number(&name));
        buffer.fill(convert::recovered(&recovered))
    })
}

/// Describes a registered node anew, as after its manager started again: total, partition and attributes, all or
/// none. What runs there stays, and the node takes containers.
///
/// # Safety
///
/// `node` has the size that it says, and its arrays as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_reconnect(engine: u64, node: *const NodeRecord) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        held.engine.reconnect_node(spec(memory, node)?)?;
        Ok(())
    })
}

/// Changes the total of a node; nothing is killed at once.
///
/// # Safety
///
/// `total` has `CAPSCHED_TYPES` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_resize(engine: u64, node: u32, total: *const i64) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let total = memory.copy_all(total, CAPSCHED_TYPES, "total")?;
        let total = capsched::api::ResourceVector::build(|i| total[i]);
        held.engine.resize_node(held.node(node)?, total)?;
        Ok(())
    })
}

/// Moves a node to another partition; an empty name is the default one.
///
/// # Safety
///
/// `partition` has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_relabel(engine: u64, node: u32, partition: TextRef) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let partition = memory.text(partition, "the partition")?;
        held.engine.relabel_node(held.node(node)?, partition)?;
        Ok(())
    })
}

/// Changes the attributes of a node: `CAPSCHED_ATTRIBUTES_*`. `prefix` counts at a replacement.
///
/// # Safety
///
/// `attributes` has `count` elements of the size that they say; `prefix` has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_node_attributes(
    engine: u64,
    node: u32,
    how: u32,
    prefix: TextRef,
    attributes: *const AttributeRecord,
    count: usize,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let prefix = memory.text(prefix, "the prefix")?;
        let mapping = match how {
            abi::CAPSCHED_ATTRIBUTES_ADD => AttributeMapping::Add,
            abi::CAPSCHED_ATTRIBUTES_REMOVE => AttributeMapping::Remove,
            abi::CAPSCHED_ATTRIBUTES_REPLACE => AttributeMapping::Replace { prefix },
            other => {
                return Err(Fault::invalid(
                    "how",
                    format_args!("there is no value {other}"),
                ));
            }
        };
        let attributes = self::attributes(memory, attributes, count)?;
        held.engine
            .map_attributes(held.node(node)?, mapping, attributes)?;
        Ok(())
    })
}

/// Removes a lost node; its containers are killed.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_node_remove(engine: u64, node: u32) -> i32 {
    guarded(|| {
        let held = self::engine(engine)?;
        Ok(held.engine.remove_node(held.node(node)?)?)
    })
}

/// A node takes no new containers from now on.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_node_decommission(engine: u64, node: u32) -> i32 {
    guarded(|| {
        let held = self::engine(engine)?;
        Ok(held.engine.decommission_node(held.node(node)?)?)
    })
}

/// A node takes new containers again.
#[unsafe(no_mangle)]
pub extern "C" fn capsched_node_recommission(engine: u64, node: u32) -> i32 {
    guarded(|| {
        let held = self::engine(engine)?;
        Ok(held.engine.recommission_node(held.node(node)?)?)
    })
}

fn report(memory: Memory, given: &ReportRecord) -> Answer<NodeReport> {
    match given.flags {
        0 => Ok(NodeReport::AsExpected),
        abi::CAPSCHED_REPORT_EXACT => {
            let ids = |first, count, what: &str| -> Answer<Vec<_>> {
                let keys = memory.copy_all(first, count, what)?;
                keys.into_iter().map(convert::container_id).collect()
            };
            Ok(NodeReport::Exactly {
                launched: ids(given.launched, given.launched_count, "launched")?,
                exited: ids(given.exited, given.exited_count, "exited")?,
            })
        }
        other => Err(Fault::invalid(
            "flags",
            format_args!("{other:#x} has unknown bits"),
        )),
    }
}

/// Reports of nodes, carried out in their order; in heartbeat mode each node is scheduled. `codes` gets a code for
/// each, and the call answers 0 unless it is refused as a whole. A node that is not registered is refused alone. The
/// latest error is that of the first that was refused.
///
/// # Safety
///
/// `reports` has `count` elements of the size that they say, with their lists; `codes` has `count` numbers;
/// `buffer` the size that it says, and its records as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capsched_heartbeats(
    engine: u64,
    reports: *const ReportRecord,
    count: usize,
    codes: *mut i32,
    buffer: *mut BufferRecord,
) -> i32 {
    // SAFETY: the caller's promise, as this call states it.
    let memory = unsafe { Memory::trusted() };
    guarded(|| {
        let held = self::engine(engine)?;
        let buffer = Buffer::expect(memory, buffer)?;
        if count > 0 {
            memory.expects(codes, "codes")?;
        }
        let given = memory.read_all(reports, count)?;
        let (mut faults, mut calls, mut positions) = (vec![None; count], Vec::new(), Vec::new());
        for (at, one) in given.iter().enumerate() {
            match held
                .node(one.node)
                .and_then(|name| Ok((name, report(memory, one)?)))
            {
                Ok(call) => {
                    positions.push(at);
                    calls.push(call);
                }
                Err(fault) => faults[at] = Some(fault),
            }
        }
        let records = carry_out(&held, calls, &positions, &mut faults);
        answer_codes(memory, codes, faults);
        buffer.fill(records)
    })
}

/// Has the reports carried out that were understood; the records of their replies.
fn carry_out(
    held: &Held,
    calls: Vec<(capsched::api::NodeName, NodeReport)>,
    positions: &[usize],
    faults: &mut [Option<Fault>],
) -> Vec<abi::FlatRecord> {
    let mut records = Vec::new();
    let replies = held.engine.heartbeat_all(calls);
    for (reply, &at) in replies.into_iter().zip(positions) {
        match reply {
            Ok(reply) => {
                let call = u32::try_from(at).unwrap_or(u32::MAX);
                let own = convert::heartbeat_reply(&reply).into_iter();
                records.extend(own.map(|record| abi::FlatRecord { call, ..record }));
            }
            Err(error) => faults[at] = Some(error.into()),
        }
    }
    records
}

/// Writes a code for each call; the first fault becomes the latest error of the thread.
pub(super) fn answer_codes(memory: Memory, codes: *mut i32, faults: Vec<Option<Fault>>) {
    let mut first = None;
    for (at, fault) in faults.into_iter().enumerate() {
        let code = fault.as_ref().map_or(abi::CAPSCHED_OK, |fault| fault.code);
        memory.write(codes.wrapping_add(at), code);
        first = first.or_else(|| fault.map(|fault| fault.of_call(at)));
    }
    if let Some(first) = first {
        note(first);
    }
}
