//! `capsched check`: judges configuration files as the Capacity Scheduler would.

mod shown;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use capsched::config::{self, ConfigSource, Diagnostic, Layer, Options, Report, Severity, Span};
use serde_json::{Value, json};

use crate::output::{escaped, line, note, put, put_styled};
use crate::reference::ReferenceArg;

use shown::Places;

/// Checks capacity-scheduler.xml without a running cluster.
///
/// The exit code is 0 when every file is accepted, 1 when one is not, and 2 when one cannot be read or
/// the command itself cannot be carried out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// capacity-scheduler.xml, or `-` for standard input; several files are checked one by one.
    #[arg(required_unless_present = "explain", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// yarn-site.xml or resource-types.xml below the files; later ones win.
    #[arg(long, value_name = "FILE")]
    site: Vec<PathBuf>,
    /// The configuration that a running scheduler has: warn of what a refresh from it does in part.
    #[arg(long, value_name = "FILE")]
    refresh_from: Option<PathBuf>,
    /// Refuse warnings too.
    #[arg(long)]
    strict: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
    /// Explain a code and stop.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["files", "site"])]
    explain: Option<String>,
    #[command(flatten)]
    reference: ReferenceArg,
}

const REFUSED: u8 = 1;
const USAGE: u8 = 2;

fn options(args: &Args) -> Options {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Options {
        strict: args.strict,
        environment: environment.collect(),
        reference: args.reference.release,
        ..Options::default()
    }
}

/// The findings of all files, for people or as JSON.
fn shown(results: &[Checked<'_>], args: &Args) -> String {
    if args.json {
        return json_text(results, args.strict);
    }
    let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut out = String::new();
    for (path, report) in results {
        if let Ok(report) = report {
            human(&mut out, path, report, args.strict, colour);
        }
    }
    out
}

/// Writes the findings: those for people are escaped where they come from the files.
fn put_shown(text: &str, json: bool) {
    if json {
        put(text);
    } else {
        put_styled(text);
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    if let Some(code) = &args.explain {
        return explain(code, args.json);
    }
    match surroundings(args) {
        Ok((options, sites)) => check_all(args, &options, &sites),
        Err(code) => code,
    }
}

/// What every file is checked with: the options, and the site files.
fn surroundings(args: &Args) -> Result<(Options, Vec<ConfigSource>), ExitCode> {
    let mut options = options(args);
    let sites = args.site.iter().map(|path| {
        let source = config::read_source(path, Layer::Site, &options.limits);
        source.map_err(|finding| usage(&finding.message))
    });
    let sites = sites.collect::<Result<Vec<_>, _>>()?;
    if let Some(before) = &args.refresh_from {
        options.refreshes_legacy_mode = legacy_mode(before, &sites, &options)?;
    }
    Ok((options, sites))
}

fn check_all(args: &Args, options: &Options, sites: &[ConfigSource]) -> ExitCode {
    let checked = args.files.iter().map(|path| {
        let report = check(path, sites, options);
        (path.as_path(), report)
    });
    let results: Vec<Checked<'_>> = checked.collect();
    put_shown(&shown(&results, args), args.json);
    let mut unread = 0;
    for message in results
        .iter()
        .filter_map(|(_, report)| report.as_ref().err())
    {
        usage(message);
        unread += 1;
    }
    let refused = |report: &Report| report.refuses(args.strict);
    let is_refused = |(_, report): &Checked<'_>| report.as_ref().is_ok_and(refused);
    if unread > 0 {
        ExitCode::from(USAGE)
    } else if results.iter().any(is_refused) {
        ExitCode::from(REFUSED)
    } else {
        ExitCode::SUCCESS
    }
}

/// Whether a scheduler that runs with this configuration is in legacy mode.
fn legacy_mode(path: &Path, sites: &[ConfigSource], options: &Options) -> Result<bool, ExitCode> {
    let source = config::read_source(path, Layer::Scheduler, &options.limits);
    let mut sources = vec![source.map_err(|finding| usage(&finding.message))?];
    sources.extend_from_slice(sites);
    let lenient = Options {
        strict: false,
        ..options.clone()
    };
    match config::load(&sources, &lenient) {
        Ok(loaded) => Ok(loaded.settings.scheduler.legacy_queue_mode),
        Err(report) => {
            let why = report.first_error().map_or("", |error| &error.message);
            let name = escaped(&path.display().to_string());
            note(format_args!(
                "error: {name}: no scheduler runs with this configuration: {}",
                escaped(why)
            ));
            Err(ExitCode::from(REFUSED))
        }
    }
}

/// A file with what was found in it, or why it could not be read.
type Checked<'a> = (&'a Path, Result<Report, String>);

fn check(path: &Path, sites: &[ConfigSource], options: &Options) -> Result<Report, String> {
    let source = if path == Path::new("-") {
        standard_input(options.limits.bytes)?
    } else {
        let source = config::read_source(path, Layer::Scheduler, &options.limits);
        source.map_err(|finding| finding.message)?
    };
    let mut sources = vec![source];
    sources.extend_from_slice(sites);
    Ok(config::check(&sources, options))
}

/// What is piped in, up to the size of a file.
pub(crate) fn standard_input(most: usize) -> Result<ConfigSource, String> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    if bytes.len() > most {
        return Err(format!("standard input: more than {most} bytes"));
    }
    Ok(ConfigSource {
        name: "standard input".to_owned(),
        bytes,
        layer: Layer::Scheduler,
    })
}

fn usage(message: &str) -> ExitCode {
    note(format_args!("error: {message}"));
    ExitCode::from(USAGE)
}

