//! A first-come first-served scheduler for the tests of the driver, honest or with one flaw.

use std::collections::{BTreeMap, VecDeque};

use crate::api::{
    AppError, AppSpec, ApplicationId, AskCall, AskError, AskReply, ContainerError, ContainerId,
    EndCause, Event, Granted, HeartbeatReply, NodeError, NodeName, NodeReport, NodeSpec,
    ResourceVector, Scheduler, SubmitError, Submitted,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// Places without looking at the room.
    IgnoresRoom,
    /// Forgets to report that containers of a lost node ended.
    LeaksLostNodes,
}

#[derive(Debug)]
pub(super) struct Toy {
    flaw: Flaw,
    free: BTreeMap<NodeName, ResourceVector>,
    apps: BTreeMap<ApplicationId, ToyApp>,
    backlog: VecDeque<Want>,
    live: BTreeMap<ContainerId, (NodeName, ResourceVector)>,
    events: Vec<Event>,
}

#[derive(Debug, Default)]
struct ToyApp {
    queue: String,
    numbers: u32,
    ready: Vec<Granted>,
}

#[derive(Debug)]
struct Want {
    app: ApplicationId,
    size: ResourceVector,
    count: i32,
    priority: i32,
    request_id: i64,
}

impl Toy {
    pub(super) fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            free: BTreeMap::new(),
            apps: BTreeMap::new(),
            backlog: VecDeque::new(),
            live: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    fn fill(&mut self, node: &NodeName) -> usize {
        let mut placed = 0;
        while let Some(want) = self.backlog.front_mut() {
            let free = self.free.get_mut(node).unwrap();
            if self.flaw != Flaw::IgnoresRoom && !want.size.fits_in(free) {
                break;
            }
            *free -= want.size;
            let app = self.apps.get_mut(&want.app).unwrap();
            app.numbers += 1;
            let container = ContainerId::new(want.app, app.numbers);
            self.live.insert(container, (node.clone(), want.size));
            let place = (node.clone(), app.queue.as_str().into());
            let key = (want.priority, want.request_id);
            self.events
                .push(Event::placed(container, place, want.size, key));
            if want.request_id == -1 {
                self.events.push(Event::MasterStarted {
                    app: want.app,
                    container: Some(container),
                });
            } else {
                app.ready.push(Granted {
                    container,
                    node: node.clone(),
                    size: want.size,
                    priority: want.priority,
                    request_id: want.request_id,
                    opportunistic: false,
                });
            }
            want.count -= 1;
            placed += 1;
            if want.count <= 0 {
                self.backlog.pop_front();
            }
        }
        placed
    }

    fn release(&mut self, container: ContainerId, cause: EndCause) -> bool {
        let Some((node, size)) = self.live.remove(&container) else {
            return false;
        };
        if let Some(free) = self.free.get_mut(&node) {
            *free += size;
        }
        self.events.push(Event::ended(container, node, size, cause));
        true
    }
}

impl Scheduler for Toy {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.free.insert(node.name, node.total);
        Ok(())
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.free
            .remove(node)
            .ok_or_else(|| NodeError::Unknown(node.clone()))?;
        let lost: Vec<ContainerId> = self
            .live
            .iter()
            .filter(|(_, (place, _))| place == node)
            .map(|(container, _)| *container)
            .collect();
        if self.flaw != Flaw::LeaksLostNodes {
            for container in lost {
                self.release(container, EndCause::Killed);
            }
        }
        Ok(())
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        if app.queue == "root.closed" {
            return Err(SubmitError::QueueStopped(app.queue));
        }
        match app.master {
            None => self.events.push(Event::MasterStarted {
                app: app.id,
                container: None,
            }),
            Some(size) => self.backlog.push_back(Want {
                app: app.id,
                size,
                count: 1,
                priority: 0,
                request_id: -1,
            }),
        }
        let entry = ToyApp {
            queue: app.queue.as_str().into(),
            ..ToyApp::default()
        };
        self.apps.insert(app.id, entry);
        Ok(Submitted {
            queue: app.queue.into(),
            stage: crate::api::AppStage::Active,
            master: None,
        })
    }

    fn ask(&mut self, id: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        let app = self
            .apps
            .get_mut(&id)
            .ok_or(AskError::UnknownApplication(id))?;
        let allocated = std::mem::take(&mut app.ready);
        for ask in call.asks.into_iter().filter(|ask| ask.place == "*") {
            self.backlog
                .retain(|want| (want.app, want.request_id) != (id, ask.request_id));
            if ask.count > 0 {
                self.backlog.push_back(Want {
                    app: id,
                    size: ask.size,
                    count: ask.count,
                    priority: ask.priority,
                    request_id: ask.request_id,
                });
            }
        }
        Ok(AskReply {
            allocated,
            ..AskReply::default()
        })
    }

    fn heartbeat(&mut self, node: &NodeName, _: NodeReport) -> Result<HeartbeatReply, NodeError> {
        self.fill(node);
        Ok(HeartbeatReply::default())
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        if self.release(container, EndCause::Exited) {
            return Ok(());
        }
        Err(ContainerError(container))
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.apps.remove(&app).ok_or(AppError::Unknown(app))?;
        self.backlog.retain(|want| want.app != app);
        let held: Vec<ContainerId> = self.live.keys().filter(|c| c.app == app).copied().collect();
        for container in held {
            self.release(container, EndCause::Killed);
        }
        Ok(())
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    fn schedule(&mut self) -> usize {
        let nodes: Vec<NodeName> = self.free.keys().cloned().collect();
        nodes.iter().map(|node| self.fill(node)).sum()
    }

    fn advance(&mut self, _: u64) {}
}
