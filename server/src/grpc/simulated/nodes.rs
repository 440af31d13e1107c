//! Simulated node agents: each node registers, beats, launches and stops what it is ordered to, and reports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use capsched::sync::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use super::super::wire::{self, nodes_client::NodesClient};
use super::figures::Latencies;
use super::{Credentials, Dice, Server};

/// Which nodes are simulated.
#[derive(Clone, Debug)]
pub struct NodeLoad {
    /// Nodes.
    pub nodes: u32,
    /// Streams that they share; each has a connection of its own.
    pub streams: u32,
    /// Time between two heartbeats of a node.
    pub interval: Duration,
    /// Amounts that a node offers.
    pub total: Vec<i64>,
    /// Shortest and longest life of a container that is no master's, in ms.
    pub lasts_ms: (u64, u64),
    /// How long all of it goes on.
    pub duration: Duration,
    /// What decides lifetimes.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct NodeFigures {
    /// From a heartbeat to its orders.
    pub heartbeats: Latencies,
    /// Containers that were launched.
    pub launched: u64,
    /// Containers that ended by themselves.
    pub finished: u64,
    /// Containers that were stopped on order.
    pub stopped: u64,
    /// Registrations, those after a loss included.
    pub registrations: u64,
    /// Streams that broke and were opened again.
    pub reconnections: u64,
    /// Containers ordered twice: a defect of the server.
    pub doubled: u64,
    /// Orders that exceed what a node offers of a type that the scheduler counts: a defect of the server.
    pub oversubscribed: u64,
}

impl NodeFigures {
    fn add(&mut self, other: &Self) {
        self.heartbeats.add(&other.heartbeats);
        self.launched += other.launched;
        self.finished += other.finished;
        self.stopped += other.stopped;
        self.registrations += other.registrations;
        self.reconnections += other.reconnections;
        self.doubled += other.doubled;
        self.oversubscribed += other.oversubscribed;
    }

    /// All figures.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "heartbeats": self.heartbeats.to_json(),
            "launched": self.launched,
            "finished": self.finished,
            "stopped": self.stopped,
            "registrations": self.registrations,
            "reconnections": self.reconnections,
            "doubled": self.doubled,
            "oversubscribed": self.oversubscribed,
        })
    }
}

/// Containers that any node ever launched: an id belongs to one launch.
type Launched = Arc<Mutex<BTreeSet<String>>>;

type Client = NodesClient<InterceptedService<Channel, Credentials>>;

impl NodeLoad {
    /// Runs the nodes against a server.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached at the beginning, or refuses the nodes.
    pub async fn run(&self, server: &Server) -> Result<NodeFigures, String> {
        let launched = Launched::default();
        let until = Instant::now() + self.duration;
        let mut groups = tokio::task::JoinSet::new();
        for stream in 0..self.streams.clamp(1, self.nodes.max(1)) {
            let group = Group {
                load: self.clone(),
                server: server.clone(),
                launched: Arc::clone(&launched),
                agents: (stream..self.nodes)
                    .step_by(usize::try_from(self.streams.max(1)).unwrap_or(1))
                    .map(|number| Agent::new(number, self.seed))
                    .collect(),
                figures: NodeFigures::default(),
                until,
            };
            groups.spawn(group.run());
        }
        let mut all = NodeFigures::default();
        while let Some(group) = groups.join_next().await {
            all.add(&group.map_err(|error| error.to_string())??);
        }
        Ok(all)
    }
}

/// A container that a node runs.
#[derive(Debug)]
struct Runs {
    size: Vec<i64>,
    version: u32,
    opportunistic: bool,
    /// When it ends by itself; nothing: on order.
    ends: Option<Instant>,
}

/// One node.
#[derive(Debug)]
struct Agent {
    name: String,
    sequence: u64,
    registered: bool,
    /// How many types of an amount the scheduler counts; 0: all.
    counted_types: u32,
    running: BTreeMap<String, Runs>,
    /// What the next heartbeat reports.
    launched: Vec<String>,
    stopped: Vec<String>,
    finished: Vec<String>,
    updated: Vec<wire::ContainerVersion>,
    dice: Dice,
}

