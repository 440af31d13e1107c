//! One application of the demonstration, with the part of its master.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{ApplicationId, Ask, AskCall, AskReply, ContainerId, ResourceVector};

use super::random::Random;
use super::settings::{GPU, Leaf};
use crate::rm::{AttemptState, Command, FinalStatus, ResourceManager, Submission};

/// What an application is to do.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// Applications of a hundred.
    share: u64,
    tasks: (u64, u64),
    /// Shortest and longest task, in ms.
    lasts_ms: (u64, u64),
}

/// Many small applications, some large ones.
const SIZES: [Size; 3] = [
    Size {
        share: 70,
        tasks: (1, 10),
        lasts_ms: (10_000, 40_000),
    },
    Size {
        share: 25,
        tasks: (20, 80),
        lasts_ms: (20_000, 90_000),
    },
    Size {
        share: 5,
        tasks: (200, 600),
        lasts_ms: (30_000, 120_000),
    },
];

/// What an application of this mix takes on average, in GiB times s.
pub(super) const MEAN_GIB_S: u64 = 11_400;

/// Containers of tasks: MiB and cores.
const CONTAINERS: [[i64; 2]; 4] = [[2048, 1], [4096, 1], [4096, 2], [8192, 2]];

const NAMES: [&str; 6] = ["report", "index", "train", "join", "sessions", "export"];

/// Where the master of an application stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits for its container.
    Awaited,
    /// It has asked and takes what it gets.
    Asking,
}

/// What a step of a master came to.
#[derive(Debug)]
pub(super) enum Step {
    /// It goes on; these containers were placed, with the time that each lasts.
    Goes(Vec<(ContainerId, u64)>),
    /// The application is over.
    Over,
}

/// An application that is not over.
#[derive(Debug)]
pub(super) struct Job {
    id: ApplicationId,
    stage: Stage,
    size: [i64; 2],
    lasts_ms: (u64, u64),
    gpu: bool,
    tasks: u64,
    done: u64,
    running: BTreeSet<u32>,
    fails: bool,
}

fn submission(
    application: String,
    leaf: &Leaf,
    (name, kind): (&str, &str),
    tasks: u64,
) -> Submission {
    Submission {
        application,
        name: format!("{name}-{tasks}"),
        queue: leaf.path.to_owned(),
        kind: kind.to_owned(),
        tags: vec![name.to_owned()],
        master: vec![2048, 1],
        label: leaf.gpu.then(|| GPU.to_owned()),
        ..Submission::default()
    }
}

impl Job {
    /// Submits an application of a leaf; nothing when it is refused.
    pub(super) fn submit(rm: &ResourceManager, leaf: &Leaf, random: &mut Random) -> Option<Self> {
        let user = *random.one(leaf.users)?;
        let answer = rm.execute(user, Command::NewApplication).ok()?;
        let crate::rm::Answer::Application(application) = answer else {
            return None;
        };
        let id: ApplicationId = application.parse().ok()?;
        let chosen = random.within(1, 100);
        let mut below = 0;
        let size = SIZES.iter().find(|size| {
            below += size.share;
            chosen <= below
        })?;
        let tasks = random.within(size.tasks.0, size.tasks.1);
        let name = random.one(&NAMES)?;
        let kind = if random.percent(60) {
            "SPARK"
        } else {
            "MAPREDUCE"
        };
        let submission = submission(application, leaf, (name, kind), tasks);
        rm.execute(user, Command::Submit(Box::new(submission)))
            .ok()?;
        Some(Self {
            id,
            stage: Stage::Awaited,
            size: *random.one(&CONTAINERS)?,
            lasts_ms: size.lasts_ms,
            gpu: leaf.gpu,
            tasks,
            done: 0,
            running: BTreeSet::new(),
            fails: random.percent(3),
        })
    }

    pub(super) fn id(&self) -> ApplicationId {
        self.id
    }

