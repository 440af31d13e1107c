//! A daemon for tests, called without a network.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use capsched::api::{Mode, Reference};
use capsched_server::daemon::{Daemon, ServeOptions};
use capsched_server::demo::{self, DemoOptions};
use capsched_server::rm::ResourceManager;
use capsched_server::security::{Authentication, Tokens};
use tower::ServiceExt;

/// The host that requests name.
pub(crate) const HOST: &str = "127.0.0.1:8088";

/// A resource manager with the queues of the demonstration and no node.
pub(crate) fn resource_manager() -> Arc<ResourceManager> {
    resource_manager_of(Reference::default())
}

/// The same of a release.
pub(crate) fn resource_manager_of(reference: Reference) -> Arc<ResourceManager> {
    let options = DemoOptions {
        mode: Mode::Heartbeat,
        ..DemoOptions::default()
    };
    Arc::new(demo::resource_manager(&options, reference).unwrap())
}

/// A user's token and the administrator's.
pub(crate) fn tokens() -> Authentication {
    let tokens = Tokens::one("ann", "token-of-ann").and(Tokens::one("yarn", "token-of-yarn"));
    Authentication::none().with_tokens(tokens)
}

pub(crate) fn options(authentication: Authentication) -> ServeOptions {
    let mut options = ServeOptions::at(SocketAddr::from(([127, 0, 0, 1], 8088)));
    options.authentication = authentication;
    options
}

pub(crate) fn router(rm: &Arc<ResourceManager>, options: &ServeOptions) -> Router {
    Daemon::new(Arc::clone(rm), options).router()
}

/// A request with the token of a user.
pub(crate) fn request(method: &str, path: &str, token: Option<&str>) -> Request<Body> {
    let builder = Request::builder()
        .method(method)
        .uri(path)
        .header("host", HOST);
    let builder = match token {
        Some(token) => builder.header("authorization", format!("Bearer {token}")),
        None => builder,
    };
    builder.body(Body::empty()).unwrap()
}

/// Status and body of an answer.
pub(crate) async fn answer(router: &Router, request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 64 << 20).await.unwrap();
    (status, body.to_vec())
}
