//! How a server listens, and why it does not.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::security::{AccessLimits, Authentication, BindProblem, Hosts, bind_problem};

/// A certificate chain and its key, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's own certificate first.
    pub certificates: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// Certificates of which a client must prove one; nothing: it needs none.
    pub client_ca: Option<PathBuf>,
}

/// How a server listens.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where.
    pub listen: SocketAddr,
    /// How users are found.
    pub authentication: Authentication,
    /// Host names that are answered.
    pub hosts: Hosts,
    /// Encryption; nothing: none.
    pub tls: Option<TlsFiles>,
    /// Whether something else encrypts, such as a proxy.
    pub plain_is_fine: bool,
    /// Limits of requests.
    pub limits: AccessLimits,
}

impl ServeOptions {
    /// Listens at an address without users and encryption, as only a loopback address may.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            authentication: Authentication::none(),
            hosts: Hosts::default(),
            tls: None,
            plain_is_fine: false,
            limits: AccessLimits::default(),
        }
    }

    /// Whether callers without a name may look: those of this machine, or everybody where names are not proved.
    #[must_use]
    pub fn anonymous_reads(&self) -> bool {
        self.listen.ip().is_loopback() || self.authentication.believes_names()
    }

    /// Checks that nobody from outside gets in without proof.
    ///
    /// # Errors
    ///
    /// As [`BindProblem`].
    pub fn check(&self) -> Result<(), ServeProblem> {
        let encrypted = self.tls.is_some() || self.plain_is_fine;
        match bind_problem(self.listen, &self.authentication, encrypted) {
            Some(problem) => Err(ServeProblem::Bind(problem)),
            None => Ok(()),
        }
    }
}

/// Why a server does not serve.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeProblem {
    /// The address is not one to listen on so.
    Bind(BindProblem),
    /// The address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// A file of the encryption cannot be read, or holds something else, which is of kind `InvalidData`.
    Tls(TlsFiles, io::Error),
    /// The system refuses what a server needs.
    System(io::Error),
}

impl fmt::Display for ServeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(problem) => problem.fmt(f),
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            // The error names the file.
            Self::Tls(_, error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServeProblem {}
