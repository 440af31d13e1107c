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

/// What a line of Hadoop's driver says.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PeerLine {
    pub(crate) per_second: u64,
    pub(crate) scheduling_per_second: u64,
    pub(crate) placed: u64,
    pub(crate) complete: bool,
}

/// Hadoop's driver, running in its own JVM; between two rounds none of its threads works.
pub(crate) struct Peer {
    child: Child,
    orders: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts a JVM and lets it warm up.
    pub(crate) fn start(
        shape: &Shape,
        variant: &Variant,
        warmup: usize,
        rounds: usize,
    ) -> Result<Self> {
        let seconds = match shape.run {
            Run::Fill { .. } if variant.mode == ModeName::Global => "10",
            Run::Fill { .. } => "30",
            _ => "3",
        };
        let mut child = Command::new(folder().join("run.sh"))
            .args(["--shape", &shape.name, "--paced", "true"])
            .args(["--warmup", &warmup.to_string()])
            .args(["--rounds", &rounds.to_string(), "--seconds", seconds])
            .args(variant.options)
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
        let mut found = None;
        for line in &mut self.lines {
            let line = line?;
            if line.contains("\"ready\"") {
                return found.context("Hadoop's driver ended a round without a figure");
            }
            if line.starts_with('{') {
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

/// Rounds until the JVM has compiled what matters, as far as patience goes.
pub(crate) fn normal_warmup(shape: &Shape, variant: &Variant) -> usize {
    match (variant.mode, shape.target()) {
        (ModeName::Global, _) => 1,
        (_, ..50_000) => 6,
        (_, _) => 2,
    }
}

/// The first of the tools that Hadoop's driver needs and that is not there.
pub(crate) fn missing_tool() -> Option<&'static str> {
    ["java", "javac", "mvn"].into_iter().find(|tool| {
        let version = Command::new(tool)
            .arg("-version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        !version.is_ok_and(|status| status.success())
    })
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