impl Agent {
    fn new(number: u32, seed: u64) -> Self {
        let own = u64::from(number) + 1;
        Self {
            name: format!("sim-{number}:8041"),
            sequence: 0,
            registered: false,
            counted_types: 0,
            running: BTreeMap::new(),
            launched: Vec::new(),
            stopped: Vec::new(),
            finished: Vec::new(),
            updated: Vec::new(),
            dice: Dice::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (own << 20)),
        }
    }

    fn registration(&self, total: &[i64]) -> wire::RegisterNodeRequest {
        let running = self.running.iter().map(|(id, runs)| wire::NodeContainer {
            container: id.clone(),
            size: Some(wire::Resource {
                amounts: runs.size.clone(),
            }),
            priority: 1,
            request_id: 0,
            version: runs.version,
            opportunistic: runs.opportunistic,
        });
        wire::RegisterNodeRequest {
            node: self.name.clone(),
            rack: String::new(),
            total: Some(wire::Resource {
                amounts: total.to_vec(),
            }),
            http_port: 8042,
            version: "simulated".to_owned(),
            label: None,
            running: running.collect(),
        }
    }

    /// Ends what has run for its time, and reports all that happened.
    fn heartbeat(&mut self) -> wire::NodeHeartbeat {
        let now = Instant::now();
        let over = self.running.iter();
        let over = over.filter(|(_, runs)| runs.ends.is_some_and(|ends| ends <= now));
        let over: Vec<String> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            self.running.remove(&id);
            self.finished.push(id);
        }
        wire::NodeHeartbeat {
            node: self.name.clone(),
            sequence: self.sequence + 1,
            launched: self.launched.clone(),
            stopped: self.stopped.clone(),
            finished: self.finished.clone(),
            health: String::new(),
            updated: self.updated.clone(),
            exit_statuses: Vec::new(),
        }
    }

    /// Carries out orders.
    fn take(
        &mut self,
        orders: &wire::NodeOrders,
        load: &NodeLoad,
        launched: &Launched,
        figures: &mut NodeFigures,
    ) {
        figures.finished += self.finished.len() as u64;
        self.sequence = orders.sequence;
        self.launched.clear();
        self.stopped.clear();
        self.finished.clear();
        self.updated.clear();
        for id in &orders.stop {
            // One that has ended meanwhile is reported as stopped all the same.
            if self.running.remove(id).is_some() {
                figures.stopped += 1;
            }
            self.stopped.push(id.clone());
        }
        for order in &orders.launch {
            if self.running.contains_key(&order.container) {
                continue;
            }
            let mut all = launched.lock().unwrap_or_else(PoisonError::into_inner);
            figures.doubled += u64::from(!all.insert(order.container.clone()));
            drop(all);
            let size = order.size.as_ref().map(|size| size.amounts.clone());
            let ms = self.dice.within(load.lasts_ms);
            let ends = (!order.master).then(|| Instant::now() + Duration::from_millis(ms));
            let runs = Runs {
                size: size.unwrap_or_default(),
                version: order.version,
                opportunistic: order.opportunistic,
                ends,
            };
            if order.version > 0 {
                self.note_version(&order.container, order.version);
            }
            self.running.insert(order.container.clone(), runs);
            self.launched.push(order.container.clone());
            figures.launched += 1;
        }
        for order in &orders.update {
            self.change(order);
        }
        figures.oversubscribed += u64::from(self.exceeds(&load.total));
    }

    fn note_version(&mut self, container: &str, version: u32) {
        self.updated.push(wire::ContainerVersion {
            container: container.to_owned(),
            version,
        });
    }

    /// Changes a container. One that has ended meanwhile is reported with the next heartbeat.
    fn change(&mut self, order: &wire::ChangeOrder) {
        if let Some(runs) = self.running.get_mut(&order.container) {
            if let Some(size) = &order.size {
                runs.size.clone_from(&size.amounts);
            }
            (runs.version, runs.opportunistic) = (order.version, order.opportunistic);
            self.note_version(&order.container, order.version);
        }
    }

    fn exceeds(&self, total: &[i64]) -> bool {
        let mut used = vec![0_i64; total.len()];
        for runs in self.running.values().filter(|runs| !runs.opportunistic) {
            for (sum, amount) in used.iter_mut().zip(&runs.size) {
                *sum = sum.saturating_add(*amount);
            }
        }
        let counted = match self.counted_types {
            0 => usize::MAX,
            some => usize::try_from(some).unwrap_or(usize::MAX),
        };
        let mut pairs = used.iter().zip(total).take(counted);
        pairs.any(|(used, total)| used > total)
    }
}

