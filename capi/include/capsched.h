/* The C interface of capsched. Written from the Rust sources: see docs/C-API.md. */

#ifndef CAPSCHED_H
#define CAPSCHED_H

#include <stddef.h>
#include <stdint.h>

/*
 Version of this interface: raised when a call or a field is added.
 */
#define CAPSCHED_ABI_VERSION 4

/*
 Numbers in a vector of resources: memory in MiB, vcores, then the further types in the order of the settings.
 */
#define CAPSCHED_TYPES 8

/*
 Elements of one array at most.
 */
#define CAPSCHED_MAX_COUNT 1000000

/*
 Bytes of one text at most.
 */
#define CAPSCHED_MAX_TEXT ((64 * 1024) * 1024)

/*
 Done.
 */
#define CAPSCHED_OK 0

/*
 A pointer is null that must not be.
 */
#define CAPSCHED_ERR_NULL -1

/*
 A text is no UTF-8.
 */
#define CAPSCHED_ERR_UTF8 -2

/*
 A text or an array is longer than the limit.
 */
#define CAPSCHED_ERR_LIMIT -3

/*
 The size of a struct is none of a known version, or fields that are unknown here are not zero.
 */
#define CAPSCHED_ERR_VERSION -4

/*
 The handle is none, or was given back.
 */
#define CAPSCHED_ERR_HANDLE -5

/*
 A number is outside its range.
 */
#define CAPSCHED_ERR_INVALID -6

/*
 The buffer is too small; the length that is needed was written.
 */
#define CAPSCHED_ERR_BUFFER -7

/*
 The call came from a child of the process that built the engine.
 */
#define CAPSCHED_ERR_FORKED -8

/*
 The engine has shut down, and every event was taken.
 */
#define CAPSCHED_ERR_CLOSED -9

/*
 No such node, application, queue or container.
 */
#define CAPSCHED_ERR_UNKNOWN -10

/*
 A node or an application of that name or number is there already.
 */
#define CAPSCHED_ERR_DUPLICATE -11

/*
 The scheduler refuses it.
 */
#define CAPSCHED_ERR_REFUSED -12

/*
 The configuration is not valid.
 */
#define CAPSCHED_ERR_CONFIG -13

/*
 The operating system refused a thread or a descriptor.
 */
#define CAPSCHED_ERR_SYSTEM -14

/*
 A fault of this library; the engine may have ended by it.
 */
#define CAPSCHED_ERR_PANIC -15

/*
 Nodes are scheduled at their heartbeats.
 */
#define CAPSCHED_MODE_HEARTBEAT 0

/*
 Threads walk the nodes one by one.
 */
#define CAPSCHED_MODE_ASYNCHRONOUS 1

/*
 Threads take the most deserving request and look for a node among all.
 */
#define CAPSCHED_MODE_GLOBAL 2

/*
 A container is handed out by the reply to a call of its application.
 */
#define CAPSCHED_HAND_OUT_REPLY 0

/*
 A container is handed out by the event of its allocation.
 */
#define CAPSCHED_HAND_OUT_EVENT 1

/*
 The settings choose the rules: those of Hadoop 3.5.
 */
#define CAPSCHED_HADOOP_DEFAULT 0

/*
 The rules of Hadoop 3.4.
 */
#define CAPSCHED_HADOOP_3_4 34

/*
 The rules of Hadoop 3.5.
 */
#define CAPSCHED_HADOOP_3_5 35

/*
 The source is `yarn-site.xml` or `resource-types.xml`.
 */
#define CAPSCHED_LAYER_SITE 0

/*
 The source is `capacity-scheduler.xml`, whose values win.
 */
#define CAPSCHED_LAYER_SCHEDULER 1

/*
 `capsched_app.priority` is set.
 */
#define CAPSCHED_APP_PRIORITY 1

/*
 `capsched_app.master` is set: the scheduler places the master's container.
 */
#define CAPSCHED_APP_MASTER 2

/*
 `capsched_app.master_partition` is set.
 */
#define CAPSCHED_APP_MASTER_PARTITION 4

/*
 `capsched_app.partition` is set.
 */
#define CAPSCHED_APP_PARTITION 8

/*
 `capsched_app.placement_parent` is set.
 */
#define CAPSCHED_APP_PARENT 16

/*
 The application stays when its attempt ends. Since version 4 of the interface.
 */
#define CAPSCHED_APP_RESTARTS 32

/*
 The same, with the containers that run. Since version 4 of the interface.
 */
#define CAPSCHED_APP_KEEPS_CONTAINERS 64

/*
 `capsched_ask.partition` is set.
 */
#define CAPSCHED_ASK_PARTITION 1

/*
 Only the named place will do.
 */
#define CAPSCHED_ASK_STRICT 2

/*
 `capsched_constrained_ask.constraint` is set.
 */
#define CAPSCHED_ASK_CONSTRAINT 4

/*
 A change: a larger size, once node and queue have room.
 */
#define CAPSCHED_UPDATE_INCREASE 1

/*
 A change: a smaller size, at once.
 */
#define CAPSCHED_UPDATE_DECREASE 2

