//! The service of node agents: registration, heartbeats with orders, and the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use capsched::api::{ContainerId, HeartbeatReply, NodeError, NodeName, NodeReport};
use capsched::commit::Ledger;
use capsched::id::NodeSlot;
use capsched::sync::Mutex;
use dashmap::DashMap;
use tokio_stream::StreamExt;
use tonic::{Request, Response, Status, Streaming};

use super::callers::Callers;
use super::wire::{self, nodes_server::Nodes};
use super::{Answers, blocking, convert};
use crate::rm::{Command, ResourceManager};

/// Time between two heartbeats of a node, in ms.
// As yarn.resourcemanager.nodemanagers.heartbeat-interval-ms.
const HEARTBEAT_MS: u32 = 1000;

/// Heartbeats of one registration of a node.
#[derive(Debug, Default)]
struct Session {
    /// Number of the last heartbeat; 0: none came.
    sequence: u64,
    /// What it was answered with.
    orders: wire::NodeOrders,
    health: String,
    /// The versions that the node runs changed containers with.
    versions: BTreeMap<ContainerId, u32>,
}

/// The sessions of all nodes. An entry is never held while something is awaited.
type Sessions = DashMap<NodeName, Arc<Mutex<Session>>>;

/// The service.
#[derive(Clone, Debug)]
pub(super) struct NodeService {
    callers: Callers,
    sessions: Arc<Sessions>,
}

impl NodeService {
    pub(super) fn new(callers: Callers) -> Self {
        Self {
            callers,
            sessions: Arc::default(),
        }
    }

    fn rm(&self) -> &ResourceManager {
        &self.callers.rm
    }

    fn register_now(
        &self,
        user: &str,
        request: wire::RegisterNodeRequest,
    ) -> Result<wire::RegisterNodeReply, Status> {
        let (registration, running) = convert::registration(request, self.rm().types().len())?;
        let name = convert::node("node", &registration.node)?;
        let changed = running.iter().filter(|one| one.version > 0);
        let session = Session {
            versions: changed.map(|one| (one.id, one.version)).collect(),
            ..Session::default()
        };
        let found = self
            .rm()
            .register_running(user, registration, running)
            .map_err(convert::refused)?;
        self.sessions.insert(name, Arc::new(Mutex::new(session)));
        let texts = |ids: &[ContainerId]| ids.iter().map(ToString::to_string).collect();
        Ok(wire::RegisterNodeReply {
            taken: texts(&found.taken),
            stop: texts(&found.to_stop),
            heartbeat_ms: HEARTBEAT_MS,
            counted_types: u32::try_from(self.rm().fitting_types()).unwrap_or(u32::MAX),
        })
    }

    fn beat(&self, heartbeat: wire::NodeHeartbeat) -> Result<wire::NodeOrders, Status> {
        let name = convert::node("node", &heartbeat.node)?;
        let again = wire::NodeOrders {
            node: heartbeat.node.clone(),
            sequence: heartbeat.sequence,
            register_again: true,
            ..wire::NodeOrders::default()
        };
        let session = self.sessions.get(&name).map(|entry| Arc::clone(&entry));
        let Some(session) = session else {
            return Ok(again);
        };
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        if heartbeat.sequence == session.sequence && session.sequence > 0 {
            return Ok(session.orders.clone());
        }
        if heartbeat.sequence != session.sequence + 1 {
            return Ok(again);
        }
        match self.take(&name, &heartbeat, &mut session)? {
            Some(orders) => {
                session.sequence = heartbeat.sequence;
                session.orders = orders.clone();
                Ok(orders)
            }
            None => {
                self.sessions.remove(&name);
                Ok(again)
            }
        }
    }

    /// Takes a heartbeat over; nothing where the node is not registered.
    fn take(
        &self,
        name: &NodeName,
        heartbeat: &wire::NodeHeartbeat,
        session: &mut Session,
    ) -> Result<Option<wire::NodeOrders>, Status> {
        let finished = convert::containers("finished", &heartbeat.finished)?;
        let statuses = &heartbeat.exit_statuses;
        if statuses.len() > finished.len() {
            let reason = format!(
                "exit_statuses: {} of {} containers",
                statuses.len(),
                finished.len()
            );
            return Err(Status::invalid_argument(reason));
        }
        let statuses = statuses.iter().copied().chain(std::iter::repeat(0));
        let finished: BTreeMap<ContainerId, i32> = finished.into_iter().zip(statuses).collect();
        let mut launched = convert::containers("launched", &heartbeat.launched)?;
        launched.retain(|container| !finished.contains_key(container));
        let exited = convert::containers("stopped", &heartbeat.stopped)?;
        let updated = convert::versions("updated", &heartbeat.updated)?;
        self.finish(name, &finished)?;
        let report = NodeReport::Exactly { launched, exited };
        let reply = match self.rm().heartbeat(name, report) {
            Ok(reply) => reply,
            Err(NodeError::Unknown(_)) => return Ok(None),
            Err(error @ (NodeError::Closed | NodeError::Reentrant)) => {
                return Err(Status::unavailable(error.to_string()));
            }
            Err(error) => return Err(Status::invalid_argument(error.to_string())),
        };
        if session.health != heartbeat.health {
            session.health.clone_from(&heartbeat.health);
            self.rm().report_health(name, session.health.clone());
        }
        session.versions.extend(updated);
        self.orders(name, heartbeat, &reply, &mut session.versions)
            .map(Some)
    }

