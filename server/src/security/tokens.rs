//! Static tokens: a file with one user, hash and end a line. The tokens themselves are nowhere.

use std::fmt;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use super::authentication::is_name;

/// Bytes of a hash.
const HASH: usize = 32;

/// Longest token that is looked at, in bytes.
const LONGEST: usize = 4096;

/// Static tokens by their hashes.
#[derive(Clone, Default)]
pub struct Tokens {
    rows: Vec<Row>,
}

#[derive(Clone)]
struct Row {
    user: String,
    hash: [u8; HASH],
    /// In ms since the Unix epoch; nothing: never.
    ends_ms: Option<u64>,
}

/// A line of a token file that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct TokenFileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it. The line itself is not shown.
    pub why: &'static str,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl Tokens {
    /// Reads a token file. A line is `USER SHA256 [END]`: the SHA-256 of the token in hexadecimal digits, and the
    /// second of the Unix epoch from which the token no longer holds. Empty lines and lines with `#` are skipped.
    ///
    /// # Errors
    ///
    /// At the first line that is none of these.
    pub fn read(text: &str) -> Result<Self, TokenFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rows: Vec<Row> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why| TokenFileError { line: at + 1, why };
            let row = Row::read(line).map_err(wrong)?;
            if rows.iter().any(|other| other.hash == row.hash) {
                return Err(wrong("the hash stands in an earlier line, too"));
            }
            rows.push(row);
        }
        Ok(Self { rows })
    }

    /// One token of one user, which never ends.
    #[must_use]
    pub fn one(user: &str, token: &str) -> Self {
        let row = Row {
            user: user.to_owned(),
            hash: hash_of(token),
            ends_ms: None,
        };
        Self { rows: vec![row] }
    }

    /// Adds the tokens of another list.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The user of a token that holds now. Takes the same time for every token of the same length.
    #[must_use]
    pub fn user(&self, token: &str, now_ms: u64) -> Option<&str> {
        if token.len() > LONGEST {
            return None;
        }
        let hash = hash_of(token);
        let mut found = None;
        for row in &self.rows {
            let differs = row
                .hash
                .iter()
                .zip(hash)
                .fold(0, |all, (a, b)| all | (a ^ b));
            if differs == 0 && row.ends_ms.is_none_or(|end| now_ms < end) {
                found = Some(row.user.as_str());
            }
        }
        found
    }
}

impl Row {
    fn read(line: &str) -> Result<Self, &'static str> {
        let mut words = line.split_whitespace();
        let (user, hash) = (words.next(), words.next());
        let (Some(user), Some(hash)) = (user, hash) else {
            return Err("a user and the SHA-256 of a token are expected");
        };
        if !is_name(user) {
            return Err("the user is none that a caller may have");
        }
        let hash = hash_from_hex(hash).ok_or("the hash has not 64 hexadecimal digits")?;
        let ends_ms = match words.next() {
            None => None,
            Some(end) => {
                let seconds: u64 = end.parse().map_err(|_| "the end is no number of seconds")?;
                Some(seconds.saturating_mul(1000))
            }
        };
        if words.next().is_some() {
            return Err("more than a user, a hash and an end");
        }
        Ok(Self {
            user: user.to_owned(),
            hash,
            ends_ms,
        })
    }
}

/// A new token: 128 random bits in hexadecimal digits. Nothing when the system gives none.
#[must_use]
pub fn new_token() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn hash_of(token: &str) -> [u8; HASH] {
    let mut hash = [0; HASH];
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

fn hash_from_hex(text: &str) -> Option<[u8; HASH]> {
    if text.len() != 2 * HASH || !text.is_ascii() {
        return None;
    }
    let mut hash = [0; HASH];
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    // printf %s secret | sha256sum
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    #[test]
    fn a_token_is_its_users_until_its_end() {
        let text = format!("# tokens\n\nann {SECRET} 100\n");
        let tokens = Tokens::read(&text).unwrap();
        assert_eq!(tokens.user("secret", 99_999), Some("ann"));
        assert_eq!(tokens.user("secret", 100_000), None);
        assert_eq!(tokens.user("Secret", 0), None);
        assert_eq!(tokens.user(SECRET, 0), None);
        assert!(!format!("{tokens:?}").contains("ann"));
    }

    #[test]
    fn lines_that_are_none_have_their_number_and_are_not_shown() {
        for (text, line) in [
            ("ann", 1),
            ("\nann 12", 2),
            ("ann zz", 1),
            ("# a\nann \u{e9}", 2),
        ] {
            let error = Tokens::read(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(!error.to_string().contains("ann"), "{error}");
        }
        for user in ["\u{1b}[31mann", "a\0nn", &"n".repeat(256)] {
            let error = Tokens::read(&format!("\n{user} {SECRET}")).unwrap_err();
            assert_eq!(error.line, 2, "{error}");
        }
        let twice = Tokens::read(&format!("ann {SECRET}\nbob {SECRET}\n")).unwrap_err();
        assert_eq!(twice.line, 2, "{twice}");
        let marked = Tokens::read(&format!("\u{feff}ann {SECRET}")).unwrap();
        assert_eq!(marked.user("secret", 0), Some("ann"));
        let long = format!("ann {SECRET} 1 2");
        assert!(Tokens::read(&long).is_err());
        let end = format!("ann {SECRET} tomorrow");
        assert!(Tokens::read(&end).is_err());
    }

    #[test]
    fn a_token_may_have_4096_bytes_and_no_more() {
        let (fits, long) = ("x".repeat(LONGEST), "x".repeat(LONGEST + 1));
        assert_eq!(Tokens::one("ann", &fits).user(&fits, 0), Some("ann"));
        assert_eq!(Tokens::one("ann", &long).user(&long, 0), None);
    }
}
