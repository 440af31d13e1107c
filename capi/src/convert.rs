//! From the engine's events and replies to flat records, and the words of their reasons.

use capsched::api::{
    AppEnd, ApplicationId, AskReply, Conflict, ContainerId, EndCause, Event, GangEvent, GangStep,
    GangWait, HeartbeatReply, Locality, OpportunisticEvent, OpportunisticStep, ProposalKind,
    Recovered, ResourceVector, UnreserveReason, UpdateError, UpdateKind, UpdateRefusal,
    UpdatedContainer,
};
use capsched::id::SchedulerKey;
use capsched::metrics::Closed;

use crate::abi::{self, CAPSCHED_TYPES, ContainerKey, FlatRecord};
use crate::engine_handle::Held;
use crate::fault::{Answer, Fault};

/// Words of the reasons by kind, each at the place of its number less one.
const CAUSES: [&str; 9] = [
    "exited",
    "released",
    "surplus",
    "killed",
    "preempted",
    "overcommitted",
    "node_lost",
    "expired",
    "application_ended",
];
const UNRESERVED: [&str; 6] = [
    "exchange", "excess", "kill", "timeout", "finished", "released",
];
const APP_ENDS: [&str; 2] = ["lifetime", "queue_killed"];
const REFUSALS: [&str; 4] = [
    UpdateRefusal::InvalidContainerId.name(),
    UpdateRefusal::IncorrectContainerVersionError.name(),
    UpdateRefusal::UpdateOutstandingError.name(),
    UpdateRefusal::ResourceOutsideAllowedRange.name(),
];
const WAITS: [&str; 7] = [
    "room",
    "cluster",
    "queue-limit",
    "user-limit",
    "access",
    "key-in-use",
    "inactive",
];

/// The word of a reason; nothing where the kind has none of that number.
pub(crate) fn reason(kind: u32, reason: u32) -> Option<&'static str> {
    let at = usize::try_from(reason.checked_sub(1)?).ok()?;
    match kind {
        abi::CAPSCHED_ENDED | abi::CAPSCHED_FINISHED => CAUSES.get(at).copied(),
        abi::CAPSCHED_UNRESERVED => UNRESERVED.get(at).copied(),
        abi::CAPSCHED_APP_ENDED => APP_ENDS.get(at).copied(),
        abi::CAPSCHED_CHANGE_REFUSED => REFUSALS.get(at).copied(),
        abi::CAPSCHED_GANG_EXPIRED => WAITS.get(at).copied(),
        abi::CAPSCHED_REJECTED => conflicts().get(at).map(|conflict| conflict.name()),
        _ => None,
    }
}

fn conflicts() -> &'static [Conflict] {
    Conflict::ALL
}

/// The number of a word in a table, from 1; 0 for one that a later version of the engine has.
fn number_of(words: &[&str], word: &str) -> u32 {
    let at = words.iter().position(|known| *known == word);
    at.map_or(0, |at| u32::try_from(at + 1).unwrap_or(0))
}

fn cause_number(cause: EndCause) -> u32 {
    number_of(&CAUSES, cause.name())
}

const fn unreserve_number(reason: UnreserveReason) -> u32 {
    match reason {
        UnreserveReason::Exchange => 1,
        UnreserveReason::Excess => 2,
        UnreserveReason::Kill => 3,
        UnreserveReason::Timeout => 4,
        UnreserveReason::Finished => 5,
        UnreserveReason::Released => 6,
    }
}

fn app_end_number(end: AppEnd) -> u32 {
    number_of(&APP_ENDS, end.name())
}

fn conflict_number(conflict: Conflict) -> u32 {
    let at = conflicts().iter().position(|known| *known == conflict);
    at.map_or(0, |at| u32::try_from(at + 1).unwrap_or(0))
}

const fn update_number(kind: UpdateKind) -> u32 {
    match kind {
        UpdateKind::Increase => abi::CAPSCHED_UPDATE_INCREASE,
        UpdateKind::Decrease => abi::CAPSCHED_UPDATE_DECREASE,
        UpdateKind::Promote => abi::CAPSCHED_UPDATE_PROMOTE,
        UpdateKind::Demote => abi::CAPSCHED_UPDATE_DEMOTE,
    }
}

