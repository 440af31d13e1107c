//! The nodes of a trace: a list of nodes in a file of its own, or what a trace of jobs lists.

use serde_json::{Map as JsonMap, Value};

use super::context::{Context, ImportOptions, amount, json_at, json_text, split_host, whole};
use super::format::Format;
use super::lines::{Lines, Records, column_name};
use super::native::NativeLines;
use super::objects::Objects;
use super::rumen::LoggedJob;
use super::source::Source;
use super::swf;
use crate::api::ResourceVector;
use crate::id::{Map, Set};
use crate::simulator::workload::{MappingReport, NodeLine, TraceError, TraceErrorKind};

/// Most nodes of a cluster.
const MAX_NODES: usize = 1_000_000;

/// Nodes of one rack where the source has no racks.
const PER_RACK: u64 = 40;

/// The nodes that a source describes, in its order.
///
/// Understood are openb's list of nodes, node files and jobs of Hadoop's load simulator, its
/// generator, Rumen histories (the hosts that ran something), the header of SWF logs
/// (`MaxNodes`, `MaxProcs`) and our own format. Sizes that a source does not have are those of the
/// options.
///
/// # Errors
///
/// When the source cannot be read, holds a bad node, names one twice, or lists no nodes.
pub fn nodes(source: Source, options: &ImportOptions) -> Result<Vec<NodeLine>, TraceError> {
    let file = source.name.clone();
    let (nodes, _) = node_list(source, options)?;
    if nodes.is_empty() {
        let message = "the file lists no nodes";
        return Err(TraceError::new(TraceErrorKind::BadFile, &file, 0, message));
    }
    Ok(nodes)
}

/// The nodes of several sources, each host once. One that a later source describes otherwise is as the
/// first says, and the account names it as lost.
///
/// # Errors
///
/// As [`node_list`] of each, and when there are too many.
pub fn node_lists(
    sources: impl IntoIterator<Item = Source>,
    options: &ImportOptions,
) -> Result<(Vec<NodeLine>, MappingReport), TraceError> {
    let (mut all, mut account) = (Vec::<NodeLine>::new(), MappingReport::new("nodes"));
    let mut places = Map::default();
    for source in sources {
        let file = source.name.clone();
        let (nodes, own) = node_list(source, options)?;
        account.add_counts(&own);
        for node in nodes {
            match places.get(&node.host).map(|place: &usize| &all[*place]) {
                None => {
                    places.insert(node.host.clone(), all.len());
                    all.push(node);
                }
                Some(known) if *known == node => {}
                Some(_) => account.lose(&format!("node {} as {file} has it", node.host)),
            }
        }
        if all.len() > MAX_NODES {
            let message = "more than 1000000 nodes";
            return Err(TraceError::new(TraceErrorKind::BadFile, &file, 0, message));
        }
    }
    Ok((all, account))
}

/// The nodes of a source, or none, with the account: sizes that were filled in, keys that are not used.
///
/// # Errors
///
/// When the source cannot be read, holds a bad node, or names one twice.
pub fn node_list(
    mut source: Source,
    options: &ImportOptions,
) -> Result<(Vec<NodeLine>, MappingReport), TraceError> {
    let mut account = MappingReport::new("nodes");
    let head = String::from_utf8_lossy(source.head()?).into_owned();
    let first = head.lines().next().unwrap_or_default().to_owned();
    let file = source.name.clone();
    // Where each node stands, in formats that name nodes one by one.
    let mut lines = Vec::new();
    let found = if first.split(',').any(|field| column_name(field) == "sn") {
        openb_nodes(source, options, &mut account, &mut lines)?
    } else if head.contains("\"nodes\"") && !head.contains("\"job.tasks\"") {
        sls_objects(source, options, &mut account, &mut lines)?
    } else {
        match Format::detect(&mut source)? {
            Format::Native => native_nodes(source, options, &mut lines)?,
            Format::Synth | Format::Sls => sls_objects(source, options, &mut account, &mut lines)?,
            Format::Rumen => rumen_hosts(source, options)?,
            Format::Swf => swf_header(source, options)?,
            Format::Openb | Format::Swim | Format::Dynoyarn => Vec::new(),
        }
    };
    let fail = |message: &str| TraceError::new(TraceErrorKind::BadFile, &file, 0, message);
    if found.len() > MAX_NODES {
        return Err(fail("more than 1000000 nodes"));
    }
    let mut known = Set::default();
    for (at, node) in found.iter().enumerate() {
        if !known.insert(node.host.as_str()) {
            let mut twice = fail("a node appears twice").with_value(&node.host);
            twice.line = lines.get(at).copied().unwrap_or(0);
            return Err(twice);
        }
    }
    Ok((found, account))
}

