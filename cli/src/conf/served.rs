//! `capsched conf plan` with a server, `apply`, `history` and `rollback`: the configuration of a server that runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use capsched_server::conf::{ConfProperties, Updates};
use capsched_server::effects::EffectRow;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::excerpt::Lines;
use crate::live::{LiveServer, Method, ServerArgs, is_address};
use crate::output::{PROBLEM, Problem, escaped, line, put};
use crate::play::grouped;
use crate::text_file;

use super::running::effect_text;
use super::shown;

/// Longest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Arguments of `capsched conf apply`.
#[derive(clap::Args, Debug)]
pub(crate) struct ApplyArgs {
    /// Address of the server, such as `http://127.0.0.1:8088`.
    server: String,
    /// The new capacity-scheduler.xml; every property that it lacks is unset.
    file: PathBuf,
    /// Apply only while this version holds; the version that the changes were worked out against when left out.
    #[arg(long, value_name = "VERSION")]
    check_index: Option<u64>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: ServerArgs,
}

/// Arguments of `capsched conf history`.
#[derive(clap::Args, Debug)]
pub(crate) struct HistoryArgs {
    /// Address of the server.
    server: String,
    /// Changes that are shown at most, the newest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u16,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: ServerArgs,
}

/// Arguments of `capsched conf rollback`.
#[derive(clap::Args, Debug)]
pub(crate) struct RollbackArgs {
    /// Address of the server.
    server: String,
    /// The version whose configuration is to hold again, as `conf history` lists them.
    version: u64,
    /// Go back only while this version holds.
    #[arg(long, value_name = "VERSION")]
    check_index: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: ServerArgs,
}

#[derive(Deserialize)]
struct Versions {
    present: u64,
    versions: Vec<Stored>,
}

#[derive(Deserialize)]
struct Stored {
    version: u64,
    stored_ms: u64,
}

#[derive(Deserialize)]
struct OfVersion {
    properties: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    at_ms: u64,
    user: String,
    kind: String,
    updates: Updates,
    refused: Option<String>,
}

#[derive(Deserialize)]
struct Made {
    version: u64,
    updates: Updates,
}

/// What the server would do with a change.
#[derive(Deserialize)]
struct Plan {
    accepted: bool,
    message: Option<String>,
    #[serde(default)]
    resource_types: Vec<String>,
    #[serde(default)]
    queues: Vec<QueueRow>,
    #[serde(default)]
    running: Vec<EffectRow>,
    #[serde(skip)]
    placed: Option<PlacedRow>,
}

/// A queue whose guarantee or maximum differs on a partition.
#[derive(Deserialize, Serialize)]
struct QueueRow {
    queue: String,
    partition: String,
    before: Option<LimitsRow>,
    after: Option<LimitsRow>,
}

#[derive(Deserialize, Serialize)]
struct LimitsRow {
    guaranteed: Vec<i64>,
    maximum: Vec<i64>,
}

/// One of the limits of a row.
type Picked = fn(&LimitsRow) -> &[i64];

/// Containers that rounds on a copy place now.
#[derive(Deserialize, Serialize)]
struct PlacedRow {
    as_it_is: u64,
    changed: u64,
}

/// What makes a server's configuration that of a file.
struct Asked {
    /// The version that holds.
    seen: u64,
    updates: Updates,
    body: String,
}

fn asked(server: &LiveServer, file: &Path) -> Result<Asked> {
    let wanted = properties_of(file)?;
    let present: Versions = server.json("/v1/conf/versions")?;
    let seen = present.present;
    let of: OfVersion = server.json(&format!("/v1/conf/versions/{seen}"))?;
    let present = of.properties.into_iter().collect::<ConfProperties>();
    let updates = present.updates_to(&wanted);
    let body = json!({"global-updates": updates}).to_string();
    Ok(Asked {
        seen,
        updates,
        body,
    })
}

/// What rounds on a copy come to.
#[derive(Deserialize)]
struct Tried {
    placed: Option<PlacedRow>,
}

fn planned<T: DeserializeOwned>(server: &LiveServer, path: &str, body: &str) -> Result<T> {
    let text = server.send(Method::POST, path, (body, None))?;
    serde_json::from_str(&text).map_err(|error| server.foreign(path, &error))
}

