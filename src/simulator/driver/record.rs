//! What a run is measured by: the hash of its decisions, waits, use over time.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use super::jobs::JobLine;
use crate::api::{
    ApplicationId, Ending, Event, GangEvent, GangStep, MAX_TYPES, OpportunisticEvent,
    ResourceVector,
};
use crate::simulator::statistics::Tally;
use crate::simulator::workload::TaskGroup;

/// Lines of the time series that are kept; when there are more, every second one goes and the
/// period doubles, so that memory stays bounded.
const MAX_SAMPLES: usize = 4096;

/// Someone who sees a run while it goes.
pub trait RunWatch {
    /// A decision of the scheduler, in order.
    fn decision(&mut self, at_ms: u64, event: &Event) {
        let _ = (at_ms, event);
    }

    /// A line of the time series.
    fn sample(&mut self, sample: &Sample) {
        let _ = sample;
    }

    /// A job that leaves the run: it ended, was refused, or was not done when the run ended.
    fn job(&mut self, job: &JobLine) {
        let _ = job;
    }
}

impl RunWatch for () {}

/// Writes every decision as a line of JSON.
#[derive(Debug)]
pub struct JsonLog<W> {
    into: W,
    types: usize,
    failed: Option<std::io::Error>,
}

impl<W: Write> JsonLog<W> {
    /// A log of sizes with the first `types` resource types.
    pub const fn new(into: W, types: usize) -> Self {
        Self {
            into,
            types,
            failed: None,
        }
    }

    /// Flushes the log.
    ///
    /// # Errors
    ///
    /// The first failure to write; lines after it were not written.
    pub fn finish(mut self) -> std::io::Result<W> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.into.flush()?;
        Ok(self.into)
    }
}

impl<W: Write> RunWatch for JsonLog<W> {
    fn decision(&mut self, at_ms: u64, event: &Event) {
        if self.failed.is_some() {
            return;
        }
        let size = |size: &ResourceVector| size.values(self.types.min(MAX_TYPES)).to_vec();
        let line = match event {
            Event::Allocated {
                container,
                node,
                size: held,
                queue,
                key,
                ..
            } => serde_json::json!({"at_ms": at_ms, "did": "allocated",
                "container": container.to_string(), "node": node.to_string(), "size": size(held),
                "queue": queue.as_ref(), "priority": key.priority, "request_id": key.request_id}),
            Event::Reserved {
                container,
                node,
                size: held,
                ..
            } => serde_json::json!({"at_ms": at_ms, "did": "reserved",
                "container": container.to_string(), "node": node.to_string(), "size": size(held)}),
            Event::Ended { container, .. } | Event::Unreserved { container, .. } => {
                serde_json::json!({"at_ms": at_ms, "did": "released",
                    "container": container.to_string(), "reason": end_name(event)})
            }
            Event::MasterStarted { app, container } => serde_json::json!({"at_ms": at_ms,
                "did": "started", "app": app.to_string(),
                "container": container.as_ref().map(ToString::to_string)}),
            Event::Updated { .. } | Event::ReservationMoved { .. } => changed(at_ms, event, size),
            of_app => app_event(at_ms, of_app),
        };
        self.failed = writeln!(self.into, "{line}").err();
    }
}

/// The line of a container that changed, or of a reservation that moved. `size`: amounts of the counted types.
fn changed(
    at_ms: u64,
    event: &Event,
    size: impl Fn(&ResourceVector) -> Vec<i64>,
) -> serde_json::Value {
    match event {
        Event::Updated {
            container,
            node,
            kind,
            size: held,
            version,
            ..
        } => serde_json::json!({"at_ms": at_ms, "did": "updated",
                "container": container.to_string(), "node": node.to_string(), "size": size(held),
                "kind": kind.name(), "version": version}),
        Event::ReservationMoved {
            container,
            from,
            to,
            size: held,
        } => serde_json::json!({"at_ms": at_ms, "did": "moved-reservation",
                "container": container.to_string(), "from": from.to_string(),
                "node": to.to_string(), "size": size(held)}),
        _ => serde_json::Value::Null,
    }
}

