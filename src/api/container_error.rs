//! The error of calls about one container.

use std::fmt;

use crate::id::ContainerId;

/// The end of a container that is not live.
///
/// ```
/// use capsched::api::*;
///
/// let mut engine = example::cluster();
/// let never = ContainerId::new(ApplicationId::new(1), 77);
/// assert_eq!(engine.container_finished(never), Err(ContainerError(never)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerError(pub ContainerId);

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not live", self.0)
    }
}

impl std::error::Error for ContainerError {}
