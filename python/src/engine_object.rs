//! `Engine`: the scheduler step by step, for own policies and notebooks.

use std::sync::PoisonError;

use engine::api::{
    AppSpec, ApplicationId, AskCall, ContainerId, Event, HandOut, NodeName, NodeReport,
    NodeSpec, PartitionSpec, Restarts, Scheduler, StateView, Stepped,
};
use engine::simulator::journal::StateSnapshot;
use engine::sync::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::conf::{self, Conf};
use crate::refusal;
use crate::requests::{self, AskDict, GangDict, UpdateDict};
use crate::sizes::Size;

/// A scheduler that decides inside calls: at heartbeats, or in rounds. Virtual time passes by `advance`.
#[pyclass(module = "capsched")]
#[derive(Debug)]
pub(crate) struct Engine {
    stepped: Mutex<Stepped>,
    types: Vec<String>,
}

/// A value of the engine as Python's own: lists, dicts, numbers and texts.
fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(refusal)?;
    py.import("json")?.call_method1("loads", (text,))
}

fn node_name(name: &str) -> PyResult<NodeName> {
    name.parse().map_err(refusal)
}

/// What is left of an application when its attempt ends.
fn restarts_of(name: &str) -> PyResult<Restarts> {
    match name {
        "never" => Ok(Restarts::Never),
        "without_containers" => Ok(Restarts::WithoutContainers),
        "keeping_containers" => Ok(Restarts::KeepingContainers),
        other => Err(refusal(format!(
            "restarts: `{other}` is not never, without_containers or keeping_containers"
        ))),
    }
}

/// Node labels by name, each with whether it is exclusive.
fn labels_of(named: Vec<(String, bool)>) -> Vec<PartitionSpec> {
    let label = |(name, exclusive)| PartitionSpec { name, exclusive };
    named.into_iter().map(label).collect()
}

fn texts<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

impl Engine {
    /// The scheduler, which one thread uses at a time.
    fn stepped(&mut self) -> &mut Stepped {
        let stepped = self.stepped.get_mut();
        stepped.unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Engine {
    /// An engine over a configuration, as `simulate` takes it. `partitions` are the node labels by name, each
    /// with whether it is exclusive. `hand_out` is `reply`, as in YARN, or `event`.
    #[new]
    #[pyo3(signature = (conf, mode="heartbeat", *, partitions=Vec::new(), hand_out="reply", hadoop="3.5"))]
    fn new(
        conf: Conf<'_>,
        mode: &str,
        partitions: Vec<(String, bool)>,
        hand_out: &str,
        hadoop: &str,
    ) -> PyResult<Self> {
        let (mode, loaded) = (conf::mode(mode)?, conf.load(&conf::options(hadoop)?)?);
        let hand_out = match hand_out {
            "reply" => HandOut::Reply,
            "event" => HandOut::Event,
            other => {
                let other = other.escape_debug();
                let text =
                    format_args!("hand_out: `{other}` is neither reply nor event").to_string();
                return Err(refusal(text));
            }
        };
        let names = &loaded.settings.scheduler.resource_types;
        let types = names.iter().map(|name| (**name).to_owned()).collect();
        let mut builder = engine::api::Engine::builder(loaded.settings).hand_out(hand_out);
        for (name, exclusive) in &partitions {
            builder = builder.partition(name, *exclusive);
        }
        let stepped = Stepped::new(builder.sequential().map_err(refusal)?, mode);
        let stepped = if loaded.preemption.enabled {
            stepped.with_preemption(loaded.preemption)
        } else {
            stepped
        };
        let stepped = Mutex::new(stepped);
        Ok(Self { stepped, types })
    }

    /// The names of the resource types, in the order of amounts.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.types.clone()
    }

    /// Registers a node, `host:port`.
    #[pyo3(signature = (name, size, *, rack="/default-rack", partition="", attributes=Vec::new()))]
    fn add_node(
        &mut self,
        name: &str,
        size: Size,
        rack: &str,
        partition: &str,
        attributes: Vec<(String, String)>,
    ) -> PyResult<()> {
        let node = NodeSpec {
            rack: rack.to_owned(),
            partition: partition.to_owned(),
            attributes,
            ..NodeSpec::new(node_name(name)?, size.over(&self.types)?)
        };
        self.stepped().add_node(node).map_err(refusal)
    }

    /// Removes a lost node; its containers are killed.
    fn remove_node(&mut self, name: &str) -> PyResult<()> {
        self.stepped()
            .remove_node(&node_name(name)?)
            .map_err(refusal)
    }

    /// Submits an application; the full path of its queue. With a `master` the scheduler places its container
    /// first, and the application may ask once that has its place. `restarts` says what is left of it when its attempt
    /// ends: `never`, `without_containers` or `keeping_containers`.
    #[pyo3(signature = (app, queue, user, *, master=None, priority=None, partition=None, tags=Vec::new(), restarts="never"))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn submit(
        &mut self,
        app: u32,
        queue: &str,
        user: &str,
        master: Option<Size>,
        priority: Option<i32>,
        partition: Option<String>,
        tags: Vec<String>,
        restarts: &str,
    ) -> PyResult<String> {
        let master = master.map(|size| size.over(&self.types)).transpose()?;
        let spec = AppSpec {
            master,
            priority,
            partition,
            tags,
            restarts: restarts_of(restarts)?,
            ..AppSpec::new(ApplicationId::new(app), queue, user)
        };
        let submitted = self.stepped().submit(spec).map_err(refusal)?;
        Ok(submitted.queue.to_string())
    }

