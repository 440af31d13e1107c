//! The layer before every handler: form of the request, its peer, its user, and what the route demands.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header, uri::PathAndQuery};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tracing::{Instrument, info, info_span, warn};

use super::authentication::{Authentication, Identity};
use super::hosts::Hosts;
use super::negotiate::{self, NegotiationProblem};
use super::query::{USER_NAME, named, query_user};
use super::rate_limit::RateLimit;
use super::request_id::{HEADER, RequestId, RequestIds};
use super::routes::{Need, route_needs};

/// Header that a page of another site cannot send.
// As RestCsrfPreventionFilter.HEADER_DEFAULT.
const CSRF: &str = "x-xsrf-header";

/// How large and how frequent requests may be.
#[derive(Clone, Copy, Debug)]
pub struct AccessLimits {
    /// Longest path with its query, in bytes.
    pub uri: usize,
    /// Requests a second of one peer; 0: no limit.
    pub per_second: u32,
}

impl Default for AccessLimits {
    fn default() -> Self {
        Self {
            uri: 8192,
            per_second: 500,
        }
    }
}

/// Who administers a server, and which time it is there.
pub trait Authority: fmt::Debug + Send + Sync {
    /// The present time, in ms since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Whether a user administers the server.
    fn is_admin(&self, user: &str) -> bool;
}

/// The rules of access to one server.
#[derive(Debug)]
pub struct Access {
    authentication: Authentication,
    anonymous_reads: bool,
    hosts: Hosts,
    longest_uri: usize,
    rate: RateLimit,
    ids: RequestIds,
    authority: Arc<dyn Authority>,
}

/// A request that is not passed on.
struct Denied {
    status: StatusCode,
    exception: &'static str,
    message: String,
    /// The token that a client has to answer.
    challenge: Option<header::HeaderValue>,
}

/// A request that is passed on.
struct Admitted {
    identity: Identity,
    /// The token that proves the server's name.
    proof: Option<header::HeaderValue>,
}

fn denied(status: StatusCode, exception: &'static str, message: impl Into<String>) -> Denied {
    Denied {
        status,
        exception,
        message: message.into(),
        challenge: None,
    }
}

fn unauthenticated(text: String) -> Denied {
    denied(StatusCode::UNAUTHORIZED, "AuthenticationException", text)
}

