//! From messages to values of the engine, each checked, and back. A refusal names the field.

use std::fmt;

use capsched::api::{
    ApplicationId, Ask, AskCall, AskError, AskReply, Closeness, ContainerChange, ContainerId,
    ContainerUpdate, GangAsk, GangEvent, GangStep, MAX_VALUE, NodeName, ResourceVector,
    RunningContainer, UpdateError, UpdateKind, UpdatedContainer,
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

/// Why a gang or opportunistic containers were not asked for.
pub(super) fn not_asked(error: AskError) -> Status {
    let text = error.to_string();
    match error {
        AskError::Closed | AskError::Reentrant => Status::unavailable(text),
        AskError::UnknownApplication(_) => Status::not_found(text),
        AskError::MasterNotRunning(_) => Status::failed_precondition(text),
        _ => Status::invalid_argument(text),
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

/// The versions that a node runs containers with.
pub(super) fn versions(
    field: &str,
    of: &[wire::ContainerVersion],
) -> Result<Vec<(ContainerId, u32)>, Wrong> {
    few(field, of.len(), MOST_CONTAINERS)?;
    of.iter()
        .map(|one| Ok((container(field, &one.container)?, one.version)))
        .collect()
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
                version: one.version,
                opportunistic: one.opportunistic,
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
        keep_containers: of.keep_containers,
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

fn update(of: &wire::ContainerUpdate, types: usize) -> Result<ContainerUpdate, Wrong> {
    let size = || vector("updates.size", of.size.as_ref(), types);
    let kind = wire::UpdateKind::try_from(of.kind);
    let kind = kind.map_err(|_| wrong("updates.kind", format!("{} is none", of.kind)))?;
    let sized = of.size.is_some();
    let change = match kind {
        wire::UpdateKind::Unspecified => return Err(wrong("updates.kind", "it is missing")),
        wire::UpdateKind::Increase => ContainerChange::Increase(size()?),
        wire::UpdateKind::Decrease => ContainerChange::Decrease(size()?),
        wire::UpdateKind::Promote | wire::UpdateKind::Demote if sized => {
            let why = "a promotion or a demotion has none";
            return Err(wrong("updates.size", why));
        }
        wire::UpdateKind::Promote => ContainerChange::Promote,
        wire::UpdateKind::Demote => ContainerChange::Demote,
    };
    Ok(ContainerUpdate {
        container: of.container,
        version: of.version,
        change,
    })
}

const fn kind_of(of: UpdateKind) -> wire::UpdateKind {
    match of {
        UpdateKind::Increase => wire::UpdateKind::Increase,
        UpdateKind::Decrease => wire::UpdateKind::Decrease,
        UpdateKind::Promote => wire::UpdateKind::Promote,
        UpdateKind::Demote => wire::UpdateKind::Demote,
    }
}

/// A gang that a master asks for.
pub(super) fn gang(of: wire::AskGangRequest, types: usize) -> Result<GangAsk, Wrong> {
    use wire::ask_gang_request::Close;
    let close = match of.close {
        None | Some(Close::OneRack(false)) => Closeness::Anywhere,
        Some(Close::OneRack(true)) => Closeness::Rack,
        Some(Close::OneValueOf(name)) => Closeness::Attribute(text("one_value_of", name)?),
    };
    Ok(GangAsk {
        priority: of.priority,
        request_id: of.request_id,
        size: vector("size", of.size.as_ref(), types)?,
        minimum: of.minimum,
        elastic: of.elastic,
        within_ms: of.within_ms,
        close,
        partition: of.label.map(|label| text("label", label)).transpose()?,
    })
}

/// Asks of a master.
pub(super) fn asks(of: Vec<wire::ContainerAsk>, types: usize) -> Result<Vec<Ask>, Wrong> {
    few("asks", of.len(), MOST_ASKS)?;
    of.into_iter().map(|one| ask(one, types)).collect()
}

/// A call of a master with its progress.
pub(super) fn call(of: wire::AllocateRequest, types: usize) -> Result<(AskCall, f32), Wrong> {
    few("release", of.release.len(), MOST_ASKS)?;
    few("blacklist_add", of.blacklist_add.len(), MOST_ASKS)?;
    few("blacklist_remove", of.blacklist_remove.len(), MOST_ASKS)?;
    few("updates", of.updates.len(), MOST_ASKS)?;
    if !(0.0..=100.0).contains(&of.progress) {
        let why = format!("{} is not in the range from 0 to 100", of.progress);
        return Err(wrong("progress", why));
    }
    let updates = of.updates.iter().map(|one| update(one, types));
    let call = AskCall {
        asks: asks(of.asks, types)?,
        updates: updates.collect::<Result<_, Wrong>>()?,
        release: of.release,
        blacklist_add: of.blacklist_add,
        blacklist_remove: of.blacklist_remove,
        ..AskCall::default()
    };
    Ok((call, of.progress))
}

fn updated(of: &UpdatedContainer, types: usize) -> wire::UpdatedContainer {
    wire::UpdatedContainer {
        container: of.container.number,
        kind: kind_of(of.kind).into(),
        size: Some(resource(&of.size, types)),
        version: of.version,
    }
}

fn update_refusal(of: &UpdateError) -> wire::UpdateRefusal {
    wire::UpdateRefusal {
        container: of.update.container,
        kind: kind_of(of.update.change.kind()).into(),
        reason: of.refusal.name().to_owned(),
        version: of.version,
    }
}

fn gang_outcome(of: &GangEvent) -> wire::GangOutcome {
    let (placed, waited_ms, cause) = match &of.step {
        GangStep::Placed { waited_ms } => (true, *waited_ms, ""),
        GangStep::Expired { wait } => (false, 0, wait.word()),
        _ => (false, 0, ""),
    };
    wire::GangOutcome {
        priority: of.priority,
        request_id: of.request_id,
        members: of.members,
        placed,
        waited_ms,
        cause: cause.to_owned(),
    }
}

/// What a master gets.
pub(super) fn reply(
    application: String,
    of: &AskReply,
    gangs: &[GangEvent],
    types: usize,
) -> wire::AllocateReply {
    let allocated = of.allocated.iter().map(|granted| wire::Allocated {
        container: granted.container.to_string(),
        node: granted.node.to_string(),
        size: Some(resource(&granted.size, types)),
        priority: granted.priority,
        request_id: granted.request_id,
        opportunistic: granted.opportunistic,
    });
    let completed = of.finished.iter().map(|one| wire::Completed {
        number: one.number,
        cause: one.cause.name().to_owned(),
    });
    wire::AllocateReply {
        application,
        allocated: allocated.collect(),
        completed: completed.collect(),
        asked_back: of.asked_back.clone(),
        unknown: of.unknown.clone(),
        headroom: Some(resource(&of.headroom, types)),
        refused: None,
        updated: of.updated.iter().map(|one| updated(one, types)).collect(),
        update_errors: of.update_errors.iter().map(update_refusal).collect(),
        gangs: gangs.iter().map(gang_outcome).collect(),
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
