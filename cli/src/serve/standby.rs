//! `capsched serve --store URL`: one of several servers leads, and the others follow its journal.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::sync::{AtomicBool, Ordering};
use capsched_server::daemon::{Background, Daemon, ServeOptions, Serving, StandbyPage, Switch};
use capsched_server::rm::ResourceManager;
use capsched_server::store::{Durable, Lead, Standby, Store, StoreError};

use super::{Args, durable_failed, end_recovery};
use crate::machines::Listening;
use crate::network::signalled;

/// Longest wait of a standby between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// The interfaces of a server, listening.
pub(super) struct Interfaces {
    pub(super) serving: Serving,
    pub(super) machines: Option<Listening>,
    pub(super) options: ServeOptions,
}

/// Follows the leader until this process leads, or until the end is wanted. Contents that cannot be read end it: no
/// later look reads them, and the leader goes on without this process.
fn wait_to_lead(
    store: Arc<dyn Store>,
    (who, lease): (&str, Duration),
    page: &StandbyPage,
    ends: &AtomicBool,
) -> Result<Option<Lead>, StoreError> {
    let mut standby = Standby::new(store, who, lease);
    while !ends.load(Ordering::Relaxed) {
        match standby.step(LOOK) {
            Ok(Some(lead)) => return Ok(Some(lead)),
            Ok(None) => page.set_leader(standby.leader()),
            Err(error) if error.is_of_contents() => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "the store cannot be followed");
                std::thread::sleep(LOOK);
            }
        }
    }
    Ok(None)
}

/// Waits until another process may lead, or until changes are not kept any more; says why this one has to end.
async fn lost(durable: &Durable) -> String {
    loop {
        if durable.has_lost_lead() {
            return "another server may lead the store".to_owned();
        }
        if let Some(why) = durable.failure() {
            return format!("changes are not kept any more: {why}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts the resource manager of a process that leads.
async fn start(args: &Args, lead: Lead) -> Result<Arc<Durable>> {
    let (setup, keeping) = (args.setup()?, args.keeping());
    let started = move || Durable::start_leading(setup, Some(lead), keeping);
    let durable = tokio::task::spawn_blocking(started).await?;
    let durable = Arc::new(durable.map_err(|failure| durable_failed(failure, &args.store_name()))?);
    end_recovery(&durable)?;
    Ok(durable)
}

/// Waits for the lead beside the interface. Nothing: a signal came first.
async fn lead_or_end(
    store: Arc<dyn Store>,
    (who, lease): (String, Duration),
    page: StandbyPage,
    signalled: impl Future<Output = ()>,
) -> Result<Result<Option<Lead>, StoreError>> {
    let ends = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&ends);
    let waits =
        tokio::task::spawn_blocking(move || wait_to_lead(store, (&who, lease), &page, &until));
    let lead = tokio::select! {
        lead = waits => lead.context("the wait to lead has ended")?,
        () = signalled => Ok(None),
    };
    ends.store(true, Ordering::Relaxed);
    Ok(lead)
}

/// Serves machines, where that is wanted, until what is returned is dropped.
fn serve_machines(
    machines: Option<Listening>,
    rm: Arc<ResourceManager>,
) -> tokio::sync::oneshot::Sender<()> {
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    if let Some(machines) = machines {
        let ended = async {
            // A sender that is gone is the end, too.
            let _ = ended.await;
        };
        tokio::spawn(machines.run(rm, ended));
    }
    end
}

/// Serves as a standby, then as the leader, until a signal or another leader ends it.
pub(super) async fn serve(args: &Args, store: Arc<dyn Store>, of: Interfaces) -> Result<()> {
    let Interfaces {
        serving,
        machines,
        options,
    } = of;
    args.report(&serving, machines.as_ref(), None);
    let (who, stop) = (args.network.advertised(&serving), serving.stopper());
    let page = StandbyPage::default();
    let switch = Switch::new(page.router());
    let served = tokio::spawn(serving.run(switch.router()));
    let signalled = signalled().context("signals cannot be awaited")?;
    tokio::pin!(signalled);
    let led = lead_or_end(store, (who, args.keeping().lease), page, &mut signalled).await?;
    let Some(lead) = led.map_err(|error| error.at(&args.store_name()))? else {
        stop();
        return Ok(served.await??);
    };
    let durable = start(args, lead).await?;
    let rm = Arc::clone(&durable.rm);
    let _background = Background::start(Arc::clone(&rm)).context("a thread cannot be started")?;
    let daemon = Daemon::new(Arc::clone(&rm), &options).keeping(&durable);
    let _waits = daemon
        .follow_waits()
        .context("a thread cannot be started")?;
    switch.set(daemon.router());
    tracing::info!("this server leads");
    let machines_end = serve_machines(machines, rm);
    tokio::select! {
        () = &mut signalled => {}
        why = lost(&durable) => bail!("{why}: this server ends, so that another one leads"),
    }
    daemon.health().stop();
    drop(machines_end);
    stop();
    Ok(served.await??)
}