const fn locality_number(level: Option<Locality>) -> u32 {
    match level {
        None => abi::CAPSCHED_LOCALITY_NONE,
        Some(Locality::Node) => abi::CAPSCHED_LOCALITY_NODE,
        Some(Locality::Rack) => abi::CAPSCHED_LOCALITY_RACK,
        Some(Locality::Any) => abi::CAPSCHED_LOCALITY_ANY,
    }
}

/// The amounts of a vector.
pub(crate) fn amounts(size: &ResourceVector) -> [i64; CAPSCHED_TYPES] {
    std::array::from_fn(|i| size[i])
}

/// A vector from a caller's amounts.
pub(crate) fn vector(amounts: &[i64; CAPSCHED_TYPES]) -> ResourceVector {
    ResourceVector::of(amounts)
}

/// Refuses flags that are unknown here.
///
/// # Errors
///
/// When there is another bit than the known ones.
pub(crate) fn known_flags(flags: u32, known: u32) -> Answer {
    if flags & !known == 0 {
        return Ok(());
    }
    Err(Fault::invalid(
        "flags",
        format_args!("{flags:#x} has unknown bits"),
    ))
}

/// An id from a caller's numbers.
///
/// # Errors
///
/// When the attempt is 0.
pub(crate) fn container_id(key: ContainerKey) -> Answer<ContainerId> {
    if key.attempt == 0 {
        return Err(Fault::invalid("attempt", "attempts count from 1"));
    }
    let app = ApplicationId::new(key.app);
    Ok(ContainerId {
        attempt: key.attempt,
        ..ContainerId::new(app, key.container)
    })
}

impl FlatRecord {
    fn of(kind: u32) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    pub(crate) fn about(kind: u32, container: ContainerId) -> Self {
        Self {
            app: container.app.sequence,
            attempt: container.attempt,
            container: container.number,
            ..Self::of(kind)
        }
    }

    /// Of an application as a whole.
    pub(crate) fn about_app(kind: u32, app: ApplicationId) -> Self {
        Self {
            app: app.sequence,
            ..Self::of(kind)
        }
    }

    fn sized(self, size: &ResourceVector) -> Self {
        Self {
            amounts: amounts(size),
            ..self
        }
    }

    fn keyed(self, key: SchedulerKey) -> Self {
        Self {
            priority: key.priority,
            request_id: key.request_id,
            related: key.increases().unwrap_or(0),
            ..self
        }
    }

    fn changed(self, kind: UpdateKind, version: Option<u32>) -> Self {
        let versioned = set(version.is_some(), abi::CAPSCHED_FLAG_VERSION);
        Self {
            update: update_number(kind),
            version: version.unwrap_or(0),
            flags: self.flags | versioned,
            ..self
        }
    }

    fn refused(self, error: &UpdateError) -> Self {
        let reason = number_of(&REFUSALS, error.refusal.name());
        let kind = error.update.change.kind();
        Self { reason, ..self }.changed(kind, error.version)
    }

    fn because(self, cause: EndCause) -> Self {
        let status = cause.exit_status();
        Self {
            reason: cause_number(cause),
            exit_status: status.unwrap_or(0),
            flags: set(status.is_some(), abi::CAPSCHED_FLAG_EXIT_STATUS),
            ..self
        }
    }
}

const fn set(flag: bool, bit: u32) -> u32 {
    if flag { bit } else { 0 }
}

/// An event.
pub(crate) fn event(held: &Held, event: &Event) -> FlatRecord {
    match event {
        Event::Allocated { .. } | Event::Reserved { .. } => placed(held, event),
        Event::Unreserved {
            container,
            node,
            size,
            reason,
        } => FlatRecord {
            node: held.nodes.number(node),
            reason: unreserve_number(*reason),
            ..FlatRecord::about(abi::CAPSCHED_UNRESERVED, *container).sized(size)
        },
        Event::ReservationMoved {
            container,
            from,
            to,
            size,
        } => FlatRecord {
            node: held.nodes.number(to),
            node_before: held.nodes.number(from),
            ..FlatRecord::about(abi::CAPSCHED_RESERVATION_MOVED, *container).sized(size)
        },
        Event::Ended {
            container,
            node,
            size,
            ending: _,
            cause,
        } => FlatRecord {
            node: held.nodes.number(node),
            ..FlatRecord::about(abi::CAPSCHED_ENDED, *container).sized(size)
        }
        .because(*cause),
        Event::Updated {
            container,
            node,
            kind,
            size,
            charged,
            version,
            auxiliary,
        } => FlatRecord {
            node: held.nodes.number(node),
            related: auxiliary.id.number,
            flags: set(charged.is_none(), abi::CAPSCHED_FLAG_OPPORTUNISTIC),
            ..FlatRecord::about(abi::CAPSCHED_UPDATED, *container).sized(size)
        }
        .changed(*kind, Some(*version)),
        Event::Gang(gang) => gang_event(held, gang),
        Event::Opportunistic(of) => opportunistic_event(held, of),
        of_app => event_of_app(held, of_app),
    }
}

