//! `perf replay`: how long the command needs for a cluster's day, as its users run it.
//!
//! Each row is a trace that `capsched trace generate` makes, or a file; each mode plays it in a
//! process of its own, so that the memory is that of one run. The auditor is on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use capsched::time::{Clock, SystemClock};
use serde::Serialize;
use serde_json::Value;

use crate::output::{aside, say};
use crate::record::Origin;
use crate::stats::{Spread, grouped};
use crate::{ModeName, limits, results};

/// Between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);

/// Arguments of `perf replay`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Rows, separated by commas: R1 to R5, and G100, G1000, G10000, G100000 for the growth with the
    /// number of nodes.
    #[arg(long, value_delimiter = ',', default_value = "R1,R2,R3,R4,R5")]
    rows: Vec<String>,
    /// Modes, separated by commas.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "heartbeat,asynchronous,global"
    )]
    modes: Vec<ModeName>,
    /// Longest time of one run in seconds; a longer one is ended and counts as out of time.
    #[arg(long, default_value_t = 300, value_parser = limits::seconds())]
    seconds: u64,
    /// How often each row is played in each mode; times are medians with the least and the greatest.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// The file of R3: LCG-2005-1 in the Standard Workload Format. R3 is left out without it.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "../shared/data/swf/LCG-2005-1.swf.gz"
    )]
    lcg: PathBuf,
    /// The command; beside this program unless given.
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// Play without the auditor's judgement, to learn what it costs.
    #[arg(long)]
    unaudited: bool,
    /// Judge the runs by the bounds of the rows; one that is out of them is a failure.
    #[arg(long)]
    check: bool,
    /// Prints one JSON object a run.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
}

/// A trace and what a run of it may take.
#[derive(Clone, Copy, Debug)]
struct ReplayRow {
    name: &'static str,
    /// Arguments of `trace generate`; empty for the file of R3.
    generate: &'static [&'static str],
    /// Longest run in ms, and most memory in MiB.
    floor_ms: u64,
    floor_mib: u64,
}

/// All rows. Bounds are floors that two cores must hold; those of the growth are those of R5.
const ROWS: [ReplayRow; 9] = [
    row("R1", &["--jobs", "2000"], 1_000, 1024),
    row(
        "R2",
        &[
            "--jobs", "20000", "--hours", "6", "--nodes", "1000", "--users", "400",
        ],
        15_000,
        1024,
    ),
    row("R3", &[], 10_000, 1024),
    row(
        "R4",
        &[
            "--jobs", "200000", "--hours", "24", "--nodes", "10000", "--users", "4000",
        ],
        180_000,
        2048,
    ),
    row(
        "R5",
        &[
            "--jobs", "22400", "--hours", "1", "--nodes", "100000", "--users", "4000",
        ],
        120_000,
        2048,
    ),
    row(
        "G100",
        &["--jobs", "22", "--hours", "1", "--nodes", "100"],
        120_000,
        2048,
    ),
    row(
        "G1000",
        &["--jobs", "224", "--hours", "1", "--nodes", "1000"],
        120_000,
        2048,
    ),
    row(
        "G10000",
        &["--jobs", "2240", "--hours", "1", "--nodes", "10000"],
        120_000,
        2048,
    ),
    row(
        "G100000",
        &["--jobs", "22400", "--hours", "1", "--nodes", "100000"],
        120_000,
        2048,
    ),
];

const fn row(
    name: &'static str,
    generate: &'static [&'static str],
    floor_ms: u64,
    floor_mib: u64,
) -> ReplayRow {
    ReplayRow {
        name,
        generate,
        floor_ms,
        floor_mib,
    }
}

/// One run of a row in a mode.
#[derive(Clone, Debug, Serialize)]
struct Played {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    row: &'static str,
    mode: &'static str,
    audited: bool,
    nodes: u64,
    jobs: u64,
    placed: u64,
    waiting: u64,
    violations: u64,
    /// Hash of the decisions: equal runs are equal.
    decisions: String,
    wall_ms: u64,
    /// Processor time of the whole process outside of the kernel, the reading of the trace included.
    user_ms: u64,
    /// The part of it within calls of the engine.
    engine_ms: u64,
    placed_per_second: u64,
    most_rss_kib: u64,
    /// Whether the run ended in time.
    complete: bool,
}

