//! The structs that cross the border.

use std::ffi::{c_char, c_void};

use super::numbers::CAPSCHED_TYPES;

/// A text by its length; UTF-8, without a NUL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TextRef {
    /// First byte; may be null where the length is 0.
    pub data: *const c_char,
    /// Bytes.
    pub length: usize,
}

/// A configuration file in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SourceRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// `CAPSCHED_LAYER_SITE` or `CAPSCHED_LAYER_SCHEDULER`.
    pub layer: u32,
    /// Path or another name, for messages.
    pub name: TextRef,
    /// The file; any bytes.
    pub bytes: TextRef,
}

/// A partition (node label) that the cluster knows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PartitionRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// 1 when only requests that name it are served there, else 0.
    pub exclusive: u32,
    /// Its name.
    pub name: TextRef,
}

/// How an engine is built, or what it is refreshed with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OptionsRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// `CAPSCHED_MODE_*`.
    pub mode: u32,
    /// Threads that propose, 1 to 1,024; 0 for one. Without meaning in heartbeat mode.
    pub threads: u32,
    /// `CAPSCHED_HAND_OUT_*`.
    pub hand_out: u32,
    /// `CAPSCHED_HADOOP_*`.
    pub hadoop: u32,
    /// 1 when nodes and applications come back after a restart, until `capsched_finish_recovery`; else 0.
    pub recovering: u32,
    /// A container that no node launched ends so many ms after it was handed out; 0 for never.
    pub allocation_expiry_ms: u64,
    /// The configuration files.
    pub sources: *const SourceRecord,
    /// Their number.
    pub source_count: usize,
    /// The partitions; not read at a refresh.
    pub partitions: *const PartitionRecord,
    /// Their number.
    pub partition_count: usize,
    /// The user that the scheduler runs as, for access lists; `yarn` where it is empty.
    pub daemon: TextRef,
}

/// An attribute of a node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AttributeRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// `prefix/name`.
    pub name: TextRef,
    /// Its value.
    pub value: TextRef,
}

/// A node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// `host:port`.
    pub name: TextRef,
    /// The rack; `/default-rack` where it is empty.
    pub rack: TextRef,
    /// The partition; empty for the default one.
    pub partition: TextRef,
    /// Everything the node offers.
    pub total: [i64; CAPSCHED_TYPES],
    /// Its attributes.
    pub attributes: *const AttributeRecord,
    /// Their number.
    pub attribute_count: usize,
}

/// The id of a container.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerKey {
    /// Number of its application.
    pub app: u32,
    /// Attempt of the application, from 1.
    pub attempt: u32,
    /// Number within the attempt.
    pub container: u32,
}

/// A container that a node runs after a restart of the scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RunningRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Request priority.
    pub priority: i32,
    /// The container.
    pub key: ContainerKey,
    /// 0.
    pub reserved: u32,
    /// Allocation request id.
    pub request_id: i64,
    /// When it was placed, in ms of the engine's clock.
    pub created_ms: u64,
    /// Its size.
    pub amounts: [i64; CAPSCHED_TYPES],
    /// Its version: how often it was changed. Since version 2 of the interface.
    pub version: u32,
    /// `CAPSCHED_RUNNING_OPPORTUNISTIC` or 0. Since version 2 of the interface.
    pub flags: u32,
}

/// An application.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AppRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Its number.
    pub app: u32,
    /// Which of the fields below are set: `CAPSCHED_APP_*`.
    pub flags: u32,
    /// Wished priority, larger is more important.
    pub priority: i32,
    /// Submitting user.
    pub user: TextRef,
    /// Queue: a full path, or a leaf name that is unambiguous.
    pub queue: TextRef,
    /// The parent that placement rules put it below.
    pub placement_parent: TextRef,
    /// Partition of the master's container.
    pub master_partition: TextRef,
    /// Partition of asks that name none.
    pub partition: TextRef,
    /// Container of the master.
    pub master: [i64; CAPSCHED_TYPES],
    /// Tags, for placement constraints.
    pub tags: *const TextRef,
    /// Their number.
    pub tag_count: usize,
}

/// What a submission came to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SubmittedRecord {
    /// Bytes of this struct, set by the caller.
    pub size: u32,
    /// Number of its queue.
    pub queue: u32,
    /// `CAPSCHED_STAGE_*`.
    pub stage: u32,
    /// 1 when `master` is set.
    pub has_master: u32,
    /// Container of its master, raised and rounded.
    pub master: [i64; CAPSCHED_TYPES],
}

/// Containers of one size at one place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AskRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Request priority; a smaller number is more important.
    pub priority: i32,
    /// Allocation request id.
    pub request_id: i64,
    /// Number of containers, 0 to 1,000,000; 0 withdraws the ask.
    pub count: i32,
    /// `CAPSCHED_ASK_*`.
    pub flags: u32,
    /// Host, rack, or `*` for anywhere.
    pub place: TextRef,
    /// Partition.
    pub partition: TextRef,
    /// Size of one container.
    pub amounts: [i64; CAPSCHED_TYPES],
}

/// Containers with tags and a placement constraint.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConstrainedRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Request priority.
    pub priority: i32,
    /// Allocation request id.
    pub request_id: i64,
    /// Number of containers.
    pub count: i32,
    /// `CAPSCHED_ASK_CONSTRAINT` or 0.
    pub flags: u32,
    /// Constraint in the text form of Hadoop's parser, such as `notin,node,web`.
    pub constraint: TextRef,
    /// Tags that the containers carry.
    pub tags: *const TextRef,
    /// Their number.
    pub tag_count: usize,
    /// Size of one container.
    pub amounts: [i64; CAPSCHED_TYPES],
}