/*
 A change: an opportunistic container is guaranteed, once node and queue have room.
 */
#define CAPSCHED_UPDATE_PROMOTE 3

/*
 A change: a guaranteed container is opportunistic, at once.
 */
#define CAPSCHED_UPDATE_DEMOTE 4

/*
 The members of a gang may be on any nodes of the partition.
 */
#define CAPSCHED_CLOSE_ANYWHERE 0

/*
 The members of a gang are on nodes of one rack.
 */
#define CAPSCHED_CLOSE_RACK 1

/*
 The members of a gang are on nodes with one value of an attribute.
 */
#define CAPSCHED_CLOSE_ATTRIBUTE 2

/*
 The container runs as an opportunistic one: no queue is charged with it.
 */
#define CAPSCHED_RUNNING_OPPORTUNISTIC 1

/*
 The node reports exactly the containers of the lists; without this flag, that what it was to do is done.
 */
#define CAPSCHED_REPORT_EXACT 1

/*
 Attributes are added.
 */
#define CAPSCHED_ATTRIBUTES_ADD 0

/*
 Attributes are removed.
 */
#define CAPSCHED_ATTRIBUTES_REMOVE 1

/*
 Attributes replace those of a prefix, or all where it is empty.
 */
#define CAPSCHED_ATTRIBUTES_REPLACE 2

/*
 Event: a container was placed.
 */
#define CAPSCHED_ALLOCATED 1

/*
 Event: a reservation was made.
 */
#define CAPSCHED_RESERVED 2

/*
 Event: a reservation ended without a container.
 */
#define CAPSCHED_UNRESERVED 3

/*
 Event: a reservation moved from `node_before` to `node`.
 */
#define CAPSCHED_RESERVATION_MOVED 4

/*
 Event: a container ended.
 */
#define CAPSCHED_ENDED 5

/*
 Event: a decision was refused at its commit, and is made anew.
 */
#define CAPSCHED_REJECTED 6

/*
 Event: the master has its container; the application may ask.
 */
#define CAPSCHED_MASTER_STARTED 7

/*
 Event: the master was lost, and its application ended, or its attempt.
 */
#define CAPSCHED_MASTER_LOST 8

/*
 Event: an application ended though nobody called for that.
 */
#define CAPSCHED_APP_ENDED 9

/*
 Event: a container changed, and its application fetched the change.
 */
#define CAPSCHED_UPDATED 10

/*
 Event: the minimum of a gang was placed after `time_ms`; the events of its containers come before.
 */
#define CAPSCHED_GANG_PLACED 11

/*
 Event: `count` nodes are held for a gang, until `time_ms` at most.
 */
#define CAPSCHED_GANG_HOLDS 12

/*
 Event: a gang was given up within its time; `reason` says why it waited at last.
 */
#define CAPSCHED_GANG_EXPIRED 13

/*
 Event: an opportunistic container was placed and waits for room on its node. Since version 3 of the interface.
 */
#define CAPSCHED_OPPORTUNISTIC_QUEUED 14

/*
 Event: an opportunistic container has room on its node. Since version 3 of the interface.
 */
#define CAPSCHED_OPPORTUNISTIC_STARTED 15

/*
 Event: an attempt ended, and its application stays. Since version 4 of the interface.
 */
#define CAPSCHED_ATTEMPT_ENDED 16

/*
 Reply to a call of an application: a container that it has now.
 */
#define CAPSCHED_GRANTED 20

/*
 Reply to a call of an application: a container whose end it learns.
 */
#define CAPSCHED_FINISHED 21

/*
 Reply to a call of an application: a container that the scheduler asks back.
 */
#define CAPSCHED_ASKED_BACK 22

/*
 Reply to a call of an application: a number it gave back though no live container has it.
 */
#define CAPSCHED_NOT_LIVE 23

/*
 Reply to a call of an application: a container that changed since the last call.
 */
#define CAPSCHED_CHANGED 24

/*
 Reply to a call of an application: a change that was refused; `version` is the one that the container has.
 */
#define CAPSCHED_CHANGE_REFUSED 25

/*
 Reply to a report: a container was launched.
 */
#define CAPSCHED_LAUNCHED 30

/*
 Reply to a report: a container was stopped as ordered, and its room is free.
 */
#define CAPSCHED_EXITED 31

/*
 Reply to a report or a recovery: the node is to stop the container.
 */
#define CAPSCHED_TO_STOP 32

/*
 Reply to a report: the node has no such container by the scheduler's books, and should stop it.
 */
#define CAPSCHED_NOT_KNOWN 33

/*
 Reply to a recovery: a container was taken over.
 */
#define CAPSCHED_TAKEN 40

/*
 Reply to a recovery: a container waits for its application to be recovered.
 */
#define CAPSCHED_WAITING 41

/*
 Reply about a queue: an application moved.
 */
#define CAPSCHED_APP_MOVED 50

/*
 Reply about a queue: an application stays; `code` says why.
 */
#define CAPSCHED_APP_STAYS 51

/*
 Reply about a queue: an application was ended.
 */
#define CAPSCHED_APP_KILLED 52

/*
 Reply to a round of preemption: the container was asked back.
 */
