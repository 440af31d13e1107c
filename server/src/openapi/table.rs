//! All routes with what they take.

use axum::http::Method;

/// Methods of HTTP that routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Looks.
    Get,
    /// Adds or judges something.
    Post,
    /// Changes something.
    Put,
    /// Removes something.
    Delete,
}

impl Verb {
    /// The method.
    #[must_use]
    pub const fn as_http(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Delete => Method::DELETE,
        }
    }
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// None.
    None,
    /// JSON.
    Json,
    /// JSON or XML, as `Content-Type` says.
    JsonOrXml,
}

/// One route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its method.
    pub verb: Verb,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Parameters of its query.
    pub query: &'static [&'static str],
    /// Headers that it reads besides those of every route.
    pub headers: &'static [&'static str],
    /// Its body.
    pub body: Body,
}

impl Operation {
    /// Names of the parameters in its path.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        let segments = self.path.split('/');
        segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// The group that it belongs to.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self.path.split('/').nth(1) {
            Some("ws" | "jmx" | "conf" | "cluster") => "yarn",
            Some("v1") => "capsched",
            Some("metrics" | "health") => "monitoring",
            _ => "page",
        }
    }

    /// Its method in lower case.
    #[must_use]
    pub fn method_name(&self) -> String {
        self.verb.as_http().as_str().to_ascii_lowercase()
    }

    /// A name without spaces that no other route has.
    #[must_use]
    pub fn id(&self) -> String {
        let mut id = self.method_name();
        for segment in self.path.split('/').skip(1) {
            id.push('_');
            let kept = segment.chars().filter(|c| !matches!(c, '{' | '}'));
            id.extend(kept);
        }
        id
    }
}

pub(super) const fn get(
    path: &'static str,
    query: &'static [&'static str],
    summary: &'static str,
) -> Operation {
    Operation {
        verb: Verb::Get,
        path,
        summary,
        query,
        headers: &[],
        body: Body::None,
    }
}

pub(super) const fn change(
    verb: Verb,
    path: &'static str,
    body: Body,
    summary: &'static str,
) -> Operation {
    Operation {
        verb,
        path,
        summary,
        query: &[],
        headers: &[],
        body,
    }
}

const APPS: &[&str] = &[
    "states",
    "state",
    "finalStatus",
    "user",
    "queue",
    "limit",
    "startedTimeBegin",
    "startedTimeEnd",
    "finishedTimeBegin",
    "finishedTimeEnd",
    "applicationTypes",
    "applicationTags",
    "deSelects",
    "name",
];

const OWN_APPS: &[&str] = &[
    "queue",
    "user",
    "state",
    "q",
    "live",
    "sort",
    "descending",
    "limit",
    "after",
];