/// The nodes of one stream.
#[derive(Debug)]
struct Group {
    load: NodeLoad,
    server: Server,
    launched: Launched,
    agents: Vec<Agent>,
    figures: NodeFigures,
    until: Instant,
}

/// Both directions of an open stream.
struct Open {
    send: mpsc::Sender<wire::NodeHeartbeat>,
    orders: Streaming<wire::NodeOrders>,
}

impl Group {
    /// Runs until the end of the load. A server that is away is waited for; one that never takes a node is an error.
    async fn run(mut self) -> Result<NodeFigures, String> {
        let mut patience = Duration::from_secs(10);
        let mut broken = None;
        while Instant::now() < self.until {
            let channel = self.server.connect(patience).await?;
            let credentials = self.server.credentials()?;
            let mut client = NodesClient::with_interceptor(channel, credentials);
            match self.beat(&mut client).await {
                Ok(()) => break,
                Err(status) if is_final(&status) => return Err(status.message().to_owned()),
                Err(status) => {
                    self.figures.reconnections += 1;
                    broken = Some(status);
                }
            }
            patience = self.until.saturating_duration_since(Instant::now());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        match broken {
            Some(status) if self.figures.registrations == 0 => Err(format!(
                "{}: no node could register: {}",
                self.server.address,
                status.message()
            )),
            _ => Ok(self.figures),
        }
    }

    /// Heartbeats of all nodes over one stream, spread over the interval.
    async fn beat(&mut self, client: &mut Client) -> Result<(), Status> {
        let (send, receive) = mpsc::channel(1);
        let mut open = None;
        let mut receive = Some(receive);
        let pause = self.load.interval / u32::try_from(self.agents.len()).unwrap_or(1).max(1);
        let mut due = Instant::now();
        loop {
            for at in 0..self.agents.len() {
                if Instant::now() >= self.until {
                    return Ok(());
                }
                if !self.agents[at].registered {
                    self.register(client, at).await?;
                }
                if let Some(receive) = receive.take() {
                    // The server answers the opening with its first orders at the latest.
                    send.send(self.agents[at].heartbeat()).await.map_err(gone)?;
                    let orders = client.heartbeats(ReceiverStream::new(receive)).await?;
                    open = Some(Open {
                        send: send.clone(),
                        orders: orders.into_inner(),
                    });
                    self.answered(at, &mut open, Instant::now()).await?;
                } else {
                    let begun = Instant::now();
                    if let Some(open) = &open {
                        let heartbeat = self.agents[at].heartbeat();
                        open.send.send(heartbeat).await.map_err(gone)?;
                    }
                    self.answered(at, &mut open, begun).await?;
                }
                due += pause;
                sleep_until(due).await;
            }
            // Who is late does not catch up by beating faster.
            due = due.max(Instant::now());
        }
    }

    async fn register(&mut self, client: &mut Client, at: usize) -> Result<(), Status> {
        let request = self.agents[at].registration(&self.load.total);
        let reply = client.register(request).await?.into_inner();
        let agent = &mut self.agents[at];
        for id in &reply.stop {
            agent.running.remove(id);
        }
        (agent.registered, agent.sequence) = (true, 0);
        agent.counted_types = reply.counted_types;
        agent.stopped.clear();
        agent.launched.retain(|id| agent.running.contains_key(id));
        self.figures.registrations += 1;
        Ok(())
    }

    /// Takes the orders of one heartbeat.
    async fn answered(
        &mut self,
        at: usize,
        open: &mut Option<Open>,
        begun: Instant,
    ) -> Result<(), Status> {
        let Some(open) = open else {
            return Err(Status::unavailable("the stream is not open"));
        };
        let orders = open.orders.next().await;
        let orders = orders.ok_or_else(|| Status::unavailable("the stream has ended"))??;
        self.figures.heartbeats.record(begun.elapsed());
        let agent = &mut self.agents[at];
        if orders.register_again {
            agent.registered = false;
            return Ok(());
        }
        agent.take(&orders, &self.load, &self.launched, &mut self.figures);
        Ok(())
    }
}

fn gone<T>(_: mpsc::error::SendError<T>) -> Status {
    Status::unavailable("the stream has ended")
}

/// Whether another try comes to the same.
fn is_final(status: &Status) -> bool {
    use tonic::Code;
    matches!(
        status.code(),
        Code::InvalidArgument
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
    )
}
