//! What a random scenario is mostly about.

use serde_json::{Map, Value};

use super::dice::Dice;
use super::tree::Capacities;
use super::{put, set};

/// A kind of scenario, by the names of the recordings' folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Everything but preemption, each with a chance.
    Mixed,
    /// Partitions.
    Labels,
    /// Scheduling requests with constraints.
    Constraints,
    /// Attempts over all nodes.
    Global,
    /// Attempts node by node, without heartbeats.
    AsyncNode,
    /// Dominant resources with a third type.
    Drf,
    /// Weights.
    Weights,
    /// Absolute capacities.
    Absolute,
    /// Capacity vectors outside legacy mode.
    Vectors,
    /// Rounds of preemption.
    Preempt,
    /// Parents that create leaves and parents below them.
    Flexible,
    /// Many users with weights and small limits.
    Users,
    /// Refreshes that add, stop and drop queues.
    Refresh,
    /// Changes of running containers.
    Updates,
    /// Where rules place applications.
    Mappings,
    /// Who may do what.
    Access,
}

impl Profile {
    /// All profiles with their names.
    pub(crate) const ALL: [(Self, &'static str); 16] = [
        (Self::Mixed, "mixed"),
        (Self::Labels, "labels"),
        (Self::Constraints, "constraints"),
        (Self::Global, "global"),
        (Self::AsyncNode, "async-node"),
        (Self::Drf, "drf"),
        (Self::Weights, "weights"),
        (Self::Absolute, "absolute"),
        (Self::Vectors, "vectors"),
        (Self::Preempt, "preempt"),
        (Self::Flexible, "flexible"),
        (Self::Users, "users"),
        (Self::Refresh, "refresh"),
        (Self::Updates, "updates"),
        (Self::Mappings, "mappings"),
        (Self::Access, "access"),
    ];

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(profile, _)| *profile == self)
            .map_or("", |(_, name)| name)
    }

    /// The profile of a name.
    pub(crate) fn of(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|(_, known)| *known == name);
        found.map(|(profile, _)| profile).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("the profiles are {}", names.join(", "))
        })
    }

    /// How capacities are written, where the profile is about that.
    pub(super) fn capacities(self) -> Option<Capacities> {
        match self {
            Self::Weights | Self::Flexible => Some(Capacities::Weight),
            Self::Absolute => Some(Capacities::Absolute),
            Self::Vectors => Some(Capacities::Vector),
            _ => None,
        }
    }
}

/// Keys of the preemption monitor with the chance that they are set, in percent, and their values.
const MONITOR: [(&str, u16, &[&str]); 13] = [
    ("max_wait_before_kill", 60, &["0", "3000", "15000"]),
    ("total_preemption_per_round", 60, &["1.0", "0.5", "0.1"]),
    ("natural_termination_factor", 60, &["1.0", "0.2"]),
    ("max_ignored_over_capacity", 50, &["0.0", "0.1"]),
    (
        "preemption-to-balance-queue-after-satisfied.enabled",
        20,
        &["true"],
    ),
    ("select_based_on_reserved_containers", 25, &["true"]),
    ("observe_only", 4, &["true"]),
    (
        "additional_res_balance_based_on_reserved_containers",
        10,
        &["true"],
    ),
    ("intra-queue-preemption.enabled", 40, &["true"]),
    (
        "intra-queue-preemption.preemption-order-policy",
        60,
        &["userlimit_first", "priority_first"],
    ),
    (
        "intra-queue-preemption.minimum-threshold",
        50,
        &["0.0", "0.3"],
    ),
    (
        "intra-queue-preemption.max-allowable-limit",
        50,
        &["1.0", "0.5"],
    ),
    ("conservative-drf", 15, &["true"]),
];

/// Properties of the preemption monitor.
pub(super) fn preemption(dice: &mut Dice, site: &mut Map<String, Value>) {
    put(
        site,
        "yarn.resourcemanager.scheduler.monitor.enable",
        "true",
    );
    for (key, chance, values) in MONITOR {
        if dice.chance(chance) {
            let key = format!("yarn.resourcemanager.monitor.capacity.preemption.{key}");
            put(site, &key, dice.pick(values));
        }
    }
}

/// Keys of the queues' file that have to do with preemption.
pub(super) fn preemption_of_queues(dice: &mut Dice, config: &mut Map<String, Value>) {
    const LOW_USE: &str = "ordering-policy.priority-utilization.underutilized-preemption.";
    if dice.chance(25) {
        set(config, "lazy-preemption-enabled", "true");
    }
    if dice.chance(35) {
        set(config, &format!("{LOW_USE}enabled"), "true");
        // Ages of reservations are read off the clock of the machine: no delay.
        set(
            config,
            &format!("{LOW_USE}reserved-container-delay-ms"),
            "0",
        );
        let moves = dice.pick(&["false", "true"]);
        set(config, &format!("{LOW_USE}allow-move-reservation"), moves);
    }
}
