//! Applications, their attempts and containers.
// As AppInfo, AppAttemptInfo and ContainerInfo.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::ApplicationId;
use capsched::commit::Ledger;
use capsched::id::{AppSlot, NameId, PartitionId};
use capsched::queue::{PlaceAsk, SchedulerSettings};
use capsched::resource::{ResourceVector, share};

use super::queue::usage;
use super::queue_counts::counts_of;
use super::resource::open;
use crate::rest::time;
use crate::rest::tree::Object;
use crate::rm::{AppState, Application, Attempt};

/// What the scheduler counts for a live application.
#[derive(Clone, Debug)]
pub(in crate::rest) struct Figures {
    used: ResourceVector,
    reserved: ResourceVector,
    running: i64,
    queue_share: f32,
    cluster_share: f32,
    usages: Object,
    requests: Vec<Object>,
    master_label: String,
    /// Sizes of live containers, by attempt and number.
    live: Vec<(u32, ResourceVector)>,
}

/// The figures of those applications that live, each given with the partitions on which it ever had containers.
pub(in crate::rest) fn figures(
    ledger: &Ledger,
    apps: Vec<(ApplicationId, BTreeSet<String>)>,
) -> BTreeMap<ApplicationId, Figures> {
    let live = apps.into_iter();
    let live = live.filter_map(|(id, ever)| Some((id, of_app(ledger, ledger.app(id)?, &ever))));
    live.collect()
}

fn of_app(ledger: &Ledger, slot: AppSlot, ever: &BTreeSet<String>) -> Figures {
    let state = ledger.state();
    let app = &state.apps[slot];
    let (mut used, mut reserved) = (ResourceVector::NONE, ResourceVector::NONE);
    for part in app.parts.iter() {
        used += part.used.get();
        reserved += part.reserved.get();
    }
    let counts = counts_of(ledger, slot);
    let live = ledger.live_containers(slot);
    let live: Vec<_> = live.map(|live| (live.id.number, live.size.get())).collect();
    let running = i64::try_from(live.len()).unwrap_or(counts.all);
    let (queue_share, cluster_share) = shares(ledger, slot, &used);
    Figures {
        used,
        reserved,
        running,
        queue_share,
        cluster_share,
        usages: usages(ledger, slot, ever),
        requests: requests(ledger, slot),
        master_label: state.partitions[app.master_partition].name.to_string(),
        live,
    }
}

/// What an application uses, in percent of its queue's guarantee and of the cluster.
// As FiCaSchedulerApp.getResourceUsageReport.
fn shares(ledger: &Ledger, slot: AppSlot, used: &ResourceVector) -> (f32, f32) {
    let state = ledger.state();
    let app = &state.apps[slot];
    let calculator = &state.calculator;
    let part_of = |whole: &ResourceVector, of: &ResourceVector| {
        share::product(calculator.divide(whole, used, of), 100.0)
    };
    let total = state.total(app.master_partition);
    let absolute = state.queues[app.leaf]
        .part(app.master_partition)
        .absolute_capacity;
    let guarantee = share::times(&total, f64::from(absolute));
    let of_queue = if total.is_none() || !share::above_none(absolute) {
        0.0
    } else {
        part_of(&total, &guarantee)
    };
    let of_cluster = if state.cluster.is_none() {
        0.0
    } else {
        part_of(&state.cluster, &state.cluster)
    };
    (of_queue, of_cluster)
}

fn usages(ledger: &Ledger, slot: AppSlot, ever: &BTreeSet<String>) -> Object {
    let state = ledger.state();
    let app = &state.apps[slot];
    let settings = &state.settings;
    let none = ResourceVector::NONE;
    let known = |partition: &PartitionId| {
        let part = app.part(*partition);
        let amounts = [&part.used, &part.reserved, &part.pending];
        let any = amounts.iter().any(|amount| !amount.is_none());
        *partition == PartitionId::DEFAULT
            || any
            || ever.contains(&*state.partitions[*partition].name)
    };
    let one = |partition: PartitionId| {
        let part = app.part(partition);
        let masters = if partition == app.master_partition && !app.unmanaged {
            app.submission.master_size
        } else {
            none
        };
        let amounts = [&part.used.get(), &part.reserved.get(), &part.pending.get()];
        usage(&state.partitions[partition].name, settings, amounts)
            .with("amUsed", open(settings, &masters))
            .with("amLimit", open(settings, &none))
            .with("userAmLimit", open(settings, &none))
    };
    let partitions = state.partition_ids().filter(known);
    // As AbstractComparatorOrderingPolicy.updateSchedulingResourceUsage, which keeps what the fair order compares
    // under this name.
    let fair = state.queues[app.leaf]
        .leaf
        .as_ref()
        .is_some_and(|leaf| leaf.fair);
    let compared = (fair && !ever.is_empty()).then(|| {
        usage("*", settings, [&none, &none, &none])
            .with("amUsed", open(settings, &none))
            .with("amLimit", open(settings, &none))
            .with("userAmLimit", open(settings, &none))
    });
    let usages = partitions.map(one).chain(compared);
    Object::new().with_many("resourceUsagesByPartition", usages)
}

