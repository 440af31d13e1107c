//! The routes of a router before cells: some of a server's, and its own.

use super::table::{Body, OPERATIONS, Operation, Verb, change, get};

/// Paths of a server that a router answers as well.
const SHARED: &[&str] = &[
    "/health/live",
    "/health/ready",
    "/metrics",
    "/v1/openapi.json",
    "/ws/v1/cluster/apps",
    "/ws/v1/cluster/apps/new-application",
    "/ws/v1/cluster/metrics",
    "/ws/v1/cluster/nodes",
    "/ws/v1/cluster/nodes/{node}",
];

/// A router sends all requests about one application to its cell.
const OF_APPLICATION: &str = "/ws/v1/cluster/apps/{app}";

/// Routes that only a router has.
const OWN: &[Operation] = &[
    get("/v1/policy", &[], "the policy with its version"),
    Operation {
        headers: &["If-Match", "If-None-Match"],
        ..change(
            Verb::Put,
            "/v1/policy",
            Body::Json,
            "replaces the policy of a version",
        )
    },
    get(
        "/v1/cells",
        &[],
        "the cells with their addresses, and which are down",
    ),
];

/// All routes of a router.
pub fn router_operations() -> impl Iterator<Item = &'static Operation> {
    let shared = OPERATIONS
        .iter()
        .filter(|one| SHARED.contains(&one.path) || one.path.starts_with(OF_APPLICATION));
    shared.chain(OWN)
}

/// All routes of servers and routers. Those that both have take the same.
pub(super) fn every_operation() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().chain(OWN)
}
