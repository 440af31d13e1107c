//! What would help something that waits: changes that were tried on a copy of the engine.
//!
//! A step is named only when the copy placed more, or let the application in, than a copy without
//! the change did in the same rounds.

mod ends;
mod gangs;
mod played;
mod refused_admission;
mod refused_call;

use super::ladder::values_above;
use super::scheduler::Scheduler;
use super::settings_editor::SettingsEditor;
use super::stepped::Stepped;
use crate::commit::AskError;
use crate::explain::{Explanation, Finding, Reason};
use crate::id::{ApplicationId, NodeName};
use crate::queue::{AppSpec, AppStage, Ask, AskCall, NodeSpec};
use crate::resource::ResourceVector;
use played::{Gain, played};

pub use refused_admission::{RefusedAdmission, next_steps_of_refused_admission};
pub use refused_call::next_steps_of_refused_call;

/// Leaves that are tried for an application whose queue does not exist.
const LEAVES: usize = 5;

/// A change that was seen to help.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster(); // the second container waits for a heartbeat
/// let why = engine.explain(ApplicationId::new(1)).expect("it waits");
/// let steps: Vec<NextStep> = next_steps(&engine, &why, &());
/// assert!(steps[0].what.starts_with("wait") && steps[0].admits == 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// What to do, in a few words.
    pub what: String,
    /// The property to set and its value, where that is what to do.
    pub change: Option<(String, String)>,
    /// Containers of the application that the trial placed, beyond those without the change.
    pub admits: u64,
    /// Whether the trial let the application in: its submission or its call was taken, or its master got room.
    pub lets_in: bool,
}

/// What is tried.
#[derive(Clone, Debug)]
enum Change {
    /// Only time passes.
    Wait,
    /// A property gets another value.
    Set(String, String),
    /// A node comes.
    AddNode(NodeSpec),
    /// Containers of this size are asked for instead of the larger ones.
    AskLess(ResourceVector),
    /// Asks may leave the hosts and racks that they name.
    Relax,
    /// No node is excluded any more.
    ExcludeNone,
    /// The application gets this priority.
    Priority(i32),
    /// The gang that waits is asked for with so many members at once.
    FewerMembers(u32),
    /// These containers of others end.
    Ends(ends::Ends),
}

/// Steps that help an application, by trial, what costs least first; empty where nothing that was
/// tried helps. [`Reason::without_step`] says what that means.
///
/// Cost: for each change that is tried, a copy of the engine and up to 64 rounds on it.
#[must_use]
pub fn next_steps(
    engine: &Stepped,
    why: &Explanation,
    editor: &dyn SettingsEditor,
) -> Vec<NextStep> {
    next_steps_while(engine, why, editor, &|| true)
}

/// As [`next_steps`], for as long as `more` allows it: each change is tried only if `more` is true then. Steps found
/// until then are returned.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let why = engine.explain(ApplicationId::new(1)).expect("it waits");
/// assert!(next_steps_while(&engine, &why, &(), &|| false).is_empty());
/// ```
#[must_use]
pub fn next_steps_while(
    engine: &Stepped,
    why: &Explanation,
    editor: &dyn SettingsEditor,
    more: &dyn Fn() -> bool,
) -> Vec<NextStep> {
    if !more() {
        return Vec::new();
    }
    let trials = Trials {
        engine,
        editor,
        why,
    };
    let base = trials.gain(&Change::Wait).unwrap_or_default();
    if base.placed > 0 || base.active && why.stage != AppStage::Active {
        return vec![step(&Change::Wait, base, Gain::default(), why)];
    }
    let mut steps = Vec::new();
    for of_kind in trials.changes() {
        let in_time = of_kind.into_iter().take_while(|_| more());
        let mut tried = in_time.filter_map(|change| {
            let gain = trials.gain(&change)?;
            helps(gain, base).then(|| step(&change, gain, base, why))
        });
        steps.extend(tried.next());
    }
    steps
}

/// Steps after which a refused submission is taken, by trial.
///
/// Cost: as [`next_steps`].
#[must_use]
pub fn next_steps_of_refusal(
    engine: &Stepped,
    refused: &AppSpec,
    why: &Finding,
    editor: &dyn SettingsEditor,
) -> Vec<NextStep> {
    let mut steps = Vec::new();
    if let Some((property, value)) = value_that_admits(engine, refused, why, editor) {
        steps.push(NextStep {
            what: format!("set {property} to {value}"),
            change: Some((property, value)),
            admits: 0,
            lets_in: true,
        });
    }
    if matches!(
        why.reason,
        Reason::QueueNotFound | Reason::PlacementRejected
    ) {
        steps.extend(leaf_that_takes(engine, refused, |_| true));
    }
    steps
}

