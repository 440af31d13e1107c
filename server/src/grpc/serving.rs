//! The address of the machines' interface: encryption, and limits of connections, streams and messages.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::server::{Connected, TcpConnectInfo};
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use super::applications::ApplicationService;
use super::callers::Callers;
use super::events::EventService;
use super::nodes::NodeService;
use super::wire::{
    applications_server::ApplicationsServer, events_server::EventsServer, nodes_server::NodesServer,
};
use crate::daemon::{Counted, ServeOptions, ServeProblem, TlsFiles, certificate_file, key_file};
use crate::rm::ResourceManager;
use crate::security::Authentication;

/// Bytes of a message at most.
const MESSAGE: usize = 4 << 20;

/// Streams of one connection at once.
const STREAMS: u32 = 256;

/// Bytes of the metadata of a call at most.
const METADATA: u32 = 16 << 10;

/// Longest time until an answer begins; a shorter deadline of the caller counts.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection without traffic is asked whether it lives, and closed without an answer in the same time.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// Connections at once.
const CONNECTIONS: usize = 1024;

/// Streams that a client opened and reset before they were taken, at most.
const RESETS: usize = 20;

/// How the machines' interface listens.
#[derive(Clone, Debug)]
pub struct GrpcOptions {
    /// Where.
    pub listen: SocketAddr,
    /// Encryption; nothing: none.
    pub tls: Option<TlsFiles>,
    /// Certificates, in PEM form, of which clients must prove one; nothing: they need none.
    pub client_ca: Option<PathBuf>,
    /// How users are found.
    pub authentication: Authentication,
    /// Whether something else encrypts, such as a proxy.
    pub plain_is_fine: bool,
}

impl GrpcOptions {
    /// The users and the encryption of a server's other interface, at an address of its own.
    #[must_use]
    pub fn beside(options: &ServeOptions, listen: SocketAddr) -> Self {
        Self {
            listen,
            tls: options.tls.clone(),
            client_ca: options
                .tls
                .as_ref()
                .and_then(|files| files.client_ca.clone()),
            authentication: options.authentication.clone(),
            plain_is_fine: options.plain_is_fine,
        }
    }

    fn as_serve_options(&self) -> ServeOptions {
        ServeOptions {
            authentication: self.authentication.clone(),
            tls: self.tls.clone(),
            plain_is_fine: self.plain_is_fine,
            ..ServeOptions::at(self.listen)
        }
    }
}

/// The services of a resource manager for machines.
#[derive(Clone, Debug)]
pub struct Machines {
    callers: Callers,
}

impl Machines {
    /// The services, with the rules of access that the options give.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>, options: &GrpcOptions) -> Self {
        let callers = Callers {
            rm,
            authentication: Arc::new(options.authentication.clone()),
            anonymous_reads: options.as_serve_options().anonymous_reads(),
        };
        Self { callers }
    }
}

/// The interface, listening; it serves when it is run.
#[derive(Debug)]
pub struct GrpcServing {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<ServerTlsConfig>,
}

impl GrpcServing {
    /// Listens.
    ///
    /// # Errors
    ///
    /// As [`ServeProblem`]: the address is not one to listen on so, or a file of the encryption cannot be read.
    pub fn listen(options: &GrpcOptions) -> Result<Self, ServeProblem> {
        options.as_serve_options().check()?;
        let failed = |error| ServeProblem::Listen(options.listen, error);
        let tls = options.tls.as_ref();
        let tls = tls.map(|files| encryption(files, options.client_ca.as_deref()));
        let tls = tls.transpose()?;
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            tls,
        })
    }

    /// The address, with the port that the system chose where port 0 was asked for.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until a future ends.
    ///
    /// # Errors
    ///
    /// As [`ServeProblem`].
    pub async fn run(
        self,
        machines: Machines,
        ends: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeProblem> {
        let other = |error: tonic::transport::Error| ServeProblem::System(io::Error::other(error));
        let listener = tokio::net::TcpListener::from_std(self.listener);
        let listener = TcpListenerStream::new(listener.map_err(ServeProblem::System)?);
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let few = listener.filter_map(move |stream| match stream {
            // One that is too many is closed before anything is read from it.
            Ok(stream) => {
                let permit = Arc::clone(&free).try_acquire_owned().ok()?;
                Some(Ok(Counted::new(stream, permit)))
            }
            Err(error) => Some(Err(error)),
        });
        let mut server = Server::builder()
            .timeout(PATIENCE)
            .max_concurrent_streams(STREAMS)
            .http2_max_header_list_size(METADATA)
            .http2_max_pending_accept_reset_streams(Some(RESETS))
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .tcp_nodelay(true);
        if let Some(tls) = self.tls {
            server = server.tls_config(tls).map_err(other)?;
        }
        let callers = || machines.callers.clone();
        let nodes = NodesServer::new(NodeService::new(callers()));
        let applications = ApplicationsServer::new(ApplicationService::new(callers()));
        let events = EventsServer::new(EventService::new(callers()));
        server
            .add_service(nodes.max_decoding_message_size(MESSAGE))
            .add_service(applications.max_decoding_message_size(MESSAGE))
            .add_service(events.max_decoding_message_size(MESSAGE))
            .serve_with_incoming_shutdown(few, ends)
            .await
            .map_err(other)
    }
}

fn encryption(files: &TlsFiles, client_ca: Option<&Path>) -> Result<ServerTlsConfig, ServeProblem> {
    let failed = |error| ServeProblem::Tls(files.clone(), error);
    let certificates = |path: &Path| certificate_file(path).map_err(failed);
    let key = key_file(&files.key).map_err(failed)?;
    let identity = Identity::from_pem(certificates(&files.certificates)?, key);
    let config = ServerTlsConfig::new().identity(identity);
    Ok(match client_ca {
        Some(path) => config.client_ca_root(Certificate::from_pem(certificates(path)?)),
        None => config,
    })
}

impl Connected for Counted<TcpStream> {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.inner().connect_info()
    }
}
