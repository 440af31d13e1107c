//! Clients of the machines' interface that simulate node agents and applications.
//!
//! They see nothing but the protocol. Node agents keep account of what they run: a container that is to be launched
//! twice, or on two nodes, and a node with more than it offers are counted as errors of the server.

mod applications;
mod figures;
mod nodes;

use std::path::PathBuf;
use std::time::Duration;

use tonic::Status;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

pub use applications::{ApplicationFigures, ApplicationLoad};
pub use figures::Latencies;
pub use nodes::{NodeFigures, NodeLoad};

/// How a client reaches the server.
#[derive(Clone, Debug)]
pub struct Server {
    /// `http://host:port` or `https://host:port`.
    pub address: String,
    /// Token that proves the user.
    pub token: Option<String>,
    /// User without a proof, where the server believes names.
    pub user: Option<String>,
    /// Certificates that the server's must come from, in PEM form.
    pub ca: Option<PathBuf>,
    /// Certificate and key of the client, in PEM form.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Server {
    /// A server without encryption that believes a name.
    #[must_use]
    pub fn plain(address: impl Into<String>, user: &str) -> Self {
        Self {
            address: address.into(),
            token: None,
            user: Some(user.to_owned()),
            ca: None,
            identity: None,
        }
    }

    /// Connects, and tries again for so long.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or a file, or why no connection came about.
    pub async fn connect(&self, patience: Duration) -> Result<Channel, String> {
        let shown = |error: tonic::transport::Error| match std::error::Error::source(&error) {
            Some(cause) => format!("{}: {error}: {cause}", self.address),
            None => format!("{}: {error}", self.address),
        };
        let endpoint = Endpoint::from_shared(self.address.clone()).map_err(shown)?;
        let endpoint = endpoint.tcp_nodelay(true).timeout(Duration::from_secs(30));
        let endpoint = match self.encryption()? {
            Some(tls) => endpoint.tls_config(tls).map_err(shown)?,
            None => endpoint,
        };
        let until = tokio::time::Instant::now() + patience;
        loop {
            match endpoint.connect().await {
                Ok(channel) => return Ok(channel),
                Err(error) if tokio::time::Instant::now() >= until => return Err(shown(error)),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn encryption(&self) -> Result<Option<ClientTlsConfig>, String> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        if !self.address.starts_with("https://") {
            return Ok(None);
        }
        let mut tls = ClientTlsConfig::new();
        if let Some(ca) = &self.ca {
            tls = tls.ca_certificate(Certificate::from_pem(read(ca)?));
        }
        if let Some((certificate, key)) = &self.identity {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        Ok(Some(tls))
    }

    /// What each call carries.
    ///
    /// # Errors
    ///
    /// When the token or the name cannot be sent.
    pub fn credentials(&self) -> Result<Credentials, String> {
        let value = |text: String| {
            let read = text.parse::<MetadataValue<Ascii>>();
            read.map_err(|_| "the token or name has characters that cannot be sent".to_owned())
        };
        let token = self.token.as_ref();
        let token = token.map(|token| value(format!("Bearer {token}")));
        let user = self.user.clone().map(value);
        Ok(Credentials {
            token: token.transpose()?,
            user: user.transpose()?,
        })
    }
}

/// Token and user of a client.
#[derive(Clone, Debug)]
pub struct Credentials {
    token: Option<MetadataValue<Ascii>>,
    user: Option<MetadataValue<Ascii>>,
}

impl Interceptor for Credentials {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        let metadata = request.metadata_mut();
        if let Some(token) = &self.token {
            metadata.insert("authorization", token.clone());
        }
        if let Some(user) = &self.user {
            metadata.insert("user.name", user.clone());
        }
        Ok(request)
    }
}

/// Numbers without a pattern, the same for one seed.
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number from one to another, both included.
    const fn within(&mut self, (low, high): (u64, u64)) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + self.0 % (high.saturating_sub(low) + 1)
    }
}
