//! Node labels as the cluster keeps them: the collection, and the labels of nodes, registered or not.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::NodeName;

use super::command::LabelSpec;

/// The labels of the cluster.
// As CommonNodeLabelsManager.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    exclusive: BTreeMap<String, bool>,
    nodes: BTreeMap<NodeName, BTreeSet<String>>,
    hosts: BTreeMap<String, BTreeSet<String>>,
}

impl Labels {
    /// All labels and whether each is exclusive, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let pairs = self.exclusive.iter();
        pairs.map(|(name, &exclusive)| (name.as_str(), exclusive))
    }

    /// Whether a label is exclusive; nothing when there is no such label.
    #[must_use]
    pub fn exclusivity(&self, name: &str) -> Option<bool> {
        self.exclusive.get(name).copied()
    }

    /// The label of a node: its own, or that of its host. YARN allows one at most.
    #[must_use]
    pub fn of(&self, node: &NodeName) -> Option<&str> {
        let own = self.nodes.get(node);
        let labels = own.or_else(|| self.hosts.get(node.host()))?;
        labels.first().map(String::as_str)
    }

    /// The nodes that have own labels, with them.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeName, &BTreeSet<String>)> {
        self.nodes.iter()
    }

    /// The hosts that have labels, with them.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let hosts = self.hosts.iter();
        hosts.map(|(host, labels)| (host.as_str(), labels))
    }

    pub(super) fn add(&mut self, label: &LabelSpec) {
        let entry = self.exclusive.entry(label.name.clone());
        entry.or_insert(label.exclusive);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.exclusive.remove(name);
        for labels in self.nodes.values_mut().chain(self.hosts.values_mut()) {
            labels.remove(name);
        }
        self.nodes.retain(|_, labels| !labels.is_empty());
        self.hosts.retain(|_, labels| !labels.is_empty());
    }

    pub(super) fn replace(&mut self, node: &NodeName, labels: BTreeSet<String>) {
        if labels.is_empty() {
            self.nodes.remove(node);
        } else {
            self.nodes.insert(node.clone(), labels);
        }
    }

    /// Replaces the labels of a node, named `host:port`, or of a whole host.
    pub(super) fn replace_named(&mut self, node: &str, labels: BTreeSet<String>) {
        match node.parse::<NodeName>() {
            Ok(name) if name.port() != 0 => self.replace(&name, labels),
            _ => self.replace_of_host(node.trim_end_matches(":0"), labels),
        }
    }

    fn replace_of_host(&mut self, host: &str, labels: BTreeSet<String>) {
        self.nodes.retain(|node, _| node.host() != host);
        if labels.is_empty() {
            self.hosts.remove(host);
        } else {
            self.hosts.insert(host.to_owned(), labels);
        }
    }
}

/// Why a name cannot be that of a label.
// As NodeLabelUtil.checkAndThrowLabelName.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let first = |c: char| c.is_ascii_alphanumeric();
    let rest = |c: char| first(c) || matches!(c, '-' | '_');
    let long = name.len() > 255;
    if long || !name.starts_with(first) || !name.chars().all(rest) {
        let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
        return Err(format!(
            "label name should only contains {{0-9, a-z, A-Z, -, _}} and should not started with {{-,_}}, \
             now it is= {shown}"
        ));
    }
    Ok(())
}
