//! How an engine comes to be: settings, labels, mode and clock, then threads or none.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::engine::Engine;
use crate::commit::{HandOut, PartitionSpec, RefreshError};
use crate::config::Admission;
use crate::queue::{Reference, TreeSettings};
use crate::rescheduler::{Rescheduler, Settings};
use crate::runtime::{Mode, Placement, Running, Sequential, StartError, Threaded};
use crate::time::{Clock, SystemClock};

impl Engine {
    /// An engine over a tree of queues, in the mode that its configuration asks for unless
    /// [`EngineBuilder::mode`] names one. Nothing runs before [`EngineBuilder::start`] or [`EngineBuilder::sequential`].
    pub fn builder(settings: TreeSettings) -> EngineBuilder {
        EngineBuilder {
            settings,
            partitions: Vec::new(),
            mode: None,
            preemption: Settings::default(),
            hand_out: HandOut::default(),
            admission: None,
            allocation_expiry: None,
            recovering: false,
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
    mode: Option<Mode>,
    preemption: Settings,
    hand_out: HandOut,
    admission: Option<Admission>,
    allocation_expiry: Option<Duration>,
    recovering: bool,
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

    /// Who runs rounds, which wins over the configuration and the default of the release: heartbeats schedule in
    /// heartbeat mode, and in no other. [`Mode::configured`] unless given. Of a sequential
    /// engine it decides alone whether heartbeats schedule.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The host schedules nodes itself where the configuration schedules asynchronously; see
    /// [`Running::host_passes`]. No thread runs rounds then.
    pub fn host_passes(mut self) -> Self {
        self.running.host_passes = true;
        self.mode = Some(Mode::Heartbeat);
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

    /// Bounds the memory of events that nobody takes; without a bound by default. Once so many wait, what happens is
    /// dropped until a reader has taken all of them. Behind them stands one [`Event::Lost`](crate::api::Event::Lost)
    /// with the number of those that were dropped: whoever follows the state by events reads it anew.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use capsched::api::*;
    ///
    /// let two = NonZeroUsize::MIN.saturating_add(1);
    /// let engine = Engine::builder(example::settings()).events_limit(two).start()?;
    /// for number in 1..=5 {
    ///     engine.submit(AppSpec::new(ApplicationId::new(number), "root.a", "ann"))?;
    ///     engine.quiesce();
    /// }
    /// let events = engine.take_events();
    /// assert_eq!((events.len(), &events[2]), (3, &Event::Lost { count: 3 }));
    /// // The engine keeps events again.
    /// engine.submit(AppSpec::new(ApplicationId::new(6), "root.a", "ann"))?;
    /// engine.quiesce();
    /// assert_eq!(engine.take_events().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn events_limit(mut self, most: NonZeroUsize) -> Self {
        self.running.events_limit = Some(most);
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

    /// What hands a container to its application, after which a release is final: the reply to its next
    /// call, as in YARN and by default, or the event of the allocation. See `docs/CONTAINERS.md`.
    pub fn hand_out(mut self, by: HandOut) -> Self {
        self.hand_out = by;
        self
    }

    /// A container ends so long after it was handed out if its node has not launched it until then; never by
    /// default. An increase goes back so long after it was fetched if the node has not reported it.
    // As yarn.resourcemanager.rm.container-allocation.expiry-interval-ms.
    pub fn allocation_expiry(mut self, after: Duration) -> Self {
        self.allocation_expiry = Some(after);
        self
    }

    /// The engine recovers from its start on: nodes register with what they run
    /// ([`Threaded::register_node`]) and applications are taken over ([`Threaded::recover_app`]) in any order,
    /// until [`Threaded::finish_recovery`].
    pub fn recovering(mut self) -> Self {
        self.recovering = true;
        self
    }

    /// Placement rules, access lists and priorities, for [`Engine::submit_as`]; none by default.
    pub fn admission(mut self, rules: Admission) -> Self {
        self.admission = Some(rules);
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
            hand_out: self.hand_out,
            admission: self.admission,
            allocation_expiry: self.allocation_expiry,
            recovering: self.recovering,
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
        let mut engine = Sequential::new(self.settings, &self.partitions)?;
        if let Some(mode) = self.mode.filter(|_| !self.running.host_passes) {
            engine.name_mode(mode == Mode::Heartbeat);
        }
        engine.set_hand_out(self.hand_out);
        let ms = |after: Duration| u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        engine.set_allocation_expiry(self.allocation_expiry.map(ms));
        if self.recovering {
            engine.begin_recovery();
        }
        Ok(engine)
    }

    /// Starts the threads of the mode.
    ///
    /// # Errors
    ///
    /// As [`StartError`]; threads that were started are ended.
    pub fn start(self) -> Result<Engine, StartError>
    where
        C: Clock + Clone + 'static,
    {
        let (clock, running) = (self.clock.clone(), self.running);
        let configured = || Mode::configured(&self.settings.scheduler.asynchronous);
        let mode = self.mode.unwrap_or_else(configured);
        let (preemption, admission) = (self.preemption.clone(), self.admission.clone());
        let engine = self.sequential().map_err(StartError::Settings)?;
        let mut engine = Threaded::take_over(engine, mode, clock.clone(), running)?;
        engine.start_monitor(Box::new(Rescheduler::new(preemption)), clock)?;
        Ok(Engine::new(engine, admission))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::commit::Event;
    use crate::config;
    use crate::id::{ApplicationId, NodeName};
    use crate::queue::{AppSpec, Ask, AskCall, NodeReport, NodeSpec};
    use crate::resource::ResourceVector;
    use crate::runtime::EngineEnd;
    use crate::time::ManualClock;

    fn settings() -> TreeSettings {
        settings_of(Reference::default(), None)
    }

    /// One queue by a release; `asynchronous`: as the file says, which may leave it open.
    fn settings_of(reference: Reference, asynchronous: Option<bool>) -> TreeSettings {
        let enable = asynchronous.map(|on| ("schedule-asynchronously.enable", on.to_string()));
        let queues = [("root.queues", "a"), ("root.a.capacity", "100")];
        let pairs = queues.map(|(key, value)| (key, value.to_owned()));
        let pairs = pairs.into_iter().chain(enable);
        let pairs = pairs.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value));
        let options = config::Options {
            reference,
            ..config::Options::default()
        };
        let loaded = config::load_pairs(&BTreeMap::new(), &pairs.collect(), &options);
        loaded.unwrap().settings
    }

    /// Containers that a node with one request has after a heartbeat.
    fn placed_at_a_heartbeat(builder: EngineBuilder) -> usize {
        let mut engine = builder.sequential().unwrap();
        let node = NodeName::new("n", 1).unwrap();
        let size = ResourceVector::of(&[4096, 4]);
        engine.add_node(&NodeSpec::new(node.clone(), size)).unwrap();
        let app = ApplicationId::new(1);
        engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 1);
        engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
        engine.heartbeat(&node, &NodeReport::AsExpected).unwrap();
        let events = engine.take_events();
        let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
        events.iter().filter(placed).count()
    }

    #[test]
    fn a_named_mode_wins_over_the_file_and_the_file_over_the_release() {
        let (old, new) = (Reference::Hadoop34, Reference::Hadoop35);
        // Release, what the file says, the mode that is named, containers after a heartbeat.
        let rows = [
            (old, None, None, 1),
            (new, None, None, 0),
            (old, Some(true), None, 0),
            (new, Some(false), None, 1),
            (old, Some(true), Some(Mode::Heartbeat), 1),
            (new, None, Some(Mode::Heartbeat), 1),
            (old, None, Some(Mode::Asynchronous { threads: 1 }), 0),
            (new, Some(false), Some(Mode::Global { threads: 1 }), 0),
        ];
        for (reference, file, mode, placed) in rows {
            let builder = Engine::builder(settings_of(reference, file));
            let builder = match mode {
                Some(mode) => builder.mode(mode),
                None => builder,
            };
            let found = placed_at_a_heartbeat(builder);
            assert_eq!(found, placed, "{reference} {file:?} {mode:?}");
        }
        // The host runs the passes of an asynchronous file; heartbeats do not.
        let host = Engine::builder(settings_of(new, None)).host_passes();
        assert_eq!(placed_at_a_heartbeat(host), 0);
    }

    #[test]
    fn threads_of_an_engine_are_those_of_the_file_unless_a_mode_is_named() {
        let configured = |reference, file| {
            let settings = settings_of(reference, file);
            Mode::configured(&settings.scheduler.asynchronous)
        };
        let (old, new) = (Reference::Hadoop34, Reference::Hadoop35);
        let threads = Mode::Asynchronous { threads: 1 };
        assert_eq!(configured(old, None), Mode::Heartbeat);
        assert_eq!(configured(new, None), threads);
        assert_eq!(configured(new, Some(false)), Mode::Heartbeat);
        let engine = Engine::builder(settings_of(new, None)).start().unwrap();
        let size = ResourceVector::of(&[4096, 4]);
        let node = NodeName::new("n", 1).unwrap();
        engine.add_node(NodeSpec::new(node, size)).unwrap();
        let app = ApplicationId::new(1);
        engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 1);
        engine.ask(app, AskCall::asking(vec![ask])).unwrap();
        engine.quiesce();
        let events = engine.take_events();
        let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
        assert_eq!(events.iter().filter(placed).count(), 1);
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
        assert_eq!(nodes, Ok(ports.len()));
    }

    #[test]
    fn an_engine_starts_with_a_clock_of_the_callers() {
        let engine = Engine::builder(settings())
            .clock(ManualClock::at(0))
            .mode(Mode::Asynchronous { threads: 1 })
            .start()
            .unwrap();
        engine.quiesce();
        assert_eq!(engine.stop(), EngineEnd::Stopped);
    }
}
