//! Simulated applications: each is submitted, waits for its master, asks for tasks, and ends when they are done.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use capsched::sync::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use super::super::wire::{self, ApplicationState, applications_client::ApplicationsClient};
use super::figures::Latencies;
use super::{Credentials, Dice, Server};

/// Which applications are simulated.
#[derive(Clone, Debug)]
pub struct ApplicationLoad {
    /// Applications at once; when one ends, the next one is submitted.
    pub applications: u32,
    /// Connections that they share.
    pub connections: u32,
    /// Queues, used in turn.
    pub queues: Vec<String>,
    /// Fewest and most tasks of one.
    pub tasks: (u64, u64),
    /// Amounts of a container, of masters and tasks alike.
    pub size: Vec<i64>,
    /// Time between two calls of a master.
    pub interval: Duration,
    /// How long all of it goes on.
    pub duration: Duration,
    /// What decides the numbers of tasks.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct ApplicationFigures {
    /// From a call of a master to its answer.
    pub calls: Latencies,
    /// From a submission to the container of the master, as far as applications look.
    pub masters: Latencies,
    /// Applications that were submitted.
    pub submitted: u64,
    /// Of these, those whose tasks were all done.
    pub done: u64,
    /// Containers that masters got.
    pub containers: u64,
    /// Containers that ended before their tasks were done.
    pub lost: u64,
    /// Calls that the server refused.
    pub refused: u64,
    /// Connections that broke.
    pub reconnections: u64,
    /// Why a call was refused or a connection broke, at first.
    pub first_failure: Option<String>,
}

impl ApplicationFigures {
    /// All figures.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "calls": self.calls.to_json(),
            "masters": self.masters.to_json(),
            "submitted": self.submitted,
            "done": self.done,
            "containers": self.containers,
            "lost": self.lost,
            "refused": self.refused,
            "reconnections": self.reconnections,
            "first_failure": self.first_failure,
        })
    }
}

/// Figures that all applications count in: a histogram for each would take more memory than all else.
type Shared = Arc<Mutex<ApplicationFigures>>;

type Client = ApplicationsClient<InterceptedService<Channel, Credentials>>;

impl ApplicationLoad {
    /// Runs the applications against a server.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached at the beginning, or takes no application.
    pub async fn run(&self, server: &Server) -> Result<ApplicationFigures, String> {
        let until = Instant::now() + self.duration;
        let mut channels = Vec::new();
        for _ in 0..self.connections.max(1) {
            channels.push(server.connect(Duration::from_secs(10)).await?);
        }
        let figures = Shared::default();
        let mut lanes = tokio::task::JoinSet::new();
        for (number, channel) in (0..self.applications).zip(channels.iter().cycle()) {
            let credentials = server.credentials()?;
            let lane = Lane {
                load: self.clone(),
                client: ApplicationsClient::with_interceptor(channel.clone(), credentials),
                number,
                dice: Dice::new(self.seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9)),
                figures: Arc::clone(&figures),
                until,
            };
            lanes.spawn(lane.run());
        }
        while let Some(lane) = lanes.join_next().await {
            let ended = lane.map_err(|error| error.to_string())?;
            ended.map_err(|error| format!("{}: {error}", server.address))?;
        }
        let figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
        match &figures.first_failure {
            Some(why) if figures.submitted == 0 => Err(format!(
                "{}: no application could be submitted: {why}",
                server.address
            )),
            _ => Ok(figures.clone()),
        }
    }
}

/// One application after the other.
struct Lane {
    load: ApplicationLoad,
    client: Client,
    number: u32,
    dice: Dice,
    figures: Shared,
    until: Instant,
}

/// The stream of one master.
struct Master {
    send: mpsc::Sender<wire::AllocateRequest>,
    answers: Streaming<wire::AllocateReply>,
}

impl Lane {
    async fn run(mut self) -> Result<(), String> {
        while !self.is_over() {
            match self.one().await {
                Ok(()) => {}
                Err(status) if matches!(status.code(), Code::Unavailable | Code::Unknown) => {
                    self.failed(status.message(), |all| all.reconnections += 1);
                    sleep(Duration::from_millis(200)).await;
                }
                Err(status) if status.code() == Code::FailedPrecondition => {
                    self.failed(status.message(), |all| all.refused += 1);
                }
                Err(status) => return Err(status.message().to_owned()),
            }
        }
        Ok(())
    }

