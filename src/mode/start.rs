//! What an engine with threads is asked to be, and why one could not start.

use crate::commit::RefreshError;

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