fn explain(code: &str, as_json: bool) -> ExitCode {
    match config::explain_code(code) {
        Some(text) if as_json => {
            put(&format!("{:#}\n", json!({ "code": code, "text": text })));
            ExitCode::SUCCESS
        }
        Some(text) => {
            line(format_args!("{code}\n\n{}", wrapped(text)));
            ExitCode::SUCCESS
        }
        None => {
            let all: Vec<&str> = config::codes().collect();
            usage(&format!("no code `{code}`; there are {}", all.join(", ")))
        }
    }
}

/// Lines of at most 80 characters.
pub(crate) fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > 80 {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

fn counts(report: &Report) -> [usize; 3] {
    let count = |severity| {
        let all = report.diagnostics.iter();
        all.filter(|finding| finding.severity == severity).count()
    };
    [Severity::Error, Severity::Warning, Severity::Hint].map(count)
}

fn human(out: &mut String, path: &Path, report: &Report, strict: bool, colour: bool) {
    let renderer = shown::renderer(colour);
    let places = Places::of(report);
    for finding in &report.diagnostics {
        out.push_str(&shown::rendered(&renderer, finding, &places));
        out.push_str("\n\n");
    }
    let [errors, warnings, hints] = counts(report);
    let verdict = if report.refuses(strict) {
        "refused"
    } else {
        "accepted"
    };
    let name = escaped(&path.display().to_string());
    let _ = write!(out, "{name}: {verdict}");
    for (count, name) in [(errors, "error"), (warnings, "warning"), (hints, "hint")] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(out, ", {count} {name}{plural}");
        }
    }
    out.push('\n');
}

fn json_text(results: &[Checked<'_>], strict: bool) -> String {
    let one = |(path, report): &Checked<'_>| {
        let file = path.display().to_string();
        let report = match report {
            Ok(report) => report,
            Err(message) => return json!({ "file": file, "unreadable": message }),
        };
        let [errors, warnings, hints] = counts(report);
        let places = Places::of(report);
        let all = report.diagnostics.iter();
        let findings: Vec<Value> = all.map(|one| finding(one, &places)).collect();
        json!({
            "file": file,
            "accepted": !report.refuses(strict),
            "errors": errors,
            "warnings": warnings,
            "hints": hints,
            "findings": findings,
        })
    };
    let all: Vec<Value> = results.iter().map(one).collect();
    format!("{:#}\n", json!({ "files": all }))
}

fn finding(finding: &Diagnostic, places: &Places<'_>) -> Value {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "hint",
    };
    let label = |label: &config::Label| json!({"text": label.text, "at": at(places, &label.span)});
    let labels: Vec<Value> = finding.labels.iter().map(label).collect();
    json!({
        "code": finding.code,
        // What the recordings of the reference call it.
        "word": finding.word(),
        "severity": severity,
        "message": finding.message,
        "at": finding.span.as_ref().map(|span| at(places, span)),
        "labels": labels,
        "help": finding.help,
    })
}

fn at(places: &Places<'_>, span: &Span) -> Value {
    let Some((file, line, column)) = places.find(span) else {
        return Value::Null;
    };
    json!({
        "file": file,
        "line": line,
        "column": column,
        "start": span.bytes.start,
        "end": span.bytes.end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "<configuration>\n\
        <property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>\n\
        <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>70</value></property>\n\
        <property><name>yarn.scheduler.capacity.root.b.capacity</name><value>40</value></property>\n\
        </configuration>";

    fn report(text: &str) -> Report {
        let source = ConfigSource {
            name: "cs.xml".to_owned(),
            bytes: text.as_bytes().to_vec(),
            layer: Layer::Scheduler,
        };
        config::check(&[source], &Options::default())
    }

    #[test]
    fn a_wrong_sum_points_at_the_list_and_at_every_child() {
        let mut out = String::new();
        human(&mut out, Path::new("cs.xml"), &report(SUM), false, false);
        for part in [
            "capacity_sum",
            "cs.xml:2",
            "root.a: 70",
            "root.b: 40",
            "refused, 1 error",
        ] {
            assert!(out.contains(part), "{part} in {out}");
        }
    }

    #[test]
    fn json_names_codes_and_places() {
        let text = json_text(&[(Path::new("cs.xml"), Ok(report(SUM)))], false);
        let json: Value = serde_json::from_str(&text).unwrap();
        let file = &json["files"][0];
        assert_eq!(file["accepted"], false);
        assert_eq!(file["findings"][0]["code"], "capacity_sum");
        assert_eq!(file["findings"][0]["word"], "capacity_sum");
        assert_eq!(file["findings"][0]["at"]["line"], 2);
        assert_eq!(file["findings"][0]["labels"][1]["at"]["line"], 4);
    }

    #[test]
    fn strict_mode_refuses_what_there_is_a_warning_about() {
        let text = SUM
            .replace("40", "30")
            .replace("</configuration>", "<foo/></configuration>");
        let report = report(&text);
        let mut out = String::new();
        human(&mut out, Path::new("cs.xml"), &report, false, false);
        assert!(out.ends_with("accepted, 1 warning\n"), "{out}");
        assert!(report.refuses(true));
    }

    #[test]
    fn an_endless_tag_has_a_short_excerpt() {
        let text = format!("<configuration><{}\u{1b}[2J>", "a".repeat(3 << 20));
        let text = text.replace('\u{1b}', "\u{9b}");
        let mut out = String::new();
        human(
            &mut out,
            Path::new("\u{1b}x.xml"),
            &report(&text),
            false,
            false,
        );
        assert!(out.len() < 5_000, "{}", out.len());
        assert!(!out.contains(['\u{9b}', '\u{1b}']), "{out}");
    }

    #[test]
    fn explanations_are_wrapped() {
        let text = wrapped(config::explain_code("capacity_sum").unwrap());
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }
}
