//! The `capsched` command.

mod check;

use std::process::ExitCode;

use clap::Parser;

/// YARN's Capacity Scheduler rebuilt as a lock-free scheduling engine.
#[derive(Debug, Parser)]
#[command(name = "capsched", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Check(args) => check::run(&args),
    }
}
