//! An authority of a test, with the certificates that it gave out as files.

use std::fs;
use std::path::PathBuf;

use capsched_server::daemon::TlsFiles;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority. Its files end with it.
pub(crate) struct Authority {
    dir: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { dir, issuer }
    }

    /// The file of its own certificate.
    pub(crate) fn ca(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// Files of a certificate of this machine and its key.
    pub(crate) fn give(&self, name: &str) -> TlsFiles {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = CertificateParams::new(names).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |kind: &str, text: String| {
            let path = self.dir.path().join(format!("{name}.{kind}"));
            fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            certificates: write("pem", certificate.pem()),
            key: write("key", key.serialize_pem()),
            client_ca: None,
        }
    }
}
