//! `capsched parity`: plays recordings of the real scheduler and compares every step.

mod acl;
mod archive;
mod compare;
mod configuration;
mod decision;
mod generate;
mod hunt;
mod judge;
mod mapping;
mod player;
mod progress;
mod refresh;
mod rest;
mod rules;
mod scenario;
mod setting;
mod submission;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use capsched::api::Reference;
use capsched_server::replay::Scene;
use rayon::prelude::*;
use serde_json::{Value, json};

use acl::Access;
use archive::RecordingPlace;
use configuration::Configuration;
use generate::Profile;
use hunt::Hunt;
use judge::{Judges, Peer, Recorded};
pub(crate) use judge::{find_tools, script_above};
use mapping::Mapping;
use scenario::Scenario;
use verdict::Verdict;

use crate::output::{line, note, printable};

/// Arguments of `capsched parity`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Recordings (.json, .jsonl, .jsonl.zst), or folders of them; `-` is standard input.
    #[arg(required_unless_present = "hunt")]
    paths: Vec<PathBuf>,
    /// Print one JSON object per recording.
    #[arg(long)]
    json: bool,
    /// Print only the first difference of a recording.
    #[arg(long)]
    first_difference: bool,
    /// Play only scenarios with this tag.
    #[arg(long, value_name = "TAG")]
    only: Option<String>,
    /// Leave out scenarios with this tag.
    #[arg(long, value_name = "TAG")]
    without: Vec<String>,
    /// Where configuration files lie that a recording only names; by default
    /// `../data/capacity-scheduler-xml` beside the folder of recordings.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Release of Hadoop to follow: 3.4 or 3.5; else the one that a recording was made with.
    #[arg(long, value_name = "RELEASE")]
    reference: Option<Reference>,
    /// Play scenarios on the real scheduler of this release first, and compare with what it does.
    /// Needs a JDK 17 and Maven, which fetches Hadoop.
    #[arg(long, value_name = "hadoop:VERSION", value_parser = Peer::read, conflicts_with = "pack")]
    against: Option<Peer>,
    /// Draw random scenarios by seed instead of reading some; those that differ are shrunk.
    #[arg(long, requires = "against", conflicts_with = "paths")]
    hunt: bool,
    /// Seeds of a hunt, the last one left out; a single number is that seed alone.
    #[arg(long, value_name = "A..B", default_value = "0..100", value_parser = crate::values::seeds)]
    seeds: std::ops::Range<u64>,
    /// What scenarios of a hunt are about; all kinds in turn when left out.
    #[arg(long, requires = "hunt", value_parser = Profile::of)]
    profile: Option<Profile>,
    /// End a hunt after so many minutes.
    #[arg(long, value_name = "N", requires = "hunt")]
    minutes: Option<u64>,
    /// Where scenarios of a hunt that differ go.
    #[arg(long, value_name = "DIR", default_value = "target/hunt")]
    found: PathBuf,
    /// Play nothing; write the recordings into one compressed archive instead.
    #[arg(long, requires = "output")]
    pack: bool,
    /// The archive to write.
    #[arg(short, long, value_name = "FILE.jsonl.zst", requires = "pack")]
    output: Option<PathBuf>,
    /// Replace the archive when it exists.
    #[arg(long, requires = "output")]
    force: bool,
}

/// One recording of any kind.
#[derive(Debug)]
enum Recording {
    Scenario(Scenario),
    Refresh(Scenario),
    Configuration(Configuration),
    Mapping(Mapping),
    Access(Access),
    Rest(Box<Scene>),
}

