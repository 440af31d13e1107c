//! The user of a request: by a static token, by a signed token, or by a bare name.

use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use super::negotiate::Negotiation;
use super::tokens::Tokens;

/// The user that stands for callers without a name.
// As hadoop.http.staticuser.user.
pub(super) const NOBODY: &str = "dr.who";

/// Longest user name, in bytes.
const LONGEST_NAME: usize = 255;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A caller that gave no name.
    Nobody,
    /// A user.
    User(Arc<str>),
}

impl Identity {
    /// The name that rights are looked up by.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Nobody => NOBODY,
            Self::User(name) => name,
        }
    }

    /// A user, if a user may have that name.
    pub(super) fn of(name: &str) -> Result<Self, Refusal> {
        user(name)
    }

    /// Whether the caller gave a name that was accepted.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        matches!(self, Self::User(_))
    }
}

/// Why a request has no user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The `Authorization` header has another form than `Bearer TOKEN`.
    Form,
    /// The token is unknown, has ended, or is not signed as demanded.
    Token,
    /// The name has characters that no user name has, or is too long.
    Name,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "the Authorization header is not of the form `Bearer TOKEN`",
            Self::Token => "the token is not valid",
            Self::Name => "the user name is not valid",
        })
    }
}

impl std::error::Error for Refusal {}

/// A key that signed tokens (JSON Web Tokens) are verified with. `sub` names the user, and `exp` must be there.
#[derive(Clone)]
pub struct JwtKey {
    key: DecodingKey,
    rules: Validation,
}

impl fmt::Debug for JwtKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtKey")
            .field("algorithms", &self.rules.algorithms)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
}

impl JwtKey {
    /// Reads a key file: a public key in PEM form for signatures by RSA, elliptic curve or Ed25519; anything else is
    /// the secret of HS256, at least 32 bytes of it.
    ///
    /// # Errors
    ///
    /// What is wrong with the file, without its content.
    pub fn read(bytes: &[u8], audience: Option<&str>) -> Result<Self, String> {
        let (key, algorithm) = if bytes.starts_with(b"-----BEGIN") {
            public_key(bytes)?
        } else {
            let secret = bytes.trim_ascii();
            if secret.len() < 32 {
                let found = secret.len();
                return Err(format!(
                    "a secret has 32 bytes or more; this one has {found}"
                ));
            }
            (DecodingKey::from_secret(secret), Algorithm::HS256)
        };
        let mut rules = Validation::new(algorithm);
        rules.set_required_spec_claims(&["exp", "sub"]);
        rules.validate_nbf = true;
        match audience {
            Some(audience) => rules.set_audience(&[audience]),
            None => rules.validate_aud = false,
        }
        Ok(Self { key, rules })
    }

    fn user(&self, token: &str) -> Option<String> {
        let read = jsonwebtoken::decode::<Claims>(token, &self.key, &self.rules);
        read.ok().map(|found| found.claims.sub)
    }
}

fn public_key(pem: &[u8]) -> Result<(DecodingKey, Algorithm), String> {
    let rsa = DecodingKey::from_rsa_pem(pem).map(|key| (key, Algorithm::RS256));
    let curve = || DecodingKey::from_ec_pem(pem).map(|key| (key, Algorithm::ES256));
    let edwards = || DecodingKey::from_ed_pem(pem).map(|key| (key, Algorithm::EdDSA));
    rsa.or_else(|_| curve())
        .or_else(|_| edwards())
        .map_err(|_| "it is no public key of RSA, P-256 or Ed25519".to_owned())
}

/// How users are found.
#[derive(Clone, Debug, Default)]
pub struct Authentication {
    tokens: Tokens,
    jwt: Option<JwtKey>,
    negotiation: Option<Arc<dyn Negotiation>>,
    bare_names: bool,
}

impl Authentication {
    /// Nobody is anybody: every caller is without a name.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// With static tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = self.tokens.and(tokens);
        self
    }

    /// With signed tokens.
    #[must_use]
    pub fn with_jwt(mut self, key: JwtKey) -> Self {
        self.jwt = Some(key);
        self
    }

    /// With `Authorization: Negotiate`.
    #[must_use]
    pub fn with_negotiation(mut self, negotiation: Arc<dyn Negotiation>) -> Self {
        self.negotiation = Some(negotiation);
        self
    }

    /// Who checks tokens of `Authorization: Negotiate`.
    pub(super) const fn negotiation(&self) -> Option<&Arc<dyn Negotiation>> {
        self.negotiation.as_ref()
    }

    /// Everybody is who `user.name` says, without any proof.
    // As PseudoAuthenticationHandler.
    #[must_use]
    pub const fn with_bare_names(mut self) -> Self {
        self.bare_names = true;
        self
    }

    /// Whether bare names are believed.
    #[must_use]
    pub const fn believes_names(&self) -> bool {
        self.bare_names
    }

    /// Whether a caller can prove a name.
    #[must_use]
    pub fn proves(&self) -> bool {
        self.has_tokens() || self.negotiation.is_some()
    }

    fn has_tokens(&self) -> bool {
        !self.tokens.is_empty() || self.jwt.is_some()
    }

    /// One word for reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match (self.has_tokens(), self.bare_names) {
            (true, _) => "token",
            _ if self.negotiation.is_some() => "negotiate",
            (false, true) => "simple",
            (false, false) => "none",
        }
    }

    /// The user of a request. A token goes before a bare name.
    ///
    /// # Errors
    ///
    /// As [`Refusal`]. A wrong token is refused even where none is needed.
    pub fn identify(
        &self,
        headers: &HeaderMap,
        user_name: Option<&str>,
        now_ms: u64,
    ) -> Result<Identity, Refusal> {
        if let Some(given) = headers.get(header::AUTHORIZATION) {
            let text = given.to_str().map_err(|_| Refusal::Form)?;
            let token = bearer(text).ok_or(Refusal::Form)?;
            let known = self.tokens.user(token, now_ms).map(str::to_owned);
            let signed = || self.jwt.as_ref().and_then(|key| key.user(token));
            let name = known.or_else(signed).ok_or(Refusal::Token)?;
            return user(&name);
        }
        match user_name.filter(|name| self.bare_names && !name.is_empty()) {
            Some(name) => user(name),
            None => Ok(Identity::Nobody),
        }
    }
}

