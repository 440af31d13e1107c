//! A change of the configuration, and the properties that it sets and unsets.

use std::collections::BTreeMap;

use thiserror::Error;

use super::properties::ConfProperties;

/// Prefix of the scheduler's properties.
pub(super) const PREFIX: &str = "yarn.scheduler.capacity.";

/// Properties to set by name; those without a value are unset.
pub type Updates = BTreeMap<String, Option<String>>;

/// Settings of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueChange {
    /// Full path.
    pub queue: String,
    /// Settings by the name below the queue; those without a value are unset.
    pub params: Updates,
}

/// A change of the configuration as a request asks for it.
// As SchedConfUpdateInfo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfChange {
    /// Full paths of queues to remove, first.
    pub remove: Vec<String>,
    /// Queues to add.
    pub add: Vec<QueueChange>,
    /// Queues to change.
    pub update: Vec<QueueChange>,
    /// Properties by full name, last.
    pub global: Updates,
}

/// Why a change cannot be worked out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Root and what is no full path cannot be removed.
    #[error("Can't remove queue {0}")]
    NotRemovable(String),
    /// There is no such queue to remove.
    #[error("Queue {0} not found")]
    NotFound(String),
    /// What is no full path cannot be added.
    #[error("Can't add invalid queue {0}")]
    NotAddable(String),
    /// The queue exists.
    #[error("Can't add existing queue {0}")]
    Exists(String),
}

impl ConfChange {
    /// Paths of the queues that the change names.
    pub fn queues(&self) -> impl Iterator<Item = &str> {
        let named = self.add.iter().chain(&self.update);
        let named = named.map(|change| change.queue.as_str());
        self.remove.iter().map(String::as_str).chain(named)
    }

    /// The properties that the change sets and unsets in a configuration: queues are removed, then added, then
    /// updated, and properties of the whole scheduler come last.
    ///
    /// # Errors
    ///
    /// As [`ChangeError`], at the first queue that cannot be removed or added.
    // As ConfigurationUpdateAssembler.constructKeyValueConfUpdate.
    pub fn updates(&self, present: &ConfProperties) -> Result<Updates, ChangeError> {
        let mut worked_out = WorkedOut {
            proposed: present.clone(),
            updates: Updates::new(),
        };
        for queue in &self.remove {
            worked_out.remove_queue(queue)?;
        }
        for queue in &self.add {
            worked_out.add_queue(queue)?;
        }
        for queue in &self.update {
            worked_out.settings(queue);
        }
        for (name, value) in &self.global {
            worked_out.set(name, value.as_deref());
        }
        Ok(worked_out.updates)
    }
}

/// The configuration with what was worked out so far.
struct WorkedOut {
    proposed: ConfProperties,
    updates: Updates,
}

impl WorkedOut {
    /// Sets a property; an empty value unsets it.
    fn set(&mut self, name: &str, value: Option<&str>) {
        let value = value.filter(|value| !value.is_empty());
        self.proposed.set(name, value);
        self.updates
            .insert(name.to_owned(), value.map(str::to_owned));
    }

