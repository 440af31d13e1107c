//! `capsched conf`: what changes between two configurations, whether a running scheduler takes it
//! over, and configurations of other schedulers.

mod changes;
mod convert;
mod plan;
mod running;
mod served;
mod shown;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use capsched::api::StateView;
use capsched::config::{ConfigSource, Loaded};
use capsched::simulator::MappingReport;

use crate::output::put;
use crate::play::{
    Cluster, NodeSource, TraceArgs, from_sources, node_source, sources_of, types_of, types_source,
};
use crate::reference::ReferenceArg;

use changes::Changes;

/// Compare configurations, plan a change, convert from other schedulers.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    /// Show what changes between two configurations: settings, queues and effective resources.
    Diff(Box<DiffArgs>),
    /// Say whether a running scheduler takes a new configuration over, and what changes.
    Plan(Box<plan::Args>),
    /// Give a running server another configuration, in one step that can be taken back.
    Apply(Box<served::ApplyArgs>),
    /// List the versions of a server's configuration and the changes that made them.
    History(served::HistoryArgs),
    /// Give a running server the configuration of an earlier version.
    Rollback(served::RollbackArgs),
    /// Convert fair-scheduler.xml or YuniKorn's queues.yaml, and list what could not be kept.
    Convert(convert::Args),
}

/// Two configurations and the cluster that they are for.
#[derive(clap::Args, Debug)]
pub(crate) struct DiffArgs {
    /// The present capacity-scheduler.xml; for `plan` also the address of a server, such as `http://127.0.0.1:8088`.
    before: PathBuf,
    /// The new one.
    after: PathBuf,
    /// yarn-site.xml or resource-types.xml below both; later ones win.
    #[arg(long, value_name = "FILE")]
    site: Vec<PathBuf>,
    /// Nodes of the cluster, as `100x64GiB,32vcores` or a file with nodes; effective resources are
    /// compared on them.
    #[arg(long, value_name = "FILE|NODES", value_parser = node_source)]
    cluster: Option<NodeSource>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reference: ReferenceArg,
}

/// One configuration, with its queues on the cluster.
struct Side {
    sources: Vec<ConfigSource>,
    loaded: Loaded,
    cluster: Option<Cluster>,
    view: Option<StateView>,
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Diff(args) => diff(args),
        Command::Plan(args) => plan::run(args),
        Command::Apply(args) => served::apply(args),
        Command::History(args) => served::history(args),
        Command::Rollback(args) => served::rollback(args),
        Command::Convert(args) => convert::run(args),
    }
}

fn diff(args: &DiffArgs) -> Result<ExitCode> {
    let (before, after) = (side(&args.before, args)?, side(&args.after, args)?);
    let changes = Changes::between(&before, &after);
    put(&if args.json {
        format!("{:#}\n", changes.to_json())
    } else {
        shown::text(&changes)
    });
    Ok(ExitCode::SUCCESS)
}

/// Reads one of the two configurations.
fn side(path: &PathBuf, args: &DiffArgs) -> Result<Side> {
    let mut sources = sources_of(Some(path), &args.site, false)?;
    if let Some(nodes) = &args.cluster {
        sources.extend(types_source(&nodes.types()?.offered));
    }
    let loaded = from_sources(&sources, args.reference.release)?;
    let cluster = match &args.cluster {
        Some(nodes) => Some(cluster_of(&loaded, nodes)?),
        None => None,
    };
    let view = cluster.as_ref().map(Cluster::view).transpose()?;
    Ok(Side {
        sources,
        loaded,
        cluster,
        view,
    })
}

fn cluster_of(loaded: &Loaded, nodes: &NodeSource) -> Result<Cluster> {
    let types = types_of(&loaded.settings)?;
    let import = TraceArgs::default().options(types.clone());
    let nodes = nodes.read(&mut MappingReport::default(), &import)?;
    Cluster::new(loaded.clone(), nodes, types)
}
