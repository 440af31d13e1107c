//! Settings of preemption: the keys of the monitor and what contradicts what among them.

use crate::queue::{ChildOrder, QueueSettings};
use crate::rescheduler::{IntraQueueOrder, IntraQueueSettings, QueuePrioritySettings, Settings};

use super::diagnostic::{Diagnostic, clip, clip_key};
use super::number;
use super::properties::Look;
use super::scheduler::key;

const PREFIX: &str = "yarn.resourcemanager.monitor.capacity.preemption.";
const MONITOR: &str = "yarn.resourcemanager.scheduler.monitor.enable";
const POLICIES: &str = "yarn.resourcemanager.scheduler.monitor.policies";
const POLICY: &str = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.\
                      ProportionalCapacityPreemptionPolicy";
/// Policies of the reference that are nothing to do with preemption.
const OTHERS: [&str; 4] = [
    ".scheduler.capacity.AutoCreatedQueueDeletionPolicy",
    ".scheduler.capacity.QueueConfigurationAutoRefreshPolicy",
    ".monitor.invariants.MetricsInvariantChecker",
    ".monitor.invariants.ReservationInvariantsChecker",
];
const BALANCE: &str = "preemption-to-balance-queue-after-satisfied.enabled";
const BALANCE_WAIT: &str = "preemption-to-balance-queue-after-satisfied.max-wait-before-kill";
const TIMEOUT: &str = "capsched.reservation-timeout-ms";
const LOW_USE: &str = "ordering-policy.priority-utilization.underutilized-preemption.";

/// Reads the keys of preemption. What the reference never looks at because the monitor is off is
/// not refused.
pub(super) fn settings(look: &Look<'_>, queues: &[QueueSettings]) -> Settings {
    let read = KeyReader { look };
    let defaults = Settings::default();
    // The reference reads both also where the passes are off, so that a bad value is reported there.
    let balance_wait = || read.time(&own(BALANCE_WAIT), 0, Settings::BALANCE_WAIT_MS);
    let balance = read.wanted(read.flag(BALANCE, false), balance_wait);
    let within = read.flag("intra-queue-preemption.enabled", false);
    let intra_queue = read.wanted(within, || read.intra_queue());
    let settings = Settings {
        enabled: read.enabled(),
        observe_only: read.flag("observe_only", false),
        monitoring_interval_ms: read.time(
            &own("monitoring_interval"),
            1,
            defaults.monitoring_interval_ms,
        ),
        max_wait_before_kill_ms: read.time(
            &own("max_wait_before_kill"),
            0,
            defaults.max_wait_before_kill_ms,
        ),
        total_per_round: read.part("total_preemption_per_round", defaults.total_per_round),
        max_ignored_over_capacity: read.double(
            "max_ignored_over_capacity",
            defaults.max_ignored_over_capacity,
        ),
        natural_termination_factor: read.double(
            "natural_termination_factor",
            defaults.natural_termination_factor,
        ),
        for_reservations: read.flag("select_based_on_reserved_containers", false),
        reserved_counts_as_demand: read
            .flag("additional_res_balance_based_on_reserved_containers", false),
        conservative: read.flag("conservative-drf", false),
        balance,
        intra_queue,
        queue_priority: look
            .flag(&key(&format!("{LOW_USE}enabled")), false)
            .then(|| read.queue_priority()),
        reservation_timeout_ms: read.reservation_timeout(),
    };
    read.contradictions(&settings, queues);
    settings
}

/// A key of the monitor.
fn own(name: &str) -> String {
    format!("{PREFIX}{name}")
}

struct KeyReader<'a> {
    look: &'a Look<'a>,
}

