//! Names and addresses of cells.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest name of a cell, in bytes.
const LONGEST_NAME: usize = 64;

/// The name of a cell: letters, digits, `-` and `_`, 1 to 64 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CellName(Arc<str>);

impl CellName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CellName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        if text.is_empty() || text.len() > LONGEST_NAME || !text.bytes().all(plain) {
            let shown = shown(&text);
            return Err(format!(
                "`{shown}` is no name of a cell: 1 to {LONGEST_NAME} letters, digits, - and _ are expected"
            ));
        }
        Ok(Self(text.into()))
    }
}

impl From<CellName> for String {
    fn from(name: CellName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a resource manager of a cell answers: `http://host:port` or `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CellAddress(String);

impl CellAddress {
    /// The address as text, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether calls are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl TryFrom<String> for CellAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let trimmed = text.strip_suffix('/').unwrap_or(&text);
        let read: Result<axum::http::Uri, _> = trimmed.parse();
        let fits = read.is_ok_and(|uri| {
            let known = matches!(uri.scheme_str(), Some("http" | "https"));
            let authority = uri.authority().map(axum::http::uri::Authority::as_str);
            let bare = authority.is_some_and(|name| !name.contains('@'));
            let root = uri.path() == "/" && uri.query().is_none();
            known && bare && root && uri.port_u16().is_some_and(|port| port > 0)
        });
        match fits {
            true => Ok(Self(trimmed.to_owned())),
            false => Err(format!(
                "`{}` is no address of a cell: http://host:port or https://host:port is expected",
                shown(&text)
            )),
        }
    }
}

impl From<CellAddress> for String {
    fn from(address: CellAddress) -> Self {
        address.0
    }
}

impl fmt::Display for CellAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The beginning of a text from outside, without control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}
