//! What is shown: a moment of the run, and what the keys chose.

use std::collections::BTreeMap;
use std::sync::Arc;

use capsched::api::ApplicationId;
use capsched::metrics::{Histogram, Latency, TaggedInterval};

use super::About;
use crate::moments::{AppAt, Film, Moment, NodeAt, Note, QueueAt};
use crate::why::{Job, Jobs};

/// What fills the middle of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Queues,
    Applications,
    Nodes,
    Events,
    Scheduler,
    Help,
}

/// Most moments that one tick passes.
const FASTEST: i64 = 64;

/// Most events that are listed.
const EVENTS: usize = 1_000;

/// The answer about an application, or that it is worked out.
#[derive(Clone, Debug)]
pub(super) struct Why {
    pub(super) app: ApplicationId,
    /// Nothing while it is worked out.
    pub(super) lines: Option<Vec<String>>,
    /// First line that is shown.
    pub(super) from: usize,
}

/// A question about an application at a moment.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) job: Job,
    pub(super) at_ms: u64,
}

/// A run, a moment of it, and the state of the screen.
#[derive(Debug)]
pub(super) struct Model<'a> {
    title: &'a str,
    jobs: Option<&'a Jobs>,
    film: &'a Film,
    now: Option<Arc<Moment>>,
    at_ms: u64,
    phases: Vec<(String, Latency)>,
    tab: Tab,
    filter: String,
    editing: bool,
    selected: usize,
    /// Index among the partitions.
    partition: usize,
    why: Option<Why>,
    question: Option<Question>,
    plays: bool,
    /// Moments a tick.
    pace: i64,
    /// Why the run cannot be played on.
    failure: Option<String>,
    over: bool,
}

impl<'a> Model<'a> {
    pub(super) fn new(about: About<'a>, film: &'a Film) -> Self {
        Self {
            title: about.title,
            jobs: about.jobs,
            film,
            now: None,
            at_ms: 0,
            phases: phases(about.latencies),
            tab: Tab::Queues,
            filter: String::new(),
            editing: false,
            selected: 0,
            partition: 0,
            why: None,
            question: None,
            plays: false,
            pace: 1,
            failure: None,
            over: false,
        }
    }

    pub(super) fn title(&self) -> &str {
        self.title
    }

    pub(super) fn now(&self) -> Option<&Moment> {
        self.now.as_deref()
    }

    /// The time that is looked at: nothing has changed since the moment that is shown.
    pub(super) const fn now_ms(&self) -> u64 {
        self.at_ms
    }

    /// The last moment that is known so far, and whether the run is still played.
    pub(super) fn last(&self) -> (u64, bool) {
        let last = self.film.at(u64::MAX);
        (last.map_or(0, |last| last.at_ms), !self.film.is_over())
    }

    /// Containers placed between moments, up to this one, at most so many.
    pub(super) fn rates(&self, most: usize) -> Vec<u64> {
        let now_ms = self.now_ms();
        let all = self.film.all();
        let until = all.partition_point(|one| one.at_ms <= now_ms);
        let placed: Vec<u64> = all[..until].iter().map(|one| one.tally.placed).collect();
        let from = placed.len().saturating_sub(most + 1);
        let pairs = placed[from..].windows(2);
        pairs.map(|pair| pair[1] - pair[0]).collect()
    }

