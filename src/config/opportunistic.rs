//! Settings of opportunistic containers, which `yarn-site.xml` has.

use crate::queue::OpportunisticSettings;

use super::diagnostic::{Diagnostic, clip};
use super::number;
use super::properties::Look;

const ALLOCATION: &str = "yarn.resourcemanager.opportunistic-container-allocation.";
const QUEUING: &str = "yarn.resourcemanager.nm-container-queuing.";
const CAPACITY: &str = "yarn.nodemanager.opportunistic-containers-max-queue-length";

/// How opportunistic containers are placed; nothing where they are off, and their other keys are not read then.
// As OpportunisticContainerAllocatorAMService.
pub(super) fn opportunistic(look: &Look<'_>) -> Option<OpportunisticSettings> {
    if !look.flag(&format!("{ALLOCATION}enabled"), false) {
        return None;
    }
    let defaults = OpportunisticSettings::default();
    let queuing = |name: &str| format!("{QUEUING}{name}");
    comparator(look, &queuing("load-comparator"));
    let nodes_used = count(look, &format!("{ALLOCATION}nodes-used"), 1, 10);
    Some(OpportunisticSettings {
        nodes_used: usize::try_from(nodes_used).unwrap_or(defaults.nodes_used),
        queue_capacity: count(look, CAPACITY, 0, defaults.queue_capacity),
        deviations_milli: deviations(look, &queuing("queue-limit-stdev")),
        shortest_limit: count(
            look,
            &queuing("min-queue-length"),
            0,
            defaults.shortest_limit,
        ),
        longest_limit: count(
            look,
            &queuing("max-queue-length"),
            0,
            defaults.longest_limit,
        ),
    })
}

/// A number within its bounds; the default where it is out of them.
fn count(look: &Look<'_>, key: &str, least: u32, default: u32) -> u32 {
    let given = look.int(key, i32::try_from(default).unwrap_or(i32::MAX));
    let valid = u32::try_from(given).ok();
    let most = OpportunisticSettings::MOST;
    valid
        .filter(|given| (least..=most).contains(given))
        .unwrap_or_else(|| {
            ignore(look, key, &format!("{given} is not {least} to {most}"));
            default
        })
}

/// Standard deviations in thousandths.
fn deviations(look: &Look<'_>, key: &str) -> u32 {
    let default = OpportunisticSettings::default().deviations_milli;
    let Some(text) = look.text(key) else {
        return default;
    };
    thousandths(&text).unwrap_or_else(|| {
        let message = format!("`{}` is not a number from 0 to 100", clip(&text));
        ignore(look, key, &message);
        default
    })
}

/// A decimal number from 0 to 100 in thousandths; further digits are cut off.
fn thousandths(text: &str) -> Option<u32> {
    let text = number::trim(text);
    let text = text.strip_suffix(['f', 'F']).unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    let whole: u32 = whole.parse().ok().filter(|&whole| whole <= 100)?;
    let all = whole * 1000 + part.parse::<u32>().ok()?;
    (all <= 100_000).then_some(all)
}

/// Only the length of queues is compared: nodes do not report how long a container waits.
fn comparator(look: &Look<'_>, key: &str) {
    let text = look.text(key).unwrap_or_default();
    let name = number::trim(&text);
    if !name.is_empty() && name != "QUEUE_LENGTH" {
        let message = format!(
            "`{}` is not carried out; queues are compared by QUEUE_LENGTH",
            clip(name)
        );
        ignore(look, key, &message);
    }
}

fn ignore(look: &Look<'_>, key: &str, message: &str) {
    let finding = Diagnostic::warning("W_VALUE_IGNORED", message.to_owned());
    look.note(finding.at(look.properties().span(key)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loaded, Severity, from_pairs};

    /// A configuration of one leaf with these keys of the site.
    fn loaded(site: &[(String, &str)]) -> Option<Loaded> {
        let site = site.iter();
        let site = site.map(|(key, value)| (key.clone(), (*value).to_owned()));
        let own = [("queues", "a"), ("a.capacity", "100")];
        let own = own.map(|(key, value)| {
            let key = format!("yarn.scheduler.capacity.root.{key}");
            (key, value.to_owned())
        });
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        from_pairs(&site.collect(), &own.into(), &types).ok()
    }

    fn enabled() -> (String, &'static str) {
        (format!("{ALLOCATION}enabled"), "true")
    }

    #[test]
    fn they_are_off_unless_enabled_and_have_the_defaults_of_yarn() {
        let read = |site: &[(String, &str)]| loaded(site).unwrap().settings.scheduler.opportunistic;
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[(CAPACITY.to_owned(), "9")]), None);
        assert_eq!(read(&[enabled()]), Some(OpportunisticSettings::default()));
        let all = [
            enabled(),
            (CAPACITY.to_owned(), "9"),
            (format!("{ALLOCATION}nodes-used"), "3"),
            (format!("{QUEUING}queue-limit-stdev"), "2.5"),
            (format!("{QUEUING}min-queue-length"), "1"),
            (format!("{QUEUING}max-queue-length"), "7"),
        ];
        let expected = OpportunisticSettings {
            nodes_used: 3,
            queue_capacity: 9,
            deviations_milli: 2500,
            shortest_limit: 1,
            longest_limit: 7,
        };
        assert_eq!(read(&all), Some(expected));
    }

    #[test]
    fn values_out_of_range_are_ignored_with_a_warning_and_others_refused() {
        for (key, value) in [
            (CAPACITY.to_owned(), "-1"),
            (CAPACITY.to_owned(), "100001"),
            (format!("{ALLOCATION}nodes-used"), "0"),
            (format!("{QUEUING}queue-limit-stdev"), "-1.0"),
            (format!("{QUEUING}max-queue-length"), "-5"),
            (format!("{QUEUING}load-comparator"), "QUEUE_WAIT_TIME"),
        ] {
            let loaded = loaded(&[enabled(), (key.clone(), value)]).unwrap();
            let opportunistic = loaded.settings.scheduler.opportunistic;
            assert_eq!(
                opportunistic,
                Some(OpportunisticSettings::default()),
                "{key}"
            );
            assert_eq!(loaded.report.count(Severity::Warning), 1, "{key}={value}");
        }
        assert!(loaded(&[enabled(), (CAPACITY.to_owned(), "many")]).is_none());
    }

    #[test]
    fn deviations_are_decimal_numbers() {
        let read = ["1.0", " 0.5f", "2", "0.0004", "100"].map(thousandths);
        assert_eq!(read, [1000, 500, 2000, 0, 100_000].map(Some));
        for bad in [
            "",
            "-1",
            "1e3",
            "NaN",
            "100.001",
            "1.x",
            ".5",
            "99999999999",
        ] {
            assert_eq!(thousandths(bad), None, "{bad}");
        }
    }
}
