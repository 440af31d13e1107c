//! The player: carries out the script of a scene on a resource manager with a simulated clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request as HttpRequest, StatusCode, header};
use axum::{Extension, Router, http};
use capsched::api::{
    ApplicationId, Ask, AskCall, ContainerId, Mode, NodeName, NodeReport, PartitionSpec, Reference,
    ResourceVector,
};
use capsched::commit::{Container, Ledger};
use capsched::config::{self, ConfigSource, Layer, Options};
use capsched::id::java_order;
use capsched::sync::{AtomicU64, Ordering};
use capsched::time::ManualClock;
use tower::ServiceExt;

use super::scene::{Http, Request, Scene, SceneError, Step, Submit};
use super::starts::Starts;
use crate::rest::{self, Shared};
use crate::rm::{
    Answer, Command, FinalStatus, NodeRegistration, ResourceManager, Setup, Submission,
};
use crate::store::{Durability, Durable};

/// Start of the recorded clusters, in ms since the Unix epoch.
const CLUSTER: u64 = 1_700_000_000_000;

/// How long after its last heartbeat a node is scheduled without heartbeats.
// As CapacityScheduler.shouldSkipNodeSchedule: twice the interval of heartbeats.
const FRESH_MS: u64 = 2000;

/// Attempts after which a round without heartbeats counts as endless.
const MOST_ATTEMPTS: usize = 100_000;

/// Virtual time from a step to the next one: what it took the recorded cluster, which acted in real time.
const fn duration(step: &Step) -> Duration {
    Duration::from_millis(match step {
        Step::Request(_) => 20,
        Step::AddNode { .. } | Step::RemoveNode { .. } => 350,
        Step::Heartbeat { .. } | Step::StartAm { .. } => 400,
        Step::Submit(_) => 550,
        Step::Wait { ms } => *ms,
        _ => 300,
    })
}

/// The longest body that is read.
const LONGEST: usize = 64 << 20;

/// One answer of the resource manager that plays.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Directories that were made so far.
static DIRECTORIES: AtomicU64 = AtomicU64::new(0);

struct Player {
    rm: Arc<ResourceManager>,
    router: Router,
    clock: ManualClock,
    /// When each node last reported, in order of registration, in ms of the clock.
    beats: Vec<(NodeName, u64)>,
    /// Whether nodes are scheduled without heartbeats.
    asynchronous: bool,
    /// Where passes without heartbeats begin.
    starts: Starts,
    /// The id of each application of the script.
    apps: BTreeMap<u32, String>,
    /// Containers that each node was asked to stop with its last heartbeat.
    to_stop: BTreeMap<NodeName, Vec<ContainerId>>,
    /// Applications whose masters were started.
    started: BTreeSet<ApplicationId>,
    /// Applications whose masters finished: their containers end by themselves.
    finished: BTreeSet<ApplicationId>,
    runtime: tokio::runtime::Runtime,
    _versions: Option<VersionsDirectory>,
}

/// A directory of configuration versions of this scene alone, which goes with it.
struct VersionsDirectory(PathBuf);

