//! The id of a container as it is kept in a journal.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::{ApplicationId, ContainerId};

/// A container by application and number, and by attempt behind the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerLine {
    app: u32,
    number: u32,
    attempt: u32,
}

impl ContainerLine {
    /// A container.
    #[must_use]
    pub fn of(id: ContainerId) -> Self {
        Self {
            app: id.app.sequence,
            number: id.number,
            attempt: id.attempt,
        }
    }

    /// Number of the application.
    #[must_use]
    pub const fn app(&self) -> u32 {
        self.app
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> ContainerId {
        ContainerId {
            attempt: self.attempt,
            ..ContainerId::new(ApplicationId::new(self.app), self.number)
        }
    }
}

impl Serialize for ContainerLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.attempt == 1 {
            return (self.app, self.number).serialize(serializer);
        }
        (self.app, self.number, self.attempt).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContainerLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (app, number, attempt) = match Vec::deserialize(deserializer)?.as_slice() {
            &[app, number] => (app, number, 1),
            &[app, number, attempt] => (app, number, attempt),
            other => {
                let message = format!("{} numbers are not a container: 2 or 3", other.len());
                return Err(D::Error::custom(message));
            }
        };
        Ok(Self {
            app,
            number,
            attempt,
        })
    }
}
