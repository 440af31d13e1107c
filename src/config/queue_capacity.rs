//! Capacities of one queue on each of its partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::queue::{
    Amounts, CapacitySetting, Excess, LegacyCapacity, PartitionSettings, VectorEntry,
};
use crate::resource::{MAX_VALUE, ResourceVector, share};

use super::amount::{self, NoNumber};
use super::diagnostic::{Diagnostic, clip, clip_key};
use super::number;
use super::prefix::PREFIX;
use super::queue::{LABELS, Numbers, QueueContext, Read};

impl QueueContext<'_> {
    /// Partitions with a key of their own, the default one always; root has those of every queue.
    fn labels(&self, path: &str) -> BTreeSet<String> {
        let root = path == "root";
        let prefix = if root {
            PREFIX.to_owned()
        } else {
            format!("{PREFIX}{path}.{LABELS}.")
        };
        let label = |key: &String| {
            let rest = &key[prefix.len()..];
            let rest = if root {
                let at = rest.find(LABELS)? + LABELS.len();
                rest[at..].strip_prefix('.')?
            } else {
                rest
            };
            Some(rest.split_once('.')?.0.to_owned())
        };
        let keys = self.look.keys_below(&prefix);
        let labels = keys.iter().filter_map(label);
        labels.chain([String::new()]).collect()
    }

    pub(super) fn partitions(
        &self,
        path: &str,
        parent: Option<&Read>,
    ) -> (
        BTreeMap<Arc<str>, PartitionSettings>,
        BTreeMap<Arc<str>, Numbers>,
    ) {
        let (mut settings, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        let mut kinds = BTreeSet::new();
        for label in self.labels(path) {
            let label: Arc<str> = label.into();
            let master = self.look.float(
                &Self::label_key(path, &label, "maximum-am-resource-percent"),
                self.master_share(path),
            );
            let capacity_key = Self::label_key(path, &label, "capacity");
            let text = self.look.text(&capacity_key);
            kinds.insert(text.as_deref().is_some_and(amount::is_absolute));
            let above = parent.and_then(|parent| parent.partitions.get(&label));
            let (capacity, maximum, own) = self.capacities(path, &label, text.as_deref(), above);
            numbers.insert(Arc::clone(&label), own);
            let setting = PartitionSettings {
                capacity,
                maximum,
                maximum_master_share: master,
            };
            settings.insert(label, setting);
        }
        if kinds.len() > 1 && parent.is_some() && self.legacy {
            let message = format!(
                "`{}` has an absolute capacity on one label and another kind on a second one",
                clip(path)
            );
            let key = Self::key(path, "capacity");
            self.look.fail("mixed_capacity_modes", &key, message);
        }
        (settings, numbers)
    }

    fn capacities(
        &self,
        path: &str,
        label: &str,
        capacity: Option<&str>,
        above: Option<&Numbers>,
    ) -> (CapacitySetting, CapacitySetting, Numbers) {
        let root = path == "root";
        let capacity_key = Self::label_key(path, label, "capacity");
        let maximum_key = Self::label_key(path, label, "maximum-capacity");
        let maximum = self.look.text(&maximum_key);
        let maximum = maximum.as_deref();
        let percent = self.percent(&capacity_key, capacity, root);
        let most = if label.is_empty() {
            self.maximum_percent(&maximum_key, maximum)
        } else {
            self.labelled_maximum(&maximum_key, maximum, root)
        };
        let setting = |key: &str, text: Option<&str>, legacy| CapacitySetting {
            legacy,
            vector: self.vector(key, text, root),
        };
        let mut low_setting = setting(&capacity_key, capacity, LegacyCapacity::Unusable);
        let bracket = |text: Option<&str>| {
            text.is_some_and(|text| amount::is_absolute(text) || amount::is_vector(text))
        };
        // Legacy mode takes a vector that gives all types one weight for that weight.
        let common = low_setting.common_weight(self.types.len());
        let weight = match common.filter(|_| self.legacy && bracket(capacity)) {
            Some(weight) => weight,
            None => self.weight(&capacity_key, capacity),
        };
        let amounts = |key: &str, text: Option<&str>| {
            let read = |text: &str| amount::absolute(text, self.types);
            let amounts = self.number(key, text, read).flatten()?;
            self.in_range(key, &amounts).then_some(amounts)
        };
        let low = amounts(&capacity_key, capacity);
        let high = amounts(&maximum_key, maximum);
        let inherited = self.check_amounts(path, label, low, high, above);
        let numbers = Numbers {
            capacity: share::quotient(percent, 100.0),
            weight,
            minimum: low.unwrap_or_default(),
            absolute: low.is_some_and(|amounts| !amounts.is_none())
                || self.rules.absolute_by_form && capacity.is_some_and(amount::is_absolute),
            maximum: inherited,
        };
        low_setting.legacy = match low {
            // Root has all of the cluster; a weight is shown, and has no other effect.
            _ if root && weight >= 0.0 => LegacyCapacity::Weight(weight),
            _ if root => LegacyCapacity::Percent(percent),
            Some(amounts) => LegacyCapacity::Absolute(amounts),
            // The form alone makes a queue absolute, whatever it guarantees.
            // As CapacitySchedulerConfiguration.checkConfigTypeIsAbsoluteResource.
            None if self.legacy && capacity.is_some_and(amount::is_absolute) => {
                LegacyCapacity::Absolute(ResourceVector::NONE)
            }
            None if weight >= 0.0 => LegacyCapacity::Weight(weight),
            None if bracket(capacity) => LegacyCapacity::Unusable,
            None => LegacyCapacity::Percent(percent),
        };
        let high_legacy = match high {
            Some(amounts) => LegacyCapacity::Absolute(amounts),
            None if bracket(maximum) => LegacyCapacity::Unusable,
            None => LegacyCapacity::Percent(most),
        };
        let high_setting = setting(&maximum_key, maximum, high_legacy);
        let weighs = |entry: &VectorEntry| matches!(entry, VectorEntry::Weight(_));
        let counts = low_setting.vector.iter().any(|v| *v != VectorEntry::Unset);
        // Nothing is computed from a maximum beside a capacity without entries.
        if !self.legacy && counts && high_setting.vector.iter().any(weighs) {
            let text = clip(maximum.unwrap_or_default());
            let message = format!("a maximum cannot be a weight: `{text}`");
            let code = "maximum_capacity_out_of_range";
            self.look.fail(code, &maximum_key, message);
        }
        (low_setting, high_setting, numbers)
    }

    /// Reads a value; notes when it is no number.
    fn number<T>(
        &self,
        key: &str,
        text: Option<&str>,
        read: impl Fn(&str) -> Result<T, NoNumber>,
    ) -> Option<T> {
        let text = text?;
        let value = read(text);
        if value.is_err() {
            self.look.no_number(key, text);
        }
        value.ok()
    }

    fn vector(&self, key: &str, text: Option<&str>, root: bool) -> Vec<VectorEntry> {
        if root {
            return vec![VectorEntry::Percent(100.0); self.types.len()];
        }
        let read = |text: &str| amount::named_vector(text, self.types, &self.rules);
        let named = self.number(key, text, read).unwrap_or_default();
        amount::vector(&named, self.types.len())
    }

    /// The percentage of a capacity; 0 for other kinds.
    fn percent(&self, key: &str, text: Option<&str>, root: bool) -> f32 {
        let Some(text) = text.filter(|_| !root) else {
            return if root { 100.0 } else { 0.0 };
        };
        if amount::is_absolute(text) || text.ends_with('w') || amount::is_vector(text) {
            return 0.0;
        }
        let Some(value) = number::float(text) else {
            self.look.no_number(key, text);
            return 0.0;
        };
        if self.is_nan(key, text, value) {
            return 0.0;
        }
        if !(0.0..=100.0).contains(&value) {
            self.out_of_range(key, text, "0 to 100");
            return 0.0;
        }
        value
    }

    fn maximum_percent(&self, key: &str, text: Option<&str>) -> f32 {
        let Some(text) = text else {
            return 100.0;
        };
        if amount::is_absolute(text) || amount::is_vector(text) {
            return 100.0;
        }
        let Some(value) = number::float(text) else {
            self.look.no_number(key, text);
            return 100.0;
        };
        self.is_nan(key, text, value);
        if share::java_order(value, -1.0).is_eq() {
            100.0
        } else {
            value
        }
    }

    fn labelled_maximum(&self, key: &str, text: Option<&str>, root: bool) -> f32 {
        let Some(text) = text.filter(|_| !root) else {
            return 100.0;
        };
        if amount::is_absolute(text) || text.ends_with('w') || amount::is_vector(text) {
            return 100.0;
        }
        self.percent(key, Some(text), false)
    }

    fn weight(&self, key: &str, text: Option<&str>) -> f32 {
        let Some(read) = text.and_then(amount::weight) else {
            return -1.0;
        };
        let text = text.unwrap_or_default();
        let Ok(weight) = read else {
            self.look.no_number(key, text);
            return -1.0;
        };
        self.is_nan(key, text, weight);
        let unset = share::distance(weight, -1.0) <= 1e-6;
        if weight > 10_000.0 || (weight < -1e-6 && !unset) {
            self.out_of_range(key, text, "0 to 10000, or -1 for none");
            return -1.0;
        }
        weight
    }

    fn out_of_range(&self, key: &str, text: &str, range: &str) {
        let message = format!("`{}` is out of range, in `{}`", clip(text), clip_key(key));
        let finding = Diagnostic::error("capacity_out_of_range", message)
            .at(self.look.properties().span(key))
            .help(format!("allowed: {range}"));
        self.look.note(finding);
    }

    /// Whether amounts may enter the scheduler at all.
    fn in_range(&self, key: &str, amounts: &ResourceVector) -> bool {
        let types = self.types.len();
        let fits = amounts
            .values(types)
            .iter()
            .all(|v| (0..=MAX_VALUE).contains(v));
        if !fits {
            let message = format!(
                "an amount of `{}` is not within 0 and {MAX_VALUE}",
                clip_key(key)
            );
            self.look.fail("E_RANGE", key, message);
        }
        fits
    }

    /// Notes that a value is `NaN`.
    fn is_nan(&self, key: &str, text: &str, value: f32) -> bool {
        if value.is_nan() {
            let message = format!("`{}` is no capacity, in `{}`", clip(text), clip_key(key));
            self.look.fail("E_NAN", key, message);
        }
        value.is_nan()
    }

    /// Checks absolute values against each other; the result is the maximum that counts.
    // As AbstractCSQueue.updateConfigurableResourceLimits, before any node is there.
    fn check_amounts(
        &self,
        path: &str,
        label: &str,
        low: Option<ResourceVector>,
        high: Option<ResourceVector>,
        above: Option<&Numbers>,
    ) -> ResourceVector {
        let amounts = Amounts {
            minimum: low.unwrap_or_default(),
            maximum: high.unwrap_or_default(),
        };
        let top = above.map_or(ResourceVector::NONE, |above| above.maximum);
        // A configuration is read without a cluster; refreshes look again, with the live one.
        let (maximum, excesses) = amounts.check(self.calculator, &ResourceVector::NONE, top);
        for excess in excesses.into_iter().flatten() {
            let name = match excess {
                Excess::MaximumAboveParent { .. } => "maximum-capacity",
                Excess::MinimumAboveMaximum { .. } => "capacity",
            };
            let key = Self::label_key(path, label, name);
            let message = excess.describe(clip(path).as_ref());
            self.look.fail(excess.code(), &key, message);
        }
        maximum
    }
}
