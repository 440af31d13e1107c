//! An application that runs in the simulation: its stages, what it still wants, what it holds.

use crate::api::{Ask, AskCall, ContainerId, GangAsk};
use crate::id::{Map, QueuePath};
use crate::simulator::workload::Job;

/// The place that stands for anywhere.
const ANYWHERE: &str = "*";

/// One submitted application.
#[derive(Debug)]
pub(super) struct RunningJob {
    pub(super) job: Job,
    pub(super) submitted_ms: u64,
    /// Leaf queue it was placed in.
    pub(super) queue: QueuePath,
    /// Its number.
    pub(super) leaf: usize,
    /// Container of its master, once there is one.
    pub(super) master: Option<ContainerId>,
    /// Whether it may ask.
    pub(super) started: bool,
    /// Virtual ms of its first container besides its master's.
    pub(super) first_container_ms: Option<u64>,
    /// Containers placed, its master's included.
    pub(super) containers: u64,
    /// Why the scheduler refused it or its last call; empty when it did not.
    pub(super) refusal: String,
    /// Last call; nothing before the first.
    pub(super) called_ms: Option<u64>,
    /// Whether a call is on the agenda.
    pub(super) call_due: bool,
    /// Its containers that run or wait to be taken over, by number, with their group and index within it.
    pub(super) live: Map<u32, (usize, u32)>,
    stage: u32,
    groups: Vec<Progress>,
    /// Groups of which a container did not run to its end.
    undone: usize,
    /// Whether no group ended since the stage was determined.
    stage_is_known: bool,
    /// Groups of the stage that are not wanted yet.
    unwanted: usize,
    /// Groups whose number has to be sent.
    dirty: Vec<usize>,
    /// Groups that the last call asked for.
    called: Vec<usize>,
}

/// How far a group of tasks is.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Whether its containers are asked for.
    wanted: bool,
    /// Whether the number asked for has to be sent.
    dirty: bool,
    /// Containers that the scheduler refused.
    refused: u32,
    /// Containers placed and not lost.
    placed: u32,
    /// Containers that ran to their end.
    done: u32,
    /// Containers placed ever; the next one's index for its run time.
    index: u32,
    /// When the call asked that still waits for containers, in virtual ms.
    asked_ms: Option<u64>,
}

impl RunningJob {
    /// A job that was placed in a leaf with a number.
    pub(super) fn new(job: Job, submitted_ms: u64, (leaf, queue): (usize, QueuePath)) -> Self {
        Self {
            groups: vec![Progress::default(); job.tasks.len()],
            undone: job.tasks.iter().filter(|group| group.count > 0).count(),
            stage_is_known: false,
            unwanted: 0,
            dirty: Vec::new(),
            called: Vec::new(),
            live: Map::default(),
            job,
            submitted_ms,
            queue,
            leaf,
            master: None,
            started: false,
            first_container_ms: None,
            containers: 0,
            refusal: String::new(),
            called_ms: None,
            call_due: false,
            stage: 0,
        }
    }

    /// Containers asked for and not placed.
    pub(super) fn waiting(&self) -> u64 {
        let missing = |(group, progress): (&_, &Progress)| missing(group, progress);
        self.job.tasks.iter().zip(&self.groups).map(missing).sum()
    }

    /// Whether the container of its master was asked for and is not placed.
    pub(super) fn waits_for_master(&self) -> bool {
        self.job.master.is_some() && self.master.is_none() && !self.started
    }

    /// Containers of groups that nobody asked for yet.
    pub(super) fn not_asked(&self) -> u64 {
        let groups = self.job.tasks.iter().zip(&self.groups);
        let open = groups.filter(|(_, progress)| !progress.wanted);
        open.map(|(group, _)| u64::from(group.count)).sum()
    }

    /// What the last call asked for is refused; how many containers these are.
    pub(super) fn refuse_called(&mut self) -> u64 {
        let mut refused = 0;
        for &group in &self.called {
            let progress = &mut self.groups[group];
            let n = missing(&self.job.tasks[group], progress);
            progress.refused += u32::try_from(n).unwrap_or(u32::MAX);
            refused += n;
        }
        refused
    }

