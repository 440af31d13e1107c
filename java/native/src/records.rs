//! Ids, sizes, nodes, applications and asks in the form of [`wire`](crate::wire).

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskReply, ConstrainedAsk, ContainerChange, ContainerId,
    ContainerUpdate, Granted, MAX_TYPES, NodeName, NodeReport, NodeSpec, ResourceVector, Restarts,
    RunningContainer, UpdateKind,
};

use crate::wire::{Malformed, Reader, Writer};

/// An application.
///
/// # Errors
///
/// When the request is malformed.
pub fn application(reader: &mut Reader<'_>) -> Result<ApplicationId, Malformed> {
    Ok(ApplicationId {
        cluster: reader.natural()?,
        sequence: reader.count()?,
    })
}

/// A container.
///
/// # Errors
///
/// When the request is malformed.
pub fn container(reader: &mut Reader<'_>) -> Result<ContainerId, Malformed> {
    Ok(ContainerId {
        app: application(reader)?,
        attempt: reader.count()?,
        number: reader.count()?,
    })
}

/// A node's name.
///
/// # Errors
///
/// When the request is malformed, or the name is none.
pub fn node_name(reader: &mut Reader<'_>) -> Result<NodeName, Malformed> {
    let host = reader.text()?;
    let port = reader.count()?;
    let port = u16::try_from(port).map_err(|_| reader.fault(format!("{port} is no port")))?;
    NodeName::new(&host, port).map_err(|error| reader.fault(error.to_string()))
}

/// Amounts of the resource types, in their order.
///
/// # Errors
///
/// When the request is malformed, or has more types than the engine.
pub fn amounts(reader: &mut Reader<'_>) -> Result<ResourceVector, Malformed> {
    let values = reader.list(Reader::long)?;
    if values.len() > MAX_TYPES {
        let text = format!("{} resource types, at most {MAX_TYPES}", values.len());
        return Err(reader.fault(text));
    }
    Ok(ResourceVector::of(&values))
}

/// A node that registers.
///
/// # Errors
///
/// When the request is malformed.
pub fn node(reader: &mut Reader<'_>) -> Result<NodeSpec, Malformed> {
    Ok(NodeSpec {
        name: node_name(reader)?,
        rack: reader.text()?,
        total: amounts(reader)?,
        partition: reader.text()?,
        attributes: reader.list(|reader| Ok((reader.text()?, reader.text()?)))?,
    })
}

/// A container that a node runs.
///
/// # Errors
///
/// When the request is malformed.
pub fn running(reader: &mut Reader<'_>) -> Result<RunningContainer, Malformed> {
    let (id, size) = (container(reader)?, amounts(reader)?);
    Ok(RunningContainer {
        priority: reader.int()?,
        request_id: reader.long()?,
        created_ms: reader.natural()?,
        version: reader.count()?,
        opportunistic: reader.flag()?,
        ..RunningContainer::new(id, size)
    })
}

/// What a node reports.
///
/// # Errors
///
/// When the request is malformed.
pub fn report(reader: &mut Reader<'_>) -> Result<NodeReport, Malformed> {
    Ok(NodeReport::Exactly {
        launched: reader.list(container)?,
        exited: reader.list(container)?,
    })
}

/// An application that is submitted.
///
/// # Errors
///
/// When the request is malformed.
pub fn submission(reader: &mut Reader<'_>) -> Result<AppSpec, Malformed> {
    let id = application(reader)?;
    let (user, queue) = (reader.text()?, reader.text()?);
    Ok(AppSpec {
        priority: reader.optional(Reader::int)?,
        master: reader.optional(amounts)?,
        master_partition: reader.optional(Reader::text)?,
        partition: reader.optional(Reader::text)?,
        tags: reader.list(Reader::text)?,
        restarts: if reader.flag()? {
            Restarts::KeepingContainers
        } else {
            Restarts::Never
        },
        ..AppSpec::new(id, &queue, &user)
    })
}

