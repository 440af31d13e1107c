//! What a run shows, collected by column.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, StringArray, UInt32Array, UInt64Array};
use engine::api::{ApplicationId, ContainerId, Event, NodeName, ResourceVector};
use engine::simulator::{JobLine, RunWatch, Sample};
use pyo3::prelude::*;

use crate::tables::Table;

/// Collects decisions and jobs of a run.
#[derive(Debug)]
pub(crate) struct Collected {
    types: Vec<String>,
    decisions: Decisions,
    jobs: Vec<JobLine>,
}

/// The columns of decisions.
#[derive(Debug, Default)]
struct Decisions {
    at_ms: UInt64Builder,
    event: StringBuilder,
    app: UInt32Builder,
    attempt: UInt32Builder,
    container: UInt32Builder,
    node: StringBuilder,
    queue: StringBuilder,
    reason: StringBuilder,
    amounts: Vec<Int64Builder>,
}

/// What a row of decisions has beside its event.
#[derive(Debug, Default)]
struct Row<'a> {
    app: Option<ApplicationId>,
    container: Option<ContainerId>,
    node: Option<&'a NodeName>,
    size: Option<&'a ResourceVector>,
    queue: Option<&'a str>,
    reason: Option<String>,
}

impl Decisions {
    fn push(&mut self, at_ms: u64, event: &str, row: &Row<'_>) {
        self.at_ms.append_value(at_ms);
        self.event.append_value(event);
        let app = row.container.map(|one| one.app).or(row.app);
        self.app.append_option(app.map(|app| app.sequence));
        self.attempt
            .append_option(row.container.map(|one| one.attempt));
        self.container
            .append_option(row.container.map(|one| one.number));
        self.node.append_option(row.node.map(ToString::to_string));
        self.queue.append_option(row.queue);
        self.reason.append_option(row.reason.as_deref());
        for (i, column) in self.amounts.iter_mut().enumerate() {
            column.append_option(row.size.map(|size| size[i]));
        }
    }
}

impl RunWatch for Collected {
    fn decision(&mut self, at_ms: u64, event: &Event) {
        let row = row(event);
        self.decisions.push(at_ms, name(event), &row);
    }

    fn job(&mut self, job: &JobLine) {
        self.jobs.push(job.clone());
    }
}

/// The name of an event, as in JSON.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Allocated { .. } => "allocated",
        Event::Reserved { .. } => "reserved",
        Event::ReservationMoved { .. } => "reservation_moved",
        Event::Ended { .. } => "ended",
        Event::Unreserved { .. } => "unreserved",
        Event::MasterStarted { .. } => "master_started",
        Event::MasterLost { .. } => "master_lost",
        Event::AttemptEnded { .. } => "attempt_ended",
        Event::AppEnded { .. } => "app_ended",
        Event::Updated { .. } => "updated",
        Event::Gang(_) => "gang",
        Event::Opportunistic(_) => "opportunistic",
        _ => "other",
    }
}

/// A reason as a word, as in JSON.
fn reason(event: &Event, field: &str) -> Option<String> {
    let value = serde_json::to_value(event).ok()?;
    value.get(field)?.as_str().map(str::to_owned)
}

fn row(event: &Event) -> Row<'_> {
    match event {
        Event::Allocated {
            container,
            node,
            size,
            queue,
            ..
        } => Row {
            container: Some(*container),
            node: Some(node),
            size: Some(size),
            queue: Some(&**queue),
            ..Row::default()
        },
        Event::Reserved {
            container,
            node,
            size,
            ..
        }
        | Event::ReservationMoved {
            container,
            to: node,
            size,
            ..
        } => Row {
            container: Some(*container),
            node: Some(node),
            size: Some(size),
            ..Row::default()
        },
        Event::Ended { container, .. } => Row {
            container: Some(*container),
            reason: reason(event, "cause"),
            ..Row::default()
        },
        Event::Unreserved { container, .. } => Row {
            container: Some(*container),
            reason: reason(event, "reason"),
            ..Row::default()
        },
        Event::MasterStarted { app, container } => Row {
            app: Some(*app),
            container: *container,
            ..Row::default()
        },
        Event::MasterLost { app } | Event::AttemptEnded { app, .. } => Row {
            app: Some(*app),
            ..Row::default()
        },
        Event::AppEnded { app, .. } => Row {
            app: Some(*app),
            reason: reason(event, "cause"),
            ..Row::default()
        },
        Event::Gang(gang) => Row {
            app: Some(gang.app),
            reason: reason(event, "gang"),
            ..Row::default()
        },
        Event::Opportunistic(of) => Row {
            container: Some(of.container),
            node: Some(&of.node),
            size: Some(&of.size),
            reason: Some(of.step.name().to_owned()),
            ..Row::default()
        },
        _ => Row::default(),
    }
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