/// Outstanding asks.
// As ResourceRequestInfo.
fn requests(ledger: &Ledger, slot: AppSlot) -> Vec<Object> {
    let state = ledger.state();
    let app = &state.apps[slot];
    let settings = &state.settings;
    let mut all = Vec::new();
    for asks in app.keys.iter().filter(|asks| asks.is_outstanding()) {
        let one = |ask: &PlaceAsk| {
            let place = if ask.place == NameId::ANY {
                "*"
            } else {
                ledger.place_name(ask.place)
            };
            let partition = ask.partition.unwrap_or(PartitionId::DEFAULT);
            let execution = Object::new()
                .with("executionType", "GUARANTEED")
                .with("enforceExecutionType", false);
            Object::new()
                .with("priority", asks.key.priority)
                .with("allocationRequestId", asks.key.request_id)
                .with("resourceName", place)
                .with("capability", open(settings, &ask.size.get()))
                .with("numContainers", ask.count)
                .with("relaxLocality", ask.relax)
                .with("nodeLabelExpression", &*state.partitions[partition].name)
                .with("executionTypeRequest", execution)
        };
        let open = asks.places.iter().filter(|ask| ask.count > 0);
        all.extend(open.map(one));
    }
    all
}

/// What a caller wants to see of applications.
#[derive(Clone, Debug)]
pub(in crate::rest) struct AppShown<'a> {
    /// Start of the cluster.
    pub(in crate::rest) cluster: u64,
    /// The present time.
    pub(in crate::rest) now_ms: u64,
    /// Host and port by which the caller reached the daemon.
    pub(in crate::rest) base: &'a str,
    /// Names of the resource types.
    pub(in crate::rest) settings: &'a SchedulerSettings,
    /// Groups of fields to leave out, in lower case.
    pub(in crate::rest) deselects: &'a [String],
    /// Whether the caller may see what concerns the application's user alone.
    pub(in crate::rest) full: bool,
}

