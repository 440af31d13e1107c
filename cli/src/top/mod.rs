//! `capsched top`: a run in the terminal, moment by moment, read-only.

#[cfg(feature = "top")]
mod keys;
#[cfg(feature = "top")]
mod model;
#[cfg(feature = "top")]
mod screen;
#[cfg(feature = "top")]
mod view;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use capsched::api::ModeKind;
use capsched::metrics::TaggedInterval;

use crate::live::{self, LiveServer, ServerArgs, is_address};
use crate::moments::{Film, Recording};
use crate::output::line;
use crate::recipe::Staged;
use crate::report::log;
use crate::values::virtual_ms;
use crate::why::{Jobs, Source, Stage, newest_run};

/// Arguments of `capsched top`.
///
/// A recorded run is repeated while it is shown, and a server is looked at once a second; nothing is changed. Keys: q queues, a applications, n nodes,
/// e events, s scheduler; left and right move in time, space plays, / filters, Enter says why an
/// application waits, p changes the partition, ? lists all keys, x ends.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder of a run (`replay --out`, or one column of `compare --out`), a snapshot, or the address of a server
    /// such as `http://127.0.0.1:8088`; the newest run below `runs` when left out.
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    /// The moment that is shown first, in virtual time such as 1500ms, 90s or 2h; with --print and --json
    /// the end when left out.
    #[arg(long, value_name = "TIME", value_parser = virtual_ms)]
    at: Option<u64>,
    /// Print one picture of 80 columns and 24 lines and end.
    #[arg(long, conflicts_with = "json")]
    print: bool,
    /// Print the moment as one JSON object, as docs/reference/json.md describes it, and end.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Where moments come from.
#[derive(Debug)]
pub(crate) enum Scenes {
    /// A run that is repeated.
    Run(Box<Stage>),
    /// A server that is looked at.
    Server(Box<LiveServer>),
}

/// What is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    /// What stands in the first line.
    pub(crate) title: String,
    /// What repeats the run, or the server.
    pub(crate) scenes: Scenes,
    /// Its jobs, where they are known.
    pub(crate) jobs: Option<Jobs>,
    /// The log of its latencies; empty where none was measured.
    pub(crate) latencies: Vec<TaggedInterval>,
}

/// What the screen shows of a run beside its moments.
#[derive(Clone, Copy, Debug)]
struct About<'a> {
    title: &'a str,
    jobs: Option<&'a Jobs>,
    latencies: &'a [TaggedInterval],
}

impl Shown {
    fn about(&self) -> About<'_> {
        About {
            title: &self.title,
            jobs: self.jobs.as_ref(),
            latencies: &self.latencies,
        }
    }

    /// Opens a recorded run or a snapshot.
    fn open(path: &Path) -> Result<Self> {
        let source = Source::open(path)?;
        let jobs = source.jobs()?;
        let (title, latencies) = match &source {
            Source::Run(recorded) => {
                let name = recorded.about["result"]["name"].as_str();
                let measured = recorded.path.join("latency.hlog");
                (name.unwrap_or("run").to_owned(), log(&measured)?)
            }
            Source::Snapshot(..) => ("snapshot".to_owned(), Vec::new()),
        };
        Ok(Self {
            title,
            scenes: Scenes::Run(Box::new(source.stage()?)),
            jobs: Some(jobs),
            latencies,
        })
    }

    /// A server, of which nothing is asked yet.
    fn of_server(server: LiveServer) -> Self {
        Self {
            title: server.address().to_owned(),
            scenes: Scenes::Server(Box::new(server)),
            jobs: None,
            latencies: Vec::new(),
        }
    }

    /// The demonstration in one mode.
    pub(crate) fn of_demo(mode: ModeKind, staged: Staged) -> Self {
        Self {
            title: format!("demo {}", mode.name()),
            scenes: Scenes::Run(Box::new(Stage::Run(Box::new(staged)))),
            jobs: None,
            latencies: Vec::new(),
        }
    }

    /// Plays the run into a film, up to a moment or to the end; of a server, the moment that is now.
    fn record(&self, film: &Film, until_ms: Option<u64>) -> Result<()> {
        match &self.scenes {
            Scenes::Run(stage) => {
                let mut recording = Recording::new(film);
                stage.observe(until_ms, &mut recording, |_, _| ())
            }
            Scenes::Server(server) => {
                film.push(live::moment(server, 0)?);
                Ok(())
            }
        }
    }
}

/// Runs `capsched top`.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let shown = shown(args)?;
    if !args.print && !args.json {
        return watch(&shown, args.at);
    }
    let film = Film::default();
    match &shown.scenes {
        // A picture counts its time from the server's start, a document from the Unix epoch.
        Scenes::Server(server) if args.print => {
            film.push(live::moment(server, live::first(server)?)?);
        }
        Scenes::Server(_) | Scenes::Run(_) => shown.record(&film, args.at)?,
    }
    let at_ms = args.at.unwrap_or(u64::MAX);
    if args.json {
        let moment = film.at(at_ms);
        line(moment.map_or(serde_json::Value::Null, |now| now.to_json()));
    } else {
        print(&shown, &film, at_ms)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the arguments name.
fn shown(args: &Args) -> Result<Shown> {
    let address = args.run.as_ref().and_then(|run| run.to_str());
    if let Some(address) = address.filter(|run| is_address(run)) {
        if args.at.is_some() {
            bail!("--at is a moment of a recorded run; a server shows what is now");
        }
        return Ok(Shown::of_server(LiveServer::open(address, &args.server)?));
    }
    args.server.refuse()?;
    match &args.run {
        Some(path) => Shown::open(path),
        None => Shown::open(&newest_run(Path::new("runs"))?),
    }
}

/// Shows a run in the terminal while it is played.
#[cfg(feature = "top")]
pub(crate) fn watch(shown: &Shown, at_ms: Option<u64>) -> Result<ExitCode> {
    screen::run(shown, at_ms)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the picture of a moment.
#[cfg(feature = "top")]
fn print(shown: &Shown, film: &Film, at_ms: u64) -> Result<()> {
    let mut model = model::Model::new(shown.about(), film);
    model.go_to(at_ms);
    crate::output::put(&view::picture(&model)?);
    Ok(())
}

/// What a build without screens answers.
#[cfg(not(feature = "top"))]
const NO_SCREENS: &str = "this build has no terminal screens; build it with `--features top`, as in \
`cargo run --release --features top -- demo --top`; `capsched top RUN --json` works without";

#[cfg(not(feature = "top"))]
pub(crate) fn watch(_: &Shown, _: Option<u64>) -> Result<ExitCode> {
    bail!(NO_SCREENS)
}

#[cfg(not(feature = "top"))]
fn print(_: &Shown, _: &Film, _: u64) -> Result<()> {
    bail!(NO_SCREENS)
}
