//! The cluster as a whole.
// As ClusterInfo, ClusterMetricsInfo, SchedulerOverviewInfo and ApplicationStatisticsInfo.

use capsched::commit::Ledger;
use capsched::id::PartitionId;
use capsched::resource::ResourceVector;
use capsched::snapshot::State;

use super::queue_counts::counts;
use super::resource::open;
use crate::rest::tree::Object;
use crate::rm::{AppState, Application, Books, NodeLife};

/// Versions and states of the daemon.
pub(in crate::rest) fn info(cluster: u64, store: &str) -> Object {
    let version = env!("CARGO_PKG_VERSION");
    let build = format!("{version} from capsched");
    let elector =
        "Could not find leader elector. Verify both HA and automatic failover are enabled.";
    Object::new()
        .with("id", cluster)
        .with("startedOn", cluster)
        .with("state", "STARTED")
        .with("haState", "ACTIVE")
        .with("rmStateStoreName", store)
        .with("resourceManagerVersion", version)
        .with("resourceManagerBuildVersion", build.clone())
        .with("resourceManagerVersionBuiltOn", "")
        .with("hadoopVersion", version)
        .with("hadoopBuildVersion", build)
        .with("hadoopVersionBuiltOn", "")
        .with("haZooKeeperConnectionState", elector)
}

/// Counts of applications, as the metrics of the root queue have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::rest) struct AppCounts {
    submitted: usize,
    completed: usize,
    pending: usize,
    running: usize,
    failed: usize,
    killed: usize,
}

impl AppCounts {
    /// Those of all applications that the scheduler accepted, those that are not known any more included.
    pub(in crate::rest) fn of(books: &Books) -> Self {
        let [completed, failed, killed] = [AppState::Finished, AppState::Failed, AppState::Killed]
            .map(|state| books.forgotten_apps(state));
        let mut counts = Self {
            submitted: completed + failed + killed,
            completed,
            failed,
            killed,
            ..Self::default()
        };
        for app in books.apps().filter(|app| !app.attempts.is_empty()) {
            counts.submitted += 1;
            // As AppSchedulingInfo.allocate, which takes an application for running with its first container.
            let started = app.attempts.iter().any(|attempt| attempt.master.is_some());
            match app.state {
                AppState::Finished => counts.completed += 1,
                AppState::Failed => counts.failed += 1,
                AppState::Killed => counts.killed += 1,
                _ if started => counts.running += 1,
                _ => counts.pending += 1,
            }
        }
        counts
    }
}

/// Counts of nodes by where they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::rest) struct NodeCounts {
    active: usize,
    lost: usize,
    unhealthy: usize,
    decommissioning: usize,
    decommissioned: usize,
    shutdown: usize,
}

impl NodeCounts {
    /// Those of all nodes that ever registered.
    pub(in crate::rest) fn of(books: &Books) -> Self {
        let count = |life| books.nodes().count(life);
        Self {
            active: count(NodeLife::Running),
            lost: count(NodeLife::Lost),
            unhealthy: count(NodeLife::Unhealthy),
            decommissioning: count(NodeLife::Decommissioning),
            decommissioned: count(NodeLife::Decommissioned),
            shutdown: count(NodeLife::Shutdown),
        }
    }

    const fn all(self) -> usize {
        self.active
            + self.lost
            + self.unhealthy
            + self.decommissioning
            + self.decommissioned
            + self.shutdown
    }
}

