//! The resource manager: the engine with what a daemon keeps around it.
//!
//! Every change that survives a restart is a [`Command`] and comes through [`ResourceManager::execute`], which checks
//! rights, carries it out, and has the [`Journal`] keep it before it answers. Heartbeats of nodes and calls of
//! application masters have calls of their own.

mod activities;
mod application;
mod books;
mod carry_out;
mod command;
mod ended;
mod events;
mod history;
mod journal;
mod labels;
mod last_operation;
mod looks;
mod nodes;
mod protocols;
mod recovery;
mod rights;
mod saved;
mod setup;
mod submission;

use std::sync::{Arc, PoisonError};

use capsched::api::{Engine, EngineEnd, Event, Mode, PartitionSpec, RefreshRefusal};
use capsched::config::{self, Admission};
use capsched::sync::{Mutex, MutexGuard};
use capsched::time::Clock;

use ended::EndedApps;

pub use activities::{Activities, NodeActivity, Placed, Visited};
pub use application::{AppState, Application, Attempt, AttemptState, Usage};
pub use books::Books;
pub use command::{
    Answer, Command, CommandError, ContainerForm, FinalStatus, LabelSpec, NodeRegistration, Pairs,
    Submission,
};
pub use ended::EndedLimits;
pub use events::{EventLog, Happening, NumberedEvent};
pub use history::compacted;
pub use journal::{Journal, JournalEntry, JournalError};
pub use labels::Labels;
pub use last_operation::{LastOperation, LastRun, Operation};
pub use looks::{KeyLook, LookResult, Obstacle, PassEntry, Shortage};
pub use nodes::{NodeLife, NodeRecord, NodeRegistry};
pub use recovery::RecoveryCounts;
pub use saved::SaveFailure;
pub use setup::{Configuration, Groups, Setup, StartFailure};

/// The daemon's core. Calls may come from any number of threads; those that change something wait for each other.
#[derive(Debug)]
pub struct ResourceManager {
    engine: Engine,
    setup: Setup,
    cluster: u64,
    started_ms: u64,
    configuration: Mutex<Arc<Configuration>>,
    journal: Mutex<Option<Arc<dyn Journal>>>,
    /// Held while a command is carried out and appended, so that the journal has their order.
    gate: Mutex<()>,
    books: Mutex<Books>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ResourceManager {
    /// Starts the engine over a configuration.
    ///
    /// # Errors
    ///
    /// As [`StartFailure`]; nothing runs then.
    pub fn start(setup: Setup) -> Result<Self, StartFailure> {
        let loaded = config::load_pairs(&setup.site, &setup.scheduler, &setup.options())
            .map_err(|report| StartFailure::Configuration(Box::new(report)))?;
        let rules = Admission::read(&loaded, &setup.daemon)
            .map_err(|errors| StartFailure::Rules(RefreshRefusal::Rules(errors).to_string()))?;
        let limits = EndedLimits::read(&loaded.properties).map_err(StartFailure::Setting)?;
        let mut builder = Engine::builder(loaded.settings.clone())
            .partitions(setup.labels.clone())
            .mode(setup.mode)
            .preemption(loaded.preemption.clone())
            .admission(rules)
            .clock(Arc::clone(&setup.clock));
        if setup.host_passes {
            builder = builder.host_passes();
        }
        let failed = |error: capsched::api::StartError| StartFailure::Engine(error.to_string());
        let engine = builder.start().map_err(failed)?;
        let now_ms = setup.clock.now_ms();
        let configuration = Configuration {
            site: setup.site.clone(),
            scheduler: setup.scheduler.clone(),
            loaded,
        };
        let mut books = Books {
            ended: EndedApps::new(limits.known),
            ..Books::default()
        };
        for PartitionSpec { name, exclusive } in setup.labels.iter().cloned() {
            books.labels.add(&LabelSpec { name, exclusive });
        }
        Ok(Self {
            engine,
            cluster: setup.cluster.unwrap_or(now_ms),
            started_ms: now_ms,
            configuration: Mutex::new(Arc::new(configuration)),
            journal: Mutex::new(None),
            gate: Mutex::new(()),
            books: Mutex::new(books),
            setup,
        })
    }

    /// The engine, to be looked at. Whoever changes something calls the resource manager.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What it was started with.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Start of the cluster in ms since the Unix epoch, which is part of application ids.
    #[must_use]
    pub fn cluster(&self) -> u64 {
        self.cluster
    }

    /// When this daemon started, in ms since the Unix epoch.
    #[must_use]
    pub fn started_ms(&self) -> u64 {
        self.started_ms
    }

    /// The present time, in ms since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.setup.clock.now_ms()
    }

