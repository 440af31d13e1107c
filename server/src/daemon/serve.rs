//! Listening: with limits on connections and headers, encrypted or not, until somebody ends it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;

use super::connections::FewConnections;
use super::encryption::encryption;
use super::options::{ServeOptions, ServeProblem};
use crate::security::exposure;

/// Longest time until the head of a request is there.
const HEAD: Duration = Duration::from_secs(10);

/// Headers of a request at most.
const HEADERS: usize = 64;

/// Bytes of the head of a request at most.
const HEAD_BYTES: usize = 32 << 10;

/// Requests of one connection at once (HTTP/2).
const STREAMS: u32 = 64;

/// Bytes of the headers of a request at most (HTTP/2).
const LIST_BYTES: u32 = 16 << 10;

/// Connections at once.
const CONNECTIONS: usize = 1024;

/// Between two warnings of what the server does without.
const WARNING: Duration = Duration::from_secs(60);

/// How long answers that have begun may go on at the end.
const GRACE: Duration = Duration::from_secs(5);

/// A server that listens, and serves when it is run.
#[derive(Debug)]
pub struct Serving {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<RustlsConfig>,
    exposure: Option<String>,
    handle: Handle<SocketAddr>,
}

impl Serving {
    /// Listens, once the files of the encryption are read.
    ///
    /// # Errors
    ///
    /// As [`ServeProblem`].
    pub fn listen(options: &ServeOptions) -> Result<Self, ServeProblem> {
        options.check()?;
        let tls = options.tls.as_ref().map(|files| {
            let read = encryption(files);
            read.map_err(|error| ServeProblem::Tls(files.clone(), error))
        });
        let tls = tls.transpose()?;
        let failed = |error| ServeProblem::Listen(options.listen, error);
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            exposure: exposure(address, &options.authentication, tls.is_some()),
            tls,
            handle: Handle::new(),
        })
    }

    /// The address, with the port that the system chose where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page.
    #[must_use]
    pub fn page(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/ui/", self.address)
    }

    /// Ends the server when it is called: answers that have begun have five seconds.
    pub fn stopper(&self) -> impl FnOnce() + Send + 'static {
        let handle = self.handle.clone();
        move || handle.graceful_shutdown(Some(GRACE))
    }

    /// Serves until the stopper is called.
    ///
    /// # Errors
    ///
    /// As [`ServeProblem`].
    pub async fn run(self, router: Router) -> Result<(), ServeProblem> {
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let server = axum_server::from_tcp(self.listener).map_err(ServeProblem::System)?;
        let warnings = self.exposure.map(|text| tokio::spawn(warn_of(text)));
        let mut server = server.handle(self.handle).first_request_timeout(HEAD);
        server
            .http_builder()
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_headers(HEADERS)
            .max_buf_size(HEAD_BYTES);
        server
            .http_builder()
            .http2()
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(LIST_BYTES);
        let served = match self.tls {
            None => {
                let few = |acceptor| FewConnections::new(acceptor, CONNECTIONS);
                server.map(few).serve(service).await
            }
            Some(config) => {
                let acceptor = RustlsAcceptor::new(config);
                let few = FewConnections::new(acceptor, CONNECTIONS);
                server.acceptor(few).serve(service).await
            }
        };
        if let Some(warnings) = warnings {
            warnings.abort();
        }
        served.map_err(ServeProblem::System)
    }
}

/// Warns until it is ended.
async fn warn_of(exposure: String) {
    loop {
        tracing::warn!("{exposure}");
        tokio::time::sleep(WARNING).await;
    }
}