#define CAPSCHED_PREEMPT_ASKED 60

/*
 Reply to a round of preemption: the container was killed, or may be killed.
 */
#define CAPSCHED_PREEMPT_KILLED 61

/*
 Reply to a round of preemption: the reservation was dropped.
 */
#define CAPSCHED_PREEMPT_DROPPED 62

/*
 Reply to a round of preemption: the reservation was moved.
 */
#define CAPSCHED_PREEMPT_MOVED 63

/*
 The request without a label uses idle capacity of the partition.
 */
#define CAPSCHED_FLAG_BORROWED 1

/*
 The container takes the place of its reservation.
 */
#define CAPSCHED_FLAG_FROM_RESERVATION 2

/*
 The reservation existed before.
 */
#define CAPSCHED_FLAG_AGAIN 4

/*
 `exit_status` is set.
 */
#define CAPSCHED_FLAG_EXIT_STATUS 8

/*
 The refused decision was a reservation.
 */
#define CAPSCHED_FLAG_RESERVES 16

/*
 The container is opportunistic: no queue is charged with it.
 */
#define CAPSCHED_FLAG_OPPORTUNISTIC 32

/*
 `version` is set.
 */
#define CAPSCHED_FLAG_VERSION 64

/*
 No level of locality.
 */
#define CAPSCHED_LOCALITY_NONE 0

/*
 On the named host.
 */
#define CAPSCHED_LOCALITY_NODE 1

/*
 On the named rack.
 */
#define CAPSCHED_LOCALITY_RACK 2

/*
 Anywhere.
 */
#define CAPSCHED_LOCALITY_ANY 3

/*
 `stage` of an application: parked by the limit of parallel applications.
 */
#define CAPSCHED_STAGE_PARKED 1

/*
 `stage` of an application: waits for room for its master.
 */
#define CAPSCHED_STAGE_WAITING 2

/*
 `stage` of an application: may be served.
 */
#define CAPSCHED_STAGE_ACTIVE 3

/*
 `stage` of an application: over.
 */
#define CAPSCHED_STAGE_DONE 4

/*
 `stage` of an application: its attempt ended, and the next one has not started.
 */
#define CAPSCHED_STAGE_BETWEEN 5

/*
 A text by its length; UTF-8, without a NUL.
 */
typedef struct {
  /*
   First byte; may be null where the length is 0.
   */
  const char *data;
  /*
   Bytes.
   */
  size_t length;
} capsched_text;

/*
 A configuration file in memory.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   `CAPSCHED_LAYER_SITE` or `CAPSCHED_LAYER_SCHEDULER`.
   */
  uint32_t layer;
  /*
   Path or another name, for messages.
   */
  capsched_text name;
  /*
   The file; any bytes.
   */
  capsched_text bytes;
} capsched_source;

/*
 A partition (node label) that the cluster knows.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   1 when only requests that name it are served there, else 0.
   */
  uint32_t exclusive;
  /*
   Its name.
   */
  capsched_text name;
} capsched_partition;

/*
 How an engine is built, or what it is refreshed with.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   `CAPSCHED_MODE_*`.
   */
  uint32_t mode;
  /*
   Threads that propose, 1 to 1,024; 0 for one. Without meaning in heartbeat mode.
   */
  uint32_t threads;
  /*
   `CAPSCHED_HAND_OUT_*`.
   */
  uint32_t hand_out;
  /*
   `CAPSCHED_HADOOP_*`.
   */
  uint32_t hadoop;
  /*
   1 when nodes and applications come back after a restart, until `capsched_finish_recovery`; else 0.
   */
  uint32_t recovering;
  /*
   A container that no node launched ends so many ms after it was handed out; 0 for never.
   */
  uint64_t allocation_expiry_ms;
  /*
   The configuration files.
   */
  const capsched_source *sources;
  /*
   Their number.
   */
  size_t source_count;
  /*
   The partitions; not read at a refresh.
   */
  const capsched_partition *partitions;
  /*
   Their number.
   */
  size_t partition_count;
  /*
   The user that the scheduler runs as, for access lists; `yarn` where it is empty.
   */
  capsched_text daemon;
} capsched_options;

/*
 Where the records of a reply go. What finds no room stays as a handle, and is fetched by `capsched_rest`.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Bytes of one record as the caller knows it: `sizeof(capsched_record)`.
   */
  uint32_t record_size;
  /*
   Room for records; may be null where the capacity is 0.
   */
  void *records;
  /*
   How many records there is room for.
   */
  size_t capacity;
  /*
   Answer: records written.
   */
  size_t written;
  /*
   Answer: 0, or the handle of the records that found no room.
   */
  uint64_t rest;
} capsched_buffer;

/*
 An attribute of a node.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   0.
   */
  uint32_t reserved;
  /*
   `prefix/name`.
   */
  capsched_text name;
  /*
   Its value.
   */
  capsched_text value;
} capsched_attribute;

