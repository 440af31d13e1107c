//! Whether a constraint holds on a candidate node.

use std::fmt;
use std::sync::Arc;

use crate::id::ApplicationId;

use crate::queue::{AttributeOp, Constraint, Namespace, Scope, SingleConstraint, Target};

/// What the evaluation may know of one candidate node.
pub trait TagView {
    /// The counts of the single tags, reduced to one number; a tag that does not occur counts 0.
    /// Without tags all tags that are present are reduced, and the result is 0 when there is none. So
    /// it is for an application that nobody knows.
    fn cardinality(
        &self,
        scope: Scope,
        applications: &Applications<'_>,
        tags: &[Arc<str>],
        reduce: Reduce,
    ) -> u32;

    /// The value of the node's attribute `prefix/name`.
    fn attribute(&self, key: &str) -> Option<&str>;

    /// The node's partition; empty for the default one.
    fn partition(&self) -> &str;
}

/// A namespace, seen from the application that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applications<'a> {
    /// The application that asks. It need not have containers yet.
    Own(ApplicationId),
    /// All but this one.
    AllBut(ApplicationId),
    /// All.
    All,
    /// One that the constraint names.
    Named(ApplicationId),
    /// Those with this application tag.
    Tagged(&'a str),
}

/// How the counts of several tags become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// The smallest count.
    Smallest,
    /// The largest count.
    Largest,
    /// The sum of the counts.
    Sum,
}

/// Why a constraint could not be evaluated; it then counts as not satisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// The expression holds a delayed or.
    Unsupported,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str("delayed-or constraints cannot be evaluated"),
        }
    }
}

impl std::error::Error for QueryError {}

