//! Fields of events in JSON, where their types know no serde.
//!
//! Tests: the example of `Event`.

use serde::Serializer;

use super::proposals::conflict::Conflict;
use crate::id::PartitionId;
use crate::metrics::Closed;
use crate::policy::Locality;
use crate::proposer::ProposalKind;

const fn level(of: Locality) -> &'static str {
    match of {
        Locality::Node => "node",
        Locality::Rack => "rack",
        Locality::Any => "any",
    }
}

pub(super) fn locality<S: Serializer>(of: &Locality, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level(*of))
}

pub(super) fn requested<S: Serializer>(
    of: &Option<Locality>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match of {
        Some(of) => serializer.serialize_some(level(*of)),
        None => serializer.serialize_none(),
    }
}

/// A partition by its number; 0 is the default one.
pub(super) fn partition<S: Serializer>(of: &PartitionId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(of.0)
}

pub(super) fn proposal<S: Serializer>(of: &ProposalKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match of {
        ProposalKind::Allocate => "allocate",
        ProposalKind::Reserve => "reserve",
    })
}

pub(super) fn conflict<S: Serializer>(of: &Conflict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(of.name())
}
