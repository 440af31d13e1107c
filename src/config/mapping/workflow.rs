//! Priorities of applications that belong to a workflow.

use std::collections::BTreeMap;

use super::error::MappingError;
use crate::config::prefix::PREFIX;
use crate::config::source::{PropertySource, entries, parts};

/// Priorities by queue and workflow.
// As WorkflowPriorityMappingsManager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowPriorities {
    enabled: bool,
    tag_prefix: String,
    by_queue: BTreeMap<String, BTreeMap<String, i32>>,
}

impl WorkflowPriorities {
    /// Reads `workflow-priority-mappings`, a list of `workflow:queue:priority` with queues by full
    /// path.
    ///
    /// # Errors
    ///
    /// Every malformed entry, also when the mappings are not enabled.
    pub fn read(source: &impl PropertySource) -> Result<Self, Vec<MappingError>> {
        let key = format!("{PREFIX}workflow-priority-mappings");
        let mut by_queue: BTreeMap<String, BTreeMap<String, i32>> = BTreeMap::new();
        let mut errors = Vec::new();
        for entry in entries(&source.get(&key).unwrap_or_default()) {
            if let [workflow, queue, priority] = parts(entry)[..]
                && let Ok(priority) = priority.parse()
            {
                let queue = by_queue.entry(queue.to_owned()).or_default();
                queue.insert(workflow.to_lowercase(), priority);
            } else {
                errors.push(MappingError::Workflow {
                    entry: entry.to_owned(),
                });
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let prefix = source.get("yarn.workflow-id.tag-prefix");
        Ok(Self {
            enabled: source.flag(&format!("{key}-override.enable"), false),
            tag_prefix: prefix.unwrap_or_else(|| "workflowid:".to_owned()),
            by_queue,
        })
    }

    /// The priority of an application in the leaf at `path`, which replaces the one it asked for:
    /// that of the leaf, else of the nearest parent below root with an entry for the workflow.
    /// `tags` are the application's tags, in lower case as YARN keeps them.
    #[must_use]
    pub fn priority<T: AsRef<str>>(&self, tags: &[T], path: &str) -> Option<i32> {
        if !self.enabled {
            return None;
        }
        let mut workflows = tags.iter().rev().map(|tag| tag.as_ref().trim());
        let workflow = workflows.find_map(|tag| tag.strip_prefix(self.tag_prefix.as_str()))?;
        let mut path = path;
        loop {
            let (parent, _) = path.rsplit_once('.')?;
            let found = self
                .by_queue
                .get(path)
                .and_then(|queue| queue.get(workflow));
            if let Some(&priority) = found {
                return Some(priority);
            }
            path = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str, enabled: bool) -> Result<WorkflowPriorities, Vec<MappingError>> {
        let key = format!("{PREFIX}workflow-priority-mappings");
        let source: BTreeMap<String, String> = [
            (format!("{key}-override.enable"), enabled.to_string()),
            (key, list.to_owned()),
        ]
        .into();
        WorkflowPriorities::read(&source)
    }

    #[test]
    fn the_nearest_queue_with_an_entry_decides() {
        let list = "W1:root.a.x:5, w1:root.a:3,w2:root.a:-1,w3:root:9";
        let priorities = read(list, true).unwrap();
        for (tags, path, want) in [
            (&["workflowid:w1"][..], "root.a.x", Some(5)),
            (&["workflowid:w1"], "root.a.y", Some(3)),
            (&["x", " workflowid:w2 "], "root.a.x", Some(-1)),
            (&["workflowid:w3"], "root.a.x", None),
            (&["workflowid:w1"], "root.b", None),
            (&["workflowid:w1", "workflowid:w2"], "root.a", Some(-1)),
            (&["w1"], "root.a", None),
            (&[], "root.a", None),
        ] {
            assert_eq!(priorities.priority(tags, path), want, "{tags:?} {path}");
        }
        let off = read(list, false).unwrap();
        assert_eq!(off.priority(&["workflowid:w1"], "root.a"), None);
    }

    #[test]
    fn malformed_entries_are_refused_even_when_not_enabled() {
        for entry in [
            "w1",
            "w1:root.a",
            "w1:root.a:",
            "w1:root.a:x",
            "w1:root.a:1:2",
        ] {
            let errors = read(entry, false).unwrap_err();
            assert_eq!(errors[0].code(), "workflow_mapping", "{entry}");
        }
        assert_eq!(read("a,b:c:1,d", false).unwrap_err().len(), 2);
    }
}
