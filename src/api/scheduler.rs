//! The scheduler as outsiders drive it: one trait, its events and its refusals.

use super::container_error::ContainerError;
use crate::commit::{
    AppError, AskError, Event, HeartbeatReply, NodeError, Recovered, SubmitError, Submitted,
};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::queue::{
    AppSpec, Ask, AskCall, AskReply, GangAsk, NodeReport, NodeSpec, RunningContainer,
};

/// Every call of an outsider to a scheduler, in virtual or real time.
///
/// ```
/// use capsched::api::*;
///
/// /// What fits on one node, whoever schedules.
/// fn fill(scheduler: &mut impl Scheduler) -> Result<usize, Box<dyn std::error::Error>> {
///     let node: NodeName = "n0:8041".parse()?;
///     scheduler.add_node(NodeSpec::new(node.clone(), ResourceVector::of(&[4096, 4])))?;
///     let app = ApplicationId::new(1);
///     scheduler.submit(AppSpec::new(app, "root.a", "ann"))?;
///     let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 9);
///     scheduler.ask(app, AskCall::asking(vec![ask]))?;
///     for _ in 0..9 {
///         scheduler.heartbeat(&node, NodeReport::AsExpected)?;
///     }
///     let mut events = Vec::new();
///     scheduler.events(&mut events);
///     Ok(events.iter().filter(|event| matches!(event, Event::Allocated { .. })).count())
/// }
/// let engine = Engine::builder(example::settings()).sequential()?;
/// assert_eq!(fill(&mut Stepped::new(engine, ModeKind::Heartbeat))?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Scheduler {
    /// Registers a node.
    ///
    /// # Errors
    ///
    /// When the node is known already or its description is out of range.
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError>;

    /// Registers nodes in order.
    ///
    /// # Errors
    ///
    /// As [`Scheduler::add_node`] of the first that is refused; those before it are registered then.
    fn add_nodes(&mut self, nodes: Vec<NodeSpec>) -> Result<(), NodeError> {
        nodes.into_iter().try_for_each(|node| self.add_node(node))
    }

    /// Registers a node with the containers that it runs, as after a restart of the scheduler. A scheduler that takes
    /// none over has them all stopped.
    ///
    /// # Errors
    ///
    /// As [`Scheduler::add_node`].
    fn register_node(
        &mut self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        self.add_node(node)?;
        let stopped = running.into_iter().map(|container| container.id);
        let recovered = Recovered {
            to_stop: stopped.collect(),
            ..Recovered::default()
        };
        Ok(recovered.sorted())
    }

    /// Takes a node away; its containers are released and delivered as events.
    ///
    /// # Errors
    ///
    /// When the node is unknown.
    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError>;

    /// Submits an application.
    ///
    /// # Errors
    ///
    /// When the queue refuses it; nothing changed then.
    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError>;

    /// Takes over an application that was accepted before a restart, with the number of its attempt and that of its
    /// master's container, if the master runs. A scheduler that takes none over has it submitted anew.
    ///
    /// # Errors
    ///
    /// When there is no such leaf any more, or the application lives already.
    fn recover_app(
        &mut self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        let _ = (attempt, master);
        self.submit(app).map(|_| Recovered::default())
    }

    /// Carries out one call of an application.
    ///
    /// # Errors
    ///
    /// When the application is unknown or the call is out of range; nothing changed then. Only a
    /// key that is in use for something else is met on the way: what came before it stays.
    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError>;

    /// Asks for a gang: its minimum is placed all at once, now or within its time, or not at all.
    ///
    /// # Errors
    ///
    /// When the application is unknown or the gang is out of range; nothing changed then. A scheduler that knows
    /// no gangs refuses each.
    fn ask_gang(&mut self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        let _ = (app, gang);
        let reason = "this scheduler knows no gangs".to_owned();
        Err(AskError::Gang(reason))
    }

    /// Asks for opportunistic containers, which are placed outside of queue limits. They come with the replies to this
    /// application's calls.
    ///
    /// # Errors
    ///
    /// When the application is unknown, an ask is out of range, or the settings do not enable them; nothing changed
    /// then. A scheduler that knows none refuses each.
    fn ask_opportunistic(&mut self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        let _ = (app, asks);
        let reason = "this scheduler knows none".to_owned();
        Err(AskError::Opportunistic(reason))
    }

    /// Takes a node's heartbeat; in heartbeat mode this is where the node is scheduled.
    ///
    /// # Errors
    ///
    /// When the node is unknown and has to register again.
    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError>;

    /// Reports that a container ended by itself.
    ///
    /// # Errors
    ///
    /// When the container is not live.
    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError>;

    /// Reports that a container ended by itself with an exit status; one of a master may count against its node.
    ///
    /// # Errors
    ///
    /// When the container is not live.
    fn container_exited(
        &mut self,
        container: ContainerId,
        status: i32,
    ) -> Result<(), ContainerError> {
        let _ = status;
        self.container_finished(container)
    }

    /// Ends the attempt of an application, which stays until another one starts. Refused by default.
    ///
    /// # Errors
    ///
    /// When the application is unknown, or its attempt ended already.
    fn end_attempt(&mut self, app: ApplicationId) -> Result<(), AppError> {
        Err(AppError::Unknown(app))
    }

    /// Starts the next attempt of an application; its number. Refused by default.
    ///
    /// # Errors
    ///
    /// When the application is unknown, or an attempt of it runs.
    fn start_attempt(&mut self, app: ApplicationId) -> Result<u32, AppError> {
        Err(AppError::Unknown(app))
    }

    /// Ends an application; what it still holds is released and delivered as events.
    ///
    /// # Errors
    ///
    /// When the application is unknown.
    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError>;

    /// Appends what happened since the last call, in order. Proposals that were refused and reservations that were
    /// kept by another attempt may be left out: they change nothing.
    fn events(&mut self, into: &mut Vec<Event>);

    /// One round of a mode that does not wait for heartbeats; the number of containers placed.
    fn schedule(&mut self) -> usize;

    /// A part of such a round: at most so many steps, each a look at one node (asynchronous) or an
    /// attempt at all nodes (global). Parts follow one another until one ends the round. A scheduler
    /// that does not know parts runs a whole round.
    fn schedule_part(&mut self, steps: u64) -> RoundPart {
        let _ = steps;
        self.schedule();
        RoundPart {
            ended: true,
            ..RoundPart::default()
        }
    }

    /// Moves the clock forward to `to_ms` virtual milliseconds.
    fn advance(&mut self, to_ms: u64);

    /// When something next happens by time alone, in virtual ms; 0 where that is not known.
    fn next_alarm_ms(&self) -> u64 {
        0
    }

    /// Takes heartbeats of the nodes in the order of their registration, from `first` on and round it, that report
    /// what is expected, as long as each surely places, reserves and releases nothing, but at most so many; how many.
    /// What they count is counted as by [`Scheduler::heartbeat`].
    ///
    /// Cost: a few searches for the next node of which something may come, in each turn of all nodes.
    fn pass_heartbeats(&mut self, first: &NodeName, most: u64) -> u64 {
        let _ = (first, most);
        0
    }

    /// Whether further looks may bring something though nothing else changes: reservations that are kept let their
    /// applications reserve on further nodes.
    ///
    /// Cost: a look at every node.
    fn looks_may_bring(&mut self) -> bool {
        false
    }

    /// Counts rounds that would surely come to nothing, at most so many; how many. What they count is counted as by
    /// [`Scheduler::schedule`], which the caller calls for the next round before it does anything else.
    ///
    /// Cost: that of the keys that wait, whatever the number of rounds.
    fn pass_rounds(&mut self, most: u64) -> u64 {
        let _ = most;
        0
    }
}

/// What a part of a round did, as far as its events do not show it.
///
/// ```
/// use capsched::api::*;
///
/// let settings = example::settings();
/// let mut engine = Stepped::new(Engine::builder(settings).sequential()?, ModeKind::Asynchronous);
/// for host in ["n0:8041", "n1:8041", "n2:8041"] {
///     engine.add_node(NodeSpec::new(host.parse()?, ResourceVector::of(&[8192, 8])))?;
/// }
/// let first = engine.schedule_part(2);
/// assert_eq!((first.steps, first.visited, first.ended), (2, 2, false));
/// let rest = engine.schedule_part(2);
/// assert_eq!((rest.steps, rest.visited, rest.ended), (1, 1, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundPart {
    /// Steps made.
    pub steps: u64,
    /// Nodes looked at; an attempt at all nodes looks at each of its partition.
    pub visited: u64,
    /// Whether the round ends with it.
    pub ended: bool,
}