/// The line of an application that ended though nobody called for that, of a gang or of an opportunistic container.
fn app_event(at_ms: u64, event: &Event) -> serde_json::Value {
    let (app, cause) = match event {
        Event::Gang(gang) => {
            return serde_json::json!({"at_ms": at_ms, "did": "gang", "of": gang});
        }
        Event::Opportunistic(of) => {
            return serde_json::json!({"at_ms": at_ms, "did": of.step.name(),
                "container": of.container.to_string(), "node": of.node.to_string()});
        }
        Event::MasterLost { app } => (Some(app), "master_lost"),
        Event::AttemptEnded { app, attempt } => {
            return serde_json::json!({"at_ms": at_ms, "did": "attempt-ended",
                "app": app.to_string(), "attempt": attempt});
        }
        Event::AppEnded { app, cause } => (Some(app), cause.name()),
        _ => (None, "none"),
    };
    let app = app.map(ToString::to_string);
    serde_json::json!({"at_ms": at_ms, "did": "ended", "app": app, "cause": cause})
}

/// How a container or a reservation ended, as in logs.
pub(super) const fn end_name(event: &Event) -> &'static str {
    match event {
        Event::Ended { ending, .. } => match ending {
            Ending::Finished => "finished",
            Ending::Released => "given-back",
            Ending::Killed => "killed",
        },
        _ => "unreserved",
    }
}

/// FNV-1a over the ordered decisions: equal hashes mean equal runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecisionHash(u64);

impl Default for DecisionHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl DecisionHash {
    pub(super) const fn value(self) -> u64 {
        self.0
    }

    fn app(&mut self, kind: &[u8], app: ApplicationId) {
        self.bytes(kind);
        self.bytes(&app.sequence.to_le_bytes());
    }

    fn gang(&mut self, gang: &GangEvent) {
        self.app(b"G", gang.app);
        self.bytes(&gang.priority.to_le_bytes());
        self.bytes(&gang.request_id.to_le_bytes());
        self.bytes(&gang.members.to_le_bytes());
        self.bytes(match gang.step {
            GangStep::Placed { .. } => b"p",
            GangStep::Holds { .. } => b"h",
            GangStep::Expired { .. } => b"x",
        });
    }

