//! Whether a scheduling request's constraint holds on a node of a state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::constraint::{Applications, Reduce, TagView, evaluate};
use crate::cluster::Node;
use crate::id::AppSlot;
use crate::queue::{KeyAsks, Scope};
use crate::snapshot::State;

/// Whether the containers of a key may be placed on a node; always for keys without constraint. A
/// constraint that cannot be evaluated does not hold.
#[must_use]
pub fn constraint_holds(state: &State, app: AppSlot, asks: &KeyAsks, node: &Node) -> bool {
    let fixed = asks.constrained.as_ref();
    let Some(constraint) = fixed.and_then(|fixed| fixed.effective.as_ref()) else {
        return true;
    };
    let view = StateTags { state, node };
    evaluate(constraint, state.apps[app].id, &view).unwrap_or(false)
}

/// The tags that a state holds around one node.
struct StateTags<'a> {
    state: &'a State,
    node: &'a Node,
}

impl StateTags<'_> {
    fn counts<'a>(
        &self,
        app: &Applications<'_>,
        node: &'a Node,
        into: &mut BTreeMap<&'a str, u32>,
    ) {
        for tag in &node.tags {
            let counted = match *app {
                Applications::Own(id) | Applications::Named(id) => tag.app == id,
                Applications::AllBut(id) => tag.app != id,
                Applications::All => true,
                Applications::Tagged(name) => tag.app_tags.iter().any(|tag| tag.as_ref() == name),
            };
            if counted {
                *into.entry(&tag.tag).or_default() += tag.count;
            }
        }
    }
}

impl TagView for StateTags<'_> {
    fn cardinality(
        &self,
        scope: Scope,
        applications: &Applications<'_>,
        tags: &[Arc<str>],
        reduce: Reduce,
    ) -> u32 {
        let mut counts = BTreeMap::new();
        match scope {
            Scope::Node => self.counts(applications, self.node, &mut counts),
            Scope::Rack => {
                let nodes = self.state.nodes.iter();
                for node in nodes.filter(|node| node.rack == self.node.rack) {
                    self.counts(applications, node, &mut counts);
                }
            }
        }
        let all = || counts.values().copied();
        let named = || {
            tags.iter()
                .map(|tag| counts.get(tag.as_ref()).copied().unwrap_or(0))
        };
        let reduced = |counts: &mut dyn Iterator<Item = u32>| match reduce {
            Reduce::Smallest => counts.min(),
            Reduce::Largest => counts.max(),
            Reduce::Sum => Some(counts.sum()),
        };
        let value = if tags.is_empty() {
            reduced(&mut all())
        } else {
            reduced(&mut named())
        };
        value.unwrap_or(0)
    }

    fn attribute(&self, key: &str) -> Option<&str> {
        let mut attributes = self.node.attributes.iter();
        attributes
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    fn partition(&self) -> &str {
        &self.state.partitions[self.node.partition].name
    }
}
