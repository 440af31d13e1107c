//! Our own format: JSON lines, lossless, usually packed with zstd.
//!
//! The first line is `{"capsched":"trace","version":1,"types":["memory-mb","vcores",...]}`, every
//! other one `{"node":{...}}` or `{"job":{...}}`. Sizes are lists of numbers in the order of the
//! types. Rules may use `queue`, `user` and `name`.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::context::{
    Context, ImportOptions, ImportStep, Imported, MAX_CONTAINERS, Reader, amount, time,
};
use super::lines::{Lines, MAX_LINE};
use super::source::Source;
use crate::api::{GangAsk, MAX_TYPES, ResourceVector};
use crate::config::is_type_name;
use crate::simulator::workload::{
    GangTerms, Job, MappingReport, NodeLine, ResourceTypes, Run, TaskGroup, TraceError,
    TraceErrorKind, Workload, member_fault,
};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    capsched: String,
    version: u32,
    types: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Node(NodeRow),
    Job(JobRow),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeRow {
    host: String,
    rack: String,
    size: Vec<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    partition: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobRow {
    at_ms: u64,
    name: String,
    user: String,
    queue: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    master: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    tasks: Vec<GroupRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupRow {
    size: Vec<u64>,
    count: u32,
    priority: i32,
    #[serde(default, skip_serializing_if = "is_zero_stage")]
    stage: u32,
    #[serde(default, skip_serializing_if = "is_zero_ms")]
    delay_ms: u64,
    run: RunRow,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    racks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gang: Option<GangTerms>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RunRow {
    Same(u64),
    List(Vec<u64>),
    Spread {
        median_ms: u64,
        sigma_thousandths: u32,
        seed: u64,
    },
    Forever,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_zero_stage(value: &u32) -> bool {
    *value == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_zero_ms(value: &u64) -> bool {
    *value == 0
}

/// Lines of a native file after its header.
pub(super) struct NativeLines {
    lines: Lines,
    context: Context,
    /// For each type of the file, its name and its position among the types of the cluster.
    places: Vec<(String, Option<usize>)>,
}

/// The types that a header names beside memory and vcores; none when it is no header.
///
/// # Errors
///
/// A name that no type may have, one that stands twice, or too many of them.
pub(super) fn declared(first: &str) -> Result<Vec<String>, String> {
    let types = serde_json::from_str::<Header>(first.trim_start_matches('\u{feff}'));
    let types = types.map(|header| header.types).unwrap_or_default();
    for (i, name) in types.iter().enumerate() {
        if !is_type_name(name) {
            let name = name.escape_debug();
            return Err(format!("`{name}` cannot be the name of a resource type"));
        }
        if types[..i].contains(name) {
            return Err(format!("the header names the resource type `{name}` twice"));
        }
    }
    if types.len() > MAX_TYPES {
        return Err(format!(
            "the header names more than {MAX_TYPES} resource types"
        ));
    }
    let basic = |name: &String| matches!(name.as_str(), "memory" | "memory-mb" | "vcores");
    Ok(types.into_iter().filter(|name| !basic(name)).collect())
}

/// The jobs as a workload; lines that describe nodes are skipped.
///
/// # Errors
///
/// When the header is missing or of another version.
pub fn native(
    source: Source,
    options: &ImportOptions,
) -> Result<impl Workload + use<>, TraceError> {
    Ok(Imported::new(NativeLines::new(source, options)?))
}

impl NativeLines {
    pub(super) fn new(source: Source, options: &ImportOptions) -> Result<Self, TraceError> {
        let mut lines = Lines::new(source);
        let first = lines.next_line()?.unwrap_or_default().to_owned();
        let bad = |message: &str| {
            TraceError::new(TraceErrorKind::BadFile, &lines.file, 1, message).with_value(&first)
        };
        let header: Header = serde_json::from_str(&first).map_err(|error| {
            let said = member_fault::<Header>(&first, &error);
            let fault = (&error, &*said);
            let placed = TraceError::json(TraceErrorKind::BadFile, &lines.file, 1, fault);
            let what = "the first line is not the header of a capsched trace";
            TraceError {
                message: format!("{what}: {}", placed.message),
                ..placed
            }
        })?;
        if header.capsched != "trace" || header.version != VERSION {
            return Err(bad("the trace is of another kind or version than 1"));
        }
        let places = header
            .types
            .iter()
            .map(|name| (name.clone(), options.types.index_of(name)))
            .collect();
        Ok(Self {
            places,
            context: Context::new("native", options),
            lines,
        })
    }

    fn next(&mut self) -> Result<Option<Option<Line>>, TraceError> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(None);
        };
        if line.trim().is_empty() {
            return Ok(Some(None));
        }
        match serde_json::from_str::<Line>(line) {
            Ok(line) => Ok(Some(Some(line))),
            Err(error) => {
                let said = member_fault::<Line>(line, &error);
                Err(self.lines.json_error((&error, &said)))
            }
        }
    }

    /// The line that was read last.
    pub(super) const fn line(&self) -> u64 {
        self.lines.line
    }

    /// The next node; jobs are passed over.
    pub(super) fn next_node(&mut self) -> Result<Option<NodeLine>, TraceError> {
        while let Some(line) = self.next()? {
            if let Some(Line::Node(row)) = line {
                let size = self
                    .size(&row.size)
                    .map_err(|message| self.lines.error(TraceErrorKind::BadRow, message))?;
                return Ok(Some(NodeLine {
                    host: row.host,
                    rack: row.rack,
                    size,
                    partition: row.partition,
                    attributes: row.attributes,
                }));
            }
        }
        Ok(None)
    }

    fn size(&mut self, values: &[u64]) -> Result<ResourceVector, String> {
        if values.len() > self.places.len() {
            return Err(format!(
                "a size has {} values where the header has {} types",
                values.len(),
                self.places.len()
            ));
        }
        let mut size = ResourceVector::NONE;
        for (&value, (name, place)) in values.iter().zip(&self.places) {
            match place {
                Some(index) => size.set(*index, amount(value, "a size")?),
                None if value > 0 => {
                    let what = format!("{name} (no type of the cluster)");
                    self.context.report.lose(&what);
                }
                None => {}
            }
        }
        Ok(size)
    }

    fn group(&mut self, row: GroupRow) -> Result<TaskGroup, String> {
        let gang = checked_gang(&row)?;
        let run = match row.run {
            RunRow::Same(ms) => Run::Same(time(Some(ms), "a run time")?),
            RunRow::List(list) => {
                for &ms in &list {
                    time(Some(ms), "a run time")?;
                }
                Run::List(list)
            }
            RunRow::Spread {
                median_ms,
                sigma_thousandths,
                seed,
            } => Run::Spread {
                median_ms: time(Some(median_ms), "a run time")?,
                sigma_thousandths,
                seed,
            },
            RunRow::Forever => Run::Forever,
        };
        Ok(TaskGroup {
            size: self.size(&row.size)?,
            count: row.count,
            priority: row.priority,
            stage: row.stage,
            delay_ms: time(Some(row.delay_ms), "delay_ms")?,
            run,
            gang,
            hosts: row.hosts,
            racks: row.racks,
        })
    }

    fn job(&mut self, row: JobRow) -> Result<ImportStep, String> {
        let at_ms = time(Some(row.at_ms), "at_ms")?;
        let containers: u64 = row.tasks.iter().map(|group| u64::from(group.count)).sum();
        if containers > MAX_CONTAINERS {
            return Err(format!("the job has more than {MAX_CONTAINERS} containers"));
        }
        let master = match row.master {
            Some(values) => Some(self.size(&values)?),
            None => None,
        };
        let mut tasks = Vec::with_capacity(row.tasks.len());
        for group in row.tasks {
            tasks.push(self.group(group)?);
        }
        let fields = [
            ("queue", row.queue.as_str()),
            ("user", row.user.as_str()),
            ("name", row.name.as_str()),
        ];
        let (queue, user) = self
            .context
            .place(&fields, Some(&row.queue), Some(&row.user));
        Ok(ImportStep::job(Job {
            at_ms,
            user,
            queue,
            name: row.name,
            priority: row.priority,
            master,
            partition: row.partition,
            tags: row.tags,
            tasks,
            line: self.lines.line,
        }))
    }
}

impl Reader for NativeLines {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        match self.next()? {
            None => Ok(ImportStep::End),
            Some(None | Some(Line::Node(_))) => Ok(ImportStep::Dropped),
            Some(Some(Line::Job(row))) => {
                self.context.report.rows += 1;
                self.job(row)
                    .map_err(|message| self.lines.error(TraceErrorKind::BadRow, message))
            }
        }
    }
}

/// Writes the native format.
pub struct NativeWriter<W: Write> {
    into: W,
    types: usize,
}

impl<W: Write> std::fmt::Debug for NativeWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NativeWriter")
    }
}