impl Played {
    /// What is out of the bounds of its row.
    fn faults(&self, row: &ReplayRow) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |wrong: bool, what: String| {
            if wrong {
                faults.push(format!("{} {}: {what}", self.row, self.mode));
            }
        };
        fault(!self.complete, "out of time".to_owned());
        fault(
            self.complete && self.placed == 0,
            "nothing was placed".to_owned(),
        );
        let (ms, mib) = (self.wall_ms, self.most_rss_kib / 1024);
        fault(
            ms > row.floor_ms,
            format!("{ms} ms, at most {}", row.floor_ms),
        );
        fault(
            mib > row.floor_mib,
            format!("{mib} MiB, at most {}", row.floor_mib),
        );
        fault(
            self.violations > 0,
            format!("{} violations", self.violations),
        );
        faults
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let rows: Result<Vec<ReplayRow>> = args.rows.iter().map(|name| named(name)).collect();
    let command = command(args)?;
    let folder = std::env::temp_dir().join(format!("perf-replay-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let played = play(args, &rows?, &command, &folder);
    fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let faults = played?;
    ensure!(
        !args.check || faults.is_empty(),
        "out of bounds: {}",
        faults.join("; ")
    );
    Ok(())
}

/// Plays all rows; what is out of bounds.
fn play(args: &Args, rows: &[ReplayRow], command: &Path, folder: &Path) -> Result<Vec<String>> {
    if !args.json {
        say!("{HEAD}");
    }
    let mut faults = Vec::new();
    for row in rows {
        let Some(trace) = trace(args, row, command, folder)? else {
            aside!(
                "{} is left out: {} is not there",
                row.name,
                args.lcg.display()
            );
            continue;
        };
        for &mode in &args.modes {
            let mut rounds = Vec::new();
            for _ in 0..args.rounds {
                let played = one(args, row, mode, command, &trace)?;
                faults.extend(played.faults(row));
                if args.record {
                    results::append(&results::of_this_machine(), &played)?;
                }
                if args.json {
                    say!("{}", serde_json::to_string(&played)?);
                }
                rounds.push(played);
            }
            if !args.json {
                say!("{}", line(&rounds));
            }
        }
    }
    Ok(faults)
}

fn named(name: &str) -> Result<ReplayRow> {
    let found = ROWS.iter().find(|row| row.name == name);
    let names = || ROWS.map(|row| row.name).join(", ");
    found
        .copied()
        .with_context(|| format!("no row {name}; there are {}", names()))
}

/// The command that is measured.
fn command(args: &Args) -> Result<PathBuf> {
    let beside = || -> Result<PathBuf> {
        let own = std::env::current_exe().context("the path of this program")?;
        Ok(own.with_file_name("capsched"))
    };
    let path = args.command.clone().map_or_else(beside, Ok)?;
    if !path.is_file() {
        bail!(
            "{} is not there; build it in the same profile: cargo build -p capsched-cli",
            path.display()
        );
    }
    Ok(path)
}

/// The file of a row, made where it is generated; nothing when it has to be there and is not.
fn trace(args: &Args, row: &ReplayRow, command: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    if row.generate.is_empty() {
        return Ok(args.lcg.is_file().then(|| args.lcg.clone()));
    }
    let path = folder.join(format!("{}.jsonl.zst", row.name));
    let status = Command::new(command)
        .args(["trace", "generate"])
        .args(row.generate)
        .arg("--out")
        .arg(&path)
        .stderr(Stdio::null())
        .status()
        .with_context(|| command.display().to_string())?;
    ensure!(status.success(), "{} could not be generated", row.name);
    Ok(Some(path))
}

/// Seconds of a report in whole milliseconds; 0 where they are no time.
fn milliseconds(seconds: &Value) -> u64 {
    let time = Duration::try_from_secs_f64(seconds.as_f64().unwrap_or(0.0));
    time.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Begins to play a trace.
fn begun(args: &Args, mode: ModeName, command: &Path, trace: &Path) -> Result<Child> {
    let mut replay = Command::new(command);
    replay.arg("replay").arg(trace);
    if args.unaudited {
        replay.arg("--no-audit");
    }
    replay
        .args(["--mode", mode.name(), "--json", "--allow-unfinished"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| command.display().to_string())
}

fn one(
    args: &Args,
    row: &ReplayRow,
    mode: ModeName,
    command: &Path,
    trace: &Path,
) -> Result<Played> {
    let child = begun(args, mode, command, trace)?;
    let (output, most) = watched(child, Duration::from_secs(args.seconds))?;
    let whole: Option<Value> = output.and_then(|text| serde_json::from_str(&text).ok());
    let complete = whole.is_some();
    let whole = whole.unwrap_or_default();
    let run = &whole["runs"][0];
    let n = |value: &Value| value.as_u64().unwrap_or(0);
    let wall_ms = milliseconds(&run["wall_seconds"]);
    Ok(Played {
        origin: Origin::now(),
        kind: "replay",
        row: row.name,
        mode: mode.name(),
        audited: !args.unaudited,
        nodes: n(&whole["nodes"]),
        jobs: n(&whole["jobs"]),
        placed: n(&run["placed"]),
        waiting: n(&run["waiting"]),
        violations: n(&run["violations"]),
        decisions: run["decisions"].as_str().unwrap_or_default().to_owned(),
        wall_ms,
        user_ms: most.user_ms,
        engine_ms: milliseconds(&run["engine_seconds"]),
        placed_per_second: n(&run["placed"]).saturating_mul(1000) / wall_ms.max(1),
        most_rss_kib: most.rss_kib,
        complete,
    })
}

/// The most that a process used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Most {
    rss_kib: u64,
    user_ms: u64,
}

impl Most {
    /// Of a process that runs or was not waited for; what it used before is kept.
    fn look(&mut self, process: u32) {
        let file = |name: &str| {
            let path = format!("/proc/{process}/{name}");
            fs::read_to_string(path).unwrap_or_default()
        };
        self.rss_kib = self.rss_kib.max(resident(&file("status")));
        self.user_ms = self.user_ms.max(user_ms(&file("stat")));
    }
}

/// What a process prints, and the most that it used; nothing printed when it ran out of time.
fn watched(mut child: Child, limit: Duration) -> Result<(Option<String>, Most)> {
    let mut out = child.stdout.take().context("the command has output")?;
    let clock = SystemClock::new();
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || std::io::read_to_string(&mut out));
        let mut most = Most::default();
        let mut in_time = true;
        while child.try_wait()?.is_none() {
            most.look(child.id());
            if clock.now_ns() > limit_ns {
                in_time = false;
                child.kill()?;
            }
            std::thread::sleep(LOOK);
        }
        let text = reader.join().ok().and_then(Result::ok);
        Ok((text.filter(|_| in_time), most))
    })
}

