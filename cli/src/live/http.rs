//! Requests to a server, one after the other, over HTTP/1.1 with or without TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, IF_MATCH};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::output::Problem;

/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Most bytes of an answer.
const LONGEST: usize = 1 << 30;

/// A request with what it carries.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    /// GET, or what changes something.
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: &'a str,
    /// JSON; empty for none.
    pub(super) body: &'a str,
    /// The version that has to hold for a change.
    pub(super) expected: Option<u64>,
}

/// Asks one server.
pub(super) struct Client {
    address: String,
    host: String,
    port: u16,
    token: Option<String>,
    tls: Option<TlsConnector>,
    runtime: tokio::runtime::Runtime,
}

/// Files of an encrypted connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encryption<'a> {
    /// Certificates that the server's must come from.
    pub(super) ca: Option<&'a Path>,
    /// Certificate and key of the client.
    pub(super) own: Option<(&'a Path, &'a Path)>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Client");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at an address.
    pub(super) fn new(address: &str, token: Option<String>, files: Encryption<'_>) -> Result<Self> {
        let shown = address.escape_debug();
        let uri: Uri = address
            .parse()
            .with_context(|| format!("{shown} is no address"))?;
        let host = uri
            .host()
            .with_context(|| format!("{shown} names no host"))?;
        let encrypted = uri.scheme_str() == Some("https");
        if uri.query().is_some() || address.contains('@') {
            bail!(
                "{shown}: an address of a server is http://HOST:PORT, and a path where a proxy adds one"
            );
        }
        let tls = match (encrypted, files.ca) {
            (true, Some(ca)) => Some(connector(ca, files.own)?),
            (true, None) => {
                bail!("{shown}: --ca names the certificates that the server's must come from")
            }
            (false, Some(_)) => bail!("--ca goes with an address that begins with https"),
            (false, None) if files.own.is_some() => {
                bail!("--cert goes with an address that begins with https")
            }
            (false, None) => None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 }),
            address: address.trim_end_matches('/').to_owned(),
            token,
            tls,
            runtime: runtime.context("sockets cannot be used")?,
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The body of an answer that is fine.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not answer in time; a [`Problem`] when it refuses.
    pub(super) fn get(&self, path: &str) -> Result<String> {
        self.call(&Call {
            method: Method::GET,
            path,
            body: "",
            expected: None,
        })
    }

    /// The body of an answer that is fine.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    pub(super) fn call(&self, call: &Call<'_>) -> Result<String> {
        String::from_utf8(self.bytes(call)?).map_err(|_| {
            anyhow::Error::new(Problem(format!("{}{}: no text", self.address, call.path)))
        })
    }

    /// The bytes of an answer that is fine.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    pub(super) fn bytes(&self, call: &Call<'_>) -> Result<Vec<u8>> {
        let answer = async {
            let answer = tokio::time::timeout(PATIENCE, self.ask(call)).await;
            answer.map_err(|_| anyhow!("no answer within {} s", PATIENCE.as_secs()))?
        };
        let answer = self.runtime.block_on(answer);
        let (status, body) = answer.with_context(|| self.address.clone())?;
        if status != StatusCode::OK {
            return Err(self.refused(status, &body));
        }
        Ok(body.into())
    }

    async fn ask(&self, call: &Call<'_>) -> Result<(StatusCode, Bytes)> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.context("no server answers; `capsched serve` starts one")?;
        match &self.tls {
            None => self.send(stream, call).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).context("the host")?;
                self.send(tls.connect(name, stream).await.context("TLS")?, call)
                    .await
            }
        }
    }

    async fn send<S>(&self, stream: S, call: &Call<'_>) -> Result<(StatusCode, Bytes)>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // It ends with the sender; what it fails with, the request fails with, too.
        tokio::spawn(connection);
        let uri: Uri = format!("{}{}", self.address, call.path).parse()?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let authority = uri.authority().context("the host")?.as_str();
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(target)
            .header(HOST, authority)
            .header(ACCEPT, "application/json");
        if !call.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(version) = call.expected {
            request = request.header(IF_MATCH, format!("\"{version}\""));
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let answer = sender
            .send_request(request.body(Full::new(Bytes::from(call.body.to_owned())))?)
            .await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LONGEST).collect().await;
        let body = body.map_err(|error| anyhow!("the answer breaks off: {error}"))?;
        Ok((status, body.to_bytes()))
    }

    /// What a refusal says, with what to do.
    fn refused(&self, status: StatusCode, body: &[u8]) -> anyhow::Error {
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = document["message"]
            .as_str()
            .or(document["error"].as_str())
            .or(document["RemoteException"]["message"].as_str());
        // A change that YARN's route refuses is answered by a line of text.
        let plain = std::str::from_utf8(body).unwrap_or_default().trim();
        let plain = Some(plain).filter(|text| !text.is_empty() && !text.starts_with(['<', '{']));
        let message = message.or(plain);
        let message = message.unwrap_or_else(|| status.canonical_reason().unwrap_or("refused"));
        let next = match status {
            StatusCode::UNAUTHORIZED => "; --token FILE or --user NAME say who asks",
            _ => "",
        };
        let code = status.as_u16();
        anyhow::Error::new(Problem(format!(
            "{}: {code}: {message}{next}",
            self.address
        )))
    }
}

/// A connector that trusts the certificates of a file alone, and shows a certificate where there is one.
fn connector(ca: &Path, own: Option<(&Path, &Path)>) -> Result<TlsConnector> {
    let shown = || ca.display().to_string();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).with_context(shown)? {
        roots
            .add(certificate.with_context(shown)?)
            .with_context(shown)?;
    }
    if roots.is_empty() {
        let problem = format!("{}: holds no certificate in PEM form", ca.display());
        return Err(anyhow::Error::new(Problem(problem)));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.context("TLS")?;
    let config = config.with_root_certificates(roots);
    let config = match own {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let shown = || certificate.display().to_string();
            let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
                .with_context(shown)?
                .collect();
            let key =
                PrivateKeyDer::from_pem_file(key).with_context(|| key.display().to_string())?;
            let chain = chain.with_context(shown)?;
            config
                .with_client_auth_cert(chain, key)
                .with_context(shown)?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}
