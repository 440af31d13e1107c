//! `capsched serve --grpc`: node agents and application masters over gRPC.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use capsched_server::daemon::{ServeOptions, ServeProblem};
use capsched_server::rm::ResourceManager;

/// Where the machines' interface listens.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Machines")]
pub(crate) struct GrpcArgs {
    /// Listen for node agents and application masters over gRPC; port 0 lets the system choose. Users and encryption
    /// are those of the other interface. The program must be built with the feature `grpc`.
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<SocketAddr>,
    /// Clients must show a certificate of this authority, in PEM form.
    #[arg(long, value_name = "FILE", requires_all = ["grpc", "tls_cert"])]
    grpc_client_ca: Option<PathBuf>,
}

/// The interface, listening.
#[cfg(feature = "grpc")]
pub(crate) struct Listening {
    serving: capsched_server::grpc::GrpcServing,
    options: capsched_server::grpc::GrpcOptions,
}

/// There is none in a build without gRPC.
#[cfg(not(feature = "grpc"))]
pub(crate) enum Listening {}

impl GrpcArgs {
    /// Listens where that is wanted.
    #[cfg(feature = "grpc")]
    pub(crate) fn listen(&self, options: &ServeOptions) -> Result<Option<Listening>, ServeProblem> {
        use capsched_server::grpc::{GrpcOptions, GrpcServing};
        let Some(listen) = self.grpc else {
            return Ok(None);
        };
        let mut options = GrpcOptions::beside(options, listen);
        if self.grpc_client_ca.is_some() {
            options.client_ca.clone_from(&self.grpc_client_ca);
        }
        let serving = GrpcServing::listen(&options)?;
        Ok(Some(Listening { serving, options }))
    }

    /// There is nothing to listen with.
    #[cfg(not(feature = "grpc"))]
    pub(crate) fn listen(&self, _: &ServeOptions) -> Result<Option<Listening>, ServeProblem> {
        let missing = || ServeProblem::System(std::io::Error::other(super::MISSING));
        let _ = &self.grpc_client_ca;
        self.grpc.map_or(Ok(None), |_| Err(missing()))
    }
}

#[cfg(feature = "grpc")]
impl Listening {
    /// The address, with the port that the system chose.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// Serves until a future ends.
    pub(crate) async fn run(
        self,
        rm: Arc<ResourceManager>,
        ends: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeProblem> {
        let machines = capsched_server::grpc::Machines::new(rm, &self.options);
        self.serving.run(machines, ends).await
    }
}

#[cfg(not(feature = "grpc"))]
impl Listening {
    pub(crate) const fn address(&self) -> SocketAddr {
        match *self {}
    }

    pub(crate) async fn run(
        self,
        _: Arc<ResourceManager>,
        _: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeProblem> {
        match self {}
    }
}