impl<W: Write> NativeWriter<W> {
    /// Writes the header. For a packed file pass a `zstd` encoder and finish it afterwards.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn new(mut into: W, types: &ResourceTypes) -> io::Result<Self> {
        let header = Header {
            capsched: "trace".to_owned(),
            version: VERSION,
            types: types.names().to_vec(),
        };
        put(&mut into, &header)?;
        Ok(Self {
            into,
            types: types.names().len(),
        })
    }

    /// Writes a node.
    ///
    /// # Errors
    ///
    /// When writing fails or the line would be longer than 1 MiB.
    pub fn node(&mut self, node: &NodeLine) -> io::Result<()> {
        let row = NodeRow {
            host: node.host.clone(),
            rack: node.rack.clone(),
            size: self.values(&node.size),
            partition: node.partition.clone(),
            attributes: node.attributes.clone(),
        };
        put(&mut self.into, &Line::Node(row))
    }

    /// Writes a job.
    ///
    /// # Errors
    ///
    /// When writing fails or the line would be longer than 1 MiB.
    pub fn job(&mut self, job: &Job) -> io::Result<()> {
        let row = JobRow {
            at_ms: job.at_ms,
            name: job.name.clone(),
            user: job.user.clone(),
            queue: job.queue.clone(),
            priority: job.priority,
            master: job.master.as_ref().map(|size| self.values(size)),
            partition: job.partition.clone(),
            tags: job.tags.clone(),
            tasks: job.tasks.iter().map(|group| self.group(group)).collect(),
        };
        put(&mut self.into, &Line::Job(row))
    }

    /// The writer underneath, to be finished by the caller.
    pub fn into_inner(self) -> W {
        self.into
    }

    fn values(&self, size: &ResourceVector) -> Vec<u64> {
        let values = size.values(self.types).iter();
        values.map(|&v| u64::try_from(v).unwrap_or(0)).collect()
    }

    fn group(&self, group: &TaskGroup) -> GroupRow {
        GroupRow {
            size: self.values(&group.size),
            count: group.count,
            priority: group.priority,
            stage: group.stage,
            delay_ms: group.delay_ms,
            run: match &group.run {
                Run::Same(ms) => RunRow::Same(*ms),
                Run::List(list) => RunRow::List(list.clone()),
                Run::Spread {
                    median_ms,
                    sigma_thousandths,
                    seed,
                } => RunRow::Spread {
                    median_ms: *median_ms,
                    sigma_thousandths: *sigma_thousandths,
                    seed: *seed,
                },
                Run::Forever => RunRow::Forever,
            },
            hosts: group.hosts.clone(),
            racks: group.racks.clone(),
            gang: group.gang.clone(),
        }
    }
}