fn gang_event(held: &Held, gang: &GangEvent) -> FlatRecord {
    let of = |kind: u32| FlatRecord {
        priority: gang.priority,
        request_id: gang.request_id,
        members: gang.members,
        ..FlatRecord::about_app(kind, gang.app)
    };
    match &gang.step {
        GangStep::Placed { waited_ms } => FlatRecord {
            time_ms: *waited_ms,
            ..of(abi::CAPSCHED_GANG_PLACED)
        },
        GangStep::Holds { nodes, until_ms } => FlatRecord {
            count: u32::try_from(*nodes).unwrap_or(u32::MAX),
            time_ms: *until_ms,
            ..of(abi::CAPSCHED_GANG_HOLDS)
        },
        GangStep::Expired { wait } => FlatRecord {
            reason: number_of(&WAITS, wait.word()),
            count: match wait {
                GangWait::Room { found } | GangWait::Cluster { found } => *found,
                _ => 0,
            },
            queue: match wait {
                GangWait::QueueLimit { queue } => held.queues.number(queue),
                _ => 0,
            },
            ..of(abi::CAPSCHED_GANG_EXPIRED)
        },
        // A step of a later version of the engine.
        _ => FlatRecord::default(),
    }
}

fn opportunistic_event(held: &Held, of: &OpportunisticEvent) -> FlatRecord {
    let kind = match of.step {
        OpportunisticStep::Queued => abi::CAPSCHED_OPPORTUNISTIC_QUEUED,
        OpportunisticStep::Started => abi::CAPSCHED_OPPORTUNISTIC_STARTED,
        // A step of a later version of the engine.
        _ => return FlatRecord::default(),
    };
    FlatRecord {
        node: held.nodes.number(&of.node),
        priority: of.priority,
        request_id: of.request_id,
        flags: abi::CAPSCHED_FLAG_OPPORTUNISTIC,
        ..FlatRecord::about(kind, of.container).sized(&of.size)
    }
}

fn event_of_app(held: &Held, event: &Event) -> FlatRecord {
    match event {
        Event::Rejected {
            app,
            node,
            size,
            kind,
            again,
            conflict,
        } => FlatRecord {
            node: held.nodes.number(node),
            reason: conflict_number(*conflict),
            flags: set(*again, abi::CAPSCHED_FLAG_AGAIN)
                | set(*kind == ProposalKind::Reserve, abi::CAPSCHED_FLAG_RESERVES),
            ..FlatRecord::about_app(abi::CAPSCHED_REJECTED, *app).sized(size)
        },
        Event::MasterStarted { app, container } => container.map_or_else(
            || FlatRecord::about_app(abi::CAPSCHED_MASTER_STARTED, *app),
            |container| FlatRecord::about(abi::CAPSCHED_MASTER_STARTED, container),
        ),
        Event::MasterLost { app } => FlatRecord::about_app(abi::CAPSCHED_MASTER_LOST, *app),
        Event::AttemptEnded { app, attempt } => FlatRecord {
            attempt: *attempt,
            ..FlatRecord::about_app(abi::CAPSCHED_ATTEMPT_ENDED, *app)
        },
        Event::AppEnded { app, cause } => FlatRecord {
            reason: app_end_number(*cause),
            ..FlatRecord::about_app(abi::CAPSCHED_APP_ENDED, *app)
        },
        // Those about containers: `event` has them.
        _ => FlatRecord::default(),
    }
}

