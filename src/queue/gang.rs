//! A gang: containers that an application wants all at once within a time, or not at all, as plain data.

use serde::{Deserialize, Serialize};

use crate::id::QueuePath;
use crate::resource::ResourceVector;

/// An ask for a gang: `minimum` containers of one size, all placed at once within a time or none at all. Once
/// they are placed, `elastic` more are asked for like any other containers.
///
/// Beyond the reference: nothing of this happens unless an application asks for a gang.
///
/// ```
/// use capsched::api::{Closeness, GangAsk, ResourceVector};
/// let gang = GangAsk::of(16, ResourceVector::of(&[8192, 4]), 30_000);
/// let on_one_rack = GangAsk { elastic: 4, close: Closeness::Rack, ..gang };
/// assert_eq!((on_one_rack.minimum, on_one_rack.within_ms), (16, 30_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangAsk {
    /// Request priority, part of the key that the members are asked under.
    pub priority: i32,
    /// Allocation request id, the other part of the key. No other ask may be outstanding under it.
    pub request_id: i64,
    /// Size of one member; raised to the minimum allocation and rounded up to its multiples.
    pub size: ResourceVector,
    /// Members that are placed together: 1 to 10,000. With 0 the gang that waits under the key is withdrawn.
    pub minimum: u32,
    /// Further members, asked for once the minimum is placed: 0 to 1,000,000.
    pub elastic: u32,
    /// How long the gang may wait in ms: 1 to 3,600,000. It is given up then.
    pub within_ms: u64,
    /// How close together the minimum has to be.
    pub close: Closeness,
    /// Partition (node label); the application's or queue's default when unset.
    pub partition: Option<String>,
}

impl GangAsk {
    /// Most members of a minimum.
    pub const MOST_MEMBERS: u32 = 10_000;

    /// The longest time that a gang may wait, in ms.
    pub const LONGEST_MS: u64 = 3_600_000;

    /// Most gangs of one application that wait at once.
    pub const MOST_WAITING: usize = 100;

    /// A gang anywhere, with priority 1 and nothing beyond its minimum.
    #[must_use]
    pub fn of(minimum: u32, size: ResourceVector, within_ms: u64) -> Self {
        Self {
            priority: 1,
            request_id: 0,
            size,
            minimum,
            elastic: 0,
            within_ms,
            close: Closeness::Anywhere,
            partition: None,
        }
    }
}

/// How close together the members of a gang have to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closeness {
    /// On any nodes of the partition.
    #[default]
    Anywhere,
    /// All on nodes of one rack.
    Rack,
    /// All on nodes with one value of an attribute, by its full name `prefix/name`. Nodes without the
    /// attribute take no member.
    Attribute(String),
}

/// Why a gang waits, as its last attempt found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "wait", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GangWait {
    /// The nodes have too little room at once.
    Room {
        /// Members that there is room for, on the best rack or value of the attribute where that counts.
        found: u32,
    },
    /// The nodes are too few or too small, even were they empty.
    Cluster {
        /// Members that empty nodes have room for.
        found: u32,
    },
    /// The minimum as a whole would exceed the maximum of a queue.
    QueueLimit {
        /// Full path of the queue.
        queue: QueuePath,
    },
    /// The minimum as a whole would exceed the user limit.
    UserLimit,
    /// The queue, or one above it, may not use the partition.
    Access,
    /// Other asks are outstanding under the key of the gang.
    KeyInUse,
    /// The application may not be served yet.
    Inactive,
}

impl GangWait {
    /// A stable word for it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Room { .. } => "room",
            Self::Cluster { .. } => "cluster",
            Self::QueueLimit { .. } => "queue-limit",
            Self::UserLimit => "user-limit",
            Self::Access => "access",
            Self::KeyInUse => "key-in-use",
            Self::Inactive => "inactive",
        }
    }
}
