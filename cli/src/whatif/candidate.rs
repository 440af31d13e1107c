//! What is changed: properties, the configuration, nodes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use capsched::config::{Diagnostic, Loaded, Options, Severity};
use capsched::simulator::NodeLine;

use crate::output::{Problem, note};
use crate::play::{Cluster, on_site_of, refused};
use crate::recipe::Staged;

/// Common beginning of the properties of queues.
const PREFIX: &str = "yarn.scheduler.capacity.";

/// A cluster that the run is played on.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) cluster: Cluster,
}

/// Nodes that come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeChange(i32);

/// What holds for every candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common<'a> {
    pub(super) set: &'a [(String, String)],
    pub(super) nodes: Option<NodeChange>,
}

/// Reads `KEY=VALUE`; keys of queues may leave their common beginning out.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    let shown = text.escape_debug();
    let Some((key, value)) = text.split_once('=') else {
        return Err(format!(
            "`{shown}` is not KEY=VALUE, as in root.dev.capacity=40"
        ));
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(format!("`{shown}` names no property"));
    }
    Ok((full(key), value.trim().to_owned()))
}

/// The full name of a property.
pub(super) fn full(key: &str) -> String {
    let is_full = ["yarn.", "capsched."]
        .iter()
        .any(|begin| key.starts_with(begin));
    if is_full {
        key.to_owned()
    } else {
        format!("{PREFIX}{key}")
    }
}

/// Reads `+N` or `-N`.
pub(crate) fn node_change(text: &str) -> Result<NodeChange, String> {
    let signed = text.starts_with(['+', '-']);
    let number: Option<i32> = text.parse().ok().filter(|_| signed);
    let number = number.filter(|n| *n != 0 && n.abs() <= 1_000_000);
    number.map(NodeChange).ok_or_else(|| {
        let shown = text.escape_debug();
        format!("`{shown}` is no change of the number of nodes, as in +20 or -5")
    })
}

impl Candidate {
    /// The run as it was.
    pub(super) fn as_it_was(staged: &Staged) -> Self {
        Self {
            name: "as it was".to_owned(),
            cluster: staged.cluster.clone(),
        }
    }
}

impl Common<'_> {
    /// What stands for the only candidate: its setting, or how many there are.
    pub(super) fn name(&self) -> String {
        match self.set {
            [] => String::new(),
            [(key, value)] => {
                let key = key.strip_prefix(PREFIX).unwrap_or(key);
                format!("{key} = {value}")
            }
            several => format!("{} settings changed", several.len()),
        }
    }

    /// The run's own configuration with further values.
    pub(super) fn with_pairs(
        &self,
        staged: &Staged,
        pairs: &[(String, String)],
        name: &str,
    ) -> Result<Candidate> {
        let changes = [self.set, pairs].concat();
        let base = &staged.cluster;
        let reference = staged.row.reference;
        let loaded = if changes.is_empty() {
            None
        } else {
            let loaded = base.edited(&changes, reference, false);
            Some(loaded.map_err(|report| refused(&report))?)
        };
        self.candidate(staged, loaded, name)
    }

    /// Says which warnings a change adds, such as that of a key that nothing reads.
    pub(super) fn note_warnings(&self, staged: &Staged, pairs: &[(String, String)]) {
        let loaded = |changes: &[(String, String)]| {
            let loaded = staged.cluster.edited(changes, staged.row.reference, false);
            // What is refused has its message elsewhere.
            loaded
                .map(|loaded| loaded.report.diagnostics)
                .unwrap_or_default()
        };
        let before = loaded(&[]);
        let adds = |found: &Diagnostic| {
            let known = before
                .iter()
                .any(|one| (one.code, &one.message) == (found.code, &found.message));
            found.severity == Severity::Warning && !known
        };
        for found in loaded(&[self.set, pairs].concat())
            .iter()
            .filter(|found| adds(found))
        {
            let help = found
                .help
                .as_ref()
                .map_or_else(String::new, |help| format!("; {help}"));
            note(format_args!(
                "warning: {}{help} [{}]",
                found.message, found.code
            ));
        }
    }

    /// Another file on the site of the run.
    pub(super) fn with_conf(&self, staged: &Staged, conf: &Path, name: &str) -> Result<Candidate> {
        let base = &staged.cluster;
        let mut loaded = on_site_of(&base.origin, conf, staged.row.reference)?;
        if !self.set.is_empty() {
            let options = Options {
                resource_types: Some(base.types.names().to_vec()),
                reference: staged.row.reference,
                ..Options::default()
            };
            let edited = capsched::config::with_changes(&loaded.properties, self.set, &options);
            loaded = edited.map_err(|report| refused(&report))?;
        }
        self.candidate(staged, Some(loaded), name)
    }

    fn candidate(&self, staged: &Staged, loaded: Option<Loaded>, name: &str) -> Result<Candidate> {
        let base = &staged.cluster;
        let nodes = match self.nodes {
            None => base.nodes.clone(),
            Some(change) => changed_nodes(&base.nodes, change)?,
        };
        let cluster = base.like(loaded, nodes)?;
        let name = match self.nodes {
            Some(NodeChange(by)) if name.is_empty() => format!("{by:+} nodes"),
            Some(NodeChange(by)) => format!("{name}, {by:+} nodes"),
            None => name.to_owned(),
        };
        Ok(Candidate { name, cluster })
    }
}

/// The nodes with more of the commonest kind, or without the last ones.
fn changed_nodes(nodes: &[NodeLine], NodeChange(by): NodeChange) -> Result<Vec<NodeLine>> {
    let mut all = nodes.to_vec();
    let count = usize::try_from(by.unsigned_abs())?;
    if by < 0 {
        if count >= all.len() {
            let problem = format!("--nodes {by}: the cluster has {} nodes", all.len());
            return Err(anyhow::Error::new(Problem(problem)));
        }
        all.truncate(all.len() - count);
        return Ok(all);
    }
    let mut kinds: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let kind = format!("{:?}{}", node.size, node.partition);
        kinds.entry(kind).or_insert((0, at)).0 += 1;
    }
    let commonest = kinds
        .values()
        .max_by_key(|(n, at)| (*n, std::cmp::Reverse(*at)));
    let Some(&(_, at)) = commonest else {
        let problem = "--nodes: the cluster has no node to add more of".to_owned();
        return Err(anyhow::Error::new(Problem(problem)));
    };
    let more = (0..count).map(|index| NodeLine {
        host: format!("added{index}"),
        ..nodes[at].clone()
    });
    all.extend(more);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_queues_leave_their_beginning_out() {
        let read = |text| setting(text).map(|(key, value)| format!("{key} {value}"));
        let dev = Ok("yarn.scheduler.capacity.root.dev.capacity 40".to_owned());
        assert_eq!(read("root.dev.capacity=40"), dev);
        let site = Ok("yarn.cluster.max-application-priority 5".to_owned());
        assert_eq!(read("yarn.cluster.max-application-priority = 5"), site);
        assert!(read("root.dev.capacity").is_err() && read("=4").is_err());
    }

    #[test]
    fn numbers_of_nodes_have_a_sign() {
        assert_eq!(node_change("+20"), Ok(NodeChange(20)));
        assert_eq!(node_change("-5"), Ok(NodeChange(-5)));
        for bad in ["20", "+0", "+x", "", "+9999999"] {
            assert!(node_change(bad).is_err(), "{bad}");
        }
    }
}
