//! Hadoop's scheduler in a JVM, run round by round by the driver in `perf/peers/hadoop`.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::ModeName;
use crate::shape::{Run, Shape};

/// A way to run Hadoop's scheduler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) mode: ModeName,
    options: &'static [&'static str],
}

/// The settings with which Hadoop was fastest in each mode; the first of a mode are ours too.
pub(crate) const VARIANTS: [Variant; 5] = [
    Variant {
        name: "heartbeat",
        mode: ModeName::Heartbeat,
        options: &["--mode", "heartbeat"],
    },
    Variant {
        name: "heartbeat, 100 a heartbeat",
        mode: ModeName::Heartbeat,
        options: &["--mode", "heartbeat", "--offswitch", "100"],
    },
    Variant {
        name: "asynchronous, 1 thread",
        mode: ModeName::Asynchronous,
        options: &["--mode", "async", "--interval-ms", "0"],
    },
    Variant {
        name: "asynchronous, 2 threads",
        mode: ModeName::Asynchronous,
        options: &["--mode", "async", "--interval-ms", "0", "--threads", "2"],
    },
    Variant {
        name: "global, 1 thread",
        mode: ModeName::Global,
        options: &["--mode", "global", "--interval-ms", "0", "--sort-ms", "100"],
    },
];

/// The clock that Hadoop's driver takes its rates by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerClock {
    /// That of the wall.
    Wall,
    /// Processor time of the threads that decide and commit, in turn, since whoever decides waits for the locks of a
    /// commit. Other programs on the machine count less, and collections of garbage do not count.
    Threads,
}

impl PeerClock {
    const fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Threads => "threads",
        }
    }
}

/// What a line of Hadoop's driver says.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PeerLine {
    pub(crate) per_second: u64,
    pub(crate) scheduling_per_second: u64,
    pub(crate) placed: u64,
    /// Proposals that its commits took, and those that they refused.
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    /// Time of the threads that decide; 0 by the clock on the wall.
    #[serde(default)]
    pub(crate) deciding_ns: u64,
    /// Time of a heartbeat without applications; 0 where it was not measured.
    #[serde(default)]
    pub(crate) idle_heartbeat_ns: u64,
    pub(crate) complete: bool,
}

/// What it says of heartbeats without applications.
#[derive(Clone, Copy, Debug, Deserialize)]
struct IdleLine {
    idle_heartbeat_ns: u64,
}

/// Hadoop's driver, running in its own JVM; between two rounds none of its threads works.
pub(crate) struct Peer {
    child: Child,
    orders: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts a JVM and lets it warm up; rates of its rounds are by `clock`.
    pub(crate) fn start(
        shape: &Shape,
        variant: &Variant,
        rounds: (usize, usize),
        clock: PeerClock,
    ) -> Result<Self> {
        Self::start_bounded(shape, variant, rounds, clock, None)
    }

