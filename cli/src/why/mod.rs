//! `capsched why` and `why-not`: why applications of a recorded run wait or waited, or those of a server.
//!
//! A run is repeated from the inputs that it was recorded with, up to the moment that is asked for,
//! and the engine's state is explained there. A server explains its own state.

mod followed;
mod groups;
mod jobs;
mod json;
mod preempted;
mod served;
mod shown;
mod shown_rounds;
mod source;
mod summed;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use capsched::api::{
    ApplicationId, Explanation, NextStep, Stepped, Taken, next_steps, why_not as conditions,
};

use crate::live::{ServerArgs, is_address};
use crate::output::{PROBLEM, Problem, line, put};
use crate::play::{Origin, virtual_time};
use crate::values::virtual_ms;
use followed::{Course, Followed};
use groups::{GroupBy, Groups};

pub(crate) use jobs::{Job, Jobs};
#[cfg(feature = "top")]
pub(crate) use served::text as text_of_server;
pub(crate) use source::{Source, Stage};

/// Arguments of `capsched why`.
///
/// Without APP every application that waits is listed. An application that ended is explained by a
/// timeline of what it waited for.
#[derive(clap::Args, Debug)]
#[command(override_usage = "capsched why [RUN] [APP] [OPTIONS]")]
pub(crate) struct WhyArgs {
    /// RUN is the folder of a run (`replay --out`, or one column of `compare --out`), a snapshot, or the address of a
    /// server such as `http://127.0.0.1:8088`; the newest run below `runs` when left out. APP is an application, its
    /// number, or the name of its job.
    #[arg(value_name = "RUN] [APP", num_args = 0..=2)]
    what: Vec<String>,
    /// The moment that is looked at, in virtual time such as 1500ms, 90s or 2h; the end of the run when
    /// left out.
    #[arg(long, value_name = "TIME", value_parser = virtual_ms)]
    at: Option<u64>,
    /// List what waits; also without APP.
    #[arg(long)]
    list: bool,
    /// What the list is grouped by.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    group_by: GroupBy,
    /// Print one JSON object, as docs/reference/why.md describes it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Arguments of `capsched why-not`.
#[derive(clap::Args, Debug)]
#[command(override_usage = "capsched why-not [RUN] <APP> <NODE> [OPTIONS]")]
pub(crate) struct WhyNotArgs {
    /// RUN is the folder of a run, a snapshot, or the address of a server such as `http://127.0.0.1:8088`; the newest
    /// run below `runs` when left out. APP is an application, NODE host:port, or a host that only one node has.
    #[arg(value_names = ["RUN", "APP", "NODE"], num_args = 0..=3)]
    what: Vec<String>,
    /// The moment that is looked at; the end of the run when left out.
    #[arg(long, value_name = "TIME", value_parser = virtual_ms)]
    at: Option<u64>,
    /// Print one JSON object, as docs/reference/why.md describes it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `capsched why`.
pub(crate) fn why(args: &WhyArgs) -> Result<ExitCode> {
    if let Some((first, rest)) = args.what.split_first()
        && is_address(first)
    {
        return served::why(args, first, rest);
    }
    args.server.refuse()?;
    let (run, rest) = run_and_rest(&args.what)?;
    let source = Source::open(&run)?;
    let jobs = source.jobs()?;
    match rest {
        [] => listed(args, source, &jobs),
        [_] if args.list => bail!("--list goes without an application"),
        [app] => of_app(args, source, jobs.find(app)?),
        [..] => bail!("{} is no run", args.what[0].escape_debug()),
    }
}

/// The run and what stands behind it: the first argument is a run when something has that name.
fn run_and_rest(what: &[String]) -> Result<(PathBuf, &[String])> {
    match what.split_first() {
        Some((first, rest)) if Path::new(first).exists() => Ok((first.into(), rest)),
        Some((first, _)) if first.contains(std::path::MAIN_SEPARATOR) => {
            bail!("{} is no run: nothing has that name", first.escape_debug())
        }
        Some((first, _)) => {
            let newest = newest_run(Path::new("runs"));
            let taken = || format!("nothing has the name {}", first.escape_debug());
            Ok((newest.with_context(taken)?, what))
        }
        None => Ok((newest_run(Path::new("runs"))?, what)),
    }
}

/// The whole run below a folder that was written last.
pub(crate) fn newest_run(folder: &Path) -> Result<PathBuf> {
    let written = |path: PathBuf| {
        let about = path.join("run.json").metadata().ok()?;
        Some((about.modified().ok()?, path))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let runs = entries.filter_map(|entry| written(entry.ok()?.path()));
    let newest = runs.max().map(|(_, path)| path);
    newest.ok_or_else(|| {
        anyhow::Error::msg(
            "no run is named and `runs` holds none; record one by `capsched replay ... --out runs/last`",
        )
    })
}

/// What waits, grouped.
fn listed(args: &WhyArgs, source: Source, jobs: &Jobs) -> Result<ExitCode> {
    let stage = source.stage()?;
    let all = |at_ms, engine: &Stepped| (at_ms, engine.explain_all());
    let (at_ms, found) = stage.observe(args.at, &mut (), all)?;
    let groups = Groups::of(&found, args.group_by, jobs);
    if args.json {
        line(json::list(at_ms, &found, &groups, (jobs, &stage.origin())));
    } else {
        put(&groups.table(&format!("at {}", virtual_time(at_ms))));
    }
    Ok(exit(!found.is_empty()))
}

/// Exit code 1 where work waits or was refused, as everywhere.
fn exit(problem: bool) -> ExitCode {
    if problem {
        ExitCode::from(PROBLEM)
    } else {
        ExitCode::SUCCESS
    }
}

/// What names need to be shown.
#[derive(Debug)]
struct About {
    types: Vec<Arc<str>>,
    origin: Origin,
    /// The clock of a server, before which moments are; nothing in virtual time.
    now_ms: Option<u64>,
}

/// Everything about one application.
#[derive(Debug)]
struct Answer<'a> {
    job: &'a Job,
    at_ms: u64,
    /// Why it waits then; nothing when it does not.
    now: Option<Explanation>,
    /// What was seen to help, on a copy of the engine then.
    steps: Vec<NextStep>,
    /// What was refused, what it waited for, and what rounds of preemption did for it.
    course: Course,
    /// What preemption took of it.
    taken: Vec<Taken>,
}

fn of_app(args: &WhyArgs, source: Source, job: &Job) -> Result<ExitCode> {
    if args.at.is_some_and(|at| at < job.submitted_ms) {
        let problem = format!(
            "{} was submitted at {} ms, after the moment that is asked for",
            job.app, job.submitted_ms
        );
        return Err(anyhow::Error::new(Problem(problem)));
    }
    let stage = source.stage()?;
    // Nothing is to be learnt after the end of the application.
    let answer = answer(&stage, job, args.at.or(job.ended_ms))?;
    if args.json {
        line(json::of_app(&answer, &stage.origin()));
    } else {
        put(&shown::of_app(&answer, &stage.about()));
    }
    Ok(exit(
        answer.now.is_some() || !answer.course.refused.is_empty(),
    ))
}

/// Repeats a run up to a moment and explains one application there.
fn answer<'a>(stage: &Stage, job: &'a Job, until_ms: Option<u64>) -> Result<Answer<'a>> {
    let editor = stage.editor();
    let mut followed = Followed::new(job.app, editor.as_ref());
    let (at_ms, now, steps, taken) = stage.observe(until_ms, &mut followed, |at_ms, engine| {
        let now = engine.explain(job.app);
        let steps = now
            .as_ref()
            .map(|now| next_steps(engine, now, editor.as_ref()));
        let taken = preempted::taken_of(job.app, engine);
        (at_ms, now, steps.unwrap_or_default(), taken)
    })?;
    Ok(Answer {
        job,
        at_ms,
        now,
        steps,
        course: followed.finish(at_ms),
        taken,
    })
}

