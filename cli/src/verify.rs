//! `capsched verify`: a recorded run played once more, every invariant judged and every decision compared with its log.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::output::{PROBLEM, line};
use crate::play::{Outcome, RunFolder, grouped, progress};
use crate::recipe::Recorded;
use crate::text_file;

/// The log of decisions in the folder of a run.
const LOG: &str = "decisions.jsonl";

/// Longest log that is read, in bytes.
const MOST_BYTES: u64 = 4 << 30;

/// Arguments of `capsched verify`.
#[derive(clap::Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Folder of a run of `replay --out`, or one column of `compare --out`.
    run: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// A folder that goes when it is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What was found.
struct Verified {
    decisions: usize,
    /// Line of the log, from 1, with what it has and what was decided now.
    differs: Option<(usize, String, String)>,
    outcome: Outcome,
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let recorded = Recorded::open(&args.run)?;
    let log = text_file::read(&recorded.path.join(LOG), MOST_BYTES)?;
    let mut staged = recorded.stage()?;
    staged.timing.no_audit = false;
    let name = format!("capsched-verify-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    let folder = RunFolder::create(&scratch.0, false)?;
    let types = staged.cluster.types.names().len();
    let mut recorder = folder.recorder(types, &recorded.about["settings"])?;
    let bar = progress(staged.trace.facts.jobs, "verify");
    let outcome = staged.row.play(&staged.scene(), &bar, &mut recorder)?;
    recorder.finish()?;
    let again = text_file::read(&scratch.0.join(LOG), MOST_BYTES)?;
    let found = Verified {
        decisions: again.lines().skip(1).count(),
        differs: first_difference(&log, &again),
        outcome,
    };
    found.show(&args.run, args.json);
    Ok(match found.is_fine() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(PROBLEM),
    })
}

/// The first line in which two logs differ; their first lines say what made them.
fn first_difference(log: &str, again: &str) -> Option<(usize, String, String)> {
    let (mut log, mut again) = (log.lines().skip(1), again.lines().skip(1));
    let mut number = 1;
    loop {
        number += 1;
        match (log.next(), again.next()) {
            (None, None) => return None,
            (one, other) if one == other => {}
            (one, other) => {
                let text = |line: Option<&str>| line.unwrap_or("the end").to_owned();
                return Some((number, text(one), text(other)));
            }
        }
    }
}

impl Verified {
    fn is_fine(&self) -> bool {
        self.differs.is_none() && self.outcome.violations() == 0
    }

    fn show(&self, run: &Path, as_json: bool) {
        let violations = &self.outcome.report.violations;
        if as_json {
            line(
                json!({"run": run.display().to_string(), "decisions": self.decisions,
                "differs_at": self.differs.as_ref().map(|(number, ..)| number),
                "violations_by_invariant": violations}),
            );
            return;
        }
        line(format_args!(
            "{} lines of decisions, {} violations of invariants",
            grouped(u64::try_from(self.decisions).unwrap_or(u64::MAX)),
            grouped(self.outcome.violations())
        ));
        for (invariant, count) in violations {
            line(format_args!("  {invariant}: {}", grouped(*count)));
        }
        match &self.differs {
            None => line("the decisions are those of the log"),
            Some((number, logged, now)) => line(format_args!(
                "{}:{number}: the log has\n  {logged}\nand what was decided now is\n  {now}",
                run.join(LOG).display()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_has_its_line_and_heads_do_not_count() {
        assert_eq!(first_difference("a\nx\ny\n", "b\nx\ny\n"), None);
        let found = first_difference("a\nx\ny\n", "a\nx\nz\n");
        assert_eq!(found, Some((3, "y".to_owned(), "z".to_owned())));
        let found = first_difference("a\nx\n", "a\nx\nz\n");
        assert_eq!(found, Some((3, "the end".to_owned(), "z".to_owned())));
    }
}
