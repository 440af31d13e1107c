//! Saving a moment of a recorded run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::api::{ModeKind, TreeSettings};
use capsched::simulator::journal::{SnapshotHead, StateSnapshot};
use serde_json::json;

use super::refused;
use crate::aside::Aside;
use crate::live::is_address;
use crate::output::line;
use crate::play::{grouped, virtual_time};
use crate::recipe::{Recorded, Staged};
use crate::values::virtual_ms;

/// Arguments of `capsched snapshot save`.
#[derive(clap::Args, Debug)]
pub(crate) struct SaveArgs {
    /// Folder of a run (`replay --out`, or one column of `compare --out`).
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The moment that is saved, such as 1500ms, 90s or 2h; the end of the run when left out.
    #[arg(long, value_name = "TIME", value_parser = virtual_ms)]
    at: Option<u64>,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file when it exists.
    #[arg(long)]
    force: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `capsched snapshot save`.
pub(crate) fn save(args: &SaveArgs) -> Result<ExitCode> {
    let out = std::path::absolute(&args.out)?;
    let file = Aside::create(&out, args.force)?;
    let recorded = opened(&args.run)?;
    let staged = recorded.stage()?;
    let scene = staged.scene();
    if staged.costs.costs().is_some() {
        bail!(
            "a run in which the scheduler's work costs time has no moment that a snapshot can hold"
        );
    }
    let (calls, state, at_ms) = staged.row.journal(&scene, args.at)?;
    let snapshot = StateSnapshot {
        head: head(&staged, at_ms)?,
        calls,
        state,
    };
    let mut engine = snapshot
        .head
        .engine()
        .map_err(|error| refused(&out, &error))?;
    snapshot
        .replay(&mut engine)
        .map_err(|error| refused(&out, &error))?;
    let file = snapshot
        .write(file)
        .with_context(|| out.display().to_string())?;
    file.finish()?;
    let (shown, calls) = (args.out.display(), snapshot.calls.len());
    if args.json {
        line(
            json!({"file": shown.to_string(), "mode": snapshot.head.mode, "at_ms": at_ms,
            "calls": calls}),
        );
    } else {
        let calls = grouped(calls.try_into().unwrap_or(0));
        let when = virtual_time(at_ms);
        line(format_args!("{shown}: {calls} calls up to {when}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a run; the address of a server is refused with what takes it.
fn opened(run: &Path) -> Result<Recorded> {
    let shown = run.to_string_lossy();
    if is_address(&shown) {
        bail!(
            "{}: a snapshot holds every call of a run from its start, and a server does not keep them; \
             `why`, `top` and `conf plan` take its address, and its path /v1/snapshot has its state as JSON",
            shown.escape_debug()
        );
    }
    Recorded::open(run)
}

/// What the calls depend on.
fn head(staged: &Staged, at_ms: u64) -> Result<SnapshotHead> {
    let (cluster, row) = (&staged.cluster, staged.row);
    let labels = cluster.partitions.iter();
    let mut head = SnapshotHead {
        types: cluster.types.names().to_vec(),
        site: std::collections::BTreeMap::new(),
        scheduler: std::collections::BTreeMap::new(),
        labels: labels
            .map(|label| (label.name.clone(), label.exclusive))
            .collect(),
        mode: row.mode.name().to_owned(),
        reference: row.reference.name().to_owned(),
        preemption: cluster
            .preemption
            .as_ref()
            .map(|settings| settings.observe_only),
        every_beat: staged.timing.every_beat,
        at_ms,
    };
    head.keep(cluster.origin.properties());
    let fitted = row.fitted(cluster.settings.clone());
    let sorts = cluster.settings.scheduler.multi_node.policies.is_empty();
    head.scheduler.extend(of_mode(row.mode, sorts));
    let loaded = head.loaded().map_err(|error| anyhow::anyhow!("{error}"))?;
    if shown(&loaded.settings) != shown(&fitted) {
        bail!("the configuration of the run depends on more than a snapshot keeps");
    }
    Ok(head)
}

/// Settings as they decide, for a comparison.
pub(crate) fn shown(settings: &TreeSettings) -> String {
    format!("{:?}{:?}", settings.scheduler, settings.queues)
}

/// The properties that a mode sets in runs; as `Row::fitted`. `sorts`: no policy sorts the nodes.
pub(crate) fn of_mode(mode: ModeKind, sorts: bool) -> Vec<(String, String)> {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let asynchronous = if mode == ModeKind::Heartbeat {
        "false"
    } else {
        "true"
    };
    let mut pairs = vec![("schedule-asynchronously.enable", asynchronous)];
    if mode == ModeKind::Global {
        pairs.push(("multi-node-placement-enabled", "true"));
        if sorts {
            pairs.extend([
                ("multi-node-sorting.policy.names", "resource-usage"),
                ("multi-node-sorting.policy", "resource-usage"),
                ("multi-node-sorting.policy.resource-usage.class", class),
                (
                    "multi-node-sorting.policy.resource-usage.sorting-interval.ms",
                    "0",
                ),
            ]);
        }
    }
    let full =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    pairs.into_iter().map(full).collect()
}
