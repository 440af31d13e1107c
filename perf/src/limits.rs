//! What a workload's file and the options of a command may say: every value within a range in which the driver
//! ends in time and its sums do not overflow. All faults of a file are reported together, each with its place.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use capsched::resource::MAX_TYPES;
use clap::builder::RangedU64ValueParser;

use crate::shape::{Run, Shape};

/// Most threads of an engine; each is one of the machine, so that more measure the machine alone.
pub(crate) const THREADS: u64 = 256;

/// Most containers that fit or are asked for: the decisions of a round are kept, a hundred bytes each.
const CONTAINERS: u64 = 20_000_000;

/// Most amounts of one type that a node or a container has.
const AMOUNT: u64 = 1 << 40;

/// A round takes a day at most.
const SECONDS: u64 = 86_400;

/// `--threads` of engines that can do without.
pub(crate) fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(0..=THREADS)
}

/// `--threads` where there has to be one.
pub(crate) fn proposers() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=THREADS)
}

/// `--rounds`: at least one, since there is no figure otherwise.
pub(crate) fn rounds() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=10_000)
}

/// `--warmup`, `--cost`: rounds that there need not be.
pub(crate) fn more_rounds() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(0..=10_000)
}

/// `--seconds`.
pub(crate) fn seconds() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(1..=SECONDS)
}

/// Asks a second, up to more than any engine serves.
pub(crate) fn rate() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(1..=20_000_000)
}

/// Whether a name can be that of a file in the folder of the workloads, and of no other file.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

/// What is wrong with a workload whose file has this text; nothing when it may be run.
pub(crate) fn refusals(shape: &Shape, text: &str) -> Vec<String> {
    let mut found = Refusals {
        text,
        all: Vec::new(),
    };
    found.cluster(shape);
    found.queues(shape);
    found.load(shape);
    found.run(shape);
    if found.all.is_empty() {
        // The products are of checked numbers.
        found.counts(shape);
    }
    found.all
}

/// Refusals, as they are found.
struct Refusals<'a> {
    text: &'a str,
    all: Vec<String>,
}

