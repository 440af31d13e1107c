//! What servers have in common: where they listen, how users are found, signals, and the log.

use std::fs;
use std::io::{ErrorKind, IsTerminal};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use capsched_server::daemon::{ServeOptions, ServeProblem, Serving, TlsFiles};
use capsched_server::security::{
    AccessLimits, Authentication, Hosts, JwtKey, TokenFileError, Tokens, new_token,
};

use crate::output::Problem;
use crate::text_file;

/// Longest file of tokens or of a key, in bytes.
const LONGEST: u64 = 16 << 20;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Network")]
pub(crate) struct Network {
    /// Where to listen; port 0 lets the system choose.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8088")]
    listen: SocketAddr,
    /// A further host name that is answered; localhost and addresses always are.
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    host_name: Vec<String>,
    /// Certificate chain in PEM form.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its key in PEM form.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Clients must show a certificate of this authority, in PEM form.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// Listen on other addresses than loopback without encryption, behind a proxy that encrypts.
    #[arg(long)]
    insecure_plain: bool,
    /// Requests a second of one peer; 0: no limit.
    #[arg(long, value_name = "N", default_value_t = 500)]
    rate_limit: u32,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Users")]
pub(crate) struct Users {
    /// Static tokens: lines of user, SHA-256 of the token, and the end in s of the Unix epoch if any.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Key of signed tokens (JWT): a public key in PEM form, or the secret of HS256.
    #[arg(long, value_name = "FILE")]
    jwt_key: Option<PathBuf>,
    /// Audience that a signed token must name.
    #[arg(long, value_name = "NAME", requires = "jwt_key")]
    jwt_audience: Option<String>,
    /// Believe the name in `user.name`, without any proof: everybody can be everybody.
    #[arg(long, conflicts_with_all = ["tokens", "jwt_key"])]
    insecure_simple: bool,
}

/// A name that a `Host` header may hold.
fn host_name(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=253).contains(&text.len()) && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a host name without a port is expected, such as rm.example.org".to_owned())
    }
}

impl Network {
    /// How to listen; with a token that was made for a user, if there is no other way to prove a name.
    pub(crate) fn options(
        &self,
        users: &Users,
        made: Option<&str>,
    ) -> Result<(ServeOptions, Option<String>)> {
        let (authentication, token) = users.authentication(made)?;
        let mut options = ServeOptions::at(self.listen);
        options.authentication = authentication;
        options.hosts = Hosts::and(self.host_name.iter().cloned());
        options.plain_is_fine = self.insecure_plain;
        options.limits = AccessLimits {
            per_second: self.rate_limit,
            ..AccessLimits::default()
        };
        if let (Some(certificates), Some(key)) = (&self.tls_cert, &self.tls_key) {
            options.tls = Some(TlsFiles {
                certificates: certificates.clone(),
                key: key.clone(),
                client_ca: self.tls_client_ca.clone(),
            });
        }
        Ok((options, token))
    }

    /// The first further host name.
    pub(crate) fn first_host_name(&self) -> Option<&str> {
        self.host_name.first().map(String::as_str)
    }

    /// The address that other servers name as the leader's.
    pub(crate) fn advertised(&self, serving: &Serving) -> String {
        let page = serving.page();
        let base = page.trim_end_matches("/ui/");
        match (self.host_name.first(), base.split_once("://")) {
            (Some(name), Some((scheme, _))) => {
                format!("{scheme}://{name}:{}", serving.address().port())
            }
            _ => base.to_owned(),
        }
    }
}

impl Users {
    /// How users are found. Where nobody could prove a name, a token is made for this user.
    fn authentication(&self, made: Option<&str>) -> Result<(Authentication, Option<String>)> {
        let mut found = Authentication::none();
        if let Some(path) = &self.tokens {
            let text = text_file::read(path, LONGEST)?;
            let wrong = |error: TokenFileError| {
                Problem(format!("{}:{}: {}", path.display(), error.line, error.why))
            };
            let tokens = Tokens::read(&text).map_err(wrong)?;
            if tokens.is_empty() {
                return Err(Problem(format!("{}: there is no token in it", path.display())).into());
            }
            found = found.with_tokens(tokens);
        }
        if let Some(path) = &self.jwt_key {
            let wrong = |error| Problem(format!("{}: {error}", path.display()));
            let key = JwtKey::read(&read(path)?, self.jwt_audience.as_deref());
            found = found.with_jwt(key.map_err(wrong)?);
        }
        if self.insecure_simple {
            return Ok((found.with_bare_names(), None));
        }
        if let Some(user) = made.filter(|_| !found.proves()) {
            let token = new_token().context("the system gives no random bytes")?;
            return Ok((found.with_tokens(Tokens::one(user, &token)), Some(token)));
        }
        Ok((found, None))
    }
}

/// A runtime of two threads.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(2).enable_all().build();
    built.context("threads cannot be started")
}

/// Ends with the first signal that is to end the server. Signals are taken from the call on.
#[cfg(unix)]
pub(crate) fn signalled() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub(crate) fn signalled() -> std::io::Result<impl Future<Output = ()> + Send> {
    Ok(async {
        // Where it cannot be awaited, the system ends the process.
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Writes the log of a server to standard error.
pub(crate) fn log_to_standard_error(level: tracing::Level) {
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // A second log would be one of a test within this process.
    let _ = log.try_init();
}

/// An address that must not be listened on is a problem of what was given.
pub(crate) fn refused(problem: ServeProblem) -> anyhow::Error {
    match problem {
        ServeProblem::Bind(_) => Problem(problem.to_string()).into(),
        ServeProblem::Tls(_, error) if error.kind() == ErrorKind::InvalidData => {
            Problem(error.to_string()).into()
        }
        other => other.into(),
    }
}

/// Reads a whole file that is not too long.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display().to_string();
    let data = fs::metadata(path).with_context(|| shown.clone())?;
    if !data.is_file() {
        bail!("{shown}: not a regular file");
    }
    if data.len() > LONGEST {
        return Err(Problem(format!("{shown}: the file is longer than {LONGEST} bytes")).into());
    }
    fs::read(path).with_context(|| shown)
}
