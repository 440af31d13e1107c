//! Keys of preemption and of the site files.

use super::KeyScope::{Preemption, Site};
use super::{KnownKey, key};

pub(super) const PREEMPTION: &[KnownKey] = &[
    key(
        Preemption,
        "additional_res_balance_based_on_reserved_containers",
        "false",
        "Reserved resources count as demand.",
    ),
    key(
        Preemption,
        "conservative-drf",
        "false",
        "A queue gives up nothing more once it has given enough of one resource type.",
    ),
    key(
        Preemption,
        "intra-queue-preemption.conservative-drf",
        "true",
        "As above, between applications of one leaf.",
    ),
    key(
        Preemption,
        "intra-queue-preemption.enabled",
        "false",
        "Preempts between users and applications of one leaf.",
    ),
    key(
        Preemption,
        "intra-queue-preemption.max-allowable-limit",
        "0.2",
        "Fraction of the guarantee of a leaf that one round may select.",
    ),
    key(
        Preemption,
        "intra-queue-preemption.minimum-threshold",
        "0.5",
        "Fraction of the guarantee that a leaf uses before it is looked at.",
    ),
    key(
        Preemption,
        "intra-queue-preemption.preemption-order-policy",
        "userlimit_first",
        "`userlimit_first` or `priority_first`.",
    ),
    key(
        Preemption,
        "max_ignored_over_capacity",
        "0.1",
        "A queue up to this fraction above its guarantee gives up nothing.",
    ),
    key(
        Preemption,
        "max_wait_before_kill",
        "15000",
        "Time from the request to give a container up until it is killed, in ms.",
    ),
    key(
        Preemption,
        "monitoring_interval",
        "3000",
        "Time between two rounds in ms, at least 1.",
    ),
    key(
        Preemption,
        "natural_termination_factor",
        "0.2",
        "Fraction of what is missing that one round asks for.",
    ),
    key(
        Preemption,
        "observe_only",
        "false",
        "Computes verdicts and carries out none.",
    ),
    key(
        Preemption,
        "preemption-to-balance-queue-after-satisfied.enabled",
        "false",
        "Balances queues that all have their guarantees.",
    ),
    key(
        Preemption,
        "preemption-to-balance-queue-after-satisfied.max-wait-before-kill",
        "300000",
        "As `max_wait_before_kill`, for balancing.",
    ),
    key(
        Preemption,
        "select_based_on_reserved_containers",
        "false",
        "Chooses containers so that reserved ones fit on their nodes.",
    ),
    key(
        Preemption,
        "total_preemption_per_round",
        "0.1",
        "Fraction of the cluster that one round may select.",
    ),
];

pub(super) const KEYS: &[KnownKey] = &[
    key(
        Site,
        "capsched.reservation-timeout-ms",
        "",
        "Age in ms at which a reservation is dropped, at least 1; unset keeps reservations. A key of this scheduler.",
    ),
    key(
        Site,
        "yarn.acl.enable",
        "false",
        "Access lists are checked.",
    ),
    key(
        Site,
        "yarn.admin.acl",
        "*",
        "Users and groups that may do everything.",
    ),
    key(
        Site,
        "yarn.cluster.max-application-priority",
        "0",
        "Highest priority of an application; higher ones are reduced to it.",
    ),
    key(
        Site,
        "yarn.node-labels.enabled",
        "false",
        "Nodes may have labels.",
    ),
    key(
        Site,
        "yarn.resource-types",
        "",
        "Names of resource types beside `memory-mb` and `vcores`, separated by commas; at most 8 in all.",
    ),
    key(
        Site,
        "yarn.resource-types.*.maximum-allocation",
        "9223372036854775807",
        "Largest amount of the type in a container.",
    ),
    key(
        Site,
        "yarn.resource-types.*.minimum-allocation",
        "0",
        "Step of the type; amounts are rounded up to it.",
    ),
    key(
        Site,
        "yarn.resource-types.*.tags",
        "",
        "Tags of the type; `system:csi-volume` is refused.",
    ),
    key(
        Site,
        "yarn.resource-types.*.type",
        "COUNTABLE",
        "Kind of the type; there is only one.",
    ),
    key(
        Site,
        "yarn.resource-types.*.units",
        "",
        "Unit of the type, one of p, n, u, m, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi.",
    ),
    key(
        Site,
        "yarn.resourcemanager.application-tag-based-placement.enable",
        "false",
        "Users are taken from the tag `userid=` of an application.",
    ),
    key(
        Site,
        "yarn.resourcemanager.application-tag-based-placement.username.whitelist",
        "",
        "Users that may submit with such a tag.",
    ),
    key(
        Site,
        "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation",
        "false",
        "Masters may run on idle nodes of shared labels.",
    ),
    key(
        Site,
        "yarn.resourcemanager.placement-constraints.handler",
        "disabled",
        "`disabled`, `scheduler` or `placement-processor`: who places scheduling requests.",
    ),
    key(
        Site,
        "yarn.resourcemanager.scheduler.class",
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
        "Class of the scheduler; another one does not read the scheduler's file.",
    ),
    key(
        Site,
        "yarn.resourcemanager.scheduler.monitor.enable",
        "false",
        "Preemption runs.",
    ),
    key(
        Site,
        "yarn.resourcemanager.scheduler.monitor.policies",
        "ProportionalCapacityPreemptionPolicy",
        "Classes of monitor policies, separated by commas; other ones do not run.",
    ),
    key(
        Site,
        "yarn.scheduler.configuration.store.class",
        "file",
        "Where the configuration is kept: `file`, `memory`, `leveldb`, `zk` or `fs`.",
    ),
    key(
        Site,
        "yarn.scheduler.maximum-allocation-mb",
        "8192",
        "Memory of the largest container in MiB.",
    ),
    key(
        Site,
        "yarn.scheduler.maximum-allocation-vcores",
        "4",
        "Vcores of the largest container.",
    ),
    key(
        Site,
        "yarn.scheduler.minimum-allocation-mb",
        "1024",
        "Step of memory in MiB; asks are rounded up to it.",
    ),
    key(
        Site,
        "yarn.scheduler.minimum-allocation-vcores",
        "1",
        "Step of vcores; asks are rounded up to it.",
    ),
    key(
        Site,
        "yarn.scheduler.queue-placement-rules",
        "user-group",
        "Placement rules in their order: `user-group`, `app-name`.",
    ),
    key(
        Site,
        "yarn.scheduler.queue-placement-rules.app-name",
        "",
        "Placement rules of applications: `name:queue`, separated by commas.",
    ),
    key(
        Site,
        "yarn.workflow-id.tag-prefix",
        "workflowid:",
        "Tag of an application that names its workflow.",
    ),
];
