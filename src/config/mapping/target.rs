//! Whether a path leads to a queue that can take an application.

use std::fmt;

use super::directory::{QueueDirectory, QueueEntry, QueueEntryKind, QueueMatch};
use crate::config::diagnostic::clip;
use crate::config::tree::{NAME, PATH};

/// What is wrong with the target of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetProblem {
    /// The path is empty or has an empty part.
    EmptyPart {
        /// The path.
        path: String,
    },
    /// No queue has the name that the path starts with.
    UnknownRoot {
        /// The name.
        root: String,
        /// The path.
        path: String,
    },
    /// Several queues have a name that is used without its path.
    Ambiguous {
        /// The name.
        name: String,
    },
    /// The queue does not exist, and nothing there creates queues.
    NotCreatable {
        /// The path.
        path: String,
    },
    /// The queue does not exist, and the rule must not create it.
    CreateForbidden {
        /// The path.
        path: String,
    },
    /// The queue does not exist, and its path cannot be that of a queue: a name in it has white
    /// space around it, a control character or too many bytes.
    NotAName {
        /// The path, cut to 64 characters.
        path: String,
    },
    /// The queue holds queues, not applications.
    NotALeaf {
        /// The path.
        path: String,
    },
    /// The path goes on below a leaf.
    BelowLeaf {
        /// The path.
        path: String,
        /// The leaf.
        leaf: String,
    },
}

impl fmt::Display for TargetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyPart { path } => write!(f, "the path `{path}` has an empty part"),
            Self::UnknownRoot { root, path } => {
                write!(
                    f,
                    "the path `{path}` starts with `{root}`, which does not exist"
                )
            }
            Self::Ambiguous { name } => write!(f, "several queues are called `{name}`"),
            Self::NotCreatable { path } => write!(
                f,
                "the queue `{path}` does not exist, and no parent there creates queues"
            ),
            Self::CreateForbidden { path } => write!(
                f,
                "the queue `{path}` does not exist, and the rule does not create queues"
            ),
            Self::NotAName { path } => write!(f, "`{path}` cannot be the path of a queue"),
            Self::NotALeaf { path } => write!(f, "the queue `{path}` is not a leaf"),
            Self::BelowLeaf { path, leaf } => {
                write!(f, "the path `{path}` goes on below the leaf `{leaf}`")
            }
        }
    }
}

impl std::error::Error for TargetProblem {}

/// The parts of a path; empty ones at its end do not count.
// As String.split of Java, by which the reference takes paths apart.
pub(super) fn path_parts(path: &str) -> Vec<&str> {
    if path.is_empty() {
        return vec![""];
    }
    let mut parts: Vec<&str> = path.split('.').collect();
    while parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    parts
}

/// The path with its first part replaced by the full path of the queue that has this name.
// As MappingRuleValidationHelper.normalizeQueuePathRoot.
pub(super) fn from_root(queues: &impl QueueDirectory, path: &str) -> Result<String, TargetProblem> {
    let parts = path_parts(path);
    let Some((&first, below)) = parts.split_first() else {
        return Err(TargetProblem::EmptyPart {
            path: path.to_owned(),
        });
    };
    let root = match queues.find(first) {
        QueueMatch::Queue(entry) => entry.path,
        QueueMatch::Ambiguous => {
            return Err(TargetProblem::Ambiguous {
                name: first.to_owned(),
            });
        }
        QueueMatch::Missing => {
            return Err(TargetProblem::UnknownRoot {
                root: first.to_owned(),
                path: path.to_owned(),
            });
        }
    };
    Ok(std::iter::once(root.as_str())
        .chain(below.iter().copied())
        .collect::<Vec<_>>()
        .join("."))
}

/// A path that starts at the root, looked up.
pub(super) enum Lookup {
    /// The queue exists.
    Exists(QueueEntry),
    /// A submission may create it. Bounds of depth and number are the scheduler's business.
    Creatable,
}

/// Looks up a path that [`from_root`] returned.
// As MappingRuleValidationHelper.validateQueuePathAutoCreation.
pub(super) fn look_up(queues: &impl QueueDirectory, path: &str) -> Result<Lookup, TargetProblem> {
    if let Some(entry) = found(queues, path)? {
        return Ok(Lookup::Exists(entry));
    }
    let not_creatable = || TargetProblem::NotCreatable {
        path: path.to_owned(),
    };
    let (parent_path, _) = path.rsplit_once('.').ok_or_else(not_creatable)?;
    if let Some(parent) = found(queues, parent_path)? {
        return match parent.kind.creates() {
            true => Ok(Lookup::Creatable),
            false => Err(not_creatable()),
        };
    }
    let (above, _) = parent_path.rsplit_once('.').ok_or_else(not_creatable)?;
    match found(queues, above)? {
        Some(entry) if entry.kind == QueueEntryKind::CreatingParent => Ok(Lookup::Creatable),
        _ => Err(not_creatable()),
    }
}

fn found(queues: &impl QueueDirectory, name: &str) -> Result<Option<QueueEntry>, TargetProblem> {
    match queues.find(name) {
        QueueMatch::Queue(entry) => Ok(Some(entry)),
        QueueMatch::Missing => Ok(None),
        QueueMatch::Ambiguous => Err(TargetProblem::Ambiguous {
            name: name.to_owned(),
        }),
    }
}

/// The full path of the leaf that a rule's answer stands for.
// As CSMappingPlacementRule.validateAndNormalizeQueue.
pub(super) fn resolve(
    queues: &impl QueueDirectory,
    answer: &str,
    create: bool,
) -> Result<String, TargetProblem> {
    let full = trimmed(answer);
    // As QueuePath.hasEmptyPart, to which an empty part at the end counts: a user without a
    // secondary group has an empty one.
    if full.split('.').any(str::is_empty) {
        return Err(TargetProblem::EmptyPart { path: full });
    }
    let path = if full.contains('.') {
        let path = from_root(queues, &full)?;
        match look_up(queues, &path)? {
            Lookup::Creatable if !create => return Err(TargetProblem::CreateForbidden { path }),
            Lookup::Creatable if !may_be_declared(&path) => {
                return Err(TargetProblem::NotAName { path: clip(&path) });
            }
            Lookup::Creatable | Lookup::Exists(_) => path,
        }
    } else {
        from_root(queues, &full)?
    };
    match queues.find(&path).queue() {
        Some(entry) if entry.path == path && entry.kind != QueueEntryKind::Leaf => {
            Err(TargetProblem::NotALeaf { path })
        }
        _ => Ok(path),
    }
}

/// Whether a configuration could declare a queue with this path. Variables bring names of users,
/// groups and applications into it, which nobody has checked.
fn may_be_declared(path: &str) -> bool {
    path.len() <= PATH
        && path.split('.').all(|name| {
            name.len() <= NAME && name.trim() == name && !name.contains(char::is_control)
        })
}

/// A path without white space around its parent and its last part.
// As QueuePath.
pub(super) fn trimmed(path: &str) -> String {
    match path.rsplit_once('.') {
        Some((parent, leaf)) => format!("{}.{}", parent.trim(), leaf.trim()),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_at_the_end_of_a_path_do_not_count() {
        assert_eq!(path_parts("root.a.."), ["root", "a"]);
        assert_eq!(path_parts(".a"), ["", "a"]);
        assert_eq!(path_parts(""), [""]);
        assert_eq!(path_parts("."), [] as [&str; 0]);
    }
}
