//! The daemon: routes with the layers around them, the address, and the end.

mod assembly;
mod background;
mod connections;
mod encryption;
mod options;
mod routes;
mod serve;
mod switch;

pub use assembly::Daemon;
pub use background::Background;
#[cfg(feature = "grpc")]
pub(crate) use connections::Counted;
#[cfg(feature = "grpc")]
pub(crate) use encryption::{certificate_file, key_file};
pub use options::{ServeOptions, ServeProblem, TlsFiles};
pub use routes::{Parts, router};
pub(crate) use routes::{guarded, timed};
pub use serve::Serving;
pub use switch::{StandbyPage, Switch};
