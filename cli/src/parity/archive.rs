//! Recordings on disk: single files, lines, compressed lines, and folders of all three.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::configuration::Configuration;
use crate::aside::Aside;
use crate::check::STANDARD_INPUT;
use crate::output::Problem;

/// Where a recording stands.
#[derive(Clone, Debug)]
pub(super) struct RecordingPlace {
    pub(super) file: PathBuf,
    /// From 1, in a file of lines.
    pub(super) line: Option<usize>,
}

impl fmt::Display for RecordingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown(&self.file))?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

/// How messages name a path; `-` is standard input.
fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        return STANDARD_INPUT.to_owned();
    }
    path.display().to_string()
}

/// Takes a recording with its place.
pub(super) type OnRecording<'a> = dyn FnMut(&RecordingPlace, Result<Value>) + 'a;

/// Calls back with every recording below a path, files in order of their names.
pub(super) fn each(path: &Path, call: &mut OnRecording<'_>) -> Result<()> {
    let context = || format!("cannot read {}", shown(path));
    if path == Path::new("-") {
        return input(path, std::io::stdin().lock(), call).with_context(context);
    }
    if let Some(scene) = scene_of(path) {
        let place = RecordingPlace {
            file: path.to_owned(),
            line: None,
        };
        call(&place, scene);
        return Ok(());
    }
    if path.is_dir() {
        for entry in entries(path).with_context(context)? {
            if entry.is_dir() || Form::of(&entry).is_some() {
                each(&entry, call)?;
            }
        }
        return Ok(());
    }
    let file = File::open(path).with_context(context)?;
    match Form::of(path) {
        Some(Form::Lines) => lines(path, file, call),
        Some(Form::Compressed) => {
            lines(path, zstd::Decoder::new(file).with_context(context)?, call)
        }
        Some(Form::Single) | None => {
            single(path, BufReader::new(file), call);
            Ok(())
        }
    }
}

/// One recording.
fn single(path: &Path, file: impl Read, call: &mut OnRecording<'_>) {
    let value = serde_json::from_reader(file);
    let place = RecordingPlace {
        file: path.to_owned(),
        line: None,
    };
    call(&place, value.map_err(|error| not_json(path, 1, &error)));
}

/// Recordings without a name that shows their form: one a line where the first line is a whole one, else one.
fn input(path: &Path, mut input: impl BufRead, call: &mut OnRecording<'_>) -> Result<()> {
    let mut first = Vec::new();
    while first.trim_ascii().is_empty() {
        if input.read_until(b'\n', &mut first)? == 0 {
            return Ok(());
        }
    }
    let whole = serde_json::from_slice::<IgnoredAny>(&first).is_ok();
    let file = first.as_slice().chain(input);
    if whole {
        return lines(path, file, call);
    }
    single(path, file, call);
    Ok(())
}

/// The scene of a folder as one value: its inputs, with the recorded answers. Nothing when it is no folder of a
/// scene.
fn scene_of(path: &Path) -> Option<Result<Value>> {
    let (inputs, requests) = (path.join("inputs.json"), path.join("requests.jsonl"));
    if !(inputs.is_file() && requests.is_file()) {
        return None;
    }
    let read = || {
        let text = std::fs::read_to_string(&inputs);
        let text = text.with_context(|| format!("cannot read {}", inputs.display()))?;
        let mut scene: Value =
            serde_json::from_str(&text).map_err(|error| not_json(&inputs, 1, &error))?;
        let Some(fields) = scene.as_object_mut() else {
            return Err(Problem(format!("{}: no inputs of a scene", inputs.display())).into());
        };
        let mut answers = Vec::new();
        each(&requests, &mut |_, answer| answers.push(answer))?;
        let answers = answers.into_iter().collect::<Result<Vec<Value>>>()?;
        fields.insert("requests".to_owned(), Value::Array(answers));
        Ok(scene)
    };
    Some(read())
}

fn not_json(path: &Path, line: usize, error: &serde_json::Error) -> anyhow::Error {
    let mut problem = Problem::json(&shown(path), line, error);
    problem.0 += ", so this is not JSON";
    problem.into()
}

/// How a file holds recordings.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// One.
    Single,
    /// One a line.
    Lines,
    /// One a line, compressed.
    Compressed,
}

impl Form {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let forms = [
            (".json", Self::Single),
            (".jsonl", Self::Lines),
            (".jsonl.zst", Self::Compressed),
        ];
        let mut forms = forms.into_iter();
        forms.find_map(|(end, form)| name.ends_with(end).then_some(form))
    }
}

fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn lines(path: &Path, file: impl Read, call: &mut OnRecording<'_>) -> Result<()> {
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let number = index + 1;
        let place = RecordingPlace {
            file: path.to_owned(),
            line: Some(number),
        };
        let line = match line {
            Ok(line) => line,
            // The line is read to its end.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                call(&place, Err(Problem(format!("{place}: {error}")).into()));
                continue;
            }
            // What the decoder says of the bytes is no error of the system.
            Err(error) if error.raw_os_error().is_none() => {
                return Err(Problem(format!("{place}: {error}")).into());
            }
            Err(error) => return Err(error).with_context(|| place.to_string()),
        };
        if !line.trim().is_empty() {
            let value = serde_json::from_str(&line);
            call(
                &place,
                value.map_err(|error| not_json(path, number, &error)),
            );
        }
    }
    Ok(())
}

/// Where configuration files lie that recordings below `path` only name.
pub(super) fn data_folder(path: &Path, given: Option<&Path>) -> PathBuf {
    if let Some(given) = given {
        return given.to_owned();
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let beside = |above: &Path| above.join("data/capacity-scheduler-xml");
    let mut candidates = path.ancestors().skip(1).map(beside);
    let found = candidates.find(|candidate| candidate.is_dir());
    found.unwrap_or_else(|| PathBuf::from("../data/capacity-scheduler-xml"))
}

/// Writes the recordings below paths into one archive, one a line, each with the text of its
/// configuration.
pub(super) fn pack(
    paths: &[PathBuf],
    archive: &Path,
    data: Option<&Path>,
    force: bool,
) -> Result<()> {
    let context = || format!("cannot write {}", archive.display());
    let file = Aside::create(archive, force)?;
    let mut encoder = zstd::Encoder::new(file, 19).with_context(context)?;
    encoder.long_distance_matching(true).with_context(context)?;
    let mut written = Ok(());
    for path in paths {
        let data = data_folder(path, data);
        each(path, &mut |place, value| {
            if written.is_ok() {
                let line = value.and_then(|value| line_of(value, &data));
                written = line
                    .and_then(|line| Ok(encoder.write_all(line.as_bytes())?))
                    .with_context(|| format!("cannot pack {place}"));
            }
        })?;
    }
    written?;
    encoder.finish().with_context(context)?.finish()
}

fn line_of(mut value: Value, data: &Path) -> Result<String> {
    if let Some(object) = value.as_object_mut()
        && object.contains_key("file")
    {
        Configuration::inline(object, data)?;
    }
    Ok(format!("{value}\n"))
}
