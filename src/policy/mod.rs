//! Decisions as pure functions: no clock, no atomics, no mutation of shared state.

mod constraint;

pub use constraint::{
    Applications, AttributeOp, BatchNode, BatchOutcome, BatchPlacement, BatchRequest, Constraint,
    ConstraintRegistry, ConstraintSyntaxError, Namespace, NodeView, QueryError, Reduce,
    RegistryError, RequestOrder, Scope, SingleConstraint, SpecItem, TagIndex, TagView, Target,
    evaluate, parse_constraint, parse_placement_spec, place_batch,
};
