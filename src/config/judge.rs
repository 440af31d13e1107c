//! The verdict on configuration files: settings and placement rules together.

use super::admission;
use super::diagnostic::{Diagnostic, Report, SourceFile, Span};
use super::load::{ConfigSource, Loaded, Options, load};
use super::mapping::MappingError;
use super::prefix::PREFIX;
use super::upgrade;

/// Everything that there is to say about configuration files that are in memory: what [`load`]
/// says, and once it accepts them, what is wrong with the placement rules.
///
/// Where the options name an older release, hints say what changes for these files since then.
///
/// The file that `mapping-rule-json-file` names is read, as the reference does at its start; no
/// other file is opened.
#[must_use]
pub fn check(sources: &[ConfigSource], options: &Options) -> Report {
    let found = load(sources, options);
    let changes = upgrade::changes(sources, options, &found);
    let mut report = match found {
        Ok(loaded) => {
            let faults = placement_faults(&loaded);
            let left = options
                .refreshes_legacy_mode
                .then(|| left_legacy_mode(&loaded));
            let mut report = loaded.report;
            report.diagnostics.splice(0..0, faults);
            report.diagnostics.extend(left.flatten());
            report
        }
        Err(report) => report,
    };
    report.diagnostics.extend(changes);
    report
}

/// What a refresh does in part that takes a scheduler out of legacy mode.
fn left_legacy_mode(loaded: &Loaded) -> Option<Diagnostic> {
    if loaded.settings.scheduler.legacy_queue_mode {
        return None;
    }
    let key = format!("{PREFIX}legacy-queue-mode.enabled");
    let message = "a refresh to this file leaves legacy mode: Hadoop goes on dividing resources \
                   by the mode of its start";
    let finding = Diagnostic::warning("W_MODE_AT_REFRESH", message)
        .at(loaded.properties.span(&key))
        .help("restart the resource manager with this file instead of a refresh");
    Some(finding)
}

/// The faults of placement rules and workflow priorities, for which a scheduler does not start.
/// [`load`] leaves them to [`Admission::read`](super::Admission::read): not everyone who embeds a
/// scheduler places by rules.
#[must_use]
pub fn placement_faults(loaded: &Loaded) -> Vec<Diagnostic> {
    let Err(faults) = admission::rules(loaded, []) else {
        return Vec::new();
    };
    let finding = |fault: &MappingError| {
        let (key, part, help) = place(loaded, fault);
        let span = loaded.properties.span(&key);
        let span = span.map(|span| narrowed(&loaded.report.files, span, part));
        let finding = Diagnostic::error(fault.code(), fault.to_string()).at(span);
        if help.is_empty() {
            finding
        } else {
            finding.help(help)
        }
    };
    faults.iter().take(100).map(finding).collect()
}

/// The key of a fault, the part of its value that is at fault, and advice.
fn place<'a>(loaded: &Loaded, fault: &'a MappingError) -> (String, &'a str, &'static str) {
    let own = |name: &str| format!("{PREFIX}{name}");
    let json = loaded.properties.raw(&own("mapping-rule-format")) == Some("json");
    match fault {
        MappingError::Format { value } => (own("mapping-rule-format"), value, ""),
        MappingError::Syntax { key, entry } => {
            let help = if key.starts_with(PREFIX) {
                "write `u:<user>:<queue>` or `g:<group>:<queue>`, separated by commas"
            } else {
                "write `<application>:<queue>`, separated by commas"
            };
            (key.clone(), entry, help)
        }
        MappingError::Json { place, .. } | MappingError::Create { place, .. }
            if place.starts_with(PREFIX) =>
        {
            (place.clone(), "", "")
        }
        MappingError::Json { .. } | MappingError::Create { .. } | MappingError::File { .. } => {
            (own("mapping-rule-json-file"), "", "")
        }
        MappingError::Target { target, .. } => {
            let inline = own("mapping-rule-json");
            let key = match json {
                false => own("queue-mappings"),
                true if loaded.properties.raw(&inline).is_some() => inline,
                true => own("mapping-rule-json-file"),
            };
            let help = "name a leaf by its full path, or a parent that creates queues";
            (key, target, help)
        }
        MappingError::Workflow { entry } => (own("workflow-priority-mappings"), entry, ""),
    }
}

/// The part of a value that is at fault, where the file holds it as it is.
fn narrowed(files: &[SourceFile], span: Span, part: &str) -> Span {
    let value = files
        .get(span.file)
        .and_then(|file| file.text.get(span.bytes.clone()));
    let at = value.and_then(|value| value.find(part));
    match at {
        Some(at) if !part.is_empty() => {
            let start = span.bytes.start + at;
            Span {
                file: span.file,
                bytes: start..start + part.len(),
            }
        }
        _ => span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layer;

    fn report(more: &[(&str, &str)]) -> Report {
        let sound = [
            ("root.queues", "a,b"),
            ("root.a.capacity", "70"),
            ("root.b.capacity", "30"),
        ];
        let mut text = "<configuration>\n".to_owned();
        for (name, value) in sound.iter().chain(more) {
            text += &format!(
                "<property><name>{PREFIX}{name}</name><value>{value}</value></property>\n"
            );
        }
        let file = ConfigSource {
            name: "cs.xml".to_owned(),
            bytes: (text + "</configuration>").into_bytes(),
            layer: Layer::Scheduler,
        };
        check(&[file], &Options::default())
    }

    /// Code and underlined text of the error that decides.
    fn first(more: &[(&str, &str)]) -> (&'static str, String) {
        let report = report(more);
        let error = report.first_error().unwrap();
        let span = error.span.clone().unwrap();
        let text = &report.files[span.file].text[span.bytes];
        (error.code, text.to_owned())
    }

    #[test]
    fn faults_of_placement_rules_are_errors_at_their_place() {
        let json = ("mapping-rule-format", "json");
        for (more, code, part) in [
            (
                vec![("queue-mappings", "u:ann:a,u:bob")],
                "mapping_syntax",
                "u:bob",
            ),
            (
                vec![("queue-mappings", "u:ann:a,u:bob:nowhere")],
                "mapping_target",
                "nowhere",
            ),
            (
                vec![json, ("mapping-rule-json", "{\"rules\":7}")],
                "mapping_json",
                "{\"rules\":7}",
            ),
            (
                vec![json, ("mapping-rule-json-file", "no/such/file")],
                "mapping_file",
                "no/such/file",
            ),
            (
                vec![json, ("mapping-rule-json-file", "/")],
                "mapping_file",
                "/",
            ),
            (
                vec![("workflow-priority-mappings", "w:root.a:3,w:root.b")],
                "workflow_mapping",
                "w:root.b",
            ),
        ] {
            assert_eq!(first(&more), (code, part.to_owned()));
        }
    }

    #[test]
    fn sound_rules_and_a_configuration_without_rules_are_accepted() {
        assert!(!report(&[]).refuses(false));
        assert!(!report(&[("queue-mappings", "u:%user:a,g:dev:root.b")]).refuses(false));
    }
}