/// All of a server.
pub const OPERATIONS: &[Operation] = &[
    get("/", &[], "to the page"),
    get("/ui", &[], "to the page"),
    get("/ui/", &[], "the page"),
    get("/ui/{file}", &[], "a part of the page"),
    get(
        "/cluster",
        &[],
        "to the page, as clients of YARN look for it",
    ),
    get("/health/live", &[], "whether the server lives"),
    get(
        "/health/ready",
        &[],
        "whether the server may be asked, with reasons",
    ),
    get("/metrics", &[], "figures in the OpenMetrics format"),
    get("/v1/openapi.json", &[], "this document"),
    get(
        "/v1/whoami",
        &[],
        "who calls, and whether the caller administers the cluster",
    ),
    get("/v1/apps", OWN_APPS, "a page of applications"),
    get(
        "/v1/apps/{app}/why",
        &["would_help"],
        "why an application waits, and what would help",
    ),
    get(
        "/v1/apps/{app}/why-not/{node}",
        &[],
        "what a node lacks for an application that waits",
    ),
    get("/v1/nodes", &[], "all nodes in columns"),
    get(
        "/v1/latency",
        &[],
        "phases of decisions, and what waits by reason",
    ),
    get(
        "/v1/events",
        &["from"],
        "events behind a number, as a stream",
    ),
    get(
        "/v1/snapshot",
        &[],
        "queues, nodes and live applications at one moment",
    ),
    get(
        "/v1/snapshot/file",
        &[],
        "the state as a file of `capsched snapshot`, without secrets",
    ),
    change(
        Verb::Post,
        "/v1/plan",
        Body::Json,
        "what a change of the configuration would alter",
    ),
    change(
        Verb::Post,
        "/v1/whatif",
        Body::Json,
        "what would be placed now with a change and without it",
    ),
    get("/v1/conf/versions", &[], "versions of the configuration"),
    get(
        "/v1/conf/versions/{version}",
        &[],
        "one version of the configuration",
    ),
    get(
        "/v1/conf/log",
        &["limit"],
        "the log of changes of the configuration",
    ),
    change(
        Verb::Post,
        "/v1/conf/rollback/{version}",
        Body::None,
        "takes an earlier version of the configuration again",
    ),
    get("/conf", &["name"], "the configuration of the daemon"),
    get("/jmx", &["qry"], "figures as beans"),
    get("/ws/v1/cluster", &[], "the cluster"),
    get("/ws/v1/cluster/", &[], "the cluster"),
    get("/ws/v1/cluster/info", &[], "the cluster"),
    get("/ws/v1/cluster/userinfo", &[], "the user of the call"),
    get("/ws/v1/cluster/metrics", &[], "figures of the cluster"),
    get("/ws/v1/cluster/scheduler", &[], "the tree of queues"),
    get(
        "/ws/v1/cluster/scheduler-overview",
        &[],
        "the scheduler in short",
    ),
    get(
        "/ws/v1/cluster/appstatistics",
        &["states", "applicationTypes"],
        "counts of applications",
    ),
    get(
        "/ws/v1/cluster/queues/{queue}/access",
        &["user", "queue-acl-type"],
        "whether a user has a right in a queue",
    ),
    get(
        "/ws/v1/cluster/reservation/list",
        &[
            "queue",
            "reservation-id",
            "start-time",
            "end-time",
            "include-resource-allocations",
        ],
        "reservations ahead of time",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/scheduler/logs",
        Body::None,
        "logs of the scheduler",
    ),
    get(
        "/ws/v1/cluster/scheduler/activities",
        &["nodeId", "groupBy"],
        "what the next heartbeats bring",
    ),
    get(
        "/ws/v1/cluster/scheduler/bulk-activities",
        &["activitiesCount", "groupBy"],
        "what several heartbeats bring",
    ),
    get(
        "/ws/v1/cluster/scheduler/app-activities/{app}",
        &[
            "maxTime",
            "requestPriorities",
            "allocationRequestIds",
            "groupBy",
            "limit",
            "actions",
            "summarize",
        ],
        "what heartbeats bring an application",
    ),
    get("/ws/v1/cluster/nodes", &["states"], "nodes"),
    get("/ws/v1/cluster/nodes/{node}", &[], "one node"),
    get(
        "/ws/v1/cluster/nodes/{node}/get-labels",
        &[],
        "the labels of a node",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/nodes/{node}/replace-labels",
        Body::None,
        "gives a node another label",
    ),
    get(
        "/ws/v1/cluster/get-node-labels",
        &[],
        "the labels of the cluster",
    ),
    get(
        "/ws/v1/cluster/get-rm-node-labels",
        &[],
        "the labels of the cluster with their nodes",
    ),
    get("/ws/v1/cluster/get-node-to-labels", &[], "labels by node"),
    get(
        "/ws/v1/cluster/label-mappings",
        &["labels"],
        "nodes by label",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/add-node-labels",
        Body::JsonOrXml,
        "adds labels to the cluster",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/remove-node-labels",
        Body::None,
        "removes labels from the cluster",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/replace-node-to-labels",
        Body::JsonOrXml,
        "gives nodes other labels",
    ),
    get("/ws/v1/cluster/apps", APPS, "applications"),
    change(
        Verb::Post,
        "/ws/v1/cluster/apps",
        Body::JsonOrXml,
        "submits an application",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/apps/new-application",
        Body::None,
        "gives an application id out",
    ),
    get("/ws/v1/cluster/apps/{app}", &[], "one application"),
    get(
        "/ws/v1/cluster/apps/{app}/appattempts",
        &[],
        "the attempts of an application",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/appattempts/{attempt}",
        &[],
        "one attempt",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/appattempts/{attempt}/containers",
        &[],
        "the containers of an attempt",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/state",
        &[],
        "the state of an application",
    ),
    change(
        Verb::Put,
        "/ws/v1/cluster/apps/{app}/state",
        Body::JsonOrXml,
        "kills an application",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/queue",
        &[],
        "the queue of an application",
    ),
    change(
        Verb::Put,
        "/ws/v1/cluster/apps/{app}/queue",
        Body::JsonOrXml,
        "moves an application",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/priority",
        &[],
        "the priority of an application",
    ),
    change(
        Verb::Put,
        "/ws/v1/cluster/apps/{app}/priority",
        Body::JsonOrXml,
        "changes the priority of an application",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/timeouts",
        &[],
        "the timeouts of an application",
    ),
    get(
        "/ws/v1/cluster/apps/{app}/timeouts/{type}",
        &[],
        "one timeout of an application",
    ),
    change(
        Verb::Put,
        "/ws/v1/cluster/apps/{app}/timeout",
        Body::JsonOrXml,
        "changes a timeout of an application",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/delegation-token",
        Body::JsonOrXml,
        "delegation tokens, which there are none of",
    ),
    change(
        Verb::Delete,
        "/ws/v1/cluster/delegation-token",
        Body::None,
        "delegation tokens, which there are none of",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/delegation-token/expiration",
        Body::None,
        "delegation tokens, which there are none of",
    ),
    get(
        "/ws/v1/cluster/scheduler-conf",
        &[],
        "the configuration of the scheduler",
    ),
    change(
        Verb::Put,
        "/ws/v1/cluster/scheduler-conf",
        Body::JsonOrXml,
        "changes the configuration of the scheduler",
    ),
    get(
        "/ws/v1/cluster/scheduler-conf/version",
        &[],
        "the version of the configuration",
    ),
    get(
        "/ws/v1/cluster/scheduler-conf/format",
        &[],
        "takes the configuration of the files again",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/scheduler-conf/validate",
        Body::JsonOrXml,
        "judges a change of the configuration",
    ),
    change(
        Verb::Post,
        "/ws/v1/cluster/scheduler-conf/validate/v2",
        Body::JsonOrXml,
        "judges a change of the configuration, with issues",
    ),
];