/// The answer of `capsched why` about an application at a moment.
#[cfg(feature = "top")]
pub(crate) fn text_at(stage: &Stage, job: &Job, at_ms: u64) -> Result<String> {
    let answer = answer(stage, job, Some(at_ms))?;
    Ok(shown::of_app(&answer, &stage.about()))
}

impl About {
    /// A moment: in virtual time, or before the present of a server.
    fn moment(&self, ms: u64) -> String {
        match self.now_ms {
            None => virtual_time(ms),
            Some(now_ms) => format!("{} ago", virtual_time(now_ms.saturating_sub(ms))),
        }
    }
}

impl Stage {
    fn about(&self) -> About {
        About {
            types: self.types(),
            origin: self.origin(),
            now_ms: None,
        }
    }
}

/// What a command line of `why-not` lacks.
const NOT_WHOLE: &str = "why-not takes an application and a node: capsched why-not [RUN] APP NODE";

/// Runs `capsched why-not`.
pub(crate) fn why_not(args: &WhyNotArgs) -> Result<ExitCode> {
    if args.what.len() < 2 {
        bail!("{NOT_WHOLE}");
    }
    if let Some((first, rest)) = args.what.split_first()
        && is_address(first)
    {
        return served::why_not(args, first, rest);
    }
    args.server.refuse()?;
    let (run, rest) = run_and_rest(&args.what)?;
    let [app, node] = rest else {
        bail!("{NOT_WHOLE}");
    };
    let source = Source::open(&run)?;
    let jobs = source.jobs()?;
    let job = jobs.find(app)?;
    let stage = source.stage()?;
    let node = stage.node(node)?;
    let look =
        |at_ms, engine: &Stepped| (at_ms, conditions(engine.engine().ledger(), job.app, &node));
    let (at_ms, keys) = stage.observe(args.at, &mut (), look)?;
    let when = format!("at {}", virtual_time(at_ms));
    let Some(keys) = keys else {
        let problem = match stage.observe(args.at, &mut (), |_, engine| runs(engine, job.app))? {
            true => format!("the cluster has no node {node} {when}"),
            false => format!("{} does not run {when}", job.app),
        };
        return Err(anyhow::Error::new(Problem(problem)));
    };
    if args.json {
        line(json::why_not(at_ms, job, &node, &keys));
    } else {
        put(&shown::why_not(&when, job, &node, (&keys, &stage.types())));
    }
    Ok(exit(!keys.is_empty()))
}

fn runs(engine: &Stepped, app: ApplicationId) -> bool {
    engine.engine().ledger().app(app).is_some()
}
