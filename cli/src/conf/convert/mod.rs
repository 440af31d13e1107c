//! `capsched conf convert`: configurations of other schedulers as capacity-scheduler.xml, with a list
//! of what could not be kept.

mod fair;
mod fair_general;
mod fair_placement;
mod fair_refused;
mod quantity;
mod xml;
mod yunikorn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use capsched::config::{self, ConfigSource, Layer, Options, Report};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::aside;
use crate::output::{PROBLEM, Problem, line, note, put};

/// Convert fair-scheduler.xml as `yarn fs2cs` does, or the queues.yaml of YuniKorn.
///
/// Without `--out` the result goes to standard output, and what could not be kept to standard error.
/// The result is checked as `capsched check` does; the exit code is 1 when the check refuses it, or
/// when the Fair Scheduler refuses the file.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// fair-scheduler.xml, or queues.yaml.
    file: PathBuf,
    /// The scheduler that the file is for; by the ending of the name unless given.
    #[arg(long, value_enum)]
    from: Option<OtherScheduler>,
    /// yarn-site.xml of the Fair Scheduler.
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Weights of the Fair Scheduler become percentages instead of weights.
    #[arg(long)]
    percentages: bool,
    /// Folder for capacity-scheduler.xml, yarn-site.xml and conversion.json.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files of the same names.
    #[arg(long)]
    force: bool,
    /// Print one JSON document with the properties and what could not be kept.
    #[arg(long)]
    json: bool,
}

/// Schedulers whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OtherScheduler {
    /// Hadoop's Fair Scheduler.
    Fair,
    /// Apache YuniKorn.
    Yunikorn,
}

/// Largest file that is read.
const LARGEST: u64 = 64 << 20;

/// Something of the other file that the result does not have.
#[derive(Debug)]
struct Lost {
    /// Where it stands: queue or element, with the line when it is known.
    place: String,
    what: String,
    why: &'static str,
}

impl Lost {
    /// What losses of one kind have in common: the first word, and the reason.
    fn kind(&self) -> (&str, &'static str) {
        let name = self.what.split_whitespace().next();
        (name.unwrap_or_default(), self.why)
    }
}

/// Something at which the scheduler of the other file stops.
#[derive(Debug)]
struct Stop {
    place: String,
    what: String,
    why: &'static str,
    /// Whether the whole file is refused; else one queue is left out.
    file: bool,
}

impl Stop {
    fn scope(&self) -> &'static str {
        match self.file {
            true => "file",
            false => "queue",
        }
    }
}

/// What a conversion gives.
#[derive(Debug, Default)]
struct Converted {
    /// Properties of capacity-scheduler.xml.
    scheduler: BTreeMap<String, String>,
    /// Properties of yarn-site.xml.
    site: BTreeMap<String, String>,
    lost: Vec<Lost>,
    /// What the other scheduler refuses. The conversion reads it all the same.
    stops: Vec<Stop>,
}

impl Args {
    /// The properties of the yarn-site.xml that is given.
    fn site_properties(&self) -> Result<BTreeMap<String, String>> {
        let site = self.site.as_deref().map(site_properties).transpose()?;
        Ok(site.unwrap_or_default())
    }
}

const PREFIX: &str = "yarn.scheduler.capacity.";

impl Converted {
    /// Sets a property of the whole scheduler.
    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.scheduler
            .insert(format!("{PREFIX}{name}"), value.into());
    }

    /// Sets a property of a queue.
    fn queue(&mut self, path: &str, name: &str, value: impl Into<String>) {
        self.set(&format!("{path}.{name}"), value);
    }

    fn site(&mut self, name: &str, value: impl Into<String>) {
        self.site.insert(name.to_owned(), value.into());
    }

    fn lose(&mut self, place: impl Into<String>, what: impl Into<String>, why: &'static str) {
        self.lost.push(Lost {
            place: place.into(),
            what: what.into(),
            why,
        });
    }

    /// The result on the site that it goes to.
    fn sources(&self, site: &BTreeMap<String, String>) -> [ConfigSource; 3] {
        let source = |name: &str, pairs, layer| ConfigSource {
            name: name.to_owned(),
            bytes: document(pairs).into_bytes(),
            layer,
        };
        [
            source("yarn-site.xml as given", site, Layer::Site),
            source("capacity-scheduler.xml", &self.scheduler, Layer::Scheduler),
            source("yarn-site.xml", &self.site, Layer::Site),
        ]
    }

    fn to_json(&self, report: &Report) -> Value {
        let lost = |one: &Lost| json!({"place": one.place, "what": one.what, "why": one.why});
        let stop = |one: &Stop| json!({"place": one.place, "what": one.what, "why": one.why, "scope": one.scope()});
        json!({
            "accepted": !report.refuses(false),
            "findings": report.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "capacity_scheduler": self.scheduler,
            "yarn_site": self.site,
            "lost": self.lost.iter().map(lost).collect::<Vec<_>>(),
            "reference_refuses": self.stops.iter().map(stop).collect::<Vec<_>>(),
        })
    }
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let text = read(&args.file)?;
    let shown = args.file.display().to_string();
    let from = args.from.unwrap_or_else(|| by_ending(&args.file));
    let site = args.site_properties()?;
    let converted = match from {
        OtherScheduler::Fair => fair::convert(&text, &shown, &site, args.percentages)?,
        OtherScheduler::Yunikorn => yunikorn::convert(&text, &shown)?,
    };
    let report = config::check(&converted.sources(&site), &Options::default());
    if args.json {
        put(&format!("{:#}\n", converted.to_json(&report)));
    } else if args.out.is_none() {
        show(&converted);
    }
    if let Some(folder) = &args.out {
        write(folder, &converted, &report, args)?;
    }
    note_losses(&converted.lost);
    note_stops(&converted.stops);
    if report.refuses(false) {
        let first = report.first_error().map(ToString::to_string);
        note(format_args!(
            "the result is refused: {}",
            first.unwrap_or_default()
        ));
        return Ok(ExitCode::from(PROBLEM));
    }
    Ok(match converted.stops.iter().any(|stop| stop.file) {
        true => ExitCode::from(PROBLEM),
        false => ExitCode::SUCCESS,
    })
}

