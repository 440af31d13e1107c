//! `capsched snapshot`: a moment of a run in a file, replayed later, or made into a test.

mod save;
mod to_test;

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::api::{ApplicationId, Event, NextStep, Scheduler as _, Stepped, next_steps};
use capsched::config::Loaded;
use capsched::simulator::journal::{SnapshotError, StateSnapshot};
use serde_json::{Value, json};

use crate::output::{Problem, line, put};
use crate::play::{grouped, virtual_time};
use crate::why::Jobs;

pub(crate) use save::shown as shown_settings;

/// Subcommands of `capsched snapshot`.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    /// Save a moment of a recorded run, or a server as it is now: configuration and calls, without secrets.
    Save(save::SaveArgs),
    /// Load a snapshot and go on from it: what is decided next, and why an application waits.
    Replay(ReplayArgs),
    /// Write a test in Rust that builds the state and expects what the snapshot shows.
    ToTest(to_test::ToTestArgs),
}

/// Arguments of `capsched snapshot replay`.
#[derive(clap::Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The snapshot.
    #[arg(value_name = "SNAPSHOT")]
    file: PathBuf,
    /// Explain this application before and after.
    #[arg(long, value_name = "APP")]
    why: Option<String>,
    /// Rounds to go on: in heartbeat mode each lets every node report once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    cycles: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Save(args) => save::save(args),
        Command::Replay(args) => replay(args),
        Command::ToTest(args) => to_test::to_test(args),
    }
}

/// Reads a snapshot.
pub(crate) fn read(path: &Path) -> Result<StateSnapshot> {
    let shown = path.display();
    // Before it is opened: nobody may ever write into a pipe.
    let data = std::fs::metadata(path).with_context(|| shown.to_string())?;
    if !data.is_file() {
        bail!("{shown}: not a regular file");
    }
    let file = File::open(path).with_context(|| shown.to_string())?;
    StateSnapshot::read(file).map_err(|error| refused(path, &error))
}

/// A snapshot that cannot be used.
pub(crate) fn refused(path: &Path, error: &SnapshotError) -> anyhow::Error {
    let mut place = path.display().to_string();
    if let Some((line, column)) = error.place() {
        let _ = write!(place, ":{line}");
        let _ = column.map(|column| write!(place, ":{column}"));
    }
    let problem = format!("{place}: {error}");
    match error {
        SnapshotError::Io(_) => anyhow::anyhow!("{problem}"),
        _ => anyhow::Error::new(Problem(problem)),
    }
}

/// The number of an application in a snapshot, which has no names of jobs.
pub(crate) fn application(text: &str) -> Result<ApplicationId> {
    let named = || text.parse().ok().map(|app: ApplicationId| app.sequence);
    let number = text.parse().ok().or_else(named);
    let number = number.ok_or_else(|| {
        let shown = text.escape_debug();
        let problem = format!("{shown} is no application; name it by its number, such as 17");
        anyhow::Error::new(Problem(problem))
    })?;
    Ok(ApplicationId::new(number))
}

/// Refuses an application that no call of a snapshot submits.
pub(super) fn known(app: ApplicationId, snapshot: &StateSnapshot, path: &Path) -> Result<()> {
    let jobs = Jobs::of_calls(&snapshot.calls);
    let found = jobs.find(&app.to_string());
    found
        .map(|_| ())
        .with_context(|| path.display().to_string())
}

/// An engine in the state of a snapshot, with its configuration.
pub(crate) fn loaded(path: &Path, snapshot: &StateSnapshot) -> Result<(Stepped, Loaded)> {
    let of = |error: SnapshotError| refused(path, &error);
    let mut engine = snapshot.head.engine().map_err(of)?;
    snapshot.replay(&mut engine).map_err(of)?;
    let mut events = Vec::new();
    engine.events(&mut events);
    Ok((engine, snapshot.head.loaded().map_err(of)?))
}

