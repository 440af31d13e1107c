//! Wrong inputs: each is refused with its place, and the state stays as it was.

mod configuration;
mod queues;
mod requests;