fn openb_nodes(
    source: Source,
    options: &ImportOptions,
    account: &mut MappingReport,
    lines: &mut Vec<u64>,
) -> Result<Vec<NodeLine>, TraceError> {
    let (mut records, [name, cpu, memory, gpu], [model]) =
        Records::new(source, ["sn", "cpu_milli", "memory_mib", "gpu"], ["model"])?;
    records.note_unused(account);
    let mut nodes = Vec::new();
    while nodes.len() <= MAX_NODES && records.advance()? {
        let value = |index: usize, what: &str| {
            whole(records.field(index), what)
                .and_then(|value| value.ok_or_else(|| format!("{what} is blank")))
                .and_then(|value| amount(value, what))
                .map_err(|message| records.error(message))
        };
        let mut size = ResourceVector::of(&[
            value(memory, "memory_mib")?,
            value(cpu, "cpu_milli")? / 1000,
        ]);
        add_gpus(&mut size, value(gpu, "gpu")?, options);
        let model = model.map_or("", |index| records.field(index));
        let attribute = Some(model)
            .filter(|model| !model.is_empty())
            .map(|model| ("gpu-model".to_owned(), model.to_owned()));
        nodes.push(NodeLine {
            host: records.field(name).to_owned(),
            rack: rack_of(nodes.len(), PER_RACK),
            size,
            partition: String::new(),
            attributes: attribute.into_iter().collect(),
        });
        lines.push(records.line());
    }
    Ok(nodes)
}

/// Adds GPUs in the unit that the cluster has for them.
fn add_gpus(size: &mut ResourceVector, gpus: i64, options: &ImportOptions) {
    if let Some(index) = options.types.index_of("gpu-milli") {
        size.set(index, gpus.saturating_mul(1000));
    } else if let Some(index) = options.types.index_of("yarn.io/gpu") {
        size.set(index, gpus);
    }
}

fn rack_of(index: usize, per_rack: u64) -> String {
    let index = u64::try_from(index).expect("an index fits in a u64");
    format!("/rack{}", index / per_rack.max(1))
}

/// Equal nodes: `n` of them, their rack by position.
fn equal(n: u64, size: ResourceVector, rack: impl Fn(u64) -> String) -> Vec<NodeLine> {
    let most = u64::try_from(MAX_NODES).expect("a million fits in a u64") + 1;
    (0..n.min(most))
        .map(|index| NodeLine {
            host: format!("node{index}"),
            rack: rack(index),
            size,
            partition: String::new(),
            attributes: Vec::new(),
        })
        .collect()
}

/// Node files, `num.nodes`, `num_nodes`, or else the hosts that the tasks of jobs name.
fn sls_objects(
    source: Source,
    options: &ImportOptions,
    account: &mut MappingReport,
    lines: &mut Vec<u64>,
) -> Result<Vec<NodeLine>, TraceError> {
    let mut objects = Objects::new(source);
    let mut context = Context::new("nodes", options);
    let mut nodes = Vec::new();
    let mut hosts = Hosts::default();
    while let Some(object) = objects.next_object::<JsonMap<String, Value>>()? {
        let fail = |message: String| objects.error(message);
        if let Some(generated) = generated(&object, options).map_err(fail)? {
            context.filled_in("nodes", &options.node);
            account.add_counts(&context.report);
            return Ok(generated);
        }
        if object.contains_key("nodes") {
            rack_nodes(&object, &mut context, &mut nodes).map_err(|m| objects.error(m))?;
            lines.resize(nodes.len(), objects.start());
        }
        for task in object
            .get("job.tasks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(host) = task.get("container.host").and_then(Value::as_str) {
                hosts.add(host, options);
            }
        }
    }
    if !hosts.nodes.is_empty() {
        context.filled_in("nodes from the hosts of tasks", &options.node);
    }
    account.add_counts(&context.report);
    nodes.append(&mut hosts.nodes);
    Ok(nodes)
}

