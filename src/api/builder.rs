//! How an engine comes to be: settings, labels, mode and clock, then threads or none.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::commit::{PartitionSpec, RefreshError};
use crate::queue::{Reference, TreeSettings};
use crate::rescheduler::{Rescheduler, Settings};
use crate::runtime::{Mode, Placement, Running, Sequential, StartError, Threaded};
use crate::time::{Clock, SystemClock};

/// Where engines are made: [`Engine::builder`].
///
/// ```
/// use std::collections::BTreeMap;
/// use capsched::api::{Engine, Mode};
/// use capsched::config;
///
/// let queues = BTreeMap::from([
///     ("yarn.scheduler.capacity.root.queues".to_owned(), "a,b".to_owned()),
///     ("yarn.scheduler.capacity.root.a.capacity".to_owned(), "60".to_owned()),
///     ("yarn.scheduler.capacity.root.b.capacity".to_owned(), "40".to_owned()),
/// ]);
/// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
/// let loaded = config::from_pairs(&BTreeMap::new(), &queues, &types).expect("a valid tree");
///
/// // Threads that never wait for heartbeats:
/// let engine = Engine::builder(loaded.settings.clone())
///     .partition("gpu", true)
///     .mode(Mode::Global { threads: 2 })
///     .start()?;
/// drop(engine.stop());
///
/// // The same rules without any thread:
/// let engine = Engine::builder(loaded.settings).sequential()?;
/// assert_eq!(engine.ledger().state().queues.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Engine {}

impl Engine {
    /// An engine over a tree of queues, in heartbeat mode by default. Nothing runs
    /// before [`EngineBuilder::start`] or [`EngineBuilder::sequential`].
    pub fn builder(settings: TreeSettings) -> EngineBuilder {
        EngineBuilder {
            settings,
            partitions: Vec::new(),
            mode: Mode::Heartbeat,
            preemption: Settings::default(),
            clock: SystemClock::new(),
            running: Running::default(),
        }
    }
}

/// An engine that has not started.
///
/// ```
/// use capsched::api::*;
///
/// let builder = Engine::builder(example::settings()).partition("gpu", true).mode(Mode::Heartbeat);
/// let engine = builder.start()?; // no thread runs before
/// drop(engine.stop());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct EngineBuilder<C = SystemClock> {
    settings: TreeSettings,
    partitions: Vec<PartitionSpec>,
    mode: Mode,
    preemption: Settings,
    clock: C,
    running: Running,
}

impl<C> EngineBuilder<C> {
    /// A partition (node label) that the cluster knows; `exclusive` when only requests that name
    /// it are served there.
    pub fn partition(mut self, name: &str, exclusive: bool) -> Self {
        let name = name.to_owned();
        self.partitions.push(PartitionSpec { name, exclusive });
        self
    }

    /// Several partitions, after those named so far.
    pub fn partitions(mut self, partitions: impl IntoIterator<Item = PartitionSpec>) -> Self {
        self.partitions.extend(partitions);
        self
    }

    /// Who runs rounds once the engine has started; without meaning for a sequential engine.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// On which cores the threads run; anywhere by default.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.running.placement = placement;
        self
    }

    /// How long the committer stays awake with nothing to do; see [`Running::awake`].
    pub fn awake(mut self, awake: Duration) -> Self {
        self.running.awake = awake;
        self
    }

    /// Items that each queue between two threads takes; see [`Running::capacity`].
    pub fn capacity(mut self, capacity: NonZeroUsize) -> Self {
        self.running.capacity = Some(capacity);
        self
    }

    /// The release of Hadoop whose rules decide; that of the settings by default. What
    /// a configuration was read with stays as it is, such as its defaults.
    pub fn reference(mut self, reference: Reference) -> Self {
        self.settings.scheduler.rules = reference.rules();
        self
    }

    /// How preemption is configured, as a configuration gives it; off by default. A
    /// started engine runs its rounds on a thread of their own; the rounds of a sequential engine
    /// are its owner's ([`crate::api::Stepped::with_preemption`]).
    pub fn preemption(mut self, settings: Settings) -> Self {
        self.preemption = settings;
        self
    }

    /// The clock that latencies are measured with and that rounds of preemption follow; the
    /// machine's own by default.
    pub fn clock<D>(self, clock: D) -> EngineBuilder<D> {
        EngineBuilder {
            settings: self.settings,
            partitions: self.partitions,
            mode: self.mode,
            preemption: self.preemption,
            clock,
            running: self.running,
        }
    }

    /// An engine without threads: every decision is made inside a call.
    ///
    /// # Errors
    ///
    /// When the settings do not make a tree.
    pub fn sequential(self) -> Result<Sequential, RefreshError> {
        Sequential::new(self.settings, &self.partitions)
    }

    /// Starts the threads of the mode.
    ///
    /// # Errors
    ///
    /// As [`StartError`]; threads that were started are ended.
    pub fn start(self) -> Result<Threaded, StartError>
    where
        C: Clock + Clone + 'static,
    {
        let clock = self.clock.clone();
        let engine =
            Sequential::new(self.settings, &self.partitions).map_err(StartError::Settings)?;
        let mut engine = Threaded::take_over(engine, self.mode, self.clock, self.running)?;
        engine.start_monitor(Box::new(Rescheduler::new(self.preemption)), clock)?;
        Ok(engine)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config;
    use crate::id::NodeName;
    use crate::queue::NodeSpec;
    use crate::resource::ResourceVector;
    use crate::time::ManualClock;

    fn settings() -> TreeSettings {
        let pairs = [("root.queues", "a"), ("root.a.capacity", "100")]
            .map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types)
            .unwrap()
            .settings
    }

    #[test]
    fn labels_of_both_calls_are_known_to_the_engine() {
        let more = PartitionSpec {
            name: "ssd".to_owned(),
            exclusive: false,
        };
        let engine = Engine::builder(settings())
            .partition("gpu", true)
            .partitions([more])
            .sequential()
            .unwrap();
        let exclusive = |label: &str| {
            let id = engine.ledger().partition(label)?;
            Some(engine.ledger().state().partitions[id].exclusive)
        };
        assert_eq!(exclusive("gpu"), Some(true));
        assert_eq!(exclusive("ssd"), Some(false));
        assert_eq!(exclusive("tape"), None);
    }

    #[test]
    fn an_engine_whose_queues_take_one_item_answers() {
        let engine = Engine::builder(settings())
            .mode(Mode::Global { threads: 2 })
            .capacity(NonZeroUsize::MIN)
            .start()
            .unwrap();
        let node = |i| NodeSpec::new(NodeName::new("n", i).unwrap(), ResourceVector::of(&[1, 1]));
        let ports = 1..20;
        for port in ports.clone() {
            engine.add_node(node(port)).unwrap();
            drop(engine.take_events());
        }
        let nodes = engine.inspect(|ledger| ledger.state().nodes.iter().count());
        assert_eq!(nodes, Some(ports.len()));
    }

    #[test]
    fn an_engine_starts_with_a_clock_of_the_callers() {
        let engine = Engine::builder(settings())
            .clock(ManualClock::at(0))
            .mode(Mode::Asynchronous { threads: 1 })
            .start()
            .unwrap();
        engine.quiesce();
        assert_eq!(engine.stop(), crate::sync::Ended::Stopped);
    }
}
