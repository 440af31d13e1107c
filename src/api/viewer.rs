//! Taking views: how the plain data of a view follow from the ledger.

use super::view::{
    Amounts, AppView, ByPartition, Fraction, LeafView, NodeQueueView, NodeView, PartitionView,
    QueueView, StateView, UserView,
};
use crate::commit::{Ledger, NodeQueueFigures};
use crate::id::{AppSlot, ContainerId, NodeSlot, PartitionId, QueueSlot};
use crate::policy::last_user_limit;
use crate::queue::{App, AppStage, LeafPart, Queue, QueueKind, QueuePart, QueueState, User};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The word for where an application stands.
#[must_use]
fn stage_name(stage: AppStage) -> &'static str {
    match stage {
        AppStage::Parked => "non_runnable",
        AppStage::Waiting => "pending",
        AppStage::Active => "active",
        AppStage::Between => "between_attempts",
        AppStage::Done | AppStage::Gone => "done",
    }
}

impl StateView {
    /// The state of a ledger. Cost: proportional to everything in it.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        let viewer = Viewer::of(ledger.state());
        let nodes = ledger.nodes_by_name();
        let nodes = nodes.map(|(_, node)| viewer.node(node, viewer.node_queue(ledger, node)));
        let apps = ledger.apps_by_id().into_iter();
        let apps = apps.map(|(_, app)| viewer.app(app, live_of(ledger, app)));
        viewer.view(nodes.collect(), apps.collect())
    }
}

pub(super) struct Viewer<'a> {
    state: &'a State,
    types: usize,
}

impl<'a> Viewer<'a> {
    pub(super) fn of(state: &'a State) -> Self {
        Self {
            state,
            types: state.calculator.types(),
        }
    }
}

