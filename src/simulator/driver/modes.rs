//! What a run of a mode is driven with: settings of the scheduler, periods, and how long it is waited for.
//!
//! Tests: `tests/simulation`.

use std::sync::Arc;

use super::patience::{rounds_for_opportunities, rounds_for_reservations};
use super::settings::DriverSettings;
use crate::api::{ModeKind, PreemptionSettings, TreeSettings};
use crate::queue::{NodePolicy, NodePolicySettings};

/// Heartbeats place nothing in the modes that run rounds. They report what was killed, which only preemption, lost
/// nodes and failed jobs do, so that one a minute is enough.
const IDLE_HEARTBEAT_MS: u64 = 60_000;

/// Settings under which one decision looks at all nodes, what the reference calls multi-node
/// placement. Where no policy sorts them the least used comes first: without one, the reference
/// reserves on the first node as soon as that is full.
#[must_use]
pub fn among_all_nodes(mut settings: TreeSettings) -> TreeSettings {
    let multi_node = &mut settings.scheduler.multi_node;
    multi_node.enabled = true;
    if multi_node.policies.is_empty() {
        let name: Arc<str> = "resource-usage".into();
        multi_node.policies.push(NodePolicySettings {
            name: Arc::clone(&name),
            order: NodePolicy::ResourceUsage,
            interval_ms: 0,
        });
        for queue in &mut settings.queues {
            queue.node_policy = Some(Arc::clone(&name));
        }
    }
    settings
}

/// Settings as a mode needs them, whatever the configuration says.
#[must_use]
pub fn fitted_to(mode: ModeKind, mut settings: TreeSettings) -> TreeSettings {
    if mode == ModeKind::Global {
        settings = among_all_nodes(settings);
    }
    let asynchronous = &mut settings.scheduler.asynchronous;
    asynchronous.name_mode(mode == ModeKind::Heartbeat);
    settings
}

/// The nodes of a run, as far as periods depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunNodes {
    /// How many there are.
    pub count: usize,
    /// Whether idle nodes of a shared partition may be borrowed.
    pub borrows: bool,
}

impl DriverSettings {
    /// How a run of a mode is driven: `heartbeat_ms` is the period of a node's heartbeats in the heartbeat mode,
    /// `round_ms` that of rounds in the others. A run goes on until nothing changes any more, however long that
    /// takes by its rules.
    #[must_use]
    pub fn for_mode(
        mode: ModeKind,
        settings: &TreeSettings,
        nodes: RunNodes,
        preemption: Option<&PreemptionSettings>,
        (heartbeat_ms, round_ms): (u64, u64),
    ) -> Self {
        let (heartbeat_ms, round_ms, period) = match mode {
            ModeKind::Heartbeat => (heartbeat_ms, None, heartbeat_ms),
            ModeKind::Asynchronous | ModeKind::Global => {
                (IDLE_HEARTBEAT_MS, Some(round_ms), round_ms)
            }
        };
        let patience_ms = patience_ms(nodes, preemption, period);
        let names = &settings.scheduler.resource_types;
        Self {
            types: names.len(),
            type_names: names.clone(),
            memory_only: settings.scheduler.calculator.fitting_types() == 1,
            heartbeat_ms,
            round_ms,
            quiet_ms: Some(patience_ms),
            looks_ms: period.saturating_mul(rounds_for_reservations(settings)),
            patience_ms,
            rounds_look_at_all: mode == ModeKind::Global,
            ..Self::default()
        }
    }
}

/// How long nothing changes, in virtual ms, before nothing will for missed opportunities; `period`: of rounds or
/// heartbeats.
fn patience_ms(nodes: RunNodes, preemption: Option<&PreemptionSettings>, period: u64) -> u64 {
    let count = u64::try_from(nodes.count).unwrap_or(1).max(1);
    let turns = rounds_for_opportunities(count, nodes.borrows);
    let patience_ms = period.saturating_mul(turns);
    let Some(preemption) = preemption else {
        return patience_ms;
    };
    // Nothing happens between asking back and killing; a run must not end in between.
    let wait = preemption.max_wait_before_kill_ms;
    let wait = wait.max(preemption.balance.unwrap_or(0));
    let rounds = preemption.monitoring_interval_ms.saturating_mul(2);
    patience_ms.saturating_add(wait).saturating_add(rounds)
}
