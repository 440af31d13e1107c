//! Addresses and pages in the browser of the desktop.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail};
use serde_json::json;

use crate::live::is_address;
use crate::output::{Problem, line};

/// Where `serve` listens unless it is asked for another address.
const USUAL: &str = "http://127.0.0.1:8088";

/// Arguments of `capsched open`.
#[derive(clap::Args, Debug)]
pub(crate) struct OpenArgs {
    /// Address of a server, whose page is opened, or folder of a run with its report; a server on this machine when
    /// left out.
    #[arg(default_value = USUAL)]
    what: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &OpenArgs) -> Result<ExitCode> {
    let target = if is_address(&args.what) {
        let page = args.what.trim_end_matches('/');
        match page.ends_with("/ui") {
            true => format!("{page}/").into(),
            false => format!("{page}/ui/").into(),
        }
    } else {
        report_of(Path::new(&args.what))?.into_os_string()
    };
    open(&target)?;
    let shown = target.to_string_lossy();
    if args.json {
        line(json!({"opened": shown}));
    } else {
        line(shown);
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of a folder, or a page itself.
fn report_of(path: &Path) -> Result<PathBuf> {
    let page = match path.is_dir() {
        true => path.join("report.html"),
        false => path.to_owned(),
    };
    if !path.exists() {
        let problem = format!(
            "{} is neither a run nor a report, nor an address such as http://127.0.0.1:8088",
            path.display()
        );
        return Err(anyhow::Error::new(Problem(problem)));
    }
    if !page.is_file() {
        let problem = format!(
            "{} is not there; `capsched report {}` writes it",
            page.display(),
            path.display()
        );
        return Err(anyhow::Error::new(Problem(problem)));
    }
    Ok(std::path::absolute(page)?)
}

/// Opens a target by the program that `BROWSER` names, or by that of the desktop.
///
/// # Errors
///
/// When there is no such program, or it fails.
pub(crate) fn open(target: &OsStr) -> Result<()> {
    let usual = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let chosen = std::env::var_os("BROWSER").filter(|name| !name.is_empty());
    let program = chosen.unwrap_or_else(|| OsString::from(usual));
    let mut command = Command::new(&program);
    command
        .arg(target)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let (target, program) = (target.to_string_lossy(), program.to_string_lossy());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{program} ended with {status}; open {target} by hand"),
        Err(error) => {
            bail!("{program}: {error}; open {target} by hand, or name a browser in BROWSER")
        }
    }
}
