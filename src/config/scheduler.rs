//! Settings of the whole scheduler.

use std::collections::BTreeMap;

use crate::queue::{
    AsynchronousSettings, ConstraintHandler, HeartbeatSettings, Mends, MultiNodeSettings,
    NodePolicy, NodePolicySettings, ReferenceRules, SchedulerSettings, UserParallelSettings,
};
use crate::resource::Calculator;

use super::diagnostic::{Diagnostic, clip, clip_key};
use super::number;
use super::opportunistic::opportunistic;
use super::prefix::PREFIX;
use super::properties::{Look, Properties};
use super::resource_types::TypeTable;

const CALCULATORS: &str = "org.apache.hadoop.yarn.util.resource.";
const NODE_POLICIES: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.";

/// A key of the scheduler.
pub(super) fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Checks the limits that the scheduler's file may override too.
// As CapacitySchedulerConfigValidator.validateMemoryAllocation, validateVCores.
pub(super) fn check_limits(look: &Look<'_>) {
    for (name, defaults) in [("mb", [1024, 8192]), ("vcores", [1, 4])] {
        let key = |side: &str| format!("yarn.scheduler.{side}-allocation-{name}");
        let (low_key, high_key) = (key("minimum"), key("maximum"));
        let low = look.int(&low_key, defaults[0]);
        let high = look.int(&high_key, defaults[1]);
        if low > 0 && low <= high {
            continue;
        }
        let message = format!(
            "`{low_key}` is {low} and `{high_key}` is {high}; both must be above 0 and the maximum \
             not below the minimum"
        );
        let known = look.properties();
        let own = known.span(&low_key);
        let finding = Diagnostic::error("scheduler_allocation_limits", message)
            .at(own.clone().or_else(|| known.span(&high_key)))
            .also(own.and_then(|_| known.span(&high_key)), "the maximum");
        look.note(finding);
    }
}

/// The resource calculator.
pub(super) fn calculator(look: &Look<'_>, types: usize) -> Calculator {
    let key = key("resource-calculator");
    let text = look.text(&key);
    let name = text.as_deref().map(number::trim);
    match name.map(|name| name.strip_prefix(CALCULATORS).unwrap_or("")) {
        Some("DominantResourceCalculator") => return Calculator::Dominant { types },
        None | Some("DefaultResourceCalculator") => {}
        Some(_) => {
            let name = clip(name.unwrap_or_default());
            let finding = Diagnostic::error("calculator_class", format!("no calculator `{name}`"))
                .at(look.properties().span(&key))
                .help(format!(
                    "use `{CALCULATORS}DefaultResourceCalculator` or \
                     `{CALCULATORS}DominantResourceCalculator`"
                ));
            look.note(finding);
        }
    }
    if types > 2 {
        let message = format!(
            "the default calculator knows only memory, and the cluster has {types} resource types"
        );
        let help = format!("set `{key}` to `{CALCULATORS}DominantResourceCalculator`");
        let finding = Diagnostic::error("calculator_for_types", message);
        look.note(finding.at(look.properties().span(&key)).help(help));
    }
    Calculator::MemoryOnly { types }
}

/// Whether masters run on idle nodes of shared labels.
const MASTER_NON_EXCLUSIVE: &str =
    "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation";

/// Whether hosts are avoided where masters of an application failed, and the part of the nodes up to which they are.
const MASTERS: &str = "yarn.resourcemanager.am-scheduling.node-blacklisting";

/// Whether asks are lowered by what was placed and not fetched (YARN-11702).
const CORRECTION: &str = "yarn.resourcemanager.scheduler.autocorrect.container.allocation";

/// How many containers one heartbeat places.
fn heartbeat(look: &Look<'_>) -> HeartbeatSettings {
    let key = |name: &str| key(&format!("per-node-heartbeat.{name}"));
    let offswitch = look.int(&key("maximum-offswitch-assignments"), 1);
    HeartbeatSettings {
        maximum_offswitch: offswitch.max(1),
        multiple_assignments: look.flag(&key("multiple-assignments-enabled"), true),
        maximum_assignments: look.int(&key("maximum-container-assignments"), 100),
    }
}