impl Recording {
    /// Reads a recording; its fields decide its kind.
    fn read(value: Value) -> Result<Self> {
        let has = |name: &str| value.get(name).is_some();
        if has("steps") {
            let scenario = Scenario::read(value)?;
            return Ok(match scenario.xml {
                Some(_) => Self::Refresh(scenario),
                None => Self::Scenario(scenario),
            });
        }
        if has("script") {
            return Ok(Self::Rest(Box::new(rest::read(value)?)));
        }
        if has("submissions") {
            let mapping = serde_json::from_value(value).context("not a mapping")?;
            return Ok(Self::Mapping(mapping));
        }
        if has("checks") {
            let access = serde_json::from_value(value).context("no access checks")?;
            return Ok(Self::Access(access));
        }
        if has("expect") && (has("xml") || has("file")) {
            let configuration = serde_json::from_value(value).context("not a configuration")?;
            return Ok(Self::Configuration(configuration));
        }
        bail!("neither a scenario nor a configuration, mapping or access checks")
    }

    fn name(&self) -> &str {
        match self {
            Self::Scenario(of) | Self::Refresh(of) => &of.name,
            Self::Configuration(of) => &of.name,
            Self::Mapping(of) => &of.name,
            Self::Access(of) => &of.name,
            Self::Rest(of) => &of.name,
        }
    }

    fn tags(&self) -> &[String] {
        match self {
            Self::Scenario(of) | Self::Refresh(of) => &of.tags,
            _ => &[],
        }
    }

    /// The release that the recording was made with.
    fn reference(&self) -> Reference {
        let made_with = match self {
            Self::Scenario(of) | Self::Refresh(of) => &of.recorded_with,
            Self::Configuration(of) => &of.recorded_with,
            Self::Mapping(of) => &of.recorded_with,
            Self::Access(of) => &of.recorded_with,
            Self::Rest(of) => return of.reference,
        };
        Reference::of_recording(made_with)
    }

    /// Plays the recording; a name and a verdict, of scenes one for each request.
    fn play_all(&self, data: &Path, reference: Option<Reference>) -> Vec<(String, Verdict)> {
        match self {
            Self::Rest(scene) => rest::play(scene, reference.unwrap_or(scene.reference)),
            _ => vec![(self.name().to_owned(), self.play(data, reference))],
        }
    }

