//! What is left of an application when its attempt ends.

use serde::{Deserialize, Serialize};

/// What an application keeps when its attempt ends.
///
/// ```
/// use capsched::api::{AppSpec, ApplicationId, ResourceVector, Restarts};
///
/// let app = AppSpec::new(ApplicationId::new(7), "root.dev", "ann");
/// let app = app.with_master(ResourceVector::of(&[1024, 1]));
/// assert_eq!(app.restarts, Restarts::Never);
/// let app = app.restarting(Restarts::KeepingContainers);
/// assert_eq!(app.restarts, Restarts::KeepingContainers);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Restarts {
    /// Nothing: it ends with the container of its master. Submitted again, it starts another attempt.
    #[default]
    Never,
    /// Its place in its queue, without containers.
    WithoutContainers,
    /// The containers that run, the places that it does not use, and the ends that it has not fetched. An
    /// application without a container for its master keeps none
    /// (`keepContainersAcrossApplicationAttempts`).
    KeepingContainers,
}