/// Everything else of the scheduler.
pub(super) fn scheduler(
    look: &Look<'_>,
    types: &TypeTable,
    calculator: Calculator,
    rules: ReferenceRules,
) -> SchedulerSettings {
    let global = look.int(&key("global-queue-max-application"), -1);
    let flag = |name: &str, default| look.flag(&key(name), default);
    SchedulerSettings {
        resource_types: types.names(),
        resource_units: types.units(),
        calculator,
        minimum_allocation: types.minimum(),
        maximum_allocation: types.maximum(),
        legacy_queue_mode: flag("legacy-queue-mode.enabled", true),
        maximum_applications: look.int(&key("maximum-applications"), 10_000),
        global_queue_maximum_applications: (global > 0).then_some(global),
        maximum_application_priority: look.int("yarn.cluster.max-application-priority", 0),
        continue_looking: flag("reservations-continue-look-all-nodes", true),
        skip_reserved_nodes: flag("skip-allocate-on-nodes-with-reserved-containers", false),
        master_non_exclusive: look.flag(MASTER_NON_EXCLUSIVE, false),
        lazy_preemption: flag("lazy-preemption-enabled", false),
        heartbeat: heartbeat(look),
        asynchronous: asynchronous(look, rules.asynchronous_by_default),
        multi_node: multi_node(look),
        user_parallel: user_parallel(look),
        node_labels: look.flag("yarn.node-labels.enabled", false),
        constraint_handler: constraint_handler(look),
        corrects_asks: rules.corrects_asks && look.flag(CORRECTION, false),
        mends: mends(look),
        failed_master_threshold: failed_master_threshold(look),
        opportunistic: opportunistic(look),
        rules,
    }
}

/// Part of the nodes below which hosts are avoided where masters failed.
fn failed_master_threshold(look: &Look<'_>) -> Option<f32> {
    let enabled = look.flag(&format!("{MASTERS}-enabled"), false);
    let threshold = || look.float(&format!("{MASTERS}-disable-threshold"), 0.8);
    enabled.then(threshold)
}

/// Open faults of the reference that are mended.
pub(super) fn mends(look: &Look<'_>) -> Mends {
    Mends::of(|name| look.flag(&format!("{}{name}", Mends::PREFIX), false))
}

fn asynchronous(look: &Look<'_>, by_default: bool) -> AsynchronousSettings {
    let key = |name: &str| key(&format!("schedule-asynchronously.{name}"));
    let enabled = look.flag(&key("enable"), by_default);
    // Without threads the original does not read their settings, however broken they are.
    let (interval_ms, threads, backlog) = if enabled {
        (
            look.long(&key("scheduling-interval-ms"), 5),
            look.int(&key("maximum-threads"), 1).max(1),
            look.int(&key("maximum-pending-backlogs"), 100),
        )
    } else {
        (5, 1, 100)
    };
    AsynchronousSettings {
        enabled,
        threads: usize::try_from(threads).expect("at least 1"),
        interval_ms,
        maximum_backlog: usize::try_from(backlog.max(0)).expect("at least 0"),
    }
}