/*
 A node.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   0.
   */
  uint32_t reserved;
  /*
   `host:port`.
   */
  capsched_text name;
  /*
   The rack; `/default-rack` where it is empty.
   */
  capsched_text rack;
  /*
   The partition; empty for the default one.
   */
  capsched_text partition;
  /*
   Everything the node offers.
   */
  int64_t total[CAPSCHED_TYPES];
  /*
   Its attributes.
   */
  const capsched_attribute *attributes;
  /*
   Their number.
   */
  size_t attribute_count;
} capsched_node;

/*
 The id of a container.
 */
typedef struct {
  /*
   Number of its application.
   */
  uint32_t app;
  /*
   Attempt of the application, from 1.
   */
  uint32_t attempt;
  /*
   Number within the attempt.
   */
  uint32_t container;
} capsched_container;

/*
 A container that a node runs after a restart of the scheduler.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Request priority.
   */
  int32_t priority;
  /*
   The container.
   */
  capsched_container key;
  /*
   0.
   */
  uint32_t reserved;
  /*
   Allocation request id.
   */
  int64_t request_id;
  /*
   When it was placed, in ms of the engine's clock.
   */
  uint64_t created_ms;
  /*
   Its size.
   */
  int64_t amounts[CAPSCHED_TYPES];
  /*
   Its version: how often it was changed. Since version 2 of the interface.
   */
  uint32_t version;
  /*
   `CAPSCHED_RUNNING_OPPORTUNISTIC` or 0. Since version 2 of the interface.
   */
  uint32_t flags;
} capsched_running;

/*
 What a node reports with a heartbeat.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Number of the node.
   */
  uint32_t node;
  /*
   `CAPSCHED_REPORT_EXACT` or 0.
   */
  uint32_t flags;
  /*
   0.
   */
  uint32_t reserved;
  /*
   Containers launched since the last heartbeat.
   */
  const capsched_container *launched;
  /*
   Their number.
   */
  size_t launched_count;
  /*
   Containers that were stopped on order.
   */
  const capsched_container *exited;
  /*
   Their number.
   */
  size_t exited_count;
} capsched_report;

/*
 An application.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Its number.
   */
  uint32_t app;
  /*
   Which of the fields below are set: `CAPSCHED_APP_*`.
   */
  uint32_t flags;
  /*
   Wished priority, larger is more important.
   */
  int32_t priority;
  /*
   Submitting user.
   */
  capsched_text user;
  /*
   Queue: a full path, or a leaf name that is unambiguous.
   */
  capsched_text queue;
  /*
   The parent that placement rules put it below.
   */
  capsched_text placement_parent;
  /*
   Partition of the master's container.
   */
  capsched_text master_partition;
  /*
   Partition of asks that name none.
   */
  capsched_text partition;
  /*
   Container of the master.
   */
  int64_t master[CAPSCHED_TYPES];
  /*
   Tags, for placement constraints.
   */
  const capsched_text *tags;
  /*
   Their number.
   */
  size_t tag_count;
} capsched_app;

/*
 What a submission came to.
 */
typedef struct {
  /*
   Bytes of this struct, set by the caller.
   */
  uint32_t size;
  /*
   Number of its queue.
   */
  uint32_t queue;
  /*
   `CAPSCHED_STAGE_*`.
   */
  uint32_t stage;
  /*
   1 when `master` is set.
   */
  uint32_t has_master;
  /*
   Container of its master, raised and rounded.
   */
  int64_t master[CAPSCHED_TYPES];
} capsched_submitted;

/*
 A gang: its minimum is placed all at once within its time, or nothing of it.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Request priority, part of the key that the members are asked under.
   */
  int32_t priority;
  /*
   Allocation request id, the other part of the key. No other ask may be outstanding under it.
   */
  int64_t request_id;
  /*
   Members that are placed together, 1 to 10,000; 0 withdraws the gang that waits under the key.
   */
  uint32_t minimum;
  /*
   Further members, asked for once the minimum is placed: 0 to 1,000,000.
   */
  uint32_t elastic;
  /*
   How long the gang may wait in ms: 1 to 3,600,000.
   */
  uint64_t within_ms;
  /*
   `CAPSCHED_CLOSE_*`.
   */
  uint32_t close;
  /*
   `CAPSCHED_ASK_PARTITION` or 0.
   */
  uint32_t flags;
  /*
   The attribute of `CAPSCHED_CLOSE_ATTRIBUTE`, as `prefix/name`; empty else.
   */
  capsched_text attribute;
  /*
   Partition.
   */
  capsched_text partition;
  /*
   Size of one member.
   */
  int64_t amounts[CAPSCHED_TYPES];
} capsched_gang;

/*
 Containers of one size at one place.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Request priority; a smaller number is more important.
   */
  int32_t priority;
  /*
   Allocation request id.
   */
  int64_t request_id;
  /*
   Number of containers, 0 to 1,000,000; 0 withdraws the ask.
   */
  int32_t count;
  /*
   `CAPSCHED_ASK_*`.
   */
  uint32_t flags;
  /*
   Host, rack, or `*` for anywhere.
   */
  capsched_text place;
  /*
   Partition.
   */
  capsched_text partition;
  /*
   Size of one container.
   */
  int64_t amounts[CAPSCHED_TYPES];
} capsched_ask;

