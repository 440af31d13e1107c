//! The machines' interface: node agents and application masters over gRPC.
//!
//! | module | what it owns |
//! |---|---|
//! | `serving` | the address, encryption, and the limits of connections |
//! | `callers` | who calls, and what callers may do |
//! | `nodes`, `applications`, `events` | the three services |
//! | `convert` | from messages to commands, with every value checked |
//! | [`simulated`] | node agents and applications that are clients of it |
//!
//! The protocol is `server/protocol/proto/capsched.proto`. A stream is read no faster than its messages are answered.

mod applications;
mod callers;
mod convert;
mod events;
mod nodes;
mod serving;
pub mod simulated;

use std::pin::Pin;

use capsched_protocol as wire;
use tokio_stream::Stream;
use tonic::Status;

pub use serving::{GrpcOptions, GrpcServing, Machines};

/// Answers of a stream, each made when the client has taken the one before.
type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Does work that may wait for the engine or the disk, on a thread that no stream needs.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the call could not be carried out")))
}
