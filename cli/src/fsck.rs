//! `capsched fsck`: whether a data directory of `capsched serve` is sound.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use capsched_server::store::{CheckReport, check_directory};
use serde_json::json;

use crate::output::{PROBLEM, line};

/// Check a data directory of `capsched serve --data DIR`: pages, schema, commands and configurations.
///
/// Nothing in the directory changes. The server must not run: a directory in use is refused. The file is read into
/// memory. Exit codes: 0 sound, 1 a problem was found, 2 the directory cannot be read, is in use or has a schema of
/// another version.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The directory.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let shown = || {
        format!(
            "{} cannot be checked as a data directory of `capsched serve`",
            args.dir.display()
        )
    };
    let report = check_directory(&args.dir).with_context(shown)?;
    if args.json {
        let sound = report.problems.is_empty();
        line(json!({"directory": args.dir.display().to_string(), "sound": sound, "found": report}));
    } else {
        args.print(&report);
    }
    Ok(if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(PROBLEM)
    })
}

impl Args {
    fn print(&self, report: &CheckReport) {
        for problem in &report.problems {
            match &problem.key {
                Some(key) => line(format_args!("{key}: {}", problem.reason)),
                None => line(&problem.reason),
            }
        }
        let verdict = match report.problems.len() {
            0 => "sound".to_owned(),
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        };
        line(format_args!(
            "{}: {verdict} (configurations: {}, log entries: {}, commands: {}, in the snapshot: {}, other keys: {})",
            self.dir.display(),
            report.configurations,
            report.log_entries,
            report.commands,
            report.snapshot_commands,
            report.other_keys
        ));
    }
}
