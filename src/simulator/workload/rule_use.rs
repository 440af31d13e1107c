//! What came of one rule of `--map` over the rows of a trace.

use std::fmt;

/// Rows that a rule matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleUse {
    /// The rule as it was given.
    pub rule: String,
    /// Rows with such a value of its field.
    pub matched: u64,
    /// Those of them that got their queue or user from it.
    pub decided: u64,
}

impl RuleUse {
    /// A rule before the first row.
    pub(super) fn of(rule: String) -> Self {
        Self {
            rule,
            ..Self::default()
        }
    }

    /// Counts a row.
    pub(super) fn note(&mut self, decides: bool) {
        self.matched += 1;
        self.decided += u64::from(decides);
    }

    /// Adds the rows of the same rule in another trace.
    pub(super) fn add(&mut self, other: &Self) {
        self.matched += other.matched;
        self.decided += other.decided;
    }

    /// Whether no row got anything from it.
    #[must_use]
    pub const fn is_without_effect(&self) -> bool {
        self.decided == 0
    }
}

impl fmt::Display for RuleUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule.escape_debug();
        match (self.matched, self.decided) {
            (0, _) => write!(f, "rule {rule} matches no row"),
            (_, 0) => write!(f, "rule {rule} decides no row: those before it do"),
            (_, rows) => write!(f, "rule {rule} decides {rows} rows"),
        }
    }
}
