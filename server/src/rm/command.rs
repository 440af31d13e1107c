//! Commands: every change that outsiders make and that survives a restart.

use std::collections::BTreeMap;
use std::fmt;

use capsched::api::{MAX_TYPES, ResourceVector};
use serde::{Deserialize, Serialize};

use super::application::AppState;

/// Key and value pairs of a configuration layer, by full key.
pub type Pairs = BTreeMap<String, String>;

/// One change of the resource manager. A journal records it with the user and the time, and a restart carries it out
/// again.
///
/// Heartbeats and the calls of application masters are no commands: nodes report again what they run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Command {
    /// A node registers, or registers again with another description.
    RegisterNode(NodeRegistration),
    /// A node is gone; its containers end.
    RemoveNode {
        /// `host:port`.
        node: String,
    },
    /// A node takes no new containers from now on.
    DecommissionNode {
        /// `host:port`.
        node: String,
    },
    /// The next application id is given out.
    NewApplication,
    /// An application is submitted.
    Submit(Box<Submission>),
    /// An application master registers.
    RegisterMaster {
        /// `application_<cluster>_<number>`.
        application: String,
        /// Host that the master runs on.
        host: String,
        /// Its port for clients; -1: none.
        rpc_port: i32,
        /// Its page; empty: none.
        tracking_url: String,
    },
    /// An application master ends its application.
    FinishMaster {
        /// The application.
        application: String,
        /// How the application ended, in its own words.
        status: FinalStatus,
        /// A remark for the user.
        diagnostics: String,
        /// Where its history is shown; empty: nowhere.
        tracking_url: String,
    },
    /// An application is killed.
    Kill {
        /// The application.
        application: String,
        /// A remark for the user.
        diagnostics: String,
    },
    /// An application moves to another leaf.
    Move {
        /// The application.
        application: String,
        /// Full path or unambiguous name of the leaf.
        queue: String,
    },
    /// An application gets another priority.
    SetPriority {
        /// The application.
        application: String,
        /// Larger is more important; cut to the range from 0 to the cluster's maximum.
        priority: i32,
    },
    /// An application gets another end of its lifetime.
    SetLifetime {
        /// The application.
        application: String,
        /// When it ends at the latest, in ms since the Unix epoch.
        expiry_ms: u64,
    },
    /// Labels are added to the cluster.
    AddLabels {
        /// The labels.
        labels: Vec<LabelSpec>,
    },
    /// Labels are removed from the cluster and from every node.
    RemoveLabels {
        /// Their names.
        labels: Vec<String>,
    },
    /// Nodes get other labels.
    ReplaceLabels {
        /// The labels by `host:port` or by host.
        nodes: BTreeMap<String, Vec<String>>,
    },
    /// The scheduler's configuration is replaced.
    RefreshQueues {
        /// Every pair of `capacity-scheduler.xml`.
        scheduler: Pairs,
    },
    /// The container of an application's master was placed. The resource manager itself says so, as of the two below.
    MasterPlaced {
        /// The application.
        application: String,
        /// Number of the attempt.
        attempt: u32,
        /// Number of the container.
        number: u32,
        /// `host:port` of its node.
        node: String,
    },
    /// A further attempt of an application started.
    AttemptStarted {
        /// The application.
        application: String,
        /// Its number.
        attempt: u32,
    },
    /// An application ended, for whatever reason.
    Ended {
        /// The application.
        application: String,
        /// How it stands since then.
        state: AppState,
        /// How it ended.
        status: FinalStatus,
        /// Why.
        diagnostics: String,
    },
    /// A container changed, and its master is answered so.
    ContainerChanged {
        /// The application.
        application: String,
        /// Number of the attempt.
        attempt: u32,
        /// Number of the container.
        number: u32,
        /// What it is from now on.
        form: ContainerForm,
    },
    /// A container that had changed ended.
    ChangedContainerEnded {
        /// The application.
        application: String,
        /// Number of the attempt.
        attempt: u32,
        /// Number of the container.
        number: u32,
    },
    /// Application ids up to a number were given out. A compacted journal says so.
    IdsGivenOut {
        /// The number of the last one.
        last: u32,
    },
}

impl Command {
    /// The application that it is about, if it is about one.
    #[must_use]
    pub fn application(&self) -> Option<&str> {
        match self {
            Self::Submit(submission) => Some(&submission.application),
            Self::RegisterMaster { application, .. }
            | Self::FinishMaster { application, .. }
            | Self::Kill { application, .. }
            | Self::Move { application, .. }
            | Self::SetPriority { application, .. }
            | Self::SetLifetime { application, .. }
            | Self::MasterPlaced { application, .. }
            | Self::AttemptStarted { application, .. }
            | Self::ContainerChanged { application, .. }
            | Self::ChangedContainerEnded { application, .. }
            | Self::Ended { application, .. } => Some(application),
            _ => None,
        }
    }

