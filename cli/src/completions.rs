//! `capsched completions` and `capsched man`: what shells and `man` need, made from the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_complete::Shell;
use serde_json::json;

use crate::aside;
use crate::output::{line, put};

/// Print a completion script for a shell.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  capsched completions bash > ~/.local/share/bash-completion/completions/capsched
  capsched completions zsh > ~/.zfunc/_capsched
  capsched completions fish > ~/.config/fish/completions/capsched.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Write man pages, one for each command.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  capsched man ~/.local/share/man/man1 && man capsched-check")]
pub(crate) struct ManArgs {
    /// Folder of the pages; without one the page of `capsched` is printed.
    folder: Option<PathBuf>,
    /// Replace pages of the same names.
    #[arg(long)]
    force: bool,
    /// Print the paths of the pages as one JSON object.
    #[arg(long, requires = "folder")]
    json: bool,
}

/// Prints the script; `command` is the whole command line.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "capsched", &mut script);
    put(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

/// Writes the pages and prints their paths.
pub(crate) fn man(args: &ManArgs, mut command: Command) -> Result<ExitCode> {
    command.build();
    let Some(folder) = &args.folder else {
        put(&String::from_utf8_lossy(&page(&command, "capsched")?));
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut pages = Vec::new();
    gather(&command, "capsched", &mut pages)?;
    let taken = pages.iter().map(|(name, _)| folder.join(name));
    let mut taken = taken.filter(|path| !args.force && path.symlink_metadata().is_ok());
    if let Some(path) = taken.next() {
        let shown = path.display();
        bail!("{shown} exists; say --force to replace it; nothing was written");
    }
    let mut written = Vec::new();
    for (name, text) in &pages {
        let path = folder.join(name);
        aside::write(&path, text, args.force)?;
        if args.json {
            written.push(path.display().to_string());
        } else {
            line(path.display());
        }
    }
    if args.json {
        line(json!({ "pages": written }));
    }
    Ok(ExitCode::SUCCESS)
}

/// The pages of a command and of those below it.
fn gather(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    pages.push((format!("{name}.1"), page(command, name)?));
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            gather(inner, &format!("{name}-{}", inner.get_name()), pages)?;
        }
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let man = clap_mangen::Man::new(command.clone()).title(name);
    man.render(&mut text)?;
    Ok(text)
}