    /// The same, where a round takes at most so many seconds.
    pub(crate) fn start_bounded(
        shape: &Shape,
        variant: &Variant,
        (warmup, rounds): (usize, usize),
        clock: PeerClock,
        longest_s: Option<u32>,
    ) -> Result<Self> {
        let mut command = command(shape, variant, (warmup, rounds), clock);
        if let Some(longest_s) = longest_s {
            // The last one counts.
            command.args(["--seconds", &longest_s.to_string()]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("perf/peers/hadoop/run.sh")?;
        let orders = child.stdin.take().context("the driver takes orders")?;
        let output = child.stdout.take().context("the driver has output")?;
        let lines = BufReader::new(output).lines();
        let mut peer = Self {
            child,
            orders,
            lines,
        };
        for _ in 0..warmup {
            peer.result()?;
        }
        Ok(peer)
    }

    /// Lets it run one round.
    pub(crate) fn round(&mut self) -> Result<PeerLine> {
        self.orders.write_all(b"go\n")?;
        self.orders.flush()?;
        self.result()
    }

    /// The figures of a round, once the driver has tidied up after it.
    fn result(&mut self) -> Result<PeerLine> {
        let mut found: Option<PeerLine> = None;
        for line in &mut self.lines {
            let line = line?;
            if line.contains("\"ready\"") {
                return found.context("Hadoop's driver ended a round without a figure");
            }
            if line.contains("\"idle_heartbeat_ns\"") {
                let idle: IdleLine = serde_json::from_str(&line).with_context(|| line.clone())?;
                if let Some(found) = &mut found {
                    found.idle_heartbeat_ns = idle.idle_heartbeat_ns;
                }
            } else if line.starts_with('{') {
                found = Some(serde_json::from_str(&line).with_context(|| line.clone())?);
            }
        }
        bail!("Hadoop's driver ended before its rounds did; its messages are above")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The command that runs Hadoop's driver.
fn command(
    shape: &Shape,
    variant: &Variant,
    (warmup, rounds): (usize, usize),
    clock: PeerClock,
) -> Command {
    let seconds = match shape.run {
        Run::Fill { .. } if variant.mode == ModeName::Global => "10",
        Run::Fill { .. } => "30",
        _ => "3",
    };
    let mut command = Command::new(folder().join("run.sh"));
    command
        .args(["--shape", &shape.name, "--paced", "true"])
        .args(["--warmup", &warmup.to_string()])
        .args(["--rounds", &rounds.to_string(), "--seconds", seconds])
        .args(["--clock", clock.name()])
        .args(variant.options);
    if shape.name.starts_with('K') {
        command.args(["--idle-ms", IDLE_MS]);
    }
    command
}

/// Rounds until the JVM has compiled what matters, as far as patience goes.
pub(crate) fn normal_warmup(shape: &Shape, variant: &Variant) -> usize {
    match (variant.mode, shape.target()) {
        (ModeName::Global, _) => 1,
        (_, ..50_000) => 6,
        (_, _) => 2,
    }
}

/// Shapes that Hadoop's driver has under the same names.
pub(crate) const SHAPES: [&str; 13] = [
    "S1", "S2", "S3", "S4", "S4U", "S5", "W1", "W1-50k", "W6", "W7", "K500", "K2000", "K20000",
];

/// Length of the idle heartbeats after a round of a shape that costs come from, in ms.
const IDLE_MS: &str = "300";

/// Oldest JDK that compiles the driver and runs it.
const LEAST_JDK: u32 = 17;

/// What Hadoop's driver needs and is not there; nothing when it can be built and run.
pub(crate) fn missing_tool() -> Option<String> {
    ["java", "javac", "mvn"].into_iter().find_map(|tool| {
        let output = Command::new(tool).arg("-version").output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            return Some(format!("`{tool}` cannot be run"));
        };
        if tool == "mvn" {
            return None;
        }
        // Old ones print it on standard error.
        let printed = [output.stdout, output.stderr].concat();
        let release = release(&String::from_utf8_lossy(&printed));
        let old = release.filter(|&release| release < LEAST_JDK)?;
        Some(format!("`{tool}` is of version {old}"))
    })
}

/// The release that a tool of a JDK prints, 8 for `1.8.0`; nothing where it prints none.
fn release(printed: &str) -> Option<u32> {
    let numbers = |text: &str| -> Option<u32> {
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        let first = parts.next()?.parse().ok()?;
        match first {
            1 => parts.next()?.parse().ok(),
            release => Some(release),
        }
    };
    // `openjdk version "17.0.15"`, `javac 17.0.15`, with lines about options before it in some.
    printed
        .split(|c: char| c.is_whitespace() || c == '"')
        .find_map(numbers)
}

/// Compiles the driver; the first time Maven fetches Hadoop.
pub(crate) fn build() -> Result<()> {
    let status = Command::new(folder().join("run.sh"))
        .arg("--build-only")
        .status()
        .context("perf/peers/hadoop/run.sh")?;
    ensure!(
        status.success(),
        "Hadoop's driver could not be built; Maven's messages are above"
    );
    Ok(())
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers/hadoop")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_a_jdk_is_read_from_what_its_tools_tell() {
        for (printed, expected) in [
            ("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK", Some(17)),
            ("java version \"1.8.0_392\"", Some(8)),
            ("openjdk version \"21\" 2023-09-19", Some(21)),
            ("openjdk version \"22-ea\"", Some(22)),
            ("javac 11.0.2", Some(11)),
            (
                "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njavac 17.0.1",
                Some(17),
            ),
            ("no version", None),
        ] {
            assert_eq!(release(printed), expected, "{printed}");
        }
    }
}
