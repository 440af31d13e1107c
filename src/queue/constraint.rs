//! The expression model of placement constraints, and its text form for messages.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::id::ApplicationId;

/// The attribute key that stands for the partition of a node.
// As PlacementConstraints.NODE_PARTITION.
const PARTITION_KEY: &str = "yarn_node_partition/";

/// The prefix of attribute keys that are written without one.
const CENTRAL_PREFIX: &str = "rm.yarn.io";

/// A condition on the node that receives a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// A condition on tags, attributes or the partition.
    Single(SingleConstraint),
    /// Every child holds; true without children.
    And(Vec<Constraint>),
    /// Some child holds; false without children.
    Or(Vec<Constraint>),
    /// Children to be tried one after another in time; evaluation does not support it.
    DelayedOr(Vec<Constraint>),
}

/// A condition of which every target must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleConstraint {
    /// Where tags are counted.
    pub scope: Scope,
    /// Every tag must occur at least so often; 0 and less: no bound.
    pub minimum: i32,
    /// No tag may occur more often; `i32::MAX`: no bound.
    pub maximum: i32,
    /// How attribute targets compare; without it they are never satisfied.
    pub attribute_op: Option<AttributeOp>,
    /// What is tested.
    pub targets: Vec<Target>,
}

/// Where the tags of containers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// On the candidate node.
    Node,
    /// On all nodes of the candidate's rack.
    Rack,
}

/// How a node attribute compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeOp {
    /// The node has the attribute with this value.
    Equal,
    /// The node lacks the attribute, or has it with another value.
    NotEqual,
}

/// What a single constraint tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Counts of allocation tags.
    Tags {
        /// Whose containers count.
        namespace: Namespace,
        /// The tags, ascending; all tags that are present when empty.
        tags: Vec<Arc<str>>,
    },
    /// An attribute of the node.
    Attribute {
        /// `prefix/name`.
        key: Arc<str>,
        /// Values, ascending; only the first one is compared.
        values: Vec<Arc<str>>,
    },
    /// The partition of the node, ascending; the default one when empty. Only the first is compared.
    Partition(Vec<Arc<str>>),
}

/// The applications whose containers count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespace {
    /// The application that asks.
    Itself,
    /// All other applications.
    NotSelf,
    /// All applications.
    All,
    /// One application; an unknown one is an error of the evaluation.
    AppId(ApplicationId),
    /// The applications that carry this application tag.
    AppTag(Arc<str>),
}

impl Constraint {
    /// Affinity: every target must be present.
    // As PlacementConstraints.targetIn.
    #[must_use]
    pub fn target_in(scope: Scope, targets: Vec<Target>) -> Self {
        Self::target_cardinality(scope, 1, i32::MAX, targets)
    }

    /// Anti-affinity: no target may be present.
    // As PlacementConstraints.targetNotIn.
    #[must_use]
    pub fn target_not_in(scope: Scope, targets: Vec<Target>) -> Self {
        Self::target_cardinality(scope, 0, 0, targets)
    }

    /// Bounds for each of the targets.
    #[must_use]
    pub fn target_cardinality(
        scope: Scope,
        minimum: i32,
        maximum: i32,
        targets: Vec<Target>,
    ) -> Self {
        Self::Single(SingleConstraint {
            scope,
            minimum,
            maximum,
            attribute_op: None,
            targets,
        })
    }

    /// Bounds for each of the tags; for all tags that are present when none is given.
    #[must_use]
    pub fn cardinality<'a>(
        scope: Scope,
        namespace: Namespace,
        minimum: i32,
        maximum: i32,
        tags: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let targets = vec![Target::tags(namespace, tags)];
        Self::target_cardinality(scope, minimum, maximum, targets)
    }

    /// A test of node attributes.
    #[must_use]
    pub fn target_node_attribute(scope: Scope, op: AttributeOp, targets: Vec<Target>) -> Self {
        Self::Single(SingleConstraint {
            scope,
            minimum: 0,
            maximum: i32::MAX,
            attribute_op: Some(op),
            targets,
        })
    }
}

impl Target {
    /// Tags of a namespace; the order in which they are given does not matter.
    #[must_use]
    pub fn tags<'a>(namespace: Namespace, tags: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Tags {
            namespace,
            tags: sorted(tags),
        }
    }

    /// A node attribute; the key that stands for the partition gives a partition target, and a
    /// key without a prefix belongs to `rm.yarn.io`.
    #[must_use]
    pub fn attribute<'a>(key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let values = sorted(values);
        if key == PARTITION_KEY {
            return Self::Partition(values);
        }
        let key = if key.contains('/') {
            key.into()
        } else {
            format!("{CENTRAL_PREFIX}/{key}").into()
        };
        Self::Attribute { key, values }
    }
}

fn sorted<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<Arc<str>> {
    let set: BTreeSet<&str> = words.into_iter().collect();
    set.into_iter().map(Arc::from).collect()
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, children) = match self {
            Self::Single(single) => return single.fmt(f),
            Self::And(children) => ("and", children),
            Self::Or(children) => ("or", children),
            Self::DelayedOr(children) => ("delayed_or", children),
        };
        write!(f, "{word}(")?;
        for (at, child) in children.iter().enumerate() {
            let separator = if at == 0 { "" } else { ":" };
            write!(f, "{separator}{child}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for SingleConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Target::Attribute { key, values }] = self.targets.as_slice() {
            let op = match self.attribute_op {
                Some(AttributeOp::NotEqual) => "!=",
                _ => "=",
            };
            return write!(f, "{key}{op}{}", values.join(","));
        }
        let bounds = match (self.minimum, self.maximum) {
            (1, i32::MAX) => {
                write!(f, "in,{}", self.scope)?;
                None
            }
            (0, 0) => {
                write!(f, "notin,{}", self.scope)?;
                None
            }
            bounds => {
                write!(f, "cardinality,{}", self.scope)?;
                Some(bounds)
            }
        };
        for target in &self.targets {
            write!(f, ",{target}")?;
        }
        match bounds {
            Some((low, high)) => write!(f, ",{low},{high}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "node",
            Self::Rack => "rack",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tags { namespace, tags } => {
                for (at, tag) in tags.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "," };
                    write!(f, "{separator}{namespace}{tag}")?;
                }
                Ok(())
            }
            Self::Attribute { key, values } => write!(f, "{key}={}", values.join("|")),
            Self::Partition(names) => write!(f, "{PARTITION_KEY}={}", names.join("|")),
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Itself => Ok(()),
            Self::NotSelf => f.write_str("not-self/"),
            Self::All => f.write_str("all/"),
            Self::AppId(id) => write!(f, "app-id/{id}/"),
            Self::AppTag(tag) => write!(f, "app-tag/{tag}/"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_values_are_sets() {
        let Target::Tags { tags, .. } = Target::tags(Namespace::Itself, ["b", "a", "b"]) else {
            panic!("tags give a tag target");
        };
        assert_eq!(tags.join(" "), "a b");
    }

    #[test]
    fn an_attribute_without_prefix_is_central() {
        let Target::Attribute { key, .. } = Target::attribute("java", ["1.8"]) else {
            panic!("an attribute target");
        };
        assert_eq!(&*key, "rm.yarn.io/java");
        assert_eq!(
            Target::attribute("yarn_node_partition/", ["gpu"]),
            Target::Partition(vec!["gpu".into()])
        );
        assert_eq!(
            Target::attribute("yarn_node_partition/", []),
            Target::Partition(Vec::new())
        );
    }
}