/*
 Containers with tags and a placement constraint.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Request priority.
   */
  int32_t priority;
  /*
   Allocation request id.
   */
  int64_t request_id;
  /*
   Number of containers.
   */
  int32_t count;
  /*
   `CAPSCHED_ASK_CONSTRAINT` or 0.
   */
  uint32_t flags;
  /*
   Constraint in the text form of Hadoop's parser, such as `notin,node,web`.
   */
  capsched_text constraint;
  /*
   Tags that the containers carry.
   */
  const capsched_text *tags;
  /*
   Their number.
   */
  size_t tag_count;
  /*
   Size of one container.
   */
  int64_t amounts[CAPSCHED_TYPES];
} capsched_constrained;

/*
 A change of one container of the application that calls.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Number of the container within the present attempt.
   */
  uint32_t container;
  /*
   The version of the container that the application knows: 0 at first, one more with each change.
   */
  uint32_t version;
  /*
   `CAPSCHED_UPDATE_*`.
   */
  uint32_t change;
  /*
   The new size of the container; zero where it is promoted or demoted.
   */
  int64_t amounts[CAPSCHED_TYPES];
} capsched_update;

/*
 One call of an application: everything it wants to change. One without lists fetches what it got.
 */
typedef struct {
  /*
   Bytes of this struct.
   */
  uint32_t size;
  /*
   Number of the application.
   */
  uint32_t app;
  /*
   Asks by place.
   */
  const capsched_ask *asks;
  /*
   Their number.
   */
  size_t ask_count;
  /*
   Asks with constraints.
   */
  const capsched_constrained *constrained;
  /*
   Their number.
   */
  size_t constrained_count;
  /*
   Numbers of containers to give back.
   */
  const uint32_t *release;
  /*
   Their number.
   */
  size_t release_count;
  /*
   Hosts and racks not to use from now on.
   */
  const capsched_text *blacklist_add;
  /*
   Their number.
   */
  size_t blacklist_add_count;
  /*
   Hosts and racks to use again.
   */
  const capsched_text *blacklist_remove;
  /*
   Their number.
   */
  size_t blacklist_remove_count;
  /*
   Changes of containers. Since version 2 of the interface.
   */
  const capsched_update *updates;
  /*
   Their number. Since version 2 of the interface.
   */
  size_t update_count;
} capsched_call;

/*
 What a call of an application came to, beside its records.
 */
typedef struct {
  /*
   Bytes of this struct, set by the caller.
   */
  uint32_t size;
  /*
   0, or why the call was refused.
   */
  int32_t code;
  /*
   Records that belong to it.
   */
  uint64_t records;
  /*
   How much more the application may get.
   */
  int64_t headroom[CAPSCHED_TYPES];
} capsched_answer;

/*
 An event, or a line of a reply. What a kind does not use is zero.
 */
typedef struct {
  /*
   Which one: `CAPSCHED_ALLOCATED` and so on.
   */
  uint32_t kind;
  /*
   Position of the call or report that it answers, from 0.
   */
  uint32_t call;
  /*
   Number of the application.
   */
  uint32_t app;
  /*
   Attempt of the application; 0 in a line about the attempt that called.
   */
  uint32_t attempt;
  /*
   Number of the container within the attempt.
   */
  uint32_t container;
  /*
   Number of the node.
   */
  uint32_t node;
  /*
   Number of the node before a move.
   */
  uint32_t node_before;
  /*
   Number of the queue.
   */
  uint32_t queue;
  /*
   Number of the partition; 0 is the default one.
   */
  uint32_t partition;
  /*
   `CAPSCHED_FLAG_*`.
   */
  uint32_t flags;
  /*
   Request priority.
   */
  int32_t priority;
  /*
   Level that was used: `CAPSCHED_LOCALITY_*`.
   */
  uint32_t locality;
  /*
   Level that was asked first.
   */
  uint32_t requested;
  /*
   Why; `capsched_reason` gives its word.
   */
  uint32_t reason;
  /*
   Exit status that YARN answers with.
   */
  int32_t exit_status;
  /*
   0, or why something was refused.
   */
  int32_t code;
  /*
   Allocation request id.
   */
  int64_t request_id;
  /*
   Size of the container.
   */
  int64_t amounts[CAPSCHED_TYPES];
  /*
   How the container changed, or was to: `CAPSCHED_UPDATE_*`. This and what follows: since version 2 of the
   interface.
   */
  uint32_t update;
  /*
   Version of the container.
   */
  uint32_t version;
  /*
   Of an allocation or a reservation: number of the container that grows by it. Of a change: number of the
   auxiliary container, which ends next.
   */
  uint32_t related;
  /*
   Members that a gang wants at once.
   */
  uint32_t members;
  /*
   Nodes that are held for a gang, or members that there was room for when it was given up.
   */
  uint32_t count;
  /*
   0.
   */
  uint32_t reserved;
  /*
   How long a gang waited, or until when nodes are held for it; in ms.
   */
  uint64_t time_ms;
} capsched_record;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of this interface: `CAPSCHED_ABI_VERSION` of the header that the library was built with.
 */
uint32_t capsched_abi_version(void);