/// Prints the result, and says what is not printed.
fn show(converted: &Converted) {
    put(&document(&converted.scheduler));
    if !converted.site.is_empty() {
        let names: Vec<&str> = converted.site.keys().map(String::as_str).collect();
        let names = names.join(", ");
        note(format_args!(
            "--out also writes a yarn-site.xml with {names}"
        ));
    }
}

/// Says where the Fair Scheduler stops.
fn note_stops(stops: &[Stop]) {
    for Stop {
        place,
        what,
        why,
        file,
    } in stops
    {
        let says = match file {
            true => "refuses this file",
            false => "leaves out this queue",
        };
        note(format_args!("the reference {says}: {place}: {what}: {why}"));
    }
}

/// Lines about losses of one kind that are shown.
const SHOWN: usize = 5;

/// Says what was lost; the first ones of each kind, and how many more there are.
fn note_losses(lost: &[Lost]) {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in lost {
        let count = seen.entry(one.kind()).or_default();
        *count += 1;
        if *count <= SHOWN {
            let Lost { place, what, why } = one;
            note(format_args!("not kept: {place}: {what}: {why}"));
        }
    }
    for ((name, why), count) in seen {
        if count > SHOWN {
            let more = count - SHOWN;
            note(format_args!(
                "not kept: {name} at {more} more places: {why}; --json and conversion.json name them"
            ));
        }
    }
}

fn by_ending(path: &Path) -> OtherScheduler {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("yaml" | "yml") => OtherScheduler::Yunikorn,
        _ => OtherScheduler::Fair,
    }
}

fn read(path: &Path) -> Result<String> {
    let shown = path.display();
    let data = std::fs::metadata(path).with_context(|| shown.to_string())?;
    if !data.is_file() || data.len() > LARGEST {
        bail!("{shown} is no regular file of at most {LARGEST} bytes");
    }
    let bytes = std::fs::read(path).with_context(|| shown.to_string())?;
    String::from_utf8(bytes).map_err(|_| anyhow!(Problem(format!("{shown} is no UTF-8 text"))))
}

/// The properties of a yarn-site.xml.
fn site_properties(path: &Path) -> Result<BTreeMap<String, String>> {
    let text = read(path)?;
    let shown = path.display();
    let document = config::read(text.as_bytes(), 0, &Options::default().limits);
    let document = document.map_err(|finding| anyhow!(Problem(format!("{shown}: {finding}"))))?;
    let pairs = document.properties.into_iter();
    Ok(pairs
        .filter_map(|one| Some((one.name, one.value?)))
        .collect())
}

fn write(folder: &Path, converted: &Converted, report: &Report, args: &Args) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let files = [
        ("capacity-scheduler.xml", document(&converted.scheduler)),
        ("yarn-site.xml", document(&converted.site)),
        (
            "conversion.json",
            format!("{:#}\n", converted.to_json(report)),
        ),
    ];
    let taken = files.iter().map(|(name, _)| folder.join(name));
    let mut taken = taken.filter(|path| !args.force && path.symlink_metadata().is_ok());
    if let Some(path) = taken.next() {
        let shown = path.display();
        bail!("{shown} exists; say --force to replace it; nothing was written");
    }
    for (name, text) in &files {
        let path = folder.join(name);
        aside::write(&path, text.as_bytes(), args.force)?;
        if !args.json {
            line(path.display());
        }
    }
    Ok(())
}

/// Properties as a configuration file.
fn document(pairs: &BTreeMap<String, String>) -> String {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;")
    };
    let mut out = "<?xml version=\"1.0\"?>\n<configuration>\n".to_owned();
    for (name, value) in pairs {
        let (name, value) = (escaped(name), escaped(value));
        out.push_str(&format!(
            "  <property>\n    <name>{name}</name>\n    <value>{value}</value>\n  </property>\n"
        ));
    }
    out.push_str("</configuration>\n");
    out
}