impl AppShown<'_> {
    fn leaves_out(&self, group: &str) -> bool {
        self.deselects.iter().any(|name| name == group)
    }

    /// One application.
    pub(in crate::rest) fn app(&self, app: &Application, figures: Option<&Figures>) -> Object {
        let object = self.identity(app);
        if !self.full {
            return object;
        }
        let object = self.times(object, app);
        let object = self.amounts(object, app, figures);
        let object = self.seconds(object, app, figures);
        self.remaining(object, app, figures)
    }

    fn identity(&self, app: &Application) -> Object {
        let id = app.id.to_string();
        let shown = Object::new().with("id", id);
        let is_ready = is_tracked(app);
        let ui = match (is_ready, app.finished_ms) {
            (false, _) => "UNASSIGNED",
            (true, 0) => "ApplicationMaster",
            (true, _) => "History",
        };
        let url = is_ready.then(
            || match app.attempt().and_then(|attempt| attempt.host.as_ref()) {
                Some(_) => format!("http://{}/proxy/{}/", self.base, app.id),
                None => format!("http://{}/cluster/app/{}", self.base, app.id),
            },
        );
        shown
            .with("user", app.user.clone())
            .with("name", app.name.clone())
            .with("queue", app.queue.clone())
            .with("state", app.state.name())
            .with("finalStatus", app.final_status.name())
            .with("progress", app.progress)
            .with("trackingUI", ui)
            .with_some("trackingUrl", url)
            .with("diagnostics", app.diagnostics.clone())
            .with("clusterId", self.cluster)
            .with("applicationType", app.kind.clone())
            .with("applicationTags", app.tags.join(","))
            .with("priority", app.priority)
    }

    fn times(&self, object: Object, app: &Application) -> Object {
        let end = if app.finished_ms == 0 {
            self.now_ms
        } else {
            app.finished_ms
        };
        let master = app.attempt().and_then(|attempt| attempt.master.as_ref());
        let logs = master.map(|(container, node)| {
            format!(
                "http://{}:{}/node/containerlogs/{container}/{}",
                node.host(),
                app.master_http_port,
                app.user
            )
        });
        let page = master.map(|(_, node)| format!("{}:{}", node.host(), app.master_http_port));
        let attempt = app.attempt();
        let rpc = attempt.and_then(|attempt| {
            let host = attempt.host.as_ref()?;
            Some(format!("{host}:{}", attempt.rpc_port))
        });
        object
            .with("startedTime", app.started_ms)
            .with("launchTime", app.launched_ms)
            .with("finishedTime", app.finished_ms)
            .with("elapsedTime", end.saturating_sub(app.started_ms))
            .with_some("amContainerLogs", logs)
            .with_some("amHostHttpAddress", page)
            .with_some("amRPCAddress", rpc)
            .with(
                "masterNodeId",
                master.map(|(_, node)| node.to_string()).unwrap_or_default(),
            )
    }

    /// What it uses now; -1 for an application that had an attempt and has ended.
    fn amounts(&self, object: Object, app: &Application, figures: Option<&Figures>) -> Object {
        let ended = if app.attempts.is_empty() { 0 } else { -1 };
        let of = |amount: fn(&Figures) -> i64| figures.map_or(ended, amount);
        object
            .with("allocatedMB", of(|figures| figures.used.memory()))
            .with("allocatedVCores", of(|figures| figures.used.vcores()))
            .with("reservedMB", of(|figures| figures.reserved.memory()))
            .with("reservedVCores", of(|figures| figures.reserved.vcores()))
            .with("runningContainers", of(|figures| figures.running))
    }

    fn seconds(&self, object: Object, app: &Application, figures: Option<&Figures>) -> Object {
        let types = self.settings.resource_types.len();
        let used = self.used_seconds(app, figures);
        let shown = |sums: &[i64]| -> Vec<(String, i64)> {
            let names = self.settings.resource_types.iter();
            let pairs = names.zip(sums).map(|(name, &sum)| (name.to_string(), sum));
            pairs.collect()
        };
        let any = |sums: &[i64]| {
            if sums.iter().any(|&sum| sum != 0) {
                shown(sums)
            } else {
                Vec::new()
            }
        };
        let preempted = seconds_of(&app.usage.preempted_ms, types);
        let at = |sums: &[i64], i: usize| sums.get(i).copied().unwrap_or(0);
        object
            .with("memorySeconds", at(&used, 0))
            .with("vcoreSeconds", at(&used, 1))
            .with(
                "queueUsagePercentage",
                figures.map_or(0.0, |figures| figures.queue_share),
            )
            .with(
                "clusterUsagePercentage",
                figures.map_or(0.0, |figures| figures.cluster_share),
            )
            .with_map("resourceSecondsMap", self.map_of(app, &used, shown))
            .with("preemptedResourceMB", at(&app.usage.preempted, 0))
            .with("preemptedResourceVCores", at(&app.usage.preempted, 1))
            .with("numNonAMContainerPreempted", app.usage.preempted_tasks)
            .with("numAMContainerPreempted", app.usage.preempted_masters)
            .with("preemptedMemorySeconds", at(&preempted, 0))
            .with("preemptedVcoreSeconds", at(&preempted, 1))
            .with_map("preemptedResourceSecondsMap", any(&preempted))
    }

    /// The map of an application that never had an attempt is empty.
    fn map_of(
        &self,
        app: &Application,
        sums: &[i64],
        shown: impl Fn(&[i64]) -> Vec<(String, i64)>,
    ) -> Vec<(String, i64)> {
        if app.attempts.is_empty() {
            Vec::new()
        } else {
            shown(sums)
        }
    }

    /// Amounts times s that its containers had, by type.
    fn used_seconds(&self, app: &Application, figures: Option<&Figures>) -> Vec<i64> {
        let types = self.settings.resource_types.len();
        let mut sums = app.usage.amount_ms.clone();
        sums.resize(sums.len().max(types), 0);
        let attempt = app.attempt().map_or(1, |attempt| attempt.number);
        let live = figures.map_or(&[][..], |figures| &figures.live);
        for (number, size) in live {
            let placed = app.placed_ms.get(&(attempt, *number)).copied();
            let lived = self.now_ms.saturating_sub(placed.unwrap_or(self.now_ms));
            for (sum, &value) in sums.iter_mut().zip(size.values(types)) {
                *sum += i128::from(value) * i128::from(lived);
            }
        }
        seconds_of(&sums, types)
    }

    fn remaining(&self, object: Object, app: &Application, figures: Option<&Figures>) -> Object {
        let requests = figures.map_or(&[][..], |figures| &figures.requests);
        let requests = if self.leaves_out("resourcerequests") {
            &[][..]
        } else {
            requests
        };
        // The label of the master is known once the scheduler knows the queue.
        let master_label = match figures {
            Some(figures) => Some(figures.master_label.clone()),
            None => app.master_label.clone(),
        };
        let usages = figures.map(|figures| figures.usages.clone());
        let usages = usages.filter(|_| !self.leaves_out("resourceinfo"));
        let object = object
            .with_many("resourceRequests", requests.iter().cloned())
            .with("logAggregationStatus", "DISABLED")
            .with("unmanagedApplication", app.unmanaged)
            .with_some("appNodeLabelExpression", app.submission.label.as_deref())
            .with_some("amNodeLabelExpression", master_label)
            .with_some("resourceInfo", usages);
        if self.leaves_out("timeouts") {
            return object;
        }
        let timeout = timeout(app, self.now_ms);
        object.with("timeouts", Object::new().with_many("timeout", [timeout]))
    }
}

