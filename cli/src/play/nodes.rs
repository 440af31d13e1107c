//! The nodes of a run: lists in files, and nodes that the command line describes.

use std::fmt;
use std::mem::replace;
use std::path::{Path, PathBuf};

use anyhow::Result;
use capsched::api::ResourceVector;
use capsched::simulator::import::{DeclaredTypes, ImportOptions, Source, node_lists};
use capsched::simulator::{MappingReport, NodeLine, ResourceTypes};

use super::trace::explain;
use crate::output::Problem;

/// Nodes of one rack.
const PER_RACK: u32 = 40;

/// A file with nodes, or equal nodes such as `100x64GiB,32vcores,2gpu,label=x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeSource {
    /// A file; `-` is standard input.
    File(PathBuf),
    /// So many nodes of one size.
    Equal(EqualNodes),
}

impl fmt::Display for NodeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Equal(nodes) => f.write_str(&nodes.text),
        }
    }
}

/// Equal nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EqualNodes {
    /// As the command line has it.
    text: String,
    count: u32,
    memory_mib: i64,
    vcores: i64,
    /// Further types with their amounts.
    others: Vec<(String, i64)>,
    label: String,
}

/// Reads the value of `--nodes`.
pub(crate) fn node_source(text: &str) -> Result<NodeSource, String> {
    let path = Path::new(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || text.as_bytes().get(digits) != Some(&b'x') || path.exists() {
        // A path seldom has a comma, a description always.
        if text.contains(',') && !path.exists() {
            return Err("no file, and no nodes such as 100x64GiB,32vcores".to_owned());
        }
        return Ok(NodeSource::File(path.to_owned()));
    }
    let mut nodes = EqualNodes {
        text: text.to_owned(),
        count: text[..digits]
            .parse()
            .ok()
            .filter(|count| (1..=1_000_000).contains(count))
            .ok_or("the number of nodes is not from 1 to 1000000")?,
        ..EqualNodes::default()
    };
    for part in text[digits + 1..].split(',') {
        nodes.add(part.trim())?;
    }
    if nodes.memory_mib == 0 || nodes.vcores == 0 {
        return Err(nodes.lacking());
    }
    Ok(NodeSource::Equal(nodes))
}

impl EqualNodes {
    /// What is missing of a node, and which parts count as something else.
    fn lacking(&self) -> String {
        let missing = match (self.memory_mib, self.vcores) {
            (0, 0) => "memory and vcores are missing",
            (0, _) => "memory is missing",
            _ => "vcores are missing",
        };
        let others = self.others.iter().map(|(name, amount)| {
            format!("; `{amount}{name}` counts as the resource type `{name}`")
        });
        let others: String = others.collect();
        format!("{missing}, as in 100x64GiB,32vcores{others}")
    }

    fn add(&mut self, part: &str) -> Result<(), String> {
        if let Some(label) = part.strip_prefix("label=") {
            if label.is_empty() {
                return Err("`label=` names no label".to_owned());
            }
            if !self.label.is_empty() {
                return Err("`label=` stands there twice, and a node has one label".to_owned());
            }
            label.clone_into(&mut self.label);
            return Ok(());
        }
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let unit = &part[digits..];
        let bad = || {
            format!(
                "`{}` is no amount such as 64GiB or 32vcores",
                part.escape_debug()
            )
        };
        let amount: i64 = part[..digits].parse().map_err(|_| bad())?;
        let mib = |factor: i64| amount.checked_mul(factor).ok_or_else(bad);
        let known = match &*unit.to_ascii_lowercase() {
            "mib" | "mb" | "mi" | "m" => replace(&mut self.memory_mib, amount),
            "gib" | "gb" | "gi" | "g" => replace(&mut self.memory_mib, mib(1024)?),
            "tib" | "tb" | "ti" | "t" => replace(&mut self.memory_mib, mib(1024 * 1024)?),
            "vcores" | "vcore" | "cores" | "cpus" | "cpu" => replace(&mut self.vcores, amount),
            "gpu" | "gpus" => self.add_other("yarn.io/gpu", amount),
            // A fraction such as `1.5gpu` is no whole number of a type.
            _ if unit.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                self.add_other(unit, amount)
            }
            _ => return Err(bad()),
        };
        if known != 0 {
            let part = part.escape_debug();
            return Err(format!(
                "`{part}` sets a resource that stands there already"
            ));
        }
        Ok(())
    }

    /// Adds an amount of a further type; the amount that stands there already.
    fn add_other(&mut self, name: &str, amount: i64) -> i64 {
        let known = self.others.iter().find(|(other, _)| other == name);
        let known = known.map_or(0, |(_, amount)| *amount);
        self.others.push((name.to_owned(), amount));
        known
    }

    /// Types beside memory and vcores.
    fn types(&self) -> DeclaredTypes {
        DeclaredTypes {
            offered: self.others.iter().map(|(name, _)| name.clone()).collect(),
            asked: Vec::new(),
        }
    }

    /// The nodes one by one.
    fn lines(&self, types: &ResourceTypes) -> Result<Vec<NodeLine>> {
        let mut size = ResourceVector::of(&[self.memory_mib, self.vcores]);
        for (name, amount) in &self.others {
            // GPUs of a trace may be counted in thousandths.
            let (index, factor) = match (types.index_of(name), types.index_of("gpu-milli")) {
                (Some(index), _) => (index, 1),
                (None, Some(index)) if name == "yarn.io/gpu" => (index, 1000),
                _ => {
                    let problem = format!("--nodes: the cluster has no resource type {name}");
                    return Err(anyhow::Error::new(Problem(problem)));
                }
            };
            size.set(index, amount.saturating_mul(factor));
        }
        let node = |index: u32| NodeLine {
            host: format!("node{index}"),
            rack: format!("/rack{}", index / PER_RACK),
            size,
            partition: self.label.clone(),
            attributes: Vec::new(),
        };
        Ok((0..self.count).map(node).collect())
    }
}

