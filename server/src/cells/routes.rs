//! The routes of a router.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use capsched::api::{ApplicationId, Reference};
use capsched::sync::AtomicUsize;
use capsched::time::{Clock, SystemClock};
use serde_json::{Value, json};

use super::client::{CellClient, CellRequest};
use super::figures::Figures;
use super::forward::{RouterFailure, answered, passed, unavailable};
use super::merge::{self, Joined};
use super::names::CellName;
use super::policy::Policy;
use super::states::CellStates;
use super::store::{PolicyChange, RouterStore, VersionedPolicy};
use crate::daemon::{guarded, timed};
use crate::health::{Check, Health};
use crate::openapi;
use crate::rest::{Call, Failure, Media, Wire, respond, submitted};
use crate::security::{Access, Authority};

/// Names cells that an answer lacks.
const MISSING: &str = "x-capsched-missing-cells";

/// Media type of figures.
const FIGURES: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How a router works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterOptions {
    /// Longest time of one call of a cell. It is shorter than the time of an answer.
    pub patience: Duration,
    /// Between two questions about the health of cells, and longest time of one.
    pub looks: Duration,
    /// Whether lists and sums are answered without cells that cannot be reached.
    // As yarn.router.interceptor.allow-partial-result.enable.
    pub partial: bool,
    /// The release in whose form the router writes what is not an answer of one cell. It is that of the cells.
    pub reference: Reference,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(20),
            looks: Duration::from_secs(1),
            partial: false,
            reference: Reference::default(),
        }
    }
}

/// Users who may change the policy.
#[derive(Debug)]
pub struct Administrators {
    names: BTreeSet<String>,
}

impl Administrators {
    /// These users.
    #[must_use]
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        Self {
            names: names.into_iter().collect(),
        }
    }
}

impl Authority for Administrators {
    fn now_ms(&self) -> u64 {
        SystemClock::new().now_ms()
    }

    fn is_admin(&self, user: &str) -> bool {
        self.names.contains(user)
    }
}

/// A router before several cells.
#[derive(Clone)]
pub struct CellRouter {
    pub(super) store: Arc<RouterStore>,
    pub(super) states: Arc<CellStates>,
    pub(super) client: CellClient,
    pub(super) figures: Figures,
    pub(super) patience: Duration,
    pub(super) partial: bool,
    wire: Wire,
    /// Counts requests that any cell may answer.
    pub(super) turn: Arc<AtomicUsize>,
    looks: Duration,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for CellRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellRouter")
            .field("states", &self.states)
            .finish_non_exhaustive()
    }
}

impl CellRouter {
    /// A router over a store that this process leads.
    #[must_use]
    pub fn new(store: RouterStore, client: CellClient, options: RouterOptions) -> Self {
        let clock = SystemClock::new();
        let states = CellStates::default();
        if let Some(now) = store.policy() {
            states.follow(&now.policy, clock.now_ms());
        }
        Self {
            store: Arc::new(store),
            states: Arc::new(states),
            client,
            figures: Figures::new(),
            patience: options.patience,
            partial: options.partial,
            wire: Wire::of(options.reference),
            turn: Arc::new(AtomicUsize::new(0)),
            looks: options.looks,
            clock: Arc::new(clock),
        }
    }

