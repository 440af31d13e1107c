//! `capsched report`: the results of a run or a comparison as one HTML file that needs no network.

mod data;
mod decisions;
mod folder;
mod latency_map;
mod repeated;
mod tables;

pub(crate) use folder::log;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::aside;
use crate::browser;
use crate::output::{line, put};

/// The page; its marks are replaced by style, library and data.
const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
const CHARTS: &str = capsched_server::CHART_SCRIPT;
const CHART_STYLE: &str = capsched_server::CHART_STYLE;

/// Write the results of a run or a comparison as one HTML file.
///
/// The folder is one that `replay --out` or `compare --out` wrote. The file opens without a network,
/// prints, and has a table and a CSV file of every chart.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder of a run or of a comparison.
    run: PathBuf,
    /// The file; `report.html` in the folder unless given.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
    /// Open it in a browser.
    #[arg(long, conflicts_with = "json")]
    open: bool,
    /// Print the data of the charts as JSON and write nothing.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // Repeating a run changes what relative paths mean.
    let folder = std::path::absolute(&args.run)?;
    let out = args.out.as_deref().map(std::path::absolute).transpose()?;
    let data = data::of(&args.run, &folder)?;
    let text = serde_json::to_string(&data)?;
    if args.json {
        put(&format!("{text}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let path = out.unwrap_or_else(|| folder.join("report.html"));
    aside::write(&path, page(&text).as_bytes(), args.force)?;
    let shown = args.out.clone();
    line(
        shown
            .unwrap_or_else(|| args.run.join("report.html"))
            .display(),
    );
    if args.open {
        browser::open(path.as_os_str())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The page with everything inside. Data are JSON in a script element, so `<` must not appear.
fn page(data: &str) -> String {
    let data = data.replace('<', "\\u003c");
    let parts = [
        ("@CHART_STYLE@", CHART_STYLE),
        ("@STYLE@", STYLE),
        ("@CHARTS@", CHARTS),
        ("@SCRIPT@", SCRIPT),
        ("@DATA@", &data),
    ];
    let mut out = String::with_capacity(PAGE.len() + CHARTS.len() + data.len() + SCRIPT.len());
    let mut rest = PAGE;
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_everything_and_loads_nothing() {
        let page = page(r#"{"name":"</script><b>"}"#);
        for mark in ["@CHART_STYLE@", "@STYLE@", "@CHARTS@", "@SCRIPT@", "@DATA@"] {
            assert!(!page.contains(mark), "{mark}");
        }
        assert_eq!(page.matches("</script>").count(), 2);
        let page = page.replace(CHARTS, "");
        for other in [
            " src=",
            "href=\"http",
            "@import",
            "fetch(",
            "XMLHttpRequest",
        ] {
            assert!(!page.contains(other), "{other}");
        }
    }
}