    fn children(&self, path: &str) -> Vec<String> {
        let list = self.proposed.get(&format!("{PREFIX}{path}.queues"));
        let names = list.unwrap_or_default().split(',').map(str::trim);
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn set_children(&mut self, path: &str, children: &[String]) {
        self.set(&format!("{PREFIX}{path}.queues"), Some(&children.join(",")));
    }

    fn unset_ordering_policy(&mut self, path: &str) {
        self.set(&format!("{PREFIX}{path}.ordering-policy"), None);
    }

    fn remove_queue(&mut self, path: &str) -> Result<(), ChangeError> {
        let Some((parent, name)) = path.rsplit_once('.') else {
            return Err(ChangeError::NotRemovable(path.to_owned()));
        };
        let mut children = self.children(parent);
        let Some(at) = children.iter().position(|child| child == name) else {
            return Err(ChangeError::NotFound(path.to_owned()));
        };
        children.remove(at);
        self.set_children(parent, &children);
        if children.is_empty() {
            self.unset_ordering_policy(parent);
        }
        let of_queue = self.proposed.iter().map(|(key, _)| key);
        let of_queue = of_queue.filter(|key| is_below(key, path));
        for key in of_queue.map(str::to_owned).collect::<Vec<_>>() {
            self.set(&key, None);
        }
        Ok(())
    }

    fn add_queue(&mut self, queue: &QueueChange) -> Result<(), ChangeError> {
        let Some((parent, name)) = queue.queue.rsplit_once('.') else {
            return Err(ChangeError::NotAddable(queue.queue.clone()));
        };
        let mut children = self.children(parent);
        if children.iter().any(|child| child == name) {
            return Err(ChangeError::Exists(queue.queue.clone()));
        }
        let is_first = children.is_empty();
        children.push(name.to_owned());
        self.set_children(parent, &children);
        self.settings(queue);
        if is_first {
            // A leaf and a parent have policies of different kinds under one key.
            self.unset_ordering_policy(parent);
        }
        Ok(())
    }

    fn settings(&mut self, queue: &QueueChange) {
        for (key, value) in &queue.params {
            let name = format!("{PREFIX}{}.{key}", queue.queue);
            self.set(&name, value.as_deref());
        }
    }
}

/// Whether a key has the path of a queue in it, followed by a dot. A dot of the path stands for any character.
// As Configuration.getValByRegex(".*" + path + "\..*"), which does not quote the path.
fn is_below(key: &str, path: &str) -> bool {
    let (key, path): (Vec<char>, Vec<char>) = (key.chars().collect(), path.chars().collect());
    let same = |(of_key, of_path): (&char, &char)| of_path == of_key || *of_path == '.';
    key.windows(path.len() + 1)
        .any(|part| part.ends_with(&['.']) && part[..path.len()].iter().zip(&path).all(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> ConfProperties {
        let pair = |(key, value): &(&str, &str)| (format!("{PREFIX}{key}"), (*value).to_owned());
        pairs.iter().map(pair).collect()
    }

    fn two() -> ConfProperties {
        properties(&[
            ("root.queues", "a, b"),
            ("root.ordering-policy", "utilization"),
            ("root.a.capacity", "50"),
            ("root.b.capacity", "50"),
            ("root.b.queues", "x"),
            ("root.b.x.capacity", "100"),
            ("root.ab.capacity", "7"),
        ])
    }

    fn queue(path: &str, params: &[(&str, Option<&str>)]) -> QueueChange {
        let param =
            |(key, value): &(&str, Option<&str>)| ((*key).to_owned(), value.map(str::to_owned));
        QueueChange {
            queue: path.to_owned(),
            params: params.iter().map(param).collect(),
        }
    }

    fn after(change: &ConfChange) -> ConfProperties {
        two().with(&change.updates(&two()).unwrap())
    }

    #[test]
    fn a_removed_queue_leaves_the_list_and_takes_its_keys_along() {
        let change = ConfChange {
            remove: vec!["root.b".to_owned()],
            ..ConfChange::default()
        };
        let left = after(&change);
        let want = properties(&[
            ("root.queues", "a"),
            ("root.ordering-policy", "utilization"),
            ("root.a.capacity", "50"),
            ("root.ab.capacity", "7"),
        ]);
        assert_eq!(left, want);
    }

    #[test]
    fn the_last_child_takes_the_list_and_the_policy_along() {
        let change = ConfChange {
            remove: vec!["root.b".to_owned(), "root.a".to_owned()],
            ..ConfChange::default()
        };
        assert_eq!(after(&change), properties(&[("root.ab.capacity", "7")]));
    }

    #[test]
    fn a_dot_of_a_removed_path_stands_for_any_character() {
        for (key, path, want) in [
            ("p.root.a.capacity", "root.a", true),
            ("p.rootXa.capacity", "root.a", true),
            ("p.root.ab.capacity", "root.a", false),
            ("p.root.a", "root.a", false),
            ("root.a.", "root.a", true),
            ("a", "root.a.b", false),
        ] {
            assert_eq!(is_below(key, path), want, "{key} {path}");
        }
    }

    #[test]
    fn a_queue_is_added_to_its_parent_whether_or_not_there_is_one() {
        let first = queue("root.a.y", &[("capacity", Some("100"))]);
        let nowhere = queue("root.new.d", &[]);
        let change = ConfChange {
            add: vec![first, nowhere],
            ..ConfChange::default()
        };
        let next = after(&change);
        assert_eq!(next.get(&format!("{PREFIX}root.a.queues")), Some("y"));
        assert_eq!(next.get(&format!("{PREFIX}root.a.y.capacity")), Some("100"));
        assert_eq!(next.get(&format!("{PREFIX}root.new.queues")), Some("d"));
    }

    #[test]
    fn removal_comes_first_and_an_update_after_it_stays() {
        let change = ConfChange {
            remove: vec!["root.b".to_owned()],
            add: vec![queue("root.b", &[("capacity", Some("50"))])],
            update: vec![queue(
                "root.b",
                &[("state", Some("STOPPED")), ("priority", Some(""))],
            )],
            global: Updates::from([(format!("{PREFIX}root.b.capacity"), Some("40".to_owned()))]),
        };
        let next = after(&change);
        assert_eq!(next.get(&format!("{PREFIX}root.queues")), Some("a,b"));
        assert_eq!(next.get(&format!("{PREFIX}root.b.state")), Some("STOPPED"));
        assert_eq!(next.get(&format!("{PREFIX}root.b.priority")), None);
        assert_eq!(next.get(&format!("{PREFIX}root.b.capacity")), Some("40"));
        assert_eq!(next.get(&format!("{PREFIX}root.b.x.capacity")), None);
    }

    #[test]
    fn queues_that_are_not_there_or_there_already_are_refused() {
        let remove = |path: &str| ConfChange {
            remove: vec![path.to_owned()],
            ..ConfChange::default()
        };
        let add = |path: &str| ConfChange {
            add: vec![queue(path, &[])],
            ..ConfChange::default()
        };
        for (change, want) in [
            (remove("root"), ChangeError::NotRemovable("root".to_owned())),
            (remove("b"), ChangeError::NotRemovable("b".to_owned())),
            (remove("root.c"), ChangeError::NotFound("root.c".to_owned())),
            (add("root.a"), ChangeError::Exists("root.a".to_owned())),
            (add("c"), ChangeError::NotAddable("c".to_owned())),
        ] {
            assert_eq!(change.updates(&two()), Err(want));
        }
    }
}