    /// What it keeps.
    #[must_use]
    pub fn store(&self) -> &RouterStore {
        &self.store
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The policy that holds.
    pub(super) fn policy(&self) -> Result<VersionedPolicy, RouterFailure> {
        let policy = self.store.policy();
        policy.ok_or_else(|| {
            unavailable("the router has no policy: an administrator sets it by PUT /v1/policy")
        })
    }

    /// Asks all cells about their health once.
    pub async fn look(&self) {
        let clock = Arc::clone(&self.clock);
        self.states
            .ask(&self.client, self.looks, move || clock.now_ms())
            .await;
    }

    /// Asks all cells about their health, again and again.
    pub async fn watch(self) {
        loop {
            self.look().await;
            tokio::time::sleep(self.looks).await;
        }
    }

    /// Replaces the policy of a version; nothing: the first one. The cells are asked about their health at once.
    pub async fn change_policy(&self, of: Option<u64>, policy: Policy) -> PolicyChange {
        let change = self.store.change_policy(of, policy).await;
        if let Some(now) = self.store.policy() {
            self.states.follow(&now.policy, self.now_ms());
            self.look().await;
        }
        change
    }

    /// Its health: it leads, it keeps changes, it has a policy, and a cell is up.
    #[must_use]
    pub fn health(&self) -> Health {
        let router = self.clone();
        let lead: Check = Arc::new(move || {
            let lost = router.store.has_lost_lead();
            lost.then(|| "another router may lead the store".to_owned())
        });
        let router = self.clone();
        let store: Check = Arc::new(move || router.store.failure());
        let router = self.clone();
        let cells: Check = Arc::new(move || {
            let all = router.states.all();
            match (all.len(), all.iter().filter(|(_, up)| *up).count()) {
                (0, _) => Some("there is no policy".to_owned()),
                (all, 0) => Some(format!("all {all} cells are down")),
                _ => None,
            }
        });
        Health::of(
            vec![("lead", lead)],
            vec![("store", store), ("cells", cells)],
        )
    }

    /// All routes, behind the rules of access.
    pub fn router(&self, access: Arc<Access>, health: &Health) -> Router {
        let routes = Router::new()
            .route("/ws/v1/cluster/apps/new-application", post(new_application))
            .route("/ws/v1/cluster/apps", get(apps).post(submit))
            .route("/ws/v1/cluster/apps/{app}", any(about))
            .route("/ws/v1/cluster/apps/{app}/{*rest}", any(about))
            .route("/ws/v1/cluster/nodes", get(nodes))
            .route("/ws/v1/cluster/nodes/{node}", get(node))
            .route("/ws/v1/cluster/metrics", get(metrics))
            .route("/v1/policy", get(policy).put(change_policy))
            .route("/v1/cells", get(cells))
            .route("/metrics", get(figures))
            .fallback(unknown)
            .with_state(self.clone())
            .merge(health.router())
            .merge(openapi::cell_router());
        guarded(timed(routes), access)
    }

    /// A request as cells see it.
    fn request(&self, method: Method, uri: &Uri, headers: &HeaderMap, body: Bytes) -> CellRequest {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        CellRequest {
            method,
            path: path.to_owned(),
            headers: passed(headers),
            body,
        }
    }

    /// Forms the answer to a request that failed in the router.
    fn refused(&self, failure: RouterFailure, headers: &HeaderMap) -> Response {
        let media = Media::of(headers).unwrap_or(Media::Json);
        let mut response = respond(Err(failure.failure.clone()), media, self.wire);
        failure.mark(&mut response);
        response
    }

    /// An answer made of those of all cells.
    fn merged(&self, document: &Value, missing: &[CellName], headers: &HeaderMap) -> Response {
        let (media, text) = match Media::of(headers) {
            Some(Media::Xml) => (Media::Xml, merge::xml(document)),
            _ => (Media::Json, document.to_string()),
        };
        let kind = media.header(self.wire);
        let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
        let names: Vec<&str> = missing.iter().map(CellName::as_str).collect();
        let names = HeaderValue::from_str(&names.join(","));
        if let Some(names) = names.ok().filter(|_| !missing.is_empty()) {
            response.headers_mut().insert(MISSING, names);
        }
        response
    }
}

fn app_of(text: &str) -> Result<ApplicationId, RouterFailure> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        Failure::bad_request(format!("Invalid ApplicationId: {shown}")).into()
    })
}

