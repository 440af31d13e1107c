//! Cells that listen, and a router before them that is called without a network.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use capsched::api::Reference;
use capsched_server::cells::{CellRouter, Policy, PolicyChange, RouterOptions};
use capsched_server::daemon::Serving;
use capsched_server::rm::{Command, NodeRegistration, ResourceManager};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::cell_router::cell_router;
use super::support::{
    HOST, answer, options, request, resource_manager, resource_manager_of, router, tokens,
};

/// A cell that listens.
pub(crate) struct Cell {
    pub(crate) rm: Arc<ResourceManager>,
    pub(crate) address: SocketAddr,
    stop: Option<Box<dyn FnOnce() + Send>>,
    served: tokio::task::JoinHandle<()>,
}

impl Cell {
    /// Starts a cell at an address; port 0 lets the system choose.
    pub(crate) fn start(address: SocketAddr) -> Self {
        Self::over(resource_manager(), address)
    }

    /// Starts a cell of a release.
    pub(crate) fn of(reference: Reference, address: SocketAddr) -> Self {
        Self::over(resource_manager_of(reference), address)
    }

    fn over(rm: Arc<ResourceManager>, address: SocketAddr) -> Self {
        let mut options = options(tokens());
        options.listen = address;
        let serving = Serving::listen(&options).unwrap();
        let (address, stop) = (serving.address(), serving.stopper());
        let routes = router(&rm, &options);
        let served = tokio::spawn(async move { serving.run(routes).await.unwrap() });
        Self {
            rm,
            address,
            stop: Some(Box::new(stop)),
            served,
        }
    }

    /// Ends it; nothing listens at its address then.
    pub(crate) async fn end(mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
        (&mut self.served).await.unwrap();
        // Whoever has connections to it learns of their end when this runtime next waits.
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) fn apps(&self) -> usize {
        self.rm.read(|books| books.apps().count())
    }
}

pub(crate) fn policy(cells: &[(&str, SocketAddr)], queues: &Value) -> Value {
    let cells = cells
        .iter()
        .map(|(name, address)| json!({"name": name, "addresses": [format!("http://{address}")]}));
    json!({"cells": cells.collect::<Vec<_>>(), "queues": queues})
}

/// A router over an own store.
pub(crate) struct Front {
    pub(crate) router: CellRouter,
    routes: Router,
    _dir: TempDir,
}

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Read {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.text))
    }
}

impl Front {
    pub(crate) fn start(options: RouterOptions) -> Self {
        let (router, routes, dir) = cell_router(options);
        Self {
            router,
            routes,
            _dir: dir,
        }
    }

    pub(crate) async fn with(cells: &[(&str, SocketAddr)], queues: Value) -> Self {
        let front = Self::start(RouterOptions::default());
        let text = policy(cells, &queues).to_string();
        let policy = Policy::read(text.as_bytes()).unwrap();
        let made = front.router.change_policy(None, policy).await;
        assert!(
            matches!(made, PolicyChange::Made { version: 1, .. }),
            "{made:?}"
        );
        front
    }

    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Read {
        let mut builder = Request::builder()
            .method(method)
            .uri(path)
            .header("host", HOST);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let response = self
            .routes
            .clone()
            .oneshot(builder.body(Body::from(body)).unwrap())
            .await
            .unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 64 << 20).await.unwrap();
        Read {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Kills an application; the path of its state.
    pub(crate) async fn kill(&self, id: &str) -> String {
        let path = format!("/ws/v1/cluster/apps/{id}/state");
        let state = json!({"state": "KILLED"}).to_string();
        let killed = self.call("PUT", &path, &[YARN, JSON], state).await;
        assert!(killed.status.is_success(), "{}", killed.text);
        path
    }

    pub(crate) async fn get(&self, path: &str) -> Read {
        self.call("GET", path, &[], String::new()).await
    }

    pub(crate) async fn ready(&self) -> StatusCode {
        let (status, _) = answer(&self.routes, request("GET", "/health/ready", None)).await;
        status
    }

    pub(crate) async fn new_id(&self) -> String {
        let answer = self
            .call(
                "POST",
                "/ws/v1/cluster/apps/new-application",
                &[ANN],
                String::new(),
            )
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let found = answer.json();
        assert!(found["maximum-resource-capability"].is_object(), "{found}");
        found["application-id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn submit(&self, id: &str, queue: &str) -> Read {
        let body = json!({"application-id": id, "queue": queue, "unmanaged-AM": true, "application-name": "x"});
        self.call(
            "POST",
            "/ws/v1/cluster/apps",
            &[ANN, JSON],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn submitted(&self, queue: &str) -> String {
        let id = self.new_id().await;
        let answer = self.submit(&id, queue).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
        let place = answer.headers[header::LOCATION].to_str().unwrap();
        assert_eq!(place, format!("/ws/v1/cluster/apps/{id}"));
        id
    }
}

pub(crate) const ANN: (&str, &str) = ("authorization", "Bearer token-of-ann");
pub(crate) const YARN: (&str, &str) = ("authorization", "Bearer token-of-yarn");
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const XML: (&str, &str) = ("accept", "application/xml");

pub(crate) fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

pub(crate) fn two_homes() -> Value {
    json!([
        {"queue": "root.prod", "home": "east", "fall_back": ["west"]},
        {"queue": "root.adhoc", "home": "west"},
    ])
}

pub(crate) fn add_node(cell: &Cell, name: &str, memory: i64) {
    let registration = NodeRegistration {
        node: name.to_owned(),
        rack: "/r".to_owned(),
        resource: vec![memory, 8],
        http_port: 8042,
        version: "test".to_owned(),
        labels: None,
    };
    cell.rm
        .execute("yarn", Command::RegisterNode(registration))
        .unwrap();
}
