//! What repeats a recorded run: its command line, the folder it was given in, the files it read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::interrupt::{INTERRUPTED, MARKERS};
use crate::output::{Problem, note};
use crate::play::{Cluster, NamedCosts, Row, Scene, Timing, Trace};
use crate::{Cli, Command, run_format};

/// A command line that makes the same run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recipe {
    /// The arguments, the program's name first.
    command: Vec<String>,
    /// The folder that relative paths are meant from.
    folder: String,
    /// The folder of the column, for a run of `compare`.
    #[serde(default)]
    pub(crate) column: Option<String>,
    /// The files that were read.
    files: Vec<FileMark>,
}

/// A file as it was when the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    path: String,
    bytes: u64,
    hash: String,
}

/// Everything that a run is played with.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Settings and nodes.
    pub(crate) cluster: Cluster,
    /// The jobs.
    pub(crate) trace: Trace,
    /// Mode and engine.
    pub(crate) row: Row,
    /// Periods of virtual time.
    pub(crate) timing: Timing,
    /// What the scheduler's work costs.
    pub(crate) costs: NamedCosts,
}

impl Staged {
    /// A run whose scheduler works in no virtual time.
    pub(crate) fn without_costs(
        (cluster, trace): (Cluster, Trace),
        row: Row,
        timing: Timing,
    ) -> Result<Self> {
        Ok(Self {
            cluster,
            trace,
            row,
            timing,
            costs: NamedCosts::named("none", None)?,
        })
    }

    /// The scene of the run.
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            cluster: &self.cluster,
            trace: &self.trace,
            timing: self.timing,
            costs: self.costs.costs(),
            tries: false,
            says_end: true,
        }
    }
}

impl Recipe {
    /// The recipe of this process, which reads `files`; nothing where standard input is one of them
    /// or something has no name in Unicode: such a run cannot be repeated.
    pub(crate) fn of_this_run<'a>(files: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let text = |argument: std::ffi::OsString| argument.into_string().ok();
        let command: Option<Vec<String>> = std::env::args_os().map(text).collect();
        let marks: Option<Vec<FileMark>> = files.map(FileMark::of).collect();
        Some(Self {
            command: command?,
            folder: text(std::env::current_dir().ok()?.into_os_string())?,
            column: None,
            files: marks?,
        })
    }

    /// Reads the inputs again.
    fn stage(&self) -> Result<Staged> {
        let gone = || format!("{}: the run was recorded from this folder", self.folder);
        std::env::set_current_dir(&self.folder).with_context(gone)?;
        for mark in &self.files {
            mark.check()?;
        }
        let cli = Cli::try_parse_from(&self.command);
        let cli = cli.map_err(|error| {
            let first = error.to_string();
            let first = first.lines().next().unwrap_or_default().to_owned();
            anyhow!("the command line of the run is not understood any more: {first}")
        })?;
        match (cli.command, &self.column) {
            (Some(Command::Replay(args)), None) => args.stage(),
            (Some(Command::Compare(args)), Some(column)) => args.stage(column),
            _ => Err(anyhow!("the run was not made by replay or compare")),
        }
    }
}

impl FileMark {
    /// Nothing for what cannot be read twice.
    fn of(path: &Path) -> Option<Self> {
        let shown = path.to_str()?.to_owned();
        let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
        let (bytes, hash) = is_file.then(|| hashed(path).ok()).flatten()?;
        Some(Self {
            path: shown,
            bytes,
            hash,
        })
    }

    fn check(&self) -> Result<()> {
        let (bytes, hash) = hashed(Path::new(&self.path))
            .with_context(|| format!("{}: the run was recorded with this file", self.path))?;
        if (bytes, &hash) == (self.bytes, &self.hash) {
            return Ok(());
        }
        Err(anyhow::Error::new(Problem(format!(
            "{} changed since the run was recorded, so that the run cannot be repeated; record it anew \
             by `capsched replay ... --out`",
            self.path
        ))))
    }
}

/// Length and FNV-1a of a file.
fn hashed(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut length, mut hash) = (0, 0xcbf2_9ce4_8422_2325_u64);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((length, format!("{hash:016x}")));
        }
        length += read as u64;
        for byte in &buffer[..read] {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A recorded run.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Its folder.
    pub(crate) path: PathBuf,
    /// What `run.json` holds.
    pub(crate) about: Value,
}

/// The columns of a comparison for a message.
fn columns_of(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| entry.path().join(MARKERS[0]).is_file());
    let mut names: Vec<String> = runs
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    match names.is_empty() {
        true => String::new(),
        false => format!(": {}", names.join(", ")),
    }
}

/// That a run did not come to its end, where its folder says so.
fn interruption(folder: &Path) -> &'static str {
    match folder.join(INTERRUPTED).is_file() {
        true => ", since it was interrupted; play it again with --force",
        false => "",
    }
}

impl Recorded {
    /// Opens the folder of a run.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let path = std::path::absolute(path).with_context(|| shown.to_string())?;
        if path.join(MARKERS[1]).is_file() {
            let problem = format!(
                "{shown} holds the columns of a comparison; name the folder of one of them{}",
                columns_of(&path)
            );
            return Err(anyhow::Error::new(Problem(problem)));
        }
        let file = path.join(MARKERS[0]);
        let text = std::fs::read_to_string(&file).with_context(|| {
            format!(
                "{shown} is no folder of a whole run{}: {} cannot be read",
                interruption(&path),
                file.display()
            )
        })?;
        let about: Value = serde_json::from_str(&text)
            .map_err(|error| Problem::json(&file.display().to_string(), 1, &error))?;
        run_format::check(&file.display().to_string(), &about)?;
        if about["capsched"].is_null() {
            let problem = format!("{}: no document of a run", file.display());
            return Err(anyhow::Error::new(Problem(problem)));
        }
        Ok(Self { path, about })
    }

    /// Reads the inputs of the run again. Afterwards relative paths mean those of the run.
    pub(crate) fn stage(&self) -> Result<Staged> {
        let shown = self.path.display();
        let refused = |why: &str| anyhow::Error::new(Problem(format!("{shown} {why}")));
        let recipe = &self.about["settings"]["repeat"];
        if recipe.is_null() {
            return Err(refused(
                "cannot be repeated: an input was standard input, or an older version recorded it; record \
                 it anew by `capsched replay ... --out`",
            ));
        }
        let recipe: Recipe = serde_json::from_value(recipe.clone()).map_err(|error| {
            refused(&format!(
                "cannot be repeated: run.json: settings.repeat: {error}"
            ))
        })?;
        let staged = recipe.stage()?;
        if !staged.row.sequential {
            return Err(refused(
                "was made by real threads, whose runs do not repeat; record it without --threads",
            ));
        }
        let built = &self.about["commit"];
        if *built != env!("CAPSCHED_COMMIT") {
            note(format_args!(
                "warning: {shown} was recorded by another build ({}); decisions may differ",
                built.as_str().unwrap_or("unknown")
            ));
        }
        Ok(staged)
    }
}
