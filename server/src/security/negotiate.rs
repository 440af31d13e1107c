//! `Authorization: Negotiate`: a token of the client proves its name, and the answer carries one that proves the server's.
// As KerberosAuthenticationHandler: one token proves a name, and a token that does not is refused with 403.

use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Who checks tokens of clients.
pub trait Negotiation: fmt::Debug + Send + Sync {
    /// The user that a token proves. It may wait for files.
    ///
    /// # Errors
    ///
    /// Why the token proves none.
    fn accept(&self, token: &[u8]) -> Result<Accepted, NegotiationProblem>;
}

/// A proven name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The user.
    pub user: String,
    /// The token for the client; empty where it wants none.
    pub answer: Vec<u8>,
}

/// Why a token proves no name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NegotiationProblem {
    /// It is refused. The reason is for the log.
    Refused(String),
    /// The client has to send another one in answer to this one.
    Continues(Vec<u8>),
}

/// The token of a request; nothing where it has another scheme or no credentials.
pub(super) fn token_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    scheme
        .eq_ignore_ascii_case("negotiate")
        .then(|| token.trim().to_owned())
}

/// Checks a token beside the threads that answer.
pub(super) async fn accept(
    negotiation: Arc<dyn Negotiation>,
    token: String,
) -> Result<Accepted, NegotiationProblem> {
    let check = move || {
        let read = STANDARD.decode(token.as_bytes());
        let token = read.map_err(|error| refused(format!("no base 64: {error}")))?;
        negotiation.accept(&token)
    };
    let checked = tokio::task::spawn_blocking(check).await;
    checked.unwrap_or_else(|error| Err(refused(error.to_string())))
}

const fn refused(why: String) -> NegotiationProblem {
    NegotiationProblem::Refused(why)
}

/// The header that asks for a token, or carries the server's.
pub(super) fn challenge(token: &[u8]) -> HeaderValue {
    let text = match token {
        [] => "Negotiate".to_owned(),
        token => format!("Negotiate {}", STANDARD.encode(token)),
    };
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("Negotiate"))
}
