//! The cluster, its scheduler, its queues' rights.

use std::sync::Arc;

use axum::http::StatusCode;
use capsched::config::QueuePermission;

use super::{Answered, inspect};
use crate::rest::tree::{Object, View};
use crate::rest::views::cluster::{AppCounts, NodeCounts};
use crate::rest::views::health::Health;
use crate::rest::views::leaf::UsedBy;
use crate::rest::views::{cluster, queue};
use crate::rest::wire::{Failure, Reply, Wire};
use crate::rest::{Call, Shared};
use crate::rm::{AppState, Operation};

pub(super) fn info(shared: &Shared, _call: &Call) -> Answered {
    let store = "org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore";
    let body = cluster::info(shared.rm().cluster(), store);
    Ok(Reply::Document(View::wrapped("clusterInfo", body)))
}

pub(super) fn user(shared: &Shared, call: &Call) -> Answered {
    let body = Object::new()
        .with("rmLoginUser", shared.rm().setup().daemon.clone())
        .with("requestedUser", call.user.clone());
    Ok(Reply::Document(View::mapped(
        "clusterUserInfo",
        false,
        body,
    )))
}

pub(super) fn metrics(shared: &Shared, _call: &Call) -> Answered {
    let (apps, nodes) = shared
        .rm()
        .read(|books| (AppCounts::of(books), NodeCounts::of(books)));
    let body = inspect(shared, move |ledger| cluster::metrics(ledger, apps, nodes))?;
    Ok(Reply::Document(View::wrapped("clusterMetrics", body)))
}

pub(super) fn scheduler(shared: &Shared, _call: &Call) -> Answered {
    let operations = [
        Operation::Allocation,
        Operation::Release,
        Operation::Preemption,
        Operation::Reservation,
    ];
    let (health, used_by) = shared.rm().read(|books| {
        let health = Health {
            last: operations.map(|operation| books.last(operation).cloned()),
            run: books.last_run().clone(),
        };
        let mut used_by = UsedBy::new();
        for app in books.apps().filter(|app| !app.state.is_over()) {
            let labels = used_by.entry((app.path.clone(), app.user.clone()));
            labels.or_default().extend(app.partitions.iter().cloned());
        }
        (health, used_by)
    });
    let configuration = shared.rm().configuration();
    let properties = Arc::clone(&configuration.loaded.properties);
    let body = inspect(shared, move |ledger| {
        queue::scheduler(ledger, &properties, &health, &used_by)
    })?;
    Ok(Reply::Document(View::wrapped("scheduler", body)))
}

pub(super) fn overview(shared: &Shared, _call: &Call) -> Answered {
    let body = inspect(shared, cluster::overview)?;
    Ok(Reply::Document(View::mapped("scheduler", true, body)))
}

pub(super) fn statistics(shared: &Shared, call: &Call) -> Answered {
    let named = states(&call.list(&["states"]))?;
    let named = if named.is_empty() {
        AppState::ALL.to_vec()
    } else {
        named
    };
    let kinds = call.list(&["applicationTypes"]);
    if kinds.len() > 1 {
        let text = "# of applicationTypes = 2, we temporarily support at most one applicationType";
        return Err(Failure::bad_request(text));
    }
    let kind = kinds
        .first()
        .map_or("*".to_owned(), |kind| kind.to_lowercase());
    let rm = shared.rm();
    let body = rm.read(|books| cluster::statistics(books, &named, &kind));
    Ok(Reply::Document(View::wrapped("appStatInfo", body)))
}

/// The states that a list names, whatever their case.
pub(super) fn states(names: &[String]) -> Result<Vec<AppState>, Failure> {
    let one = |name: &String| {
        let known = AppState::ALL.into_iter();
        let mut known = known.filter(|state| state.name().eq_ignore_ascii_case(name));
        known.next().ok_or_else(|| {
            let all = AppState::ALL.map(AppState::name).join(", ");
            Failure::bad_request(format!(
                "Invalid application-state {name} specified. It should be one of [{all}]"
            ))
        })
    };
    names.iter().map(one).collect()
}

// As RMWebServices.checkUserAccessToQueue.
pub(super) fn access(shared: &Shared, call: &Call) -> Answered {
    let rm = shared.rm();
    let user = call.filled("user").unwrap_or(&call.user);
    let kind = call.first("queue-acl-type").unwrap_or_default();
    let permission = match kind.to_ascii_uppercase().as_str() {
        "SUBMIT_APPLICATIONS" => QueuePermission::Submit,
        "ADMINISTER_QUEUE" => QueuePermission::Administer,
        _ => {
            return Err(Failure::bad_request(format!(
                "Specified queueAclType={kind} is not a valid type, valid queue acl types=\
                 {{SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}}"
            )));
        }
    };
    let queue = call.part("queue");
    // Who does not administer the queue may ask about nobody else.
    let administers = rm.has_access(&call.user, QueuePermission::Administer, queue);
    if administers != Some(true) {
        return Err(Failure::forbidden(format!(
            "User={} doesn't haven access to queue={queue} so it cannot check ACLs for other users.",
            call.user
        )));
    }
    let allowed = rm.has_access(user, permission, queue) == Some(true);
    let diagnostics = if allowed {
        String::new()
    } else {
        format!("User={user} doesn't have access to queue={queue} with acl-type={kind}")
    };
    if shared.wire() == Wire::Hadoop35 && call.media == crate::rest::Media::Json {
        // The release has no writer for this type.
        let text = "there is no JSON form of this answer";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Err(Failure::other(status, "InternalServerErrorException", text));
    }
    let body = Object::new()
        .with("allowed", allowed)
        .with("user", user)
        .with("diagnostics", diagnostics);
    Ok(Reply::Document(View::mapped("queueAclInfo", true, body)))
}

pub(super) fn reservations(_shared: &Shared, _call: &Call) -> Answered {
    let text = "Reservation is not enabled. Please enable & try again";
    Err(Failure::bad_request(text))
}

/// The scheduler has no log of its own that could be written for some time.
// As RMWebServices.dumpSchedulerLogs, which reads the time from a form.
pub(super) fn logs(_shared: &Shared, call: &Call) -> Answered {
    let body = String::from_utf8_lossy(&call.body);
    let time = body.split('&').find_map(|pair| pair.strip_prefix("time="));
    match time.map(str::parse::<u32>) {
        Some(Ok(_)) => Err(Failure::bad_request("the scheduler has no log of its own")),
        _ => {
            let text = "the form names no time";
            let status = StatusCode::BAD_REQUEST;
            Err(Failure::other(status, "NumberFormatException", text))
        }
    }
}

/// Tokens are given to callers whom Kerberos knows, and there are none.
pub(super) fn tokens(_shared: &Shared, _call: &Call) -> Answered {
    let text = "Delegation token operations can only be carried out on a Kerberos authenticated \
                channel. Expected auth type is kerberos, got type SIMPLE";
    Ok(Reply::Text(StatusCode::FORBIDDEN, text.to_owned()))
}