/// A token that proves no name. The reason is for the log alone.
fn not_accepted(problem: NegotiationProblem) -> Denied {
    match problem {
        NegotiationProblem::Refused(reason) => {
            warn!(?reason, "a Negotiate token is refused");
            let text = "the Negotiate token is not accepted";
            denied(StatusCode::FORBIDDEN, "AuthenticationException", text)
        }
        NegotiationProblem::Continues(token) => Denied {
            challenge: Some(negotiate::challenge(&token)),
            ..unauthenticated("the negotiation needs a further token".to_owned())
        },
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let body = json!({"RemoteException": {
            "exception": self.exception,
            "message": self.message,
            "javaClassName": format!("org.apache.hadoop.security.{}", self.exception),
        }});
        let mut response = (self.status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(challenge) = self.challenge {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        } else if self.status == StatusCode::UNAUTHORIZED {
            let scheme = header::HeaderValue::from_static("Bearer");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl Access {
    /// Rules under an authority, which says who administers the server. Where `anonymous_reads`, callers without a
    /// name may look at everything that is no secret.
    #[must_use]
    pub fn new(
        authority: Arc<dyn Authority>,
        authentication: Authentication,
        anonymous_reads: bool,
        hosts: Hosts,
        limits: AccessLimits,
    ) -> Self {
        Self {
            authentication,
            anonymous_reads,
            hosts,
            longest_uri: limits.uri,
            rate: RateLimit::of(limits.per_second),
            ids: RequestIds::since(authority.now_ms()),
            authority,
        }
    }

    /// How users are found.
    #[must_use]
    pub fn authentication(&self) -> &Authentication {
        &self.authentication
    }

    fn check_form(&self, request: &Request) -> Result<(), Denied> {
        let path = request
            .uri()
            .path_and_query()
            .map_or("", PathAndQuery::as_str);
        if path.len() > self.longest_uri {
            let text = format!(
                "the address has {} bytes, at most {}",
                path.len(),
                self.longest_uri
            );
            return Err(denied(
                StatusCode::URI_TOO_LONG,
                "BadRequestException",
                text,
            ));
        }
        if has_hidden_bytes(request.uri().path()) {
            let text = "the path has control characters or parts that lead upwards";
            return Err(denied(StatusCode::BAD_REQUEST, "BadRequestException", text));
        }
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(|found| found.as_str()));
        if !host.is_some_and(|host| self.hosts.allows(host)) {
            let text = "the server does not answer for this host name: give --host-name";
            return Err(denied(
                StatusCode::MISDIRECTED_REQUEST,
                "BadRequestException",
                text,
            ));
        }
        check_origin(request.method(), request.uri().path(), request.headers())
    }

    /// The user that a negotiation proves; nothing where the request asks for none or the server has none.
    fn negotiate(
        &self,
        headers: &HeaderMap,
    ) -> Option<impl Future<Output = Result<Admitted, Denied>> + use<>> {
        let token = negotiate::token_of(headers)?;
        let negotiation = Arc::clone(self.authentication.negotiation()?);
        Some(async move {
            let accepted = negotiate::accept(negotiation, token).await;
            let accepted = accepted.map_err(not_accepted)?;
            let identity =
                Identity::of(&accepted.user).map_err(|error| unauthenticated(error.to_string()))?;
            let proof = Some(negotiate::challenge(&accepted.answer));
            Ok(Admitted { identity, proof })
        })
    }

    /// The user of a request that does not negotiate.
    fn identify(&self, request: &Request, now_ms: u64) -> Result<Admitted, Denied> {
        let named = query_user(request.uri());
        let found = self
            .authentication
            .identify(request.headers(), named.as_deref(), now_ms);
        let identity = found.map_err(|error| unauthenticated(error.to_string()))?;
        let proof = None;
        Ok(Admitted { identity, proof })
    }

    /// Whether the route lets a user pass.
    fn check_user(&self, request: &Request, identity: &Identity) -> Result<(), Denied> {
        let path = request.uri().path();
        let names = self.authentication.believes_names();
        match route_needs(request.method(), path) {
            Need::Open => {}
            Need::Read if self.anonymous_reads || names => {}
            // The handlers of YARN's routes refuse in YARN's words.
            Need::SignedIn | Need::Admin if names && path.starts_with("/ws/") => {}
            _ if !identity.is_known() => {
                return Err(self.challenged(unauthenticated(self.no_user())));
            }
            Need::Read | Need::SignedIn => {}
            Need::Admin if self.authority.is_admin(identity.name()) => {}
            Need::Admin => {
                let text = format!("User {} does not administer the cluster.", identity.name());
                return Err(denied(
                    StatusCode::FORBIDDEN,
                    "AuthorizationException",
                    text,
                ));
            }
        }
        Ok(())
    }

    /// The same with a challenge where users negotiate.
    fn challenged(&self, denied: Denied) -> Denied {
        let challenge = self.authentication.negotiation();
        let challenge = challenge.map(|_| negotiate::challenge(&[]));
        Denied {
            challenge,
            ..denied
        }
    }

    fn no_user(&self) -> String {
        match self.authentication.name() {
            "negotiate" => "a ticket of Kerberos is needed: send `Authorization: Negotiate TOKEN`".to_owned(),
            "token" => "a token is needed: send `Authorization: Bearer TOKEN`".to_owned(),
            "simple" => format!("a user is needed: add `{USER_NAME}=NAME` to the query"),
            _ => "this server only answers questions: nobody can prove a name. Start it with --tokens, --jwt-key or \
                  --insecure-simple"
                .to_owned(),
        }
    }
}

/// Checks a request, and passes it on with its [`Identity`] and [`RequestId`] as extensions. The query names the user
/// that was found, whatever the caller wrote.
pub async fn guard(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = RequestId::of(request.headers().get(HEADER), &access.ids);
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(address)| *address);
    let span = info_span!("request", %id, method = %request.method(), path = ?request.uri().path());
    let now_ms = access.authority.now_ms();
    let mut response = match access
        .admit(&mut request, peer, now_ms)
        .instrument(span.clone())
        .await
    {
        Ok(Admitted { identity, proof }) => {
            let change = !looks(request.method());
            let line = change.then(|| (request.method().clone(), request.uri().path().to_owned()));
            request.extensions_mut().insert(id.clone());
            let mut response = next.run(request).instrument(span).await;
            if let Some(proof) = proof {
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, proof);
            }
            if let Some((method, path)) = line {
                let status = response.status().as_u16();
                let (user, from) = (identity.name(), shown(peer));
                info!(target: "capsched::audit", %id, ?user, %from, %method, ?path, status);
            }
            response
        }
        Err(problem) => {
            let status = problem.status.as_u16();
            span.in_scope(
                || warn!(status, from = %shown(peer), reason = ?problem.message, "refused"),
            );
            problem.into_response()
        }
    };
    if let Some(value) = id.header() {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

impl Access {
    async fn admit(
        &self,
        request: &mut Request,
        peer: Option<SocketAddr>,
        now_ms: u64,
    ) -> Result<Admitted, Denied> {
        if let Some(peer) = peer
            && !self.rate.take(peer.ip())
        {
            let text = "more requests a second than one peer may send";
            return Err(denied(
                StatusCode::TOO_MANY_REQUESTS,
                "RetriableException",
                text,
            ));
        }
        self.check_form(request)?;
        let negotiation = self.negotiate(request.headers());
        let admitted = match negotiation {
            Some(negotiation) => negotiation.await,
            None => self.identify(request, now_ms),
        };
        let admitted = admitted?;
        let identity = &admitted.identity;
        self.check_user(request, identity)?;
        if !self.authentication.believes_names() {
            *request.uri_mut() = named(request.uri(), identity);
        }
        request.extensions_mut().insert(identity.clone());
        Ok(admitted)
    }
}

fn shown(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "unknown".to_owned(), |peer| peer.to_string())
}

const fn looks(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    )
}

/// Whether a path hides control characters or `..`.
fn has_hidden_bytes(path: &str) -> bool {
    let upwards = path.split('/').any(|part| {
        let part = part.to_ascii_lowercase().replace("%2e", ".");
        part == ".." || part == "."
    });
    let mut bytes = path.bytes();
    let hidden = std::iter::from_fn(|| {
        let byte = bytes.next()?;
        if byte != b'%' {
            return Some(byte);
        }
        let (high, low) = (bytes.next()?, bytes.next()?);
        let digits = [high, low];
        let text = std::str::from_utf8(&digits).ok();
        Some(
            text.and_then(|text| u8::from_str_radix(text, 16).ok())
                .unwrap_or(0),
        )
    });
    upwards || hidden.into_iter().any(|byte| byte < 0x20 || byte == 0x7f)
}

/// Whether a browser sends a request because a page of another site wants it.
// As RestCsrfPreventionFilter: browsers need the header for what is no GET, OPTIONS, HEAD or TRACE.
fn check_origin(method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Denied> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let page = path == "/" || path.starts_with("/ui/");
    if !page && text("sec-fetch-site") == Some("cross-site") {
        let text = "a page of another site may not call this";
        return Err(denied(
            StatusCode::FORBIDDEN,
            "AuthorizationException",
            text,
        ));
    }
    let agent = text("user-agent").unwrap_or_default();
    let browser = ["Mozilla", "Opera"]
        .iter()
        .any(|start| agent.starts_with(start));
    if browser && !looks(method) && !headers.contains_key(CSRF) {
        let text = "Missing Required Header for CSRF Vulnerability Protection";
        return Err(denied(StatusCode::BAD_REQUEST, "BadRequestException", text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_upwards_or_hide_bytes_are_found() {
        for path in [
            "/ui/../x",
            "/ui/%2e%2E/x",
            "/ui/.%2e/x",
            "/a%00b",
            "/a%0ab",
            "/a%7fb",
            "/a%zz",
        ] {
            assert!(has_hidden_bytes(path), "{path}");
        }
        for path in [
            "/",
            "/ui/main.js",
            "/v1/apps/a..b",
            "/ws/v1/cluster/nodes/n%3A1",
            "/a%C3%A9",
        ] {
            assert!(!has_hidden_bytes(path), "{path}");
        }
    }

    #[test]
    fn browsers_need_the_header_for_changes_and_other_sites_may_nothing() {
        let with = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|&(name, value)| {
                let name = header::HeaderName::from_static(name);
                (name, header::HeaderValue::from_static(value))
            });
            HeaderMap::from_iter(pairs)
        };
        let browser = ("user-agent", "Mozilla/5.0");
        let path = "/ws/v1/cluster/apps/a/state";
        let bare = check_origin(&Method::PUT, path, &with(&[browser]));
        assert_eq!(
            bare.err().map(|denied| denied.status),
            Some(StatusCode::BAD_REQUEST)
        );
        assert!(check_origin(&Method::PUT, path, &with(&[browser, (CSRF, "")])).is_ok());
        assert!(check_origin(&Method::GET, path, &with(&[browser])).is_ok());
        assert!(check_origin(&Method::PUT, path, &with(&[("user-agent", "curl/8")])).is_ok());
        let cross = with(&[browser, (CSRF, ""), ("sec-fetch-site", "cross-site")]);
        let found = check_origin(&Method::GET, path, &cross);
        assert_eq!(
            found.err().map(|denied| denied.status),
            Some(StatusCode::FORBIDDEN)
        );
        assert!(check_origin(&Method::GET, "/ui/main.js", &cross).is_ok());
    }
}