/// The leaf most like the queue of a refused submission that takes it, among those that pass.
fn leaf_that_takes(
    engine: &Stepped,
    refused: &AppSpec,
    passes: impl Fn(&str) -> bool,
) -> Option<NextStep> {
    let leaves = leaves_by_likeness(engine, &refused.queue).into_iter();
    let takes = |queue: &String| {
        let spec = AppSpec {
            queue: queue.clone(),
            ..refused.clone()
        };
        engine.trial().submit(spec).is_ok()
    };
    let mut passing = leaves.filter(|queue| passes(queue)).take(LEAVES);
    Some(NextStep {
        what: format!("submit to {}", passing.find(takes)?),
        change: None,
        admits: 0,
        lets_in: true,
    })
}

/// The smallest value of the property behind a refusal with which the submission is taken.
fn value_that_admits(
    engine: &Stepped,
    refused: &AppSpec,
    why: &Finding,
    editor: &dyn SettingsEditor,
) -> Option<(String, String)> {
    let property = why.property.as_ref()?;
    let values = values_above(why.reason, property, editor).into_iter();
    let mut changes = values.map(|value| (property.clone(), value));
    changes.find(|change| {
        let settings = editor.edited(std::slice::from_ref(change));
        settings.is_some_and(|settings| {
            let mut copy = engine.trial();
            copy.reconfigure(settings).is_ok() && copy.submit(refused.clone()).is_ok()
        })
    })
}

/// Leaves by how much of their end they share with a name, most first.
fn leaves_by_likeness(engine: &Stepped, name: &str) -> Vec<String> {
    let state = engine.engine().ledger().state();
    let shared = |path: &str| {
        let ends = path.bytes().rev().zip(name.bytes().rev());
        ends.take_while(|(a, b)| a == b).count()
    };
    let leaves = state
        .queues
        .iter()
        .filter(|queue| queue.is_leaf() && !queue.removed);
    let mut leaves: Vec<String> = leaves
        .map(|queue| queue.settings.path.to_string())
        .collect();
    leaves.sort_by_key(|path| std::cmp::Reverse(shared(path)));
    leaves
}

fn helps(gain: Gain, base: Gain) -> bool {
    gain.placed > base.placed || gain.active && !base.active
}

fn step(change: &Change, gain: Gain, base: Gain, why: &Explanation) -> NextStep {
    let (what, set) = match change {
        Change::Wait => ("wait: the next rounds serve it".to_owned(), None),
        Change::Set(property, value) => (
            format!("set {property} to {value}"),
            Some((property.clone(), value.clone())),
        ),
        Change::AddNode(node) => {
            let label = match node.partition.as_str() {
                "" => String::new(),
                label => format!(" with label {label}"),
            };
            (format!("add a node like {}{label}", node.name.host()), None)
        }
        Change::AskLess(_) => ("ask for smaller containers".to_owned(), None),
        Change::Relax => ("relax locality".to_owned(), None),
        Change::ExcludeNone => ("exclude no nodes".to_owned(), None),
        Change::Priority(priority) => (format!("raise its priority to {priority}"), None),
        Change::FewerMembers(members) => (format!("ask for a gang of {members}"), None),
        Change::Ends(ends) => (ends.what(), None),
    };
    NextStep {
        what,
        change: set,
        admits: gain.placed - base.placed.min(gain.placed),
        lets_in: gain.active && why.stage != AppStage::Active,
    }
}

struct Trials<'a> {
    engine: &'a Stepped,
    editor: &'a dyn SettingsEditor,
    why: &'a Explanation,
}