    /// The configuration that holds.
    #[must_use]
    pub fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&lock(&self.configuration))
    }

    /// Looks at applications, nodes, labels and events. The closure holds up every other call: keep it short, and
    /// call nothing of the resource manager in it.
    pub fn read<T>(&self, look: impl FnOnce(&Books) -> T) -> T {
        self.pump();
        look(&lock(&self.books))
    }

    /// Has a journal keep every command from now on.
    pub fn attach_journal(&self, journal: Arc<dyn Journal>) {
        *lock(&self.journal) = Some(journal);
    }

    /// Follows what the engine decided since the last call. Commands and heartbeats do so by themselves; a daemon
    /// whose engine decides without heartbeats calls this every few ms.
    pub fn pump(&self) {
        let mut books = lock(&self.books);
        let decisions = self.take_decisions();
        self.follow(&mut books, &decisions, self.now_ms());
    }

    /// Follows decisions, starts the further attempts that they bring, and has the journal keep what a restart has to
    /// know.
    fn follow(&self, books: &mut Books, decisions: &[Event], now_ms: u64) {
        books.follow(decisions, now_ms);
        let retries = books.take_retries();
        if !retries.is_empty() {
            self.start_again(books, &retries, now_ms);
        }
        let kept = std::mem::take(&mut books.kept);
        self.end_kept(&kept);
        self.keep_facts(books, now_ms);
    }

    /// Has the journal keep what the engine decided about applications. Does not wait for the disk.
    fn keep_facts(&self, books: &mut Books, at_ms: u64) {
        let facts = std::mem::take(&mut books.facts);
        let journal = lock(&self.journal).clone();
        let Some(journal) = journal else {
            return;
        };
        for command in facts {
            let entry = JournalEntry {
                at_ms,
                user: self.setup.daemon.clone(),
                command,
            };
            // A journal that fails takes nothing any more, and says so to whoever waits for it.
            match journal.append(entry) {
                Ok(position) => books.fact_position = position,
                Err(_) => books.fact_position = u64::MAX,
            }
        }
    }

    /// Adds an event, once, when the journal keeps nothing any more.
    fn watch_journal(&self) {
        let journal = lock(&self.journal).clone();
        let Some(message) = journal.and_then(|journal| journal.failure()) else {
            return;
        };
        let now_ms = self.now_ms();
        let mut books = lock(&self.books);
        if !books.journal_failed {
            books.journal_failed = true;
            books
                .events
                .push(now_ms, Happening::StoreFailed { message });
        }
    }

    /// Waits until the journal has everything up to a position.
    fn wait_for(&self, position: u64) -> Result<(), JournalError> {
        let journal = lock(&self.journal).clone();
        match journal {
            Some(journal) if position > 0 => journal.wait(position),
            _ => Ok(()),
        }
    }

    /// The decisions since the last call. In heartbeat mode those of every call that was answered are among them; in
    /// the other modes some may follow a little later.
    fn take_decisions(&self) -> Vec<Event> {
        let mut decisions = self.engine.take_events();
        if self.setup.mode == Mode::Heartbeat {
            self.engine.quiesce();
            self.engine.append_events(&mut decisions);
        }
        decisions
    }

    /// Has happen what is due by time alone: ends applications whose lifetime is over and nodes that did not report
    /// in time. A daemon calls this about once a second.
    pub fn tick(&self) {
        self.pump();
        self.watch_journal();
        self.end_overdue();
        self.expire_nodes();
    }

    /// Carries out a command in the name of a user, if the user may, and has the journal keep it.
    ///
    /// # Errors
    ///
    /// As [`CommandError`]; nothing changed then, but for [`CommandError::Unavailable`] when the journal failed:
    /// the command may hold after a restart or not.
    pub fn execute(&self, user: &str, command: Command) -> Result<Answer, CommandError> {
        self.check_rights(user, &command)?;
        self.carry_out_kept(user, &command, |at_ms| {
            self.carry_out(user, &command, at_ms)
        })
    }

    /// Carries out a command by a function, and has the journal keep it.
    fn carry_out_kept<T>(
        &self,
        user: &str,
        command: &Command,
        carry_out: impl FnOnce(u64) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let journal = lock(&self.journal).clone();
        let gate = lock(&self.gate);
        let at_ms = self.now_ms();
        let answer = carry_out(at_ms);
        self.pump();
        let answer = answer?;
        let Some(journal) = journal else {
            return Ok(answer);
        };
        let entry = JournalEntry {
            at_ms,
            user: user.to_owned(),
            command: command.clone(),
        };
        let position = journal.append(entry);
        drop(gate);
        let kept = position.and_then(|position| journal.wait(position));
        kept.map_err(|error| {
            self.watch_journal();
            CommandError::Unavailable(error.to_string())
        })?;
        Ok(answer)
    }

    /// Carries out a command that a journal kept, at the time of its entry and without looking at rights.
    ///
    /// # Errors
    ///
    /// As [`CommandError`].
    pub fn replay(&self, entry: &JournalEntry) -> Result<Answer, CommandError> {
        let _gate = lock(&self.gate);
        let answer = self.carry_out(&entry.user, &entry.command, entry.at_ms);
        self.pump();
        answer
    }

    /// Whether the live scheduler would take a configuration; nothing changes.
    ///
    /// Cost: a copy of the scheduler's state.
    ///
    /// # Errors
    ///
    /// Why it would not.
    pub fn try_refresh(&self, scheduler: &Pairs) -> Result<(), CommandError> {
        let loaded = self.load_for_refresh(scheduler)?;
        let shown = self.engine.snapshot();
        let live = shown.queues.iter().filter(|queue| !queue.removed);
        let live = live.map(|queue| &*queue.settings);
        Admission::read_beside(&loaded, &self.setup.daemon, live)
            .map_err(|errors| CommandError::Invalid(RefreshRefusal::Rules(errors).to_string()))?;
        let tried = self
            .engine
            .inspect(move |ledger| ledger.check_refresh(&loaded.settings));
        let gone = |error: capsched::api::CallError| CommandError::Unavailable(error.to_string());
        tried
            .map_err(gone)?
            .map_err(|error| CommandError::Invalid(error.to_string()))
    }

    /// Ends the engine.
    pub fn stop(self) -> EngineEnd {
        self.engine.stop()
    }
}
