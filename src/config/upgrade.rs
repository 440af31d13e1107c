//! What a later release of Hadoop makes of files that the release before it reads, too.

use crate::queue::{CapacitySetting, QueueSettings, Reference};

use super::diagnostic::{Diagnostic, Report, clip};
use super::load::{ConfigSource, Loaded, Options, load};
use super::queue::QueueContext;
use super::scheduler;
use super::severity::Severity;

const CODE: &str = "H_UPGRADE";

/// Hints about everything that changes for these files between an older release and that of the
/// options; none where the options name no older one. Cost: the files are read a second time.
pub(super) fn changes(
    sources: &[ConfigSource],
    options: &Options,
    now: &Result<Loaded, Report>,
) -> Vec<Diagnostic> {
    let release = options.reference;
    let Some(before) = options.upgrades_from.filter(|one| *one < release) else {
        return Vec::new();
    };
    let older = Options {
        reference: before,
        ..options.clone()
    };
    match (load(sources, &older), now) {
        (Ok(old), Ok(new)) => {
            let mut all: Vec<Diagnostic> = defaults(&old, new, release).into_iter().collect();
            all.extend(capacities(&old, new, release));
            all
        }
        (Err(old), Ok(new)) => {
            let place = first(&old).and_then(|error| error.span.clone());
            let code = first(&old).map_or("", |error| error.code);
            let text = format!(
                "Hadoop {before} refuses these files with `{code}`, {release} accepts them"
            );
            let mut all = vec![hint(text).at(place)];
            all.extend(asynchronous(new, release));
            all
        }
        (Ok(_), Err(new)) => {
            let place = first(new).and_then(|error| error.span.clone());
            let text = format!("Hadoop {before} accepts these files, {release} does not");
            vec![hint(text).at(place)]
        }
        (Err(_), Err(_)) => Vec::new(),
    }
}

fn hint(text: String) -> Diagnostic {
    Diagnostic::new(CODE, Severity::Hint, text)
}

/// The error that decides; a strict reading may have none.
fn first(report: &Report) -> Option<&Diagnostic> {
    report.first_error()
}

/// Defaults that changed and that these files do not set.
fn defaults(old: &Loaded, new: &Loaded, release: Reference) -> Option<Diagnostic> {
    let enabled = |loaded: &Loaded| loaded.settings.scheduler.asynchronous.enabled;
    asynchronous(new, release).filter(|_| enabled(old) != enabled(new))
}

/// Scheduling without heartbeats, where no file asks for it.
fn asynchronous(new: &Loaded, release: Reference) -> Option<Diagnostic> {
    let key = scheduler::key("schedule-asynchronously.enable");
    let unset = new.properties.raw(&key).is_none();
    (unset && new.settings.scheduler.asynchronous.enabled).then(|| {
        let text = format!("Hadoop {release} schedules asynchronously, since `{key}` is not set");
        hint(text).at(new.properties.start()).help(format!(
            "set `{key}` to false to keep scheduling by heartbeats"
        ))
    })
}

/// Capacities and maximums that are read otherwise.
fn capacities(old: &Loaded, new: &Loaded, release: Reference) -> Vec<Diagnostic> {
    let pairs = old.settings.queues.iter().zip(&new.settings.queues);
    let same = pairs.filter(|(old, new)| old.path == new.path);
    same.flat_map(|(before, after)| of_queue(before, after, new, release))
        .collect()
}

fn of_queue(
    before: &QueueSettings,
    after: &QueueSettings,
    new: &Loaded,
    release: Reference,
) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    for (label, part) in &after.partitions {
        let Some(was) = before.partitions.get(label) else {
            continue;
        };
        let sides = [
            ("capacity", &was.capacity, &part.capacity),
            ("maximum-capacity", &was.maximum, &part.maximum),
        ];
        for (name, was, is) in sides {
            let key = QueueContext::label_key(&after.path, label, name);
            if let Some(written) = new.properties.raw(&key).filter(|_| differs(was, is)) {
                let text = format!("Hadoop {release} reads `{}` otherwise", clip(written));
                let help = "give it an amount of memory above 0, which both releases read alike";
                all.push(hint(text).at(new.properties.span(&key)).help(help));
            }
        }
    }
    all
}

fn differs(was: &CapacitySetting, is: &CapacitySetting) -> bool {
    was.legacy != is.legacy || was.vector != is.vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, check};

    /// Messages of the hints about an upgrade to 3.5.
    fn hints(pairs: &[(&str, &str)], reference: Reference) -> Vec<String> {
        let property = |(name, value): &(&str, &str)| {
            format!("<property name=\"yarn.scheduler.capacity.{name}\" value=\"{value}\"/>")
        };
        let text: String = pairs.iter().map(property).collect();
        let file = ConfigSource {
            name: "cs.xml".to_owned(),
            bytes: format!("<configuration>{text}</configuration>").into_bytes(),
            layer: Layer::Scheduler,
        };
        let options = Options {
            reference,
            upgrades_from: reference.before(),
            ..Options::default()
        };
        let report = check(&[file], &options);
        let all = report.diagnostics.into_iter();
        all.filter(|one| one.code == CODE)
            .map(|one| one.message)
            .collect()
    }

    #[test]
    fn an_upgrade_names_new_defaults_and_values_that_count_now() {
        let own = [
            ("root.queues", "a,b"),
            ("root.a.capacity", "[memory=1024,vcores=1]"),
            ("root.b.capacity", "[vcores=10]"),
            ("legacy-queue-mode.enabled", "false"),
        ];
        let found = hints(&own, Reference::Hadoop35);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("asynchronously") && found[1].contains("[vcores=10]"));
        assert_eq!(hints(&own, Reference::Hadoop34), [] as [String; 0]);
        let set = [
            own[0],
            own[1],
            own[3],
            ("schedule-asynchronously.enable", "false"),
        ];
        assert_eq!(hints(&set, Reference::Hadoop35), [] as [String; 0]);
    }

    #[test]
    fn an_upgrade_names_a_verdict_that_changes() {
        let own = [
            ("root.queues", "a,b"),
            ("root.a.capacity", "50"),
            ("root.b.capacity", "[memory=10gi,vcores=10]"),
            ("schedule-asynchronously.enable", "false"),
        ];
        let found = hints(&own, Reference::Hadoop35);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("refuses these files with `capacity_sum`"));
    }
}
