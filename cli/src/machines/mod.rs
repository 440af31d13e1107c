//! The machines' interface on the command line: serving it, and simulated clients of it.

mod clients;
mod serving;

pub(crate) use clients::{AgentArgs, AppArgs, agents, apps};
pub(crate) use serving::{GrpcArgs, Listening};

/// Why nothing happens in a build without gRPC.
#[cfg(not(feature = "grpc"))]
const MISSING: &str = "this program was built without gRPC: build it with `--features grpc`";