impl Collected {
    pub(crate) fn new(types: &[String]) -> Self {
        let amounts = types.iter().map(|_| Int64Builder::new()).collect();
        Self {
            types: types.to_vec(),
            decisions: Decisions {
                amounts,
                ..Decisions::default()
            },
            jobs: Vec::new(),
        }
    }

    /// The decisions in their order.
    pub(crate) fn decisions(&mut self) -> PyResult<Table> {
        let of = &mut self.decisions;
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("at_ms".to_owned(), Arc::new(of.at_ms.finish())),
            ("event".to_owned(), Arc::new(of.event.finish())),
            ("app".to_owned(), Arc::new(of.app.finish())),
            ("attempt".to_owned(), Arc::new(of.attempt.finish())),
            ("container".to_owned(), Arc::new(of.container.finish())),
            ("node".to_owned(), Arc::new(of.node.finish())),
            ("queue".to_owned(), Arc::new(of.queue.finish())),
            ("reason".to_owned(), Arc::new(of.reason.finish())),
        ];
        for (name, column) in self.types.iter().zip(&mut of.amounts) {
            columns.push((name.clone(), Arc::new(column.finish())));
        }
        Table::of(columns)
    }

    /// The jobs in the order in which they left the run.
    pub(crate) fn jobs(&self) -> PyResult<Table> {
        let jobs = || self.jobs.iter();
        let apps = jobs().map(|job| job.app.sequence);
        let first = jobs().map(|job| job.first_container_ms);
        let ended = jobs().map(|job| job.ended_ms);
        let columns: [(&str, ArrayRef); 11] = [
            ("name", texts(jobs().map(|job| job.name.as_str()))),
            ("app", Arc::new(UInt32Array::from_iter_values(apps))),
            ("user", texts(jobs().map(|job| job.user.as_str()))),
            ("queue", texts(jobs().map(|job| job.queue.as_str()))),
            ("submitted_ms", numbers(jobs().map(|job| job.submitted_ms))),
            (
                "first_container_ms",
                Arc::new(UInt64Array::from_iter(first)),
            ),
            ("ended_ms", Arc::new(UInt64Array::from_iter(ended))),
            ("asked", numbers(jobs().map(|job| job.asked))),
            ("placed", numbers(jobs().map(|job| job.placed))),
            ("outcome", texts(jobs().map(|job| job.outcome.name()))),
            ("why", texts(jobs().map(|job| job.why.as_str()))),
        ];
        Table::of(
            columns
                .map(|(name, column)| (name.to_owned(), column))
                .into(),
        )
    }
}

/// The cluster over time: a row for each moment.
pub(crate) fn cluster(series: &[Sample]) -> PyResult<Table> {
    let gaps = series.iter().map(|sample| sample.gap_permille);
    let columns: [(&str, ArrayRef); 3] = [
        ("at_ms", numbers(series.iter().map(|sample| sample.at_ms))),
        (
            "waiting",
            numbers(series.iter().map(|sample| sample.waiting)),
        ),
        (
            "gap_permille",
            Arc::new(UInt32Array::from_iter_values(gaps)),
        ),
    ];
    Table::of(
        columns
            .map(|(name, column)| (name.to_owned(), column))
            .into(),
    )
}

/// The use of queues over time: a row for each moment and leaf.
pub(crate) fn queues(series: &[Sample], types: &[String]) -> PyResult<Table> {
    let rows = || {
        series.iter().flat_map(|sample| {
            let used = sample.used.iter();
            used.map(|(queue, used)| (sample.at_ms, queue.as_str(), used))
        })
    };
    let mut columns = vec![
        ("at_ms".to_owned(), numbers(rows().map(|(at_ms, ..)| at_ms))),
        ("queue".to_owned(), texts(rows().map(|(_, queue, _)| queue))),
    ];
    for (i, name) in types.iter().enumerate() {
        let used = rows().map(|(.., used)| used[i]);
        let column = arrow_array::Int64Array::from_iter_values(used);
        columns.push((name.clone(), Arc::new(column)));
    }
    Table::of(columns)
}
