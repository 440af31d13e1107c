//! `capsched conf plan`: whether a refresh takes the new configuration over, and the steps that help
//! where it does not. Every step that is named was tried on an engine without applications.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use capsched::api::{RefreshError, Sequential, TreeSettings};
use capsched::config::{self, ConfigSource, Layer, Options};
use serde_json::{Value, json};

use crate::live::{ServerArgs, is_address};
use crate::output::{PROBLEM, Problem, put};

use super::changes::Changes;
use super::running::Running;
use super::{DiffArgs, Side, served, shown, side};

/// Arguments of `capsched conf plan`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    of: DiffArgs,
    /// A snapshot of `capsched snapshot save`: the refresh is applied to a copy of it. Shows what that
    /// means for the applications that run there.
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    #[command(flatten)]
    access: ServerArgs,
}

impl Args {
    /// Refuses what a server knows by itself.
    fn refuse_beside_server(&self) -> Result<()> {
        let of = &self.of;
        if self.snapshot.is_some() || of.cluster.is_some() || !of.site.is_empty() {
            bail!(
                "--snapshot, --cluster and --site go with two files; a server has its own nodes and its own site"
            );
        }
        Ok(())
    }
}

/// Queues that are stopped one after the other before the search for steps ends.
const MOST_STOPPED: usize = 1_000;

/// What a running scheduler does with a new configuration.
struct Transition {
    refused: Option<RefreshError>,
    /// What to do instead; nothing when a refresh takes the configuration over.
    advice: Option<Advice>,
}

/// A way that was seen to work.
enum Advice {
    /// A refresh that stops these queues, then one with the new configuration.
    StopFirst(Vec<String>),
    /// A start with the new configuration.
    Restart,
}

impl Advice {
    fn text(&self) -> String {
        match self {
            Self::StopFirst(queues) => format!(
                "first refresh with `state` STOPPED for {}; once their applications have ended, \
                 refresh with the new file",
                queues.join(", ")
            ),
            Self::Restart => {
                "restart the resource manager with the new file; a start accepts it".to_owned()
            }
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let of = &args.of;
    if let Some(address) = of.before.to_str().filter(|text| is_address(text)) {
        args.refuse_beside_server()?;
        return served::plan((address, &args.access), &of.after, of.json);
    }
    args.access.refuse()?;
    let (before, after) = (side(&of.before, of)?, side(&of.after, of)?);
    let transition = transition(&before, &after, of)?;
    let changes = Changes::between(&before, &after);
    let running = args.snapshot.as_deref();
    let running = running.map(|file| Running::of(file, &before, &after));
    let running = running.transpose()?;
    put(&if of.json {
        let mut document = changes.to_json();
        document["transition"] = transition.to_json();
        document["running"] = running.as_ref().map_or(Value::Null, Running::to_json);
        format!("{document:#}\n")
    } else {
        let running = running.as_ref().map_or_else(String::new, Running::text);
        format!("{}{}{running}", shown::text(&changes), transition.text())
    });
    let refused = transition.refused.is_some() || running.is_some_and(|of| of.is_refused());
    Ok(if refused {
        ExitCode::from(PROBLEM)
    } else {
        ExitCode::SUCCESS
    })
}

impl Transition {
    fn to_json(&self) -> Value {
        json!({
            "accepted": self.refused.is_none(),
            "code": self.refused.as_ref().map(RefreshError::code),
            "message": self.refused.as_ref().map(ToString::to_string),
            "stop_first": match &self.advice {
                Some(Advice::StopFirst(queues)) => json!(queues),
                _ => json!([]),
            },
            "restart": matches!(self.advice, Some(Advice::Restart)),
            "advice": self.advice.as_ref().map(Advice::text),
        })
    }

    fn text(&self) -> String {
        let Some(refused) = &self.refused else {
            return "refresh: accepted\n".to_owned();
        };
        let mut out = format!("refresh: refused, {refused} [{}]\n", refused.code());
        if let Some(advice) = &self.advice {
            let _ = writeln!(out, "next: {}", advice.text());
        }
        out
    }
}

/// Tries the change on an engine that runs the present configuration.
// As CapacityScheduler.reinitialize: the calculator stays that of the start.
fn transition(before: &Side, after: &Side, args: &DiffArgs) -> Result<Transition> {
    let engine = start(before)?;
    let calculator = before.loaded.settings.scheduler.calculator;
    let options = Options {
        running: Some(calculator),
        reference: args.reference.release,
        ..Options::default()
    };
    let wanted = config::load(&after.sources, &options);
    let wanted = wanted.map_err(|report| {
        let first = report.first_error().map(ToString::to_string);
        let first = first.unwrap_or_default();
        anyhow!(Problem(format!("a refresh refuses the new file: {first}")))
    })?;
    let wanted = wanted.settings;
    let Err(refused) = engine.check_reconfigure(&wanted) else {
        return Ok(Transition {
            refused: None,
            advice: None,
        });
    };
    let advice = match stop_first(before, &refused, &wanted, &options)? {
        Some(queues) => Some(Advice::StopFirst(queues)),
        None => start(after).is_ok().then_some(Advice::Restart),
    };
    Ok(Transition {
        refused: Some(refused),
        advice,
    })
}

/// An engine with the nodes of a side.
fn start(side: &Side) -> Result<Sequential> {
    let mut engine = match &side.cluster {
        Some(cluster) => cluster.sequential()?,
        None => {
            let started = Sequential::new(side.loaded.settings.clone(), &[]);
            return started.map_err(|error| anyhow!("the engine does not start: {error}"));
        }
    };
    if let Some(cluster) = &side.cluster {
        cluster.register(&mut engine)?;
    }
    Ok(engine)
}

/// Queues that are to be stopped by a refresh before; nothing where that does not help.
fn stop_first(
    before: &Side,
    refused: &RefreshError,
    wanted: &TreeSettings,
    options: &Options,
) -> Result<Option<Vec<String>>> {
    let mut queues = Vec::new();
    let mut refused = refused.clone();
    while let RefreshError::NotStopped(queue) | RefreshError::LeafNotStopped(queue) = &refused {
        if queues.contains(queue) || queues.len() == MOST_STOPPED {
            return Ok(None);
        }
        queues.push(queue.clone());
        let mut sources = before.sources.clone();
        sources.push(stopped(&queues));
        let Ok(interim) = config::load(&sources, options) else {
            return Ok(None);
        };
        let mut engine = start(before)?;
        if engine.reconfigure(interim.settings).is_err() {
            return Ok(None);
        }
        match engine.check_reconfigure(wanted) {
            Ok(()) => return Ok(Some(queues)),
            Err(next) => refused = next,
        }
    }
    Ok(None)
}

/// A file that stops some queues.
fn stopped(queues: &[String]) -> ConfigSource {
    let mut text = "<configuration>".to_owned();
    for queue in queues {
        let queue = queue.replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(
            text,
            "<property><name>yarn.scheduler.capacity.{queue}.state</name>\
             <value>STOPPED</value></property>"
        );
    }
    text.push_str("</configuration>");
    ConfigSource {
        name: "stopped queues".to_owned(),
        bytes: text.into_bytes(),
        layer: Layer::Scheduler,
    }
}
