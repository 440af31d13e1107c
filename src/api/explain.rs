//! Explanations: why applications wait, and the reasons of refusals in the same words.

use std::sync::Arc;

use super::engine::Engine;
use crate::cluster::NodeState;
use crate::commit::{AskError, Ledger, SubmitError, WaitingGang};
use crate::config::AdmissionRefusal;
use crate::explain::{
    self, Evidence, Explanation, Finding, GangOfApp, KeyOnNode, Reason, UnderWay, WaitExplainer,
    Waiting, amounts, amounts_beside,
};
use crate::id::{AppSlot, ApplicationId, NodeName, NodeSlot};
use crate::runtime::Threaded;
use crate::snapshot::{Snapshot, State};

/// What each live application waits for and why, in the order of their numbers; applications that
/// wait for nothing are left out.
///
/// Cost: proportional to the outstanding keys, and to the nodes for each size among them.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster(); // the second container waits for a heartbeat
/// let found = waiting(engine.engine().ledger());
/// assert_eq!(found[0].0, ApplicationId::new(1));
/// assert_eq!(found[0].1[0].containers, 1);
/// ```
#[must_use]
pub fn waiting(ledger: &Ledger) -> Vec<(ApplicationId, Vec<Waiting>)> {
    waiting_beside(ledger, UnderWay::default())
}

/// The same with what is under way.
pub(super) fn waiting_beside(
    ledger: &Ledger,
    under_way: UnderWay,
) -> Vec<(ApplicationId, Vec<Waiting>)> {
    let mut explainer =
        WaitExplainer::new(ledger.state()).with(with_waiting(ledger, None, under_way));
    let apps = ledger.apps_by_id().into_iter();
    let found = apps.map(|(id, slot)| (id, explainer.waiting(slot)));
    found.filter(|(_, waits)| !waits.is_empty()).collect()
}

/// What is under way, with the gangs and the opportunistic containers that wait: of one application, or of all.
fn with_waiting(ledger: &Ledger, only: Option<ApplicationId>, under_way: UnderWay) -> UnderWay {
    let of = |gang: &WaitingGang| {
        Some(GangOfApp {
            app: ledger.app(gang.app)?,
            priority: gang.key.priority,
            minimum: gang.minimum,
            size: gang.size,
            close: gang.close.clone(),
            partition: gang.partition,
            wait: gang.wait.clone(),
            deadline_ms: gang.deadline_ms,
            held: ledger.nodes_held_for(gang).count(),
        })
    };
    let gangs = ledger.waiting_gangs().iter();
    let gangs = gangs.filter(|gang| only.is_none_or(|only| gang.app == only));
    UnderWay {
        gangs: gangs.filter_map(of).collect(),
        opportunistic: ledger.waiting_opportunistic(only),
        ..under_way
    }
}

/// Why one application waits; nothing when it is unknown, over, or waits for nothing.
///
/// Cost: a look at every node for each outstanding size, and at the applications.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster(); // the second container waits for a heartbeat
/// let found = explain(engine.engine().ledger(), ApplicationId::new(1), UnderWay::default());
/// let found = found.expect("it waits");
/// assert_eq!(found.dominant().map(|why| why.reason), Some(Reason::NotYetEvaluated));
/// assert_eq!(found.position.map(|position| (position.place, position.of)), Some((1, 1)));
/// ```
#[must_use]
pub fn explain(ledger: &Ledger, app: ApplicationId, under_way: UnderWay) -> Option<Explanation> {
    let under_way = with_waiting(ledger, Some(app), under_way);
    let mut explainer = WaitExplainer::new(ledger.state()).with(under_way);
    explain::explain(&mut explainer, ledger.app(app)?)
}