    /// Whether every container of every group ran to its end.
    pub(super) fn is_done(&self) -> bool {
        self.undone == 0
    }

    /// Groups that begin now, with their delays in ms; nothing while the current stage runs.
    pub(super) fn begin_stage(&mut self) -> Vec<(usize, u64)> {
        if self.stage_is_known && self.unwanted == 0 {
            return Vec::new();
        }
        let unfinished = |stage: u32| {
            self.job
                .tasks
                .iter()
                .zip(&self.groups)
                .any(|(group, progress)| group.stage == stage && progress.done < group.count)
        };
        let stages = self.job.tasks.iter().map(|group| group.stage);
        let Some(stage) = stages.filter(|&stage| unfinished(stage)).min() else {
            return Vec::new();
        };
        self.stage = stage;
        let begins = |(index, group): (usize, &crate::simulator::TaskGroup)| {
            (group.stage == stage && !self.groups[index].wanted && group.count > 0)
                .then_some((index, group.delay_ms))
        };
        let tasks = self.job.tasks.iter().enumerate();
        let begins: Vec<_> = tasks.filter_map(begins).collect();
        (self.stage_is_known, self.unwanted) = (true, begins.len());
        begins
    }

    /// Wants the containers of a group from now on; how many these are.
    pub(super) fn want(&mut self, group: usize) -> u64 {
        let progress = &mut self.groups[group];
        if progress.wanted {
            return 0;
        }
        progress.wanted = true;
        let count = self.job.tasks[group].count;
        if self.job.tasks[group].stage == self.stage && count > 0 {
            self.unwanted = self.unwanted.saturating_sub(1);
        }
        self.mark(group);
        u64::from(count)
    }

    /// The number of a group has to be sent.
    fn mark(&mut self, group: usize) {
        if !std::mem::replace(&mut self.groups[group].dirty, true) {
            self.dirty.push(group);
        }
    }

    /// A container of a group was placed; its index within the group, and when the call came that
    /// asked for it.
    pub(super) fn place(&mut self, group: usize) -> Option<(u32, Option<u64>)> {
        let progress = self.groups.get_mut(group)?;
        progress.placed += 1;
        progress.index += 1;
        let asked_ms = progress.asked_ms;
        if missing(&self.job.tasks[group], progress) == 0 {
            progress.asked_ms = None;
        }
        Some((progress.index - 1, asked_ms))
    }

    /// A container of a group ran to its end.
    pub(super) fn complete(&mut self, group: usize) {
        let progress = &mut self.groups[group];
        progress.done += 1;
        if progress.done == self.job.tasks[group].count {
            self.undone -= 1;
            self.stage_is_known = false;
        }
    }

    /// A container of a group was lost and is wanted again.
    pub(super) fn lose(&mut self, group: usize) {
        let progress = &mut self.groups[group];
        progress.placed = progress.placed.saturating_sub(1);
        self.mark(group);
    }

    /// The gangs that are wanted and of which nothing was placed yet, to be asked for before the call.
    pub(super) fn gangs(&mut self, now_ms: u64) -> Vec<GangAsk> {
        let mut asks = Vec::new();
        let (tasks, groups) = (&self.job.tasks, &mut self.groups);
        self.dirty.retain(|&index| {
            let (group, progress) = (&tasks[index], &mut groups[index]);
            let Some(terms) = group.gang.as_ref().filter(|_| progress.index == 0) else {
                return true;
            };
            progress.dirty = false;
            progress.asked_ms.get_or_insert(now_ms);
            asks.push(GangAsk {
                priority: group.priority,
                request_id: i64::try_from(index).expect("the groups of a job are few"),
                elastic: group.count.saturating_sub(terms.minimum),
                close: terms.close.clone(),
                ..GangAsk::of(terms.minimum, group.size, terms.within_ms)
            });
            false
        });
        asks
    }

