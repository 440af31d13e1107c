//! The `capsched` command, as a library so that the compiler begins with it before the engine is linked.

mod aside;
mod browser;
mod cells;
mod check;
mod columns;
mod compare;
mod completions;
mod conf;
mod demo;
mod excerpt;
mod fsck;
mod gate;
mod generate;
mod hadoop;
mod hist;
mod interrupt;
mod live;
mod machines;
#[cfg_attr(
    not(feature = "top"),
    expect(dead_code, reason = "the screens read what is left")
)]
mod moments;
mod network;
mod output;
mod pages;
mod parity;
mod play;
mod printed;
mod recipe;
mod reference;
mod replay;
mod report;
mod router;
mod run_format;
mod serve;
mod simulate;
mod sink;
mod snapshot;
mod sweep;
mod teach;
mod text_file;
#[cfg_attr(
    not(feature = "top"),
    expect(dead_code, reason = "the screens read what is left")
)]
mod top;
mod trace;
mod values;
mod verify;
mod watchdog;
mod whatif;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

/// What people run most.
const EXAMPLES: &str = "\
Examples:
  capsched demo                                        a GPU cluster's 8,152 pods in all three modes
  capsched check capacity-scheduler.xml                would the scheduler accept it, and what is odd
  capsched replay pods.csv --nodes nodes.csv           a trace, with the trace's own queues
  capsched compare --modes heartbeat,global --threads 1,2
  capsched why runs/last --list                        what waits in a recorded run, by reason
  capsched trace stat pods.csv                         what a trace holds, before running it

Results go to standard output, everything else to standard error.
Exit codes: 0 fine, 1 a problem was found, 2 the command could not be carried out.";

/// YARN's Capacity Scheduler as a lock-free engine: check, replay, compare, simulate.
#[derive(Parser, Debug)]
#[command(name = "capsched", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Play a real GPU cluster's pods in all three modes, or a teaching example; needs no files.
    Demo(demo::Args),
    /// Check configuration files as the real scheduler would read them, and more.
    Check(check::Args),
    /// Compare configurations, plan a change, convert from other schedulers.
    #[command(subcommand)]
    Conf(conf::Command),
    /// Play a trace on a cluster.
    Replay(Box<replay::ReplayArgs>),
    /// Play a trace in several modes and with several numbers of threads.
    Compare(Box<compare::CompareArgs>),
    /// Look at a trace, convert one or make one.
    #[command(subcommand)]
    Trace(trace::Command),
    /// List the formats of traces, with the fields that are used and ignored.
    Traces(trace::FormatsArgs),
    /// Say why applications of a recorded run or of a server wait or waited, with the evidence.
    Why(why::WhyArgs),
    /// Say what one node lacks for an application of a recorded run or of a server.
    WhyNot(why::WhyNotArgs),
    /// Play a recorded run once more, as it was and with changes; or find the best value of a setting.
    Whatif(Box<whatif::WhatifArgs>),
    /// Save a moment of a run or of a server, replay it, or make a test of it.
    #[command(subcommand)]
    Snapshot(snapshot::Command),
    /// Show the latencies of a run by phase and write them as files.
    Hist(hist::Args),
    /// Open the page of a server, or the report of a run, in a browser.
    Open(browser::OpenArgs),
    /// Show a run or a server in the terminal, moment by moment.
    Top(top::Args),
    /// Write the results of a run or a comparison as one HTML file.
    ///
    /// The run is played once more, for limits of queues, reasons of waits and unusable room. That takes as long as the
    /// run took. A run of real threads does not repeat, and the page says what it leaves out.
    Report(report::Args),
    /// Play recordings of the real scheduler and compare every step.
    Parity(parity::Args),
    /// Run Hadoop's own ResourceManager on this scheduler: real node managers and applications.
    HadoopDemo(hadoop::Args),
    /// Simulate clusters with faults, judged by books kept from outputs alone.
    Simulate(simulate::Args),
    /// Run a resource manager with a page, over a simulated cluster or over real files.
    Serve(Box<serve::Args>),
    /// Send applications to the cells of their queues: one address before several servers.
    Router(Box<router::Args>),
    /// Simulate 25 cells with 10,000 nodes each, one of which goes down and comes back.
    Cells(cells::Args),
    /// Play a recorded run once more, judge every invariant, and compare every decision with its log.
    Verify(verify::VerifyArgs),
    /// Check a data directory of `capsched serve`.
    Fsck(fsck::Args),
    /// Simulate node agents of a server, over gRPC.
    NodeAgent(machines::AgentArgs),
    /// Simulate applications of a server, over gRPC.
    App(machines::AppArgs),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
    /// Write man pages, one for each command.
    Man(completions::ManArgs),
    /// Write the generated pages of the documentation.
    #[command(hide = true)]
    Pages(pages::Args),
}

/// Carries out the command line of the process; its exit code: 0 fine, 1 a problem was found, 2 could not be carried
/// out.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // The message quotes arguments, in which control characters are escaped, line ends among them.
            let shown = std::env::args_os().map(|part| output::escaped(&part.to_string_lossy()));
            return output::usage(&Cli::try_parse_from(shown).err().unwrap_or(error));
        }
    };
    if reads_input_twice(std::env::args_os().skip(1)) {
        output::note("error: `-` stands twice; standard input can be read once");
        return ExitCode::from(output::USAGE);
    }
    let Some(command) = cli.command else {
        output::put(&Cli::command().render_help().to_string());
        return ExitCode::SUCCESS;
    };
    run(command).unwrap_or_else(|error| output::failed(&error))
}

/// Whether `-` stands for standard input in two places. Behind an option for what is written it stands for
/// standard output.
fn reads_input_twice(args: impl Iterator<Item = OsString>) -> bool {
    let (mut before, mut inputs) = (OsString::new(), 0);
    for arg in args {
        let written = ["-o", "--out", "--output"]
            .iter()
            .any(|option| before == *option);
        inputs += u32::from(arg == "-" && !written);
        before = arg;
    }
    inputs > 1
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Conf(command) => conf::run(&command),
        Command::Replay(args) => replay::replay(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Traces(args) => Ok(trace::formats(&args)),
        Command::Why(args) => why::why(&args),
        Command::WhyNot(args) => why::why_not(&args),
        Command::Whatif(args) => whatif::run(&args),
        Command::Snapshot(command) => snapshot::run(&command),
        Command::Hist(args) => hist::run(&args),
        Command::Open(args) => browser::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Parity(args) => parity::run(&args),
        Command::HadoopDemo(args) => hadoop::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Router(args) => router::run(&args),
        Command::Cells(args) => cells::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Fsck(args) => fsck::run(&args),
        Command::NodeAgent(args) => machines::agents(&args),
        Command::App(args) => machines::apps(&args),
        Command::Completions(args) => Ok(completions::completions(&args, Cli::command())),
        Command::Man(args) => completions::man(&args, Cli::command()),
        Command::Pages(args) => pages::run(&args, Cli::command()),
    }
}