/// Nodes that a head asks to be generated, in racks as the load simulator spreads them.
fn generated(
    object: &JsonMap<String, Value>,
    options: &ImportOptions,
) -> Result<Option<Vec<NodeLine>>, String> {
    if let Some(n) = json_at(object, "num.nodes")? {
        let racks = json_at(object, "num.racks")?
            .unwrap_or(1)
            .clamp(1, n.max(1));
        return Ok(Some(equal(n, options.node, |i| {
            format!("/rack{}", i % racks)
        })));
    }
    let Some(n) = json_at(object, "num_nodes")? else {
        return Ok(None);
    };
    let per_rack = json_at(object, "nodes_per_rack")?.unwrap_or(1).max(1);
    // As NMRunner and SLSUtils.generateNodes: so many racks, and the nodes dealt out in turn.
    let racks = (n / per_rack).max(1);
    Ok(Some(equal(n, options.node, |i| {
        format!("/rack{}", i % racks)
    })))
}

fn rack_nodes(
    object: &JsonMap<String, Value>,
    context: &mut Context,
    into: &mut Vec<NodeLine>,
) -> Result<(), String> {
    let rack = json_text(object, "rack")?.unwrap_or_else(|| "default-rack".to_owned());
    let Some(Value::Array(entries)) = object.get("nodes") else {
        return Err("nodes is not a list".to_owned());
    };
    for entry in entries {
        let Value::Object(entry) = entry else {
            return Err("an entry of nodes is not an object".to_owned());
        };
        // Hadoop makes an empty entry a node called "null".
        let host = json_text(entry, "node")?.unwrap_or_else(|| "null".to_owned());
        let size = context.options.node;
        let labels = json_text(entry, "labels")?.unwrap_or_default();
        // A node has one partition: of a list of labels the first counts.
        let label = labels.split(',').next().unwrap_or_default();
        let label = label.split('(').next().unwrap_or_default().trim();
        into.push(NodeLine {
            host,
            rack: format!("/{}", rack.trim_start_matches('/')),
            size: context.sized(entry, "", &["node", "labels"], size)?,
            partition: label.to_owned(),
            attributes: Vec::new(),
        });
    }
    Ok(())
}

/// Hosts in the order they are first seen.
#[derive(Default)]
struct Hosts {
    seen: Set<String>,
    nodes: Vec<NodeLine>,
}

impl Hosts {
    fn add(&mut self, host: &str, options: &ImportOptions) {
        let Some((host, rack)) = split_host(host) else {
            return;
        };
        if self.nodes.len() <= MAX_NODES && self.seen.insert(host.clone()) {
            self.nodes.push(NodeLine {
                host,
                rack,
                size: options.node,
                partition: String::new(),
                attributes: Vec::new(),
            });
        }
    }
}

fn rumen_hosts(source: Source, options: &ImportOptions) -> Result<Vec<NodeLine>, TraceError> {
    let mut objects = Objects::new(source);
    let mut hosts = Hosts::default();
    while let Some(job) = objects.next_object::<LoggedJob>()? {
        let tasks = job.map_tasks.into_iter().chain(job.reduce_tasks).flatten();
        for attempt in tasks.flat_map(|task| task.attempts.unwrap_or_default()) {
            if let Some(host) = &attempt.host_name {
                hosts.add(host, options);
            }
        }
    }
    Ok(hosts.nodes)
}