impl KeyReader<'_> {
    fn enabled(&self) -> bool {
        if !self.look.flag(MONITOR, false) {
            return false;
        }
        let Some(policies) = self.look.text(POLICIES) else {
            return true;
        };
        let mut enabled = false;
        for policy in number::trimmed_list(&policies) {
            if policy == POLICY {
                enabled = true;
            } else if policy.starts_with("org.apache.hadoop.")
                && !OTHERS.iter().any(|other| policy.ends_with(other))
            {
                // A class of the reference's own packages that it does not have: it does not start.
                let message = format!("no monitor policy `{}`", clip_key(policy));
                self.refuse(POLICIES, message, &format!("did you mean `{POLICY}`?"));
            } else if !policy.is_empty() {
                let message = format!(
                    "the monitor policy `{}` does not run here",
                    clip_key(policy)
                );
                self.warn(
                    POLICIES,
                    message,
                    "the only policy that runs is `ProportionalCapacityPreemptionPolicy`",
                );
            }
        }
        enabled
    }

    /// What a pass is configured with; read, and then left out, for a pass that is off.
    fn wanted<T>(&self, on: bool, read: impl FnOnce() -> T) -> Option<T> {
        let value = (on || self.look.flag(MONITOR, false)).then(read);
        value.filter(|_| on)
    }

    fn intra_queue(&self) -> IntraQueueSettings {
        let defaults = IntraQueueSettings::default();
        let name = |name: &str| format!("intra-queue-preemption.{name}");
        IntraQueueSettings {
            minimum_threshold: self.part(&name("minimum-threshold"), defaults.minimum_threshold),
            max_allowable_limit: self
                .part(&name("max-allowable-limit"), defaults.max_allowable_limit),
            order: self.order(&own(&name("preemption-order-policy"))),
            conservative: self.flag(&name("conservative-drf"), defaults.conservative),
        }
    }

    fn order(&self, key: &str) -> IntraQueueOrder {
        let Some(text) = self.look.text(key) else {
            return IntraQueueOrder::UserLimitFirst;
        };
        match text.to_ascii_lowercase().as_str() {
            "userlimit_first" => IntraQueueOrder::UserLimitFirst,
            "priority_first" => IntraQueueOrder::PriorityFirst,
            _ => {
                let message = format!("no order of preemption `{}`", clip(&text));
                self.refuse(key, message, "use `userlimit_first` or `priority_first`");
                IntraQueueOrder::UserLimitFirst
            }
        }
    }

    fn queue_priority(&self) -> QueuePrioritySettings {
        let defaults = QueuePrioritySettings::default();
        let name = |name: &str| key(&format!("{LOW_USE}{name}"));
        QueuePrioritySettings {
            reserved_container_delay_ms: self.time(
                &name("reserved-container-delay-ms"),
                0,
                defaults.reserved_container_delay_ms,
            ),
            may_move_reservations: self.look.flag(&name("allow-move-reservation"), false),
        }
    }

    /// A key of our own: refused whether or not the monitor runs.
    fn reservation_timeout(&self) -> Option<u64> {
        self.look.text(TIMEOUT)?;
        let value = self.look.long(TIMEOUT, 1);
        let known = u64::try_from(value).ok().filter(|&value| value > 0);
        if known.is_none() {
            let message = format!("`{TIMEOUT}` is {value}");
            let finding = Diagnostic::error("E_PREEMPTION", message);
            let place = self.look.properties().span(TIMEOUT);
            let help = "use at least 1 ms; leave it out to keep reservations for ever";
            self.look.note(finding.at(place).help(help));
        }
        known
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.look.flag(&own(name), default)
    }

    /// A number; what is none is refused only where the reference reads it.
    fn number<T>(&self, key: &str, default: T, parse: impl Fn(&str) -> Option<T>) -> T {
        let Some(text) = self.look.text(key) else {
            return default;
        };
        parse(&text).unwrap_or_else(|| {
            if self.look.flag(MONITOR, false) {
                self.look.no_number(key, &text);
            } else {
                let message = format!("`{}` is not a number, in `{}`", clip(&text), clip_key(key));
                self.warn(key, message, "nothing reads it while preemption is off");
            }
            default
        })
    }

    /// A time in ms, at least `least`.
    fn time(&self, key: &str, least: u64, default: u64) -> u64 {
        let fallback = i64::try_from(default).expect("defaults are small");
        let value = self.number(key, fallback, number::integer);
        match u64::try_from(value) {
            Ok(value) if value >= least => value,
            _ => {
                let message = format!("`{key}` is {value}");
                self.refuse(key, message, &format!("use at least {least} ms"));
                default
            }
        }
    }

    /// A share that is not negative.
    fn part(&self, name: &str, default: f32) -> f32 {
        let key = own(name);
        let value = self.number(&key, default, number::float);
        if value.is_finite() && value >= 0.0 {
            return value;
        }
        self.not_a_share(&key, f64::from(value));
        default
    }

    /// A share that is not negative, as a Java double.
    fn double(&self, name: &str, default: f64) -> f64 {
        let key = own(name);
        let value = self.number(&key, default, number::double);
        if value.is_finite() && value >= 0.0 {
            return value;
        }
        self.not_a_share(&key, value);
        default
    }

    fn not_a_share(&self, key: &str, value: f64) {
        let message = format!("`{key}` is {value}");
        self.refuse(key, message, "use a number from 0 on; 0.1 is a tenth");
    }

    fn refuse(&self, key: &str, message: String, help: &str) {
        let finding = if self.look.flag(MONITOR, false) {
            Diagnostic::error("E_PREEMPTION", message)
        } else {
            Diagnostic::warning("W_PREEMPTION", message)
        };
        let place = self.look.properties().span(key);
        self.look.note(finding.at(place).help(help));
    }

    fn warn(&self, key: &str, message: String, help: &str) {
        let finding = Diagnostic::warning("W_PREEMPTION", message);
        let place = self.look.properties().span(key);
        self.look.note(finding.at(place).help(help));
    }

    /// Settings that take each other's effect.
    fn contradictions(&self, settings: &Settings, queues: &[QueueSettings]) {
        let lazy = key("lazy-preemption-enabled");
        let wanted = [
            (
                own("select_based_on_reserved_containers"),
                settings.for_reservations,
            ),
            (own(BALANCE), settings.balance.is_some()),
            (
                own("intra-queue-preemption.enabled"),
                settings.intra_queue.is_some(),
            ),
            (
                key(&format!("{LOW_USE}enabled")),
                settings.queue_priority.is_some(),
            ),
            (lazy.clone(), self.look.flag(&lazy, false)),
        ];
        if !settings.enabled {
            for (key, _) in wanted.iter().filter(|(_, wanted)| *wanted) {
                let message = format!("`{key}` has no effect: preemption is off");
                self.warn(key, message, &format!("set `{MONITOR}` to `true`"));
            }
            return;
        }
        let forgotten = settings.max_wait_before_kill_ms.saturating_mul(2);
        if let Some(wait) = settings.balance.filter(|&wait| wait > forgotten) {
            let message = format!(
                "containers asked back to balance queues are never killed: `{}` is {wait}, and \
                 what was asked back is forgotten after twice `{}`, {forgotten}",
                own(BALANCE_WAIT),
                own("max_wait_before_kill"),
            );
            self.warn(
                &own(BALANCE_WAIT),
                message,
                "make the wait of the balance pass shorter",
            );
        }
        let by_priority =
            |queue: &QueueSettings| queue.child_order == ChildOrder::PriorityUtilization;
        if settings.queue_priority.is_some() && !queues.iter().any(by_priority) {
            let (key, _) = &wanted[3];
            let message = format!("`{key}` has no effect: no queue serves by priority");
            self.warn(
                key,
                message,
                "set an `ordering-policy` to `priority-utilization`",
            );
        }
        self.above_one(settings);
        let nothing = [
            (
                "total_preemption_per_round",
                settings.total_per_round <= 0.0,
            ),
            (
                "natural_termination_factor",
                settings.natural_termination_factor <= 0.0,
            ),
        ];
        for (name, _) in nothing.into_iter().filter(|(_, nothing)| *nothing) {
            let message = format!("`{}` is 0: nothing is ever asked back", own(name));
            self.warn(
                &own(name),
                message,
                &format!("to switch preemption off, set `{MONITOR}`"),
            );
        }
    }

    /// Shares that mean no more above 1, or mean harm.
    fn above_one(&self, settings: &Settings) {
        let mut shares = vec![
            (
                "total_preemption_per_round",
                f64::from(settings.total_per_round),
                "a round may take everything anyway",
            ),
            (
                "natural_termination_factor",
                settings.natural_termination_factor,
                "a round takes more than the quota",
            ),
        ];
        if let Some(intra) = &settings.intra_queue {
            shares.push((
                "intra-queue-preemption.minimum-threshold",
                f64::from(intra.minimum_threshold),
                "only queues above their guarantees are looked at",
            ));
            shares.push((
                "intra-queue-preemption.max-allowable-limit",
                f64::from(intra.max_allowable_limit),
                "a round may take more than the guarantee of the queue",
            ));
        }
        for (name, value, effect) in shares.into_iter().filter(|(_, value, _)| *value > 1.0) {
            let message = format!("`{}` is {value}, above 1: {effect}", own(name));
            self.warn(&own(name), message, "1 is the whole; 0.1 is a tenth");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::diagnostic::Report;
    use super::super::load::{Loaded, from_pairs};
    use super::*;

    fn load(pairs: &[(&str, &str)]) -> Result<Loaded, Report> {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            pairs.collect()
        };
        let queues = [
            ("yarn.scheduler.capacity.root.queues", "a"),
            ("yarn.scheduler.capacity.root.a.capacity", "100"),
        ];
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        from_pairs(&map(pairs), &map(&queues), &types)
    }

    fn findings(report: &Report) -> Vec<&'static str> {
        let preemption = ["E_PREEMPTION", "W_PREEMPTION", "not_a_number"];
        let codes = report.diagnostics.iter().map(|finding| finding.code);
        codes.filter(|code| preemption.contains(code)).collect()
    }

    #[test]
    fn without_keys_the_defaults_of_the_reference_hold() {
        assert_eq!(load(&[]).unwrap().preemption, Settings::default());
    }

    #[test]
    fn keys_are_read_under_their_names() {
        let loaded = load(&[
            (MONITOR, "true"),
            (&own("observe_only"), "TRUE"),
            (&own("monitoring_interval"), "1000"),
            (&own("max_wait_before_kill"), "0"),
            (&own("total_preemption_per_round"), "0.5"),
            (&own("max_ignored_over_capacity"), "0.3d"),
            (&own("natural_termination_factor"), "1"),
            (&own(BALANCE), "true"),
            (&own(BALANCE_WAIT), "0"),
            (&own("intra-queue-preemption.enabled"), "true"),
            (
                &own("intra-queue-preemption.preemption-order-policy"),
                "PRIORITY_FIRST",
            ),
        ])
        .unwrap();
        let expected = Settings {
            enabled: true,
            observe_only: true,
            monitoring_interval_ms: 1000,
            max_wait_before_kill_ms: 0,
            total_per_round: 0.5,
            max_ignored_over_capacity: 0.3,
            natural_termination_factor: 1.0,
            balance: Some(0),
            intra_queue: Some(IntraQueueSettings {
                order: IntraQueueOrder::PriorityFirst,
                ..IntraQueueSettings::default()
            }),
            ..Settings::default()
        };
        assert_eq!(loaded.preemption, expected);
        assert_eq!(findings(&loaded.report), [] as [&str; 0]);
    }

    #[test]
    fn every_further_key_changes_its_own_setting() {
        let within = own("intra-queue-preemption.enabled");
        let low_use = |name: &str| key(&format!("{LOW_USE}{name}"));
        let load = |more: &[(&str, &str)]| {
            let on = [(MONITOR, "true"), (&within, "true")];
            let priority = low_use("enabled");
            let on = on.into_iter().chain([(priority.as_str(), "true")]);
            let pairs: Vec<_> = on.chain(more.iter().copied()).collect();
            load(&pairs).unwrap().preemption
        };
        let usual = load(&[]);
        assert_eq!(usual.intra_queue, Some(IntraQueueSettings::default()));
        assert_eq!(usual.queue_priority, Some(QueuePrioritySettings::default()));
        type Change = fn(&mut Settings);
        fn intra(settings: &mut Settings) -> &mut IntraQueueSettings {
            settings.intra_queue.as_mut().unwrap()
        }
        fn priority(settings: &mut Settings) -> &mut QueuePrioritySettings {
            settings.queue_priority.as_mut().unwrap()
        }
        let keys: [(String, &str, Change); 8] = [
            (own("select_based_on_reserved_containers"), "true", |s| {
                s.for_reservations = true;
            }),
            (
                own("additional_res_balance_based_on_reserved_containers"),
                "true",
                |s| s.reserved_counts_as_demand = true,
            ),
            (own("conservative-drf"), "true", |s| s.conservative = true),
            (
                own("intra-queue-preemption.minimum-threshold"),
                "0.7",
                |s| {
                    intra(s).minimum_threshold = 0.7;
                },
            ),
            (
                own("intra-queue-preemption.max-allowable-limit"),
                "0.6",
                |s| {
                    intra(s).max_allowable_limit = 0.6;
                },
            ),
            (
                own("intra-queue-preemption.conservative-drf"),
                "false",
                |s| {
                    intra(s).conservative = false;
                },
            ),
            (low_use("reserved-container-delay-ms"), "5", |s| {
                priority(s).reserved_container_delay_ms = 5;
            }),
            (low_use("allow-move-reservation"), "true", |s| {
                priority(s).may_move_reservations = true;
            }),
        ];
        for (name, value, change) in keys {
            let mut expected = usual.clone();
            change(&mut expected);
            assert_eq!(load(&[(&name, value)]), expected, "{name}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused_while_the_monitor_runs() {
        let bad = [
            ("monitoring_interval", "0"),
            ("monitoring_interval", "-1"),
            ("max_wait_before_kill", "-1"),
            ("total_preemption_per_round", "-0.1"),
            ("max_ignored_over_capacity", "NaN"),
            ("natural_termination_factor", "Infinity"),
        ];
        for (name, value) in bad {
            let report = load(&[(MONITOR, "true"), (&own(name), value)]).unwrap_err();
            assert_eq!(findings(&report), ["E_PREEMPTION"], "{name} {value}");
            let accepted = load(&[(&own(name), value)]).unwrap();
            assert_eq!(
                findings(&accepted.report),
                ["W_PREEMPTION"],
                "{name} {value}"
            );
        }
        let beyond = "9223372036854775808";
        let report = load(&[(MONITOR, "true"), (&own("monitoring_interval"), beyond)]);
        assert_eq!(findings(&report.unwrap_err()), ["not_a_number"]);
        for name in ["monitoring_interval", "total_preemption_per_round"] {
            let accepted = load(&[(&own(name), "much")]).unwrap();
            assert_eq!(findings(&accepted.report), ["W_PREEMPTION"], "{name}");
        }
    }

    #[test]
    fn passes_that_are_off_are_read_while_the_monitor_runs() {
        let order = own("intra-queue-preemption.preemption-order-policy");
        let limit = own("intra-queue-preemption.max-allowable-limit");
        let bad = [
            (order.as_str(), "fifo"),
            (order.as_str(), " priority_first"),
            (order.as_str(), ""),
            (limit.as_str(), "-1"),
            (&own(BALANCE_WAIT), "-1"),
        ];
        for (key, value) in bad {
            let report = load(&[(MONITOR, "true"), (key, value)]).unwrap_err();
            assert_eq!(findings(&report), ["E_PREEMPTION"], "{key} {value}");
            let off = load(&[(key, value)]).unwrap();
            assert_eq!(off.preemption, Settings::default(), "{key} {value}");
        }
        let kept = load(&[(MONITOR, "true"), (&order, "Priority_First")]).unwrap();
        assert_eq!(kept.preemption.intra_queue, None);
    }

    #[test]
    fn settings_that_take_each_others_effect_are_warned_about() {
        let off = load(&[(&own("intra-queue-preemption.enabled"), "true")]).unwrap();
        assert_eq!(findings(&off.report), ["W_PREEMPTION"]);
        let balance = load(&[(MONITOR, "true"), (&own(BALANCE), "true")]).unwrap();
        assert_eq!(findings(&balance.report), ["W_PREEMPTION"]);
        let nothing = [(MONITOR, "true"), (&own("natural_termination_factor"), "0")];
        assert_eq!(findings(&load(&nothing).unwrap().report), ["W_PREEMPTION"]);
    }

    #[test]
    fn shares_above_the_whole_are_warned_about() {
        for name in ["total_preemption_per_round", "natural_termination_factor"] {
            let loaded = load(&[(MONITOR, "true"), (&own(name), "1.5")]).unwrap();
            assert_eq!(findings(&loaded.report), ["W_PREEMPTION"], "{name}");
            let whole = load(&[(MONITOR, "true"), (&own(name), "1")]).unwrap();
            assert_eq!(findings(&whole.report), [] as [&str; 0], "{name}");
        }
    }

    #[test]
    fn a_policy_that_the_reference_does_not_have_is_refused() {
        let typo = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.Proportional";
        let report = load(&[(MONITOR, "true"), (POLICIES, typo)]).unwrap_err();
        assert_eq!(findings(&report), ["E_PREEMPTION"]);
        let other = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.\
                     QueueConfigurationAutoRefreshPolicy";
        let both = format!("{other},{POLICY}");
        let loaded = load(&[(MONITOR, "true"), (POLICIES, &both)]).unwrap();
        assert!(loaded.preemption.enabled);
    }

    #[test]
    fn a_timeout_of_reservations_is_off_unless_set_and_never_nothing() {
        let loaded = load(&[(TIMEOUT, "30000")]).unwrap();
        assert_eq!(loaded.preemption.reservation_timeout_ms, Some(30_000));
        assert!(!loaded.preemption.enabled);
        for bad in ["0", "-1"] {
            let report = load(&[(TIMEOUT, bad)]).unwrap_err();
            assert_eq!(findings(&report), ["E_PREEMPTION"], "{bad}");
        }
    }

    #[test]
    fn other_policies_do_not_run() {
        let loaded = load(&[(MONITOR, "true"), (POLICIES, "org.example.Mine")]).unwrap();
        assert!(!loaded.preemption.enabled);
        assert_eq!(findings(&loaded.report), ["W_PREEMPTION"]);
        let both = format!("org.example.Mine, {POLICY}");
        assert!(
            load(&[(MONITOR, "true"), (POLICIES, &both)])
                .unwrap()
                .preemption
                .enabled
        );
    }
}
