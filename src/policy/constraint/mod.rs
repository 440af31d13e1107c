//! Placement constraints: where containers with allocation tags may go.
//!
//! A constraint is an [expression](Constraint) over the allocation tags that run on a node or its
//! rack, over node attributes and over the node's partition. It is written in a
//! [text form](parse_constraint), combined with the constraints of the application and of the
//! cluster by the [registry](ConstraintRegistry), and [evaluated](evaluate) against a
//! [view](TagView) of one candidate node, for which the [index](TagIndex) of running tags serves.
//! [`place_batch`] is the placement algorithm that works in front of the scheduler.

mod evaluate;
mod parse;
mod processor;
mod registry;
mod tags;

pub use evaluate::{Applications, QueryError, Reduce, TagView, evaluate};
pub use parse::{ConstraintSyntaxError, SpecItem, parse_constraint, parse_placement_spec};
pub use processor::{
    BatchNode, BatchOutcome, BatchPlacement, BatchRequest, RequestOrder, place_batch,
};
pub use registry::{ConstraintRegistry, RegistryError};
pub use tags::{NodeTags, TagIndex};
