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
