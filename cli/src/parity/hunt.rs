//! Random scenarios on the real scheduler and here; what differs is shrunk and kept.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::simulator::Random;
use capsched::time::{Clock, SystemClock};
use serde_json::{Value, json};

use super::Recording;
use super::compare::Difference;
use super::generate::admissions::{access, mapping};
use super::generate::{Profile, scenario};
use super::judge::{Judges, Peer, Recorded};
use super::progress::{HuntCounts, HuntProgress};
use super::verdict::Verdict;
use crate::output::{PROBLEM, line, note, printable};

/// Tries at most so many smaller scenarios for one that differs.
const SHRINKS: usize = 120;

/// What to hunt with.
#[derive(Clone, Debug)]
pub(super) struct Hunt<'a> {
    pub(super) peer: &'a Peer,
    pub(super) seeds: Range<u64>,
    /// One profile, or all in turn.
    pub(super) profile: Option<Profile>,
    /// Where scenarios that differ go.
    pub(super) out: &'a Path,
    /// Ends the hunt after so many minutes.
    pub(super) minutes: Option<u64>,
    pub(super) json: bool,
}

/// What was met so far.
#[derive(Debug, Default)]
struct Account {
    scenarios: u64,
    steps: usize,
    /// Scenarios that could not be played.
    broken: u64,
    /// Scenarios that ended where the real scheduler failed, by the exception.
    failed: BTreeMap<String, u64>,
    /// Differences by the kind of step and the place.
    kinds: BTreeMap<String, u64>,
    files: Vec<PathBuf>,
}

/// The first difference: number of the step, its kind with the place, and the difference.
struct Found {
    step: usize,
    kind: String,
    difference: Difference,
}

impl Hunt<'_> {
    /// Plays the seeds, and says what differed.
    pub(super) fn run(&self) -> Result<ExitCode> {
        std::fs::create_dir_all(self.out)
            .with_context(|| format!("cannot create {}", self.out.display()))?;
        let log = self.out.join("driver.log");
        let mut judges = Judges::logging(self.peer, &log)?;
        // Where no process starts, each seed would fail by that.
        judges.start(2)?;
        let (clock, mut account) = (SystemClock::new(), Account::default());
        let mut progress = HuntProgress::new(&self.seeds, self.minutes);
        let start = clock.now_ms();
        for seed in self.seeds.clone() {
            let ms = clock.now_ms().saturating_sub(start);
            progress.show(account.counts(), ms);
            if self.minutes.is_some_and(|most| ms / 60_000 >= most) {
                break;
            }
            self.play(seed, &mut judges, &mut account, &progress)?;
        }
        drop(progress);
        account.print(self.json, clock.now_ms().saturating_sub(start), &log);
        let clean = account.files.is_empty() && account.broken == 0;
        Ok(ExitCode::from(if clean { 0 } else { PROBLEM }))
    }

    fn play(
        &self,
        seed: u64,
        judge: &mut Judges<'_>,
        account: &mut Account,
        progress: &HuntProgress,
    ) -> Result<()> {
        let profile = self.profile.unwrap_or_else(|| in_turn(seed));
        let drawn = drawn(seed, profile);
        account.scenarios += 1;
        let broken = |error: anyhow::Error, account: &mut Account, scenario: &Value| {
            progress.beside(|| note(format_args!("{} {seed}: {error:#}", profile.name())));
            account.broken += 1;
            self.keep(scenario, &format!("broken-{}-{seed}", profile.name()))
        };
        let recorded = match judge.record(&drawn) {
            Ok(recorded) => recorded,
            Err(error) => return broken(error, account, &drawn),
        };
        account.note_failure(recorded.failed);
        let recording = recorded.recording;
        account.steps += count(&recording);
        let found = match self.difference(&recording) {
            Ok(None) => return Ok(()),
            Ok(Some(found)) => found,
            Err(error) => return broken(error, account, &recording),
        };
        *account.kinds.entry(found.kind.clone()).or_default() += 1;
        let (small, found) = self.shrunk(recording, found, judge);
        let name = format!("{}-{seed}", profile.name());
        progress.beside(|| {
            line(format_args!(
                "{name} at step {}: {}",
                found.step, found.difference
            ));
        });
        account.files.push(self.out.join(format!("{name}.json")));
        self.keep(&small, &name)
    }

    /// The first difference between a recording and what happens here.
    fn difference(&self, recording: &Value) -> Result<Option<Found>> {
        let read = Recording::read(recording.clone())?;
        let (step, differences) = match read.play(Path::new("."), Some(self.peer.reference)) {
            Verdict::Passed | Verdict::Deliberate(_) => return Ok(None),
            Verdict::Broken(error) => bail!("{}: {error}", read.name()),
            Verdict::Failed { step, differences } => (step, differences),
        };
        let Some(difference) = differences.into_iter().next() else {
            return Ok(None);
        };
        let (number, input) = step.unwrap_or_default();
        let what = input.get("do").or(input.get("check"));
        let what = what.and_then(Value::as_str).unwrap_or("start");
        Ok(Some(Found {
            step: number,
            kind: format!("{what} {}", difference.kind()),
            difference,
        }))
    }

    /// A smaller scenario that differs in the same way: steps are left out, in halves, quarters, …
    fn shrunk(&self, recording: Value, found: Found, judge: &mut Judges<'_>) -> (Value, Found) {
        let (mut small, mut found) = (recording, found);
        cut(&mut small, found.step);
        let mut size = (found.step / 2).max(1);
        let mut tries = 0;
        while size > 0 && tries < SHRINKS {
            let mut from = 0;
            while from + size < count(&small) && tries < SHRINKS {
                tries += 1;
                let mut less = small.clone();
                if let Some(steps) = less[list(&small)].as_array_mut() {
                    steps.drain(from..from + size);
                }
                let Ok(Recorded { recording, .. }) = judge.record(&less) else {
                    return (small, found);
                };
                match self.difference(&recording) {
                    Ok(Some(same)) if same.kind == found.kind => {
                        (small, found) = (recording, same);
                        cut(&mut small, found.step);
                    }
                    _ => from += size,
                }
            }
            size /= 2;
        }
        (small, found)
    }

    /// Writes a recording with one step a line.
    fn keep(&self, recording: &Value, name: &str) -> Result<()> {
        let mut header = recording.clone();
        header["name"] = json!(name);
        let list = list(recording);
        let steps = header[list].take();
        if let Some(object) = header.as_object_mut() {
            object.remove(list);
        }
        let header = header.to_string();
        let open = header.strip_suffix('}').unwrap_or(&header);
        let steps = steps.as_array().into_iter().flatten();
        let lines: Vec<String> = steps.map(Value::to_string).collect();
        let text = format!("{open},\n\"{list}\": [\n{}\n]}}\n", lines.join(",\n"));
        let path = self.out.join(format!("{name}.json"));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The profile of a seed where all come in turn.
fn in_turn(seed: u64) -> Profile {
    let all = Profile::ALL.map(|(profile, _)| profile);
    all[usize::try_from(seed).unwrap_or(0) % all.len()]
}

/// The scenario of a seed.
fn drawn(seed: u64, profile: Profile) -> Value {
    let mut random = Random::new(seed);
    let numbers = |random: &mut Random, n: u64| -> Vec<u16> {
        let number = |_| u16::try_from(random.below(1 << 16)).unwrap_or(0);
        (0..n).map(number).collect()
    };
    let header = numbers(&mut random, 300);
    let steps = random.between(20, 160);
    let steps: Vec<Vec<u16>> = (0..steps).map(|_| numbers(&mut random, 24)).collect();
    let mut drawn = match profile {
        Profile::Mappings => mapping(header, &steps),
        Profile::Access => access(header, &steps),
        _ => scenario(profile, true, header, &steps),
    };
    drawn["source"] = json!(format!("random:{}:{seed}", profile.name()));
    drawn
}

fn count(recording: &Value) -> usize {
    recording[list(recording)].as_array().map_or(0, Vec::len)
}

/// The field with what is done or asked.
fn list(recording: &Value) -> &'static str {
    let mut lists = ["submissions", "checks"].into_iter();
    lists
        .find(|list| recording.get(list).is_some())
        .unwrap_or("steps")
}