/*
 The text of the latest refused call of this thread, without a NUL. With a capacity of 0 only its length is
 written.

 Pointers:

 `buffer` has `capacity` bytes, `length` one number.
 */
int32_t capsched_last_error(char *buffer,
                            size_t capacity,
                            size_t *length);

/*
 A stable word for the latest refused call of this thread, such as `unknown_queue` or `E_XML_DOCTYPE`.

 Pointers:

 As `capsched_last_error`.
 */
int32_t capsched_last_error_word(char *buffer,
                                 size_t capacity,
                                 size_t *length);

/*
 Builds and starts an engine. Preemption and access lists are those of the configuration.

 Pointers:

 `options` has the size that it says, and its arrays as many elements; `handle` is one number.
 */
int32_t capsched_engine_start(const capsched_options *options, uint64_t *handle);

/*
 Asks for the end and returns at once: calls that were accepted are still answered, later ones are refused.
 Events stay readable. The handle stays until `capsched_engine_stop`.
 */
int32_t capsched_engine_request_stop(uint64_t engine);

/*
 Ends an engine and gives its handle back. Waits for calls that are under way; one that waits for events returns.
 */
int32_t capsched_engine_stop(uint64_t engine);

/*
 Takes over another configuration as a whole, or nothing of it: queues, preemption, placement rules, access lists and
 labels. Of the options, `sources`, `hadoop`, `daemon` and `partitions` count. With partitions the cluster knows these
 labels from then on, and nodes of other ones lose theirs; without any, labels stay as they are.

 Pointers:

 As `capsched_engine_start`.
 */
int32_t capsched_refresh(uint64_t engine,
                         const capsched_options *options);

/*
 Waits until every proposer has looked at the present state and found nothing to do.
 */
int32_t capsched_quiesce(uint64_t engine);

/*
 Runs a round of preemption now; what it decided goes to `buffer`.

 Pointers:

 `buffer` has the size that it says, and its records as many elements.
 */
int32_t capsched_preempt(uint64_t engine, capsched_buffer *buffer);

/*
 Ends the recovery that `recovering` began; containers that no application claimed are to be stopped.

 Pointers:

 As `capsched_preempt`.
 */
int32_t capsched_finish_recovery(uint64_t engine,
                                 capsched_buffer *buffer);

/*
 Fetches more records of a reply that found no room in its buffer. `buffer.rest` is 0 with the last one, and the
 handle is given back then.

 Pointers:

 As `capsched_preempt`.
 */
int32_t capsched_rest(uint64_t rest,
                      capsched_buffer *buffer);

/*
 Gives up the rest of a reply.
 */
int32_t capsched_rest_drop(uint64_t rest);

/*
 Registers a node; the number that stands for its name from now on.

 Pointers:

 `node` has the size that it says, and its arrays as many elements; `number` is one number.
 */
int32_t capsched_node_add(uint64_t engine, const capsched_node *node, uint32_t *number);

/*
 Registers a node with the containers that it runs, after a restart. The reply says which were taken over, wait
 for their application, or are to be stopped.

 Pointers:

 As `capsched_node_add`; `containers` has `count` elements, `buffer` the size that it says, and its records as
 many elements.
 */
int32_t capsched_node_recover(uint64_t engine,
                              const capsched_node *node,
                              const capsched_running *containers,
                              size_t count,
                              uint32_t *number,
                              capsched_buffer *buffer);

/*
 Describes a registered node anew, as after its manager started again: total, partition and attributes, all or
 none. What runs there stays, and the node takes containers.

 Pointers:

 `node` has the size that it says, and its arrays as many elements.
 */
int32_t capsched_node_reconnect(uint64_t engine,
                                const capsched_node *node);

/*
 Changes the total of a node; nothing is killed at once.

 Pointers:

 `total` has `CAPSCHED_TYPES` numbers.
 */
int32_t capsched_node_resize(uint64_t engine, uint32_t node, const int64_t *total);

/*
 Moves a node to another partition; an empty name is the default one.

 Pointers:

 `partition` has as many bytes as it says.
 */
int32_t capsched_node_relabel(uint64_t engine, uint32_t node, capsched_text partition);

/*
 Changes the attributes of a node: `CAPSCHED_ATTRIBUTES_*`. `prefix` counts at a replacement.

 Pointers:

 `attributes` has `count` elements of the size that they say; `prefix` has as many bytes as it says.
 */
int32_t capsched_node_attributes(uint64_t engine,
                                 uint32_t node,
                                 uint32_t how,
                                 capsched_text prefix,
                                 const capsched_attribute *attributes,
                                 size_t count);

/*
 Removes a lost node; its containers are killed.
 */
int32_t capsched_node_remove(uint64_t engine, uint32_t node);

/*
 A node takes no new containers from now on.
 */
int32_t capsched_node_decommission(uint64_t engine, uint32_t node);

/*
 A node takes new containers again.
 */
int32_t capsched_node_recommission(uint64_t engine, uint32_t node);

/*
 Reports of nodes, carried out in their order; in heartbeat mode each node is scheduled. `codes` gets a code for
 each, and the call answers 0 unless it is refused as a whole. A node that is not registered is refused alone. The
 latest error is that of the first that was refused.

 Pointers:

 `reports` has `count` elements of the size that they say, with their lists; `codes` has `count` numbers;
 `buffer` the size that it says, and its records as many elements.
 */
