//! `capsched node-agent` and `capsched app`: simulated clients of a server, over gRPC.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

/// How a client reaches the server.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Server")]
struct ServerArgs {
    /// Address of the server's gRPC interface.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8089")]
    server: String,
    /// File with the token that proves the user.
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// User, where the server believes names.
    #[arg(long, value_name = "NAME", conflicts_with = "token")]
    user: Option<String>,
    /// Certificates that the server's must come from, in PEM form; for an address that begins with https.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Certificate of the client, in PEM form.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key, in PEM form.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// Simulate node agents that register with a server, beat, and run what it places.
///
/// The server is started with `serve --grpc`. The nodes keep account: a container that is ordered twice, and a node
/// with more than it offers, are errors of the server, and the exit code is 1. The program must be built with the
/// feature `grpc`.
#[derive(clap::Args, Debug)]
pub(crate) struct AgentArgs {
    /// Nodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    simulate: u32,
    /// Streams that they share, each over a connection of its own.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    streams: u32,
    /// Time between two heartbeats of a node, in ms.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: u64,
    /// Memory of a node, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 131_072, value_parser = clap::value_parser!(i64).range(0..=1_000_000_000))]
    memory: i64,
    /// Virtual cores of a node.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(i64).range(0..=1_000_000))]
    cores: i64,
    /// Shortest and longest life of a task's container, in ms.
    #[arg(long, value_name = "A..B", default_value = "1000..10000", value_parser = bounds)]
    lasts: (u64, u64),
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Simulate applications that are submitted to a server, ask for containers, and end.
///
/// The server is started with `serve --grpc`, and nodes are simulated with `node-agent` or are real. The program must
/// be built with the feature `grpc`.
#[derive(clap::Args, Debug)]
pub(crate) struct AppArgs {
    /// Applications at once; when one ends, the next one is submitted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    simulate: u32,
    /// Connections that they share.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// A queue to submit to; several are used in turn.
    #[arg(long, value_name = "QUEUE", default_value = "default")]
    queue: Vec<String>,
    /// Fewest and most tasks of an application.
    #[arg(long, value_name = "A..B", default_value = "1..20", value_parser = bounds)]
    tasks: (u64, u64),
    /// Memory of a container, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(i64).range(0..=1_000_000_000))]
    memory: i64,
    /// Virtual cores of a container.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(0..=1_000_000))]
    cores: i64,
    /// Time between two calls of a master, in ms.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: u64,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// What both have.
#[derive(clap::Args, Debug)]
struct CommonArgs {
    /// How long, in s.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    duration: u64,
    /// What decides lifetimes and numbers of tasks.
    #[arg(long, value_name = "S", default_value_t = 7, value_parser = crate::values::seed)]
    seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Two numbers, the second one not below the first.
fn bounds(text: &str) -> Result<(u64, u64), String> {
    let wrong = || "two numbers as in 1..20 are expected, the larger one last".to_owned();
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let (low, high) = (number(low)?, number(high)?);
    let fine = low <= high && high <= 1_000_000_000;
    fine.then_some((low, high)).ok_or_else(wrong)
}

/// Runs `capsched node-agent`.
#[cfg(not(feature = "grpc"))]
pub(crate) fn agents(_: &AgentArgs) -> Result<ExitCode> {
    anyhow::bail!(super::MISSING)
}

/// Runs `capsched app`.
#[cfg(not(feature = "grpc"))]
pub(crate) fn apps(_: &AppArgs) -> Result<ExitCode> {
    anyhow::bail!(super::MISSING)
}

#[cfg(feature = "grpc")]
pub(crate) use calling::{agents, apps};

/// The commands where there is gRPC.
#[cfg(feature = "grpc")]
mod calling {
    use std::time::Duration;

    use anyhow::{Context, anyhow};
    use capsched_server::grpc::simulated::{ApplicationLoad, Latencies, NodeLoad, Server};
    use serde_json::Value;

    use super::*;
    use crate::output::{PROBLEM, line, note};

    /// Runs `capsched node-agent`.
    pub(crate) fn agents(args: &AgentArgs) -> Result<ExitCode> {
        let load = NodeLoad {
            nodes: args.simulate,
            streams: args.streams,
            interval: Duration::from_millis(args.interval),
            total: vec![args.memory, args.cores],
            lasts_ms: args.lasts,
            duration: Duration::from_secs(args.common.duration),
            seed: args.common.seed,
        };
        let server = args.server.read()?;
        let figures = runtime()?.block_on(load.run(&server));
        let figures = figures.map_err(|error| anyhow!(error))?;
        args.common
            .show(&figures.to_json(), &[("heartbeats", &figures.heartbeats)]);
        Ok(match figures.doubled + figures.oversubscribed {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::from(PROBLEM),
        })
    }

    /// Runs `capsched app`.
    pub(crate) fn apps(args: &AppArgs) -> Result<ExitCode> {
        let load = ApplicationLoad {
            applications: args.simulate,
            connections: args.connections,
            queues: args.queue.clone(),
            tasks: args.tasks,
            size: vec![args.memory, args.cores],
            interval: Duration::from_millis(args.interval),
            duration: Duration::from_secs(args.common.duration),
            seed: args.common.seed,
        };
        let server = args.server.read()?;
        let figures = runtime()?.block_on(load.run(&server));
        let figures = figures.map_err(|error| anyhow!(error))?;
        let times = [("calls", &figures.calls), ("masters", &figures.masters)];
        args.common.show(&figures.to_json(), &times);
        Ok(match figures.refused {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::from(PROBLEM),
        })
    }

    fn runtime() -> Result<tokio::runtime::Runtime> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder.worker_threads(2).enable_all().build();
        built.context("threads cannot be started")
    }

    impl ServerArgs {
        fn read(&self) -> Result<Server> {
            let token = self.token.as_ref().map(|path| {
                let read = std::fs::read_to_string(path);
                let read = read.with_context(|| path.display().to_string());
                read.map(|text| text.trim().to_owned())
            });
            Ok(Server {
                address: self.server.clone(),
                token: token.transpose()?,
                user: self.user.clone(),
                ca: self.ca.clone(),
                identity: self.cert.clone().zip(self.key.clone()),
            })
        }
    }

    impl CommonArgs {
        fn show(&self, all: &Value, times: &[(&str, &Latencies)]) {
            if self.json {
                line(all);
                return;
            }
            for (name, of) in times {
                line(format_args!(
                    "{name}: {}, {} a second; p50 {} us, p99 {} us, at most {} us",
                    of.count(),
                    of.count() / self.duration.max(1),
                    of.at_permille(500),
                    of.at_permille(990),
                    of.at_permille(1000)
                ));
            }
            let counts = all.as_object().into_iter().flatten();
            for (name, count) in counts.filter(|(_, value)| value.is_u64()) {
                line(format_args!("{name}: {count}"));
            }
            if let Some(why) = all["first_failure"].as_str() {
                note(format_args!("The first failure: {}", why.escape_debug()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_two_numbers_in_order() {
        assert_eq!(bounds("1..20"), Ok((1, 20)));
        assert_eq!(bounds("5..5"), Ok((5, 5)));
        for text in [
            "",
            "5",
            "5..",
            "..5",
            "6..5",
            "a..b",
            "1..9999999999",
            "-1..2",
        ] {
            assert!(bounds(text).is_err(), "{text}");
        }
    }
}