/// Runs `conf plan` with a server.
pub(super) fn plan(
    (address, access): (&str, &ServerArgs),
    file: &Path,
    as_json: bool,
) -> Result<ExitCode> {
    let server = LiveServer::open(address, access)?;
    let asked = asked(&server, file)?;
    let mut plan: Plan = planned(&server, "/v1/plan", &asked.body)?;
    if plan.accepted {
        let tried: Tried = planned(&server, "/v1/whatif", &asked.body)?;
        plan.placed = tried.placed;
    }
    if as_json {
        line(json!({
            "server": address, "version": asked.seen, "updates": asked.updates,
            "accepted": plan.accepted, "message": plan.message,
            "queues": plan.queues, "running": plan.running, "placed": plan.placed,
        }));
    } else {
        put(&listed(&asked.updates));
        put(&plan.text(address, asked.seen));
    }
    Ok(match plan.accepted {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(PROBLEM),
    })
}

impl Plan {
    fn text(&self, address: &str, seen: u64) -> String {
        if !self.accepted {
            let why = self.message.as_deref().unwrap_or_default();
            return format!("refused, version {seen} stays: {}\n", escaped(why));
        }
        let mut out: String = self.queues.iter().map(|row| self.queue(row)).collect();
        let _ = writeln!(out, "accepted against version {seen} of {address}");
        out.push_str("running now\n");
        for effect in &self.running {
            out.push_str(&effect_text(effect, &self.resource_types));
        }
        if self.running.is_empty() {
            out.push_str("  no application comes above a limit by it\n");
        }
        if let Some(placed) = &self.placed {
            let (before, after) = (grouped(placed.as_it_is), grouped(placed.changed));
            let _ = writeln!(
                out,
                "containers that the next rounds place: {before} -> {after}"
            );
        }
        out
    }

    fn queue(&self, row: &QueueRow) -> String {
        let of = |limits: &Option<LimitsRow>, pick: Picked| {
            let amounts = limits
                .as_ref()
                .map(|limits| shown::amounts(pick(limits), &self.resource_types));
            amounts.unwrap_or_else(|| "none".to_owned())
        };
        let label = match row.partition.as_str() {
            "" => String::new(),
            label => format!(" on {}", escaped(label)),
        };
        let mut out = format!("{}{label}\n", escaped(&row.queue));
        let picks: [(&str, Picked); 2] = [
            ("guaranteed", |limits| &limits.guaranteed),
            ("maximum", |limits| &limits.maximum),
        ];
        for (name, pick) in picks {
            let (before, after) = (of(&row.before, pick), of(&row.after, pick));
            if before != after {
                let _ = writeln!(out, "  {name:<11} {before} -> {after}");
            }
        }
        out
    }
}

/// Runs `conf apply`.
pub(super) fn apply(args: &ApplyArgs) -> Result<ExitCode> {
    let server = LiveServer::open(&args.server, &args.access)?;
    let Asked {
        seen,
        updates,
        body,
    } = asked(&server, &args.file)?;
    if let Some(expected) = args.check_index.filter(|expected| *expected != seen) {
        let text = format!(
            "{}: version {seen} holds and not {expected}; `capsched conf history` lists what changed it",
            args.server
        );
        return Err(anyhow!(Problem(text)));
    }
    let mut outcome = Applied {
        before: seen,
        version: seen,
        updates,
        refused: None,
    };
    let plan: Plan = planned(&server, "/v1/plan", &body)?;
    if !plan.accepted {
        outcome.refused = Some(plan.message.unwrap_or_default());
    } else if !args.dry_run && !outcome.updates.is_empty() {
        let path = "/ws/v1/cluster/scheduler-conf";
        server.send(Method::PUT, path, (&body, Some(seen)))?;
        let present: Versions = server.json("/v1/conf/versions")?;
        outcome.version = present.present;
    }
    outcome.show(args);
    Ok(match outcome.refused {
        Some(_) => ExitCode::from(PROBLEM),
        None => ExitCode::SUCCESS,
    })
}

/// The properties of a file.
fn properties_of(path: &Path) -> Result<ConfProperties> {
    if path.to_str().is_some_and(is_address) {
        bail!(
            "{} is the address of a server; it comes before the file",
            path.display()
        );
    }
    let text = text_file::read(path, MOST_BYTES)?;
    let read = ConfProperties::read(text.as_bytes());
    read.map_err(|finding| {
        let lines = Lines::of(&text);
        let place = finding.span.as_ref().map(|span| {
            let (line, column) = lines.position(span.bytes.start);
            format!(":{line}:{column}")
        });
        let place = place.unwrap_or_default();
        anyhow!(Problem(format!("{}{place}: {finding}", path.display())))
    })
}

