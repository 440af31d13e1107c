//! `capsched serve`: a resource manager with YARN's interface and a page, or one over a simulated cluster.

mod kerberos;
mod standby;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use capsched::api::{Mode, ModeKind};
use capsched::config::{self, ConfigSource, Layer, Options};
use capsched_server::daemon::{Background, Daemon, ServeOptions, Serving};
use capsched_server::debug::DebugServing;
use capsched_server::demo::{self, ADMINISTRATOR, Demo, DemoOptions};
use capsched_server::rm::{ResourceManager, Setup};
use capsched_server::security::Negotiation;
use capsched_server::store::{
    Durability, Durable, DurableFailure, EmbeddedStore, KeepOptions, Store, open_shared,
};
use serde_json::json;

use kerberos::Wanted;
use standby::Interfaces;

use crate::machines::{GrpcArgs, Listening};
use crate::network::{Network, Users, log_to_standard_error, refused, runtime, signalled};
use crate::output::{Problem, line, note};
use crate::reference::ReferenceArg;
use crate::values::{mode, seed};

/// Run a resource manager: YARN's REST interface, metrics, and a page.
///
/// With --demo it runs over a simulated cluster and needs no file. The address of the page goes to standard output.
/// Without a way to prove a name, everybody on this machine may look and nobody may change anything.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("kept").args(["data", "store"]).multiple(true))]
pub(crate) struct Args {
    /// Simulate a cluster: nodes that beat, applications that come and go.
    #[arg(long, conflicts_with_all = ["conf", "site"], required_unless_present = "conf")]
    demo: bool,
    /// capacity-scheduler.xml.
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,
    /// yarn-site.xml.
    #[arg(long, value_name = "FILE", requires = "conf")]
    site: Option<PathBuf>,
    /// Keep applications, nodes and versions of the configuration in this directory; it is made where it is missing.
    #[arg(long, value_name = "DIR", requires = "conf")]
    data: Option<PathBuf>,
    /// A store that several servers share, etcd://host:port,host:port/prefix or zookeeper://host:port,host:port/root.
    /// One server leads, the others follow its journal and lead when it is gone. The program must be built with the
    /// feature `etcd` or `zookeeper`.
    #[arg(long, value_name = "URL", requires = "conf", conflicts_with = "data")]
    store: Option<String>,
    /// When a change is answered: strict, when the disk or the store has it, or relaxed, before that.
    #[arg(long, value_name = "WHEN", default_value = "strict", requires = "kept", value_parser = durability)]
    durability: Durability,
    /// Commands of the journal behind which a snapshot replaces them.
    #[arg(long, value_name = "N", default_value_t = 50_000, requires = "kept", value_parser = clap::value_parser!(u64).range(1..))]
    compact_after: u64,
    /// How long a leader leads without renewing, in ms. When it is gone, another server leads that much later.
    #[arg(long, value_name = "MS", default_value_t = 1_500, requires = "store", value_parser = clap::value_parser!(u64).range(500..=60_000))]
    lease_ms: u64,
    #[command(flatten)]
    reference: ReferenceArg,
    /// Who decides: heartbeat, asynchronous or global. With --demo global unless given, else as the
    /// configuration says.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<ModeKind>,
    /// Threads that decide in the asynchronous and the global mode.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    #[command(flatten)]
    simulated: Simulated,
    #[command(flatten)]
    network: Network,
    /// Answer /debug/pprof at this loopback address: threads, memory, and profiles where the program is built with the
    /// feature `pprof`.
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    debug_address: Option<SocketAddr>,
    #[command(flatten)]
    machines: GrpcArgs,
    #[command(flatten)]
    users: Users,
    /// Print the address as one JSON object.
    #[arg(long)]
    json: bool,
    /// What goes to standard error: error, warn, info or debug. Changes are audited at info.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: tracing::Level,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Simulated cluster")]
struct Simulated {
    /// Nodes; one in ten has GPUs.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "demo", conflicts_with = "conf", value_parser = clap::value_parser!(u32).range(1..=50_000))]
    nodes: u32,
    /// Simulated seconds in a second, 0.001 to 1000.
    #[arg(long, value_name = "X", default_value = "1", requires = "demo", conflicts_with = "conf", value_parser = speed)]
    speed: u64,
    /// What decides the workload.
    #[arg(long, value_name = "S", default_value_t = 7, requires = "demo", conflicts_with = "conf", value_parser = seed)]
    seed: u64,
}

fn durability(text: &str) -> Result<Durability, String> {
    text.parse()
}

/// Simulated ms in a second.
fn speed(text: &str) -> Result<u64, String> {
    let wrong = || "a number from 0.001 to 1000 is expected, such as 10".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() || text == "." || part.len() > 3 || !digits(whole) || !digits(part) {
        return Err(wrong());
    }
    let ms: u64 = format!("{whole}{part:0<3}").parse().map_err(|_| wrong())?;
    if (1..=1_000_000).contains(&ms) {
        Ok(ms)
    } else {
        Err(wrong())
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    log_to_standard_error(args.log);
    let (options, token) = args.options()?;
    let serving = Serving::listen(&options).map_err(refused)?;
    let machines = args.machines.listen(&options).map_err(refused)?;
    let debug = args.debug()?;
    if let Some(address) = &args.store {
        let interfaces = Interfaces {
            serving,
            machines,
            options,
        };
        return run_shared(args, address, interfaces, debug);
    }
    let (rm, durable) = args.resource_manager()?;
    let _background = Background::start(Arc::clone(&rm)).context("a thread cannot be started")?;
    let demo = args
        .demo
        .then(|| Demo::start(Arc::clone(&rm), args.demo_options()));
    let _demo = demo.transpose().context("a thread cannot be started")?;
    let runtime = runtime()?;
    answer_debug(&runtime, debug);
    let daemon = Daemon::new(Arc::clone(&rm), &options);
    let daemon = match &durable {
        Some(durable) => daemon.keeping(durable),
        None => daemon.with_conf(Arc::new(demo::configuration(&rm)?)),
    };
    let _waits = daemon
        .follow_waits()
        .context("a thread cannot be started")?;
    let machines = machines.map(|machines| (machines, rm));
    runtime.block_on(serve(args, serving, machines, daemon, token.as_deref()))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs one of several servers over a store.
fn run_shared(
    args: &Args,
    address: &str,
    interfaces: Interfaces,
    debug: Option<DebugServing>,
) -> Result<ExitCode> {
    // Files that are not valid end the start, and not the failover.
    let setup = args.setup()?;
    // A store has a runtime of its own, which neither begins nor ends inside of this one.
    let store = open_shared(address)?;
    let runtime = runtime()?;
    answer_debug(&runtime, debug);
    let served = runtime.block_on(standby::serve(args, setup, Arc::clone(&store), interfaces));
    // What waits for the store must not hold up the end.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Answers developers until the process ends.
fn answer_debug(runtime: &tokio::runtime::Runtime, debug: Option<DebugServing>) {
    if let Some(debug) = debug {
        note(format_args!(
            "Debug: http://{}/debug/pprof/",
            debug.address()
        ));
        runtime.spawn(debug.run());
    }
}

/// Serves both interfaces until a signal ends them.
async fn serve(
    args: &Args,
    serving: Serving,
    machines: Option<(Listening, Arc<ResourceManager>)>,
    daemon: Daemon,
    token: Option<&str>,
) -> Result<()> {
    let stop = serving.stopper();
    let health = daemon.health().clone();
    let signalled = signalled().context("signals cannot be awaited")?;
    let (ends, ended) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        signalled.await;
        health.stop();
        // Who serves no machines awaits no end.
        let _ = ends.send(());
        stop();
    });
    // From here on a signal ends the server in order.
    args.report(&serving, machines.as_ref().map(|(of, _)| of), token);
    let machines = async {
        let Some((machines, rm)) = machines else {
            return Ok(());
        };
        let ended = async {
            // A sender that is gone is the end, too.
            let _ = ended.await;
        };
        machines.run(rm, ended).await
    };
    tokio::try_join!(serving.run(daemon.router()), machines)?;
    Ok(())
}

/// What is wrong with what was given is a problem; what the store of this name does is a failure.
fn durable_failed(failure: DurableFailure, store: &str) -> anyhow::Error {
    match failure {
        DurableFailure::Store(error) => anyhow::Error::new(error.at(store)),
        other => Problem(other.to_string()).into(),
    }
}

/// Logs what came back, where changes are kept.
fn log_recovered(durable: &Durable) {
    if durable.journal().is_none() {
        return;
    }
    let back = durable.recovered;
    tracing::info!(
        live = back.live,
        ended = back.ended,
        refused = back.refused,
        nodes = back.nodes,
        "applications came back"
    );
}

impl Args {
    /// The address for developers, if one is given.
    fn debug(&self) -> Result<Option<DebugServing>> {
        let debug = self.debug_address.map(DebugServing::listen).transpose();
        debug.map_err(refused)
    }

    fn mode(&self) -> Mode {
        let threads = usize::from(self.threads);
        match self.mode.unwrap_or(ModeKind::Global) {
            ModeKind::Heartbeat => Mode::Heartbeat,
            ModeKind::Asynchronous => Mode::Asynchronous { threads },
            ModeKind::Global => Mode::Global { threads },
        }
    }

    fn demo_options(&self) -> DemoOptions {
        DemoOptions {
            nodes: self.simulated.nodes,
            speed_ms: self.simulated.speed,
            seed: self.simulated.seed,
            mode: self.mode(),
        }
    }

    /// What a resource manager over real files is started with.
    fn setup(&self) -> Result<Setup> {
        let limits = Options::default().limits;
        let source = |path: &Path, layer: Layer| {
            let read = config::read_source(path, layer, &limits);
            read.map_err(|finding| anyhow::anyhow!(finding.message))
        };
        let mut sources: Vec<ConfigSource> = Vec::new();
        for (path, layer) in [(&self.conf, Layer::Scheduler), (&self.site, Layer::Site)] {
            if let Some(path) = path {
                sources.push(source(path, layer)?);
            }
        }
        let loaded = crate::play::from_sources(&sources, self.reference.release)?;
        let [site, scheduler] = loaded.properties.pairs_with(&[]);
        let mut setup = Setup::new(site, scheduler);
        setup.reference = self.reference.release;
        setup.mode = match self.mode {
            Some(_) => self.mode(),
            None => setup.configured_mode()?,
        };
        Ok(setup)
    }

    /// How requests are served, and the token of the demonstration's administrator.
    fn options(&self) -> Result<(ServeOptions, Option<String>)> {
        let made = self.demo.then_some(ADMINISTRATOR);
        let (mut options, token) = self.network.options(&self.users, made)?;
        if let Some(negotiation) = self.negotiation()? {
            options.authentication = options.authentication.with_negotiation(negotiation);
        }
        Ok((options, token))
    }

    /// Users by Kerberos, where the site asks for them.
    fn negotiation(&self) -> Result<Option<Arc<dyn Negotiation>>> {
        let site = match &self.site {
            Some(_) => self.setup()?.site,
            None => return Ok(None),
        };
        match Wanted::of(&site) {
            Some(wanted) => kerberos::negotiation(&wanted, &site, self.network.first_host_name()),
            None => Ok(None),
        }
    }

    /// Where the store is, as messages say it.
    fn store_name(&self) -> String {
        let dir = self.data.as_ref().map(|dir| dir.display().to_string());
        dir.or_else(|| self.store.clone())
            .unwrap_or_else(|| "the configuration".to_owned())
    }

    fn keeping(&self) -> KeepOptions {
        KeepOptions {
            durability: self.durability,
            compact_after: self.compact_after,
            lease: match self.store {
                Some(_) => Duration::from_millis(self.lease_ms),
                None => KeepOptions::default().lease,
            },
        }
    }

    /// The resource manager, with what keeps its changes unless its cluster is simulated.
    fn resource_manager(&self) -> Result<(Arc<ResourceManager>, Option<Arc<Durable>>)> {
        if self.demo {
            let rm = demo::resource_manager(&self.demo_options(), self.reference.release)?;
            return Ok((Arc::new(rm), None));
        }
        let setup = self.setup()?;
        let store = match &self.data {
            Some(dir) => Some(EmbeddedStore::open(dir, Arc::clone(&setup.clock))?),
            None => None,
        };
        let store = store.map(|store| Arc::new(store) as Arc<dyn Store>);
        let who = format!("process {}", std::process::id());
        let durable = Durable::start(setup, store, self.keeping(), &who);
        let durable = durable.map_err(|failure| durable_failed(failure, &self.store_name()))?;
        log_recovered(&durable);
        Ok((Arc::clone(&durable.rm), Some(Arc::new(durable))))
    }

    fn report(&self, serving: &Serving, machines: Option<&Listening>, token: Option<&str>) {
        let page = serving.page();
        let machines = machines.map(|machines| machines.address().to_string());
        if self.json {
            let (address, user) = (serving.address().to_string(), token.map(|_| ADMINISTRATOR));
            line(
                json!({"page": page, "address": address, "grpc": machines, "user": user, "token": token}),
            );
            return;
        }
        line(&page);
        if let Some(machines) = machines {
            note(format_args!("gRPC: {machines}"));
        }
        if let Some(token) = token {
            note(format_args!(
                "To change something, sign in as {ADMINISTRATOR} with the token {token}, or send it:\n  \
                 curl -H 'Authorization: Bearer {token}' {}",
                page.replace("/ui/", "/ws/v1/cluster/scheduler-conf")
            ));
        }
        note("Ctrl-C ends the server.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_have_three_places_at_most() {
        for (text, ms) in [
            ("1", 1000),
            ("0.001", 1),
            ("2.5", 2500),
            ("1000", 1_000_000),
            (".5", 500),
        ] {
            assert_eq!(speed(text), Ok(ms), "{text}");
        }
        for text in [
            "",
            ".",
            "0",
            "-1",
            "1000.001",
            "0.0001",
            "x",
            "1e3",
            "99999999999999999999",
        ] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