impl VersionsDirectory {
    /// Where the site keeps versions as files, they are kept in a directory of their own.
    fn of(setup: &mut Setup) -> Option<Self> {
        let key = "yarn.scheduler.configuration.fs.path".to_owned();
        let path = setup.site.get_mut(&key)?;
        let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("capsched-scene-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        *path = directory.display().to_string();
        Some(Self(directory))
    }
}

impl Drop for VersionsDirectory {
    fn drop(&mut self) {
        // What stays of a scene does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What carrying out a script came to.
pub(super) struct Performance {
    /// The answers by the positions of their requests.
    pub(super) answers: BTreeMap<usize, Answered>,
    /// Where passes without heartbeats began.
    pub(super) starts: Starts,
    /// Whether there were any.
    pub(super) asynchronous: bool,
}

/// Carries out the whole script. Passes without heartbeats begin where `starts` says.
pub(super) fn perform(
    scene: &Scene,
    reference: Reference,
    starts: Starts,
) -> Result<Performance, SceneError> {
    let mut player = Player::start(scene, reference)?;
    player.starts = starts;
    let mut answers = BTreeMap::new();
    for (at, step) in scene.inputs.script.iter().enumerate() {
        let wrong = |error: SceneError| SceneError(format!("step {at} of {}: {error}", scene.name));
        if let Some(answer) = player.step(step).map_err(wrong)? {
            answers.insert(at, answer);
        }
        player.clock.advance(duration(step));
    }
    Ok(Performance {
        answers,
        starts: player.starts,
        asynchronous: player.asynchronous,
    })
}

fn fail(error: impl std::fmt::Display) -> SceneError {
    SceneError(error.to_string())
}

/// The two layers of a scene's configuration, as pairs.
fn layers(scene: &Scene, reference: Reference) -> Result<[crate::rm::Pairs; 2], SceneError> {
    let source = ConfigSource {
        name: "capacity-scheduler.xml".to_owned(),
        bytes: scene.inputs.xml.clone().into_bytes(),
        layer: Layer::Scheduler,
    };
    let options = Options {
        reference,
        ..Options::default()
    };
    let loaded = config::load(&[source], &options).map_err(fail)?;
    let [_, scheduler] = loaded.properties.pairs_with(&[]);
    let mut site = scene.inputs.site.clone();
    if !scene.inputs.cluster_labels.is_empty() {
        site.insert("yarn.node-labels.enabled".to_owned(), "true".to_owned());
    }
    Ok([site, scheduler])
}

impl Player {
    fn start(scene: &Scene, reference: Reference) -> Result<Self, SceneError> {
        let [site, scheduler] = layers(scene, reference)?;
        let clock = ManualClock::at(CLUSTER);
        let mut setup = Setup::new(site, scheduler);
        setup.reference = reference;
        setup.groups = Arc::new(scene.inputs.groups.clone());
        setup.clock = Arc::new(clock.clone());
        setup.cluster = Some(CLUSTER);
        setup.daemon = "root".to_owned();
        let labels = scene.inputs.cluster_labels.iter();
        setup.labels = labels
            .map(|label| PartitionSpec {
                name: label.name.clone(),
                exclusive: label.exclusive,
            })
            .collect();
        // The player runs the rounds, so that they repeat.
        let asynchronous = setup.configured_mode().map_err(fail)? != Mode::Heartbeat;
        setup.host_passes = asynchronous;
        let versions = VersionsDirectory::of(&mut setup);
        let durable = Durable::start(setup, None, Durability::Strict, "scene").map_err(fail)?;
        let rm = durable.rm;
        let mut router = rest::router(Shared::new(Arc::clone(&rm)));
        if let Some(conf) = durable.conf {
            router = router.layer(Extension(conf));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Ok(Self {
            rm,
            router,
            clock,
            beats: Vec::new(),
            asynchronous,
            starts: Starts::default(),
            apps: BTreeMap::new(),
            to_stop: BTreeMap::new(),
            started: BTreeSet::new(),
            finished: BTreeSet::new(),
            runtime: runtime.map_err(fail)?,
            _versions: versions,
        })
    }

    fn step(&mut self, step: &Step) -> Result<Option<Answered>, SceneError> {
        if let Step::Request(request) = step {
            let answer = self.request(request)?;
            if self.asynchronous {
                self.schedule()?;
            }
            return Ok(Some(answer));
        }
        match step {
            Step::Request(_) => {}
            Step::AddNode {
                node,
                res,
                labels,
                rack,
            } => self.add_node(node, res, labels, rack.as_deref())?,
            Step::RemoveNode { node } => {
                let node = node.clone();
                self.execute("root", Command::RemoveNode { node })?;
            }
            Step::Heartbeat { node } => {
                let node: NodeName = node.parse().map_err(fail)?;
                self.rm.report_health(&node, String::new());
                self.note_beat(&node);
                let report = self.report_of(&node)?;
                let reply = self.rm.heartbeat(&node, report).map_err(fail)?;
                self.to_stop.insert(node, reply.to_stop);
            }
            Step::Submit(submit) => self.submit(submit)?,
            Step::Wait { .. } => {}
            _ => self.app_step(step)?,
        }
        if self.asynchronous {
            self.schedule()?;
        }
        self.rm.tick();
        Ok(None)
    }

    /// Schedules the nodes that reported lately, in passes over all of them, until nothing more is placed.
    // As CapacityScheduler.schedule: a pass begins at a random node and comes to that node again at its end. The nodes
    // stand in the order of a hash map.
    fn schedule(&mut self) -> Result<(), SceneError> {
        let now_ms = self.rm.now_ms();
        let fresh = |(_, beat): &&(NodeName, u64)| now_ms - beat <= FRESH_MS;
        let nodes = self.beats.iter().filter(fresh);
        let mut nodes: Vec<NodeName> = nodes.map(|(name, _)| name.clone()).collect();
        java_order::sort(&mut nodes, self.beats.len(), NodeName::java_hash);
        if nodes.is_empty() {
            return Ok(());
        }
        for _ in 0..MOST_ATTEMPTS {
            let start = self.starts.next() % nodes.len();
            let (before, behind) = nodes.split_at(start);
            let again = &nodes[start..=start];
            let mut placed = false;
            for node in behind.iter().chain(before).chain(again) {
                placed |= self.rm.schedule_node(node).map_err(fail)?;
            }
            if !placed {
                self.starts.note_idle(nodes.len());
                return Ok(());
            }
            self.starts.note_pass(nodes.len());
        }
        Err(SceneError(
            "a round without heartbeats does not end".to_owned(),
        ))
    }

    /// Notes that a node reported.
    fn note_beat(&mut self, node: &NodeName) {
        let now_ms = self.rm.now_ms();
        match self.beats.iter_mut().find(|(name, _)| name == node) {
            Some((_, beat)) => *beat = now_ms,
            None => self.beats.push((node.clone(), now_ms)),
        }
    }

    /// What a node manager reports: what it launched since the last heartbeat, what it stopped because the answer to
    /// that heartbeat said so, and what ended by itself with its application.
    fn report_of(&mut self, node: &NodeName) -> Result<NodeReport, SceneError> {
        let (name, started) = (node.clone(), self.started.clone());
        let look = move |ledger: &Ledger| {
            let slot = ledger.node(&name)?;
            let containers = ledger.containers_of_node(slot);
            // A master that was not started is not launched.
            let running =
                |container: &&Container| !container.master || started.contains(&container.id.app);
            let due = containers.filter(|container| container.to_launch || container.to_stop);
            let due = due.filter(|container| container.to_stop || running(container));
            let due = due.map(|container| (container.id, container.to_launch));
            Some(due.collect::<Vec<_>>())
        };
        let due = self.rm.engine().inspect(look).map_err(fail)?;
        let (launched, ended): (Vec<_>, Vec<_>) = due
            .unwrap_or_default()
            .into_iter()
            .partition(|&(_, launch)| launch);
        let asked = self.to_stop.remove(node).unwrap_or_default();
        let of_finished = |id: &ContainerId| self.finished.contains(&id.app);
        let exited = ended.into_iter().map(|(id, _)| id);
        let exited = exited.filter(|id| asked.contains(id) || of_finished(id));
        Ok(NodeReport::Exactly {
            launched: launched.into_iter().map(|(id, _)| id).collect(),
            exited: exited.collect(),
        })
    }

    fn app_step(&mut self, step: &Step) -> Result<(), SceneError> {
        match step {
            Step::StartAm { app } => {
                let id = self.id(*app)?.parse().map_err(fail)?;
                self.started.insert(id);
                let command = Command::RegisterMaster {
                    application: self.id(*app)?,
                    host: "am-host".to_owned(),
                    rpc_port: 4000,
                    tracking_url: String::new(),
                };
                self.execute("root", command)?;
            }
            Step::Ask { app, requests } => {
                let id: ApplicationId = self.id(*app)?.parse().map_err(fail)?;
                let asks = requests.iter().map(ask_of).collect();
                let call = AskCall::asking(asks);
                self.rm.ask(id, call, 50.0).map_err(fail)?;
            }
            Step::Complete { app, container } => self.complete(*app, *container)?,
            Step::FinishApp { app } => {
                let id = self.id(*app)?.parse().map_err(fail)?;
                self.finished.insert(id);
                let command = Command::FinishMaster {
                    application: self.id(*app)?,
                    status: FinalStatus::Succeeded,
                    diagnostics: "done".to_owned(),
                    tracking_url: String::new(),
                };
                self.execute("root", command)?;
            }
            Step::KillApp { app } => {
                let command = Command::Kill {
                    application: self.id(*app)?,
                    diagnostics: "killed".to_owned(),
                };
                self.execute("root", command)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn id(&self, app: u32) -> Result<String, SceneError> {
        let id = self.apps.get(&app).cloned();
        id.ok_or_else(|| SceneError(format!("application {app} was not submitted")))
    }

    fn execute(&self, user: &str, command: Command) -> Result<Answer, SceneError> {
        self.rm.execute(user, command).map_err(fail)
    }

    fn add_node(
        &mut self,
        node: &str,
        res: &[i64],
        labels: &[String],
        rack: Option<&str>,
    ) -> Result<(), SceneError> {
        if !labels.is_empty() {
            let nodes = BTreeMap::from([(node.to_owned(), labels.to_vec())]);
            self.execute("root", Command::ReplaceLabels { nodes })?;
        }
        let registration = NodeRegistration {
            node: node.to_owned(),
            rack: rack.unwrap_or("/default-rack").to_owned(),
            resource: res.to_vec(),
            http_port: 8042,
            version: "3.4.2".to_owned(),
            labels: None,
        };
        self.execute("root", Command::RegisterNode(registration))?;
        self.note_beat(&node.parse().map_err(fail)?);
        Ok(())
    }

    fn submit(&mut self, submit: &Submit) -> Result<(), SceneError> {
        let given = self.execute(&submit.user, Command::NewApplication)?;
        let Answer::Application(application) = given else {
            return Err(SceneError("no application id was given out".to_owned()));
        };
        self.apps.insert(submit.app, application.clone());
        let submission = Submission {
            application,
            name: submit.name.clone().unwrap_or_else(|| "job".to_owned()),
            queue: submit.queue.clone(),
            kind: submit.kind.clone().unwrap_or_default(),
            tags: submit.tags.clone(),
            priority: submit.priority,
            master: submit.am.clone(),
            master_label: submit.am_label.clone(),
            label: submit.label.clone(),
            unmanaged: submit.unmanaged,
            ..Submission::default()
        };
        // A refusal is the scene's own: the application does not exist then.
        let _ = self
            .rm
            .execute(&submit.user, Command::Submit(Box::new(submission)));
        Ok(())
    }

    /// The container, or the first one that the application holds beside its master, runs to its end.
    fn complete(&self, app: u32, container: Option<u32>) -> Result<(), SceneError> {
        let id: ApplicationId = self.id(app)?.parse().map_err(fail)?;
        let look = move |ledger: &Ledger| {
            let slot = ledger.app(id)?;
            let mut live = ledger.live_containers(slot);
            let chosen = live.find(|live| match container {
                Some(number) => live.id.number == number,
                None => !live.master && live.handed,
            });
            chosen.map(|live| live.id)
        };
        let found = self.rm.engine().inspect(look).map_err(fail)?;
        if let Some(container) = found {
            self.rm.container_finished(container);
        }
        Ok(())
    }

    fn request(&self, request: &Http) -> Result<Answered, SceneError> {
        let mut path = request.path.clone();
        for (app, id) in &self.apps {
            path = path.replace(&format!("{{app{app}}}"), id);
        }
        let mut built = HttpRequest::builder()
            .method(request.method.as_str())
            .uri(format!("/ws/v1/cluster{path}"))
            .header(header::HOST, "rm-host:8088")
            .header(header::ACCEPT, &request.accept);
        if let Some(media) = &request.content_type {
            built = built.header(header::CONTENT_TYPE, media);
        }
        let body = Body::from(request.body.clone().unwrap_or_default());
        let built = built.body(body).map_err(fail)?;
        let router = self.router.clone();
        self.runtime.block_on(async {
            let response: http::Response<Body> = router.oneshot(built).await.map_err(fail)?;
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, LONGEST).await.map_err(fail)?;
            Ok(Answered {
                status: parts.status,
                headers: parts.headers,
                body,
            })
        })
    }
}

fn ask_of(request: &Request) -> Ask {
    Ask {
        priority: request.priority,
        request_id: -1,
        place: request.name.clone(),
        size: ResourceVector::of(&request.res),
        count: request.count,
        relax_locality: request.relax,
        partition: request.label.clone(),
    }
}
