//! `capsched check`: judges configuration files as the Capacity Scheduler would.

mod cluster;
mod findings;
mod shown;

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use capsched::api::Reference;
use capsched::config::{self, ConfigSource, Layer, Options, Report};
use clap::ValueEnum;
use serde_json::json;

use crate::output::{
    MOST_OF_A_KIND, Problem, escaped, line, more_of_a_kind, note, put, put_styled,
};
use crate::play::{NodeSource, node_source};
use crate::printed::takes_colours;

use cluster::Tree;
use findings::counts;
use shown::Places;

/// What messages call standard input.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Checks capacity-scheduler.xml without a running cluster.
///
/// With `--cluster`, accepted files are followed by the tree of queues with what each has of that
/// cluster, and hints say what works as it reads and hurts later. The exit code is 0 when every file
/// is accepted, 1 when one is not, and 2 when one cannot be read or the command itself cannot be
/// carried out.
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
    /// Print the findings in this form.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Text, conflicts_with = "json")]
    format: Form,
    /// Print one JSON document instead of text; the same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Nodes of the cluster, as `100x64GiB,32vcores` or a file with nodes.
    #[arg(long, value_name = "FILE|NODES", value_parser = node_source)]
    cluster: Option<NodeSource>,
    /// Below the tree, the settings of this queue and of those below it, each with its source.
    #[arg(long, value_name = "QUEUE", requires = "cluster")]
    values: Vec<String>,
    /// Explain a code and stop.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["files", "site"])]
    explain: Option<String>,
    /// Release of Hadoop whose rules and defaults hold: 3.4, or 3.5 unless given. Where it is given, hints say what
    /// changes for these files since the release before it.
    #[arg(long, value_name = "RELEASE")]
    reference: Option<Reference>,
}

/// Forms of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people, with the lines of the files.
    Text,
    /// One document of our own.
    Json,
    /// SARIF 2.1.0, which code hosts show at the lines of a change.
    Sarif,
    /// Issues by queue and property, as the reference's validation answers.
    Validate,
}

const REFUSED: u8 = 1;
const USAGE: u8 = 2;

/// A file with what was found in it, or why it could not be read, and its tree on a cluster.
struct Checked<'a> {
    path: &'a Path,
    report: Result<Report, String>,
    tree: Option<Tree>,
}

fn options(args: &Args) -> Options {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Options {
        strict: args.strict,
        environment: environment.collect(),
        reference: args.reference.unwrap_or_default(),
        upgrades_from: args.reference.and_then(Reference::before),
        ..Options::default()
    }
}

/// The findings of all files in the form that is asked for.
fn shown(results: &[Checked<'_>], args: &Args) -> String {
    let form = if args.json { Form::Json } else { args.format };
    match form {
        Form::Text => human_text(results, args),
        Form::Json => format!("{:#}\n", findings::json(results, args.strict)),
        Form::Sarif => format!("{:#}\n", findings::sarif(results)),
        Form::Validate => format!("{:#}\n", findings::issues(results, args.strict)),
    }
}

fn human_text(results: &[Checked<'_>], args: &Args) -> String {
    let colour = takes_colours();
    let mut out = String::new();
    for checked in results {
        if let Ok(report) = &checked.report {
            human(&mut out, checked.path, report, args.strict, colour);
        }
        if let Some(tree) = &checked.tree {
            out.push_str(&tree.text(&args.values));
        }
    }
    out
}

/// Writes the findings: those for people are escaped where they come from the files.
fn put_shown(text: &str, for_people: bool) {
    if for_people {
        put_styled(text);
    } else {
        put(text);
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

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = &args.explain {
        return Ok(explain(code, args.json || args.format == Form::Json));
    }
    let (options, sites) = match surroundings(args) {
        Ok(found) => found,
        Err(code) => return Ok(code),
    };
    let mut results = Vec::new();
    for path in &args.files {
        results.push(check(path, &sites, args, &options)?);
    }
    let for_people = !args.json && args.format == Form::Text;
    put_shown(&shown(&results, args), for_people);
    let mut unread = 0;
    for message in results.iter().filter_map(|one| one.report.as_ref().err()) {
        usage(message);
        unread += 1;
    }
    let refused = |report: &Report| report.refuses(args.strict);
    let is_refused = |one: &Checked<'_>| one.report.as_ref().is_ok_and(refused);
    Ok(if unread > 0 {
        ExitCode::from(USAGE)
    } else if results.iter().any(is_refused) {
        ExitCode::from(REFUSED)
    } else {
        ExitCode::SUCCESS
    })
}

fn check<'a>(
    path: &'a Path,
    sites: &[ConfigSource],
    args: &Args,
    options: &Options,
) -> Result<Checked<'a>> {
    let source = match source(path, options) {
        Ok(source) => source,
        Err(message) => {
            return Ok(Checked {
                path,
                report: Err(message),
                tree: None,
            });
        }
    };
    let mut sources = vec![source];
    sources.extend_from_slice(sites);
    let mut report = config::check(&sources, options);
    let mut tree = None;
    if let Some(nodes) = args.cluster.as_ref().filter(|_| !report.refuses(false)) {
        let lenient = Options {
            strict: false,
            ..options.clone()
        };
        let mut found = Tree::of(&sources, nodes, &lenient)?;
        if let Some(path) = found.unknown(&args.values) {
            let problem = format!("--values: there is no queue `{}`", escaped(path));
            return Err(anyhow!(Problem(problem)));
        }
        report.diagnostics.extend(found.take_hints());
        tree = Some(found);
    }
    Ok(Checked {
        path,
        report: Ok(report),
        tree,
    })
}

fn source(path: &Path, options: &Options) -> Result<ConfigSource, String> {
    if path == Path::new("-") {
        return standard_input(options.limits.bytes);
    }
    let source = config::read_source(path, Layer::Scheduler, &options.limits);
    source.map_err(|finding| finding.message)
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
        name: STANDARD_INPUT.to_owned(),
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
        None => usage(&format!(
            "no code `{}`{}; docs/reference/codes.md lists all",
            escaped(code),
            likely(code)
        )),
    }
}

