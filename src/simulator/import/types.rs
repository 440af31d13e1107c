//! Resource types that a trace or a list of nodes names beside memory and vcores.

use serde_json::{Map, Value};

use super::context::is_amount;
use super::dynoyarn::foreign_types;
use super::format::Format;
use super::lines::{Lines, column_name};
use super::native::declared;
use super::objects::Objects;
use super::sls::OTHER_KEYS;
use super::source::Source;
use crate::simulator::workload::{TraceError, TraceErrorKind};

/// Types beside memory and vcores, in the order in which they appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredTypes {
    /// Types that the source declares, or that its nodes offer.
    pub offered: Vec<String>,
    /// Types that only its jobs ask for.
    pub asked: Vec<String>,
}

impl DeclaredTypes {
    fn offer(&mut self, name: &str) {
        add(&mut self.offered, name);
    }

    fn ask(&mut self, name: &str) {
        add(&mut self.asked, name);
    }

    /// Adds those of another source.
    pub fn merge(&mut self, other: &Self) {
        for name in &other.offered {
            self.offer(name);
        }
        for name in &other.asked {
            self.ask(name);
        }
    }
}

fn add(names: &mut Vec<String>, name: &str) {
    let known = |known: &String| known == name;
    if !matches!(name, "memory" | "memory-mb" | "vcores") && !names.iter().any(known) {
        names.push(name.to_owned());
    }
}

/// The types that a source names. What cannot be read is passed over: the importer says so.
///
/// Our own format names its types in its first line; of the load simulator's and of `DynoYARN`'s
/// everything is read.
///
/// # Errors
///
/// When the beginning of the source cannot be read, or our own format names one that cannot be.
pub fn declared_types(
    mut source: Source,
    format: Option<Format>,
) -> Result<DeclaredTypes, TraceError> {
    let mut types = types_in_head(&mut source, format)?;
    let head = String::from_utf8_lossy(source.head()?).into_owned();
    let format = match format {
        Some(format) => Some(format),
        None => Format::detect(&mut source).ok(),
    };
    match format {
        Some(Format::Dynoyarn) => of_lines(source, &mut types),
        Some(Format::Sls) => of_objects(source, &mut types),
        None if head.contains("\"nodes\"") => of_objects(source, &mut types),
        _ => {}
    }
    Ok(types)
}

/// The types that the first 64 KiB of a source declare, which is left as it was: all there are in
/// our own format and in openb's, none of others.
///
/// # Errors
///
/// When they cannot be read, or our own format names one that cannot be.
pub fn types_in_head(
    source: &mut Source,
    format: Option<Format>,
) -> Result<DeclaredTypes, TraceError> {
    let head = String::from_utf8_lossy(source.head()?).into_owned();
    let mut types = DeclaredTypes::default();
    let first = head.lines().next().unwrap_or_default();
    if first.split(',').any(|field| column_name(field) == "sn") {
        types.offer("gpu-milli");
        return Ok(types);
    }
    let format = match format {
        Some(format) => Some(format),
        None => Format::detect(source).ok(),
    };
    match format {
        Some(Format::Openb) => types.offer("gpu-milli"),
        Some(Format::Native) => {
            types.offered = declared(first).map_err(|message| {
                TraceError::new(TraceErrorKind::BadFile, &source.name, 1, message)
            })?;
        }
        _ => {}
    }
    Ok(types)
}

fn of_lines(source: Source, types: &mut DeclaredTypes) {
    let mut lines = Lines::new(source);
    while let Ok(Some(line)) = lines.next_line() {
        for name in foreign_types(line) {
            types.ask(&name);
        }
    }
}

fn of_objects(source: Source, types: &mut DeclaredTypes) {
    let mut objects = Objects::new(source);
    while let Ok(Some(object)) = objects.next_object::<Map<String, Value>>() {
        of_object(&object, types);
    }
}

fn of_object(object: &Map<String, Value>, types: &mut DeclaredTypes) {
    let list = |key: &str| {
        object
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    for node in list("nodes").filter_map(Value::as_object) {
        for (key, value) in node {
            if !matches!(key.as_str(), "node" | "labels") && is_amount(value) {
                types.offer(key);
            }
        }
    }
    let asks = list("job.tasks").filter_map(Value::as_object);
    for (task, prefix) in asks
        .map(|task| (task, "container."))
        .chain([(object, "am.")])
    {
        for (key, value) in task {
            let name = key.strip_prefix(prefix);
            let name = name.filter(|name| !OTHER_KEYS.contains(name) && is_amount(value));
            if let Some(name) = name {
                types.ask(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> DeclaredTypes {
        declared_types(Source::text("t", text), None).unwrap()
    }

    #[test]
    fn each_format_names_its_types_where_they_stand() {
        let native = of(
            "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\",\"fpga\"]}\n",
        );
        assert_eq!(native.offered, ["fpga"]);
        let sls = of(r#"{"job.start.ms":0,"am.memory":1,"am.type":"x",
            "job.tasks":[{"container.yarn.io/gpu":1,"container.host":"/r/n","container.start.ms":1,
            "container.end.ms":2}]}"#);
        assert_eq!(sls.asked, ["yarn.io/gpu"]);
        let nodes = of(r#"{"rack":"r","nodes":[{"node":"a","memory-mb":1,"yarn.io/gpu":4}]}"#);
        assert_eq!(nodes.offered, ["yarn.io/gpu"]);
        assert_eq!(of("sn,cpu_milli,memory_mib,gpu\n").offered, ["gpu-milli"]);
        assert_eq!(of("; MaxNodes: 3\n"), DeclaredTypes::default());
        let dyno = of(
            r#"{"appId":"a","submitTime":0,"resourceRequestSpecs":[{"numInstances":1,
            "resource":{"memoryMB":1,"vcores":1,"fpga":2}}]}"#
                .replace('\n', "")
                .as_str(),
        );
        assert_eq!(dyno.asked, ["fpga"]);
    }
}
