//! How bad a finding is.

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// Accepted, but probably not what was meant; refused in strict mode.
    Warning,
    /// Accepted and worth knowing.
    Hint,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }
}
