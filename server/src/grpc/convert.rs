//! From messages to values of the engine, each checked, and back. A refusal names the field.

use std::fmt;

use capsched::api::{
    ApplicationId, Ask, AskCall, AskReply, ContainerId, MAX_VALUE, NodeName, ResourceVector,
    RunningContainer,
};
use tonic::Status;

use super::wire;
use crate::rm::{AppState, CommandError, FinalStatus, NodeRegistration, Submission};

/// Containers that a node reports at most with one message.
const MOST_CONTAINERS: usize = 10_000;

/// Asks, releases and places of one call at most.
const MOST_ASKS: usize = 10_000;

/// Longest text of a message, in bytes.
const LONGEST: usize = 4096;

/// What is wrong with a field.
#[derive(Debug)]
pub(super) struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Wrong> for Status {
    fn from(wrong: Wrong) -> Self {
        Self::invalid_argument(wrong.0)
    }
}

fn wrong(field: &str, why: impl fmt::Display) -> Wrong {
    Wrong(format!("{field}: {why}"))
}

/// A text from outside as a message may show it.
fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// A refusal of the resource manager.
pub(super) fn refused(error: CommandError) -> Status {
    match error {
        CommandError::NotFound(text) => Status::not_found(text),
        CommandError::Forbidden(text) => Status::permission_denied(text),
        CommandError::Invalid(text) => Status::invalid_argument(text),
        CommandError::State(text) => Status::failed_precondition(text),
        CommandError::Unavailable(text) => Status::unavailable(text),
    }
}

fn text(field: &str, value: String) -> Result<String, Wrong> {
    if value.len() > LONGEST {
        let why = format!("it has {} bytes, at most {LONGEST}", value.len());
        return Err(wrong(field, why));
    }
    Ok(value)
}

fn few(field: &str, count: usize, most: usize) -> Result<(), Wrong> {
    if count > most {
        return Err(wrong(field, format!("{count} entries, at most {most}")));
    }
    Ok(())
}

pub(super) fn node(field: &str, text: &str) -> Result<NodeName, Wrong> {
    let read = text.parse::<NodeName>();
    read.map_err(|error| wrong(field, format!("`{}`: {error}", shown(text))))
}

pub(super) fn application(field: &str, text: &str) -> Result<ApplicationId, Wrong> {
    let read = text.parse::<ApplicationId>();
    read.map_err(|_| wrong(field, format!("`{}` is no application id", shown(text))))
}

fn container(field: &str, text: &str) -> Result<ContainerId, Wrong> {
    let read = text.parse::<ContainerId>();
    read.map_err(|_| wrong(field, format!("`{}` is no container id", shown(text))))
}

pub(super) fn containers(field: &str, texts: &[String]) -> Result<Vec<ContainerId>, Wrong> {
    few(field, texts.len(), MOST_CONTAINERS)?;
    texts.iter().map(|text| container(field, text)).collect()
}

/// Amounts of a message; `types` is how many resource types the cluster has.
pub(super) fn amounts(
    field: &str,
    resource: Option<&wire::Resource>,
    types: usize,
) -> Result<Vec<i64>, Wrong> {
    let amounts = &resource
        .ok_or_else(|| wrong(field, "it is missing"))?
        .amounts;
    if amounts.len() > types {
        let why = format!("{} amounts for {types} resource types", amounts.len());
        return Err(wrong(field, why));
    }
    let inside = |amount: &&i64| !(0..=MAX_VALUE).contains(*amount);
    match amounts.iter().find(inside) {
        Some(bad) => {
            let why = format!("{bad} is not in the range from 0 to {MAX_VALUE}");
            Err(wrong(field, why))
        }
        None => Ok(amounts.clone()),
    }
}

fn vector(
    field: &str,
    resource: Option<&wire::Resource>,
    types: usize,
) -> Result<ResourceVector, Wrong> {
    amounts(field, resource, types).map(|amounts| ResourceVector::of(&amounts))
}

pub(super) fn resource(vector: &ResourceVector, types: usize) -> wire::Resource {
    wire::Resource {
        amounts: vector.values(types).to_vec(),
    }
}

/// A registration with what the node runs.
pub(super) fn registration(
    of: wire::RegisterNodeRequest,
    types: usize,
) -> Result<(NodeRegistration, Vec<RunningContainer>), Wrong> {
    few("running", of.running.len(), MOST_CONTAINERS)?;
    let running: Result<Vec<_>, Wrong> = of
        .running
        .iter()
        .map(|one| {
            let id = container("running.container", &one.container)?;
            let size = vector("running.size", one.size.as_ref(), types)?;
            Ok(RunningContainer {
                priority: one.priority,
                request_id: one.request_id,
                ..RunningContainer::new(id, size)
            })
        })
        .collect();
    let rack = if of.rack.is_empty() {
        "/default-rack".to_owned()
    } else {
        text("rack", of.rack)?
    };
    let label = |label: String| match label.is_empty() {
        true => Vec::new(),
        false => vec![label],
    };
    let port = u16::try_from(of.http_port)
        .map_err(|_| wrong("http_port", format!("{} is no port", of.http_port)))?;
    let registration = NodeRegistration {
        node: node("node", &of.node)?.to_string(),
        rack,
        resource: amounts("total", of.total.as_ref(), types)?,
        http_port: port,
        version: text("version", of.version)?,
        labels: of.label.map(label),
    };
    Ok((registration, running?))
}