/// A call of an application.
///
/// # Errors
///
/// When the request is malformed.
pub fn ask_call(reader: &mut Reader<'_>) -> Result<AskCall, Malformed> {
    Ok(AskCall {
        asks: reader.list(ask)?,
        constrained: reader.list(constrained)?,
        release: reader.list(Reader::count)?,
        blacklist_add: reader.list(Reader::text)?,
        blacklist_remove: reader.list(Reader::text)?,
        updates: reader.list(update)?,
    })
}

/// Kinds of changes, each at the place of its number. As ContainerUpdateType, in its order.
const KINDS: [UpdateKind; UpdateKind::COUNT] = [
    UpdateKind::Increase,
    UpdateKind::Decrease,
    UpdateKind::Promote,
    UpdateKind::Demote,
];

/// The container, the version that its application knows, the kind, and the size of an increase or a decrease.
fn update(reader: &mut Reader<'_>) -> Result<ContainerUpdate, Malformed> {
    let (container, version, number) = (reader.count()?, reader.count()?, reader.int()?);
    let kind = usize::try_from(number)
        .ok()
        .and_then(|at| KINDS.get(at).copied());
    let Some(kind) = kind else {
        return Err(reader.fault(format!("there is no change {number}")));
    };
    let change = match kind {
        UpdateKind::Increase => ContainerChange::Increase(amounts(reader)?),
        UpdateKind::Decrease => ContainerChange::Decrease(amounts(reader)?),
        UpdateKind::Promote => ContainerChange::Promote,
        UpdateKind::Demote => ContainerChange::Demote,
    };
    Ok(ContainerUpdate {
        container,
        version,
        change,
    })
}

fn write_kind(writer: &mut Writer, kind: UpdateKind) {
    let at = KINDS.iter().position(|known| *known == kind);
    writer.int(at.and_then(|at| u32::try_from(at).ok()).unwrap_or(0));
}

fn ask(reader: &mut Reader<'_>) -> Result<Ask, Malformed> {
    Ok(Ask {
        priority: reader.int()?,
        request_id: reader.long()?,
        place: reader.text()?,
        size: amounts(reader)?,
        count: reader.int()?,
        relax_locality: reader.flag()?,
        partition: reader.optional(Reader::text)?,
    })
}

fn constrained(reader: &mut Reader<'_>) -> Result<ConstrainedAsk, Malformed> {
    Ok(ConstrainedAsk {
        priority: reader.int()?,
        request_id: reader.long()?,
        size: amounts(reader)?,
        count: reader.int()?,
        tags: reader.list(Reader::text)?,
        constraint: reader.optional(Reader::text)?,
    })
}

/// Writes an application.
pub fn write_application(writer: &mut Writer, id: ApplicationId) {
    writer.natural(id.cluster);
    writer.int(id.sequence);
}

/// Writes a container.
pub fn write_container(writer: &mut Writer, id: &ContainerId) {
    write_application(writer, id.app);
    writer.int(id.attempt);
    writer.int(id.number);
}

/// Writes a node's name.
pub fn write_node(writer: &mut Writer, name: &NodeName) {
    writer.text(name.host());
    writer.int(u32::from(name.port()));
}

/// Writes amounts of the first `types` resource types.
pub fn write_amounts(writer: &mut Writer, amounts: &ResourceVector, types: usize) {
    writer.list(amounts.values(types), |writer, value| writer.long(*value));
}

/// Writes the answer to a call of an application.
pub fn write_reply(writer: &mut Writer, reply: &AskReply, types: usize) {
    writer.list(&reply.allocated, |writer, granted: &Granted| {
        write_container(writer, &granted.container);
    });
    writer.list(&reply.asked_back, |writer, number| writer.int(*number));
    writer.list(&reply.unknown, |writer, number| writer.int(*number));
    write_amounts(writer, &reply.headroom, types);
    writer.list(&reply.updated, |writer, changed| {
        writer.int(changed.container.number);
        write_kind(writer, changed.kind);
        write_amounts(writer, &changed.size, types);
        writer.int(changed.version);
    });
    writer.list(&reply.update_errors, |writer, error| {
        writer.int(error.update.container);
        write_kind(writer, error.update.change.kind());
        writer.text(error.refusal.name());
    });
}