fn placed(held: &Held, event: &Event) -> FlatRecord {
    match event {
        Event::Allocated {
            container,
            node,
            size,
            queue,
            key,
            locality,
            requested,
            partition,
            borrowed,
            from_reservation,
        } => FlatRecord {
            node: held.nodes.number(node),
            queue: held.queues.number(queue),
            locality: locality_number(Some(*locality)),
            requested: locality_number(*requested),
            partition: u32::from(partition.0),
            flags: set(*borrowed, abi::CAPSCHED_FLAG_BORROWED)
                | set(*from_reservation, abi::CAPSCHED_FLAG_FROM_RESERVATION),
            ..FlatRecord::about(abi::CAPSCHED_ALLOCATED, *container)
                .sized(size)
                .keyed(*key)
        },
        Event::Reserved {
            container,
            node,
            size,
            key,
            locality,
            requested,
            partition,
            borrowed,
            again,
        } => FlatRecord {
            node: held.nodes.number(node),
            locality: locality_number(Some(*locality)),
            requested: locality_number(*requested),
            partition: u32::from(partition.0),
            flags: set(*borrowed, abi::CAPSCHED_FLAG_BORROWED)
                | set(*again, abi::CAPSCHED_FLAG_AGAIN),
            ..FlatRecord::about(abi::CAPSCHED_RESERVED, *container)
                .sized(size)
                .keyed(*key)
        },
        _ => FlatRecord::default(),
    }
}

/// The records of a reply to an application's call; `app` is the one that called.
pub(crate) fn ask_reply(held: &Held, app: u32, reply: &AskReply) -> Vec<FlatRecord> {
    let own = |kind: u32, container: u32| FlatRecord {
        app,
        container,
        ..FlatRecord::of(kind)
    };
    let granted = reply.allocated.iter().map(|one| FlatRecord {
        node: held.nodes.number(&one.node),
        priority: one.priority,
        request_id: one.request_id,
        flags: set(one.opportunistic, abi::CAPSCHED_FLAG_OPPORTUNISTIC),
        ..FlatRecord::about(abi::CAPSCHED_GRANTED, one.container).sized(&one.size)
    });
    let ends = reply
        .finished
        .iter()
        .map(|one| own(abi::CAPSCHED_FINISHED, one.number).because(one.cause));
    let back = reply
        .asked_back
        .iter()
        .map(|&number| own(abi::CAPSCHED_ASKED_BACK, number));
    let unknown = reply
        .unknown
        .iter()
        .map(|&number| own(abi::CAPSCHED_NOT_LIVE, number));
    let changed = reply.updated.iter().map(|one| changed(held, one));
    let refused = reply
        .update_errors
        .iter()
        .map(|error| own(abi::CAPSCHED_CHANGE_REFUSED, error.update.container).refused(error));
    granted
        .chain(ends)
        .chain(back)
        .chain(unknown)
        .chain(changed)
        .chain(refused)
        .collect()
}

fn changed(held: &Held, one: &UpdatedContainer) -> FlatRecord {
    FlatRecord {
        node: held.nodes.number(&one.node),
        ..FlatRecord::about(abi::CAPSCHED_CHANGED, one.container).sized(&one.size)
    }
    .changed(one.kind, Some(one.version))
}

fn listed(kind: u32, containers: &[ContainerId]) -> impl Iterator<Item = FlatRecord> {
    containers
        .iter()
        .map(move |&container| FlatRecord::about(kind, container))
}

/// The records of a reply to a node's report.
pub(crate) fn heartbeat_reply(reply: &HeartbeatReply) -> Vec<FlatRecord> {
    let launched = listed(abi::CAPSCHED_LAUNCHED, &reply.launched);
    let exited = listed(abi::CAPSCHED_EXITED, &reply.exited);
    let to_stop = listed(abi::CAPSCHED_TO_STOP, &reply.to_stop);
    let unknown = listed(abi::CAPSCHED_NOT_KNOWN, &reply.unknown);
    launched
        .chain(exited)
        .chain(to_stop)
        .chain(unknown)
        .collect()
}

/// The records of what was recovered.
pub(crate) fn recovered(recovered: &Recovered) -> Vec<FlatRecord> {
    let taken = listed(abi::CAPSCHED_TAKEN, &recovered.taken);
    let to_stop = listed(abi::CAPSCHED_TO_STOP, &recovered.to_stop);
    let waiting = listed(abi::CAPSCHED_WAITING, &recovered.waiting);
    taken.chain(to_stop).chain(waiting).collect()
}

/// The records of a list of containers.
pub(crate) fn containers(kind: u32, containers: &[ContainerId]) -> Vec<FlatRecord> {
    listed(kind, containers).collect()
}