fn multi_node(look: &Look<'_>) -> MultiNodeSettings {
    let names_key = key("multi-node-sorting.policy.names");
    let names = look.text(&names_key).unwrap_or_default();
    let mut policies = Vec::new();
    for name in number::trimmed_list(&names) {
        if name.is_empty() {
            continue;
        }
        let order = match node_policy_class(look, name) {
            None if name == "default" => NodePolicy::ResourceUsage,
            None => {
                let message = format!("the policy `{}` has no class", clip(name));
                look.fail("multi_node_policy", &names_key, message);
                continue;
            }
            Some((key, class)) => match node_policy(&class) {
                Some(order) => order,
                None => {
                    look.note(unknown_node_policy(look.properties(), &key, &class));
                    continue;
                }
            },
        };
        let key = key(&format!(
            "multi-node-sorting.policy.{name}.sorting-interval.ms"
        ));
        let interval = look.long(&key, 1000);
        let Ok(interval_ms) = u64::try_from(interval) else {
            let message = format!("the sorting interval {interval} is negative");
            look.fail("multi_node_policy", &key, message);
            continue;
        };
        policies.push(NodePolicySettings {
            name: name.into(),
            order,
            interval_ms,
        });
    }
    MultiNodeSettings {
        enabled: look.flag(&key("multi-node-placement-enabled"), false),
        policies,
    }
}

/// Key and class name of a named node lookup policy.
pub(super) fn node_policy_class(look: &Look<'_>, name: &str) -> Option<(String, String)> {
    let key = key(&format!("multi-node-sorting.policy.{name}.class"));
    let class = look.text(&key).filter(|class| !class.is_empty())?;
    let class = number::trim(&class).to_owned();
    Some((key, class))
}

/// The order behind the class name of a node lookup policy.
pub(super) fn node_policy(class: &str) -> Option<NodePolicy> {
    Some(match class.strip_prefix(NODE_POLICIES).unwrap_or(class) {
        "ResourceUsageMultiNodeLookupPolicy" => NodePolicy::ResourceUsage,
        "ResourceUsageWithPartialShuffleMultiNodeLookupPolicy" => {
            NodePolicy::ResourceUsagePartialShuffle
        }
        "BestFitMultiNodeLookupPolicy" => NodePolicy::BestFit,
        _ => return None,
    })
}

pub(super) fn unknown_node_policy(properties: &Properties, key: &str, class: &str) -> Diagnostic {
    let message = format!("no node lookup policy `{}`", clip_key(class));
    Diagnostic::error("multi_node_policy", message)
        .at(properties.span(key))
        .help(format!(
            "use `{NODE_POLICIES}ResourceUsageMultiNodeLookupPolicy`"
        ))
}

fn user_parallel(look: &Look<'_>) -> UserParallelSettings {
    let (start, end) = (key("user."), ".max-parallel-apps");
    let read = |key: &str, parse: fn(&str) -> Option<i32>| {
        let text = look.text(key)?;
        let value = parse(&text);
        if value.is_none() {
            // The original looks at these only when a user submits, and fails then.
            let message = format!("`{}` is not a number; the value has no effect", clip(&text));
            let finding = Diagnostic::warning("W_VALUE_IGNORED", message);
            look.note(finding.at(look.properties().span(key)));
        }
        value
    };
    let mut by_user = BTreeMap::new();
    for key in look.keys_below(&start) {
        let user = key[start.len()..].strip_suffix(end);
        if let Some(user) = user
            && let Some(value) = read(&key, number::decimal)
        {
            by_user.insert(user.to_owned(), value);
        }
    }
    let default = read(&key("user.max-parallel-apps"), number::integer);
    UserParallelSettings {
        default: default.unwrap_or(i32::MAX),
        by_user,
    }
}

fn constraint_handler(look: &Look<'_>) -> ConstraintHandler {
    let key = "yarn.resourcemanager.placement-constraints.handler";
    let text = look.text(key).unwrap_or_default();
    match number::trim(&text) {
        "scheduler" => ConstraintHandler::Scheduler,
        "placement-processor" => ConstraintHandler::Processor,
        "" | "disabled" => ConstraintHandler::Disabled,
        other => {
            let message = format!("no handler of placement constraints `{}`", clip(other));
            let finding = Diagnostic::warning("W_VALUE_IGNORED", message)
                .at(look.properties().span(key))
                .help("use `scheduler`, `placement-processor` or `disabled`");
            look.note(finding);
            ConstraintHandler::Disabled
        }
    }
}