/// Whether the node behind `view` satisfies a constraint of application `app`. Children are tested
/// in order and no further than needed; the first error ends the evaluation.
///
/// # Errors
///
/// When the constraint cannot be evaluated; callers treat the node as refused.
// As PlacementConstraintsUtil.canSatisfyConstraints.
pub fn evaluate(
    constraint: &Constraint,
    app: ApplicationId,
    view: &impl TagView,
) -> Result<bool, QueryError> {
    match constraint {
        Constraint::Single(single) => Ok(single_holds(single, app, view)),
        Constraint::And(children) => {
            for child in children {
                if !evaluate(child, app, view)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Constraint::Or(children) => {
            for child in children {
                if evaluate(child, app, view)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Constraint::DelayedOr(_) => Err(QueryError::Unsupported),
    }
}

fn single_holds(single: &SingleConstraint, app: ApplicationId, view: &impl TagView) -> bool {
    single.targets.iter().all(|target| match target {
        Target::Tags { namespace, tags } => within(single, &seen_from(namespace, app), tags, view),
        Target::Attribute { key, values } => {
            let wanted = values.first().map(|value| &**value);
            attribute_holds(single.attribute_op, wanted, view.attribute(key))
        }
        Target::Partition(names) => names.first().map_or("", |name| &**name) == view.partition(),
    })
}

fn within(
    single: &SingleConstraint,
    applications: &Applications<'_>,
    tags: &[Arc<str>],
    view: &impl TagView,
) -> bool {
    let count = |reduce| i64::from(view.cardinality(single.scope, applications, tags, reduce));
    let (minimum, maximum) = (i64::from(single.minimum), i64::from(single.maximum));
    (minimum <= 0 || count(Reduce::Smallest) >= minimum)
        && (single.maximum == i32::MAX || count(Reduce::Largest) <= maximum)
}

fn attribute_holds(op: Option<AttributeOp>, wanted: Option<&str>, present: Option<&str>) -> bool {
    match (op, present) {
        (None, _) | (Some(AttributeOp::Equal), None) => false,
        (Some(AttributeOp::NotEqual), None) => true,
        (Some(AttributeOp::Equal), Some(value)) => wanted == Some(value),
        (Some(AttributeOp::NotEqual), Some(value)) => wanted != Some(value),
    }
}

fn seen_from(namespace: &Namespace, app: ApplicationId) -> Applications<'_> {
    match namespace {
        Namespace::Itself => Applications::Own(app),
        Namespace::NotSelf => Applications::AllBut(app),
        Namespace::All => Applications::All,
        Namespace::AppId(id) => Applications::Named(*id),
        Namespace::AppTag(tag) => Applications::Tagged(tag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{NameId, NodeSlot};
    use crate::policy::{NodeTags, TagIndex, parse_constraint};

    const ME: ApplicationId = ApplicationId::new(1);
    const OTHER: ApplicationId = ApplicationId::new(2);
    const IDLE: ApplicationId = ApplicationId::new(3);

    fn add(index: &mut TagIndex, app: ApplicationId, node: u32, tags: &[&str]) {
        let tags: Vec<Arc<str>> = tags.iter().map(|&tag| tag.into()).collect();
        index.add(app, NodeSlot(node), NameId(9), &tags);
    }

    /// Node 0 has {zk:1, hbase:2}, its rack {zk:2, hbase:2}, all of one application; another one,
    /// tagged `batch`, has {job:2} on node 0 and {zk:1} elsewhere in the rack.
    fn index() -> TagIndex {
        let mut index = TagIndex::new();
        index.add_application(ME, []);
        index.add_application(OTHER, ["batch"]);
        index.add_application(IDLE, ["idle"]);
        add(&mut index, ME, 0, &["zk", "hbase"]);
        add(&mut index, ME, 0, &["hbase"]);
        add(&mut index, ME, 1, &["zk"]);
        add(&mut index, OTHER, 0, &["job"]);
        add(&mut index, OTHER, 0, &["job"]);
        add(&mut index, OTHER, 1, &["zk"]);
        index
    }

    fn holds(text: &str) -> Result<bool, QueryError> {
        let constraint = parse_constraint(text).unwrap();
        let index = index();
        let attributes = [("rm.yarn.io/os".to_owned(), "linux".to_owned())];
        let view = NodeTags {
            index: &index,
            node: NodeSlot(0),
            rack: NameId(9),
            partition: "gpu",
            attributes: &attributes,
        };
        evaluate(&constraint, ME, &view)
    }

    #[test]
    fn the_documented_examples_hold() {
        for (text, want) in [
            ("in,node,zk", true),
            ("notin,node,zk", false),
            ("in,node,zk,spark", false),
            ("cardinality,node,hbase,0,1", false),
            ("cardinality,rack,zk,hbase,1,2", true),
            ("and(in,node,zk:notin,node,spark)", true),
            ("rm.yarn.io/java!=1.8", true),
        ] {
            assert_eq!(holds(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn every_tag_must_keep_both_bounds() {
        for (text, want) in [
            ("cardinality,node,zk,hbase,1,2", true),
            ("cardinality,node,zk,hbase,2,2", false),
            ("cardinality,node,zk,hbase,1,1", false),
            ("cardinality,node,hbase,2,2", true),
            ("cardinality,node,hbase,3,9", false),
            ("cardinality,node,hbase,-5,2", true),
            ("cardinality,node,hbase,0,-1", false),
            ("cardinality,rack,zk,2,2", true),
            ("notin,rack,spark,job", true),
            ("in,rack,zk", true),
        ] {
            assert_eq!(holds(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn namespaces_choose_whose_containers_count() {
        for (text, want) in [
            ("in,node,job", false),
            ("in,node,self/job", false),
            ("in,node,all/job", true),
            ("in,node,not-self/job", true),
            ("in,node,not-self/zk", false),
            ("in,rack,not-self/zk", true),
            ("cardinality,rack,all/zk,3,3", true),
            ("cardinality,rack,not-self/zk,1,1", true),
            ("in,node,app-id/application_1_0002/job", true),
            ("in,node,app-id/application_1_0002/zk", false),
            ("notin,node,app-id/application_1_0003/zk", true),
            ("in,node,app-tag/batch/job", true),
            ("in,node,app-tag/nobody/job", false),
            ("notin,node,app-tag/nobody/job", true),
            ("in,node,zk,not-self/job", true),
            ("in,node,zk,self/job", false),
        ] {
            assert_eq!(holds(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn an_application_that_nobody_knows_has_no_containers() {
        for (text, want) in [
            ("in,node,app-id/application_1_0007/zk", false),
            ("notin,node,app-id/application_1_0007/zk", true),
            ("cardinality,rack,app-id/application_1_0007/zk,0,0", true),
            ("or(in,node,app-id/application_1_0007/zk:in,node,zk)", true),
            (
                "and(in,node,zk:in,node,app-id/application_1_0007/zk)",
                false,
            ),
        ] {
            assert_eq!(holds(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn attributes_and_the_partition_are_compared() {
        for (text, want) in [
            ("os=linux", true),
            ("os=windows", false),
            ("os!=linux", false),
            ("os!=windows", true),
            ("nm.yarn.io/os=linux", false),
            ("nm.yarn.io/os!=linux", true),
            ("java=1.8", false),
            ("os=linux,windows", true),
            ("os=windows,linux", true),
            ("os=windows,aix", false),
            ("yarn_node_partition/=gpu", true),
            ("yarn_node_partition/=", false),
            ("yarn_node_partition/=x", false),
        ] {
            if text.ends_with("/=") {
                let none = Target::attribute("yarn_node_partition/", []);
                let constraint = Constraint::target_in(Scope::Node, vec![none]);
                assert_eq!(on_node_in("", &constraint), Ok(true));
                assert_eq!(on_node_in("gpu", &constraint), Ok(want));
                continue;
            }
            assert_eq!(holds(text), Ok(want), "{text}");
        }
    }

    fn on_node_in(partition: &str, constraint: &Constraint) -> Result<bool, QueryError> {
        let index = index();
        let view = NodeTags {
            index: &index,
            node: NodeSlot(0),
            rack: NameId(9),
            partition,
            attributes: &[],
        };
        evaluate(constraint, ME, &view)
    }

    #[test]
    fn an_attribute_without_an_operator_is_never_satisfied() {
        let target = Target::attribute("os", ["linux"]);
        let constraint = Constraint::target_in(Scope::Node, vec![target]);
        assert_eq!(on_node_in("", &constraint), Ok(false));
    }

    #[test]
    fn tags_and_partition_in_one_constraint_must_both_hold() {
        let with = |partition: &str| {
            let tags = Target::tags(Namespace::Itself, ["zk"]);
            let targets = vec![tags, Target::Partition(vec![partition.into()])];
            Constraint::target_in(Scope::Node, targets)
        };
        assert_eq!(on_node_in("gpu", &with("gpu")), Ok(true));
        assert_eq!(on_node_in("gpu", &with("x")), Ok(false));
    }

    #[test]
    fn without_tags_all_present_tags_count() {
        let bounds = |namespace, low, high| {
            on_node_in(
                "",
                &Constraint::cardinality(Scope::Node, namespace, low, high, []),
            )
        };
        assert_eq!(bounds(Namespace::Itself, 1, 2), Ok(true));
        assert_eq!(bounds(Namespace::Itself, 2, 2), Ok(false));
        assert_eq!(bounds(Namespace::NotSelf, 2, 2), Ok(true));
        assert_eq!(bounds(Namespace::AppTag("idle".into()), 0, 0), Ok(true));
        assert_eq!(bounds(Namespace::AppTag("idle".into()), 1, 9), Ok(false));
    }

    #[test]
    fn delayed_or_is_an_error() {
        let delayed = Constraint::DelayedOr(vec![Constraint::And(Vec::new())]);
        assert_eq!(on_node_in("", &delayed), Err(QueryError::Unsupported));
        let hidden = Constraint::Or(vec![Constraint::And(Vec::new()), delayed]);
        assert_eq!(on_node_in("", &hidden), Ok(true));
    }

    #[test]
    fn empty_and_is_true_and_empty_or_is_false() {
        assert_eq!(on_node_in("", &Constraint::And(Vec::new())), Ok(true));
        assert_eq!(on_node_in("", &Constraint::Or(Vec::new())), Ok(false));
    }

    #[test]
    fn a_cardinality_lets_one_more_join_those_that_run() {
        let mut index = TagIndex::new();
        let constraint = parse_constraint("cardinality,node,spark,0,2").unwrap();
        let mut joined = 0;
        loop {
            let view = NodeTags {
                index: &index,
                node: NodeSlot(0),
                rack: NameId(9),
                partition: "",
                attributes: &[],
            };
            if evaluate(&constraint, ME, &view) != Ok(true) {
                break;
            }
            add(&mut index, ME, 0, &["spark"]);
            joined += 1;
        }
        assert_eq!(joined, 3);
    }
}
