//! What each route demands of its caller: a table that is gone through from above.

use axum::http::Method;

/// What a route demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Open,
    /// The right to look: everybody where the server says so, else every known user.
    Read,
    /// A known user. The handler looks up what that user may do: rights in a queue, an own application.
    SignedIn,
    /// An administrator of the cluster.
    Admin,
}

/// Methods of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Methods {
    /// `GET`, `HEAD` and `OPTIONS`.
    Get,
    /// All others.
    Change,
    /// All.
    Any,
}

/// One row: methods, a path, what they demand. A segment `*` stands for any one; `**` at the end for any rest, an
/// empty one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRow {
    /// Methods.
    pub methods: Methods,
    /// Path.
    pub path: &'static str,
    /// What they demand.
    pub need: Need,
}

const fn row(methods: Methods, path: &'static str, need: Need) -> RouteRow {
    RouteRow {
        methods,
        path,
        need,
    }
}

/// All routes. The first row that fits holds; the last one refuses everybody but administrators what nothing names.
pub const ROUTES: &[RouteRow] = &[
    row(Methods::Get, "/", Need::Open),
    row(Methods::Get, "/ui/**", Need::Open),
    row(Methods::Get, "/cluster", Need::Open),
    row(Methods::Get, "/health/live", Need::Open),
    row(Methods::Get, "/health/ready", Need::Open),
    row(Methods::Get, "/v1/whoami", Need::Open),
    row(Methods::Get, "/metrics", Need::Read),
    row(Methods::Any, "/debug/**", Need::Admin),
    row(Methods::Any, "/v1/conf/**", Need::Admin),
    row(Methods::Get, "/v1/openapi.json", Need::Open),
    row(Methods::Get, "/v1/snapshot/file", Need::Admin),
    row(Methods::Change, "/v1/plan", Need::Admin),
    row(Methods::Change, "/v1/whatif", Need::Admin),
    row(Methods::Change, "/v1/policy", Need::Admin),
    row(Methods::Get, "/v1/**", Need::Read),
    row(Methods::Change, "/v1/**", Need::SignedIn),
    row(Methods::Get, "/jmx", Need::Read),
    row(Methods::Get, "/conf", Need::Read),
    row(
        Methods::Any,
        "/ws/v1/cluster/scheduler-conf/**",
        Need::Admin,
    ),
    row(
        Methods::Change,
        "/ws/v1/cluster/add-node-labels",
        Need::Admin,
    ),
    row(
        Methods::Change,
        "/ws/v1/cluster/remove-node-labels",
        Need::Admin,
    ),
    row(
        Methods::Change,
        "/ws/v1/cluster/replace-node-to-labels",
        Need::Admin,
    ),
    row(Methods::Change, "/ws/v1/cluster/nodes/**", Need::Admin),
    row(
        Methods::Change,
        "/ws/v1/cluster/scheduler/logs",
        Need::Admin,
    ),
    row(Methods::Get, "/ws/v1/cluster/**", Need::Read),
    row(Methods::Change, "/ws/v1/cluster/**", Need::SignedIn),
    row(Methods::Any, "/**", Need::Admin),
];

/// What a route demands.
#[must_use]
pub fn route_needs(method: &Method, path: &str) -> Need {
    let looks = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let found = ROUTES.iter().find(|row| {
        let of_method = match row.methods {
            Methods::Get => looks,
            Methods::Change => !looks,
            Methods::Any => true,
        };
        of_method && fits(row.path, path)
    });
    found.map_or(Need::Admin, |row| row.need)
}

fn fits(pattern: &str, path: &str) -> bool {
    let mut found = path.split('/').filter(|part| !part.is_empty());
    for wanted in pattern.split('/').filter(|part| !part.is_empty()) {
        if wanted == "**" {
            return true;
        }
        match found.next() {
            Some(part) if wanted == "*" || wanted == part => {}
            _ => return false,
        }
    }
    found.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_segments() {
        for (pattern, path, wanted) in [
            ("/", "/", true),
            ("/", "/a", false),
            ("/a/**", "/a", true),
            ("/a/**", "/a/", true),
            ("/a/**", "//a//b/c", true),
            ("/a/**", "/ab", false),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/c", false),
            ("/**", "/x", true),
        ] {
            assert_eq!(fits(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn doubled_slashes_and_other_methods_do_not_get_around_a_row() {
        let conf = "//ws/v1//cluster/scheduler-conf";
        assert_eq!(route_needs(&Method::GET, conf), Need::Admin);
        assert_eq!(route_needs(&Method::TRACE, "/v1/apps"), Need::SignedIn);
        assert_eq!(route_needs(&Method::GET, "/nowhere"), Need::Admin);
        let own = Method::from_bytes(b"PURGE").unwrap();
        assert_eq!(route_needs(&own, "/ws/v1/cluster/apps"), Need::SignedIn);
    }
}