    /// Ends the containers that ended by themselves. Those of other nodes are not this node's to report.
    fn finish(&self, name: &NodeName, finished: &BTreeMap<ContainerId, i32>) -> Result<(), Status> {
        if finished.is_empty() {
            return Ok(());
        }
        let node = name.clone();
        let own = self.rm().engine().inspect(move |ledger| {
            let slot = ledger.node(&node)?;
            let placed = ledger.containers_of_node(slot);
            Some(placed.map(|one| one.id).collect::<BTreeSet<_>>())
        });
        let own = own.map_err(|error| Status::unavailable(error.to_string()))?;
        for id in own.iter().flatten() {
            if let Some(&status) = finished.get(id) {
                // Whether it was live still makes no difference to the node.
                self.rm().container_exited(*id, status);
            }
        }
        Ok(())
    }

    fn orders(
        &self,
        name: &NodeName,
        heartbeat: &wire::NodeHeartbeat,
        reply: &HeartbeatReply,
        versions: &mut BTreeMap<ContainerId, u32>,
    ) -> Result<wire::NodeOrders, Status> {
        let (node, types, known) = (
            name.clone(),
            self.rm().types().len(),
            std::mem::take(versions),
        );
        let due = self.rm().engine().inspect(move |ledger| {
            let node = ledger.node(&node)?;
            Some(Due::of(ledger, node, known, types))
        });
        let due = due.map_err(|error| Status::unavailable(error.to_string()))?;
        let due = due.unwrap_or_default();
        *versions = due.versions;
        let stop = reply.to_stop.iter().chain(&reply.unknown);
        Ok(wire::NodeOrders {
            node: heartbeat.node.clone(),
            sequence: heartbeat.sequence,
            launch: due.launch,
            update: due.update,
            stop: stop.map(ToString::to_string).collect(),
            register_again: false,
        })
    }
}

/// What a node has to do with its containers.
#[derive(Debug, Default)]
struct Due {
    launch: Vec<wire::Launch>,
    update: Vec<wire::ChangeOrder>,
    /// The versions that the node has, of containers that are there still.
    versions: BTreeMap<ContainerId, u32>,
}

impl Due {
    fn of(
        ledger: &Ledger,
        node: NodeSlot,
        known: BTreeMap<ContainerId, u32>,
        types: usize,
    ) -> Self {
        let mut due = Self::default();
        for one in ledger.containers_of_node(node) {
            let has = known.get(&one.id).copied();
            if let Some(version) = has {
                due.versions.insert(one.id, version);
            }
            let Some(slot) = ledger.live_container(one.id) else {
                continue;
            };
            let (version, opportunistic) = (
                ledger.container_version(slot),
                ledger.is_opportunistic(slot),
            );
            let size = Some(convert::resource(&ledger.running_size(slot), types));
            if one.launched && version != has.unwrap_or(0) {
                due.update.push(wire::ChangeOrder {
                    container: one.id.to_string(),
                    size,
                    version,
                    opportunistic,
                });
            } else if one.to_launch && !one.launched {
                due.launch.push(wire::Launch {
                    container: one.id.to_string(),
                    size,
                    master: one.master,
                    version,
                    opportunistic,
                });
            }
        }
        due
    }
}

#[tonic::async_trait]
impl Nodes for NodeService {
    type HeartbeatsStream = Answers<wire::NodeOrders>;

    async fn register(
        &self,
        request: Request<wire::RegisterNodeRequest>,
    ) -> Result<Response<wire::RegisterNodeReply>, Status> {
        let user = self.callers.administrator(&request)?;
        let (service, request) = (self.clone(), request.into_inner());
        let reply = blocking(move || service.register_now(&user, request)).await?;
        Ok(Response::new(reply))
    }

    async fn heartbeats(
        &self,
        request: Request<Streaming<wire::NodeHeartbeat>>,
    ) -> Result<Response<Self::HeartbeatsStream>, Status> {
        self.callers.administrator(&request)?;
        let service = self.clone();
        let orders = request.into_inner().then(move |heartbeat| {
            let service = service.clone();
            blocking(move || service.beat(heartbeat?))
        });
        Ok(Response::new(Box::pin(orders)))
    }

    async fn unregister(
        &self,
        request: Request<wire::UnregisterNodeRequest>,
    ) -> Result<Response<wire::UnregisterNodeReply>, Status> {
        let user = self.callers.administrator(&request)?;
        let (service, node) = (self.clone(), request.into_inner().node);
        blocking(move || {
            let name = convert::node("node", &node)?;
            let command = Command::RemoveNode { node };
            let removed = service.rm().execute(&user, command);
            removed.map_err(convert::refused)?;
            service.sessions.remove(&name);
            Ok(())
        })
        .await?;
        Ok(Response::new(wire::UnregisterNodeReply {}))
    }
}
