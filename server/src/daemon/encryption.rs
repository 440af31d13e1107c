//! Encryption by rustls: the server's certificate, and the certificates that clients have to show.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum_server::tls_rustls::RustlsConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::options::TlsFiles;

/// Protocols that clients may choose, the best one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

fn other(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

/// The certificates of a file, at least one.
fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).map_err(other)?;
    let read: Result<Vec<_>, _> = read.collect();
    let read = read.map_err(other)?;
    if read.is_empty() {
        let text = format!("{}: there is no certificate in it", path.display());
        return Err(io::Error::other(text));
    }
    Ok(read)
}

/// What the files say.
pub(super) fn encryption(files: &TlsFiles) -> io::Result<RustlsConfig> {
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(other)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(other)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(other)?)
        }
    };
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(other)?;
    let chain = certificates(&files.certificates)?;
    let mut config = builder.with_single_cert(chain, key).map_err(other)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(RustlsConfig::from_config(Arc::new(config)))
}