/// The most resident memory that a process ever had, of a text as `/proc/PID/status` has it.
fn resident(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// The processor time outside of the kernel, of a text as `/proc/PID/stat` has it: the 14th field, in hundredths of a
/// second. The name of the program, the second field, may hold blanks and brackets.
fn user_ms(stat: &str) -> u64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().nth(11);
    let ticks: Option<u64> = ticks.and_then(|ticks| ticks.parse().ok());
    ticks.unwrap_or(0).saturating_mul(10)
}

const HEAD: &str = "\
| row | mode | nodes | jobs | containers | time, ms | user time, ms | engine's part, ms | containers a second | memory, MiB |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

/// The line of all rounds of a row in a mode.
fn line(rounds: &[Played]) -> String {
    let Some(played) = rounds.iter().find(|played| played.complete) else {
        let of = rounds
            .first()
            .map_or(("", ""), |played| (played.row, played.mode));
        return format!("| {} | {} | out of time |", of.0, of.1);
    };
    let figure = |of: fn(&Played) -> u64| {
        let complete = rounds.iter().filter(|played| played.complete);
        let figures: Vec<u64> = complete.map(of).collect();
        let spread = Spread::of(&figures).unwrap_or_default();
        let (least, greatest) = (grouped(spread.min), grouped(spread.max));
        if spread.rounds == 1 {
            least
        } else {
            format!("{} ({least} to {greatest})", grouped(spread.median))
        }
    };
    let waiting = match played.waiting {
        0 => String::new(),
        n => format!(", {} waiting", grouped(n)),
    };
    format!(
        "| {} | {} | {} | {} | {}{waiting} | {} | {} | {} | {} | {} |",
        played.row,
        played.mode,
        grouped(played.nodes),
        grouped(played.jobs),
        grouped(played.placed),
        figure(|played| played.wall_ms),
        figure(|played| played.user_ms),
        figure(|played| played.engine_ms),
        figure(|played| played.placed_per_second),
        figure(|played| played.most_rss_kib / 1024)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(wall_ms: u64, most_rss_kib: u64) -> Played {
        Played {
            origin: Origin::now(),
            kind: "replay",
            row: "R1",
            mode: "global",
            audited: true,
            nodes: 50,
            jobs: 2000,
            placed: 89_197,
            waiting: 0,
            violations: 0,
            decisions: String::new(),
            wall_ms,
            user_ms: wall_ms,
            engine_ms: 1,
            placed_per_second: 1,
            most_rss_kib,
            complete: true,
        }
    }

    #[test]
    fn a_run_is_judged_by_the_bounds_of_its_row() {
        let row = named("R1").unwrap();
        assert!(
            played(row.floor_ms, 1024 * row.floor_mib)
                .faults(&row)
                .is_empty()
        );
        assert_eq!(played(row.floor_ms + 1, 1).faults(&row).len(), 1);
        let mut bad = played(1, 1024 * (row.floor_mib + 1));
        (bad.complete, bad.violations) = (false, 3);
        assert_eq!(bad.faults(&row).len(), 3);
        let rounds = [played(7, 1), bad, played(5, 1), played(6, 1)];
        assert!(line(&rounds).contains("| 89,197 | 6 (5 to 7) | 6 (5 to 7) |"));
        assert!(line(&rounds[2..3]).contains("| 89,197 | 5 | 5 | 1 |"));
        assert!(line(&rounds[1..2]).ends_with("| out of time |"));
        assert!(named("R9").unwrap_err().to_string().contains("R1, R2"));
    }

    #[test]
    fn memory_is_the_most_that_a_process_had() {
        let status = "Name:\tx\nVmHWM:\t   1234 kB\nVmRSS:\t 1000 kB\n";
        assert_eq!((resident(status), resident("")), (1234, 0));
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 99 0 0 0 123 45 0 0 20 0 1 0 5 6 7";
        assert_eq!((user_ms(stat), user_ms("")), (1230, 0));
    }
}
