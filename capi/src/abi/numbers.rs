//! The codes, kinds and flags that cross the border.

/// Version of this interface: raised when a call or a field is added.
pub const CAPSCHED_ABI_VERSION: u32 = 4;
/// Numbers in a vector of resources: memory in MiB, vcores, then the further types in the order of the settings.
pub const CAPSCHED_TYPES: usize = 8;
/// Elements of one array at most.
pub const CAPSCHED_MAX_COUNT: usize = 1_000_000;
/// Bytes of one text at most.
pub const CAPSCHED_MAX_TEXT: usize = 64 * 1024 * 1024;

/// Done.
pub const CAPSCHED_OK: i32 = 0;
/// A pointer is null that must not be.
pub const CAPSCHED_ERR_NULL: i32 = -1;
/// A text is no UTF-8.
pub const CAPSCHED_ERR_UTF8: i32 = -2;
/// A text or an array is longer than the limit.
pub const CAPSCHED_ERR_LIMIT: i32 = -3;
/// The size of a struct is none of a known version, or fields that are unknown here are not zero.
pub const CAPSCHED_ERR_VERSION: i32 = -4;
/// The handle is none, or was given back.
pub const CAPSCHED_ERR_HANDLE: i32 = -5;
/// A number is outside its range.
pub const CAPSCHED_ERR_INVALID: i32 = -6;
/// The buffer is too small; the length that is needed was written.
pub const CAPSCHED_ERR_BUFFER: i32 = -7;
/// The call came from a child of the process that built the engine.
pub const CAPSCHED_ERR_FORKED: i32 = -8;
/// The engine has shut down, and every event was taken.
pub const CAPSCHED_ERR_CLOSED: i32 = -9;
/// No such node, application, queue or container.
pub const CAPSCHED_ERR_UNKNOWN: i32 = -10;
/// A node or an application of that name or number is there already.
pub const CAPSCHED_ERR_DUPLICATE: i32 = -11;
/// The scheduler refuses it.
pub const CAPSCHED_ERR_REFUSED: i32 = -12;
/// The configuration is not valid.
pub const CAPSCHED_ERR_CONFIG: i32 = -13;
/// The operating system refused a thread or a descriptor.
pub const CAPSCHED_ERR_SYSTEM: i32 = -14;
/// A fault of this library; the engine may have ended by it.
pub const CAPSCHED_ERR_PANIC: i32 = -15;

/// Nodes are scheduled at their heartbeats.
pub const CAPSCHED_MODE_HEARTBEAT: u32 = 0;
/// Threads walk the nodes one by one.
pub const CAPSCHED_MODE_ASYNCHRONOUS: u32 = 1;
/// Threads take the most deserving request and look for a node among all.
pub const CAPSCHED_MODE_GLOBAL: u32 = 2;

/// A container is handed out by the reply to a call of its application.
pub const CAPSCHED_HAND_OUT_REPLY: u32 = 0;
/// A container is handed out by the event of its allocation.
pub const CAPSCHED_HAND_OUT_EVENT: u32 = 1;

/// The settings choose the rules: those of Hadoop 3.5.
pub const CAPSCHED_HADOOP_DEFAULT: u32 = 0;
/// The rules of Hadoop 3.4.
pub const CAPSCHED_HADOOP_3_4: u32 = 34;
/// The rules of Hadoop 3.5.
pub const CAPSCHED_HADOOP_3_5: u32 = 35;

/// The source is `yarn-site.xml` or `resource-types.xml`.
pub const CAPSCHED_LAYER_SITE: u32 = 0;
/// The source is `capacity-scheduler.xml`, whose values win.
pub const CAPSCHED_LAYER_SCHEDULER: u32 = 1;

/// `capsched_app.priority` is set.
pub const CAPSCHED_APP_PRIORITY: u32 = 1;
/// `capsched_app.master` is set: the scheduler places the master's container.
pub const CAPSCHED_APP_MASTER: u32 = 2;
/// `capsched_app.master_partition` is set.
pub const CAPSCHED_APP_MASTER_PARTITION: u32 = 4;
/// `capsched_app.partition` is set.
pub const CAPSCHED_APP_PARTITION: u32 = 8;
/// `capsched_app.placement_parent` is set.
pub const CAPSCHED_APP_PARENT: u32 = 16;
/// The application stays when its attempt ends. Since version 4 of the interface.
pub const CAPSCHED_APP_RESTARTS: u32 = 32;
/// The same, with the containers that run. Since version 4 of the interface.
pub const CAPSCHED_APP_KEEPS_CONTAINERS: u32 = 64;

