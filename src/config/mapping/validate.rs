//! Checks at load time whether a target can ever lead to a leaf.

use super::directory::{QueueDirectory, QueueEntryKind};
use super::target::{Lookup, TargetProblem, from_root, look_up, path_parts, trimmed};
use super::variables::NAMES;

/// Refuses a target below which no application can be placed, whoever submits it.
// As MappingRuleValidationContextImpl.validateQueuePath.
pub(super) fn validate_target(
    pattern: &str,
    queues: &impl QueueDirectory,
) -> Result<(), TargetProblem> {
    let parts = path_parts(pattern);
    let fixed = parts.iter().take_while(|part| !NAMES.contains(part));
    if pattern.is_empty() || fixed.clone().any(|part| part.is_empty()) {
        return Err(TargetProblem::EmptyPart {
            path: pattern.to_owned(),
        });
    }
    let path = trimmed(pattern);
    if fixed.count() == parts.len() {
        fixed_target(&path, queues)
    } else {
        variable_target(&path, queues)
    }
}

fn fixed_target(path: &str, queues: &impl QueueDirectory) -> Result<(), TargetProblem> {
    let full = from_root(queues, path)?;
    match look_up(queues, &full)? {
        Lookup::Exists(entry) if entry.kind != QueueEntryKind::Leaf => {
            Err(TargetProblem::NotALeaf { path: full })
        }
        Lookup::Exists(_) | Lookup::Creatable => Ok(()),
    }
}

/// Only the parts before the first variable can be judged.
fn variable_target(path: &str, queues: &impl QueueDirectory) -> Result<(), TargetProblem> {
    let parts = path_parts(path);
    let fixed = parts.iter().position(|part| NAMES.contains(part));
    let fixed = &parts[..fixed.unwrap_or(parts.len())];
    let Some((_, above)) = fixed.split_last() else {
        return Ok(());
    };
    let full = from_root(queues, &fixed.join("."))?;
    if let Some(entry) = queues.find(&full).queue() {
        return if entry.kind == QueueEntryKind::Leaf {
            Err(TargetProblem::BelowLeaf {
                path: path.to_owned(),
                leaf: full,
            })
        } else {
            Ok(())
        };
    }
    let parent = from_root(queues, &above.join("."))?;
    match queues.find(&parent).queue() {
        Some(entry) if entry.kind.creates() => Ok(()),
        _ => Err(TargetProblem::NotCreatable {
            path: path.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeclaredQueues;

    fn queues() -> DeclaredQueues {
        [
            ("root", QueueEntryKind::Parent),
            ("root.default", QueueEntryKind::Leaf),
            ("root.a", QueueEntryKind::Parent),
            ("root.a.x", QueueEntryKind::Leaf),
            ("root.a.y", QueueEntryKind::Leaf),
            ("root.b", QueueEntryKind::Parent),
            ("root.b.y", QueueEntryKind::Leaf),
            ("root.v1", QueueEntryKind::ManagedParent),
            ("root.v2", QueueEntryKind::CreatingParent),
            ("root.v2.z", QueueEntryKind::Leaf),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn targets_that_may_come_to_be_leaves_are_accepted() {
        for target in [
            "root.default",
            "default",
            "x",
            "a.x",
            "root.a.x",
            "root.v1.new",
            "v1.new",
            "root.v2.new",
            "root.v2.g.new",
            "root.v2.z",
            "%user",
            "%specified",
            "%default",
            "%primary_group.%user",
            "%user.any.thing",
            "root.%user",
            "root.a.%user",
            "a.%secondary_group",
            "root.a.%user.x",
            "root.v1.%user",
            "root.v1.g.%user",
            "root.v2.%primary_group.%user",
            "root.v2.g.%user",
        ] {
            assert_eq!(validate_target(target, &queues()), Ok(()), "{target}");
        }
    }

    #[test]
    fn targets_that_nobody_can_reach_are_refused() {
        for (target, message) in [
            ("", "the path `` has an empty part"),
            (".", "the path `.` has an empty part"),
            ("root..x", "the path `root..x` has an empty part"),
            ("root..%user", "the path `root..%user` has an empty part"),
            ("root", "the queue `root` is not a leaf"),
            ("a", "the queue `root.a` is not a leaf"),
            ("root.v2", "the queue `root.v2` is not a leaf"),
            ("y", "several queues are called `y`"),
            ("y.%user", "several queues are called `y`"),
            (
                "nowhere",
                "the path `nowhere` starts with `nowhere`, which does not exist",
            ),
            (
                "%none",
                "the path `%none` starts with `%none`, which does not exist",
            ),
            (
                "root.a.x.%user",
                "the path `root.a.x.%user` goes on below the leaf `root.a.x`",
            ),
        ] {
            let problem = validate_target(target, &queues()).unwrap_err();
            assert_eq!(problem.to_string(), message, "{target}");
        }
        for target in [
            "root.a.new",
            "root.a.x.new",
            "root.v1.g.new",
            "root.v2.g.h.new",
            "root.nowhere.%user",
        ] {
            let path = target.to_owned();
            let problem = TargetProblem::NotCreatable { path };
            assert_eq!(validate_target(target, &queues()), Err(problem), "{target}");
        }
    }
}
