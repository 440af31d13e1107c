//! Host names that are answered. A page of another site whose name is changed to this machine's address is not.

use std::collections::BTreeSet;
use std::net::IpAddr;

/// Host names that a request may be for.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    names: BTreeSet<String>,
}

impl Hosts {
    /// `localhost`, every address written as digits, and these names.
    #[must_use]
    pub fn and(names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|name| name.to_ascii_lowercase());
        Self {
            names: names.collect(),
        }
    }

    /// Whether a `Host` header names this server. Addresses do: who changes a name's address cannot change those.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else {
            return false;
        };
        let digits = name.trim_start_matches('[').trim_end_matches(']');
        let name = name.to_ascii_lowercase();
        name == "localhost" || digits.parse::<IpAddr>().is_ok() || self.names.contains(&name)
    }
}

/// The name before a port.
fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.rfind(':') {
        Some(at) if !host.ends_with(']') => (&host[..at], &host[at + 1..]),
        _ => (host, "0"),
    };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_localhost_and_listed_names_are_answered() {
        let hosts = Hosts::and(["RM.example.org".to_owned()]);
        for host in [
            "127.0.0.1:8088",
            "[::1]:8088",
            "[::1]",
            "localhost",
            "LocalHost:80",
            "10.0.0.7:8088",
            "rm.example.org:8088",
        ] {
            assert!(hosts.allows(host), "{host}");
        }
        for host in [
            "",
            ":8088",
            "evil.example:8088",
            "rm.example.org.evil.example",
            "localhost:x",
            "localhost:",
        ] {
            assert!(!hosts.allows(host), "{host}");
        }
    }
}
