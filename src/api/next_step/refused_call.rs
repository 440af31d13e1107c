//! Trials of what makes a call pass that was refused.

use super::{NextStep, SettingsEditor, values_above};
use crate::api::scheduler::Scheduler as _;
use crate::api::stepped::Stepped;
use crate::commit::AskError;
use crate::explain::{Finding, Reason};
use crate::id::ApplicationId;
use crate::queue::AskCall;

/// Steps after which a refused call is taken, by trial; what it asks for may wait even so.
///
/// Cost: for each change that is tried, a copy of the engine.
///
/// ```
/// use capsched::api::*;
///
/// let mut engine = example::cluster();
/// let app = ApplicationId::new(1);
/// let large = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1 << 20, 1]), 1)]);
/// let error = engine.ask(app, large.clone()).expect_err("no node is so large");
/// let types = engine.engine().ledger().state().settings.resource_types.clone();
/// let why = refused_call(&error, &types);
/// let steps = next_steps_of_refused_call(&engine, (app, &large), &why, &());
/// assert!(steps[0].what.starts_with("ask for at most memory-mb"));
/// ```
#[must_use]
pub fn next_steps_of_refused_call(
    engine: &Stepped,
    (app, call): (ApplicationId, &AskCall),
    why: &Finding,
    editor: &dyn SettingsEditor,
) -> Vec<NextStep> {
    let takes = |call: &AskCall| engine.trial().ask(app, call.clone()).is_ok();
    let without_setting = match why.reason {
        Reason::LargerThanMaxAllocation => smaller(engine, (app, call)),
        Reason::LabelNotAccessible => Some(("ask without the label".to_owned(), unlabelled(call))),
        _ => None,
    };
    let without_setting = without_setting.filter(|(_, call)| takes(call));
    let by_setting = setting(engine, app, why)
        .and_then(|property| value_that_lets(engine, (app, call), (why.reason, &property), editor));
    let by_setting = by_setting.map(|(property, value)| NextStep {
        what: format!("set {property} to {value}"),
        change: Some((property, value)),
        admits: 0,
        lets_in: true,
    });
    let by_call = without_setting.map(|(what, _)| NextStep {
        what,
        change: None,
        admits: 0,
        lets_in: true,
    });
    by_setting.into_iter().chain(by_call).collect()
}

/// The property that refuses the call.
fn setting(engine: &Stepped, app: ApplicationId, why: &Finding) -> Option<String> {
    if why.reason != Reason::LabelNotAccessible {
        return why.property.clone();
    }
    let ledger = engine.engine().ledger();
    let state = ledger.state();
    let leaf = state.apps[ledger.app(app)?].leaf;
    let path = &state.queues[leaf].settings.path;
    Some(format!(
        "yarn.scheduler.capacity.{path}.accessible-node-labels"
    ))
}

/// The smallest value of a property with which the call is taken.
fn value_that_lets(
    engine: &Stepped,
    (app, call): (ApplicationId, &AskCall),
    (reason, property): (Reason, &str),
    editor: &dyn SettingsEditor,
) -> Option<(String, String)> {
    let values = values_above(reason, property, editor).into_iter();
    let mut changes = values.map(|value| (property.to_owned(), value));
    changes.find(|change| {
        let settings = editor.edited(std::slice::from_ref(change));
        settings.is_some_and(|settings| {
            let mut copy = engine.trial();
            copy.reconfigure(settings).is_ok() && copy.ask(app, call.clone()).is_ok()
        })
    })
}

/// The call with no more of each type than one container may have.
fn smaller(engine: &Stepped, (app, call): (ApplicationId, &AskCall)) -> Option<(String, AskCall)> {
    let Err(AskError::OutOfRange(bounds)) = engine.trial().ask(app, call.clone()) else {
        return None;
    };
    let (size, largest) = (bounds.size, bounds.largest);
    let types = &engine.engine().ledger().state().settings.resource_types;
    let above = types.iter().enumerate();
    let above = above.filter(|(index, _)| size[*index] > largest[*index]);
    let most: Vec<String> = above
        .map(|(index, name)| format!("{name} {}", largest[index]))
        .collect();
    let most = most.join(", ");
    let mut call = call.clone();
    let asked = call.asks.iter_mut().map(|ask| &mut ask.size);
    let constrained = call.constrained.iter_mut().map(|ask| &mut ask.size);
    for size in asked.chain(constrained) {
        *size = size.component_min(&largest);
    }
    Some((format!("ask for at most {most} in one container"), call))
}

fn unlabelled(call: &AskCall) -> AskCall {
    let mut call = call.clone();
    for ask in &mut call.asks {
        ask.partition = None;
    }
    call
}
