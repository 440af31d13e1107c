//! Answers of the configuration's routes.

use axum::http::StatusCode;
use capsched::config::Issue;
use serde_json::{Value, json};

use super::Action;
use crate::conf::{BodyError, ConfError, ConfProperties, ConfStoreError};
use crate::rest::tree::{Object, View};
use crate::rest::wire::{Failure, Media, Reply, Wire};

/// An answer; with a media type where it has but one.
pub(super) struct Answered {
    pub(super) reply: Result<Reply, Failure>,
    pub(super) media: Option<Media>,
}

impl Answered {
    pub(super) fn failure(failure: Failure) -> Self {
        Self {
            reply: Err(failure),
            media: None,
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::reply(Reply::Text(StatusCode::OK, text.to_owned()))
    }

    fn reply(reply: Reply) -> Self {
        Self {
            reply: Ok(reply),
            media: None,
        }
    }

    pub(super) fn json(status: StatusCode, document: &Value) -> Self {
        Self {
            reply: Ok(Reply::Text(status, document.to_string())),
            media: Some(Media::Json),
        }
    }

    /// Puts a text in front of one.
    pub(super) fn with_prefix(mut self, prefix: &str) -> Self {
        if let Ok(Reply::Text(_, text)) = &mut self.reply {
            text.insert_str(0, prefix);
        }
        self
    }
}

/// The properties as a configuration.
// As ConfInfo.
pub(super) fn properties(properties: &ConfProperties) -> Answered {
    let one = |(name, value): (&str, &str)| Object::new().with("name", name).with("value", value);
    let body = Object::new().with_many("property", properties.iter().map(one));
    Answered::reply(Reply::Document(View::unwrapped("configuration", body)))
}

// As ConfigVersionInfo.
pub(super) fn version(version: u64) -> Answered {
    let body = Object::new().with("versionID", version);
    Answered::reply(Reply::Document(View::mapped("configversion", true, body)))
}

pub(super) fn forbidden(wire: Wire) -> Answered {
    let text = "Only admins can carry out this operation.";
    let text = match wire {
        Wire::Hadoop34 => format!("java.lang.Exception: {text}"),
        Wire::Hadoop35 => text.to_owned(),
    };
    Answered::failure(Failure::forbidden(text))
}

/// What a resource manager over plain files answers.
pub(super) fn immutable(action: Action) -> Answered {
    let text = match action {
        Action::Get => {
            "This API only supports to retrieve scheduler configuration from a mutable-conf scheduler, \
             underneath scheduler CapacityScheduler is not an instance of MutableConfScheduler"
        }
        Action::Version => "Configuration Version only supported by MutableConfScheduler.",
        Action::Format => "Scheduler Configuration format only supported by MutableConfScheduler",
        Action::Change => "Configuration change only supported by mutable configuration store.",
        Action::Validate | Action::ValidateIssues => {
            "Configuration change validation only supported by MutableConfScheduler."
        }
    };
    Answered::reply(Reply::Text(StatusCode::BAD_REQUEST, text.to_owned()))
}

pub(super) fn unreadable(error: &BodyError) -> Failure {
    match error {
        BodyError::Xml { .. } => Failure::no_xml(error.to_string()),
        _ => {
            let status = StatusCode::BAD_REQUEST;
            Failure::other(status, "WebApplicationException", error.to_string())
        }
    }
}

/// The status of a change that was not made.
pub(super) fn status(error: &ConfError) -> StatusCode {
    match error {
        ConfError::Forbidden(_) => StatusCode::FORBIDDEN,
        ConfError::VersionMismatch { .. } => StatusCode::PRECONDITION_FAILED,
        ConfError::UnknownVersion(_) => StatusCode::NOT_FOUND,
        ConfError::Store(ConfStoreError::Corrupt(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        ConfError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}

pub(super) fn of_error(error: &ConfError) -> Answered {
    match error {
        ConfError::Forbidden(text) => Answered::failure(Failure::forbidden(text.clone())),
        _ => Answered::reply(Reply::Text(status(error), error.to_string())),
    }
}

/// What was found, by queue and property.
pub(super) fn issues(error: &ConfError) -> Vec<Issue> {
    match error {
        ConfError::Refused(refusal) => refusal.issues.clone(),
        ConfError::Invalid(report) => capsched::config::issues(report),
        ConfError::Change(change) => vec![Issue::error("change", change.to_string())],
        other => vec![Issue::error("store", other.to_string())],
    }
}

pub(super) fn issues_of_error(error: &ConfError) -> Answered {
    Answered::json(status(error), &verdict(false, &issues(error), None))
}

/// `{"valid": .., "issues": [..], "queues": {..}}`.
pub(super) fn verdict(valid: bool, issues: &[Issue], queues: Option<Value>) -> Value {
    let mut document = json!({"valid": valid, "issues": issues});
    if let Some(queues) = queues {
        document["queues"] = queues;
    }
    document
}