/// Whether there is a page of the application.
// As AppInfo.trackingUrlIsNotReady.
fn is_tracked(app: &Application) -> bool {
    let early = matches!(
        app.state,
        AppState::New | AppState::NewSaving | AppState::Submitted | AppState::Accepted
    );
    !early && !app.attempts.is_empty()
}

fn seconds_of(sums: &[i128], types: usize) -> Vec<i64> {
    let sums = sums.iter().chain(std::iter::repeat(&0)).take(types);
    sums.map(|sum| i64::try_from(sum / 1000).unwrap_or(i64::MAX))
        .collect()
}

/// The end of an application's lifetime.
// As AppTimeoutInfo.
pub(in crate::rest) fn timeout(app: &Application, now_ms: u64) -> Object {
    let (expiry, remaining) = match app.expiry_ms {
        None => ("UNLIMITED".to_owned(), -1),
        Some(expiry) => {
            let left = expiry.saturating_sub(now_ms) / 1000;
            let left = if app.state.is_over() { 0 } else { left };
            (time::iso(expiry), i64::try_from(left).unwrap_or(i64::MAX))
        }
    };
    Object::new()
        .with("type", "LIFETIME")
        .with("expiryTime", expiry)
        .with("remainingTimeInSeconds", remaining)
}

/// One attempt.
pub(in crate::rest) fn attempt(app: &Application, attempt: &Attempt) -> Object {
    let master = attempt.master.as_ref();
    let page = master.map(|(_, node)| format!("{}:{}", node.host(), app.master_http_port));
    let logs = master.zip(page.clone()).map(|((container, _), page)| {
        format!("http://{page}/node/containerlogs/{container}/{}", app.user)
    });
    let id = attempt_id(app.id, attempt.number);
    Object::new()
        .with("id", attempt.number)
        .with("startTime", attempt.started_ms)
        .with("finishedTime", attempt.finished_ms)
        .with(
            "containerId",
            master.map(|(id, _)| id.to_string()).unwrap_or_default(),
        )
        .with("nodeHttpAddress", page.unwrap_or_default())
        .with(
            "nodeId",
            master.map(|(_, node)| node.to_string()).unwrap_or_default(),
        )
        .with("logsLink", logs.unwrap_or_default())
        .with("blacklistedNodes", "")
        .with("nodesBlacklistedBySystem", "")
        .with("appAttemptId", id)
        .with("exportPorts", "null")
        .with("appAttemptState", attempt.state.name())
}

/// The id of an attempt.
pub(in crate::rest) fn attempt_id(app: ApplicationId, number: u32) -> String {
    format!("appattempt_{}_{:04}_{number:06}", app.cluster, app.sequence)
}

/// Live containers of an application's present attempt.
pub(in crate::rest) fn containers(
    ledger: &Ledger,
    app: &Application,
    http_port: impl Fn(&str) -> u16,
    now_ms: u64,
) -> Vec<Object> {
    let Some(slot) = ledger.app(app.id) else {
        return Vec::new();
    };
    let state = ledger.state();
    let one = |container: &capsched::commit::Container| {
        let node = state.nodes[container.node].name.to_string();
        let host = state.nodes[container.node].name.host();
        let page = format!("http://{host}:{}", http_port(&node));
        let size = container.size.get();
        let id = container.id;
        let placed = app.placed_ms.get(&(id.attempt, id.number)).copied();
        let placed = placed.unwrap_or(0);
        Object::new()
            .with("containerId", id.to_string())
            .with("allocatedMB", size.memory().to_string())
            .with("allocatedVCores", size.vcores().to_string())
            .with("assignedNodeId", node)
            .with("priority", container.key.priority.to_string())
            .with("startedTime", placed.to_string())
            .with("finishedTime", "0")
            .with("elapsedTime", now_ms.saturating_sub(placed).to_string())
            .with(
                "logUrl",
                format!("{page}/node/containerlogs/{id}/{}", app.user),
            )
            .with("containerExitStatus", "0")
            .with(
                "containerState",
                if container.launched { "RUNNING" } else { "NEW" },
            )
            .with("nodeHttpAddress", page)
    };
    ledger.live_containers(slot).map(one).collect()
}
