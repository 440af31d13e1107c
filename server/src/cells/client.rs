//! Calls of a resource manager over HTTP, and what is known of one that failed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

use super::names::CellAddress;

/// Largest answer of a cell, in bytes.
const LARGEST: usize = 64 << 20;

/// Longest time until a connection is made.
const CONNECT: Duration = Duration::from_secs(2);

/// Connections to one address that are kept open without a call.
const IDLE: usize = 64;

/// How long one is kept open without a call. It is shorter than the time after which a server closes it.
const KEPT: Duration = Duration::from_secs(5);

/// Why authorities cannot be used.
#[derive(Debug, Error)]
#[error("{file}: {reason}")]
pub struct CaProblem {
    file: String,
    reason: String,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum CallError {
    /// The cell does not have the request.
    #[error("{0}")]
    NotSent(String),
    /// The cell may have the request or not.
    #[error("{0}")]
    InDoubt(String),
}

/// What a cell is asked.
#[derive(Clone, Debug)]
pub(super) struct CellRequest {
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl CellRequest {
    /// One without a body and without headers.
    pub(super) fn plain(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

/// What a cell answers.
#[derive(Clone, Debug)]
pub(super) struct CellAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Calls cells, over connections that are kept open.
#[derive(Clone, Debug)]
pub struct CellClient {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    encrypts: bool,
}

impl CellClient {
    /// A client. Encrypted cells prove themselves by a certificate of an authority of this file, in PEM form; without
    /// it they are not called.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or has no certificate.
    pub fn new(authorities: Option<&Path>) -> Result<Self, CaProblem> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = authorities {
            let problem = |reason: String| CaProblem {
                file: file.display().to_string(),
                reason,
            };
            let read = CertificateDer::pem_file_iter(file);
            for found in read.map_err(|error| problem(error.to_string()))? {
                let found = found.map_err(|error| problem(error.to_string()))?;
                roots
                    .add(found)
                    .map_err(|error| problem(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(problem("there is no certificate in it".to_owned()));
            }
        }
        let encrypts = !roots.is_empty();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| CaProblem {
            file: "TLS".to_owned(),
            reason: error.to_string(),
        })?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .pool_max_idle_per_host(IDLE)
            .build(connector);
        Ok(Self { client, encrypts })
    }

    /// Calls an address, and waits for the whole answer, at most so long.
    pub(super) async fn call(
        &self,
        address: &CellAddress,
        request: &CellRequest,
        patience: Duration,
    ) -> Result<CellAnswer, CallError> {
        if address.is_encrypted() && !self.encrypts {
            let text = "the cell is encrypted, and there is no --cell-ca to prove it by";
            return Err(CallError::NotSent(text.to_owned()));
        }
        let built = Request::builder()
            .method(request.method.clone())
            .uri(format!("{address}{}", request.path))
            .body(Body::from(request.body.clone()));
        let mut built = built.map_err(|error| CallError::NotSent(error.to_string()))?;
        *built.headers_mut() = request.headers.clone();
        let agent =
            HeaderValue::from_static(concat!("capsched-router/", env!("CARGO_PKG_VERSION")));
        built.headers_mut().insert(header::USER_AGENT, agent);
        let answered = tokio::time::timeout(patience, self.answer(built)).await;
        answered.unwrap_or_else(|_| {
            let text = format!("there was no answer within {} s", patience.as_secs_f32());
            Err(CallError::InDoubt(text))
        })
    }

    async fn answer(&self, request: Request<Body>) -> Result<CellAnswer, CallError> {
        let response = self.client.request(request).await.map_err(|error| {
            let text = chain(&error);
            match error.is_connect() {
                true => CallError::NotSent(text),
                false => CallError::InDoubt(text),
            }
        })?;
        let (parts, body) = response.into_parts();
        let body = to_bytes(Body::new(body), LARGEST).await;
        Ok(CellAnswer {
            status: parts.status,
            headers: parts.headers,
            body: body.map_err(|error| CallError::InDoubt(chain(&error)))?,
        })
    }
}

/// An error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