    /// A gang was given up or refused: its group is wanted again, or counts as what the last call asked for.
    pub(super) fn give_up_gang(&mut self, request_id: i64, again: bool) {
        let group = usize::try_from(request_id).ok();
        let Some(group) = group.filter(|&group| group < self.groups.len()) else {
            return;
        };
        if again {
            self.mark(group);
        } else {
            self.called = vec![group];
        }
    }

    /// The call with what is wanted and was not sent yet.
    pub(super) fn call(&mut self, now_ms: u64) -> AskCall {
        let mut call = AskCall::default();
        std::mem::swap(&mut self.called, &mut self.dirty);
        self.dirty.clear();
        self.called.sort_unstable();
        for &index in &self.called {
            let (group, progress) = (&self.job.tasks[index], &mut self.groups[index]);
            progress.dirty = false;
            progress.asked_ms.get_or_insert(now_ms);
            let count = i32::try_from(missing(group, progress)).unwrap_or(i32::MAX);
            let ask = |place: &str| Ask {
                priority: group.priority,
                request_id: i64::try_from(index).expect("the groups of a job are few"),
                place: place.to_owned(),
                size: group.size,
                count,
                relax_locality: true,
                partition: None,
            };
            let places = group.hosts.iter().chain(&group.racks);
            call.asks.extend(places.map(|place| ask(place)));
            call.asks.push(ask(ANYWHERE));
        }
        call
    }
}

fn missing(group: &crate::simulator::TaskGroup, progress: &Progress) -> u64 {
    if progress.wanted {
        let served = progress.placed.saturating_add(progress.refused);
        u64::from(group.count.saturating_sub(served))
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ResourceVector;
    use crate::simulator::{Run, TaskGroup};

    fn running(groups: Vec<TaskGroup>) -> RunningJob {
        let job = Job {
            at_ms: 0,
            user: "u".to_owned(),
            queue: "q".to_owned(),
            name: "j".to_owned(),
            priority: None,
            master: None,
            partition: None,
            tags: Vec::new(),
            tasks: groups,
            line: 0,
        };
        RunningJob::new(job, 0, (0, "root.q".into()))
    }

    fn group(count: u32, stage: u32) -> TaskGroup {
        let mut group = TaskGroup::new(ResourceVector::of(&[1, 1]), count, Run::Same(1));
        group.stage = stage;
        group
    }

    #[test]
    fn a_stage_begins_when_the_smaller_ones_are_done() {
        let mut app = running(vec![group(1, 3), group(0, 1), group(1, 7)]);
        assert_eq!(app.begin_stage(), [(0, 0)]);
        assert_eq!(app.want(0), 1);
        assert_eq!(app.want(0), 0);
        assert_eq!((app.waiting(), app.call(0).asks.len()), (1, 1));
        assert!(app.call(0).asks.is_empty());
        assert!(app.begin_stage().is_empty());
        assert_eq!(app.place(0), Some((0, Some(0))));
        app.complete(0);
        assert_eq!(app.begin_stage(), [(2, 0)]);
        app.want(2);
        app.place(2);
        app.complete(2);
        assert!(app.is_done() && app.begin_stage().is_empty());
    }

    #[test]
    fn a_lost_container_is_asked_for_again_at_every_place() {
        let mut wanted = group(3, 0);
        wanted.hosts = vec!["h".to_owned()];
        wanted.racks = vec!["/r".to_owned()];
        let mut app = running(vec![wanted]);
        app.want(0);
        assert_eq!(app.call(0).asks.len(), 3);
        app.place(0);
        app.place(0);
        app.lose(0);
        let asks = app.call(0).asks;
        assert_eq!(
            (asks.len(), asks[2].count, asks[2].place.as_str()),
            (3, 2, "*")
        );
        assert_eq!(app.place(0), Some((2, Some(0))));
        assert_eq!(app.place(9), None);
    }
}