/// A change of one container of the application that calls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Number of the container within the present attempt.
    pub container: u32,
    /// The version of the container that the application knows: 0 at first, one more with each change.
    pub version: u32,
    /// `CAPSCHED_UPDATE_*`.
    pub change: u32,
    /// The new size of the container; zero where it is promoted or demoted.
    pub amounts: [i64; CAPSCHED_TYPES],
}

/// A gang: its minimum is placed all at once within its time, or nothing of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GangRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Request priority, part of the key that the members are asked under.
    pub priority: i32,
    /// Allocation request id, the other part of the key. No other ask may be outstanding under it.
    pub request_id: i64,
    /// Members that are placed together, 1 to 10,000; 0 withdraws the gang that waits under the key.
    pub minimum: u32,
    /// Further members, asked for once the minimum is placed: 0 to 1,000,000.
    pub elastic: u32,
    /// How long the gang may wait in ms: 1 to 3,600,000.
    pub within_ms: u64,
    /// `CAPSCHED_CLOSE_*`.
    pub close: u32,
    /// `CAPSCHED_ASK_PARTITION` or 0.
    pub flags: u32,
    /// The attribute of `CAPSCHED_CLOSE_ATTRIBUTE`, as `prefix/name`; empty else.
    pub attribute: TextRef,
    /// Partition.
    pub partition: TextRef,
    /// Size of one member.
    pub amounts: [i64; CAPSCHED_TYPES],
}

/// One call of an application: everything it wants to change. One without lists fetches what it got.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Number of the application.
    pub app: u32,
    /// Asks by place.
    pub asks: *const AskRecord,
    /// Their number.
    pub ask_count: usize,
    /// Asks with constraints.
    pub constrained: *const ConstrainedRecord,
    /// Their number.
    pub constrained_count: usize,
    /// Numbers of containers to give back.
    pub release: *const u32,
    /// Their number.
    pub release_count: usize,
    /// Hosts and racks not to use from now on.
    pub blacklist_add: *const TextRef,
    /// Their number.
    pub blacklist_add_count: usize,
    /// Hosts and racks to use again.
    pub blacklist_remove: *const TextRef,
    /// Their number.
    pub blacklist_remove_count: usize,
    /// Changes of containers. Since version 2 of the interface.
    pub updates: *const UpdateRecord,
    /// Their number. Since version 2 of the interface.
    pub update_count: usize,
}

/// What a call of an application came to, beside its records.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AnswerRecord {
    /// Bytes of this struct, set by the caller.
    pub size: u32,
    /// 0, or why the call was refused.
    pub code: i32,
    /// Records that belong to it.
    pub records: u64,
    /// How much more the application may get.
    pub headroom: [i64; CAPSCHED_TYPES],
}

/// What a node reports with a heartbeat.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReportRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Number of the node.
    pub node: u32,
    /// `CAPSCHED_REPORT_EXACT` or 0.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// Containers launched since the last heartbeat.
    pub launched: *const ContainerKey,
    /// Their number.
    pub launched_count: usize,
    /// Containers that were stopped on order.
    pub exited: *const ContainerKey,
    /// Their number.
    pub exited_count: usize,
}

/// Where the records of a reply go. What finds no room stays as a handle, and is fetched by `capsched_rest`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BufferRecord {
    /// Bytes of this struct.
    pub size: u32,
    /// Bytes of one record as the caller knows it: `sizeof(capsched_record)`.
    pub record_size: u32,
    /// Room for records; may be null where the capacity is 0.
    pub records: *mut c_void,
    /// How many records there is room for.
    pub capacity: usize,
    /// Answer: records written.
    pub written: usize,
    /// Answer: 0, or the handle of the records that found no room.
    pub rest: u64,
}

/// An event, or a line of a reply. What a kind does not use is zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlatRecord {
    /// Which one: `CAPSCHED_ALLOCATED` and so on.
    pub kind: u32,
    /// Position of the call or report that it answers, from 0.
    pub call: u32,
    /// Number of the application.
    pub app: u32,
    /// Attempt of the application; 0 in a line about the attempt that called.
    pub attempt: u32,
    /// Number of the container within the attempt.
    pub container: u32,
    /// Number of the node.
    pub node: u32,
    /// Number of the node before a move.
    pub node_before: u32,
    /// Number of the queue.
    pub queue: u32,
    /// Number of the partition; 0 is the default one.
    pub partition: u32,
    /// `CAPSCHED_FLAG_*`.
    pub flags: u32,
    /// Request priority.
    pub priority: i32,
    /// Level that was used: `CAPSCHED_LOCALITY_*`.
    pub locality: u32,
    /// Level that was asked first.
    pub requested: u32,
    /// Why; `capsched_reason` gives its word.
    pub reason: u32,
    /// Exit status that YARN answers with.
    pub exit_status: i32,
    /// 0, or why something was refused.
    pub code: i32,
    /// Allocation request id.
    pub request_id: i64,
    /// Size of the container.
    pub amounts: [i64; CAPSCHED_TYPES],
    /// How the container changed, or was to: `CAPSCHED_UPDATE_*`. This and what follows: since version 2 of the
    /// interface.
    pub update: u32,
    /// Version of the container.
    pub version: u32,
    /// Of an allocation or a reservation: number of the container that grows by it. Of a change: number of the
    /// auxiliary container, which ends next.
    pub related: u32,
    /// Members that a gang wants at once.
    pub members: u32,
    /// Nodes that are held for a gang, or members that there was room for when it was given up.
    pub count: u32,
    /// 0.
    pub reserved: u32,
    /// How long a gang waited, or until when nodes are held for it; in ms.
    pub time_ms: u64,
}