impl Refusals<'_> {
    /// Refuses a value unless it fits.
    fn expect(&mut self, fits: bool, place: (&str, &str), value: &dyn std::fmt::Debug, rule: &str) {
        if !fits {
            let (section, field) = place;
            let line = line_of(self.text, section, field);
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            self.all
                .push(format!("{line}[{section}] {field} = {value:?}: {rule}"));
        }
    }

    fn within(&mut self, place: (&str, &str), value: u64, range: &RangeInclusive<u64>) {
        let rule = format!("{} to {}", range.start(), range.end());
        self.expect(range.contains(&value), place, &value, &rule);
    }

    fn cluster(&mut self, shape: &Shape) {
        let cluster = &shape.cluster;
        self.within(("cluster", "nodes"), cluster.nodes.into(), &(1..=1_000_000));
        let minimum = u64::try_from(cluster.minimum_mib).unwrap_or(0);
        self.within(("cluster", "minimum_mib"), minimum, &(1..=AMOUNT));
        let types = shape.types();
        self.names(("cluster", "more_types"), &types);
        let rule = format!("at most {MAX_TYPES} with memory and vcores");
        let fits = types.len() <= MAX_TYPES;
        self.expect(fits, ("cluster", "more_types"), &cluster.more_types, &rule);
        self.names(("cluster", "partitions"), &cluster.partitions);
        let fits = cluster.partitions.len() <= 100;
        self.expect(
            fits,
            ("cluster", "partitions"),
            &cluster.partitions,
            "at most 100",
        );
        self.amounts(("cluster", "node"), shape, &cluster.node);
    }

    /// Different names that configurations can have as a part of a key.
    fn names(&mut self, place: (&str, &str), names: &[String]) {
        let mut known = BTreeSet::new();
        for name in names {
            self.expect(
                is_name(name),
                place,
                name,
                "a name has letters, digits, `-` and `_`",
            );
            self.expect(known.insert(name), place, name, "is there twice");
        }
    }

    fn amounts(&mut self, place: (&str, &str), shape: &Shape, amounts: &[i64]) {
        let types = shape.types();
        let positive = |&amount: &i64| (1..=AMOUNT).contains(&u64::try_from(amount).unwrap_or(0));
        let fits = amounts.len() == types.len() && amounts.iter().all(positive);
        let rule = format!(
            "one amount of 1 to {AMOUNT} for each of {}",
            types.join(", ")
        );
        self.expect(fits, place, &amounts, &rule);
    }

    fn queues(&mut self, shape: &Shape) {
        let queues = &shape.queues;
        let place = ("queues", "levels");
        let divides = |count: &u32| *count > 0 && 100 % count == 0;
        let rule = "queues of a level share 100 % evenly: 1, 2, 4, 5, 10, 20, 25, 50 or 100";
        let fits = queues.levels.iter().all(divides) && !queues.levels.is_empty();
        self.expect(fits, place, &queues.levels, rule);
        let leaves = queues.levels.iter().map(|&count| u64::from(count));
        let leaves = leaves.fold(1, u64::saturating_mul);
        self.expect(
            leaves <= 10_000,
            place,
            &queues.levels,
            "at most 10000 leaves",
        );
        let percent = queues.user_percent.into();
        self.within(("queues", "user_percent"), percent, &(1..=100));
    }

    fn load(&mut self, shape: &Shape) {
        let load = &shape.load;
        self.within(("load", "apps"), load.apps.into(), &(1..=1_000_000));
        self.within(("load", "users"), load.users.into(), &(1..=1_000_000));
        let sizes = load.containers.len();
        let place = ("load", "containers");
        self.expect(
            (1..=100).contains(&sizes),
            place,
            &load.containers,
            "1 to 100 sizes",
        );
        for size in &load.containers {
            self.amounts(place, shape, size);
        }
        if let Some(asked) = load.asked {
            self.within(("load", "asked"), asked.into(), &(1..=CONTAINERS));
        }
        self.within(
            ("load", "hopeless_tenths"),
            load.hopeless_tenths.into(),
            &(0..=9),
        );
        self.within(
            ("load", "a_heartbeat"),
            load.a_heartbeat.into(),
            &(1..=CONTAINERS),
        );
    }

    fn run(&mut self, shape: &Shape) {
        let full = |found: &mut Self, percent: u32| {
            found.within(("run", "full_percent"), percent.into(), &(1..=100));
        };
        let length = |found: &mut Self, seconds: u32| {
            found.within(("run", "seconds"), seconds.into(), &(1..=SECONDS));
        };
        match &shape.run {
            Run::Fill { until_percent } => {
                self.within(
                    ("run", "until_percent"),
                    (*until_percent).into(),
                    &(1..=100),
                );
            }
            Run::Churn {
                full_percent,
                seconds,
                heartbeat_interval_ms,
            } => {
                full(self, *full_percent);
                length(self, *seconds);
                if let Some(ms) = heartbeat_interval_ms {
                    let day_ms = SECONDS * 1000;
                    self.within(
                        ("run", "heartbeat_interval_ms"),
                        (*ms).into(),
                        &(1..=day_ms),
                    );
                }
            }
            Run::Open {
                full_percent,
                rates,
                seconds,
            } => {
                full(self, *full_percent);
                length(self, *seconds);
                for &rate in rates {
                    self.within(("run", "rates"), rate.into(), &(1..=20_000_000));
                }
            }
            Run::Beats { seconds } => length(self, *seconds),
            Run::Trace { copies } => self.within(("run", "copies"), (*copies).into(), &(1..=1000)),
        }
    }

    /// What follows from several values.
    fn counts(&mut self, shape: &Shape) {
        let nodes = ("cluster", "nodes");
        let fits = u64::from(shape.fits());
        let rule = format!("{fits} containers fit: 1 to {CONTAINERS} may");
        let few = (1..=CONTAINERS).contains(&fits);
        self.expect(few, nodes, &shape.cluster.nodes, &rule);
        let rule = "too few containers for this share of them and so many applications";
        let place = match shape.run {
            Run::Fill { until_percent } => (("run", "until_percent"), until_percent),
            Run::Churn { full_percent, .. } | Run::Open { full_percent, .. } => {
                (("run", "full_percent"), full_percent)
            }
            Run::Beats { .. } | Run::Trace { .. } => return,
        };
        self.expect(!few || shape.target() > 0, place.0, &place.1, rule);
    }
}

