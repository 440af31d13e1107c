//! The keys of the load simulator's generator that are used, and the account of the others.

use serde_json::{Map, Value};

use crate::simulator::workload::MappingReport;

/// Keys that are used: of the whole.
pub(super) const KEYS: [&str; 5] = [
    "num_jobs",
    "rand_seed",
    "workloads",
    "num_nodes",
    "nodes_per_rack",
];

/// Of a workload.
pub(super) const WORKLOAD_KEYS: [&str; 5] = [
    "workload_name",
    "workload_weight",
    "queue_name",
    "job_classes",
    "time_distribution",
];

/// Of a class of jobs.
pub(super) const CLASS_KEYS: [&str; 5] =
    ["class_name", "class_weight", "user_name", "type", "tasks"];

/// Of a class of jobs without a list of tasks.
pub(super) const OLD_KEYS: [&str; 16] = [
    "mtasks_avg",
    "mtasks_stddev",
    "mtime_avg",
    "mtime_stddev",
    "rtasks_avg",
    "rtasks_stddev",
    "rtime_avg",
    "rtime_stddev",
    "map_max_memory_avg",
    "map_max_memory_stddev",
    "map_max_vcores_avg",
    "map_max_vcores_stddev",
    "reduce_max_memory_avg",
    "reduce_max_memory_stddev",
    "reduce_max_vcores_avg",
    "reduce_max_vcores_stddev",
];

/// Of a task.
pub(super) const TASK_KEYS: [&str; 6] = [
    "type",
    "priority",
    "count",
    "time",
    "max_memory",
    "max_vcores",
];

/// Counts the keys of an object that nothing here uses.
pub(super) fn unused(
    account: &mut MappingReport,
    object: &Map<String, Value>,
    used: &[&str],
    of: &str,
) {
    for key in object.keys().filter(|key| !used.contains(&key.as_str())) {
        account.ignore(&format!("key {key}{of}"));
    }
}
