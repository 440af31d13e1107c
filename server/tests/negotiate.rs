//! `Authorization: Negotiate` before the routes: who passes, what is asked for, and what is refused.

#![expect(clippy::unwrap_used, reason = "test code")]

#[expect(dead_code, reason = "tokens are one case of many")]
mod support;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use capsched_server::security::{Accepted, Authentication, Negotiation, NegotiationProblem};
use support::{HOST, options, resource_manager, router, tokens};
use tower::ServiceExt;

/// Takes the name of a user as a proof of it.
#[derive(Debug)]
struct Trusting;

impl Negotiation for Trusting {
    fn accept(&self, token: &[u8]) -> Result<Accepted, NegotiationProblem> {
        match std::str::from_utf8(token).unwrap() {
            "no" => Err(NegotiationProblem::Refused("a secret reason".to_owned())),
            "more" => Err(NegotiationProblem::Continues(b"next".to_vec())),
            "panic" => panic!("a fault of the library"),
            user => Ok(Accepted {
                user: user.to_owned(),
                answer: b"me".to_vec(),
            }),
        }
    }
}

fn with(authentication: Authentication) -> Router {
    let authentication = authentication.with_negotiation(Arc::new(Trusting));
    router(&resource_manager(), &options(authentication))
}

async fn ask(
    router: &Router,
    method: &str,
    path: &str,
    credentials: &str,
) -> (StatusCode, HeaderMap) {
    let builder = Request::builder()
        .method(method)
        .uri(path)
        .header("host", HOST);
    let builder = match credentials {
        "" => builder,
        credentials => builder.header(header::AUTHORIZATION, credentials),
    };
    let request = builder.body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    (response.status(), response.headers().clone())
}

fn challenge(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(header::WWW_AUTHENTICATE)
        .map(|value| value.to_str().unwrap())
}

/// A route for administrators.
const ADMIN: &str = "/v1/conf/versions";

#[tokio::test]
async fn a_proven_name_has_its_rights_and_the_answer_proves_the_server() {
    let router = with(Authentication::none());
    let (status, headers) = ask(&router, "GET", ADMIN, "").await;
    assert_eq!(
        (status, challenge(&headers)),
        (StatusCode::UNAUTHORIZED, Some("Negotiate"))
    );
    // The base 64 of ann, and of yarn.
    let (status, _) = ask(&router, "GET", ADMIN, "Negotiate YW5u").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, headers) = ask(&router, "GET", "/v1/whoami", "negotiate eWFybg==").await;
    assert_eq!(
        (status, challenge(&headers)),
        (StatusCode::OK, Some("Negotiate bWU="))
    );
    let (status, _) = ask(&router, "GET", ADMIN, "Negotiate eWFybg==").await;
    assert!(
        ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status),
        "{status}"
    );
}

#[tokio::test]
async fn tokens_that_prove_no_name_are_refused_everywhere() {
    let router = with(Authentication::none());
    for (token, expected) in [
        ("bm8=", StatusCode::FORBIDDEN),
        ("%%%", StatusCode::FORBIDDEN),
        ("YW5", StatusCode::FORBIDDEN),
        // Of `panic`, of `a b`, and of nothing.
        ("cGFuaWM=", StatusCode::FORBIDDEN),
        ("YSBi", StatusCode::UNAUTHORIZED),
        ("", StatusCode::UNAUTHORIZED),
    ] {
        let (status, _) = ask(
            &router,
            "GET",
            "/ws/v1/cluster/info",
            &format!("Negotiate {token}"),
        )
        .await;
        assert_eq!(status, expected, "{token}");
    }
    let (status, headers) = ask(&router, "GET", "/ui/", "Negotiate bW9yZQ==").await;
    assert_eq!(
        (status, challenge(&headers)),
        (StatusCode::UNAUTHORIZED, Some("Negotiate bmV4dA=="))
    );
}

#[tokio::test]
async fn bearer_tokens_count_beside_it_and_it_counts_nowhere_else() {
    let both = with(tokens());
    let (status, _) = ask(&both, "GET", "/v1/whoami", "Bearer token-of-ann").await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = ask(&both, "GET", ADMIN, "Bearer other").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let alone = router(&resource_manager(), &options(tokens()));
    let (status, headers) = ask(&alone, "GET", "/v1/whoami", "Negotiate eWFybg==").await;
    assert_eq!(
        (status, challenge(&headers)),
        (StatusCode::UNAUTHORIZED, Some("Bearer"))
    );
}
