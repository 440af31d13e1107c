//! The release of Hadoop that a command follows.

use capsched::api::Reference;

/// Argument that names one release.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReferenceArg {
    /// Release of Hadoop whose rules and defaults hold: 3.4 or 3.5.
    #[arg(long = "reference", value_name = "RELEASE", default_value_t)]
    pub(crate) release: Reference,
}