/// The figures of the whole cluster. Those of applications and resources are of the default partition.
pub(in crate::rest) fn metrics(ledger: &Ledger, apps: AppCounts, nodes: NodeCounts) -> Object {
    let state = ledger.state();
    let root = &state.queues[State::ROOT];
    let part = root.part(PartitionId::DEFAULT);
    let counts = counts(ledger)
        .get(&State::ROOT)
        .copied()
        .unwrap_or_default();
    let (used, reserved) = (part.used.get(), part.reserved.get());
    let allocated = used - reserved;
    let available = part.limit.get().minus_floored(&used);
    let pending = part.pending.get();
    let (mut all_used, mut all_reserved) = (ResourceVector::NONE, ResourceVector::NONE);
    for part in root.parts.iter() {
        all_used += part.used.get();
        all_reserved += part.reserved.get();
    }
    let object = Object::new()
        .with("appsSubmitted", apps.submitted)
        .with("appsCompleted", apps.completed)
        .with("appsPending", apps.pending)
        .with("appsRunning", apps.running)
        .with("appsFailed", apps.failed)
        .with("appsKilled", apps.killed)
        .with("reservedMB", reserved.memory())
        .with("availableMB", available.memory())
        .with("allocatedMB", allocated.memory())
        .with("pendingMB", pending.memory())
        .with("reservedVirtualCores", reserved.vcores())
        .with("availableVirtualCores", available.vcores())
        .with("allocatedVirtualCores", allocated.vcores())
        .with("pendingVirtualCores", pending.vcores())
        .with("containersAllocated", counts.allocated)
        .with("containersReserved", counts.reserved)
        .with("containersPending", counts.pending)
        .with("totalMB", (available + used).memory())
        .with("utilizedMB", 0)
        .with("totalVirtualCores", (available + used).vcores())
        .with("utilizedVirtualCores", 0)
        .with("utilizedMBPercent", 0)
        .with("utilizedVirtualCoresPercent", 0)
        .with("rmSchedulerBusyPercent", 0);
    node_counts(object, nodes)
        .with("containerAssignedPerSecond", 0)
        .with(
            "totalUsedResourcesAcrossPartition",
            open(&state.settings, &all_used),
        )
        .with(
            "totalClusterResourcesAcrossPartition",
            open(&state.settings, &state.cluster),
        )
        .with(
            "totalReservedResourcesAcrossPartition",
            open(&state.settings, &all_reserved),
        )
        .with("totalAllocatedContainersAcrossPartition", counts.all)
        .with("crossPartitionMetricsAvailable", true)
        .with("rmEventQueueSize", 0)
        .with("schedulerEventQueueSize", 0)
}

fn node_counts(object: Object, nodes: NodeCounts) -> Object {
    object
        .with("totalNodes", nodes.all())
        .with("lostNodes", nodes.lost)
        .with("unhealthyNodes", nodes.unhealthy)
        .with("decommissioningNodes", nodes.decommissioning)
        .with("decommissionedNodes", nodes.decommissioned)
        .with("rebootedNodes", 0)
        .with("activeNodes", nodes.active)
        .with("shutdownNodes", nodes.shutdown)
}

/// What kind of scheduler it is and what it allocates.
pub(in crate::rest) fn overview(ledger: &Ledger) -> Object {
    let settings = &ledger.state().settings;
    let types = settings.resource_types.iter().enumerate();
    let types = types.map(|(i, name)| {
        match settings
            .resource_units
            .get(i)
            .map_or("", |unit| unit.name())
        {
            "" => name.to_string(),
            unit => format!("{name} (unit={unit})"),
        }
    });
    Object::new()
        .with("schedulerType", "Capacity Scheduler")
        .with(
            "schedulingResourceType",
            types.collect::<Vec<_>>().join(","),
        )
        .with(
            "minimumAllocation",
            open(settings, &settings.minimum_allocation),
        )
        .with(
            "maximumAllocation",
            open(settings, &settings.maximum_allocation),
        )
        .with("applicationPriority", settings.maximum_application_priority)
        .with("schedulerBusy", 0)
        .with("rmDispatcherEventQueueSize", 0)
        .with("schedulerDispatcherEventQueueSize", 0)
}

/// How many applications of a type stand in each of some states; `*` stands for all types.
pub(in crate::rest) fn statistics(books: &Books, states: &[AppState], kind: &str) -> Object {
    let one = |&state: &AppState| {
        let of_kind = |app: &&Application| kind == "*" || app.kind.eq_ignore_ascii_case(kind);
        let apps = books.apps().filter(|app| app.state == state);
        Object::new()
            .with("state", state.name())
            .with("type", kind)
            .with("count", apps.filter(of_kind).count())
    };
    Object::new().with_many("statItem", states.iter().map(one))
}
