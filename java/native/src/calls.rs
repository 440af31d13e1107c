//! The calls of Java on an engine, by number: what each reads, and what it answers.
//!
//! The numbers are those of `org.capsched.yarn.NativeEngine`.

use std::time::Duration;

use capsched::api::{AppStage, Awaited, QueueView, RefreshRefusal, SubmitAsError};
use capsched::config::{Caller, Severity};

use crate::configuration::{Files, lines};
use crate::events;
use crate::records::{
    application, ask_call, container, node, node_name, report, running, submission,
    write_container, write_reply,
};
use crate::sessions::Session;
use crate::wire::{Malformed, Reader, Writer};

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Ends the engine.
    Stop,
    /// Takes over another configuration: [`Files`]; answers warnings.
    Refresh,
    /// Registers a node with what it runs; answers what was taken over and what is to be stopped.
    RegisterNode,
    /// Removes a lost node.
    RemoveNode,
    /// Changes the total and the partition of a node.
    UpdateNode,
    /// A node reports, and is scheduled in heartbeat mode.
    Heartbeat,
    /// Submits an application in the name of a user; answers the queue.
    Submit,
    /// Takes over an application or starts another attempt of it.
    Recover,
    /// Ends an application.
    FinishApp,
    /// One call of an application.
    Ask,
    /// A container ended by itself; answers whether it was live.
    ContainerFinished,
    /// Kills a container; answers whether it was live.
    KillContainer,
    /// Takes the decisions since the last time.
    Events,
    /// Waits for decisions, in ms at most; answers whether the engine runs.
    AwaitEvents,
    /// The paths of all queues.
    Queues,
    /// One queue.
    Queue,
    /// Changes the priority of an application; answers the effective one.
    ChangePriority,
    /// Moves an application to another queue.
    MoveApp,
    /// A container ended by itself with an exit status; answers whether it was live.
    ContainerExited,
    /// Ends an attempt; the application keeps what it was submitted to keep.
    EndAttempt,
    /// Starts the next attempt of an application; answers its number.
    StartAttempt,
}

impl Call {
    const ALL: [Self; 21] = [
        Self::Stop,
        Self::Refresh,
        Self::RegisterNode,
        Self::RemoveNode,
        Self::UpdateNode,
        Self::Heartbeat,
        Self::Submit,
        Self::Recover,
        Self::FinishApp,
        Self::Ask,
        Self::ContainerFinished,
        Self::KillContainer,
        Self::Events,
        Self::AwaitEvents,
        Self::Queues,
        Self::Queue,
        Self::ChangePriority,
        Self::MoveApp,
        Self::ContainerExited,
        Self::EndAttempt,
        Self::StartAttempt,
    ];

    /// The call of a number.
    #[must_use]
    pub fn of(number: i32) -> Option<Self> {
        let number = usize::try_from(number).ok()?;
        Self::ALL.get(number).copied()
    }
}

/// Why a call was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    code: &'static str,
    text: String,
}

impl Failure {
    /// A refusal with a stable word.
    #[must_use]
    pub const fn refused(code: &'static str, text: String) -> Self {
        Self { code, text }
    }

    /// A stable word for the reason.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// The reason.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl From<Malformed> for Failure {
    fn from(error: Malformed) -> Self {
        Self::refused("request", error.to_string())
    }
}

/// Makes a failure of an error of the engine.
fn refusal<E: std::fmt::Display>(code: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::refused(code, error.to_string())
}

/// Carries out a call.
///
/// # Errors
///
/// When the request is malformed or the engine refuses it; nothing changed then.
pub fn carry_out(
    session: &Session,
    call: Call,
    reader: &mut Reader<'_>,
    writer: &mut Writer,
) -> Result<(), Failure> {
    match call {
        // Ended before, with its handle.
        Call::Stop => Ok(()),
        Call::Refresh => refresh(session, reader, writer),
        Call::RegisterNode | Call::RemoveNode | Call::UpdateNode | Call::Heartbeat => {
            of_node(session, call, reader, writer)
        }
        Call::Submit => submit(session, reader, writer),
        Call::Recover => recover(session, reader, writer),
        Call::Ask => ask(session, reader, writer),
        Call::FinishApp
        | Call::ChangePriority
        | Call::MoveApp
        | Call::EndAttempt
        | Call::StartAttempt => of_app(session, call, reader, writer),
        Call::ContainerFinished | Call::ContainerExited | Call::KillContainer => {
            of_container(session, call, reader, writer)
        }
        Call::Events => {
            reader.end()?;
            events::write_all(writer, &session.engine.take_events(), session.types);
            Ok(())
        }
        Call::AwaitEvents => await_events(session, reader, writer),
        Call::Queues => queues(session, reader, writer),
        Call::Queue => queue(session, reader, writer),
    }
}