impl Engine {
    /// Why one application of a running engine waits; nothing when it is unknown, over, or waits for
    /// nothing. It is worked out on the caller's thread from the latest snapshot, so that no decision
    /// waits for it. Only the gangs and the opportunistic containers of the application are looked up between two
    /// commands. Preemption is left out.
    ///
    /// Cost: a copy of the snapshot, then as [`explain()`]. Decisions wait for a look at every node for each size of
    /// opportunistic containers that the application waits for.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?; // without a node
    /// let app = ApplicationId::new(1);
    /// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
    /// engine.ask(app, AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)]))?;
    /// engine.quiesce();
    /// assert!(Engine::explain(&engine, app).is_some());
    /// assert!(Engine::explain(&engine, ApplicationId::new(2)).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(engine: &Threaded, app: ApplicationId) -> Option<Explanation> {
        let waiting = engine.inspect(move |ledger| {
            let of_app = with_waiting(ledger, Some(app), UnderWay::default());
            (of_app.gangs, of_app.opportunistic)
        });
        let state = latest(engine);
        let slot = live_app(&state, app)?;
        // A slot of the ledger may be another one in an older snapshot.
        let (mut gangs, mut opportunistic) = waiting.unwrap_or_default();
        gangs.iter_mut().for_each(|gang| gang.app = slot);
        opportunistic.iter_mut().for_each(|one| one.app = slot);
        let under_way = UnderWay {
            gangs,
            opportunistic,
            ..UnderWay::default()
        };
        explain::explain(&mut WaitExplainer::new(&state).with(under_way), slot)
    }

    /// What a node of a running engine lacks for each key of an application that waits; nothing when one of them is
    /// unknown. It is worked out as [`Self::explain`].
    ///
    /// Cost: a copy of the snapshot, then as [`why_not()`].
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// let node: NodeName = "n0:8041".parse()?;
    /// engine.add_node(NodeSpec::new(node.clone(), ResourceVector::of(&[512, 1])))?;
    /// let app = ApplicationId::new(1);
    /// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
    /// engine.ask(app, AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[512, 1]), 2)]))?;
    /// engine.quiesce();
    /// assert!(Engine::why_not(&engine, app, &node).is_some());
    /// assert!(Engine::why_not(&engine, app, &"n1:8041".parse()?).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn why_not(
        engine: &Threaded,
        app: ApplicationId,
        node: &NodeName,
    ) -> Option<Vec<KeyOnNode>> {
        let state = latest(engine);
        let app = live_app(&state, app)?;
        let mut slots = (0..state.nodes.len()).map(NodeSlot::at);
        let present = |slot: &NodeSlot| {
            let row = &state.nodes[*slot];
            row.name == *node && row.state != NodeState::Lost
        };
        let node = slots.find(present)?;
        Some(explain::why_not(&state, app, node))
    }
}

/// A copy of the latest state that a running engine shows.
fn latest(engine: &Threaded) -> State {
    let newest = engine.snapshot();
    let mut state = State::new(Arc::clone(&newest.settings));
    let empty = Snapshot::empty(Arc::clone(&newest.settings));
    state.refresh(&empty, &newest, |_| {});
    state
}

fn live_app(state: &State, app: ApplicationId) -> Option<AppSlot> {
    let live = |slot: &AppSlot| !state.apps[*slot].stage.is_over();
    let mut slots = (0..state.apps.len()).map(AppSlot::at).filter(live);
    slots.find(|&slot| state.apps[slot].id == app)
}

/// Why each application waits, in the order of their numbers; those that wait for nothing are left
/// out, so that there is one dominant reason for each pending application.
///
/// Cost: as [`explain()`] for every application; what nodes offer is looked up once a size.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let all = explain_all(engine.engine().ledger(), UnderWay::default());
/// assert_eq!(all.len(), 1);
/// ```
#[must_use]
pub fn explain_all(ledger: &Ledger, under_way: UnderWay) -> Vec<Explanation> {
    let mut explainer =
        WaitExplainer::new(ledger.state()).with(with_waiting(ledger, None, under_way));
    let apps = ledger.apps_by_id().into_iter();
    apps.filter_map(|(_, app)| explain::explain(&mut explainer, app))
        .collect()
}

/// What a node lacks for each key of an application that waits; nothing when one of them is
/// unknown.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let node: NodeName = "n0:8041".parse()?;
/// let keys = why_not(engine.engine().ledger(), ApplicationId::new(1), &node);
/// assert!(keys.is_some_and(|keys| keys.iter().all(KeyOnNode::fits)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn why_not(ledger: &Ledger, app: ApplicationId, node: &NodeName) -> Option<Vec<KeyOnNode>> {
    let (app, node) = (ledger.app(app)?, ledger.node(node)?);
    Some(explain::why_not(ledger.state(), app, node))
}