pub(super) fn submission(of: wire::SubmitRequest, types: usize) -> Result<Submission, Wrong> {
    few("tags", of.tags.len(), 100)?;
    let tags: Result<Vec<String>, Wrong> =
        of.tags.into_iter().map(|tag| text("tags", tag)).collect();
    let master = match of.unmanaged {
        true => Vec::new(),
        false => amounts("master", of.master.as_ref(), types)?,
    };
    Ok(Submission {
        application: application("application", &of.application)?.to_string(),
        name: text("name", of.name)?,
        queue: text("queue", of.queue)?,
        kind: text("kind", of.kind)?,
        tags: tags?,
        priority: of.priority,
        master,
        label: of.label.map(|label| text("label", label)).transpose()?,
        unmanaged: of.unmanaged,
        max_attempts: of.max_attempts,
        ..Submission::default()
    })
}

fn ask(of: wire::ContainerAsk, types: usize) -> Result<Ask, Wrong> {
    let count = i32::try_from(of.count);
    let count = count.map_err(|_| wrong("asks.count", format!("{} is too large", of.count)))?;
    let place = match of.place.as_str() {
        "" => "*".to_owned(),
        _ => of.place,
    };
    Ok(Ask {
        priority: of.priority,
        request_id: of.request_id,
        place,
        size: vector("asks.size", of.size.as_ref(), types)?,
        count,
        relax_locality: !of.strict_place,
        partition: of.label,
    })
}

/// A call of a master with its progress.
pub(super) fn call(of: wire::AllocateRequest, types: usize) -> Result<(AskCall, f32), Wrong> {
    few("asks", of.asks.len(), MOST_ASKS)?;
    few("release", of.release.len(), MOST_ASKS)?;
    few("blacklist_add", of.blacklist_add.len(), MOST_ASKS)?;
    few("blacklist_remove", of.blacklist_remove.len(), MOST_ASKS)?;
    if !(0.0..=100.0).contains(&of.progress) {
        let why = format!("{} is not in the range from 0 to 100", of.progress);
        return Err(wrong("progress", why));
    }
    let asks: Result<Vec<Ask>, Wrong> = of.asks.into_iter().map(|one| ask(one, types)).collect();
    let call = AskCall {
        asks: asks?,
        release: of.release,
        blacklist_add: of.blacklist_add,
        blacklist_remove: of.blacklist_remove,
        ..AskCall::default()
    };
    Ok((call, of.progress))
}

/// What a master gets.
pub(super) fn reply(application: String, of: &AskReply, types: usize) -> wire::AllocateReply {
    let allocated = of.allocated.iter().map(|granted| wire::Allocated {
        container: granted.container.to_string(),
        node: granted.node.to_string(),
        size: Some(resource(&granted.size, types)),
        priority: granted.priority,
        request_id: granted.request_id,
    });
    let ended = of.finished.iter().zip(&of.causes);
    let completed = ended.map(|(&number, cause)| wire::Completed {
        number,
        cause: cause.name().to_owned(),
    });
    wire::AllocateReply {
        application,
        allocated: allocated.collect(),
        completed: completed.collect(),
        asked_back: of.asked_back.clone(),
        unknown: of.unknown.clone(),
        headroom: Some(resource(&of.headroom, types)),
        refused: None,
    }
}

/// The state of an application.
pub(super) const fn state(of: AppState) -> wire::ApplicationState {
    match of {
        AppState::New | AppState::NewSaving | AppState::Submitted => wire::ApplicationState::New,
        AppState::Accepted => wire::ApplicationState::Accepted,
        AppState::Running => wire::ApplicationState::Running,
        AppState::Finished => wire::ApplicationState::Finished,
        AppState::Failed => wire::ApplicationState::Failed,
        AppState::Killed => wire::ApplicationState::Killed,
    }
}

/// How a master says that its application ended.
pub(super) fn final_status(number: i32) -> Result<FinalStatus, Wrong> {
    match wire::FinalStatus::try_from(number) {
        Ok(wire::FinalStatus::Succeeded) => Ok(FinalStatus::Succeeded),
        Ok(wire::FinalStatus::Failed) => Ok(FinalStatus::Failed),
        Ok(wire::FinalStatus::Killed) => Ok(FinalStatus::Killed),
        Ok(wire::FinalStatus::Unspecified) => Err(wrong("status", "it is missing")),
        Err(_) => Err(wrong("status", format!("{number} is no final status"))),
    }
}
