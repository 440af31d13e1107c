//! `capsched router`: one address before several cells.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::api::Reference;
use capsched::sync::{AtomicBool, Ordering};
use capsched::time::SystemClock;
use capsched_server::cells::{
    Administrators, CellClient, CellRouter, Policy, PolicyChange, RouterOptions, RouterStore,
};
use capsched_server::daemon::{ServeOptions, Serving, StandbyPage, Switch};
use capsched_server::security::Access;
use capsched_server::store::{EmbeddedStore, Store, StoreError, open_shared};
use serde_json::json;

use crate::network::{Network, Users, log_to_standard_error, read, refused, runtime, signalled};
use crate::output::{Problem, line, note};

/// Between two tries to lead, and between two looks at the lead.
const LOOK: Duration = Duration::from_millis(100);

/// Run a router: one address before several cells, which are servers of `capsched serve` with nodes of their own.
///
/// A submission goes to the cell that the policy names for its queue, and requests about an application follow it. Lists
/// of applications and nodes are joined over all cells, and metrics are added. The policy is kept in the store; PUT
/// /v1/policy changes it. The address goes to standard output.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("kept").args(["data", "store"]).required(true))]
pub(crate) struct Args {
    /// Keep the policy and the homes of applications in this directory; it is made where it is missing.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A store that several routers share, etcd://host:port,host:port/prefix or zookeeper://host:port,host:port/root.
    /// One router leads, and the others redirect to it. The prefix must be another one than that of a cell.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The first policy, in JSON. It counts where the store has none.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// A user who may change the policy; yarn unless given.
    #[arg(long, value_name = "NAME", default_value = "yarn")]
    admin: Vec<String>,
    /// Encrypted cells prove themselves by a certificate of this authority, in PEM form.
    #[arg(long, value_name = "FILE")]
    cell_ca: Option<PathBuf>,
    /// Answer lists and sums without cells that cannot be reached. A header names them.
    #[arg(long)]
    partial_results: bool,
    /// Longest time of one call of a cell, in ms.
    #[arg(long, value_name = "MS", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..=25_000))]
    call_ms: u64,
    /// Between two questions about the health of cells, in ms.
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    look_ms: u64,
    /// Homes of applications that are kept; of older ones all cells are asked.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    homes: u32,
    /// How long a router leads without renewing, in ms.
    #[arg(long, value_name = "MS", default_value_t = 1_500, requires = "store", value_parser = clap::value_parser!(u64).range(500..=60_000))]
    lease_ms: u64,
    /// Release of Hadoop in whose form lists, sums and failures are written: 3.4 or 3.5, that of the cells.
    #[arg(long, value_name = "RELEASE", default_value_t)]
    reference: Reference,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    users: Users,
    /// Print the address as one JSON object.
    #[arg(long)]
    json: bool,
    /// What goes to standard error: error, warn, info or debug. Changes are audited at info.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: tracing::Level,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    log_to_standard_error(args.log);
    let policy = args.policy.as_deref().map(first_policy).transpose()?;
    let client = CellClient::new(args.cell_ca.as_deref());
    let client = client.map_err(|error| Problem(error.to_string()))?;
    let (options, _) = args.network.options(&args.users, None)?;
    let serving = Serving::listen(&options).map_err(refused)?;
    let store = args.open()?;
    let runtime = runtime()?;
    let served = runtime.block_on(args.serve((serving, options), store, client, policy));
    // What waits for the store must not hold up the end.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

fn first_policy(path: &Path) -> Result<Policy> {
    let found = Policy::read(&read(path)?);
    Ok(found.map_err(|problem| Problem(format!("{}: {problem}", path.display())))?)
}

/// Tries to lead until it does, or until the end is wanted.
fn wait_to_lead(
    store: &Arc<dyn Store>,
    (who, lease, homes): (&str, Duration, usize),
    page: &StandbyPage,
    ends: &AtomicBool,
) -> Result<Option<RouterStore>, StoreError> {
    while !ends.load(Ordering::Relaxed) {
        match RouterStore::lead(Arc::clone(store), who, lease, homes) {
            Ok(led) => return Ok(Some(led)),
            Err(StoreError::Led(leader)) => page.set_leader(&leader),
            Err(error) if error.is_of_contents() => return Err(error),
            Err(error) => tracing::warn!(%error, "the store cannot be led"),
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

/// Waits until another router may lead.
async fn lost(router: &CellRouter) {
    while !router.store().has_lost_lead() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Enters the first policy where there is none.
async fn begin(router: &CellRouter, first: Option<Policy>) -> Result<()> {
    let known = router.store().policy();
    match (known, first) {
        (Some(known), Some(_)) => note(format_args!(
            "The policy of the store counts, version {}; PUT /v1/policy changes it.",
            known.version
        )),
        (None, Some(first)) => match router.change_policy(None, first).await {
            PolicyChange::Failed(error) => return Err(error.into()),
            PolicyChange::Made { .. } | PolicyChange::OtherVersion(_) => {}
        },
        (None, None) => note("There is no policy: PUT /v1/policy sets it."),
        (Some(_), None) => {}
    }
    router.look().await;
    Ok(())
}

impl Args {
    fn open(&self) -> Result<Arc<dyn Store>> {
        match (&self.data, &self.store) {
            (Some(dir), _) => Ok(Arc::new(EmbeddedStore::open(
                dir,
                Arc::new(SystemClock::new()),
            )?)),
            (None, Some(address)) => Ok(open_shared(address)?),
            (None, None) => bail!("neither --data nor --store is given"),
        }
    }

    /// Serves as a standby, then as the leader, until a signal or another leader ends it.
    async fn serve(
        &self,
        (serving, options): (Serving, ServeOptions),
        store: Arc<dyn Store>,
        client: CellClient,
        policy: Option<Policy>,
    ) -> Result<()> {
        let signalled = signalled().context("signals cannot be awaited")?;
        tokio::pin!(signalled);
        self.report(&serving);
        let (who, stop) = (self.network.advertised(&serving), serving.stopper());
        let page = StandbyPage::default();
        let switch = Switch::new(page.router());
        let served = tokio::spawn(serving.run(switch.router()));
        let led = self.lead_or_end(store, who, page, &mut signalled).await?;
        let Some(led) = led else {
            stop();
            return Ok(served.await??);
        };
        let router = CellRouter::new(led, client, self.options());
        begin(&router, policy).await?;
        let health = router.health();
        switch.set(router.router(self.access(&options), &health));
        tracing::info!("this router leads");
        tokio::spawn(router.clone().watch());
        tokio::select! {
            () = &mut signalled => {}
            () = lost(&router), if self.store.is_some() => bail!("another router may lead the store: this one ends"),
        }
        health.stop();
        stop();
        Ok(served.await??)
    }

    /// Waits for the lead beside the interface. Nothing: a signal came first.
    async fn lead_or_end(
        &self,
        store: Arc<dyn Store>,
        who: String,
        page: StandbyPage,
        signalled: impl Future<Output = ()>,
    ) -> Result<Option<RouterStore>> {
        let ends = Arc::new(AtomicBool::new(false));
        let (until, lease) = (Arc::clone(&ends), Duration::from_millis(self.lease_ms));
        let homes = usize::try_from(self.homes)?;
        let waits = tokio::task::spawn_blocking(move || {
            wait_to_lead(&store, (&who, lease, homes), &page, &until)
        });
        let led = tokio::select! {
            led = waits => led
                .context("the wait to lead has ended")?
                .map_err(|error| error.at(&self.store_name()))?,
            () = signalled => None,
        };
        ends.store(true, Ordering::Relaxed);
        Ok(led)
    }

    /// Where the store is, as messages say it.
    fn store_name(&self) -> String {
        let dir = self.data.as_ref().map(|dir| dir.display().to_string());
        dir.or_else(|| self.store.clone()).unwrap_or_default()
    }

    fn options(&self) -> RouterOptions {
        RouterOptions {
            patience: Duration::from_millis(self.call_ms),
            looks: Duration::from_millis(self.look_ms),
            partial: self.partial_results,
            reference: self.reference,
        }
    }

    fn access(&self, options: &ServeOptions) -> Arc<Access> {
        Arc::new(Access::new(
            Arc::new(Administrators::of(self.admin.iter().cloned())),
            options.authentication.clone(),
            options.anonymous_reads(),
            options.hosts.clone(),
            options.limits,
        ))
    }

    fn report(&self, serving: &Serving) {
        let page = serving.page();
        let base = page.trim_end_matches("/ui/");
        if self.json {
            line(json!({"router": base, "address": serving.address().to_string()}));
            return;
        }
        line(base);
        note("Ctrl-C ends the router.");
    }
}
