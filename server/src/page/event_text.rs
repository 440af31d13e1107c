//! An event as a line for people, with its kind, its time and the application that it is about.

use std::fmt;

use capsched::api::{ApplicationId, ContainerId, Ending, Event};
use serde::Serialize;

use crate::rm::{Happening, NumberedEvent};

/// An event as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EventLine {
    /// What happened, in a word or two.
    pub(crate) kind: &'static str,
    /// When, in ms since the Unix epoch.
    pub(crate) time: u64,
    /// The application that it is about.
    pub(crate) app: Option<String>,
    /// What happened.
    pub(crate) text: String,
}

/// Kind, time, application and text of an event.
pub(crate) fn described(of: &NumberedEvent) -> EventLine {
    let (kind, app, text) = match &of.happening {
        Happening::Scheduler { event } => decision(event),
        Happening::Application { application, state } => (
            "application",
            Some(application.clone()),
            format!("{application} is {}", state.name()),
        ),
        Happening::Node { node, state } => ("node", None, format!("{node} is {state}")),
        Happening::Configuration { accepted: true, .. } => (
            "configuration",
            None,
            "another configuration holds".to_owned(),
        ),
        Happening::Configuration { message, .. } => {
            ("configuration refused", None, format!("refused: {message}"))
        }
        Happening::Labels => ("labels", None, "node labels changed".to_owned()),
        Happening::StoreFailed { message } => (
            "store failed",
            None,
            format!("changes are not kept any more: {message}"),
        ),
    };
    EventLine {
        kind,
        time: of.at_ms,
        app,
        text,
    }
}

/// Kind, application and text.
type Described = (&'static str, Option<String>, String);

fn decision(event: &Event) -> Described {
    match event {
        Event::Allocated {
            container,
            node,
            queue,
            ..
        } => of_container("allocated", container, format_args!("on {node} in {queue}")),
        Event::Reserved {
            container, node, ..
        } => of_container("reserved", container, format_args!("on {node}")),
        Event::ReservationMoved {
            container,
            from,
            to,
            ..
        } => of_container(
            "reservation moved",
            container,
            format_args!("from {from} to {to}"),
        ),
        Event::Updated {
            container,
            node,
            kind,
            size,
            version,
            ..
        } => {
            let kind = kind.name();
            of_container(
                "changed",
                container,
                format_args!("on {node}: {kind}, {size}, version {version}"),
            )
        }
        Event::Ended {
            container, ending, ..
        } => of_container(ended(*ending), container, format_args!("")),
        Event::Unreserved { container, .. } => {
            of_container("unreserved", container, format_args!(""))
        }
        Event::MasterStarted { app, .. } => of_app("master started", app, ""),
        Event::MasterLost { app } => of_app("master lost", app, ""),
        Event::AttemptEnded { app, attempt } => {
            of_app("attempt ended", app, &format!("number {attempt}"))
        }
        Event::AppEnded { app, cause } => of_app("ended", app, cause.name()),
        Event::Gang(gang) => (
            "gang",
            Some(gang.app.to_string()),
            serde_json::to_string(&gang.step).unwrap_or_default(),
        ),
        Event::Opportunistic(of) => of_container(
            of.step.name(),
            &of.container,
            format_args!("on {}", of.node),
        ),
        other => (
            "other",
            None,
            serde_json::to_string(other).unwrap_or_default(),
        ),
    }
}

fn of_container(
    kind: &'static str,
    container: &ContainerId,
    rest: fmt::Arguments<'_>,
) -> Described {
    let app = container.app.to_string();
    let text = format!("{container} of {app} {rest}");
    (kind, Some(app), text.trim_end().to_owned())
}

fn of_app(kind: &'static str, app: &ApplicationId, rest: &str) -> Described {
    let app = app.to_string();
    let text = format!("{app} {rest}");
    (kind, Some(app), text.trim_end().to_owned())
}

const fn ended(ending: Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Released => "given back",
        Ending::Killed => "killed",
    }
}