fn bearer(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whether a caller may have a name.
pub(super) fn is_name(name: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace();
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(odd)
}

fn user(name: &str) -> Result<Identity, Refusal> {
    if !is_name(name) {
        return Err(Refusal::Name);
    }
    Ok(Identity::User(name.into()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn with(text: &str) -> HeaderMap {
        let value = HeaderValue::from_bytes(text.as_bytes()).unwrap();
        HeaderMap::from_iter([(header::AUTHORIZATION, value)])
    }

    fn signed(claims: &serde_json::Value, algorithm: Algorithm) -> String {
        let key = EncodingKey::from_secret(SECRET);
        encode(&Header::new(algorithm), claims, &key).unwrap()
    }

    #[test]
    fn bare_names_count_only_where_they_are_allowed() {
        let none = Authentication::none();
        let found = none.identify(&HeaderMap::new(), Some("yarn"), 0);
        assert_eq!(found, Ok(Identity::Nobody));
        let simple = Authentication::none().with_bare_names();
        let found = simple.identify(&HeaderMap::new(), Some("yarn"), 0);
        assert_eq!(found, Ok(Identity::User("yarn".into())));
        let odd = simple.identify(&HeaderMap::new(), Some("a\nb"), 0);
        assert_eq!(odd, Err(Refusal::Name));
        let empty = simple.identify(&HeaderMap::new(), Some(""), 0);
        assert_eq!(empty, Ok(Identity::Nobody));
    }

    #[test]
    fn a_name_has_255_bytes_at_most() {
        assert!(user(&"a".repeat(255)).is_ok());
        assert_eq!(user(&"a".repeat(256)), Err(Refusal::Name));
    }

    #[test]
    fn a_wrong_token_is_refused_and_a_right_one_goes_before_a_name() {
        let rules = Authentication::none()
            .with_bare_names()
            .with_tokens(Tokens::one("ann", "s3cret"));
        let found = rules.identify(&with("Bearer s3cret"), Some("yarn"), 0);
        assert_eq!(found, Ok(Identity::User("ann".into())));
        for (text, refusal) in [
            ("Bearer other", Refusal::Token),
            ("Bearer ", Refusal::Form),
            ("Basic YTpi", Refusal::Form),
            ("s3cret", Refusal::Form),
        ] {
            assert_eq!(rules.identify(&with(text), None, 0), Err(refusal), "{text}");
        }
    }

    #[test]
    fn signed_tokens_need_a_subject_an_end_and_the_algorithm_of_the_key() {
        let key = JwtKey::read(SECRET, Some("capsched")).unwrap();
        let rules = Authentication::none().with_jwt(key);
        let identify = |token: &str| rules.identify(&with(&format!("Bearer {token}")), None, 0);
        let far = 4_000_000_000_u64;
        let good = json!({"sub": "ann", "exp": far, "aud": "capsched"});
        let token = signed(&good, Algorithm::HS256);
        assert_eq!(identify(&token), Ok(Identity::User("ann".into())));
        let refused = [
            json!({"sub": "ann", "exp": 1, "aud": "capsched"}),
            json!({"sub": "ann", "aud": "capsched"}),
            json!({"exp": far, "aud": "capsched"}),
            json!({"sub": "ann", "exp": far, "aud": "other"}),
            json!({"sub": "ann", "exp": far, "aud": "capsched", "nbf": far}),
        ];
        for claims in refused {
            let token = signed(&claims, Algorithm::HS256);
            assert_eq!(identify(&token), Err(Refusal::Token), "{claims}");
        }
        let other = signed(&good, Algorithm::HS512);
        assert_eq!(identify(&other), Err(Refusal::Token));
        let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjQwMDAwMDAwMDB9.";
        assert_eq!(identify(unsigned), Err(Refusal::Token));
    }

    #[test]
    fn short_secrets_and_broken_keys_are_refused_without_being_shown() {
        let error = JwtKey::read(b"short-secret", None).unwrap_err();
        assert!(!error.contains("short-secret"), "{error}");
        assert!(JwtKey::read(b"-----BEGIN PUBLIC KEY-----\nAA\n", None).is_err());
        assert!(JwtKey::read(SECRET, None).is_ok());
    }
}
