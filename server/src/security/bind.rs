//! Addresses that may be listened on: loopback, or others with authentication and encryption.

use std::net::SocketAddr;

use thiserror::Error;

use super::authentication::Authentication;

/// Why an address is not listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BindProblem {
    /// Anybody could do anything.
    #[error(
        "{0} can be reached from other machines, and nobody has to prove a name: give --tokens or --jwt-key, \
         or listen on a loopback address"
    )]
    NoAuthentication(SocketAddr),
    /// Tokens would cross the network as they are.
    #[error(
        "{0} can be reached from other machines, and tokens would cross the network unencrypted: give --tls-cert \
         and --tls-key, or --insecure-plain where a proxy encrypts"
    )]
    NoEncryption(SocketAddr),
    /// Profiles would be shown to everybody.
    #[error(
        "{0} can be reached from other machines: --debug-address takes a loopback address alone"
    )]
    DebugFromOutside(SocketAddr),
}

/// Why an address may not be listened on; nothing when it may. Bare names are a choice that was made explicitly.
#[must_use]
pub fn bind_problem(
    address: SocketAddr,
    authentication: &Authentication,
    encrypted: bool,
) -> Option<BindProblem> {
    if address.ip().is_loopback() || authentication.believes_names() {
        return None;
    }
    if !authentication.proves() {
        return Some(BindProblem::NoAuthentication(address));
    }
    (!encrypted).then_some(BindProblem::NoEncryption(address))
}

/// What a server that other machines reach does without, by a choice that was made explicitly; nothing: it does without
/// nothing. It is said again and again, since such a choice is easily forgotten.
#[must_use]
pub fn exposure(
    address: SocketAddr,
    authentication: &Authentication,
    encrypted: bool,
) -> Option<String> {
    if address.ip().is_loopback() {
        return None;
    }
    if authentication.believes_names() {
        return Some(format!(
            "--insecure-simple: whoever reaches {address} can be everybody"
        ));
    }
    (!encrypted).then(|| {
        format!("--insecure-plain: what is sent to {address}, tokens too, is not encrypted here")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::Tokens;

    #[test]
    fn other_machines_need_a_proof_of_the_name_and_encryption() {
        let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let (every, six) = (
            "0.0.0.0:8088".parse().unwrap(),
            "[::]:8088".parse().unwrap(),
        );
        let none = Authentication::none();
        let token = Authentication::none().with_tokens(Tokens::one("ann", "t"));
        let simple = Authentication::none().with_bare_names();
        assert_eq!(bind_problem(loopback, &none, false), None);
        assert_eq!(bind_problem("[::1]:1".parse().unwrap(), &none, false), None);
        for address in [every, six] {
            let problem = bind_problem(address, &none, true);
            assert_eq!(problem, Some(BindProblem::NoAuthentication(address)));
            let problem = bind_problem(address, &token, false);
            assert_eq!(problem, Some(BindProblem::NoEncryption(address)));
            assert_eq!(bind_problem(address, &token, true), None);
            assert_eq!(bind_problem(address, &simple, false), None);
        }
    }

    #[test]
    fn what_a_server_does_without_is_said_where_others_reach_it() {
        let (here, every) = ("[::1]:1".parse().unwrap(), "0.0.0.0:8088".parse().unwrap());
        let token = Authentication::none().with_tokens(Tokens::one("ann", "t"));
        let simple = Authentication::none().with_bare_names();
        for authentication in [&token, &simple] {
            assert_eq!(exposure(here, authentication, false), None);
        }
        assert_eq!(exposure(every, &token, true), None);
        for (authentication, encrypted, word) in [
            (&token, false, "--insecure-plain"),
            (&simple, false, "--insecure-simple"),
            (&simple, true, "--insecure-simple"),
        ] {
            let said = exposure(every, authentication, encrypted).unwrap();
            assert!(
                said.contains(word) && said.contains("0.0.0.0:8088"),
                "{said}"
            );
        }
    }
}
