//! The account of an import: what was used, dropped, clamped, guessed and ignored.

use std::collections::BTreeMap;
use std::fmt;

use super::rule_use::RuleUse;

/// Most warnings that are kept as text; further ones are only counted.
const WARNINGS: usize = 20;

/// Names of one kind that are counted apart.
const NAMES: usize = 1000;

/// Characters of a name.
const NAME: usize = 160;

/// Names of one kind that are shown.
const SHOWN: usize = 20;

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
    pub clamped: BTreeMap<String, u64>,
    /// Values the trace does not have, by how they were chosen.
    pub guessed: BTreeMap<String, u64>,
    /// Values the trace has and nothing here uses, by field.
    pub ignored: BTreeMap<String, u64>,
    /// Amounts that the trace has and the cluster has no type for, by type.
    pub lost: BTreeMap<String, u64>,
    /// What came of the rules of `--map`, in their order.
    pub rules: Vec<RuleUse>,
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
    pub fn clamp(&mut self, what: &str) {
        count(&mut self.clamped, what);
    }

    /// Counts a value that was chosen.
    pub fn guess(&mut self, what: &str) {
        count(&mut self.guessed, what);
    }

    /// Counts a value that is not used.
    pub fn ignore(&mut self, field: &str) {
        count(&mut self.ignored, field);
    }

    /// Counts an amount of a type that the cluster does not have.
    pub fn lose(&mut self, kind: &str) {
        count(&mut self.lost, kind);
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
        for (reason, count) in &other.dropped {
            *self.dropped.entry(reason).or_default() += count;
        }
        self.add_counts(other);
        self.add_rules(&other.rules);
        for warning in &other.warnings {
            self.warn(warning.clone());
        }
        self.more_warnings += other.more_warnings;
    }

    /// Adds what came of the rules in another trace.
    fn add_rules(&mut self, others: &[RuleUse]) {
        for (at, other) in others.iter().enumerate() {
            let own = self.rules.get_mut(at);
            match own.filter(|own| own.rule == other.rule) {
                Some(own) => own.add(other),
                None => self.rules.push(other.clone()),
            }
        }
    }

    /// Adds what another report counted of values, not of rows.
    pub fn add_counts(&mut self, other: &Self) {
        for (to, from) in [
            (&mut self.clamped, &other.clamped),
            (&mut self.guessed, &other.guessed),
            (&mut self.ignored, &other.ignored),
            (&mut self.lost, &other.lost),
        ] {
            for (reason, n) in from {
                *to.entry(reason.clone()).or_default() += n;
            }
        }
    }
}

/// Counts something by name; beyond a thousand names together with others. A long name, which holds a
/// key of the trace, is cut.
fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    let cut;
    let name = match name.char_indices().nth(NAME) {
        Some((end, _)) => {
            cut = format!("{}\u{2026}", &name[..end]);
            &cut
        }
        None => name,
    };
    if let Some(n) = counts.get_mut(name) {
        *n += 1;
        return;
    }
    let name = if counts.len() < NAMES { name } else { "others" };
    *counts.entry(name.to_owned()).or_default() += 1;
}

/// The lines of one kind, most frequent first.
fn lines<'a>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    counts: impl Iterator<Item = (&'a str, &'a u64)>,
) -> fmt::Result {
    let mut counts: Vec<(&str, &u64)> = counts.collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    for (name, n) in counts.iter().take(SHOWN) {
        writeln!(f, "  {title:<8} {n:>8}  {}", name.escape_debug())?;
    }
    if counts.len() > SHOWN {
        let more = counts.len() - SHOWN;
        writeln!(f, "  {title:<8} and {more} more kinds; --json has all")?;
    }
    Ok(())
}

impl fmt::Display for MappingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dropped = self.n_dropped();
        writeln!(
            f,
            "{}: {} rows, {} jobs, {dropped} dropped",
            self.format, self.rows, self.used
        )?;
        lines(
            f,
            "dropped",
            self.dropped.iter().map(|(name, n)| (*name, n)),
        )?;
        for (title, counts) in [
            ("clamped", &self.clamped),
            ("guessed", &self.guessed),
            ("ignored", &self.ignored),
            ("lost", &self.lost),
        ] {
            lines(f, title, counts.iter().map(|(name, n)| (name.as_str(), n)))?;
        }
        for rule in self.rules.iter().filter(|rule| rule.is_without_effect()) {
            writeln!(f, "  warning  {rule}")?;
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
        let long = "k".repeat(3_000_000);
        report.ignore(&long);
        report.ignore(&long);
        let (name, n) = report.ignored.first_key_value().expect("a name");
        assert_eq!((name.chars().count(), *n), (NAME + 1, 2));
    }
}