/// `MaxNodes` nodes that share `MaxProcs` processors. Memory is as of the options for each vcore, and no less than a
/// job gets where the log does not give it.
fn swf_header(source: Source, options: &ImportOptions) -> Result<Vec<NodeLine>, TraceError> {
    let mut lines = Lines::new(source);
    let (mut max_nodes, mut max_procs) = (0_u64, 0_u64);
    while let Some(line) = lines.next_line()? {
        let Some(comment) = line.trim().strip_prefix(';') else {
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        if let Some((key, value)) = comment.split_once(':') {
            let value = value.trim().parse().unwrap_or(0);
            match key.trim() {
                "MaxNodes" => max_nodes = value,
                "MaxProcs" => max_procs = value,
                _ => {}
            }
        }
    }
    let nodes = if max_nodes == 0 { max_procs } else { max_nodes };
    if nodes == 0 {
        return Ok(Vec::new());
    }
    let fail = |message: String| TraceError::new(TraceErrorKind::BadFile, &lines.file, 0, message);
    let cores = amount(max_procs.div_ceil(nodes).max(1), "MaxProcs").map_err(fail)?;
    let per_core = options.node.memory() / options.node.vcores().max(1);
    let guessed = i64::try_from(swf::GUESSED_MIB).unwrap_or(0);
    let per_core = per_core.max(guessed);
    let memory = cores.saturating_mul(per_core);
    let memory = amount(u64::try_from(memory).unwrap_or(0), "MaxProcs").map_err(fail)?;
    let size = ResourceVector::of(&[memory, cores]);
    Ok(equal(nodes, size, |i| format!("/rack{}", i / PER_RACK)))
}

fn native_nodes(
    source: Source,
    options: &ImportOptions,
    lines: &mut Vec<u64>,
) -> Result<Vec<NodeLine>, TraceError> {
    let mut rows = NativeLines::new(source, options)?;
    let mut nodes = Vec::new();
    while let Some(node) = rows.next_node()? {
        nodes.push(node);
        lines.push(rows.line());
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::workload::ResourceTypes;

    fn of(text: &str) -> Result<Vec<NodeLine>, String> {
        let options = ImportOptions {
            types: ResourceTypes::with_extra(&["gpu-milli"]).unwrap(),
            ..ImportOptions::default()
        };
        nodes(Source::text("t", text), &options).map_err(|error| error.to_string())
    }

    #[test]
    fn openb_nodes_have_gpus_models_and_racks_of_forty() {
        let mut text = "sn,cpu_milli,memory_mib,gpu,model\n".to_owned();
        for n in 0..41 {
            text.push_str(&format!("n{n},32000,262144,2,T4\n"));
        }
        let nodes = of(&text).unwrap();
        assert_eq!(nodes[0].size, ResourceVector::of(&[262_144, 32, 2000]));
        assert_eq!(nodes[0].attributes[0].1, "T4");
        assert_eq!(
            (nodes[39].rack.as_str(), nodes[40].rack.as_str()),
            ("/rack0", "/rack1")
        );
        let quoted = of("\"sn\",\"cpu_milli\",\"memory_mib\",\"gpu\"\n\"n\",1000,1,0\n");
        assert_eq!(quoted.unwrap()[0].host, "n");
        let error = of("sn,cpu_milli,memory_mib,gpu\nn,-1,1,0\n").unwrap_err();
        assert_eq!(error, "t:2: cpu_milli is negative: `-1`");
        let error = of("sn,cpu_milli,memory_mib,gpu\nn,1,1,0\nn,1,1,0\n").unwrap_err();
        assert_eq!(error, "t:3: a node appears twice: `n`");
    }

    #[test]
    fn node_files_of_the_load_simulator_take_defaults_and_one_label() {
        let nodes = of(
            r#"{"rack":"r1","nodes":[{"node":"a","memory-mb":2048,"vcores":6},{},
                {"node":"c","labels":"l1(exclusive=true), l2"}]}"#,
        )
        .unwrap();
        assert_eq!(nodes[0].size, ResourceVector::of(&[2048, 6]));
        assert_eq!(
            (nodes[1].host.as_str(), nodes[1].rack.as_str()),
            ("null", "/r1")
        );
        assert_eq!(nodes[2].partition, "l1");
        assert_eq!(nodes[2].size, ResourceVector::of(&[10_240, 10]));
    }

    #[test]
    fn heads_of_traces_generate_nodes() {
        let nodes = of(r#"{"num.nodes":5,"num.racks":2}{"job.tasks":[]}"#).unwrap();
        assert_eq!((nodes.len(), nodes[3].rack.as_str()), (5, "/rack1"));
        let nodes =
            of(r#"{"num_nodes":5,"nodes_per_rack":2,"workloads":[],"rand_seed":1}"#).unwrap();
        let racks: Vec<&str> = nodes.iter().map(|node| node.rack.as_str()).collect();
        assert_eq!(racks, ["/rack0", "/rack1", "/rack0", "/rack1", "/rack0"]);
        let nodes = of("; MaxNodes: 3\n; MaxProcs: 12\n1 2 3\n").unwrap();
        assert_eq!((nodes.len(), nodes[0].size.vcores()), (3, 4));
        // Jobs get 2 GiB a processor where the log gives no memory.
        assert_eq!(nodes[0].size.memory(), 4 * 2048);
    }

    #[test]
    fn hosts_of_tasks_become_nodes_once() {
        let text = r#"{"job.start.ms":0,"job.tasks":[{"container.host":"/r/a"},
            {"container.host":"/r/b"},{"container.host":"/r/a"}]}"#;
        let hosts: Vec<String> = of(text).unwrap().into_iter().map(|n| n.host).collect();
        assert_eq!(hosts, ["a", "b"]);
        let text = r#"{"jobID":"j","mapTasks":[{"attempts":[{"hostName":"/r/a"}]}]}"#;
        assert_eq!(of(text).unwrap()[0].rack, "/r");
    }

    #[test]
    fn a_file_without_nodes_is_refused() {
        assert_eq!(
            of("j\t1\t1\t1\t1\t1\n").unwrap_err(),
            "t: the file lists no nodes"
        );
        assert!(of("hello").is_err());
    }
}
