//! Rebuilding a scheduler from the state of another one: the calls that it takes, and what they leave out.
//!
//! 1. Nodes register with what they run. They come before applications, so that limits count the whole cluster.
//! 2. Applications are taken over: those whose masters run, those that may be served, those between two attempts,
//!    then those that wait. The charges of the first count before a limit is looked at for the last.
//! 3. What is asked for follows, and the gangs that wait.
//!
//! Tests: `tests/explain/rebuilt.rs`.

mod facts;
mod left_out;
mod rows;
mod source;

use super::scheduler::Scheduler;
use crate::commit::{AppError, AskError, Ledger, NodeError, SubmitError};
use crate::id::ApplicationId;
use crate::queue::{AppSpec, AskCall, GangAsk, NodeSpec, RunningContainer};
use crate::snapshot::State;
use facts::LedgerFacts;
use left_out::LeftOut;
use rows::RowReader;
pub use source::RebuildSource;

/// A state as the calls that build it anew on a scheduler which [recovers](super::EngineBuilder::recovering).
///
/// ```
/// use capsched::api::*;
///
/// let live = example::cluster();
/// let rebuild = Rebuild::of(live.engine().ledger());
/// let engine = Engine::builder(example::settings()).recovering().sequential()?;
/// let mut anew = Stepped::new(engine, ModeKind::Heartbeat);
/// assert!(rebuild.make(&mut anew).is_empty());
/// let view = |engine: &Stepped| StateView::of(engine.engine().ledger());
/// assert_eq!(view(&anew).nodes[0].allocated, view(&live).nodes[0].allocated);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rebuild {
    /// The present time, counted from the oldest thing that still matters, in ms.
    now_ms: u64,
    nodes: Vec<(NodeSpec, Vec<RunningContainer>)>,
    apps: Vec<RebuiltApp>,
    labels: Vec<(String, bool)>,
    left_out: LeftOut,
}

/// An application of a [`Rebuild`].
#[derive(Clone, Debug)]
struct RebuiltApp {
    spec: AppSpec,
    entry: RebuiltEntry,
    call: AskCall,
    gangs: Vec<GangAsk>,
}

/// How an application comes in.
#[derive(Clone, Copy, Debug)]
enum RebuiltEntry {
    /// It is submitted: it has neither a master nor containers.
    Submitted,
    /// It is taken over, with its attempt and the container of its master.
    Recovered(u32, Option<u32>),
    /// It is taken over, and its attempt ends.
    BetweenAttempts(u32),
}

impl Rebuild {
    /// What builds the state of a ledger anew.
    ///
    /// Cost: a look at every application, node, container and outstanding ask.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        Self::read(ledger.state(), &LedgerFacts::of(ledger))
    }

    /// What builds a state anew, with what was copied of its ledger at the same moment.
    fn read(state: &State, facts: &LedgerFacts) -> Self {
        let mut reader = RowReader::of(state, facts);
        let (nodes, apps) = (reader.nodes(), reader.apps());
        Self {
            now_ms: reader.now_ms(),
            nodes,
            apps,
            labels: labels(state),
            left_out: reader.left_out(),
        }
    }

    /// Labels of the cluster, and whether each is exclusive.
    #[must_use]
    pub fn labels(&self) -> &[(String, bool)] {
        &self.labels
    }

    /// The present time of the state in ms, counted from the oldest container or gang.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// What the calls do not carry over, a sentence each. The last one holds for every state.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        self.left_out.sentences()
    }

    /// Makes the calls on a scheduler before its first one. What it refuses, a sentence each.
    pub fn make(&self, scheduler: &mut impl Scheduler) -> Vec<String> {
        let mut refused = Vec::new();
        scheduler.advance(self.now_ms);
        for (node, running) in &self.nodes {
            if let Err(error) = register(scheduler, node, running, &mut refused) {
                refused.push(format!("node {} is not taken over: {error}", node.name));
            }
        }
        for app in &self.apps {
            if let Err(error) = app.enter(scheduler, &mut refused) {
                refused.push(format!("{} is not taken over: {error}", app.spec.id));
            }
        }
        for app in &self.apps {
            if let Err(error) = app.ask(scheduler) {
                refused.push(format!("{} may not ask again: {error}", app.spec.id));
            }
        }
        refused
    }
}

fn labels(state: &State) -> Vec<(String, bool)> {
    let all = state.partitions.iter();
    let labels = all.filter(|label| label.exists && !label.name.is_empty());
    let labels = labels.map(|label| (label.name.to_string(), label.exclusive));
    labels.collect()
}

/// Registers a node; containers that it has to stop are noted.
fn register(
    scheduler: &mut impl Scheduler,
    node: &NodeSpec,
    running: &[RunningContainer],
    refused: &mut Vec<String>,
) -> Result<(), NodeError> {
    let found = scheduler.register_node(node.clone(), running.to_vec())?;
    let stopped = found.to_stop.iter();
    refused.extend(stopped.map(|id| format!("{id} on {} is not taken over", node.name)));
    Ok(())
}

impl RebuiltApp {
    fn id(&self) -> ApplicationId {
        self.spec.id
    }

    fn enter(
        &self,
        scheduler: &mut impl Scheduler,
        refused: &mut Vec<String>,
    ) -> Result<(), SubmitError> {
        let spec = self.spec.clone();
        let (attempt, master) = match self.entry {
            RebuiltEntry::Submitted => return scheduler.submit(spec).map(|_| ()),
            RebuiltEntry::Recovered(attempt, master) => (attempt, master),
            RebuiltEntry::BetweenAttempts(attempt) => (attempt, None),
        };
        let found = scheduler.recover_app(spec, attempt, master)?;
        let stopped = found.to_stop.iter();
        refused.extend(stopped.map(|id| format!("{id} is not taken over")));
        if matches!(self.entry, RebuiltEntry::BetweenAttempts(_)) {
            let ended: Result<(), AppError> = scheduler.end_attempt(self.id());
            refused.extend(ended.err().map(|error| format!("{}: {error}", self.id())));
        }
        Ok(())
    }

    fn ask(&self, scheduler: &mut impl Scheduler) -> Result<(), AskError> {
        if !self.call.only_fetches() {
            scheduler.ask(self.id(), self.call.clone())?;
        }
        let mut gangs = self.gangs.iter().cloned();
        gangs.try_for_each(|gang| scheduler.ask_gang(self.id(), gang))
    }
}
