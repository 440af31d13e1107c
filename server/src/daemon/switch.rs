//! A router that is replaced while the server runs: that of a standby, then that of a leader.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use capsched::sync::Mutex;
use serde_json::json;
use tower::ServiceExt;

/// The router that answers now.
#[derive(Clone, Debug)]
pub struct Switch {
    now: Arc<Mutex<Router>>,
}

impl Switch {
    /// Begins with a router.
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self {
            now: Arc::new(Mutex::new(router)),
        }
    }

    /// Has another router answer from the next request on.
    pub fn set(&self, router: Router) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = router;
    }

    fn now(&self) -> Router {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }

    /// A router that passes each request to the one that answers now.
    pub fn router(&self) -> Router {
        Router::new().fallback(pass).with_state(self.clone())
    }
}

async fn pass(State(switch): State<Switch>, request: Request) -> Result<Response, Infallible> {
    switch.now().oneshot(request).await
}

/// What a standby answers: whether it lives, that it is not ready, and where the leader is.
#[derive(Clone, Debug, Default)]
pub struct StandbyPage {
    leader: Arc<Mutex<String>>,
}

impl StandbyPage {
    /// Names the leader: the address of its interface.
    pub fn set_leader(&self, leader: &str) {
        let mut known = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        leader.clone_into(&mut known);
    }

    fn leader(&self) -> String {
        let known = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// Its routes. What is no question about health goes to the leader.
    // As RMWebAppFilter.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/health/live", get(live))
            .route("/health/ready", get(ready))
            .fallback(elsewhere)
            .with_state(self.clone())
    }
}

async fn live() -> Response {
    Json(json!({"status": "up", "role": "standby"})).into_response()
}

async fn ready(State(page): State<StandbyPage>) -> Response {
    let leader = page.leader();
    let reason = match leader.as_str() {
        "" => "it waits to lead".to_owned(),
        leader => format!("it waits to lead; the leader is {leader}"),
    };
    let part = json!({"name": "leader", "ok": false, "reason": reason});
    let body = json!({"status": "down", "role": "standby", "parts": [part]});
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}

async fn elsewhere(State(page): State<StandbyPage>, uri: Uri) -> Response {
    let leader = page.leader();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let place = HeaderValue::from_str(&format!("{}{path}", leader.trim_end_matches('/')));
    let known = leader.starts_with("http://") || leader.starts_with("https://");
    let retry = (header::RETRY_AFTER, HeaderValue::from_static("1"));
    match place {
        Ok(place) if known => {
            let headers = [retry, (header::LOCATION, place)];
            (StatusCode::TEMPORARY_REDIRECT, headers).into_response()
        }
        _ => {
            let text = "this server waits to lead";
            let body = Json(json!({ "message": text }));
            (StatusCode::SERVICE_UNAVAILABLE, [retry], body).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    async fn answer(router: &Router, path: &str) -> (StatusCode, Option<String>) {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let place = response.headers().get(header::LOCATION);
        let place = place.map(|place| place.to_str().unwrap().to_owned());
        (response.status(), place)
    }

    #[tokio::test]
    async fn a_standby_names_the_leader_and_a_leader_answers_itself() {
        let standby = StandbyPage::default();
        let switch = Switch::new(standby.router());
        let router = switch.router();
        assert_eq!(answer(&router, "/health/live").await.0, StatusCode::OK);
        let waiting = StatusCode::SERVICE_UNAVAILABLE;
        assert_eq!(answer(&router, "/health/ready").await.0, waiting);
        assert_eq!(answer(&router, "/v1/apps").await, (waiting, None));
        standby.set_leader("process 7");
        assert_eq!(answer(&router, "/v1/apps").await, (waiting, None));
        standby.set_leader("http://10.0.0.1:8088");
        let place = Some("http://10.0.0.1:8088/v1/apps?limit=3".to_owned());
        let redirected = answer(&router, "/v1/apps?limit=3").await;
        assert_eq!(redirected, (StatusCode::TEMPORARY_REDIRECT, place));
        switch.set(Router::new().route("/v1/apps", get(|| async { "apps" })));
        assert_eq!(answer(&router, "/v1/apps").await, (StatusCode::OK, None));
        assert_eq!(answer(&router, "/nowhere").await.0, StatusCode::NOT_FOUND);
    }
}