/// Codes that hold what was given, whatever its letters, or that it holds.
fn likely(code: &str) -> String {
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let wanted = plain(code);
    let near = |known: &&str| {
        let known = plain(known);
        !wanted.is_empty() && (known.contains(&wanted) || wanted.contains(&known))
    };
    let found: Vec<&str> = config::codes().filter(near).take(LIKELY).collect();
    match found.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", found.join(" or ")),
    }
}

/// Codes that a message suggests.
const LIKELY: usize = 3;

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

fn human(out: &mut String, path: &Path, report: &Report, strict: bool, colour: bool) {
    let renderer = shown::renderer(colour);
    let places = Places::of(report);
    let (first, more) = report.first_of_each_kind(MOST_OF_A_KIND);
    for finding in first {
        out.push_str(&shown::rendered(&renderer, finding, &places));
        out.push_str("\n\n");
    }
    for (kind, count) in more {
        let _ = writeln!(out, "{}\n", more_of_a_kind(kind, count));
    }
    let [errors, warnings, hints] = counts(report);
    let verdict = if report.refuses(strict) {
        "refused"
    } else {
        "accepted"
    };
    let name = match path.to_str() {
        Some("-") => STANDARD_INPUT.to_owned(),
        _ => escaped(&path.display().to_string()),
    };
    let _ = write!(out, "{name}: {verdict}");
    for (count, name) in [(errors, "error"), (warnings, "warning"), (hints, "hint")] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(out, ", {count} {name}{plural}");
        }
    }
    out.push('\n');
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

    fn checked(report: Report) -> Checked<'static> {
        Checked {
            path: Path::new("cs.xml"),
            report: Ok(report),
            tree: None,
        }
    }

    /// What the schema of SARIF 2.1.0 requires of each object that is written.
    #[test]
    fn sarif_has_what_its_schema_requires() {
        let sarif = findings::sarif(&[checked(report(SUM))]);
        assert_eq!(sarif["version"], "2.1.0");
        let run = &sarif["runs"][0];
        let driver = &run["tool"]["driver"];
        assert_eq!(driver["name"], "capsched");
        let rules = driver["rules"].as_array().unwrap();
        assert!(run["invocations"][0]["executionSuccessful"].is_boolean());
        let results = run["results"].as_array().unwrap();
        assert!(!results.is_empty());
        for result in results {
            assert!(result["message"]["text"].is_string());
            let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[rule]["id"], result["ruleId"]);
            let levels = ["none", "note", "warning", "error"];
            assert!(levels.contains(&result["level"].as_str().unwrap()));
            let related = result["relatedLocations"].as_array().unwrap();
            let all = result["locations"]
                .as_array()
                .unwrap()
                .iter()
                .chain(related);
            for place in all {
                let place = &place["physicalLocation"];
                assert_eq!(place["artifactLocation"]["uri"], "cs.xml");
                let region = &place["region"];
                let number = |name: &str| region[name].as_u64().unwrap();
                assert!(number("startLine") >= 1 && number("startColumn") >= 1);
                assert!(number("endLine") >= number("startLine"));
            }
            assert!(related.iter().all(|place| place["id"].is_u64()));
        }
        assert_eq!(
            results[0]["locations"][0]["physicalLocation"]["region"]["startLine"],
            2
        );
    }

    #[test]
    fn issues_name_queue_property_and_rule() {
        let found = findings::issues(&[checked(report(SUM))], false);
        assert_eq!(found["valid"], false);
        let issue = &found["issues"][0];
        assert_eq!(issue["queuePath"], "root");
        assert_eq!(issue["propertyKey"], "yarn.scheduler.capacity.root.queues");
        assert_eq!(issue["ruleId"], "capacity_sum");
        assert_eq!(issue["severity"], "error");
        assert!(issue["message"].is_string());
    }

    #[test]
    fn json_names_codes_and_places() {
        let json = findings::json(&[checked(report(SUM))], false);
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
        assert!(out.contains("cs.xml: accepted, 1 warning"), "{out}");
        assert!(report.refuses(true));
    }

    #[test]
    fn what_repeats_is_shown_up_to_a_bound_and_counted() {
        let unlisted: String = (0..20_000)
            .map(|i| {
                let key = format!("yarn.scheduler.capacity.root.q{i}.capacity");
                format!("<property><name>{key}</name><value>1</value></property>\n")
            })
            .collect();
        let text = SUM.replace("40", "30");
        let text = text.replace("</configuration>", &format!("{unlisted}</configuration>"));
        let report = report(&text);
        let mut out = String::new();
        human(&mut out, Path::new("cs.xml"), &report, false, false);
        assert_eq!(out.matches("no `queues` list names").count(), 20);
        assert!(out.contains("warning[W_QUEUE_UNLISTED]: 19980 more of this kind"));
        assert!(
            out.ends_with("cs.xml: accepted, 20000 warnings, 1 hint\n"),
            "{out}"
        );
        let json = findings::json(&[checked(report)], false);
        let file = &json["files"][0];
        assert_eq!(file["warnings"], 20_000);
        let listed = file["findings"].as_array().unwrap().iter();
        let unlisted = listed.filter(|finding| finding["code"] == "W_QUEUE_UNLISTED");
        assert_eq!(unlisted.count(), 1_000);
        assert_eq!(file["further"][0]["count"], 19_000);
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
