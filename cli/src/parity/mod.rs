//! `capsched parity`: plays recordings of the real scheduler and compares every step.

mod compare;
mod decision;
mod player;
mod scenario;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use compare::Difference;
use scenario::Scenario;

use crate::output::line;

/// Arguments of `capsched parity`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Scenario files, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print one JSON object per scenario.
    #[arg(long)]
    json: bool,
    /// Print only the first difference of a scenario.
    #[arg(long)]
    first_difference: bool,
    /// Run only scenarios with this tag.
    #[arg(long, value_name = "TAG")]
    only: Option<String>,
}

/// What became of one scenario.
#[derive(Debug)]
enum Verdict {
    Passed,
    Failed {
        step: usize,
        input: Value,
        differences: Vec<Difference>,
    },
    Broken(String),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut files = Vec::new();
    for path in &args.paths {
        collect(path, &mut files)?;
    }
    let (mut passed, mut failed) = (0usize, 0usize);
    for file in &files {
        let text = read(file)?;
        let (name, verdict) = match Scenario::parse(&text) {
            Ok(scenario) if !wanted(args, &scenario) => continue,
            Ok(scenario) => (scenario.name.clone(), play(&scenario)),
            Err(error) => (
                file.display().to_string(),
                Verdict::Broken(format!("{error:#}")),
            ),
        };
        match &verdict {
            Verdict::Passed => passed += 1,
            Verdict::Failed { .. } | Verdict::Broken(_) => failed += 1,
        }
        report(args, file, &name, &verdict);
    }
    let deliberate = 0;
    if args.json {
        line(json!({"passed": passed, "failed": failed, "deliberate": deliberate}));
    } else {
        line(format_args!(
            "{passed} passed, {failed} failed, {deliberate} deliberate"
        ));
    }
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn wanted(args: &Args, scenario: &Scenario) -> bool {
    args.only
        .as_ref()
        .is_none_or(|tag| scenario.tags.contains(tag))
}

/// Plays a scenario up to the first step that differs.
fn play(scenario: &Scenario) -> Verdict {
    match player::play(scenario) {
        Ok(None) => Verdict::Passed,
        Ok(Some((step, differences))) => Verdict::Failed {
            step,
            input: scenario.steps[step].shown(),
            differences,
        },
        Err(error) => Verdict::Broken(format!("{error:#}")),
    }
}

fn report(args: &Args, file: &Path, name: &str, verdict: &Verdict) {
    if args.json {
        let object = match verdict {
            Verdict::Passed => json!({"scenario": name, "file": file, "passed": true}),
            Verdict::Failed {
                step,
                input,
                differences,
            } => json!({
                "scenario": name, "file": file, "passed": false, "step": step, "input": input,
                "differences": differences.iter().map(Difference::to_json).collect::<Vec<_>>(),
            }),
            Verdict::Broken(error) => {
                json!({"scenario": name, "file": file, "passed": false, "error": error})
            }
        };
        line(object);
        return;
    }
    match verdict {
        Verdict::Passed => line(format_args!("pass  {name}")),
        Verdict::Broken(error) => line(format_args!("FAIL  {name}: {error}")),
        Verdict::Failed {
            step,
            input,
            differences,
        } => {
            line(format_args!("FAIL  {name} at step {step}: {input}"));
            let shown = if args.first_difference { 1 } else { 8 };
            for difference in differences.iter().take(shown) {
                line(format_args!("      {difference}"));
            }
            if differences.len() > shown {
                line(format_args!("      and {} more", differences.len() - shown));
            }
        }
    }
}

/// Scenario files below a path, sorted.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let context = || format!("cannot read {}", path.display());
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<_> = std::fs::read_dir(path)
        .with_context(context)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .with_context(context)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir()
            || entry
                .extension()
                .is_some_and(|extension| extension == "json")
        {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