    /// The next heartbeat of the master.
    pub(super) fn step(&mut self, rm: &ResourceManager, random: &mut Random) -> Step {
        let stands = rm.read(|books| {
            let app = books.app(self.id)?;
            let attempt = app.attempt()?;
            Some((app.state.is_over(), attempt.state))
        });
        let Some((false, attempt)) = stands else {
            return Step::Over;
        };
        match (self.stage, attempt) {
            // A new attempt begins with all of the work that is left.
            (_, AttemptState::Scheduled) => {
                self.stage = Stage::Awaited;
                self.running.clear();
                Step::Goes(Vec::new())
            }
            (Stage::Awaited, AttemptState::Launched) => self.begin(rm),
            (Stage::Asking, AttemptState::Running) if self.done >= self.tasks => self.finish(rm),
            (Stage::Asking, AttemptState::Running) => self.fetch(rm, random),
            _ => Step::Goes(Vec::new()),
        }
    }

    fn begin(&mut self, rm: &ResourceManager) -> Step {
        let registered = rm.execute(
            super::ADMINISTRATOR,
            Command::RegisterMaster {
                application: self.id.to_string(),
                host: "demo".to_owned(),
                rpc_port: -1,
                tracking_url: String::new(),
            },
        );
        let left = self.tasks.saturating_sub(self.done);
        let asked = rm.ask(self.id, self.asking(left), 0.0);
        if registered.is_ok() && asked.is_ok() {
            self.stage = Stage::Asking;
        }
        Step::Goes(Vec::new())
    }

    fn asking(&self, tasks: u64) -> AskCall {
        let count = i32::try_from(tasks).unwrap_or(i32::MAX);
        let ask = Ask::anywhere(ResourceVector::of(&self.size), count);
        let partition = self.gpu.then(|| GPU.to_owned());
        AskCall::asking(vec![Ask { partition, ..ask }])
    }

    fn fetch(&mut self, rm: &ResourceManager, random: &mut Random) -> Step {
        let Ok(reply) = rm.ask(self.id, AskCall::default(), self.progress()) else {
            return Step::Goes(Vec::new());
        };
        self.lose(rm, &reply);
        let mut lasts = BTreeMap::new();
        for granted in &reply.allocated {
            self.running.insert(granted.container.number);
            let ms = random.within(self.lasts_ms.0, self.lasts_ms.1);
            lasts.insert(granted.container, ms);
        }
        Step::Goes(lasts.into_iter().collect())
    }

    /// Asks again for tasks whose containers ended before they were done.
    fn lose(&mut self, rm: &ResourceManager, reply: &AskReply) {
        let lost = reply
            .finished
            .iter()
            .filter(|one| self.running.remove(&one.number));
        let lost = lost.count() as u64;
        if lost == 0 {
            return;
        }
        let running = self.running.len() as u64;
        let left = self.tasks.saturating_sub(self.done + running);
        // What is refused now is asked for again at the next loss or attempt.
        let _ = rm.ask(self.id, self.asking(left), self.progress());
    }

    fn progress(&self) -> f32 {
        let percent = 100 * self.done / self.tasks.max(1);
        f32::from(u8::try_from(percent).unwrap_or(100))
    }

    /// A container has run for its time; whether it ran still.
    pub(super) fn ended(&mut self, rm: &ResourceManager, container: ContainerId) {
        if self.running.remove(&container.number) && rm.container_finished(container) {
            self.done += 1;
        }
    }

    fn finish(&self, rm: &ResourceManager) -> Step {
        let (status, diagnostics) = match self.fails {
            true => (FinalStatus::Failed, "a task failed four times"),
            false => (FinalStatus::Succeeded, ""),
        };
        let finished = rm.execute(
            super::ADMINISTRATOR,
            Command::FinishMaster {
                application: self.id.to_string(),
                status,
                diagnostics: diagnostics.to_owned(),
                tracking_url: String::new(),
            },
        );
        match finished {
            Ok(_) => Step::Over,
            Err(_) => Step::Goes(Vec::new()),
        }
    }
}