    pub(super) fn tab(&self) -> Tab {
        self.tab
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    pub(super) fn plays(&self) -> bool {
        self.plays
    }

    pub(super) fn pace(&self) -> i64 {
        self.pace
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    /// Latencies of the phases: those of the moment where it has any.
    pub(super) fn phases(&self) -> &[(String, Latency)] {
        let now = self.now().map_or(&[][..], |now| &now.phases);
        if now.is_empty() { &self.phases } else { now }
    }

    /// The partition that is shown, by name.
    pub(super) fn partition(&self) -> &str {
        let root = self.now().and_then(|now| now.queues.first());
        let parts = root.map_or(&[][..], |root| &root.parts);
        match parts.get(self.partition % parts.len().max(1)) {
            Some(part) => &part.partition,
            None => "",
        }
    }

    pub(super) fn next_partition(&mut self) {
        self.partition = self.partition.wrapping_add(1);
    }

    /// The name of an application's job; empty where it has none.
    pub(super) fn job_name(&self, app: ApplicationId) -> &str {
        let job = self.jobs.and_then(|jobs| jobs.of(app));
        job.map_or("", |job| &job.name)
    }

    /// The queues that the filter names, with those above them.
    pub(super) fn queues(&self) -> Vec<&QueueAt> {
        let all = self.now().map_or(&[][..], |now| &now.queues);
        let named = |queue: &QueueAt| queue.path.contains(&self.filter);
        let above = |queue: &QueueAt| {
            let below = format!("{}.", queue.path);
            let mut named = all.iter().filter(|other| named(other));
            named.any(|other| other.path.starts_with(&below))
        };
        all.iter().filter(|one| named(one) || above(one)).collect()
    }

    /// The applications that the filter names.
    pub(super) fn applications(&self) -> Vec<&AppAt> {
        let all = self.now().map_or(&[][..], |now| &now.apps);
        let named = |app: &&AppAt| {
            let id = app.id.to_string();
            let reason = app.reason.map_or("", capsched::api::Reason::token);
            let texts = [&id, self.job_name(app.id), &app.queue, &app.user, reason];
            texts.iter().any(|text| text.contains(&self.filter))
        };
        all.iter().filter(named).collect()
    }

    /// The nodes of the partition that the filter names.
    pub(super) fn nodes(&self) -> Vec<&NodeAt> {
        let all = self.now().map_or(&[][..], |now| &now.nodes);
        let partition = self.partition();
        let of_partition = all.iter().filter(|node| &*node.partition == partition);
        of_partition
            .filter(|node| node.name.contains(&self.filter))
            .collect()
    }

    /// Events up to now that the filter names, the newest first.
    pub(super) fn events(&self) -> Vec<Note> {
        let mut notes = self.film.notes(self.now_ms(), EVENTS);
        notes.retain(|note| note.text.contains(&self.filter));
        notes
    }

    pub(super) fn why(&self) -> Option<&Why> {
        self.why.as_ref()
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn end(&mut self) {
        self.over = true;
    }

    /// Closes what lies on top; without anything on top it ends.
    pub(super) fn close(&mut self) {
        if self.why.take().is_some() {
            return;
        }
        if self.tab == Tab::Help {
            self.tab = Tab::Queues;
        } else if self.filter.is_empty() {
            self.over = true;
        } else {
            self.filter.clear();
        }
    }

    pub(super) fn show(&mut self, tab: Tab) {
        self.tab = tab;
        self.selected = 0;
        self.why = None;
    }

    /// Shows the last moment that is not after a time, as far as the run is known.
    pub(super) fn go_to(&mut self, at_ms: u64) {
        let (last_ms, _) = self.last();
        let found = self.film.at(at_ms);
        self.look(found);
        self.at_ms = self.at_ms.max(at_ms.min(last_ms));
    }

    /// Moves by so many moments.
    pub(super) fn step(&mut self, by: i64) {
        let found = self.film.beside(self.now_ms(), by);
        self.look(found);
    }

    fn look(&mut self, found: Option<Arc<Moment>>) {
        if let Some(found) = found {
            self.at_ms = found.at_ms;
            self.now = Some(found);
        }
        self.keep_selection();
    }

    pub(super) fn play(&mut self) {
        self.plays = !self.plays;
    }

    pub(super) fn faster(&mut self) {
        self.pace = (self.pace * 2).min(FASTEST);
    }

    pub(super) fn slower(&mut self) {
        self.pace = (self.pace / 2).max(1);
    }

    /// Time passes.
    pub(super) fn tick(&mut self) {
        if self.now.is_none() {
            self.go_to(0);
        } else if self.plays && self.why.is_none() {
            self.step(self.pace);
            let (last_ms, live) = self.last();
            self.plays = live || self.now_ms() < last_ms;
        }
    }

    /// Moves the selection, or the text that lies on top.
    pub(super) fn select(&mut self, by: i64) {
        let moved = |at: usize| at.saturating_add_signed(isize::try_from(by).unwrap_or(0));
        if let Some(why) = &mut self.why {
            let lines = why.lines.as_ref().map_or(0, Vec::len);
            why.from = moved(why.from).min(lines.saturating_sub(1));
            return;
        }
        self.selected = moved(self.selected);
        self.keep_selection();
    }

    fn keep_selection(&mut self) {
        let rows = match self.tab {
            Tab::Queues => self.queues().len(),
            Tab::Applications => self.applications().len(),
            Tab::Nodes => self.nodes().len(),
            Tab::Events => self.events().len(),
            Tab::Scheduler | Tab::Help => 0,
        };
        self.selected = self.selected.min(rows.saturating_sub(1));
    }

    /// Opens what is selected: the applications of a queue, or why an application waits.
    pub(super) fn open(&mut self) {
        match self.tab {
            Tab::Queues => {
                let path = self
                    .queues()
                    .get(self.selected)
                    .map(|one| one.path.to_string());
                self.filter = path.unwrap_or_default();
                self.show(Tab::Applications);
            }
            Tab::Applications => self.ask(),
            _ => {}
        }
    }

    fn ask(&mut self) {
        let Some(app) = self.applications().get(self.selected).copied().cloned() else {
            return;
        };
        let known = self.jobs.and_then(|jobs| jobs.of(app.id));
        let job = known.cloned().unwrap_or_else(|| Job {
            name: String::new(),
            app: app.id,
            queue: app.queue.to_string(),
            user: app.user.to_string(),
            submitted_ms: app.submitted_ms,
            first_container_ms: None,
            ended_ms: None,
            asked: 0,
            placed: 0,
            outcome: String::new(),
        });
        let at_ms = self.now_ms();
        self.question = Some(Question { job, at_ms });
        self.why = Some(Why {
            app: app.id,
            lines: None,
            from: 0,
        });
    }

    /// A question that nobody works on yet.
    pub(super) fn take_question(&mut self) -> Option<Question> {
        self.question.take()
    }

    /// The answer to a question, unless it was closed.
    pub(super) fn answer(&mut self, app: ApplicationId, text: &str) {
        if let Some(why) = &mut self.why
            && why.app == app
        {
            why.lines = Some(text.lines().map(str::to_owned).collect());
        }
    }

    /// The run could not be played to its end.
    pub(super) fn fail(&mut self, why: String) {
        self.failure = Some(why);
    }

    pub(super) fn is_editing(&self) -> bool {
        self.editing
    }

    pub(super) fn begin_filter(&mut self) {
        self.editing = true;
    }

    pub(super) fn end_filter(&mut self, keep: bool) {
        self.editing = false;
        if !keep {
            self.filter.clear();
        }
        self.keep_selection();
    }

    pub(super) fn shorten_filter(&mut self) {
        self.filter.pop();
    }

    pub(super) fn lengthen_filter(&mut self, c: char) {
        if !c.is_control() {
            self.filter.push(c);
        }
    }
}

/// The latencies of each phase over all intervals.
fn phases(log: &[TaggedInterval]) -> Vec<(String, Latency)> {
    let mut phases: BTreeMap<&str, Histogram> = BTreeMap::new();
    for interval in log {
        let phase = phases.entry(interval.tag.as_str()).or_default();
        phase.merge(&interval.latencies);
    }
    let of = |(name, all): (&str, Histogram)| (name.to_owned(), all.latency());
    phases.into_iter().map(of).collect()
}