    /// One call of an application, carried out as a whole or refused: what it asks for, gives back, changes and avoids
    /// from now on. The reply has what it got and learned; changes are refused one by one there.
    #[pyo3(signature = (app, asks=Vec::new(), *, release=Vec::new(), updates=Vec::new(), avoid=Vec::new(), use_again=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn ask<'py>(
        &mut self,
        py: Python<'py>,
        app: u32,
        asks: Vec<AskDict>,
        release: Vec<u32>,
        updates: Vec<UpdateDict>,
        avoid: Vec<String>,
        use_again: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let asks = asks
            .iter()
            .map(|ask| ask.over(&self.types))
            .collect::<PyResult<_>>()?;
        let updates = updates
            .iter()
            .map(|update| update.over(&self.types))
            .collect::<PyResult<_>>()?;
        let call = AskCall {
            asks,
            release,
            updates,
            blacklist_add: avoid,
            blacklist_remove: use_again,
            ..AskCall::default()
        };
        let reply = self
            .stepped()
            .ask(ApplicationId::new(app), call)
            .map_err(refusal)?;
        requests::reply(py, &reply, self.types.len())
    }

    /// Asks for a gang: its minimum is placed all at once within its time, or nothing of it. With a minimum of 0 the
    /// gang that waits under its priority and request id is withdrawn. Events show what becomes of it.
    fn ask_gang(&mut self, app: u32, gang: GangDict) -> PyResult<()> {
        let gang = gang.over(&self.types)?;
        let app = ApplicationId::new(app);
        self.stepped().ask_gang(app, gang).map_err(refusal)
    }

    /// Asks for opportunistic containers, which no queue is charged with and which may have to wait on their nodes. An
    /// ask replaces the earlier one with its key and place. The replies to calls have what was placed.
    fn ask_opportunistic(&mut self, app: u32, asks: Vec<AskDict>) -> PyResult<()> {
        let asks = asks
            .iter()
            .map(|ask| ask.over(&self.types))
            .collect::<PyResult<_>>()?;
        let app = ApplicationId::new(app);
        self.stepped().ask_opportunistic(app, asks).map_err(refusal)
    }

    /// A node reports that what it was to launch and stop is done; in heartbeat mode it is scheduled.
    fn heartbeat<'py>(&mut self, py: Python<'py>, node: &str) -> PyResult<Bound<'py, PyDict>> {
        let name = node_name(node)?;
        let reply = self.stepped().heartbeat(&name, NodeReport::AsExpected);
        let reply = reply.map_err(refusal)?;
        let of = PyDict::new(py);
        of.set_item("launched", texts(&reply.launched))?;
        of.set_item("exited", texts(&reply.exited))?;
        of.set_item("to_stop", texts(&reply.to_stop))?;
        Ok(of)
    }

    /// A round of a mode that does not wait for heartbeats; how many containers it placed.
    fn schedule(&mut self) -> usize {
        self.stepped().schedule()
    }

    /// Moves virtual time forward to so many ms.
    fn advance(&mut self, to_ms: u64) {
        self.stepped().advance(to_ms);
    }

    /// A container ended by itself.
    #[pyo3(signature = (container, exit_status=0))]
    fn container_finished(&mut self, container: &str, exit_status: i32) -> PyResult<()> {
        let id: ContainerId = container.parse().map_err(refusal)?;
        let engine = self.stepped();
        engine.container_exited(id, exit_status).map_err(refusal)
    }

    /// Ends the attempt of an application, which stays in its queue with what it keeps.
    fn end_attempt(&mut self, app: u32) -> PyResult<()> {
        let app = ApplicationId::new(app);
        self.stepped().end_attempt(app).map_err(refusal)
    }

    /// Starts the next attempt of an application, which asks for its master's container; the number of the attempt.
    fn start_attempt(&mut self, app: u32) -> PyResult<u32> {
        let app = ApplicationId::new(app);
        self.stepped().start_attempt(app).map_err(refusal)
    }

    /// Ends an application with what it holds.
    fn finish_app(&mut self, app: u32) -> PyResult<()> {
        self.stepped()
            .finish_app(ApplicationId::new(app))
            .map_err(refusal)
    }

    /// Takes over another configuration as a whole, or nothing of it. `partitions` are the node labels from then on, as
    /// for a new engine; without them labels stay as they are.
    #[pyo3(signature = (conf, *, hadoop="3.5", partitions=None))]
    fn refresh(
        &mut self,
        conf: Conf<'_>,
        hadoop: &str,
        partitions: Option<Vec<(String, bool)>>,
    ) -> PyResult<()> {
        let running = self.stepped().engine().ledger().state().settings.calculator;
        let options = engine::config::Options {
            running: Some(running),
            ..conf::options(hadoop)?
        };
        let loaded = conf.load(&options)?;
        let labels = partitions.map(labels_of);
        let refreshed = self.stepped().refresh(loaded.settings, labels.as_deref());
        refreshed.map_err(refusal)
    }

    /// What happened since the last call, in order: dicts with `event` and its fields.
    fn events<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut events: Vec<Event> = Vec::new();
        self.stepped().events(&mut events);
        plain(py, &events)
    }

    /// How many events wait for `events`. None is dropped, so that they grow in number until they are taken.
    fn events_waiting(&mut self) -> usize {
        self.stepped().events_waiting()
    }

    /// Everything there is: queues, nodes and applications.
    fn state<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &StateView::of(self.stepped().engine().ledger()))
    }

    /// A number that is equal for equal states.
    fn state_hash(&mut self) -> u64 {
        StateSnapshot::fingerprint(self.stepped())
    }
}
