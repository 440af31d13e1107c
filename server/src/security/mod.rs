//! Who calls, what callers may do, and what a request may look like.
//!
//! | part | what it does |
//! |---|---|
//! | [`Authentication`] | finds the user of a request: a static token, a signed token, or a bare name |
//! | [`Negotiation`] | finds the user by `Authorization: Negotiate`: `kerberos` does, where the feature `spnego` is on |
//! | [`Need`] and [`route_needs`] | what each route demands; a route that no row names is refused |
//! | [`Access`] | the layer that applies both, before any handler |
//! | [`Hosts`], [`RateLimit`] | host names that are answered, requests a second of one peer |
//! | [`bind_problem`], [`exposure`] | addresses that are refused without authentication and encryption, and what was chosen not to be refused |
//!
//! # Invariants
//!
//! * A handler never sees a user name that a query string names, unless bare names were allowed explicitly.
//! * Nothing here holds a lock across an await.

mod access;
mod authentication;
mod bind;
mod headers;
mod hosts;
#[cfg(feature = "spnego")]
mod kerberos;
mod negotiate;
mod query;
mod rate_limit;
mod request_id;
mod routes;
mod tokens;

pub use access::{Access, AccessLimits, Authority, guard};
pub use authentication::{Authentication, Identity, JwtKey, Refusal};
pub use bind::{BindProblem, bind_problem, exposure};
pub use headers::with_headers;
pub use hosts::Hosts;
#[cfg(feature = "spnego")]
pub use kerberos::{
    DEFAULT_RULES, Kerberos, Mechanism, NameProblem, NameRules, RuleProblem, default_realm,
};
pub use negotiate::{Accepted, Negotiation, NegotiationProblem};
pub use rate_limit::RateLimit;
pub use request_id::RequestId;
pub use routes::{Need, ROUTES, RouteRow, route_needs};
pub use tokens::{TokenFileError, Tokens, new_token};