    fn count(&self, in_all: impl FnOnce(&mut ApplicationFigures)) {
        in_all(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts a failure, and keeps why the first one came.
    fn failed(&self, why: &str, in_all: impl FnOnce(&mut ApplicationFigures)) {
        self.count(|all| {
            in_all(all);
            all.first_failure.get_or_insert_with(|| why.to_owned());
        });
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// The life of one application.
    async fn one(&mut self) -> Result<(), Status> {
        let reply = self.client.new_id(wire::NewIdRequest {}).await?;
        let application = reply.into_inner().application;
        self.submit(&application).await?;
        let begun = Instant::now();
        if !self.await_master(&application).await? {
            return Ok(());
        }
        self.count(|all| all.masters.record(begun.elapsed()));
        let tasks = self.dice.within(self.load.tasks);
        if self.work(&application, tasks).await? {
            self.finish(&application).await?;
            self.count(|all| all.done += 1);
        } else {
            let kill = wire::KillRequest {
                application,
                diagnostics: "the load ends".to_owned(),
            };
            self.client.kill(kill).await?;
        }
        Ok(())
    }

    fn size(&self) -> Option<wire::Resource> {
        let amounts = self.load.size.clone();
        Some(wire::Resource { amounts })
    }

    async fn submit(&mut self, application: &str) -> Result<(), Status> {
        let queues = &self.load.queues;
        let at = usize::try_from(self.number).unwrap_or(0) % queues.len().max(1);
        let request = wire::SubmitRequest {
            application: application.to_owned(),
            name: format!("simulated-{}", self.number),
            queue: queues.get(at).cloned().unwrap_or_default(),
            master: self.size(),
            ..wire::SubmitRequest::default()
        };
        self.client.submit(request).await?;
        self.count(|all| all.submitted += 1);
        Ok(())
    }

    /// Waits for the container of the master, and registers it. Whether it came before the end of the load.
    async fn await_master(&mut self, application: &str) -> Result<bool, Status> {
        loop {
            let asked = wire::StateRequest {
                application: application.to_owned(),
            };
            let state = self.client.state(asked).await?.into_inner();
            let ended = [
                ApplicationState::Finished,
                ApplicationState::Failed,
                ApplicationState::Killed,
            ];
            if ended.contains(&state.state()) {
                self.failed(&state.diagnostics, |all| all.refused += 1);
                return Ok(false);
            }
            if !state.master.is_empty() {
                let register = wire::RegisterMasterRequest {
                    application: application.to_owned(),
                    host: "simulated".to_owned(),
                    ..wire::RegisterMasterRequest::default()
                };
                self.client.register_master(register).await?;
                return Ok(true);
            }
            if self.is_over() {
                return Ok(false);
            }
            sleep(self.load.interval).await;
        }
    }

    /// Has tasks done, one container each. Whether all were done before the end of the load.
    async fn work(&mut self, application: &str, tasks: u64) -> Result<bool, Status> {
        let mut call = self.asking(application, tasks);
        let mut master = None;
        let (mut done, mut running, mut due) = (0_u64, 0_u64, Instant::now());
        while done < tasks {
            let begun = Instant::now();
            let reply = self.call(&mut master, call).await?;
            self.count(|all| all.calls.record(begun.elapsed()));
            if let Some(refused) = &reply.refused {
                return Err(Status::failed_precondition(refused.message.clone()));
            }
            let got = reply.allocated.len() as u64;
            self.count(|all| all.containers += got);
            running = (running + got).saturating_sub(reply.completed.len() as u64);
            let (ended, lost): (Vec<_>, Vec<_>) = reply
                .completed
                .iter()
                .partition(|one| one.cause == "exited");
            done += ended.len() as u64;
            self.count(|all| all.lost += lost.len() as u64);
            call = match lost.is_empty() {
                true => self.fetching(application),
                false => self.asking(application, tasks.saturating_sub(done + running)),
            };
            if self.is_over() {
                return Ok(done >= tasks);
            }
            due = (due + self.load.interval).max(begun);
            sleep_until(due).await;
        }
        Ok(true)
    }

    fn fetching(&self, application: &str) -> wire::AllocateRequest {
        wire::AllocateRequest {
            application: application.to_owned(),
            ..wire::AllocateRequest::default()
        }
    }

    fn asking(&self, application: &str, tasks: u64) -> wire::AllocateRequest {
        let ask = wire::ContainerAsk {
            priority: 1,
            size: self.size(),
            count: u32::try_from(tasks).unwrap_or(u32::MAX),
            ..wire::ContainerAsk::default()
        };
        wire::AllocateRequest {
            asks: vec![ask],
            ..self.fetching(application)
        }
    }

    /// One call over the stream of the master, which the first call opens.
    async fn call(
        &mut self,
        master: &mut Option<Master>,
        call: wire::AllocateRequest,
    ) -> Result<wire::AllocateReply, Status> {
        let gone = || Status::unavailable("the stream has ended");
        let open = match master {
            Some(open) => {
                open.send.send(call).await.map_err(|_| gone())?;
                open
            }
            None => {
                let (send, receive) = mpsc::channel(1);
                send.send(call).await.map_err(|_| gone())?;
                let answers = self.client.allocate(ReceiverStream::new(receive)).await?;
                master.insert(Master {
                    send,
                    answers: answers.into_inner(),
                })
            }
        };
        open.answers.next().await.ok_or_else(gone)?
    }

    async fn finish(&mut self, application: &str) -> Result<(), Status> {
        let request = wire::FinishMasterRequest {
            application: application.to_owned(),
            status: wire::FinalStatus::Succeeded.into(),
            ..wire::FinishMasterRequest::default()
        };
        self.client.finish_master(request).await.map(drop)
    }
}
