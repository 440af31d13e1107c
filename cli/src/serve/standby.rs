//! `capsched serve --store URL`: one of several servers leads, and the others follow its journal.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::sync::{AtomicBool, Ordering};
use capsched_server::daemon::{Background, Daemon, ServeOptions, Serving, StandbyPage, Switch};
use capsched_server::rm::{ResourceManager, Setup};
use capsched_server::store::{Durable, Lead, Standby, Store, StoreError};

use super::{Args, durable_failed, log_recovered};
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

impl Args {
    /// The files as they are when the process leads. What they said at its start holds where they are not valid any
    /// more: a failover must not end there.
    fn setup_or(&self, of_start: Setup) -> Setup {
        self.setup().unwrap_or_else(|error| {
            tracing::error!(%error, "the files are not valid any more; what they said at the start holds");
            of_start
        })
    }
}

/// Starts the resource manager of a process that leads.
async fn start(args: &Args, of_start: Setup, lead: Lead) -> Result<Arc<Durable>> {
    let (setup, keeping) = (args.setup_or(of_start), args.keeping());
    let started = move || Durable::start_leading(setup, Some(lead), keeping);
    let durable = tokio::task::spawn_blocking(started).await?;
    let durable = Arc::new(durable.map_err(|failure| durable_failed(failure, &args.store_name()))?);
    log_recovered(&durable);
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
pub(super) async fn serve(
    args: &Args,
    setup: Setup,
    store: Arc<dyn Store>,
    of: Interfaces,
) -> Result<()> {
    args.report(&of.serving, of.machines.as_ref(), None);
    let (who, stop) = (args.network.advertised(&of.serving), of.serving.stopper());
    let page = StandbyPage::default();
    let switch = Switch::new(page.router());
    let served = tokio::spawn(of.serving.run(switch.router()));
    let signalled = signalled().context("signals cannot be awaited")?;
    tokio::pin!(signalled);
    let led = lead_or_end(store, (who, args.keeping().lease), page, &mut signalled).await?;
    let Some(lead) = led.map_err(|error| error.at(&args.store_name()))? else {
        stop();
        return Ok(served.await??);
    };
    let durable = start(args, setup, lead).await?;
    let rm = Arc::clone(&durable.rm);
    let _background = Background::start(Arc::clone(&rm)).context("a thread cannot be started")?;
    let daemon = Daemon::new(Arc::clone(&rm), &of.options).keeping(&durable);
    let _waits = daemon
        .follow_waits()
        .context("a thread cannot be started")?;
    switch.set(daemon.router());
    tracing::info!("this server leads");
    let machines_end = serve_machines(of.machines, rm);
    tokio::select! {
        () = &mut signalled => {}
        why = lost(&durable) => bail!("{why}: this server ends, so that another one leads"),
    }
    daemon.health().stop();
    drop(machines_end);
    stop();
    Ok(served.await??)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn write(path: &Path, queue: &str, capacity: u32) {
        let pairs = [
            ("root.queues", queue.to_owned()),
            (&*format!("root.{queue}.capacity"), capacity.to_string()),
        ];
        let property = |(key, value): &(&str, String)| {
            format!(
                "<property><name>yarn.scheduler.capacity.{key}</name><value>{value}</value></property>"
            )
        };
        let text: String = pairs.iter().map(property).collect();
        fs::write(path, format!("<configuration>{text}</configuration>")).unwrap();
    }

    #[test]
    fn files_that_are_not_valid_any_more_do_not_end_a_failover() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.xml");
        let conf = file.display().to_string();
        let store = "etcd://127.0.0.1:1/x";
        let command = ["serve", "--conf", &conf, "--store", store];
        let args = Command::parse_from(command).args;
        let queues = |setup: Setup| setup.scheduler["yarn.scheduler.capacity.root.queues"].clone();
        write(&file, "a", 100);
        let of_start = args.setup().unwrap();
        write(&file, "b", 100);
        assert_eq!(queues(args.setup_or(of_start.clone())), "b");
        write(&file, "b", 50);
        assert!(args.setup().is_err());
        assert_eq!(queues(args.setup_or(of_start.clone())), "a");
        fs::remove_file(&file).unwrap();
        assert_eq!(queues(args.setup_or(of_start)), "a");
    }
}
