//! The state as a snapshot that a machine without this server replays.

use std::collections::BTreeMap;
use std::fmt;

use capsched::api::{CallError, Mode, ModeKind, TreeSettings};
use capsched::simulator::journal::{SnapshotHead, StateSnapshot};

use super::{Configuration, ResourceManager, lock};

/// Why the state cannot be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveFailure {
    /// The engine has shut down.
    Gone(CallError),
    /// The configuration depends on more than a file keeps.
    Configuration(String),
}

impl fmt::Display for SaveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(error) => error.fmt(f),
            Self::Configuration(what) => write!(
                f,
                "the configuration depends on more than a snapshot keeps: {what}"
            ),
        }
    }
}

impl std::error::Error for SaveFailure {}

impl ResourceManager {
    /// The state as a snapshot, without secrets. What it leaves out is listed in its head.
    ///
    /// Cost: as [`Threaded::rebuild_source`](capsched::api::Threaded::rebuild_source) while commands wait; then that of
    /// building the state anew.
    ///
    /// # Errors
    ///
    /// As [`SaveFailure`].
    pub fn saved(&self) -> Result<StateSnapshot, SaveFailure> {
        let (source, configuration) = {
            // No command changes the configuration meanwhile.
            let _gate = lock(&self.gate);
            let source = self.engine.rebuild_source().map_err(SaveFailure::Gone)?;
            (source, self.configuration())
        };
        let rebuild = source.read();
        let labels = rebuild.labels().to_vec();
        let head = self.head(&configuration, labels)?;
        StateSnapshot::rebuilt(head, &rebuild).map_err(|error| wrong(&error))
    }

    /// What the calls of a snapshot depend on.
    fn head(
        &self,
        configuration: &Configuration,
        labels: Vec<(String, bool)>,
    ) -> Result<SnapshotHead, SaveFailure> {
        let loaded = &configuration.loaded;
        let preemption = &loaded.preemption;
        let mode = match self.setup.mode {
            Mode::Heartbeat => ModeKind::Heartbeat,
            Mode::Asynchronous { .. } => ModeKind::Asynchronous,
            Mode::Global { .. } => ModeKind::Global,
        };
        let mut head = SnapshotHead {
            types: self.types().iter().map(ToString::to_string).collect(),
            site: BTreeMap::new(),
            scheduler: BTreeMap::new(),
            labels,
            mode: mode.name().to_owned(),
            reference: self.setup.reference.name().to_owned(),
            preemption: preemption.enabled.then_some(preemption.observe_only),
            every_beat: false,
            at_ms: 0,
            recovers: true,
            left_out: Vec::new(),
        };
        head.keep(&loaded.properties);
        let kept = head.loaded().map_err(|error| wrong(&error))?;
        if shown(&kept.settings) != shown(&loaded.settings) {
            let what = "other properties, or variables of the environment".to_owned();
            return Err(SaveFailure::Configuration(what));
        }
        let sorts = loaded.settings.scheduler.multi_node.policies.is_empty();
        head.run_in(mode, sorts);
        Ok(head)
    }
}

fn wrong(error: &impl ToString) -> SaveFailure {
    SaveFailure::Configuration(error.to_string())
}

/// Settings as they decide, for a comparison.
fn shown(settings: &TreeSettings) -> String {
    format!("{:?}{:?}", settings.scheduler, settings.queues)
}