/// `capsched_ask.partition` is set.
pub const CAPSCHED_ASK_PARTITION: u32 = 1;
/// Only the named place will do.
pub const CAPSCHED_ASK_STRICT: u32 = 2;
/// `capsched_constrained_ask.constraint` is set.
pub const CAPSCHED_ASK_CONSTRAINT: u32 = 4;

/// A change: a larger size, once node and queue have room.
pub const CAPSCHED_UPDATE_INCREASE: u32 = 1;
/// A change: a smaller size, at once.
pub const CAPSCHED_UPDATE_DECREASE: u32 = 2;
/// A change: an opportunistic container is guaranteed, once node and queue have room.
pub const CAPSCHED_UPDATE_PROMOTE: u32 = 3;
/// A change: a guaranteed container is opportunistic, at once.
pub const CAPSCHED_UPDATE_DEMOTE: u32 = 4;

/// The members of a gang may be on any nodes of the partition.
pub const CAPSCHED_CLOSE_ANYWHERE: u32 = 0;
/// The members of a gang are on nodes of one rack.
pub const CAPSCHED_CLOSE_RACK: u32 = 1;
/// The members of a gang are on nodes with one value of an attribute.
pub const CAPSCHED_CLOSE_ATTRIBUTE: u32 = 2;

/// The container runs as an opportunistic one: no queue is charged with it.
pub const CAPSCHED_RUNNING_OPPORTUNISTIC: u32 = 1;

/// The node reports exactly the containers of the lists; without this flag, that what it was to do is done.
pub const CAPSCHED_REPORT_EXACT: u32 = 1;

/// Attributes are added.
pub const CAPSCHED_ATTRIBUTES_ADD: u32 = 0;
/// Attributes are removed.
pub const CAPSCHED_ATTRIBUTES_REMOVE: u32 = 1;
/// Attributes replace those of a prefix, or all where it is empty.
pub const CAPSCHED_ATTRIBUTES_REPLACE: u32 = 2;

