//! What an engine with threads is asked to be, and why one could not start.
//!
//! Tests: `tests/runtime/threads.rs`.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::commit::RefreshError;
use crate::queue::AsynchronousSettings;
use crate::runtime::proposer::stopwatch::Latencies;
use crate::runtime::testing::fault_injection::BadProposals;

/// How the threads of an engine run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Whether the engine measures itself.
    pub latencies: Latencies,
    /// On which cores they run.
    pub placement: Placement,
    /// Who puts the nodes in order, in the mode that looks at all of them.
    pub sorting: NodeSorting,
    /// How long the committer looks for the next command, with nothing to do, before it sleeps; zero by
    /// default. Asleep, it takes its turns on the threads of callers: such a call waits for no other thread,
    /// but the caller's core has to load the state, and callers run one after the other. With a length
    /// above zero the committer works on a core of its own, and callers look for their answers and for events
    /// as long before they sleep. Callers should run on other cores than the committer, or each waits for the
    /// other. By a clock that stands still, any length is for ever.
    pub awake: Duration,
    /// Items that each queue between two threads takes; who writes to a full one waits. Batches of
    /// proposals (64 of a sole proposer, 8 of each of several), commands (4,096) and batches of
    /// events (4,096) unless set otherwise. Where few events may wait, somebody has to read them all
    /// the time: no proposal is taken meanwhile.
    pub capacity: Option<NonZeroUsize>,
    /// Whether the host schedules nodes itself, by
    /// [`Threaded::schedule_node`](super::engine::Threaded::schedule_node), where the configuration schedules
    /// asynchronously: then heartbeats do not, although the mode is [`Mode::Heartbeat`].
    pub host_passes: bool,
    /// Events that may wait for a reader before further ones are dropped; without a number none is. Dropped ones are
    /// counted by [`Event::Lost`](crate::commit::Event::Lost) in their place.
    pub events_limit: Option<NonZeroUsize>,
    /// What proposers send instead of their proposals, for tests.
    #[doc(hidden)]
    pub faults: Option<BadProposals>,
}

impl From<Latencies> for Running {
    fn from(latencies: Latencies) -> Self {
        Self {
            latencies,
            ..Self::default()
        }
    }
}

/// Who puts the nodes of an engine in the order of their policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeSorting {
    /// A thread, again and again at the interval of the policy, by the clock on the wall.
    #[default]
    Thread,
    /// Whoever calls, by [`Threaded::sort_nodes`](super::engine::Threaded::sort_nodes). In virtual time, hours pass
    /// between two sorts of a thread.
    Caller,
}

/// On which cores the threads of an engine run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Where the operating system puts them; right where the machine has other work.
    #[default]
    Anywhere,
    /// The committer on the first core that the process may use, each proposer on the next one, and
    /// around again. An operating system that wakes a thread beside the one it was woken by keeps
    /// both on one core for milliseconds, and halves the speed meanwhile. The node sorter stands beside
    /// the committer, unless that stays awake. Without meaning where the
    /// operating system has no such call.
    Pinned,
}

/// Who runs rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nodes are scheduled at their heartbeats, by the committer itself.
    Heartbeat,
    /// Threads walk the nodes one by one and never wait for heartbeats.
    Asynchronous {
        /// Number of proposers, at least 1.
        threads: usize,
    },
    /// Threads take the most deserving ask and look for a node among all of a partition.
    Global {
        /// Number of proposers, at least 1.
        threads: usize,
    },
}

impl Mode {
    /// The mode that a configuration asks for where nobody names one: asynchronous where
    /// `schedule-asynchronously.enable` holds, with as many threads as it says, else heartbeats.
    #[must_use]
    pub const fn configured(settings: &AsynchronousSettings) -> Self {
        if settings.enabled {
            let threads = settings.threads;
            Self::Asynchronous { threads }
        } else {
            Self::Heartbeat
        }
    }

    /// Number of proposer threads.
    #[must_use]
    pub const fn threads(self) -> usize {
        match self {
            Self::Heartbeat => 0,
            Self::Asynchronous { threads } | Self::Global { threads } => {
                if threads == 0 {
                    1
                } else {
                    threads
                }
            }
        }
    }
}

/// An engine that could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The settings do not make a tree.
    Settings(RefreshError),
    /// The operating system refused a thread.
    Thread(std::io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "a thread could not be started: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Settings(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}