/// Why a submission was refused; `types` names the resource types in their order.
#[must_use]
pub fn refused_submission(error: &SubmitError, types: &[Arc<str>]) -> Finding {
    let found = |reason| Finding::new(reason, error.to_string());
    match error {
        SubmitError::UnknownQueue(path) => {
            let parent = path.rsplit_once('.').map_or("root", |(parent, _)| parent);
            found(Reason::QueueNotFound).by_queue_setting(parent, "queues")
        }
        SubmitError::QueueStopped(path) => {
            found(Reason::QueueStopped).by_queue_setting(path, "state")
        }
        SubmitError::TooManyInScheduler { limit } => found(Reason::MaxApplications)
            .by_setting("yarn.scheduler.capacity.maximum-applications")
            .shown_by(Evidence::of_full_count(*limit, None)),
        SubmitError::TooManyInQueue { queue, limit } => found(Reason::MaxApplications)
            .by_queue_setting(queue, "maximum-applications")
            .shown_by(Evidence::of_full_count(*limit, Some(queue))),
        SubmitError::TooManyOfUser { queue, limit } => found(Reason::MaxApplications)
            .by_queue_setting(queue, "user-limit-factor")
            .shown_by(Evidence::of_full_count(*limit, Some(queue))),
        SubmitError::Master(error) => {
            let of_call = refused_call(error, types);
            let detail = format!("the master: {}", of_call.detail);
            Finding { detail, ..of_call }
        }
        _ => found(Reason::PlacementRejected),
    }
}

/// Why a submission does not go to the scheduler.
///
/// ```
/// use capsched::api::{Reason, refused_admission};
/// use capsched::config::AdmissionRefusal;
///
/// let refusal = AdmissionRefusal::Submit { user: "ann".to_owned(), queue: "root.a".to_owned() };
/// let found = refused_admission(&refusal);
/// assert_eq!(found.reason, Reason::AclDenied);
/// assert_eq!(
///     found.property.as_deref(),
///     Some("yarn.scheduler.capacity.root.a.acl_submit_applications")
/// );
/// ```
#[must_use]
pub fn refused_admission(refusal: &AdmissionRefusal) -> Finding {
    let found = |reason| Finding::new(reason, refusal.to_string());
    match refusal {
        AdmissionRefusal::Submit { queue, .. } => found(Reason::AclDenied)
            .by_queue_setting(queue, "acl_submit_applications")
            .shown_by(Evidence {
                binding: Some(queue.as_str().into()),
                ..Evidence::default()
            }),
        AdmissionRefusal::NoQueue => found(Reason::QueueNotFound),
        AdmissionRefusal::Mapping { .. } | AdmissionRefusal::Priority(_) => {
            found(Reason::PlacementRejected)
        }
    }
}

/// Why a call of an application was refused; `types` names the resource types in their order.
#[must_use]
pub fn refused_call(error: &AskError, types: &[Arc<str>]) -> Finding {
    match error {
        AskError::OutOfRange(bounds) => {
            let (size, largest) = (bounds.size, bounds.largest);
            let above = |index: &usize| size[*index] > largest[*index];
            let Some(index) = (0..types.len()).find(above) else {
                return Finding::new(Reason::InvalidRequest, error.to_string());
            };
            let detail = format!(
                "one container of {} is above the largest allocation of {}, by setting and largest node",
                amounts(&size, types),
                amounts_beside(&largest, &size, types)
            );
            let shown = Evidence {
                dimension: types.get(index).map(Arc::clone),
                limit: Some(largest[index]),
                asked: Some(size[index]),
                ..Evidence::default()
            };
            let found = Finding::new(Reason::LargerThanMaxAllocation, detail).shown_by(shown);
            found.by_setting(match index {
                0 => "yarn.scheduler.maximum-allocation-mb".to_owned(),
                1 => "yarn.scheduler.maximum-allocation-vcores".to_owned(),
                _ => format!("yarn.resource-types.{}.maximum-allocation", types[index]),
            })
        }
        AskError::LabelAccess(_) => Finding::new(Reason::LabelNotAccessible, error.to_string()),
        _ => Finding::new(Reason::InvalidRequest, error.to_string()),
    }
}