    fn opportunistic(&mut self, of: &OpportunisticEvent) {
        self.bytes(of.step.name().as_bytes());
        self.held(b"O", of.container, &of.node, &of.size);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn held(
        &mut self,
        kind: &[u8],
        container: crate::api::ContainerId,
        node: &crate::api::NodeName,
        size: &ResourceVector,
    ) {
        self.bytes(kind);
        self.container(container);
        self.place(node, size);
    }

    fn container(&mut self, container: crate::api::ContainerId) {
        self.bytes(&container.app.sequence.to_le_bytes());
        self.bytes(&container.number.to_le_bytes());
    }

    fn place(&mut self, node: &crate::api::NodeName, size: &ResourceVector) {
        self.bytes(node.host().as_bytes());
        self.bytes(&node.port().to_le_bytes());
        for index in 0..MAX_TYPES {
            self.bytes(&size[index].to_le_bytes());
        }
    }

    /// Takes a decision in.
    pub(super) fn add(&mut self, at_ms: u64, event: &Event) {
        self.bytes(&at_ms.to_le_bytes());
        match event {
            Event::Allocated {
                container,
                node,
                size,
                ..
            } => self.held(b"A", *container, node, size),
            Event::Reserved {
                container,
                node,
                size,
                ..
            } => self.held(b"R", *container, node, size),
            Event::ReservationMoved {
                container,
                to,
                size,
                ..
            } => self.held(b"V", *container, to, size),
            Event::Ended { container, .. } | Event::Unreserved { container, .. } => {
                self.bytes(b"F");
                self.container(*container);
                self.bytes(end_name(event).as_bytes());
            }
            Event::Updated {
                container, version, ..
            } => {
                self.bytes(b"U");
                self.container(*container);
                self.bytes(&version.to_le_bytes());
            }
            of_app => self.add_of_app(of_app),
        }
    }

    /// The same for what is about an application as a whole, or a container that no queue is charged with.
    fn add_of_app(&mut self, event: &Event) {
        match event {
            Event::MasterStarted { app, .. } => self.app(b"M", *app),
            Event::MasterLost { app } => self.app(b"L", *app),
            Event::AttemptEnded { app, .. } => self.app(b"T", *app),
            Event::AppEnded { app, .. } => self.app(b"E", *app),
            Event::Gang(gang) => self.gang(gang),
            Event::Opportunistic(of) => self.opportunistic(of),
            // Those about containers: `add` has them.
            _ => {}
        }
    }
}

/// Waits in virtual ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Number of waits.
    pub count: u64,
    /// Half of them were at most this long.
    pub p50_ms: u64,
    /// 95 % were at most this long.
    pub p95_ms: u64,
    /// 99 % were at most this long.
    pub p99_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

impl Waits {
    pub(super) fn of(tally: &Tally) -> Self {
        Self {
            count: tally.len(),
            p50_ms: tally.permille(500),
            p95_ms: tally.permille(950),
            p99_ms: tally.permille(990),
            max_ms: tally.max(),
        }
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {} ms, p95 {} ms, p99 {} ms, max {} ms of {}",
            self.p50_ms, self.p95_ms, self.p99_ms, self.max_ms, self.count
        )
    }
}

/// Where containers were placed that ask for hosts or racks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalityCounts {
    /// On a host that is asked for.
    pub on_host: u64,
    /// On another node of a rack that is asked for.
    pub in_rack: u64,
    /// Elsewhere.
    pub elsewhere: u64,
}

impl LocalityCounts {
    /// Containers that ask for hosts or racks.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.on_host + self.in_rack + self.elsewhere
    }

    /// Counts a container of a group on a host of a rack.
    pub(super) fn count(&mut self, group: &TaskGroup, host: &str, rack: &str) {
        let among = |names: &[String], name: &str| names.iter().any(|known| known == name);
        if group.hosts.is_empty() && group.racks.is_empty() {
            return;
        }
        let place = if among(&group.hosts, host) {
            &mut self.on_host
        } else if among(&group.racks, rack) {
            &mut self.in_rack
        } else {
            &mut self.elsewhere
        };
        *place += 1;
    }
}

/// Scheduling delays in virtual us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Number of containers.
    pub count: u64,
    /// Half of them waited at most this long.
    pub p50_us: u64,
    /// 95 % waited at most this long.
    pub p95_us: u64,
    /// 99 % waited at most this long.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Delays {
    pub(super) fn of(tally: &Tally) -> Self {
        Self {
            count: tally.len(),
            p50_us: tally.permille(500),
            p95_us: tally.permille(950),
            p99_us: tally.permille(990),
            max_us: tally.max(),
        }
    }
}

/// The cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Virtual ms since the start.
    pub at_ms: u64,
    /// Use of each leaf queue.
    pub used: BTreeMap<String, ResourceVector>,
    /// Everything all nodes offer.
    pub total: ResourceVector,
    /// Containers asked for and not placed, masters included.
    pub waiting: u64,
    /// How far the scheduler's work reaches beyond this moment, in ms; 0 when it costs nothing.
    pub late_ms: u64,
    /// Largest shortfall of a queue with unmet demand below its guarantee, in thousandths of the
    /// cluster.
    pub gap_permille: u32,
}

/// The kept lines of the time series.
#[derive(Clone, Debug)]
pub(super) struct Series {
    samples: Vec<Sample>,
    /// Period of the kept lines, in lines taken.
    every: u64,
    taken: u64,
    /// The line taken last, kept or not.
    last: Option<Sample>,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            every: 1,
            taken: 0,
            last: None,
        }
    }
}

