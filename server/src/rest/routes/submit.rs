//! Submissions over REST.

use axum::http::StatusCode;
use capsched::api::ApplicationId;
use serde_json::Value;

use super::{Answered, refused};
use crate::rest::document::{integer, many, read, text, texts};
use crate::rest::tree::{Object, View};
use crate::rest::views::resource::open;
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Shared};
use crate::rm::{Answer, Command, Submission};

// As RMWebServices.createNewApplication.
pub(super) fn new_application(shared: &Shared, call: &Call) -> Answered {
    let rm = shared.rm();
    let given = rm
        .execute(&call.user, Command::NewApplication)
        .map_err(refused)?;
    let Answer::Application(id) = given else {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Err(Failure::other(
            status,
            "WebApplicationException",
            "no application id",
        ));
    };
    let configuration = rm.configuration();
    let settings = &configuration.loaded.settings.scheduler;
    let body = Object::new().with("application-id", id).with(
        "maximum-resource-capability",
        open(settings, &settings.maximum_allocation),
    );
    Ok(Reply::Document(View::unwrapped("NewApplication", body)))
}

// As RMWebServices.submitApplication.
pub(super) fn submit(shared: &Shared, call: &Call) -> Answered {
    let body = read(call)?;
    let submission = submission(shared, &body)?;
    let application = submission.application.clone();
    let command = Command::Submit(Box::new(submission));
    shared.rm().execute(&call.user, command).map_err(refused)?;
    let url = format!("http://{}/ws/v1/cluster/apps/{application}", call.host);
    Ok(Reply::Location(url))
}

/// Application and queue of a submission; the queue is empty where none is named.
///
/// # Errors
///
/// 400 when the body cannot be read or names no application; 415 when it is neither JSON nor XML.
pub(crate) fn submitted(call: &Call) -> Result<(ApplicationId, String), Failure> {
    let body = read(call)?;
    let (id, _) = application(&body)?;
    Ok((id, text(&body, "queue").unwrap_or_default()))
}

/// The application of a submission, as an id and as it was written.
fn application(body: &Value) -> Result<(ApplicationId, String), Failure> {
    let id = text(body, "application-id").unwrap_or_default();
    match id.parse() {
        Ok(parsed) => Ok((parsed, id)),
        Err(_) => {
            let shown: String = id.chars().take(64).flat_map(char::escape_debug).collect();
            let text = format!("Could not parse application id {shown}");
            Err(Failure::bad_request(text))
        }
    }
}

fn submission(shared: &Shared, body: &Value) -> Result<Submission, Failure> {
    let (_, id) = application(body)?;
    let number = |name: &str| integer(body, name).and_then(|value| i32::try_from(value).ok());
    let flag = |name: &str| text(body, name).is_some_and(|text| text == "true");
    let some = |name: &str| text(body, name).filter(|text| !text.is_empty());
    let tags = match body.get("application-tags") {
        Some(nested @ Value::Object(_)) => texts(nested, "tag"),
        _ => texts(body, "application-tags"),
    };
    Ok(Submission {
        application: id,
        name: some("application-name").unwrap_or_default(),
        queue: some("queue").unwrap_or_default(),
        kind: some("application-type").unwrap_or_default(),
        tags: tags.iter().map(|tag| tag.to_lowercase()).collect(),
        priority: number("priority").filter(|&priority| priority >= 0),
        master: master(shared, body.get("resource"))?,
        master_label: some("am-container-node-label-expression"),
        label: some("app-node-label-expression"),
        unmanaged: flag("unmanaged-AM"),
        keep_containers: flag("keep-containers-across-application-attempts"),
        max_attempts: number("max-app-attempts").map_or(0, |most| u32::try_from(most).unwrap_or(0)),
        lifetime_s: lifetime(body),
    })
}

/// The container of the master by resource type.
fn master(shared: &Shared, resource: Option<&Value>) -> Result<Vec<i64>, Failure> {
    let types = shared.rm().types();
    let Some(resource) = resource else {
        return Ok(vec![0; types.len()]);
    };
    let named = resource.get("resourceInformations");
    let named = named.map_or_else(Vec::new, |all| many(all, "resourceInformation"));
    let one = |(i, name): (usize, &std::sync::Arc<str>)| {
        let of_name = |info: &&&Value| text(info, "name").as_deref() == Some(name);
        let info = named
            .iter()
            .find(of_name)
            .and_then(|info| integer(info, "value"));
        let short = match i {
            0 => integer(resource, "memory"),
            1 => integer(resource, "vCores"),
            _ => None,
        };
        let amount = short.or(info).unwrap_or(0);
        if amount < 0 {
            return Err(Failure::bad_request(format!(
                "{name} of the master is below 0"
            )));
        }
        Ok(amount)
    };
    types.iter().enumerate().map(one).collect()
}

/// The lifetime in s that a submission asks for.
fn lifetime(body: &Value) -> Option<i64> {
    let timeouts = body
        .get("application-timeouts")
        .or_else(|| body.get("timeouts"))?;
    let entries = many(timeouts, "entry");
    let of_lifetime = |entry: &&&Value| text(entry, "key").as_deref() == Some("LIFETIME");
    integer(entries.iter().find(of_lifetime)?, "value")
}