impl Viewer<'_> {
    /// Everything, with views of the nodes and of the applications in order of their ids.
    pub(super) fn view(&self, mut nodes: Vec<NodeView>, apps: Vec<AppView>) -> StateView {
        nodes.sort_by(|a, b| a.node.cmp(&b.node));
        let state = self.state;
        let existing: Vec<_> = state
            .partition_ids()
            .filter(|&p| state.partitions[p].exists)
            .collect();
        let partitions = existing
            .iter()
            .map(|&p| (self.name(p), self.amounts(&state.total(p))))
            .collect();
        StateView {
            cluster: self.amounts(&state.cluster),
            partitions: (existing.len() > 1).then_some(partitions),
            queues: state
                .subtree(State::ROOT)
                .into_iter()
                .map(|queue| self.queue(queue))
                .collect(),
            nodes,
            apps,
        }
    }

    fn name(&self, partition: PartitionId) -> String {
        self.state.partitions[partition].name.to_string()
    }

    fn amounts(&self, amount: &ResourceVector) -> Amounts {
        amount.values(self.types).to_vec()
    }

    fn unless_none(&self, amount: &ResourceVector) -> Option<Amounts> {
        (!amount.is_none()).then(|| self.amounts(amount))
    }

    fn by_partition(&self, of: impl Fn(PartitionId) -> ResourceVector) -> ByPartition {
        let partitions = self.state.partition_ids();
        let existing = partitions.filter(|&p| self.state.partitions[p].exists);
        existing
            .filter_map(|p| Some((self.name(p), self.unless_none(&of(p))?)))
            .collect()
    }

    /// Whether a queue belongs to a managed parent, whose leaves are not called dynamic.
    fn managed(&self, queue: &Queue) -> bool {
        let parent = queue.parent.map(|parent| &self.state.queues[parent]);
        parent.is_some_and(|parent| parent.settings.kind == QueueKind::ManagedParent)
    }

    pub(super) fn queue(&self, slot: QueueSlot) -> QueueView {
        let queue = &self.state.queues[slot];
        QueueView {
            path: queue.settings.path.to_string(),
            kind: if queue.is_leaf() { "leaf" } else { "parent" },
            dynamic: queue.settings.dynamic && !self.managed(queue),
            state: match queue.state {
                QueueState::Running => None,
                QueueState::Draining => Some("DRAINING"),
                QueueState::Stopped => Some("STOPPED"),
            },
            priority: Some(queue.settings.priority).filter(|&priority| priority != 0),
            num_apps: (!queue.is_leaf()).then_some(queue.apps),
            leaf: queue.is_leaf().then(|| self.leaf(queue)),
            labels: self
                .state
                .partition_ids()
                .filter(|&p| {
                    let part = queue.part(p);
                    let used = !part.used.is_none() || !part.pending.is_none();
                    self.state.partitions[p].exists && (part.known || used)
                })
                .map(|p| (self.name(p), self.partition(queue, p)))
                .collect(),
        }
    }

    fn leaf(&self, queue: &Queue) -> LeafView {
        let leaf = queue.as_leaf();
        LeafView {
            active_apps: leaf.active.len(),
            pending_apps: leaf.waiting.len(),
            non_runnable_apps: leaf.parked.len(),
            max_apps: leaf.maximum_applications,
            max_apps_per_user: leaf.maximum_applications_per_user,
            max_alloc: self.amounts(&queue.settings.maximum_allocation),
            num_active_users: leaf.active_users(),
            users: leaf
                .users
                .iter()
                .map(|&user| &self.state.users[user])
                .map(|user| (user.name.to_string(), self.user(user)))
                .collect(),
        }
    }

    fn user(&self, user: &User) -> UserView {
        UserView {
            used: self.by_partition(|p| user.part(p).used.get()),
            am_used: self.by_partition(|p| user.part(p).master_used.get()),
            weight: Fraction(user.weight),
            active_apps: user.active_apps,
            pending_apps: user.waiting_apps,
            last_limit: self.unless_none(&last_user_limit(self.state, user)),
        }
    }

    fn partition(&self, queue: &Queue, partition: PartitionId) -> PartitionView {
        let part: &QueuePart = queue.part(partition);
        let weighted =
            part.weight.to_bits() != (-1.0f32).to_bits() || part.normalized_weight.to_bits() != 0;
        let leaf = queue.leaf.as_ref().map(|leaf| &leaf.parts[partition]);
        let masters = leaf.and_then(LeafPart::master_limit).unwrap_or_default();
        let of_user = leaf
            .map(|leaf| leaf.user_master_limit.get())
            .unwrap_or_default();
        PartitionView {
            cap: Fraction(part.capacity),
            abs_cap: Fraction(part.absolute_capacity),
            max_cap: Fraction(part.maximum_capacity),
            abs_max_cap: Fraction(part.absolute_maximum),
            used_cap: Fraction(part.used_capacity),
            abs_used_cap: Fraction(part.absolute_used),
            weight: weighted.then_some(Fraction(part.weight)),
            norm_weight: weighted.then_some(Fraction(part.normalized_weight)),
            eff_min: self.amounts(&part.guaranteed.get()),
            eff_max: self.amounts(&part.limit.get()),
            used: self.unless_none(&part.used.get()),
            reserved: self.unless_none(&part.reserved.get()),
            pending: self.unless_none(&part.pending.get()),
            am_used: leaf.and_then(|_| self.unless_none(&part.master_used.get())),
            am_limit: self.unless_none(&masters),
            user_am_limit: self.unless_none(&of_user),
        }
    }

    /// The opportunistic containers of a node.
    pub(super) fn node_queue(&self, ledger: &Ledger, slot: NodeSlot) -> Option<NodeQueueView> {
        let queue = ledger.node_rooms().queue(slot)?;
        Some(self.queue_of(&queue.figures()))
    }

    /// The opportunistic containers of a node, of which the figures were copied.
    pub(super) fn queue_of(&self, figures: &NodeQueueFigures) -> NodeQueueView {
        NodeQueueView {
            queued: figures.queued,
            started: figures.started,
            used: self.amounts(&figures.used),
        }
    }

    pub(super) fn node(&self, slot: NodeSlot, opportunistic: Option<NodeQueueView>) -> NodeView {
        let node = &self.state.nodes[slot];
        let mut killable: Vec<_> = node.killable.iter().map(|k| pair(k.container)).collect();
        killable.sort_unstable();
        NodeView {
            node: node.name.to_string(),
            partition: (node.partition != PartitionId::DEFAULT).then(|| self.name(node.partition)),
            state: node.state,
            total: self.amounts(&node.total.get()),
            allocated: self.amounts(&node.allocated.get()),
            available: self.amounts(&node.free.get()),
            containers: node.containers,
            reserved: node
                .reserved
                .map(|held| [self.state.apps[held.app].id.sequence, held.number]),
            killable,
            opportunistic,
        }
    }

    /// An application with the numbers of its live containers.
    pub(super) fn app(&self, slot: AppSlot, live: Vec<u32>) -> AppView {
        let app: &App = &self.state.apps[slot];
        let mut held: Vec<_> = app
            .keys
            .iter()
            .flat_map(|asks| &asks.reserved)
            .map(|held| (held.number, self.state.nodes[held.node].name.to_string()))
            .collect();
        held.sort_unstable();
        AppView {
            app: app.id.sequence,
            state: stage_name(app.stage),
            queue: self.state.queues[app.leaf].settings.path.to_string(),
            priority: app.priority,
            pending: self.by_partition(|p| app.part(p).pending.get()),
            used: self.by_partition(|p| app.part(p).used.get()),
            reserved: self.by_partition(|p| app.part(p).reserved.get()),
            live,
            reserved_containers: held,
        }
    }
}

/// The numbers of the live containers of an application.
pub(super) fn live_of(ledger: &Ledger, app: AppSlot) -> Vec<u32> {
    let live = ledger.live_containers(app);
    live.map(|container| container.id.number).collect()
}

fn pair(id: ContainerId) -> [u32; 2] {
    [id.app.sequence, id.number]
}