int32_t capsched_heartbeats(uint64_t engine,
                            const capsched_report *reports,
                            size_t count,
                            int32_t *codes,
                            capsched_buffer *buffer);

/*
 Submits an application. The caller is trusted: neither access lists nor placement rules are looked at.

 Pointers:

 `app` has the size that it says, and its arrays as many elements; `answer` has the size that it says.
 */
int32_t capsched_submit(uint64_t engine,
                        const capsched_app *app,
                        capsched_submitted *answer);

/*
 Submits an application in the name of `user`: placement rules choose the queue, and access lists say whether the
 user may submit there. `groups` are those of the user, the primary one first.

 Pointers:

 As `capsched_submit`; `groups` has `group_count` elements.
 */
int32_t capsched_submit_as(uint64_t engine,
                           capsched_text user,
                           const capsched_text *groups,
                           size_t group_count,
                           const capsched_app *app,
                           capsched_submitted *answer);

/*
 Takes over an application that was accepted before a restart. `master` is the number of its master's container,
 0 where the master does not run and is asked for.

 Pointers:

 `app` has the size that it says, and its arrays as many elements; `buffer` has the size that it says, and its
 records as many elements.
 */
int32_t capsched_app_recover(uint64_t engine,
                             const capsched_app *app,
                             uint32_t attempt,
                             uint32_t master,
                             capsched_buffer *buffer);

/*
 Ends an application with its containers and reservations.
 */
int32_t capsched_app_finish(uint64_t engine, uint32_t app);

/*
 Changes the priority of an application; `effective` gets the one that holds.

 Pointers:

 `effective` is one number.
 */
int32_t capsched_app_priority(uint64_t engine, uint32_t app, int32_t priority, int32_t *effective);

/*
 Moves an application to another leaf.

 Pointers:

 `queue` has as many bytes as it says.
 */
int32_t capsched_app_move(uint64_t engine, uint32_t app, capsched_text queue);

/*
 Containers that ended by themselves. `codes` gets 0 for each that was live, else `CAPSCHED_ERR_UNKNOWN`.

 Pointers:

 `containers` and `codes` have `count` elements.
 */
int32_t capsched_containers_finished(uint64_t engine,
                                     const capsched_container *containers,
                                     size_t count,
                                     int32_t *codes);

/*
 Kills containers. `codes` gets 0 for each that was live, else `CAPSCHED_ERR_UNKNOWN`.

 Pointers:

 As `capsched_containers_finished`.
 */
int32_t capsched_containers_kill(uint64_t engine,
                                 const capsched_container *containers,
                                 size_t count,
                                 int32_t *codes);

/*
 Ends the attempt of an application. The application stays in its queue with what it keeps, and asks for nothing
 until `capsched_attempt_start`. Since version 4 of the interface.
 */
int32_t capsched_attempt_end(uint64_t engine,
                             uint32_t app);

/*
 Starts the next attempt of an application, which asks for its master's container; `attempt` gets its number. Since
 version 4 of the interface.

 Pointers:

 `attempt` is one number.
 */
int32_t capsched_attempt_start(uint64_t engine,
                               uint32_t app,
                               uint32_t *attempt);

/*
 Containers that ended by themselves with these exit statuses. One that may be the fault of its node, of a master,
 has the next master placed elsewhere, where the settings say so. `codes` gets 0 for each that was live, else
 `CAPSCHED_ERR_UNKNOWN`. Since version 4 of the interface.

 Pointers:

 `containers`, `statuses` and `codes` have `count` elements.
 */
int32_t capsched_containers_exited(uint64_t engine,
                                   const capsched_container *containers,
                                   const int32_t *statuses,
                                   size_t count,
                                   int32_t *codes);

/*
 Asks for a gang, or withdraws the one that waits under its key. Its containers come with the replies to later
 calls of the application, and events show what becomes of it.

 Pointers:

 `gang` has the size that it says, and its texts as many bytes.
 */
int32_t capsched_ask_gang(uint64_t engine,
                          uint32_t app,
                          const capsched_gang *gang);

/*
 Asks for opportunistic containers, which are placed outside of queue limits and may have to wait on their nodes. They come
 with the replies to calls of the application, each of which tries again what was not placed. An ask replaces the
 earlier one with its key and place; 512 asks at most. Since version 3 of the interface.

 Pointers:

 `asks` has `count` elements of the size that they say, and their texts as many bytes.
 */
int32_t capsched_ask_opportunistic(uint64_t engine,
                                   uint32_t app,
                                   const capsched_ask *asks,
                                   size_t count);

/*
 Calls of applications, carried out in their order; each is carried out as a whole or refused. `answers` gets a
 code for each, and the call answers 0 unless it is refused as a whole. The latest error is that of the first
 that was refused.

 Pointers:

 `calls` and `answers` have `count` elements of the size that they say; the lists of the calls have as many
 elements as they say; `buffer` has the size that it says, and its records as many elements.
 */
