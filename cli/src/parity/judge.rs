//! The real scheduler as a process: scenarios in, recordings out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use capsched::api::Reference;
use serde_json::Value;

/// Where the driver lies below the repository.
const DRIVER: &str = "perf/peers/hadoop/run.sh";

/// How long a scenario may take. Some steps of the real scheduler never end.
const PATIENCE: Duration = Duration::from_secs(300);

/// A release that the real scheduler is fetched in, as `hadoop:3.5.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    version: String,
    /// The rules that hold for it.
    pub(super) reference: Reference,
}

impl Peer {
    /// Reads `hadoop:VERSION`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let shown = text.escape_debug();
        let Some(version) = text.strip_prefix("hadoop:") else {
            return Err(format!("`{shown}` is no peer; write `hadoop:3.5.0`"));
        };
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let plain = version.split('.').count() == 3 && version.split('.').all(digits);
        match Reference::of_release(version).filter(|_| plain) {
            Some(reference) => Ok(Self {
                version: version.to_owned(),
                reference,
            }),
            None => Err(format!(
                "`{shown}` is not known here; there are releases of 3.4 and 3.5, as 3.5.0"
            )),
        }
    }
}

/// What the real scheduler did.
#[derive(Debug)]
pub(super) struct Recorded {
    /// The scenario with its `expect`s.
    pub(super) recording: Value,
    /// At what the scheduler failed in the step after the last one: the exception and who threw it.
    pub(super) failed: Option<String>,
}

/// Whether the tools run that the real scheduler needs.
///
/// # Errors
///
/// When a JDK or Maven is missing.
pub(crate) fn find_tools() -> Result<()> {
    for tool in ["java", "javac", "mvn"] {
        let probe = Command::new(tool)
            .arg("-version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !probe.is_ok_and(|status| status.success()) {
            bail!("skipped: `{tool}` does not run; the real scheduler needs a JDK 17 and Maven");
        }
    }
    Ok(())
}

/// The process. It ends when this is dropped.
#[derive(Debug)]
struct Judge {
    child: Child,
    input: Option<ChildStdin>,
    /// Its lines, read by a thread that ends with it.
    answers: Receiver<io::Result<String>>,
}

impl Judge {
    /// Builds the driver where it is not built, and starts it. With a log, that file gets what the
    /// driver says besides, traces of what fails in Hadoop among it.
    ///
    /// # Errors
    ///
    /// When the driver is missing or cannot be built.
    fn start(peer: &Peer, log: Option<&File>) -> Result<Self> {
        let script = script_above(DRIVER)?;
        let mut command = Command::new(&script);
        command.args(["--judge", &peer.version, "--lines"]);
        if let Some(log) = log {
            let log = log.try_clone().context("the log cannot be written")?;
            command.arg("--traces").stderr(log);
        }
        let started = Self::over(&mut command);
        started.with_context(|| format!("cannot run {}", script.display()))
    }

    /// A process that answers a line for each line.
    fn over(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the driver has no output")?;
        let (lines, answers) = mpsc::channel();
        let reader = thread::Builder::new().name("judge".to_owned());
        let read = move || {
            for line in BufReader::new(output).lines() {
                if lines.send(line).is_err() {
                    break;
                }
            }
        };
        reader.spawn(read).context("a thread cannot be started")?;
        Ok(Self {
            child,
            input,
            answers,
        })
    }

    /// The next line. A process that takes too long is ended.
    fn answer(&mut self, patience: Duration) -> Result<String> {
        match self.answers.recv_timeout(patience) {
            Ok(line) => line.context("the driver's answer cannot be read"),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait().context("the driver does not end")?;
                bail!("the driver has ended without an answer ({status})")
            }
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().context("the driver cannot be ended")?;
                bail!("the driver gave no answer in {} s", patience.as_secs())
            }
        }
    }

    /// What the real scheduler does on a scenario: the same with its `expect`s.
    ///
    /// # Errors
    ///
    /// When the process has ended, or cannot play the scenario.
    fn record(&mut self, scenario: &Value) -> Result<Recorded> {
        let input = self.input.as_mut().context("the driver takes no input")?;
        writeln!(input, "{scenario}").context("the driver has ended")?;
        input.flush().context("the driver has ended")?;
        let line = self.answer(PATIENCE)?;
        let mut recording: Value = serde_json::from_str(&line).context("no recording")?;
        let mut removed = |key: &str| {
            let value = recording.as_object_mut().and_then(|of| of.remove(key));
            value.map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
        };
        let (fault, kind) = (removed("fault"), removed("fault_kind"));
        let before = recording["steps"].as_array().map_or(0, Vec::len);
        match fault {
            Some(fault) if before == 0 => bail!("the real scheduler fails: {fault}"),
            // What it did before is as good as any recording.
            fault => Ok(Recorded {
                recording,
                failed: kind.or(fault),
            }),
        }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // Without input it ends by itself.
        self.input = None;
        if let Err(error) = self.child.wait() {
            crate::output::note(format_args!("the driver did not end: {error}"));
        }
    }
}

