//! `capsched demo organisation` and its like: three small examples, played by the engine and drawn as charts.
//!
//! Every number of a chart and of the list under it was read from the engine; the few that are
//! given, such as how much of a container a program really uses, are said to be so.

mod chart;
mod cluster;
mod eleven_gb;
mod headroom;
mod organisation;
mod svg;
mod terminal;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use chart::Lesson;

use crate::output;
use crate::printed::takes_colours;

/// The examples.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Example {
    /// Queues of an organisation share what the others leave, and take it back.
    Organisation(Args),
    /// How far a user may go: user limit and headroom.
    Headroom(Args),
    /// What is allocated decides, not what is used.
    ElevenGb(Args),
}

/// How a teaching example is shown.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Write all charts of the example into one SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write each chart as an SVG file of its own, and the series as JSON, into a directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the series as one JSON document instead of charts.
    #[arg(long)]
    json: bool,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

/// Runs an example and shows it.
///
/// # Errors
///
/// When a file exists and is not to be replaced, or cannot be written; then none is.
pub(crate) fn run(example: &Example) -> Result<ExitCode> {
    let (lesson, args) = play(example)?;
    let mut files = Vec::new();
    if let Some(path) = &args.svg {
        files.push((path.clone(), svg::page(&lesson)));
    }
    if let Some(folder) = &args.out {
        for chart in &lesson.charts {
            let name = format!("{}-{}.svg", lesson.name, chart.name);
            files.push((folder.join(name), svg::single(chart)));
        }
        let name = format!("{}.json", lesson.name);
        files.push((folder.join(name), json(&lesson)?));
    }
    // A device or a pipe is no file of an earlier run.
    if !args.force
        && let Some((path, _)) = files.iter().find(|(path, _)| path.is_file())
    {
        bail!("{} exists; say --force to replace it", path.display());
    }
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    for (path, text) in &files {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let text = if args.json {
        json(&lesson)?
    } else {
        let mut text = terminal::draw(&lesson, takes_colours());
        for (path, _) in &files {
            text.push_str(&format!("written: {}\n", path.display()));
        }
        text
    };
    output::put_styled(&text);
    Ok(ExitCode::SUCCESS)
}

fn play(example: &Example) -> Result<(Lesson, &Args)> {
    Ok(match example {
        Example::Organisation(args) => (organisation::lesson()?, args),
        Example::Headroom(args) => (headroom::lesson()?, args),
        Example::ElevenGb(args) => (eleven_gb::lesson()?, args),
    })
}

fn json(lesson: &Lesson) -> Result<String> {
    Ok(serde_json::to_string_pretty(lesson)? + "\n")
}