fn refresh(session: &Session, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Failure> {
    let files = Files::read(reader)?;
    reader.end()?;
    let refreshed = session
        .engine
        .refresh(files.sources(), &session.options, &files.daemon, None);
    let loaded = refreshed.map_err(|refusal| {
        let text = match &refusal {
            RefreshRefusal::Configuration(report) => lines(report, Severity::Error).join("\n"),
            other => other.to_string(),
        };
        Failure::refused("refresh", text)
    })?;
    let warnings = lines(&loaded.report, Severity::Warning);
    writer.list(&warnings, |writer, warning| writer.text(warning));
    Ok(())
}

fn of_node(
    session: &Session,
    call: Call,
    reader: &mut Reader<'_>,
    writer: &mut Writer,
) -> Result<(), Failure> {
    let engine = &session.engine;
    match call {
        Call::RegisterNode => {
            let spec = node(reader)?;
            let containers = reader.list(running)?;
            reader.end()?;
            let recovered = engine.register_node(spec, containers);
            let recovered = recovered.map_err(refusal("node"))?;
            writer.list(&recovered.taken, write_container);
            // Applications are recovered before nodes: what waits for one has none.
            let orphans: Vec<_> = recovered.to_stop.iter().chain(&recovered.waiting).collect();
            writer.list(&orphans, |writer, id| write_container(writer, id));
        }
        Call::RemoveNode => {
            let name = node_name(reader)?;
            reader.end()?;
            engine.remove_node(name).map_err(refusal("node"))?;
        }
        Call::UpdateNode => {
            let spec = node(reader)?;
            reader.end()?;
            engine.update_node(spec).map_err(refusal("node"))?;
        }
        _ => {
            let (name, report) = (node_name(reader)?, report(reader)?);
            reader.end()?;
            engine.heartbeat(name, report).map_err(refusal("node"))?;
        }
    }
    Ok(())
}

fn submit(session: &Session, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Failure> {
    let spec = submission(reader)?;
    let groups = reader.list(Reader::text)?;
    reader.end()?;
    let user = spec.user.clone();
    let caller = Caller {
        user: &user,
        groups: &groups,
        real_user: None,
    };
    // Rules ask about the user who submits.
    let found = |name: &str| {
        if name == user {
            groups.clone()
        } else {
            Vec::new()
        }
    };
    let submitted = session.engine.submit_as(caller, found, spec);
    let submitted = submitted.map_err(|error| {
        let code = match &error {
            SubmitAsError::Refused(refusal) => refusal.code(),
            _ => "submission",
        };
        Failure::refused(code, error.to_string())
    })?;
    writer.text(&submitted.queue);
    writer.flag(submitted.stage == AppStage::Active);
    Ok(())
}

fn recover(session: &Session, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Failure> {
    let spec = submission(reader)?;
    let attempt = reader.count()?;
    let master = reader.optional(Reader::count)?;
    reader.end()?;
    let id = spec.id;
    let recovered = session.engine.recover_app(spec, attempt, master);
    recovered.map_err(refusal("submission"))?;
    let view = session.engine.app(id).map_err(refusal("closed"))?;
    writer.text(view.as_ref().map_or("", |view| &view.queue));
    Ok(())
}

fn ask(session: &Session, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Failure> {
    let (app, call) = (application(reader)?, ask_call(reader)?);
    reader.end()?;
    let reply = session.engine.ask(app, call);
    let reply = reply.map_err(|error| Failure::refused(error.code(), error.to_string()))?;
    write_reply(writer, &reply, session.types);
    Ok(())
}

fn of_app(
    session: &Session,
    call: Call,
    reader: &mut Reader<'_>,
    writer: &mut Writer,
) -> Result<(), Failure> {
    let app = application(reader)?;
    let engine = &session.engine;
    match call {
        Call::EndAttempt => {
            reader.end()?;
            let ended = engine.end_attempt(app);
            ended.map_err(|error| Failure::refused(error.code(), error.to_string()))?;
        }
        Call::StartAttempt => {
            reader.end()?;
            let started = engine.start_attempt(app);
            writer.int(started.map_err(|error| Failure::refused(error.code(), error.to_string()))?);
        }
        Call::FinishApp => {
            reader.end()?;
            engine.finish_app(app).map_err(refusal("application"))?;
        }
        Call::ChangePriority => {
            let priority = reader.int()?;
            reader.end()?;
            let effective = engine.change_priority(app, priority);
            writer.signed(effective.map_err(refusal("application"))?);
        }
        _ => {
            let queue = reader.text()?;
            reader.end()?;
            engine
                .move_app(app, queue)
                .map_err(refusal("application"))?;
            let view = engine.app(app).map_err(refusal("closed"))?;
            writer.text(view.as_ref().map_or("", |view| &view.queue));
        }
    }
    Ok(())
}

fn of_container(
    session: &Session,
    call: Call,
    reader: &mut Reader<'_>,
    writer: &mut Writer,
) -> Result<(), Failure> {
    let id = container(reader)?;
    let exited = call == Call::ContainerExited;
    let status = if exited { reader.int()? } else { 0 };
    reader.end()?;
    let live = if exited || call == Call::ContainerFinished {
        session.engine.container_exited(id, status)
    } else {
        let killed = session.engine.kill_container(id);
        killed.map_err(refusal("closed"))?
    };
    writer.flag(live);
    Ok(())
}

fn await_events(
    session: &Session,
    reader: &mut Reader<'_>,
    writer: &mut Writer,
) -> Result<(), Failure> {
    let patience = Duration::from_millis(reader.natural()?);
    reader.end()?;
    let awaited = session.engine.look_for_events(patience);
    writer.flag(awaited != Awaited::Ended);
    Ok(())
}

fn queues(session: &Session, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Failure> {
    reader.end()?;
    let paths = session.engine.inspect(|ledger| {
        let live = ledger.state().queues.iter().filter(|queue| !queue.removed);
        live.map(|queue| queue.settings.path.clone())
            .collect::<Vec<_>>()
    });
    let paths = paths.map_err(refusal("closed"))?;
    writer.list(&paths, |writer, path| writer.text(path));
    Ok(())
}

/// Whether there is the queue; then its path, whether it is a leaf, whether it runs, its figures on the default
/// partition, and how many applications it has.
fn queue(session: &Session, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Failure> {
    let name = reader.text()?;
    reader.end()?;
    let view = session.engine.queue(&name).map_err(refusal("closed"))?;
    writer.flag(view.is_some());
    if let Some(view) = view {
        write_queue(writer, &view);
    }
    Ok(())
}

fn write_queue(writer: &mut Writer, view: &QueueView) {
    writer.text(&view.path);
    writer.flag(view.leaf.is_some());
    writer.text(view.state.unwrap_or("RUNNING"));
    let figures = view.labels.get("");
    let fraction = |of: fn(&capsched::api::PartitionView) -> f32| figures.map_or(0.0, of);
    writer.fraction(fraction(|figures| figures.cap.0));
    writer.fraction(fraction(|figures| figures.max_cap.0));
    writer.fraction(fraction(|figures| figures.abs_cap.0));
    writer.fraction(fraction(|figures| figures.abs_max_cap.0));
    writer.fraction(fraction(|figures| figures.used_cap.0));
    let pending = figures.and_then(|figures| figures.pending.clone());
    writer.list(&pending.unwrap_or_default(), |writer, amount| {
        writer.long(*amount)
    });
    let largest = view.leaf.as_ref().map(|leaf| leaf.max_alloc.clone());
    writer.list(&largest.unwrap_or_default(), |writer, amount| {
        writer.long(*amount)
    });
    let apps = view
        .leaf
        .as_ref()
        .map_or(0, |leaf| leaf.active_apps + leaf.pending_apps);
    writer.int(u32::try_from(apps).unwrap_or(u32::MAX));
}
