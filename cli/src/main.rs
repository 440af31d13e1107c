//! The `capsched` command.
#![expect(
    clippy::print_stdout,
    reason = "results of a command go to standard output"
)]

mod check;
mod parity;
mod teach;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// YARN's Capacity Scheduler as a lock-free engine: check, replay, compare, verify.
#[derive(Parser, Debug)]
#[command(name = "capsched", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Check configuration files as the real scheduler would read them, and more.
    Check(check::Args),
    /// Play recordings of the real scheduler and compare every step.
    Parity(parity::Args),
    /// Play a small example of how queues share, and draw it.
    Teach(teach::Command),
}

fn main() -> Result<ExitCode> {
    match Cli::parse().command {
        Command::Check(args) => Ok(check::run(&args)),
        Command::Parity(args) => parity::run(&args),
        Command::Teach(command) => teach::run(command.example, &command.args),
    }
}
