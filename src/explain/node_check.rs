//! Why not this node: each condition that a node must fulfil for a container, and whether it does.

use super::finding::amounts;
use super::nodes::is_local;
use crate::cluster::{Node, NodeState};
use crate::id::{AppSlot, NameId, NodeSlot};
use crate::policy::constraint_holds;
use crate::queue::KeyAsks;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// One condition for a container on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCheck {
    /// A stable word: `state`, `label`, `size`, `room`, `reservation`, `blacklist`, `locality`,
    /// `constraint`.
    pub what: &'static str,
    /// Whether the node fulfils it.
    pub holds: bool,
    /// What is asked and what the node has, as a sentence without a full stop.
    pub detail: String,
}

impl NodeCheck {
    /// The words of all conditions, in the order in which they are checked.
    pub const WORDS: [&str; 8] = [
        "state",
        "label",
        "size",
        "room",
        "reservation",
        "blacklist",
        "locality",
        "constraint",
    ];
}

/// The conditions of one key on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyOnNode {
    /// Request priority.
    pub priority: i32,
    /// Allocation request id.
    pub request_id: i64,
    /// Containers outstanding.
    pub containers: u64,
    /// Size of one container.
    pub size: ResourceVector,
    /// Every condition.
    pub checks: Vec<NodeCheck>,
}

impl KeyOnNode {
    /// Whether the node could take a container of the key now, as far as the node decides.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }
}

/// What a node lacks for each key of an application that waits; empty when nothing waits.
///
/// Cost: that of the outstanding keys and of their constraints.
#[must_use]
pub fn why_not(state: &State, app: AppSlot, node: NodeSlot) -> Vec<KeyOnNode> {
    let row = &state.apps[app];
    let open = row.keys.iter().filter(|asks| asks.is_outstanding());
    open.filter_map(|asks| {
        let size = asks.at(NameId::ANY)?.size.get();
        Some(KeyOnNode {
            priority: asks.key.priority,
            request_id: asks.key.request_id,
            containers: u64::try_from(asks.count(NameId::ANY)).unwrap_or(0),
            size,
            checks: checks(state, app, asks, node, &size),
        })
    })
    .collect()
}

fn checks(
    state: &State,
    app: AppSlot,
    asks: &KeyAsks,
    slot: NodeSlot,
    size: &ResourceVector,
) -> Vec<NodeCheck> {
    let node = &state.nodes[slot];
    let mut checks = vec![
        of_state(node),
        of_label(state, asks, node),
        of_amount(state, "size", size, &node.total.get(), "offers"),
        of_amount(state, "room", size, &node.free.get(), "has free"),
        of_reservation(state, app, node),
    ];
    checks.extend(of_wishes(state, app, asks, node));
    checks
}

/// What the application wishes of its nodes.
fn of_wishes(state: &State, app: AppSlot, asks: &KeyAsks, node: &Node) -> [NodeCheck; 3] {
    let blacklist = &state.apps[app].blacklist;
    let excluded = blacklist.contains(node.host) || blacklist.contains(node.rack);
    let check = |what, holds, yes: &str, no: &str| NodeCheck {
        what,
        holds,
        detail: (if holds { yes } else { no }).to_owned(),
    };
    [
        check(
            "blacklist",
            !excluded,
            "the application does not exclude it",
            "the application excludes it",
        ),
        check(
            "locality",
            is_local(asks, node),
            "the ask allows it",
            "the ask names other hosts or racks only",
        ),
        check(
            "constraint",
            constraint_holds(state, app, asks, node),
            "no constraint rules it out",
            "the placement constraint rules it out",
        ),
    ]
}

fn of_state(node: &Node) -> NodeCheck {
    let detail = match node.state {
        NodeState::Running => "takes containers",
        NodeState::Decommissioning => "is being decommissioned and takes no new containers",
        NodeState::Lost => "is gone",
        NodeState::Held => "is held for a gang and takes no other container",
    };
    NodeCheck {
        what: "state",
        holds: node.takes_containers(),
        detail: detail.to_owned(),
    }
}

/// A node of another partition may serve asks of the default one while it is shared.
// As SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY, which serves the default partition alone.
fn of_label(state: &State, asks: &KeyAsks, node: &Node) -> NodeCheck {
    let (has, wants) = (
        &state.partitions[node.partition],
        &state.partitions[asks.partition],
    );
    let same = node.partition == asks.partition;
    let borrows = asks.partition == crate::id::PartitionId::DEFAULT && !has.exclusive;
    let named = |name: &str| {
        if name.is_empty() {
            "no label".to_owned()
        } else {
            format!("label {name}")
        }
    };
    let detail = if same {
        format!("has {}, as asked", named(&has.name))
    } else if borrows {
        format!(
            "has {}, which is shared with asks without a label",
            named(&has.name)
        )
    } else {
        format!(
            "has {}; the ask wants {}",
            named(&has.name),
            named(&wants.name)
        )
    };
    NodeCheck {
        what: "label",
        holds: same || borrows,
        detail,
    }
}

fn of_amount(
    state: &State,
    what: &'static str,
    size: &ResourceVector,
    room: &ResourceVector,
    verb: &str,
) -> NodeCheck {
    let types = &state.settings.resource_types;
    NodeCheck {
        what,
        holds: state.calculator.fits_in(size, room),
        detail: format!(
            "{verb} {}; {} asked",
            amounts(room, types),
            amounts(size, types)
        ),
    }
}

fn of_reservation(state: &State, app: AppSlot, node: &Node) -> NodeCheck {
    let (holds, detail) = match &node.reserved {
        None => (true, "is not reserved".to_owned()),
        Some(own) if own.app == app => (true, "is reserved for it".to_owned()),
        Some(other) => {
            let types = &state.settings.resource_types;
            let (id, size) = (state.apps[other.app].id, amounts(&other.size, types));
            (false, format!("is reserved by {id} for {size}"))
        }
    };
    NodeCheck {
        what: "reservation",
        holds,
        detail,
    }
}
