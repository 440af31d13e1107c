//! Saving a moment of a recorded run.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::api::TreeSettings;
use capsched::simulator::journal::{SnapshotError, SnapshotHead, StateSnapshot};
use serde_json::json;

use super::refused;
use crate::aside::Aside;
use crate::live::{LiveServer, ServerArgs, is_address};
use crate::output::{line, put};
use crate::play::{grouped, virtual_time};
use crate::recipe::{Recorded, Staged};
use crate::values::virtual_ms;

/// Where a server has its state as a file.
const PATH: &str = "/v1/snapshot/file";

/// Arguments of `capsched snapshot save`.
#[derive(clap::Args, Debug)]
pub(crate) struct SaveArgs {
    /// Folder of a run (`replay --out`, or one column of `compare --out`), or address of a server.
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
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `capsched snapshot save`.
pub(crate) fn save(args: &SaveArgs) -> Result<ExitCode> {
    let out = std::path::absolute(&args.out)?;
    let file = Aside::create(&out, args.force)?;
    let named = args.run.to_string_lossy();
    if is_address(&named) {
        return of_server(args, &named, file);
    }
    args.server.refuse()?;
    let recorded = Recorded::open(&args.run)?;
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
    said(args, &snapshot);
    Ok(ExitCode::SUCCESS)
}

/// Says what was saved, and what the file leaves out.
fn said(args: &SaveArgs, snapshot: &StateSnapshot) {
    let (shown, calls) = (args.out.display(), snapshot.calls.len());
    let head = &snapshot.head;
    if args.json {
        line(
            json!({"file": shown.to_string(), "mode": head.mode, "at_ms": head.at_ms, "calls": calls,
            "left_out": head.left_out}),
        );
        return;
    }
    let calls = grouped(calls.try_into().unwrap_or(0));
    if head.recovers {
        let server = args.run.display();
        line(format_args!(
            "{shown}: {calls} calls that build the state of {server} anew"
        ));
        put(&left_out(head));
    } else {
        let when = virtual_time(head.at_ms);
        line(format_args!("{shown}: {calls} calls up to {when}"));
    }
}

/// What a file leaves out, a line each; nothing where it has every call from the start.
pub(super) fn left_out(head: &SnapshotHead) -> String {
    let mut out = String::new();
    for sentence in &head.left_out {
        let _ = writeln!(out, "left out: {sentence}");
    }
    out
}

/// Saves a server as it is now. The file is replayed before it is written.
fn of_server(args: &SaveArgs, address: &str, mut file: Aside) -> Result<ExitCode> {
    if args.at.is_some() {
        bail!("--at goes with a recorded run; a server is saved as it is now");
    }
    let server = LiveServer::open(address, &args.server)?;
    let packed = server.bytes(PATH)?;
    let foreign = |error: SnapshotError| server.foreign(PATH, &error);
    let snapshot = StateSnapshot::read(&packed[..]).map_err(foreign)?;
    let mut engine = snapshot.head.engine().map_err(foreign)?;
    snapshot.replay(&mut engine).map_err(foreign)?;
    let written = file.write_all(&packed);
    written.with_context(|| args.out.display().to_string())?;
    file.finish()?;
    said(args, &snapshot);
    Ok(ExitCode::SUCCESS)
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
        recovers: false,
        left_out: Vec::new(),
    };
    head.keep(cluster.origin.properties());
    let fitted = row.fitted(cluster.settings.clone());
    let sorts = cluster.settings.scheduler.multi_node.policies.is_empty();
    head.run_in(row.mode, sorts);
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