async fn new_application(
    State(router): State<CellRouter>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = router.request(Method::POST, &uri, &headers, body);
    let answer = match router.any_cell(&request).await {
        Ok(answer) if answer.status == StatusCode::OK => answer,
        Ok(answer) => return answered(answer),
        Err(failure) => return router.refused(failure, &headers),
    };
    // Ids of cells that started in the same millisecond would be the same. Those of routers never are.
    let text = String::from_utf8_lossy(&answer.body);
    let id = router.store.new_application().to_string();
    match with_id(&text, &id) {
        Some(text) => {
            let body = Bytes::from(text);
            answered(super::client::CellAnswer { body, ..answer })
        }
        None => {
            let text = "the cell answers no application id";
            let failure = Failure::other(StatusCode::BAD_GATEWAY, "WebApplicationException", text);
            router.refused(failure.into(), &headers)
        }
    }
}

/// A document with another application id in place of its first one.
fn with_id(text: &str, id: &str) -> Option<String> {
    let start = text.find("application_")?;
    let rest = &text[start..];
    let own = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let end = rest.find(|c| !own(c)).unwrap_or(rest.len());
    let known = &rest[..end];
    known.parse::<ApplicationId>().ok()?;
    Some(text.replacen(known, id, 1))
}

async fn submit(
    State(router): State<CellRouter>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = router.request(Method::POST, &uri, &headers, body.clone());
    let Some(call) = Call::read(&headers, uri.query(), BTreeMap::new(), body) else {
        return StatusCode::NOT_ACCEPTABLE.into_response();
    };
    let sent = match submitted(&call) {
        Ok((app, queue)) => router.submit(app, &queue, &request).await,
        Err(failure) => Err(failure.into()),
    };
    sent.map_or_else(|failure| router.refused(failure, &headers), answered)
}

async fn about(
    State(router): State<CellRouter>,
    Path(parts): Path<Vec<(String, String)>>,
    request: Request,
) -> Response {
    let (parts_of, body) = request.into_parts();
    let headers = parts_of.headers;
    let body = match axum::body::to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        // The layer before limits its length.
        Err(_) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
    };
    let request = router.request(parts_of.method, &parts_of.uri, &headers, body);
    let id = parts.first().map_or("", |(_, id)| id);
    let answer = match app_of(id) {
        Ok(app) => router.about(app, &request).await,
        Err(failure) => Err(failure),
    };
    answer.map_or_else(|failure| router.refused(failure, &headers), answered)
}

/// Asks all cells, and forms one answer of theirs.
async fn joined(
    router: &CellRouter,
    (uri, headers): (&Uri, &HeaderMap),
    form: impl FnOnce(Vec<Value>) -> Value,
) -> Response {
    let request = router.request(Method::GET, uri, headers, Bytes::new());
    match router.join(request).await {
        Ok(Joined::Answers(answers, missing)) => router.merged(&form(answers), &missing, headers),
        Ok(Joined::Refused(answer)) => answered(answer),
        Err(failure) => router.refused(failure, headers),
    }
}

async fn apps(State(router): State<CellRouter>, uri: Uri, headers: HeaderMap) -> Response {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let limit = query.into_iter().find(|(name, _)| name == "limit");
    let limit = limit.and_then(|(_, value)| value.parse::<usize>().ok());
    let wire = router.wire;
    let form = |answers| {
        let mut apps = merge::elements(answers, "apps", "app");
        apps.truncate(limit.unwrap_or(usize::MAX));
        merge::list(("apps", "app"), apps, wire)
    };
    joined(&router, (&uri, &headers), form).await
}

async fn nodes(State(router): State<CellRouter>, uri: Uri, headers: HeaderMap) -> Response {
    let wire = router.wire;
    let form = |answers| {
        let nodes = merge::elements(answers, "nodes", "node");
        merge::list(("nodes", "node"), merge::latest_nodes(nodes), wire)
    };
    joined(&router, (&uri, &headers), form).await
}

async fn metrics(State(router): State<CellRouter>, uri: Uri, headers: HeaderMap) -> Response {
    joined(&router, (&uri, &headers), merge::sum).await
}

async fn node(State(router): State<CellRouter>, uri: Uri, headers: HeaderMap) -> Response {
    let request = router.request(Method::GET, &uri, &headers, Bytes::new());
    let found = router.find(uri.path(), &request, "the node").await;
    let answer = match found {
        Ok(cell) => router.ask(&cell, &request).await,
        Err(failure) => Err(failure),
    };
    answer.map_or_else(|failure| router.refused(failure, &headers), answered)
}