/// Drops what comes after a step.
fn cut(recording: &mut Value, step: usize) {
    let list = list(recording);
    if let Some(steps) = recording[list].as_array_mut() {
        steps.truncate(step + 1);
    }
}

impl Account {
    fn note_failure(&mut self, kind: Option<String>) {
        if let Some(kind) = kind {
            *self.failed.entry(kind).or_default() += 1;
        }
    }

    fn counts(&self) -> HuntCounts {
        HuntCounts {
            scenarios: self.scenarios,
            steps: self.steps,
            differences: self.files.len(),
        }
    }

    fn print(&self, as_json: bool, ms: u64, log: &Path) {
        if as_json {
            line(json!({
                "scenarios": self.scenarios, "steps": self.steps, "broken": self.broken,
                "failed": self.failed.values().sum::<u64>(), "failures": self.failed, "log": log,
                "differences": self.kinds, "files": self.files, "ms": ms,
            }));
            return;
        }
        for (kind, n) in &self.kinds {
            line(format_args!("{n:>6}  {kind}"));
        }
        for (kind, n) in &self.failed {
            line(format_args!("{n:>6}  Hadoop: {}", printable(kind)));
        }
        line(format_args!(
            "{} scenarios, {} steps in {} s: {} differ, {} could not be played; the real scheduler \
             failed in {} (traces: {})",
            self.scenarios,
            self.steps,
            ms / 1000,
            self.files.len(),
            self.broken,
            self.failed.values().sum::<u64>(),
            log.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_scenario_of_its_profile_each_time() {
        for (profile, name) in Profile::ALL {
            let once = drawn(7, profile);
            assert_eq!(once, drawn(7, profile));
            assert_eq!(once["source"], format!("random:{name}:7"));
            assert!(Recording::read(once).is_ok(), "{name}");
        }
    }
}