    fn play(&self, data: &Path, reference: Option<Reference>) -> Verdict {
        let reference = reference.unwrap_or_else(|| self.reference());
        let verdict = match self {
            Self::Rest(_) => Err(anyhow!("a scene has a verdict for each request")),
            Self::Scenario(of) => player::play(of, reference),
            Self::Refresh(of) => refresh::play(of, reference),
            Self::Configuration(of) => of.play(data, reference),
            Self::Mapping(of) => of.play(reference),
            Self::Access(of) => of.play(reference),
        };
        verdict.unwrap_or_else(|error| Verdict::Broken(format!("{error:#}")))
    }
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    deliberate: usize,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(archive) = &args.output {
        archive::pack(&args.paths, archive, args.data.as_deref(), args.force)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(peer) = &args.against {
        return against(peer, args);
    }
    let mut tally = Tally::default();
    for path in &args.paths {
        let data = archive::data_folder(path, args.data.as_deref());
        let mut batch = Vec::new();
        archive::each(path, &mut |place, value| {
            batch.push((place.clone(), value));
            if batch.len() == BATCH {
                tally.play(std::mem::take(&mut batch), args, &data);
            }
        })?;
        tally.play(batch, args, &data);
    }
    tally.print(args.json);
    if tally.played() == 0 && args.only.is_none() && args.without.is_empty() {
        bail!("no recording is there; files end in .json, .jsonl or .jsonl.zst");
    }
    Ok(tally.exit())
}

/// Compares with the real scheduler, which plays the scenarios now.
fn against(peer: &Peer, args: &Args) -> Result<ExitCode> {
    find_tools()?;
    if args.hunt {
        let hunt = Hunt {
            peer,
            seeds: args.seeds.clone(),
            profile: args.profile,
            out: &args.found,
            minutes: args.minutes,
            json: args.json,
        };
        return hunt.run();
    }
    let (mut judge, mut tally) = (Judges::new(peer), Tally::default());
    let reference = Some(args.reference.unwrap_or(peer.reference));
    for path in &args.paths {
        let data = archive::data_folder(path, args.data.as_deref());
        archive::each(path, &mut |place, scenario| {
            let played = |scenario: Value| {
                if !args.wants(&tags(&scenario)) {
                    return Ok(None);
                }
                let recording = recorded(&mut judge, &scenario)?;
                let verdict = recording.play(&data, reference);
                Ok(Some((recording.name().to_owned(), verdict)))
            };
            match scenario.and_then(played) {
                Ok(Some((name, verdict))) => tally.record(place, &name, &verdict, args),
                Ok(None) => {}
                Err(error) => {
                    let verdict = Verdict::Broken(format!("{error:#}"));
                    tally.record(place, &place.to_string(), &verdict, args);
                }
            }
        })?;
    }
    tally.print(args.json);
    Ok(tally.exit())
}

/// What the real scheduler did. Where it failed on the way, a note says at what.
fn recorded(judge: &mut Judges<'_>, scenario: &Value) -> Result<Recording> {
    let Recorded { recording, failed } = judge.record(scenario)?;
    let recording = Recording::read(recording)?;
    if let Some(kind) = failed {
        let (name, kind) = (printable(recording.name()), printable(&kind));
        note(format_args!(
            "{name}: Hadoop failed, the rest is not played: {kind}"
        ));
    }
    Ok(recording)
}

/// The tags of a scenario that is not read yet.
fn tags(scenario: &Value) -> Vec<String> {
    let all = scenario["tags"].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Args {
    /// Whether recordings with these tags are played.
    fn wants(&self, tags: &[String]) -> bool {
        let only = self.only.as_ref().is_none_or(|tag| tags.contains(tag));
        let without = self.without.iter().any(|tag| tags.contains(tag));
        only && !without
    }
}

/// Recordings that are played side by side.
const BATCH: usize = 256;

/// A recording's place, its name and what became of it.
type Played = (RecordingPlace, String, Verdict);

/// Plays one recording, unless its tags are not wanted.
fn play(place: &RecordingPlace, value: Result<Value>, args: &Args, data: &Path) -> Vec<Played> {
    let verdicts = match value.and_then(Recording::read) {
        Ok(recording) if !args.wants(recording.tags()) => return Vec::new(),
        Ok(recording) => recording.play_all(data, args.reference),
        Err(error) => vec![(place.to_string(), Verdict::Broken(format!("{error:#}")))],
    };
    let placed = verdicts.into_iter();
    let placed = placed.map(|(name, verdict)| (place.clone(), name, verdict));
    placed.collect()
}

impl Tally {
    /// Plays recordings on all cores; shows and counts what became of them in their order.
    fn play(&mut self, batch: Vec<(RecordingPlace, Result<Value>)>, args: &Args, data: &Path) {
        let one = |(place, value)| play(&place, value, args, data);
        let played: Vec<Played> = batch.into_par_iter().flat_map_iter(one).collect();
        for (place, name, verdict) in &played {
            self.record(place, name, verdict, args);
        }
    }

    fn record(&mut self, place: &RecordingPlace, name: &str, verdict: &Verdict, args: &Args) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Deliberate(_) => self.deliberate += 1,
            Verdict::Failed { .. } | Verdict::Broken(_) => self.failed += 1,
        }
        let shown = if args.first_difference { 1 } else { 8 };
        verdict.print(place, name, args.json, shown);
    }

    fn played(&self) -> usize {
        self.passed + self.failed + self.deliberate
    }

    fn exit(&self) -> ExitCode {
        if self.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn print(&self, as_json: bool) {
        let Self {
            passed,
            failed,
            deliberate,
        } = self;
        if as_json {
            let all = json!({"passed": passed, "failed": failed, "deliberate": deliberate});
            line(format!("{all}"));
        } else {
            line(format!(
                "{passed} passed, {failed} failed, {deliberate} deliberate"
            ));
        }
    }
}