impl NodeSource {
    /// The types that the nodes offer; nothing for a pipe, which is read later.
    pub(crate) fn types(&self) -> Result<DeclaredTypes> {
        match self {
            Self::Equal(nodes) => Ok(nodes.types()),
            Self::File(path) if path.is_file() => {
                let source = Source::open(path).map_err(explain)?;
                let found = capsched::simulator::import::declared_types(source, None);
                found.map_err(explain)
            }
            Self::File(_) => Ok(DeclaredTypes::default()),
        }
    }

    /// The nodes, with what was filled in.
    pub(crate) fn read(
        &self,
        account: &mut MappingReport,
        options: &ImportOptions,
    ) -> Result<Vec<NodeLine>> {
        match self {
            Self::Equal(equal) => equal.lines(&options.types),
            Self::File(path) => {
                let source = Source::open(path).map_err(explain)?;
                let nodes = listed([source], account, options)?;
                some(nodes, &path.to_string_lossy())
            }
        }
    }
}

/// What to do where nodes are missing, or a list of them is broken.
const ADVICE: &str = "name a file with nodes by --nodes FILE, or --nodes 100x64GiB,32vcores";

/// Nodes, unless there are none where a file should list some.
pub(crate) fn some(nodes: Vec<NodeLine>, file: &str) -> Result<Vec<NodeLine>> {
    if nodes.is_empty() {
        let problem = format!("{file}: the file lists no nodes; {ADVICE}");
        return Err(anyhow::Error::new(Problem(problem)));
    }
    Ok(nodes)
}

/// The nodes of some lists, each once.
pub(crate) fn listed(
    sources: impl IntoIterator<Item = Source>,
    account: &mut MappingReport,
    options: &ImportOptions,
) -> Result<Vec<NodeLine>> {
    let (lines, own) = node_lists(sources, options)
        .map_err(|error| anyhow::Error::new(Problem(format!("{error}; {ADVICE}"))))?;
    account.add_counts(&own);
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_described_by_number_size_and_label() {
        let Ok(NodeSource::Equal(nodes)) = node_source("3x64GiB,32vcores,2gpu,label=x") else {
            panic!("it describes nodes");
        };
        let types = ResourceTypes::with_extra(&["gpu-milli"]).expect("three types");
        let lines = nodes.lines(&types).expect("the type is known");
        assert_eq!(lines.len(), 3);
        assert_eq!(
            (lines[0].host.as_str(), lines[0].partition.as_str()),
            ("node0", "x")
        );
        assert_eq!(lines[0].size, ResourceVector::of(&[65_536, 32, 2000]));
        assert!(nodes.lines(&ResourceTypes::default()).is_err());
        assert_eq!(nodes.types().offered, ["yarn.io/gpu"]);
        let file = NodeSource::File(PathBuf::from("nodes.csv"));
        assert_eq!(node_source("nodes.csv"), Ok(file));
    }

    #[test]
    fn units_have_several_spellings() {
        let described = node_source("100x64GiB,32vcores").unwrap();
        let sizes = |source: &NodeSource| match source {
            NodeSource::Equal(nodes) => (nodes.count, nodes.memory_mib, nodes.vcores),
            NodeSource::File(_) => panic!("it describes nodes"),
        };
        for other in [
            "100x64Gi,32cpu",
            "100x64gib,32VCORES",
            "100x65536mi,32cores",
        ] {
            let other = node_source(other).unwrap();
            assert_eq!(sizes(&other), sizes(&described));
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_was_read_otherwise() {
        for (text, part) in [
            ("3x64GiB,32v", "vcores are missing"),
            ("3x64GiB,32v", "`32v` counts as the resource type `v`"),
            ("3x32vcores", "memory is missing"),
            ("3 x 64GiB, 32 vcores", "no file, and no nodes such as"),
            ("64GiB,32vcores", "no file, and no nodes such as"),
        ] {
            let error = node_source(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_description_is_refused() {
        for bad in [
            "0x1GiB,1vcores",
            "3x64GiB",
            "3x64,1vcores",
            "3xGiB",
            "9999999x1G,1vcores",
            "3x1GiB,1vcores,label=",
            "3x1GiB,1vcores,label=x,label=y",
            "3x1GiB,1vcores,2GiB",
            "3x1GiB,1vcores,2gpu,3gpu",
            "3x1GiB,1vcores,2gpu,3yarn.io/gpu",
            "3x1GiB,1vcores,1.5gpu",
        ] {
            assert!(node_source(bad).is_err(), "{bad}");
        }
    }
}