/// The terms of a gang, where they are those of a gang that may be asked for.
fn checked_gang(row: &GroupRow) -> Result<Option<GangTerms>, String> {
    let Some(gang) = &row.gang else {
        return Ok(None);
    };
    let most = row.count.min(GangAsk::MOST_MEMBERS);
    if !(1..=most).contains(&gang.minimum) {
        let given = gang.minimum;
        return Err(format!(
            "a gang of {given} is not one of 1 to {most} containers"
        ));
    }
    if !(1..=GangAsk::LONGEST_MS).contains(&gang.within_ms) {
        let (given, most) = (gang.within_ms, GangAsk::LONGEST_MS);
        return Err(format!("within_ms {given} is not 1 to {most}"));
    }
    if !row.hosts.is_empty() || !row.racks.is_empty() {
        return Err("a gang names no hosts or racks; it may have a field `close`".to_owned());
    }
    Ok(row.gang.clone())
}

fn put(into: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    if text.len() > MAX_LINE {
        return Err(io::Error::other(format!(
            "a line would be longer than {MAX_LINE} bytes"
        )));
    }
    text.push(b'\n');
    into.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::import::source::MAX_INFLATED;

    fn sample() -> Job {
        let size = ResourceVector::of(&[1024, 1, 500]);
        let mut group = TaskGroup::new(size, 3, Run::List(vec![5, 6]));
        group.stage = 2;
        group.delay_ms = 9;
        group.hosts = vec!["h".to_owned()];
        group.racks = vec!["/r".to_owned()];
        let spread = Run::Spread {
            median_ms: 4,
            sigma_thousandths: 5,
            seed: u64::MAX,
        };
        Job {
            at_ms: 7,
            user: "u".to_owned(),
            queue: "root.a".to_owned(),
            name: "n\u{e9}".to_owned(),
            priority: Some(-1),
            master: Some(size),
            partition: Some("x".to_owned()),
            tags: vec!["t".to_owned()],
            tasks: vec![
                group,
                TaskGroup::new(size, 1, Run::Forever),
                TaskGroup::new(size, 1, spread),
                TaskGroup::new(size, 1, Run::Same(0)),
            ],
            line: 3,
        }
    }

    #[test]
    fn what_is_written_is_read_back_also_from_zstd() {
        let types = ResourceTypes::with_extra(&["gpu-milli"]).unwrap();
        let node = NodeLine {
            host: "n1".to_owned(),
            rack: "/r".to_owned(),
            size: ResourceVector::of(&[4096, 4, 2000]),
            partition: "p".to_owned(),
            attributes: vec![("gpu-model".to_owned(), "T4".to_owned())],
        };
        let packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
        let mut writer = NativeWriter::new(packed, &types).unwrap();
        writer.node(&node).unwrap();
        writer.job(&sample()).unwrap();
        let bytes = writer.into_inner().finish().unwrap();
        let source = || Source::of("t", Box::new(io::Cursor::new(bytes.clone())), MAX_INFLATED);
        let options = ImportOptions {
            types,
            ..ImportOptions::default()
        };
        let mut jobs = native(source().unwrap(), &options).unwrap();
        assert_eq!(jobs.next().unwrap().unwrap(), sample());
        assert!(jobs.next().is_none());
        let mut lines = NativeLines::new(source().unwrap(), &options).unwrap();
        assert_eq!(lines.next_node().unwrap(), Some(node));
    }

    #[test]
    fn amounts_of_unknown_types_are_counted() {
        let mut writer = NativeWriter::new(
            Vec::new(),
            &ResourceTypes::with_extra(&["gpu-milli"]).unwrap(),
        )
        .unwrap();
        writer.job(&sample()).unwrap();
        let text = String::from_utf8(writer.into_inner()).unwrap();
        let mut jobs = native(Source::text("t", &text), &ImportOptions::default()).unwrap();
        assert_eq!(
            jobs.next().unwrap().unwrap().master,
            Some(ResourceVector::of(&[1024, 1]))
        );
        let report = jobs.report();
        assert_eq!(report.lost["gpu-milli (no type of the cluster)"], 5);
    }

    #[test]
    fn headers_and_lines_that_are_not_ours_are_refused() {
        for head in [
            "",
            "{}",
            "{\"capsched\":\"trace\",\"version\":2,\"types\":[]}",
        ] {
            let error = native(Source::text("t", head), &ImportOptions::default()).err();
            assert_eq!(error.unwrap().kind, TraceErrorKind::BadFile, "{head}");
        }
        let text = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n\
                    {\"job\":{\"at_ms\":0,\"name\":\"a\",\"user\":\"u\",\"queue\":\"q\",\"tasks\":[],\"colour\":1}}\n\
                    {\"job\":{\"at_ms\":0,\"name\":\"a\",\"user\":\"u\",\"queue\":\"q\",\"tasks\":[]}}\n";
        let mut jobs = native(Source::text("t", text), &ImportOptions::default()).unwrap();
        let error = jobs.next().unwrap().unwrap_err();
        assert!(
            error.line == 2 && error.message.contains("colour"),
            "{error}"
        );
        assert!(jobs.next().unwrap().is_ok());
    }
}