/// The line of a field in a section of a file, counted from one; that of the section where the field is left to
/// its usual value.
fn line_of(text: &str, section: &str, field: &str) -> Option<usize> {
    let mut found = None;
    let mut inside = false;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']) == section;
            if inside {
                found = Some(number);
            }
        } else if inside && line.split('=').next().map(str::trim) == Some(field) {
            return Some(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
about = \"x\"
[cluster]
nodes = 10
node = [4096, 4]
partitions = [\"fast\"]
[queues]
levels = [2]
user_percent = 25
user_factor = \"10\"
[load]
apps = 4
users = 2
containers = [[1024, 1]]
a_heartbeat = 1
[run]
kind = \"fill\"
until_percent = 99
";

    /// Lines of the file, others in their place, and what is reported of those.
    const OUT_OF_RANGE: &[(&str, &str, &str)] = &[
        (
            "until_percent = 99",
            "until_percent = 0",
            "line 17: [run] until_percent = 0: 1 to 100",
        ),
        (
            "until_percent = 99",
            "until_percent = 101",
            "line 17: [run] until_percent = 101",
        ),
        (
            "until_percent = 99",
            "until_percent = 1",
            "line 17: [run] until_percent = 1: too few",
        ),
        (
            "nodes = 10",
            "nodes = 0",
            "line 3: [cluster] nodes = 0: 1 to 1000000",
        ),
        (
            "nodes = 10",
            "nodes = 400000000",
            "line 3: [cluster] nodes = 400000000",
        ),
        (
            "node = [4096, 4]",
            "node = [4096, -4]",
            "line 4: [cluster] node = [4096, -4]",
        ),
        (
            "node = [4096, 4]",
            "node = [4096]",
            "line 4: [cluster] node = [4096]: one amount",
        ),
        (
            "node = [4096, 4]",
            "node = [512, 4]",
            "[cluster] nodes = 10: 0 containers fit",
        ),
        (
            "\"fast\"",
            "\"a b\"",
            "line 5: [cluster] partitions = \"a b\"",
        ),
        (
            "\"fast\"",
            "\"a!\"",
            "line 5: [cluster] partitions = \"a!\"",
        ),
        (
            "\"fast\"",
            "\"a\", \"a\"",
            "line 5: [cluster] partitions = \"a\": is there twice",
        ),
        (
            "levels = [2]",
            "levels = [3]",
            "line 7: [queues] levels = [3]",
        ),
        (
            "levels = [2]",
            "levels = [100, 100, 100, 100, 100, 100]",
            "at most 10000 leaves",
        ),
        (
            "user_percent = 25",
            "user_percent = 0",
            "line 8: [queues] user_percent = 0",
        ),
        ("apps = 4", "apps = 0", "line 11: [load] apps = 0"),
        (
            "a_heartbeat = 1",
            "a_heartbeat = 0",
            "line 14: [load] a_heartbeat = 0",
        ),
        ("a_heartbeat = 1", "asked = 0", "line 14: [load] asked = 0"),
    ];

    /// What is refused when a line of the file is another one.
    fn refused(line: &str, by: &str) -> Vec<String> {
        assert!(TEXT.contains(line), "{line}");
        let text = TEXT.replace(line, by);
        let shape: Shape = toml::from_str(&text).unwrap();
        refusals(&shape, &text)
    }

    #[test]
    fn a_value_out_of_its_range_is_refused_with_its_place() {
        assert_eq!(refused("nodes = 10", "nodes = 10"), [""; 0]);
        for &(line, by, fault) in OUT_OF_RANGE {
            let found = refused(line, by);
            assert!(
                found.iter().any(|text| text.contains(fault)),
                "{by}: {found:?}"
            );
        }
    }

    #[test]
    fn runs_without_a_length_and_loops_without_containers_are_refused() {
        let fill = "kind = \"fill\"\nuntil_percent = 99";
        for (by, fault) in [
            (
                "kind = \"beats\"\nseconds = 0",
                "line 17: [run] seconds = 0",
            ),
            ("kind = \"trace\"\ncopies = 0", "line 17: [run] copies = 0"),
            (
                "kind = \"churn\"\nseconds = 1\nfull_percent = 0",
                "line 18: [run] full_percent = 0",
            ),
            (
                "kind = \"churn\"\nseconds = 1\nfull_percent = 101",
                "[run] full_percent = 101",
            ),
            (
                "kind = \"churn\"\nseconds = 1\nfull_percent = 5",
                "[run] full_percent = 5: too few",
            ),
            (
                "kind = \"open\"\nseconds = 1\nfull_percent = 50\nrates = [0]",
                "line 19: [run] rates = 0",
            ),
        ] {
            let found = refused(fill, by);
            assert!(
                found.iter().any(|text| text.contains(fault)),
                "{by}: {found:?}"
            );
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_together() {
        let found = refused("apps = 4\nusers = 2", "apps = 0\nusers = 0");
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_field_left_to_its_usual_value_has_the_place_of_its_section() {
        assert_eq!(line_of(TEXT, "load", "hopeless_tenths"), Some(10));
        assert_eq!(line_of(TEXT, "none", "nodes"), None);
    }

    #[test]
    fn a_name_leads_to_no_other_folder() {
        for name in ["S1", "W1-50k", "W9-pack"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "../S1", "a/b", "..", "a b", "a.b", "\u{e4}"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