impl Series {
    /// The kept lines and the last one.
    pub(super) fn lines(&self) -> Vec<Sample> {
        let mut lines = self.samples.clone();
        let shown = lines.last().map(|sample| sample.at_ms);
        lines.extend(self.last.clone().filter(|last| Some(last.at_ms) != shown));
        lines
    }

    pub(super) fn push(&mut self, sample: Sample) {
        if self.taken.is_multiple_of(self.every) {
            self.samples.push(sample.clone());
        }
        self.last = Some(sample);
        self.taken += 1;
        if self.samples.len() >= MAX_SAMPLES {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
    }
}

/// Use of every type over time: sums of amount times ms.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    used: [i128; MAX_TYPES],
    total: [i128; MAX_TYPES],
}

impl Use {
    pub(super) fn add(&mut self, ms: u64, used: &ResourceVector, total: &ResourceVector) {
        let counted = |&index: &usize| used[index] != 0 || total[index] != 0;
        for index in (0..MAX_TYPES).filter(counted) {
            self.used[index] += i128::from(used[index]) * i128::from(ms);
            self.total[index] += i128::from(total[index]) * i128::from(ms);
        }
    }

    /// Mean use of each of the first `types` types, in thousandths of what there was.
    pub(super) fn permille(&self, types: usize) -> Vec<u32> {
        let share = |(used, total): (&i128, &i128)| {
            if *total <= 0 {
                0
            } else {
                u32::try_from(used * 1000 / total).unwrap_or(0)
            }
        };
        self.used
            .iter()
            .zip(&self.total)
            .take(types)
            .map(share)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ContainerId, NodeName};

    fn allocated(host: &str) -> Event {
        let place = (NodeName::new(host, 0).unwrap(), "root.a".into());
        let container = ContainerId::new(ApplicationId::new(1), 2);
        Event::placed(container, place, ResourceVector::of(&[1024, 1]), (20, 0))
    }

    #[test]
    fn the_hash_depends_on_time_node_and_order() {
        let hash = |events: &[(u64, &str)]| {
            let mut hash = DecisionHash::default();
            for (at, host) in events {
                hash.add(*at, &allocated(host));
            }
            hash.value()
        };
        assert_eq!(hash(&[(1, "a"), (2, "b")]), hash(&[(1, "a"), (2, "b")]));
        assert_ne!(hash(&[(1, "a")]), hash(&[(2, "a")]));
        assert_ne!(hash(&[(1, "a")]), hash(&[(1, "b")]));
        assert_ne!(hash(&[(1, "a"), (1, "b")]), hash(&[(1, "b"), (1, "a")]));
    }

    #[test]
    fn decisions_are_lines_of_json() {
        let mut log = JsonLog::new(Vec::new(), 2);
        log.decision(7, &allocated("h"));
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["did"], "allocated");
        assert_eq!(line["size"], serde_json::json!([1024, 1]));
        assert_eq!(line["container"], "container_1_0001_01_000002");
    }

    #[test]
    fn a_long_series_keeps_every_second_line() {
        let mut series = Series::default();
        for at_ms in 0..10_000 {
            series.push(Sample {
                at_ms,
                ..Sample::default()
            });
        }
        assert!(series.samples.len() < MAX_SAMPLES);
        assert_eq!(series.samples[1].at_ms - series.samples[0].at_ms, 4);
        assert!(series.samples.is_sorted_by_key(|sample| sample.at_ms));
    }

    #[test]
    fn use_is_the_mean_over_time() {
        let mut usage = Use::default();
        let total = ResourceVector::of(&[100, 10]);
        usage.add(10, &ResourceVector::of(&[100, 5]), &total);
        usage.add(30, &ResourceVector::NONE, &total);
        assert_eq!(usage.permille(3), [250, 125, 0]);
    }
}
