//! What daemons of Hadoop answer beside their own interface: their configuration and their beans.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Answered, inspect};
use crate::rest::json::write;
use crate::rest::tree::{Object, View};
use crate::rest::views::cluster::{AppCounts, NodeCounts, metrics};
use crate::rest::views::queue_counts::counts;
use crate::rest::wire::{Failure, Media, Reply, Wire};
use crate::rest::{Call, Shared};

// As ConfServlet.
pub(super) fn configuration(shared: &Shared, call: &Call) -> Answered {
    let configuration = shared.rm().configuration();
    let properties = &configuration.loaded.properties;
    let wanted = call.filled("name");
    if let Some(name) = wanted
        && properties.raw(name).is_none()
    {
        let text = format!("Property {name} not found");
        return Err(Failure::other(
            StatusCode::NOT_FOUND,
            "NotFoundException",
            text,
        ));
    }
    let source = |key: &str| {
        if configuration.site.contains_key(key) {
            "yarn-site.xml"
        } else {
            "capacity-scheduler.xml"
        }
    };
    let keys = properties.keys();
    let keys = keys.filter(|&key| wanted.is_none_or(|name| name == key));
    let pairs = keys.map(|key| {
        let value = properties.text(key).ok().flatten().unwrap_or_default();
        (key, value, source(key))
    });
    if call.media == Media::Json {
        let one = |(key, value, source): (&str, String, &str)| json!({"key": key, "value": value, "isFinal": false, "resource": source});
        let all: Vec<Value> = pairs.map(one).collect();
        let body = json!({"properties": all});
        return Ok(Reply::Text(StatusCode::OK, body.to_string()));
    }
    let one = |(key, value, source): (&str, String, &str)| {
        Object::new()
            .with("name", key)
            .with("value", value)
            .with("final", false)
            .with("source", source)
    };
    let body = Object::new().with_many("property", pairs.map(one).collect::<Vec<_>>());
    Ok(Reply::Document(View::wrapped("configuration", body)))
}

/// The beans that monitors read: figures of the cluster and of every queue.
// As JMXJsonServlet.
pub(super) fn beans(shared: &Shared, call: &Call) -> Answered {
    let (apps, nodes) = shared
        .rm()
        .read(|books| (AppCounts::of(books), NodeCounts::of(books)));
    let cluster = inspect(shared, move |ledger| metrics(ledger, apps, nodes))?;
    let cluster = write(&View::unwrapped("clusterMetrics", cluster), Wire::Hadoop35);
    let cluster: Value = serde_json::from_str(&cluster).unwrap_or_default();
    let mut beans = vec![info_bean(&call.host), cluster_bean(&cluster)];
    beans.extend(inspect(shared, queue_beans)?);
    if let Some(query) = call.filled("qry") {
        beans.retain(|bean| matches(query, bean["name"].as_str().unwrap_or_default()));
    }
    let body = json!({"beans": beans});
    Ok(Reply::Text(StatusCode::OK, body.to_string()))
}

/// Whether a name is what a pattern with `*` stands for.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            ends.into_iter().any(|at| matches(rest, &tail[at..]))
        }),
    }
}

/// What the daemon is. A standby answers no beans, so that who answers is active.
// As RMInfo.
fn info_bean(host: &str) -> Value {
    json!({
        "name": "Hadoop:service=ResourceManager,name=RMInfo",
        "modelerType": "org.apache.hadoop.yarn.server.resourcemanager.RMInfo",
        "State": "active",
        "HostAndPort": host,
    })
}

fn cluster_bean(metrics: &Value) -> Value {
    let of = |name: &str| metrics[name].clone();
    json!({
        "name": "Hadoop:service=ResourceManager,name=ClusterMetrics",
        "modelerType": "ClusterMetrics",
        "tag.ClusterMetrics": "ResourceManager",
        "tag.Context": "yarn",
        "NumActiveNMs": of("activeNodes"),
        "NumDecommissioningNMs": of("decommissioningNodes"),
        "NumDecommissionedNMs": of("decommissionedNodes"),
        "NumLostNMs": of("lostNodes"),
        "NumUnhealthyNMs": of("unhealthyNodes"),
        "NumRebootedNMs": of("rebootedNodes"),
        "NumShutdownNMs": of("shutdownNodes"),
    })
}

/// A bean for each queue, by the names on its path.
// As QueueMetrics, which know the default partition alone.
fn queue_beans(ledger: &capsched::commit::Ledger) -> Vec<Value> {
    let state = ledger.state();
    let counts = counts(ledger);
    let queues = state.subtree(capsched::snapshot::State::ROOT);
    let one = |slot: capsched::id::QueueSlot| {
        let queue = &state.queues[slot];
        let part = queue.part(capsched::id::PartitionId::DEFAULT);
        let counts = counts.get(&slot).copied().unwrap_or_default();
        let (used, reserved) = (part.used.get(), part.reserved.get());
        let allocated = used - reserved;
        let available = part.limit.get().minus_floored(&used);
        let names = queue.settings.path.split('.').enumerate();
        let names: String = names
            .map(|(depth, name)| format!(",q{depth}={name}"))
            .collect();
        let mut bean = Map::new();
        let mut put = |name: &str, value: Value| bean.insert(name.to_owned(), value);
        put(
            "name",
            format!("Hadoop:service=ResourceManager,name=QueueMetrics{names}").into(),
        );
        put("modelerType", format!("QueueMetrics{names}").into());
        put("tag.Queue", queue.settings.path.to_string().into());
        put("tag.Context", "yarn".into());
        put("AllocatedMB", allocated.memory().into());
        put("AllocatedVCores", allocated.vcores().into());
        put("AllocatedContainers", counts.allocated.into());
        put("AvailableMB", available.memory().into());
        put("AvailableVCores", available.vcores().into());
        put("PendingMB", part.pending.get().memory().into());
        put("PendingVCores", part.pending.get().vcores().into());
        put("PendingContainers", counts.pending.into());
        put("ReservedMB", reserved.memory().into());
        put("ReservedVCores", reserved.vcores().into());
        put("ReservedContainers", counts.reserved.into());
        if let Some(leaf) = &queue.leaf {
            put("ActiveApplications", leaf.active.len().into());
            put("ActiveUsers", leaf.active_users().into());
        }
        Value::Object(bean)
    };
    queues.into_iter().map(one).collect()
}