/// Processes by the number of resource types: parts of Hadoop keep vectors of the first
/// configuration that they see.
#[derive(Debug)]
pub(super) struct Judges<'a> {
    peer: &'a Peer,
    /// What the processes say besides, with its path.
    log: Option<(PathBuf, File)>,
    by_types: BTreeMap<usize, Judge>,
}

impl<'a> Judges<'a> {
    /// No process yet.
    pub(super) const fn new(peer: &'a Peer) -> Self {
        Self {
            peer,
            log: None,
            by_types: BTreeMap::new(),
        }
    }

    /// No process yet. What they say besides goes to a file, which is new.
    ///
    /// # Errors
    ///
    /// When the file cannot be created.
    pub(super) fn logging(peer: &'a Peer, log: &Path) -> Result<Self> {
        let file = File::create(log);
        let file = file.with_context(|| format!("cannot create {}", log.display()))?;
        Ok(Self {
            log: Some((log.to_owned(), file)),
            ..Self::new(peer)
        })
    }

    /// A new process.
    fn process(&self) -> Result<Judge> {
        Judge::start(self.peer, self.log.as_ref().map(|(_, file)| file))
    }

    /// Starts the process for scenarios with so many resource types.
    ///
    /// # Errors
    ///
    /// When none starts here.
    pub(super) fn start(&mut self, types: usize) -> Result<()> {
        let judge = self.process()?;
        self.by_types.insert(types, judge);
        Ok(())
    }

    /// As [`Judge::record`]. A process that fails is replaced at the next call.
    pub(super) fn record(&mut self, scenario: &Value) -> Result<Recorded> {
        let types = scenario["resource_types"].as_array().map_or(0, Vec::len);
        let mut judge = match self.by_types.remove(&types) {
            Some(judge) => judge,
            None => self.process()?,
        };
        let recording = judge.record(scenario).map_err(|error| match &self.log {
            Some((path, _)) => anyhow!("{error:#}; see {}", path.display()),
            None => error,
        })?;
        self.by_types.insert(types, judge);
        Ok(recording)
    }
}

/// A script of the repository by its path there, from here or a folder above.
///
/// # Errors
///
/// When there is none.
pub(crate) fn script_above(path: &str) -> Result<PathBuf> {
    let here = std::env::current_dir().context("there is no current folder")?;
    let mut above = here.ancestors().map(|folder: &Path| folder.join(path));
    above
        .find(|script| script.is_file())
        .with_context(|| format!("no {path} here or above; run this inside the repository"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_driver_that_never_answers_is_ended() {
        let mut command = Command::new("sleep");
        let mut judge = Judge::over(command.arg("1000")).unwrap();
        let error = judge.answer(Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("no answer"), "{error}");
        // Who waits for its end does not wait for ever.
        drop(judge);
        let mut judge = Judge::over(&mut Command::new("true")).unwrap();
        let error = judge.answer(PATIENCE).unwrap_err();
        assert!(error.to_string().contains("has ended"), "{error}");
        // As a JVM without memory ends, in the middle of an answer.
        let mut failing = Command::new("sh");
        failing.args(["-c", "read line; exit 3"]);
        let mut judge = Judge::over(&mut failing).unwrap();
        let error = judge.record(&Value::Null).unwrap_err();
        assert!(error.to_string().contains("(exit status: 3)"), "{error}");
        // A scheduler that fails at a later step says by what.
        let answer = r#"{"steps":[{}],"fault":"a.B: c","fault_kind":"B in C.d"}"#;
        let mut judge =
            Judge::over(Command::new("sh").args(["-c", "read line; echo $0", answer])).unwrap();
        let recorded = judge.record(&Value::Null).unwrap();
        assert_eq!(recorded.failed.as_deref(), Some("B in C.d"));
        assert_eq!(recorded.recording, serde_json::json!({"steps": [{}]}));
        let mut judge = Judge::over(Command::new("echo").arg("{}")).unwrap();
        assert_eq!(judge.answer(PATIENCE).unwrap(), "{}");
    }

    #[test]
    fn peers_are_releases_of_known_references() {
        let peer = Peer::read("hadoop:3.5.0").map(|peer| peer.reference);
        assert_eq!(peer, Ok(Reference::Hadoop35));
        for wrong in [
            "3.5.0",
            "hadoop:",
            "hadoop:3.5",
            "hadoop:2.10.1",
            "hadoop:3.4.$(x)",
        ] {
            assert!(Peer::read(wrong).is_err(), "{wrong}");
        }
    }
}
