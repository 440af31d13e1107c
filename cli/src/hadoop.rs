//! `capsched hadoop-demo`: Hadoop's own ResourceManager with the scheduler class of `java/hadoop`.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use capsched::api::Reference;
use serde::Deserialize;
use serde_json::Value;

use crate::output::{PROBLEM, line};
use crate::parity::{find_tools, script_above};

/// Where the script lies below the repository.
const SCRIPT: &str = "java/hadoop/run.sh";

/// What is shown on a cluster, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scene {
    /// Distributed shell: a master and two containers.
    Shell,
    /// A MapReduce job that estimates pi.
    Pi,
    /// A MapReduce job that counts words.
    Wordcount,
    /// `yarn rmadmin -refreshQueues`, accepted and refused.
    Refresh,
    /// An application takes its guarantee from another queue.
    Preemption,
    /// The ResourceManager restarts under a running application.
    Recovery,
    /// A master fails, and its containers run on for the next one.
    Attempts,
    /// A master has its container grow, shrink, be demoted and promoted.
    Changes,
    /// Hadoop's load simulator, with its own Capacity Scheduler and with ours.
    Load,
}

impl Scene {
    const ALL: [Self; 9] = [
        Self::Shell,
        Self::Pi,
        Self::Wordcount,
        Self::Refresh,
        Self::Preemption,
        Self::Recovery,
        Self::Attempts,
        Self::Changes,
        Self::Load,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Pi => "pi",
            Self::Wordcount => "wordcount",
            Self::Refresh => "refresh",
            Self::Preemption => "preemption",
            Self::Recovery => "recovery",
            Self::Attempts => "attempts",
            Self::Changes => "changes",
            Self::Load => "load",
        }
    }
}

/// Arguments of `capsched hadoop-demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What to show; everything unless given. The whole takes some ten minutes.
    #[arg(value_name = "SCENE")]
    scenes: Vec<Scene>,
    /// Release of Hadoop, fetched by Maven.
    #[arg(long, value_name = "VERSION", default_value = "3.4.2", value_parser = release)]
    hadoop: String,
    /// Print one JSON object a line, as each scene ends.
    #[arg(long)]
    json: bool,
}

fn release(text: &str) -> Result<String, String> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text.split('.').count() == 3 && text.split('.').all(digits);
    match Reference::of_release(text).filter(|_| plain) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!(
            "`{}` is not known here; there are releases of 3.4 and 3.5, as 3.5.0",
            text.escape_debug()
        )),
    }
}

/// What a scene on the cluster printed.
#[derive(Debug, Deserialize)]
struct Shown {
    scene: String,
    succeeded: bool,
    seconds: f64,
    text: String,
}

/// Runs the demonstration.
///
/// # Errors
///
/// When a JDK, Maven or the repository is missing, or Hadoop does not start.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    find_tools()?;
    let scenes = if args.scenes.is_empty() {
        &Scene::ALL[..]
    } else {
        &args.scenes
    };
    let mut fine = true;
    let on_cluster: Vec<&str> = scenes
        .iter()
        .filter(|scene| **scene != Scene::Load)
        .map(|scene| scene.name())
        .collect();
    if !on_cluster.is_empty() {
        let part = [&["demo"], &on_cluster[..]].concat();
        fine &= play(args, &part)?;
    }
    if scenes.contains(&Scene::Load) {
        fine &= play(args, &["load", "sample", "capacity", "capsched"])?;
    }
    Ok(if fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(PROBLEM)
    })
}

/// Runs a part of the script, and shows its lines as they come. Whether all of it succeeded.
fn play(args: &Args, part: &[&str]) -> Result<bool> {
    let script = script_above(SCRIPT)?;
    let mut child = Command::new(&script)
        .args(["--hadoop", &args.hadoop])
        .args(part)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", script.display()))?;
    let output = child.stdout.take().context("the script has no output")?;
    for text in BufReader::new(output).lines() {
        let text = text.context("the script's output cannot be read")?;
        line(if args.json { text } else { plain(&text)? });
    }
    match child.wait().context("the script did not end")?.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => bail!("Hadoop did not start; see the lines above"),
    }
}

/// A line of JSON for people.
fn plain(text: &str) -> Result<String> {
    if let Ok(shown) = serde_json::from_str::<Shown>(text) {
        let verdict = if shown.succeeded { "ok" } else { "FAILED" };
        return Ok(format!(
            "{:<12} {verdict:<6} {:>6.1} s  {}",
            shown.scene, shown.seconds, shown.text
        ));
    }
    let figures: Value = serde_json::from_str(text).context("no line of JSON")?;
    let figures = figures.as_object().context("no object")?;
    let named = figures.iter().filter(|(name, _)| *name != "scheduler");
    let named: Vec<String> = named
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let scheduler = figures.get("scheduler").and_then(Value::as_str);
    Ok(format!(
        "load: {:<10} {}",
        scheduler.unwrap_or(""),
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_those_that_the_engine_knows() {
        assert_eq!(release("3.5.0").as_deref(), Ok("3.5.0"));
        for wrong in ["3.6.0", "3.4", "3.4.$(x)", ""] {
            assert!(release(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn scenes_and_loads_are_shown_for_people() {
        let scene = r#"{"scene":"pi","succeeded":true,"seconds":8.25,"text":"done"}"#;
        assert_eq!(plain(scene).unwrap(), "pi           ok        8.2 s  done");
        let load = r#"{"scheduler":"capsched","containers":5}"#;
        assert_eq!(plain(load).unwrap(), "load: capsched   containers 5");
        assert!(plain("no json").is_err());
    }
}