async fn policy(State(router): State<CellRouter>) -> Response {
    match router.store.policy() {
        Some(now) => {
            let body = json!({"version": now.version, "policy": now.policy.to_json()});
            ([(header::ETAG, format!("\"{}\"", now.version))], Json(body)).into_response()
        }
        None => message(StatusCode::NOT_FOUND, "there is no policy"),
    }
}

fn message(status: StatusCode, text: impl Into<String>) -> Response {
    (status, Json(json!({"message": text.into()}))).into_response()
}

/// The version that a change is for: that of `If-Match`, or none where `If-None-Match` is `*`.
fn version_of(headers: &HeaderMap) -> Result<Option<u64>, (StatusCode, &'static str)> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (Some(version), None) => {
            let number = version.trim().trim_matches('"').parse();
            let wrong = "If-Match is no version, such as \"3\"";
            number
                .map(Some)
                .map_err(|_| (StatusCode::BAD_REQUEST, wrong))
        }
        (None, Some("*")) => Ok(None),
        _ => Err((
            StatusCode::PRECONDITION_REQUIRED,
            "give the version that is changed by If-Match, or If-None-Match: * for the first policy",
        )),
    }
}

async fn change_policy(
    State(router): State<CellRouter>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let of = match version_of(&headers) {
        Ok(of) => of,
        Err((status, text)) => return message(status, text),
    };
    let policy = match Policy::read(&body) {
        Ok(policy) => policy,
        Err(problem) => return message(StatusCode::BAD_REQUEST, problem.to_string()),
    };
    match router.change_policy(of, policy).await {
        PolicyChange::Made {
            version,
            without_cell,
        } => {
            let body = json!({"version": version, "applicationsWithoutCell": without_cell});
            ([(header::ETAG, format!("\"{version}\""))], Json(body)).into_response()
        }
        PolicyChange::OtherVersion(now) => {
            let now = now.map_or_else(
                || "there is none".to_owned(),
                |now| format!("it has version {now}"),
            );
            message(
                StatusCode::PRECONDITION_FAILED,
                format!("the policy is another one: {now}"),
            )
        }
        PolicyChange::Failed(error) => message(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("the policy is not kept: {error}"),
        ),
    }
}

async fn cells(State(router): State<CellRouter>) -> Response {
    let states = router.states.shown().into_iter();
    let cells = states.map(|(name, addresses)| {
        let up = addresses.iter().any(|address| address.down.is_none());
        json!({"name": name, "up": up, "addresses": addresses})
    });
    Json(json!({"cells": cells.collect::<Vec<_>>()})).into_response()
}

async fn figures(State(router): State<CellRouter>) -> Response {
    let version = router.store.policy().map_or(0, |now| now.version);
    let text = router
        .figures
        .text(&router.states.all(), version, router.store.home_count());
    match text {
        Ok(text) => ([(header::CONTENT_TYPE, FIGURES)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// What a router does not answer.
async fn unknown(method: Method, uri: Uri) -> Response {
    let shown: String = uri.path().chars().take(128).collect();
    let text = format!(
        "a router has no {method} {shown}: it answers for applications, nodes and metrics of all cells. Ask a cell; \
         /v1/cells has their addresses"
    );
    message(StatusCode::NOT_FOUND, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_replaced_in_json_and_in_xml() {
        for (text, expected) in [
            (
                r#"{"application-id":"application_1_0001","x":1}"#,
                Some(r#"{"application-id":"application_9_0002","x":1}"#),
            ),
            (
                "<application-id>application_1_0001</application-id>",
                Some("<application-id>application_9_0002</application-id>"),
            ),
            (r#"{"application-id":"application_x"}"#, None),
            ("", None),
        ] {
            assert_eq!(with_id(text, "application_9_0002").as_deref(), expected);
        }
    }
}