impl Trials<'_> {
    /// What may help by the dominant reason: kinds, each with values from the smallest change on.
    fn changes(&self) -> Vec<Vec<Change>> {
        let Some(found) = self.why.dominant() else {
            return Vec::new();
        };
        let mut kinds = Vec::new();
        if let Some(property) = &found.property {
            let values = values_above(found.reason, property, self.editor).into_iter();
            kinds.push(
                values
                    .map(|value| Change::Set(property.clone(), value))
                    .collect(),
            );
        }
        kinds.extend(self.without_settings(found.reason));
        kinds
    }

    /// The same without changes of settings.
    fn without_settings(&self, reason: Reason) -> Vec<Vec<Change>> {
        let node = || self.another_node().into_iter().collect();
        match reason {
            Reason::LargerThanAnyNode
            | Reason::NoNodeFitsNow
            | Reason::Fragmented
            | Reason::ConstraintUnsatisfied
            | Reason::NodesReserved
            | Reason::NoNodeWithLabel => vec![self.smaller(), node()],
            Reason::ReservedOnNode => vec![self.ends_on_reserved(), self.smaller(), node()],
            Reason::PreemptionInProgress => vec![self.given_back()],
            Reason::ExceedsQueueMax | Reason::QueueMaxCapacity | Reason::ParentHeadroom => {
                vec![self.smaller()]
            }
            Reason::GangWaits => vec![self.fewer_members().into_iter().collect(), node()],
            Reason::LocalityWait => vec![vec![Change::Relax]],
            Reason::ExcludedNodes => vec![vec![Change::ExcludeNone]],
            Reason::LowerPriority | Reason::BehindInOrder => {
                vec![self.priority_of_the_first().into_iter().collect()]
            }
            _ => Vec::new(),
        }
    }

    /// A half, a quarter and an eighth of the size of the first key that waits.
    fn smaller(&self) -> Vec<Change> {
        let Some(key) = self.why.keys.first() else {
            return Vec::new();
        };
        let part = |by: i64| ResourceVector::build(|index| (key.size[index] + by - 1) / by);
        [2, 4, 8]
            .into_iter()
            .map(|by| Change::AskLess(part(by)))
            .collect()
    }

    /// A node like the largest one, under another name, on the partition that is asked for. It is large
    /// enough for one container.
    fn another_node(&self) -> Option<Change> {
        let (ledger, key) = (self.engine.engine().ledger(), self.why.keys.first()?);
        let state = ledger.state();
        let app = &state.apps[ledger.app(self.why.app)?];
        let open = app.keys.iter().find(|asks| asks.is_outstanding());
        let other = || {
            self.gang()
                .map_or(app.master_partition, |gang| gang.partition)
        };
        let partition = open.map_or_else(other, |asks| asks.partition);
        let largest = ledger.nodes_by_name().max_by_key(|(_, slot)| {
            let node = &state.nodes[*slot];
            (node.partition == partition, node.total.memory())
        });
        let (host, total) = largest.map_or(("new", key.size), |(name, slot)| {
            let total = state.nodes[slot].total.get();
            (name.host(), total.component_max(&key.size))
        });
        let mut spec = NodeSpec::new(NodeName::new(host, u16::MAX).ok()?, total);
        spec.partition = state.partitions[partition].name.to_string();
        Some(Change::AddNode(spec))
    }

    fn priority_of_the_first(&self) -> Option<Change> {
        let ledger = self.engine.engine().ledger();
        let ahead = self.why.position.as_ref()?.ahead.iter();
        let priority = |app: &ApplicationId| Some(ledger.state().apps[ledger.app(*app)?].priority);
        let highest = ahead.filter_map(priority).max()?;
        Some(Change::Priority(highest.max(self.why.priority) + 1))
    }

    /// What a change comes to; nothing when it is refused.
    fn gain(&self, change: &Change) -> Option<Gain> {
        let mut copy = self.engine.trial();
        let app = self.why.app;
        match change {
            Change::Wait => {}
            Change::Set(property, value) => {
                let settings = self.editor.edited(&[(property.clone(), value.clone())])?;
                copy.reconfigure(settings).ok()?;
            }
            Change::AddNode(node) => copy.add_node(node.clone()).ok()?,
            Change::AskLess(size) => self.ask_again(&mut copy, |ask| ask.size = *size).ok()?,
            Change::Relax => self
                .ask_again(&mut copy, |ask| ask.relax_locality = true)
                .ok()?,
            Change::ExcludeNone => {
                let call = AskCall {
                    blacklist_remove: self.excluded(),
                    ..AskCall::default()
                };
                copy.ask(app, call).ok()?;
            }
            Change::FewerMembers(members) => self.ask_for_fewer(&mut copy, *members)?,
            Change::Ends(ends) => ends.happen(&mut copy),
            Change::Priority(priority) => {
                let reached = copy.change_priority(app, *priority).ok()?;
                (reached == *priority).then_some(())?;
            }
        }
        Some(played(copy, app))
    }

    /// Asks once more for what waits, changed.
    fn ask_again(&self, copy: &mut Stepped, change: impl Fn(&mut Ask)) -> Result<(), AskError> {
        let mut asks = self.asks();
        asks.iter_mut().for_each(change);
        copy.ask(self.why.app, AskCall::asking(asks)).map(|_| ())
    }

    /// What the application asks for now.
    fn asks(&self) -> Vec<Ask> {
        let ledger = self.engine.engine().ledger();
        let Some(slot) = ledger.app(self.why.app) else {
            return Vec::new();
        };
        let state = ledger.state();
        let open = state.apps[slot]
            .keys
            .iter()
            .filter(|asks| asks.is_outstanding());
        open.filter(|asks| asks.constrained.is_none())
            .flat_map(|asks| asks.places.iter().map(|ask| (asks.key, ask)))
            .map(|(key, ask)| Ask {
                priority: key.priority,
                request_id: key.request_id,
                place: ledger.place_name(ask.place).to_string(),
                size: ask.size.get(),
                count: ask.count,
                relax_locality: ask.relax,
                partition: ask
                    .partition
                    .map(|of| state.partitions[of].name.to_string()),
            })
            .collect()
    }

    /// Hosts and racks that the application excludes.
    fn excluded(&self) -> Vec<String> {
        let ledger = self.engine.engine().ledger();
        let slot = ledger.app(self.why.app);
        let places = slot.map(|slot| &ledger.state().apps[slot].blacklist);
        let places = places.into_iter().flatten();
        places
            .map(|&place| ledger.place_name(place).to_string())
            .collect()
    }
}
