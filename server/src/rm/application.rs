//! Applications as users see them: states, attempts, times and what they used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use capsched::api::{ApplicationId, ContainerId, GangAsk, GangEvent, GangStep, NodeName};
use serde::{Deserialize, Serialize};

use super::command::{ContainerForm, FinalStatus, Submission};

/// Where an application stands.
// As YarnApplicationState.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AppState {
    /// It was made.
    New,
    /// It is being stored.
    NewSaving,
    /// It is stored and not yet accepted by the scheduler.
    Submitted,
    /// The scheduler has it; its master does not run.
    Accepted,
    /// Its master runs.
    Running,
    /// It did its work.
    Finished,
    /// It was refused, or its attempts failed.
    Failed,
    /// It was killed.
    Killed,
}

impl AppState {
    /// All of them, in YARN's order.
    pub const ALL: [Self; 8] = [
        Self::New,
        Self::NewSaving,
        Self::Submitted,
        Self::Accepted,
        Self::Running,
        Self::Finished,
        Self::Failed,
        Self::Killed,
    ];

    /// YARN's word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::NewSaving => "NEW_SAVING",
            Self::Submitted => "SUBMITTED",
            Self::Accepted => "ACCEPTED",
            Self::Running => "RUNNING",
            Self::Finished => "FINISHED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
        }
    }

    /// Whether the application has ended.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Killed)
    }
}

/// Where an attempt stands.
// As YarnApplicationAttemptState.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AttemptState {
    /// Its master's container is asked for.
    Scheduled,
    /// Its master's container is placed and its node starts it.
    Launched,
    /// Its master has registered.
    Running,
    /// Its master has ended the application.
    Finished,
    /// It failed.
    Failed,
    /// It was killed.
    Killed,
}

impl AttemptState {
    /// YARN's word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "SCHEDULED",
            Self::Launched => "LAUNCHED",
            Self::Running => "RUNNING",
            Self::Finished => "FINISHED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
        }
    }
}

/// One attempt of an application.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// Where it stands.
    pub state: AttemptState,
    /// When it started, in ms since the Unix epoch.
    pub started_ms: u64,
    /// When it ended; 0: not yet.
    pub finished_ms: u64,
    /// The master's container and its node, once placed.
    pub master: Option<(ContainerId, NodeName)>,
    /// Host of the master, once registered.
    pub host: Option<String>,
    /// Port of the master for clients.
    pub rpc_port: i32,
    /// The master's page.
    pub tracking_url: String,
    /// What went wrong.
    pub diagnostics: String,
}

/// What an application used so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Sum over ended containers of amount times lifetime, in units times ms, by resource type.
    pub amount_ms: Vec<i128>,
    /// The same of preempted containers.
    pub preempted_ms: Vec<i128>,
    /// Sum of the sizes of preempted containers.
    pub preempted: Vec<i64>,
    /// Preempted containers of tasks.
    pub preempted_tasks: u64,
    /// Preempted containers of masters.
    pub preempted_masters: u64,
}

/// One application.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Application {
    /// Its id.
    pub id: ApplicationId,
    /// Submitting user.
    pub user: String,
    /// Name.
    pub name: String,
    /// Type.
    pub kind: String,
    /// Tags.
    pub tags: Vec<String>,
    /// The queue as users see it: as named at submission, or the path that the scheduler found.
    pub queue: String,
    /// Full path of its leaf.
    pub path: String,
    /// Priority as it holds.
    pub priority: i32,
    /// Where it stands.
    pub state: AppState,
    /// How it ended.
    pub final_status: FinalStatus,
    /// What went wrong, or how it goes.
    pub diagnostics: String,
    /// When it was submitted, in ms since the Unix epoch.
    pub started_ms: u64,
    /// When its master was launched; 0: not yet.
    pub launched_ms: u64,
    /// When it ended; 0: not yet.
    pub finished_ms: u64,
    /// Part of the work that is done as its master says, from 0 to 100.
    pub progress: f32,
    /// Its attempts, the oldest first.
    pub attempts: Vec<Attempt>,
    /// Attempts at most.
    pub max_attempts: u32,
    /// Whether there is no container for a master.
    pub unmanaged: bool,
    /// What it was submitted with.
    pub submission: Submission,
    /// Partition that the master's container is asked on; nothing where the queue is not known.
    pub master_label: Option<String>,
    /// Port of the web page of the master's node.
    pub master_http_port: u16,
    /// When its lifetime ends, in ms since the Unix epoch; nothing: never.
    pub expiry_ms: Option<u64>,
    /// What it used so far.
    pub usage: Usage,
    /// When its live containers were placed, in ms since the Unix epoch, by attempt and number.
    pub placed_ms: BTreeMap<(u32, u32), u64>,
    /// Partitions on which it ever had containers.
    pub partitions: BTreeSet<String>,
    /// What changes have made of its live containers, by attempt and number.
    pub changed: BTreeMap<(u32, u32), ContainerForm>,
    /// What became of its gangs since its master was last answered; the newest [`GangAsk::MOST_WAITING`].
    pub(super) gangs: VecDeque<GangEvent>,
}

impl Application {
    /// The present attempt.
    #[must_use]
    pub fn attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Ends the application and its present attempt.
    pub(super) fn end(&mut self, state: AppState, status: FinalStatus, now_ms: u64) {
        if self.state.is_over() {
            return;
        }
        self.state = state;
        self.final_status = status;
        self.finished_ms = now_ms;
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.finished_ms = now_ms;
            if attempt.host.is_some() {
                self.progress = 100.0;
            }
            if state != AppState::Finished {
                // As RMAppAttemptImpl.invalidateAMHostAndPort: nobody answers there any more.
                (attempt.host, attempt.rpc_port) = (None, -1);
            }
            attempt.state = match state {
                AppState::Finished => AttemptState::Finished,
                AppState::Killed => AttemptState::Killed,
                _ => AttemptState::Failed,
            };
        }
    }

    /// Notes what became of a gang. That nodes are held for it is no news for its master.
    pub(super) fn note_gang(&mut self, gang: &GangEvent) {
        if matches!(gang.step, GangStep::Holds { .. }) {
            return;
        }
        if self.gangs.len() == GangAsk::MOST_WAITING {
            self.gangs.pop_front();
        }
        self.gangs.push_back(gang.clone());
    }

    /// How many attempts there were.
    pub(super) fn attempts_made(&self) -> u32 {
        self.attempts.last().map_or(0, |last| last.number)
    }

    /// The present attempt failed, and the application goes on.
    pub(super) fn fail_attempt(&mut self, diagnostics: &str, now_ms: u64) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.state = AttemptState::Failed;
            attempt.finished_ms = now_ms;
            diagnostics.clone_into(&mut attempt.diagnostics);
        }
    }

    /// Starts the next attempt.
    pub(super) fn start_attempt(&mut self, now_ms: u64) {
        let number = self.attempts.last().map_or(1, |last| last.number + 1);
        self.attempts.push(Attempt {
            number,
            state: AttemptState::Scheduled,
            started_ms: now_ms,
            finished_ms: 0,
            master: None,
            host: None,
            rpc_port: -1,
            tracking_url: String::new(),
            diagnostics: String::new(),
        });
    }
}
