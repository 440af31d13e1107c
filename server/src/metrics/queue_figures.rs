//! Queues by partition: amounts that are used, reserved, asked for, guaranteed and allowed, and applications.

use std::fmt;

use capsched::api::{PartitionView, QueueView};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::samples::{Family, Labels, Value};
use crate::rm::ResourceManager;

const MEMORY: &str = "memory-mb";

/// Bytes of the unit of memory.
const MIB: i64 = 1 << 20;

/// Writes the figures of all queues.
pub(super) fn encode(rm: &ResourceManager, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let snapshot = rm.engine().snapshot();
    let types = &snapshot.settings.resource_types;
    let paths = rm.engine().inspect(|ledger| {
        let queues = ledger.state().queues.iter();
        queues
            .filter(|queue| !queue.removed)
            .map(|queue| queue.settings.path.clone())
            .collect::<Vec<_>>()
    });
    // An engine that has ended has no queues to show.
    let paths = paths.unwrap_or_default();
    let views: Vec<QueueView> = paths
        .iter()
        .filter_map(|path| rm.engine().queue(path).ok().flatten())
        .collect();
    let memory = types.iter().position(|name| &**name == MEMORY);
    if let Some(memory) = memory {
        let samples = views.iter().flat_map(|view| amounts(view, memory, None));
        let bytes = samples.map(|(labels, mib)| (labels, Value::Whole(mib.saturating_mul(MIB))));
        Family::of("queue_memory", "Memory of a queue by partition and kind")
            .in_unit(&Unit::Bytes)
            .gauges(to, bytes)?;
    }
    let others = types
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != memory);
    let samples = others.flat_map(|(at, name)| {
        let of = views
            .iter()
            .flat_map(move |view| amounts(view, at, Some(name)));
        of.map(|(labels, amount)| (labels, Value::Whole(amount)))
    });
    Family::of(
        "queue_resource",
        "Other resources of a queue by partition and kind",
    )
    .gauges(to, samples)?;
    shares(&views, to)?;
    applications(&views, to)
}

type Amounts<'a> = Option<&'a Vec<i64>>;

fn kinds(part: &PartitionView) -> [(&'static str, Amounts<'_>); 5] {
    [
        ("used", part.used.as_ref()),
        ("reserved", part.reserved.as_ref()),
        ("pending", part.pending.as_ref()),
        ("guaranteed", Some(&part.eff_min)),
        ("maximum", Some(&part.eff_max)),
    ]
}

fn amounts<'a>(
    view: &'a QueueView,
    at: usize,
    name: Option<&'a str>,
) -> impl Iterator<Item = (Labels<'a>, i64)> {
    view.labels.iter().flat_map(move |(partition, part)| {
        kinds(part).into_iter().map(move |(kind, amounts)| {
            let mut labels = vec![
                ("queue", view.path.as_str()),
                ("partition", partition.as_str()),
            ];
            labels.extend(name.map(|name| ("resource", name)));
            labels.push(("kind", kind));
            // What is left out is nothing.
            (
                labels,
                amounts
                    .and_then(|amounts| amounts.get(at))
                    .copied()
                    .unwrap_or(0),
            )
        })
    })
}

fn shares(views: &[QueueView], to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let parts = views
        .iter()
        .flat_map(|view| view.labels.iter().map(move |part| (view, part)));
    let samples = parts.flat_map(|(view, (partition, part))| {
        let kinds = [
            ("used", part.abs_used_cap.0),
            ("guaranteed", part.abs_cap.0),
            ("maximum", part.abs_max_cap.0),
        ];
        kinds.map(|(kind, share)| {
            let labels = vec![
                ("queue", view.path.as_str()),
                ("partition", partition.as_str()),
                ("kind", kind),
            ];
            (labels, Value::Real(f64::from(share)))
        })
    });
    Family::of(
        "queue_share",
        "Parts of the partition: absolute capacities of a queue",
    )
    .in_unit(&Unit::Ratios)
    .gauges(to, samples)
}

fn applications(views: &[QueueView], to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let leaves = views
        .iter()
        .filter_map(|view| Some((view, view.leaf.as_ref()?)));
    let samples = leaves.flat_map(|(view, leaf)| {
        let kinds = [
            ("active", leaf.active_apps),
            ("pending", leaf.pending_apps),
            ("parked", leaf.non_runnable_apps),
        ];
        kinds.map(|(kind, n)| {
            let labels = vec![("queue", view.path.as_str()), ("kind", kind)];
            (labels, Value::Whole(i64::try_from(n).unwrap_or(i64::MAX)))
        })
    });
    Family::of("queue_applications", "Live applications of a leaf").gauges(to, samples)
}