int32_t capsched_asks(uint64_t engine,
                      const capsched_call *calls,
                      size_t count,
                      capsched_answer *answers,
                      capsched_buffer *buffer);

/*
 A queue and those below it take no applications from now on; those that they have go on.

 Pointers:

 `queue` has as many bytes as it says.
 */
int32_t capsched_queue_drain(uint64_t engine, capsched_text queue);

/*
 Moves all applications of a leaf to another one; a record for each that moved or stays.

 Pointers:

 The texts have as many bytes as they say; `buffer` has the size that it says, and its records as many elements.
 */
int32_t capsched_queue_move_apps(uint64_t engine,
                                 capsched_text from,
                                 capsched_text to,
                                 capsched_buffer *buffer);

/*
 Ends all applications of a leaf; a record for each.

 Pointers:

 As `capsched_queue_move_apps`.
 */
int32_t capsched_queue_kill_apps(uint64_t engine, capsched_text queue, capsched_buffer *buffer);

/*
 Takes events in their order, as many as there is room for; waits for the first one at most `timeout_ms`, 0 for
 a look, negative for as long as the engine runs. Each event goes to one reader. Nothing in time: 0 and no record. Once the engine has
 shut down and every event was taken: `CAPSCHED_ERR_CLOSED`.

 Pointers:

 `buffer` has the size that it says, and its records as many elements.
 */
int32_t capsched_events(uint64_t engine,
                        int64_t timeout_ms,
                        capsched_buffer *buffer);

/*
 How many events wait to be taken. None is dropped: an engine whose events nobody takes grows with each submission,
 end and release.

 Pointers:

 `waiting` is one number.
 */
int32_t capsched_events_waiting(uint64_t engine,
                                uint64_t *waiting);

/*
 A descriptor that can be read while events wait, and once the engine has ended. Its owner is the engine: do not
 read, write or close it. After each wake take events until there are none; a look at an empty list makes it
 unreadable again.

 Pointers:

 `descriptor` is one number.
 */
int32_t capsched_wake_fd(uint64_t engine,
                         int32_t *descriptor);

/*
 The word of a `reason` in a record of a kind, such as `preempted`.

 Pointers:

 `buffer` has `capacity` bytes, `length` one number.
 */
int32_t capsched_reason(uint32_t kind,
                        uint32_t reason,
                        char *buffer,
                        size_t capacity,
                        size_t *length);

/*
 The name behind a number of a node, as `host:port`.

 Pointers:

 As `capsched_reason`.
 */
int32_t capsched_node_name(uint64_t engine,
                           uint32_t node,
                           char *buffer,
                           size_t capacity,
                           size_t *length);

/*
 The number of a node by its name, registered now or before.

 Pointers:

 `name` has as many bytes as it says; `node` is one number.
 */
int32_t capsched_node_number(uint64_t engine, capsched_text name, uint32_t *node);

/*
 The full path behind a number of a queue.

 Pointers:

 As `capsched_reason`.
 */
int32_t capsched_queue_name(uint64_t engine,
                            uint32_t queue,
                            char *buffer,
                            size_t capacity,
                            size_t *length);

/*
 The name behind a number of a partition; empty for the default one, 0.

 Pointers:

 As `capsched_reason`.
 */
int32_t capsched_partition_name(uint64_t engine,
                                uint32_t partition,
                                char *buffer,
                                size_t capacity,
                                size_t *length);

/*
 The name of a resource type by its place in vectors.

 Pointers:

 As `capsched_reason`.
 */
int32_t capsched_type_name(uint64_t engine,
                           uint32_t place,
                           char *buffer,
                           size_t capacity,
                           size_t *length);

/*
 Everything there is, as JSON. Costs as much as there is.

 Pointers:

 `buffer` has `capacity` bytes, `length` one number.
 */
int32_t capsched_state_json(uint64_t engine, char *buffer, size_t capacity, size_t *length);

/*
 A number that is equal for equal states: of everything that `capsched_state_json` shows.

 Pointers:

 `hash` is one number.
 */
int32_t capsched_state_hash(uint64_t engine, uint64_t *hash);

/*
 One live application, as JSON.

 Pointers:

 As `capsched_state_json`.
 */
int32_t capsched_app_json(uint64_t engine,
                          uint32_t app,
                          char *buffer,
                          size_t capacity,
                          size_t *length);

/*
 One registered node, as JSON.

 Pointers:

 As `capsched_state_json`.
 */
int32_t capsched_node_json(uint64_t engine,
                           uint32_t node,
                           char *buffer,
                           size_t capacity,
                           size_t *length);

/*
 One queue, as JSON, by its full path or by a name that no other queue has.

 Pointers:

 As `capsched_state_json`; `queue` has as many bytes as it says.
 */
int32_t capsched_queue_json(uint64_t engine,
                            capsched_text queue,
                            char *buffer,
                            size_t capacity,
                            size_t *length);

/*
 How many events of each kind there were since the engine was built, as JSON.

 Pointers:

 As `capsched_state_json`.
 */
int32_t capsched_counts_json(uint64_t engine, char *buffer, size_t capacity, size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CAPSCHED_H */