/// Event: a container was placed.
pub const CAPSCHED_ALLOCATED: u32 = 1;
/// Event: a reservation was made.
pub const CAPSCHED_RESERVED: u32 = 2;
/// Event: a reservation ended without a container.
pub const CAPSCHED_UNRESERVED: u32 = 3;
/// Event: a reservation moved from `node_before` to `node`.
pub const CAPSCHED_RESERVATION_MOVED: u32 = 4;
/// Event: a container ended.
pub const CAPSCHED_ENDED: u32 = 5;
/// Event: a decision was refused at its commit, and is made anew.
pub const CAPSCHED_REJECTED: u32 = 6;
/// Event: the master has its container; the application may ask.
pub const CAPSCHED_MASTER_STARTED: u32 = 7;
/// Event: the master was lost, and its application ended, or its attempt.
pub const CAPSCHED_MASTER_LOST: u32 = 8;
/// Event: an application ended though nobody called for that.
pub const CAPSCHED_APP_ENDED: u32 = 9;
/// Event: a container changed, and its application fetched the change.
pub const CAPSCHED_UPDATED: u32 = 10;
/// Event: the minimum of a gang was placed after `time_ms`; the events of its containers come before.
pub const CAPSCHED_GANG_PLACED: u32 = 11;
/// Event: `count` nodes are held for a gang, until `time_ms` at most.
pub const CAPSCHED_GANG_HOLDS: u32 = 12;
/// Event: a gang was given up within its time; `reason` says why it waited at last.
pub const CAPSCHED_GANG_EXPIRED: u32 = 13;
/// Event: an opportunistic container was placed and waits for room on its node. Since version 3 of the interface.
pub const CAPSCHED_OPPORTUNISTIC_QUEUED: u32 = 14;
/// Event: an opportunistic container has room on its node. Since version 3 of the interface.
pub const CAPSCHED_OPPORTUNISTIC_STARTED: u32 = 15;
/// Event: an attempt ended, and its application stays. Since version 4 of the interface.
pub const CAPSCHED_ATTEMPT_ENDED: u32 = 16;
/// Reply to a call of an application: a container that it has now.
pub const CAPSCHED_GRANTED: u32 = 20;
/// Reply to a call of an application: a container whose end it learns.
pub const CAPSCHED_FINISHED: u32 = 21;
/// Reply to a call of an application: a container that the scheduler asks back.
pub const CAPSCHED_ASKED_BACK: u32 = 22;
/// Reply to a call of an application: a number it gave back though no live container has it.
pub const CAPSCHED_NOT_LIVE: u32 = 23;
/// Reply to a call of an application: a container that changed since the last call.
pub const CAPSCHED_CHANGED: u32 = 24;
/// Reply to a call of an application: a change that was refused; `version` is the one that the container has.
pub const CAPSCHED_CHANGE_REFUSED: u32 = 25;
/// Reply to a report: a container was launched.
pub const CAPSCHED_LAUNCHED: u32 = 30;
/// Reply to a report: a container was stopped as ordered, and its room is free.
pub const CAPSCHED_EXITED: u32 = 31;
/// Reply to a report or a recovery: the node is to stop the container.
pub const CAPSCHED_TO_STOP: u32 = 32;
/// Reply to a report: the node has no such container by the scheduler's books, and should stop it.
pub const CAPSCHED_NOT_KNOWN: u32 = 33;
/// Reply to a recovery: a container was taken over.
pub const CAPSCHED_TAKEN: u32 = 40;
/// Reply to a recovery: a container waits for its application to be recovered.
pub const CAPSCHED_WAITING: u32 = 41;
/// Reply about a queue: an application moved.
pub const CAPSCHED_APP_MOVED: u32 = 50;
/// Reply about a queue: an application stays; `code` says why.
pub const CAPSCHED_APP_STAYS: u32 = 51;
/// Reply about a queue: an application was ended.
pub const CAPSCHED_APP_KILLED: u32 = 52;
/// Reply to a round of preemption: the container was asked back.
pub const CAPSCHED_PREEMPT_ASKED: u32 = 60;
/// Reply to a round of preemption: the container was killed, or may be killed.
pub const CAPSCHED_PREEMPT_KILLED: u32 = 61;
/// Reply to a round of preemption: the reservation was dropped.
pub const CAPSCHED_PREEMPT_DROPPED: u32 = 62;
/// Reply to a round of preemption: the reservation was moved.
pub const CAPSCHED_PREEMPT_MOVED: u32 = 63;

/// The request without a label uses idle capacity of the partition.
pub const CAPSCHED_FLAG_BORROWED: u32 = 1;
/// The container takes the place of its reservation.
pub const CAPSCHED_FLAG_FROM_RESERVATION: u32 = 2;
/// The reservation existed before.
pub const CAPSCHED_FLAG_AGAIN: u32 = 4;
/// `exit_status` is set.
pub const CAPSCHED_FLAG_EXIT_STATUS: u32 = 8;
/// The refused decision was a reservation.
pub const CAPSCHED_FLAG_RESERVES: u32 = 16;

/// The container is opportunistic: no queue is charged with it.
pub const CAPSCHED_FLAG_OPPORTUNISTIC: u32 = 32;
/// `version` is set.
pub const CAPSCHED_FLAG_VERSION: u32 = 64;

/// No level of locality.
pub const CAPSCHED_LOCALITY_NONE: u32 = 0;
/// On the named host.
pub const CAPSCHED_LOCALITY_NODE: u32 = 1;
/// On the named rack.
pub const CAPSCHED_LOCALITY_RACK: u32 = 2;
/// Anywhere.
pub const CAPSCHED_LOCALITY_ANY: u32 = 3;

/// `stage` of an application: parked by the limit of parallel applications.
pub const CAPSCHED_STAGE_PARKED: u32 = 1;
/// `stage` of an application: waits for room for its master.
pub const CAPSCHED_STAGE_WAITING: u32 = 2;
/// `stage` of an application: may be served.
pub const CAPSCHED_STAGE_ACTIVE: u32 = 3;
/// `stage` of an application: over.
pub const CAPSCHED_STAGE_DONE: u32 = 4;
/// `stage` of an application: its attempt ended, and the next one has not started.
pub const CAPSCHED_STAGE_BETWEEN: u32 = 5;
