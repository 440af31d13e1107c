//! Encryption by rustls: the server's certificate, and the certificates that clients have to show.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use axum_server::tls_rustls::RustlsConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::options::TlsFiles;

/// Protocols that clients may choose, the best one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Longest file that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// A file that holds something else.
fn wrong(path: &Path, why: impl fmt::Display) -> io::Error {
    let text = format!("{}: {why}", path.display());
    io::Error::new(ErrorKind::InvalidData, text)
}

/// The bytes of a regular file: nobody may ever write into a pipe.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let shown =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let data = fs::metadata(path).map_err(shown)?;
    if !data.is_file() {
        return Err(shown(io::Error::other("not a regular file")));
    }
    if data.len() > LONGEST {
        return Err(wrong(path, format_args!("more than {LONGEST} bytes")));
    }
    fs::read(path).map_err(shown)
}

/// A file of certificates as it is.
#[cfg(feature = "grpc")]
pub(crate) fn certificate_file(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read(path)?;
    certificates(path, &bytes).map(|_| bytes)
}

/// A file of a private key as it is.
#[cfg(feature = "grpc")]
pub(crate) fn key_file(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read(path)?;
    key(path, &bytes).map(|_| bytes)
}

/// The certificates of a file, at least one.
fn certificates(path: &Path, bytes: &[u8]) -> io::Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let found = found.map_err(|error| wrong(path, error))?;
    if found.is_empty() {
        return Err(wrong(path, "there is no certificate in it"));
    }
    Ok(found)
}

/// The private key of a file.
fn key(path: &Path, bytes: &[u8]) -> io::Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => wrong(path, "there is no private key in it"),
        other => wrong(path, other),
    })
}

/// What the files say.
pub(super) fn encryption(files: &TlsFiles) -> io::Result<RustlsConfig> {
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(io::Error::other)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path, &read(path)?)? {
                let added = roots.add(certificate);
                added.map_err(|error| wrong(path, error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier.build().map_err(|error| wrong(path, error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = key(&files.key, &read(&files.key)?)?;
    let chain = certificates(&files.certificates, &read(&files.certificates)?)?;
    let config = builder.with_single_cert(chain, key);
    let mut config = config.map_err(|error| wrong(&files.certificates, error))?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(RustlsConfig::from_config(Arc::new(config)))
}
