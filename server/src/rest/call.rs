//! One request, read: who calls, what for, and in which form the answer is wanted.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use percent_encoding::percent_decode_str;

use super::wire::{Failure, Media};

/// The user of callers who name none.
// As hadoop.http.staticuser.user.
pub const STATIC_USER: &str = "dr.who";

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who calls.
    pub user: String,
    /// Whether the request named its caller.
    pub named: bool,
    /// Host and port by which the daemon was reached.
    pub host: String,
    /// The media type of the answer.
    pub media: Media,
    /// Parts of the path that the route leaves open, by name.
    pub path: BTreeMap<String, String>,
    /// The query's names and values in order.
    pub query: Vec<(String, String)>,
    /// Media type of the body, without parameters.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

impl Call {
    /// Reads a request; nothing when its caller accepts neither JSON nor XML.
    pub(crate) fn read(
        headers: &HeaderMap,
        query: Option<&str>,
        path: BTreeMap<String, String>,
        body: Bytes,
    ) -> Option<Self> {
        let media = Media::of(headers)?;
        let text = |name| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let content_type = text(header::CONTENT_TYPE);
        let content_type = content_type.split(';').next().unwrap_or_default();
        let mut call = Self {
            user: STATIC_USER.to_owned(),
            named: false,
            host: text(header::HOST),
            media,
            path,
            query: parse_query(query.unwrap_or_default()),
            content_type: content_type.trim().to_ascii_lowercase(),
            body,
        };
        let user = call.first("user.name").map(str::to_owned);
        if let Some(user) = user.filter(|user| !user.is_empty()) {
            call.user = user;
            call.named = true;
        }
        Some(call)
    }

    /// A part of the path.
    #[must_use]
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The first value of a query name.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The first value of a query name that is not empty.
    #[must_use]
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.first(name).filter(|value| !value.is_empty())
    }

    /// All values of some query names, split at commas, without empty ones.
    #[must_use]
    pub fn list(&self, names: &[&str]) -> Vec<String> {
        let named = |(key, _): &&(String, String)| names.contains(&key.as_str());
        let values = self.query.iter().filter(named);
        let parts = values.flat_map(|(_, value)| value.split(','));
        let parts = parts.map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// 400 when it is none.
    pub fn json(&self) -> Result<serde_json::Value, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::other(
                axum::http::StatusCode::BAD_REQUEST,
                "WebApplicationException",
                format!("the body is no JSON: {error}"),
            )
        })
    }
}

/// Names and values of a query, decoded.
fn parse_query(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        })
        .collect()
}