    /// Whether the resource manager itself says it, and nobody else may.
    #[must_use]
    pub const fn is_fact(&self) -> bool {
        matches!(
            self,
            Self::MasterPlaced { .. }
                | Self::AttemptStarted { .. }
                | Self::Ended { .. }
                | Self::ContainerChanged { .. }
                | Self::ChangedContainerEnded { .. }
                | Self::IdsGivenOut { .. }
        )
    }
}

/// What changes have made of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerForm {
    /// Its version: how often it was changed.
    pub version: u32,
    /// Its size, in the order of the cluster's resource types; amounts of 0 at the end are left out.
    pub size: Vec<i64>,
    /// Whether it is opportunistic, so that no queue is charged with it.
    pub opportunistic: bool,
}

impl ContainerForm {
    pub(super) fn new(version: u32, size: &ResourceVector, opportunistic: bool) -> Self {
        let amounts = size.values(MAX_TYPES);
        let used = amounts.iter().rposition(|&amount| amount != 0);
        Self {
            version,
            size: amounts[..used.map_or(0, |last| last + 1)].to_vec(),
            opportunistic,
        }
    }
}

/// A node that registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRegistration {
    /// `host:port`.
    pub node: String,
    /// Rack; `/default-rack` when there is no topology.
    pub rack: String,
    /// Everything the node offers, in the order of the cluster's resource types.
    pub resource: Vec<i64>,
    /// Port of the node's web page.
    pub http_port: u16,
    /// Version of the node's software, as it says.
    pub version: String,
    /// Labels that the node itself names; nothing keeps those that the cluster gave it.
    pub labels: Option<Vec<String>>,
}

/// A node label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LabelSpec {
    /// Name.
    pub name: String,
    /// Whether only requests that name the label are served there.
    pub exclusive: bool,
}

/// An application that is submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Submission {
    /// `application_<cluster>_<number>`; an id that [`Command::NewApplication`] gave out.
    pub application: String,
    /// Name; empty: `N/A`.
    pub name: String,
    /// Queue as the user names it; empty: `default`.
    pub queue: String,
    /// Type; empty: `YARN`.
    pub kind: String,
    /// Tags, in lower case.
    pub tags: Vec<String>,
    /// Wished priority.
    pub priority: Option<i32>,
    /// Container of the master, in the order of the cluster's resource types.
    pub master: Vec<i64>,
    /// Partition of the master's container.
    pub master_label: Option<String>,
    /// Partition of asks that name none.
    pub label: Option<String>,
    /// Whether there is no container for a master.
    pub unmanaged: bool,
    /// Attempts at most; 0: the cluster's maximum.
    pub max_attempts: u32,
    /// Whether containers that run outlive an attempt that fails.
    pub keep_containers: bool,
    /// Longest lifetime in s; nothing: the queue's default.
    pub lifetime_s: Option<i64>,
}

/// How an application ended, in the words of its master.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FinalStatus {
    /// It has not ended, or its master did not say.
    #[default]
    Undefined,
    /// It did what it was for.
    Succeeded,
    /// It failed.
    Failed,
    /// It was killed.
    Killed,
    /// It ended, and its master follows other applications.
    Ended,
}

impl FinalStatus {
    /// All of them, in YARN's order.
    pub const ALL: [Self; 5] = [
        Self::Undefined,
        Self::Succeeded,
        Self::Failed,
        Self::Killed,
        Self::Ended,
    ];

    /// YARN's word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undefined => "UNDEFINED",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
            Self::Ended => "ENDED",
        }
    }
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It was carried out.
    Done,
    /// An application id was given out.
    Application(String),
    /// The application's priority as it holds.
    Priority(i32),
    /// The end of an application's lifetime as it holds, in ms since the Unix epoch; nothing: unlimited.
    Expiry(Option<u64>),
}

/// Why a command was refused; nothing changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// What the command is about does not exist.
    NotFound(String),
    /// The caller has no right to it.
    Forbidden(String),
    /// The command or a value of it is not valid.
    Invalid(String),
    /// The present state does not allow it.
    State(String),
    /// It cannot be carried out now: the daemon stops, or its journal cannot be written.
    Unavailable(String),
}

impl CommandError {
    /// The text for the caller.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::NotFound(text)
            | Self::Forbidden(text)
            | Self::Invalid(text)
            | Self::State(text)
            | Self::Unavailable(text) => text,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for CommandError {}
