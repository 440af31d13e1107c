//! A server that runs, as `why` and `top` look at it: read-only, over its own interface.

mod answers;
mod http;
mod moments;
mod node_checks;
mod past;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use capsched::api::ApplicationId;
use serde::de::DeserializeOwned;

use crate::output::Problem;
use answers::{AppsAnswer, WhyAnswer};
use http::{Call, Client, Encryption};
pub(crate) use hyper::Method;
use node_checks::WhyNotAnswer;

pub(crate) use answers::{ServedApp, ServedWhy};
#[cfg(feature = "top")]
pub(crate) use moments::watch;
pub(crate) use moments::{first, moment};
pub(crate) use node_checks::ServedWhyNot;

/// Rows of applications that are asked for at once.
const PAGE: usize = 1000;

/// How a server is reached.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// File with the token that proves the user to the server.
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// User, where the server believes names.
    #[arg(long, value_name = "NAME", conflicts_with = "token")]
    user: Option<String>,
    /// Certificates that the server's must come from, in PEM form; for an address that begins with https.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Certificate of the client, in PEM form, where the server demands one.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key, in PEM form.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl ServerArgs {
    /// The files of an encrypted connection.
    fn encryption(&self) -> Encryption<'_> {
        Encryption {
            ca: self.ca.as_deref(),
            own: self.cert.as_deref().zip(self.key.as_deref()),
        }
    }

    /// Refuses them beside what is no server.
    pub(crate) fn refuse(&self) -> Result<()> {
        let files = [&self.token, &self.ca, &self.cert, &self.key];
        if self.user.is_some() || files.iter().any(|file| file.is_some()) {
            bail!(
                "--token, --user, --ca, --cert and --key go with the address of a server, such as http://127.0.0.1:8088"
            );
        }
        Ok(())
    }
}

/// The arguments as they are typed, each behind a space.
impl fmt::Display for ServerArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(token) = &self.token {
            write!(f, " --token {}", token.display())?;
        }
        if let Some(user) = &self.user {
            write!(f, " --user {user}")?;
        }
        for (name, file) in [("ca", &self.ca), ("cert", &self.cert), ("key", &self.key)] {
            if let Some(file) = file {
                write!(f, " --{name} {}", file.display())?;
            }
        }
        Ok(())
    }
}

/// Whether an argument names a server and no file.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// A server.
#[derive(Debug)]
pub(crate) struct LiveServer {
    client: Client,
    user: Option<String>,
}

impl LiveServer {
    /// Gets ready to ask a server; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When the address is none, or a file cannot be read.
    pub(crate) fn open(address: &str, args: &ServerArgs) -> Result<Self> {
        let token = args.token.as_ref().map(|path| {
            let text = std::fs::read_to_string(path);
            let text = text.with_context(|| path.display().to_string())?;
            let text = text.trim().to_owned();
            let usable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
            if !usable {
                let problem = format!(
                    "{}: a token is one word of visible ASCII characters",
                    path.display()
                );
                return Err(anyhow::Error::new(Problem(problem)));
            }
            Ok(text)
        });
        Ok(Self {
            client: Client::new(address, token.transpose()?, args.encryption())?,
            user: args.user.clone(),
        })
    }

    /// The address as it was given, without its end.
    pub(crate) fn address(&self) -> &str {
        self.client.address()
    }

    /// Why one application waits, and what would help it.
    pub(crate) fn why(&self, app: ApplicationId) -> Result<ServedWhy> {
        let answer: WhyAnswer = self.json(&format!("/v1/apps/{app}/why?would_help=true"))?;
        answer.read(app)
    }

    /// What a node lacks for an application; it is named by `host:port`, or by its host.
    pub(crate) fn why_not(&self, app: ApplicationId, node: &str) -> Result<ServedWhyNot> {
        let path = format!("/v1/apps/{app}/why-not/{}", encoded(node));
        self.json::<WhyNotAnswer>(&path)?.read()
    }

    /// Live applications, those with most containers that wait first.
    pub(crate) fn apps(&self) -> Result<Vec<ServedApp>> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/v1/apps?live=true&limit={PAGE}{after}");
            let page: AppsAnswer = self.json(&path)?;
            let next = page.next.clone();
            all.extend(page.read()?);
            match next {
                Some(next) => after = format!("&after={next}"),
                None => return Ok(all),
            }
        }
    }

    /// An application by its id, its number, or its name.
    pub(crate) fn find(&self, text: &str) -> Result<ServedApp> {
        let by_id = text.parse::<ApplicationId>().ok();
        let by_number = text.parse::<u32>().ok();
        let part = match (by_id, by_number) {
            (Some(id), _) => id.to_string(),
            (None, Some(number)) => format!("_{number:04}"),
            (None, None) => encoded(text),
        };
        let path = format!("/v1/apps?limit={PAGE}&descending=true&q={part}");
        let page: AppsAnswer = self.json(&path)?;
        let apps = page.read()?;
        let is_meant = |app: &&ServedApp| match (by_id, by_number) {
            (Some(id), _) => app.id == id,
            (None, Some(number)) => app.id.sequence == number,
            (None, None) => app.name == text,
        };
        let found = apps.iter().find(is_meant).cloned();
        found.ok_or_else(|| {
            let likely: Vec<String> = apps.iter().take(3).map(|app| app.id.to_string()).collect();
            let hint = match likely.is_empty() {
                true => String::new(),
                false => format!("; did you mean {}?", likely.join(", ")),
            };
            let shown = text.escape_debug();
            anyhow::Error::new(Problem(format!(
                "{} has no application {shown}{hint}",
                self.address()
            )))
        })
    }

    /// The document of a path.
    pub(crate) fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let text = self.text(path)?;
        serde_json::from_str(&text).map_err(|error| self.foreign(path, &error))
    }

    /// The text of a path.
    fn text(&self, path: &str) -> Result<String> {
        self.client.get(&self.named(path))
    }

    /// The bytes of a path.
    pub(crate) fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        self.client.bytes(&Call {
            method: Method::GET,
            path: &self.named(path),
            body: "",
            expected: None,
        })
    }

    /// Sends JSON that changes something, with the version that has to hold for it.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached; a [`Problem`] when it refuses.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        (body, expected): (&str, Option<u64>),
    ) -> Result<String> {
        self.client.call(&Call {
            method,
            path: &self.named(path),
            body,
            expected,
        })
    }

    /// A path with who asks, where a server believes names.
    fn named(&self, path: &str) -> String {
        let user = self.user.as_ref().map_or_else(String::new, |user| {
            let mark = if path.contains('?') { '&' } else { '?' };
            format!("{mark}user.name={}", encoded(user))
        });
        format!("{path}{user}")
    }

    /// The answer is not what a server of this program gives.
    pub(crate) fn foreign(&self, path: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
        let address = self.address();
        anyhow::Error::new(Problem(format!(
            "{address}{path}: not the answer of `capsched serve`: {error}"
        )))
    }
}

/// A text as a value in a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let part = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_queries_keep_plain_characters_alone() {
        assert_eq!(encoded("ann_1 b&c"), "ann_1%20b%26c");
        assert_eq!(encoded("a-b.c~d"), "a-b.c~d");
    }

    #[test]
    fn addresses_are_distinguished_from_folders() {
        assert!(is_address("http://localhost:8088") && is_address("https://rm"));
        assert!(!is_address("runs/last") && !is_address("httpd"));
    }
}