/// What is found of an application at one time.
fn found(engine: &Stepped, app: ApplicationId, loaded: &Loaded) -> (String, Vec<NextStep>) {
    let Some(why) = engine.explain(app) else {
        return (format!("{app} waits for nothing"), Vec::new());
    };
    let steps = next_steps(engine, &why, loaded);
    let said = why.dominant().map_or_else(String::new, |found| {
        format!(
            "{app} waits for {} container{}: {}: {}",
            why.containers(),
            if why.containers() == 1 { "" } else { "s" },
            found.reason,
            found.detail
        )
    });
    (said, steps)
}

/// What a snapshot goes on with.
struct Replayed {
    before: Option<(String, Vec<NextStep>)>,
    after: Option<(String, Vec<NextStep>)>,
    events: Vec<Event>,
}

/// Runs `capsched snapshot replay`.
fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    let snapshot = read(&args.file)?;
    let (mut engine, loaded) = loaded(&args.file, &snapshot)?;
    let app = args.why.as_deref().map(application).transpose()?;
    if let Some(app) = app {
        known(app, &snapshot, &args.file)?;
    }
    let before = app.map(|app| found(&engine, app, &loaded));
    for _ in 0..args.cycles {
        engine.tick();
    }
    let mut events = Vec::new();
    engine.events(&mut events);
    let replayed = Replayed {
        before,
        after: app.map(|app| found(&engine, app, &loaded)),
        events,
    };
    if args.json {
        line(replayed.to_json(&snapshot, args.cycles));
    } else {
        put(&replayed.text(&snapshot, args.cycles));
    }
    Ok(ExitCode::SUCCESS)
}

impl Replayed {
    fn to_json(&self, snapshot: &StateSnapshot, cycles: u32) -> Value {
        let why = |found: &Option<(String, Vec<NextStep>)>| found.as_ref().map(as_json);
        json!({
            "version": 1,
            "left_out": snapshot.head.left_out,
            "at_ms": snapshot.head.at_ms,
            "mode": snapshot.head.mode,
            "calls": snapshot.calls.len(),
            "cycles": cycles,
            "decisions": self.events.iter().map(said).collect::<Vec<String>>(),
            "before": why(&self.before),
            "after": why(&self.after),
        })
    }

    fn text(&self, snapshot: &StateSnapshot, cycles: u32) -> String {
        let calls = grouped(snapshot.calls.len().try_into().unwrap_or(0));
        let when = virtual_time(snapshot.head.at_ms);
        let mode = &snapshot.head.mode;
        let mut out = if snapshot.head.recovers {
            format!("{mode} mode, the state of a server taken over by {calls} calls\n")
        } else {
            format!("{mode} mode at {when}, after {calls} calls\n")
        };
        out.push_str(&save::left_out(&snapshot.head));
        for (when, what) in [("then", &self.before), ("after", &self.after)] {
            if let Some((said, steps)) = what {
                let _ = writeln!(out, "{when:<6} {said}");
                for step in steps {
                    let _ = writeln!(out, "       would help: {}", step.what);
                }
            }
        }
        let count = self.events.len();
        let _ = writeln!(out, "decisions of the next {cycles} rounds: {count}");
        for event in self.events.iter().take(SHOWN) {
            let _ = writeln!(out, "  {}", said(event));
        }
        if count > SHOWN {
            let _ = writeln!(out, "  and {} more; --json has all", count - SHOWN);
        }
        out
    }
}

/// Decisions that are shown.
const SHOWN: usize = 20;

fn as_json((said, steps): &(String, Vec<NextStep>)) -> Value {
    let steps: Vec<&str> = steps.iter().map(|step| step.what.as_str()).collect();
    json!({"why": said, "would_help": steps})
}

/// A decision in one line.
fn said(event: &Event) -> String {
    match event {
        Event::Allocated {
            container, node, ..
        } => format!("{container} on {node}"),
        Event::Reserved {
            container, node, ..
        } => format!("{container} reserves {node}"),
        Event::ReservationMoved { container, to, .. } => format!("{container} reserves {to}"),
        Event::Ended { container, .. } | Event::Unreserved { container, .. } => {
            format!("{container} ends")
        }
        Event::MasterStarted { app, .. } => format!("{app} starts"),
        other => format!("{other:?}"),
    }
}