/// What came of a change.
struct Applied {
    before: u64,
    version: u64,
    updates: Updates,
    refused: Option<String>,
}

impl Applied {
    fn show(&self, args: &ApplyArgs) {
        if args.json {
            line(
                json!({"before": self.before, "version": self.version, "updates": self.updates,
                "accepted": self.refused.is_none(), "message": self.refused}),
            );
            return;
        }
        put(&listed(&self.updates));
        line(match (&self.refused, self.updates.is_empty()) {
            (Some(why), _) => format!("refused, version {} stays: {why}", self.before),
            (None, true) => format!(
                "nothing to change: version {} has these values",
                self.before
            ),
            (None, false) if args.dry_run => {
                format!(
                    "accepted; nothing was changed, version {} holds",
                    self.before
                )
            }
            (None, false) => format!(
                "version {} holds; back to the one before: capsched conf rollback {} {}{}",
                self.version, args.server, self.before, args.access
            ),
        });
    }
}

/// One line for each property that is set or unset.
fn listed(updates: &Updates) -> String {
    let row = |(name, value): (&String, &Option<String>)| match value {
        Some(value) => format!("  {name} = {value}\n"),
        None => format!("  {name} unset\n"),
    };
    updates.iter().map(row).collect()
}

/// Runs `conf history`.
pub(super) fn history(args: &HistoryArgs) -> Result<ExitCode> {
    let server = LiveServer::open(&args.server, &args.access)?;
    let stored: Value = server.json("/v1/conf/versions")?;
    let logged: Value = server.json(&format!("/v1/conf/log?limit={}", args.limit))?;
    if args.json {
        line(
            json!({"present": stored["present"], "versions": stored["versions"], "entries": logged["entries"]}),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let foreign = |error: serde_json::Error| server.foreign("/v1/conf", &error);
    let stored: Versions = serde_json::from_value(stored).map_err(foreign)?;
    let logged: Log = serde_json::from_value(logged).map_err(foreign)?;
    put(&versions(&stored));
    put("\nchanges, the newest first\n");
    for entry in &logged.entries {
        let what = match &entry.refused {
            Some(why) => format!("refused: {why}"),
            None => format!("{} properties", entry.updates.len()),
        };
        line(format_args!(
            "{}  {:<8} {}: {what}",
            moment(entry.at_ms),
            entry.kind,
            entry.user
        ));
        if entry.kind != "seed" {
            put(&listed(&entry.updates));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn versions(stored: &Versions) -> String {
    let row = |of: &Stored| {
        let mark = if of.version == stored.present {
            "  holds"
        } else {
            ""
        };
        format!("{:>8}  {}{mark}\n", of.version, moment(of.stored_ms))
    };
    let rows: String = stored.versions.iter().map(row).collect();
    format!(" version  stored\n{rows}")
}

/// A time in UTC; one that no calendar has stays a number.
fn moment(ms_since_1970: u64) -> String {
    let seconds = i64::try_from(ms_since_1970 / 1000).ok();
    let time = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let shown = time.and_then(|time| time.format(&Rfc3339).ok());
    shown.unwrap_or_else(|| format!("{ms_since_1970} ms"))
}

/// Runs `conf rollback`.
pub(super) fn rollback(args: &RollbackArgs) -> Result<ExitCode> {
    let server = LiveServer::open(&args.server, &args.access)?;
    let path = format!("/v1/conf/rollback/{}", args.version);
    let text = server.send(Method::POST, &path, ("", args.check_index))?;
    let made: Made = serde_json::from_str(&text).map_err(|error| server.foreign(&path, &error))?;
    if args.json {
        line(json!({"version": made.version, "updates": made.updates}));
    } else {
        put(&listed(&made.updates));
        line(format_args!(
            "version {} holds the configuration of version {}",
            made.version, args.version
        ));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc_and_what_no_calendar_has_is_a_number() {
        assert_eq!(moment(0), "1970-01-01T00:00:00Z");
        assert_eq!(moment(1_795_823_605_874), "2026-11-27T23:53:25Z");
        assert_eq!(moment(u64::MAX), format!("{} ms", u64::MAX));
    }
}
