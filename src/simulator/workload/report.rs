//! The account of an import: what was used, dropped, clamped, guessed and ignored.

use std::collections::BTreeMap;
use std::fmt;

/// Most warnings that are kept as text; further ones are only counted.
const WARNINGS: usize = 20;

/// What an importer made of a trace. Nothing is dropped or guessed without being counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingReport {
    /// Name of the format.
    pub format: String,
    /// Rows or objects that describe a job.
    pub rows: u64,
    /// Rows that became jobs; one row may become several.
    pub used: u64,
    /// Rows left out, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Values moved into the allowed range, by what was done.
    pub clamped: BTreeMap<&'static str, u64>,
    /// Values the trace does not have, by how they were chosen.
    pub guessed: BTreeMap<&'static str, u64>,
    /// Values the trace has and nothing here uses, by field.
    pub ignored: BTreeMap<&'static str, u64>,
    /// The first 20 warnings.
    pub warnings: Vec<String>,
    /// Warnings beyond those.
    pub more_warnings: u64,
}

impl MappingReport {
    /// An empty report of a format.
    #[must_use]
    pub fn new(format: &str) -> Self {
        Self {
            format: format.to_owned(),
            ..Self::default()
        }
    }

    /// Counts a row left out.
    pub fn drop_row(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Counts a value moved into its range.
    pub fn clamp(&mut self, what: &'static str) {
        *self.clamped.entry(what).or_default() += 1;
    }

    /// Counts a value that was chosen.
    pub fn guess(&mut self, what: &'static str) {
        *self.guessed.entry(what).or_default() += 1;
    }

    /// Counts a value that is not used.
    pub fn ignore(&mut self, field: &'static str) {
        *self.ignored.entry(field).or_default() += 1;
    }

    /// Keeps or counts a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(text.into());
        } else {
            self.more_warnings += 1;
        }
    }

    /// Rows left out for any reason.
    #[must_use]
    pub fn n_dropped(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Adds another report to this one.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.used += other.used;
        for (to, from) in [
            (&mut self.dropped, &other.dropped),
            (&mut self.clamped, &other.clamped),
            (&mut self.guessed, &other.guessed),
            (&mut self.ignored, &other.ignored),
        ] {
            for (reason, count) in from {
                *to.entry(reason).or_default() += count;
            }
        }
        for warning in &other.warnings {
            self.warn(warning.clone());
        }
        self.more_warnings += other.more_warnings;
    }
}

impl fmt::Display for MappingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dropped = self.n_dropped();
        writeln!(
            f,
            "{}: {} rows, {} jobs, {dropped} dropped",
            self.format, self.rows, self.used
        )?;
        for (title, counts) in [
            ("dropped", &self.dropped),
            ("clamped", &self.clamped),
            ("guessed", &self.guessed),
            ("ignored", &self.ignored),
        ] {
            for (reason, count) in counts {
                writeln!(f, "  {title:<8} {count:>8}  {reason}")?;
            }
        }
        for warning in &self.warnings {
            writeln!(f, "  warning  {warning}")?;
        }
        if self.more_warnings > 0 {
            writeln!(f, "  and {} more warnings", self.more_warnings)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_add_up_and_keep_the_first_warnings() {
        let mut report = MappingReport::new("x");
        report.rows = 2;
        report.drop_row("blank size");
        for n in 0..25 {
            report.warn(format!("w{n}"));
        }
        let mut all = MappingReport::new("merged");
        all.add(&report);
        all.add(&report);
        assert_eq!((all.rows, all.n_dropped()), (4, 2));
        assert_eq!((all.warnings.len(), all.more_warnings), (20, 30));
        let text = report.to_string();
        assert!(text.contains("dropped         1  blank size"), "{text}");
        assert!(text.contains("and 5 more warnings"));
    }
}
