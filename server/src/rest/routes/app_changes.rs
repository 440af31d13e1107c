//! Applications, changed: killed, moved, with another priority or end of lifetime.

use axum::http::StatusCode;
use serde_json::Value;

use super::{Answered, application, refused};
use crate::rest::document::{integer, read, text};
use crate::rest::tree::{Object, View};
use crate::rest::views::app::timeout;
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Shared, time};
use crate::rm::{Answer, Command, CommandError};

/// A refusal of a change, which says why in plain text.
// As RMWebServices, which answers a YarnException of the client service so.
fn plainly(error: CommandError) -> Answered {
    match error {
        CommandError::Forbidden(text) => Ok(Reply::Text(StatusCode::FORBIDDEN, text)),
        CommandError::State(text) | CommandError::Invalid(text) => {
            Ok(Reply::Text(StatusCode::BAD_REQUEST, text))
        }
        other => Err(refused(other)),
    }
}

// As RMWebServices.updateAppState.
pub(super) fn set_state(shared: &Shared, call: &Call) -> Answered {
    let body = read(call)?;
    let app = application(shared, call)?;
    let answer = |status, state: &str| {
        let body = Object::new().with("state", state);
        Ok(Reply::Accepted(
            status,
            View::mapped("appstate", false, body),
        ))
    };
    let target = text(&body, "state").unwrap_or_default();
    if target == app.state.name() {
        return answer(StatusCode::OK, app.state.name());
    }
    if target != "KILLED" {
        let text = "Only 'KILLED' is allowed as a target state.";
        return Err(Failure::bad_request(text));
    }
    let said = text(&body, "diagnostics").filter(|said| !said.is_empty());
    let said = said.map(|said| format!(" Diagnostic message from attempt : {said}"));
    let kill = Command::Kill {
        application: app.id.to_string(),
        diagnostics: format!(
            "Application {} was killed by user {}{}",
            app.id,
            call.user,
            said.unwrap_or_default()
        ),
    };
    match shared.rm().execute(&call.user, kill) {
        // One that had ended before is killed already; another one still is what it was.
        Ok(_) if app.state.is_over() => answer(StatusCode::OK, app.state.name()),
        Ok(_) => answer(StatusCode::ACCEPTED, app.state.name()),
        Err(error) => plainly(error),
    }
}

// As RMWebServices.updateAppQueue.
pub(super) fn set_queue(shared: &Shared, call: &Call) -> Answered {
    let body = read(call)?;
    let app = application(shared, call)?;
    let queue = text(&body, "queue").unwrap_or_default();
    if app.queue != queue {
        let command = Command::Move {
            application: app.id.to_string(),
            queue,
        };
        if let Err(error) = shared.rm().execute(&call.user, command) {
            return plainly(error);
        }
    }
    let app = application(shared, call)?;
    let body = Object::new().with("queue", app.queue);
    Ok(Reply::Document(View::unwrapped("appqueue", body)))
}

// As RMWebServices.updateApplicationPriority.
pub(super) fn set_priority(shared: &Shared, call: &Call) -> Answered {
    let body = read(call)?;
    let app = application(shared, call)?;
    let wanted = integer(&body, "priority").and_then(|wanted| i32::try_from(wanted).ok());
    let Some(priority) = wanted else {
        return Err(Failure::bad_request("priority must be a whole number"));
    };
    let command = Command::SetPriority {
        application: app.id.to_string(),
        priority,
    };
    let priority = match shared.rm().execute(&call.user, command) {
        Ok(Answer::Priority(priority)) => priority,
        Ok(_) => app.priority,
        Err(error) => return plainly(error),
    };
    let body = Object::new().with("priority", priority);
    Ok(Reply::Document(View::unwrapped(
        "applicationpriority",
        body,
    )))
}

// As RMWebServices.updateApplicationTimeout.
pub(super) fn set_timeout(shared: &Shared, call: &Call) -> Answered {
    let body = read(call)?;
    let app = application(shared, call)?;
    let inner: &Value = body.get("timeout").unwrap_or(&body);
    let kind = text(inner, "type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("LIFETIME") {
        return Err(Failure::bad_request("Timeout type is null or not LIFETIME"));
    }
    let expiry = text(inner, "expiryTime").unwrap_or_default();
    let Some(expiry_ms) = time::parse_iso(&expiry) else {
        let shown: String = expiry
            .chars()
            .take(64)
            .flat_map(char::escape_debug)
            .collect();
        let text = format!("Text '{shown}' could not be parsed at index 0");
        return Err(Failure::bad_request(text));
    };
    let command = Command::SetLifetime {
        application: app.id.to_string(),
        expiry_ms,
    };
    if let Err(error) = shared.rm().execute(&call.user, command) {
        return plainly(error);
    }
    let app = application(shared, call)?;
    let body = timeout(&app, shared.rm().now_ms());
    Ok(Reply::Document(View::wrapped("timeout", body)))
}
