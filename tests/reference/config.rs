//! The two configuration files as key/value maps, and the readings that the scheduler takes.

use super::resources::Res;
use std::collections::{BTreeMap, BTreeSet};

/// Start of most keys.
pub(crate) const P: &str = "yarn.scheduler.capacity.";
const LABELS: &str = "accessible-node-labels";

/// A refusal by its stable code.
pub(crate) type Refusal = &'static str;

/// How one number of a capacity is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Percent,
    Weight,
    Absolute,
    /// Not given.
    None,
}

/// A capacity vector: resource type to number.
pub(crate) type Vector = BTreeMap<usize, (Unit, f64)>;

/// A capacity as legacy mode reads it.
#[derive(Clone, Debug)]
pub(crate) enum Capacity {
    Percent(f32),
    Weight(f32),
    Absolute(Res),
    Mixed(Vector),
}

/// capacity-scheduler.xml on top of yarn-site; keys are looked up in both.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) site: BTreeMap<String, String>,
    pub(crate) queues: BTreeMap<String, String>,
    /// Keys that templates give to created queues; they come first.
    pub(crate) created: BTreeMap<String, String>,
    pub(crate) types: Vec<String>,
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

impl Config {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let own = self.created.get(key).or_else(|| self.queues.get(key));
        own.or_else(|| self.site.get(key)).map(String::as_str)
    }

    fn parsed<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(number)
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> bool {
        self.get(&format!("{P}{key}"))
            .map_or(default, |v| v.trim() == "true")
    }

    pub(crate) fn int(&self, key: &str, default: i64) -> i64 {
        self.parsed(&format!("{P}{key}")).unwrap_or(default)
    }

    pub(crate) fn float(&self, key: &str, default: f32) -> f32 {
        self.parsed(&format!("{P}{key}")).unwrap_or(default)
    }

    pub(crate) fn site_int(&self, key: &str, default: i64) -> i64 {
        self.parsed(key).unwrap_or(default)
    }

    pub(crate) fn text(&self, path: &str, key: &str) -> Option<&str> {
        self.get(&format!("{P}{path}.{key}"))
    }

    pub(crate) fn text_int(&self, path: &str, key: &str) -> Option<i64> {
        self.text(path, key).and_then(number)
    }

    pub(crate) fn text_float(&self, path: &str, key: &str) -> Option<f32> {
        self.text(path, key).and_then(number)
    }

    pub(crate) fn text_flag(&self, path: &str, key: &str) -> bool {
        self.text(path, key) == Some("true")
    }

    pub(crate) fn minimum(&self) -> Res {
        let mut v = vec![
            self.site_int("yarn.scheduler.minimum-allocation-mb", 1024),
            self.site_int("yarn.scheduler.minimum-allocation-vcores", 1),
        ];
        for t in &self.types[2..] {
            v.push(self.site_int(&format!("yarn.resource-types.{t}.minimum-allocation"), 0));
        }
        v
    }

    pub(crate) fn maximum(&self) -> Res {
        let mut v = vec![
            self.site_int("yarn.scheduler.maximum-allocation-mb", 8192),
            self.site_int("yarn.scheduler.maximum-allocation-vcores", 4),
        ];
        for t in &self.types[2..] {
            v.push(self.site_int(
                &format!("yarn.resource-types.{t}.maximum-allocation"),
                i64::MAX,
            ));
        }
        v
    }

    fn type_index(&self, name: &str) -> Option<usize> {
        match name {
            "memory" | "memory-mb" => Some(0),
            "vcores" => Some(1),
            _ => self
                .types
                .iter()
                .position(|t| t == name || *t == format!("yarn.io/{name}")),
        }
    }

    /// Reads `[memory=..,vcores=..]`.
    pub(crate) fn vector(&self, text: &str) -> Result<Vector, Refusal> {
        let mut out = Vector::new();
        let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
        for part in inner.split(',') {
            let (name, v) = part.split_once('=').ok_or("other")?;
            let Some(i) = self.type_index(name.trim()) else {
                continue;
            };
            let v = v.trim();
            let end = v
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(v.len());
            let x: f64 = v[..end].parse().map_err(|_| "other")?;
            let scale = match v[end..].trim() {
                "%" => {
                    out.insert(i, (Unit::Percent, x));
                    continue;
                }
                "w" => {
                    out.insert(i, (Unit::Weight, x));
                    continue;
                }
                "g" | "gb" | "Gi" => 1024.0,
                "t" | "tb" | "Ti" => 1_048_576.0,
                _ => 1.0,
            };
            out.insert(i, (Unit::Absolute, (x * scale).trunc()));
        }
        Ok(out)
    }

    pub(crate) fn capacity_text(&self, path: &str, label: &str, key: &str) -> Option<&str> {
        if label.is_empty() {
            self.text(path, key)
        } else {
            self.text(path, &format!("{LABELS}.{label}.{key}"))
        }
    }

    /// Whether a queue's capacity on a partition has the form of amounts, none of which need count.
    pub(crate) fn is_absolute(&self, path: &str, label: &str) -> bool {
        let text = self.capacity_text(path, label, "capacity").map(str::trim);
        text.is_some_and(|text| text.starts_with('[') && text.len() > 2 && !text.contains('%'))
    }

    pub(crate) fn capacity(&self, path: &str, label: &str) -> Result<Capacity, Refusal> {
        if path == "root" {
            return Ok(Capacity::Percent(100.0));
        }
        self.value(self.capacity_text(path, label, "capacity"), 0.0)
    }

    /// The weight that a queue shows, root among them although it has all of the cluster; -1 for none.
    pub(crate) fn weight(&self, path: &str, label: &str) -> Result<f32, Refusal> {
        let text = self.capacity_text(path, label, "capacity").map(str::trim);
        let weight = match text.and_then(|text| text.strip_suffix('w')) {
            Some(text) => number(text).ok_or("other")?,
            None => -1.0,
        };
        let legal = weight == -1.0 || (0.0..=10_000.0).contains(&weight);
        if legal { Ok(weight) } else { Err("other") }
    }

    pub(crate) fn maximum_capacity(&self, path: &str, label: &str) -> Result<Capacity, Refusal> {
        if path == "root" && !label.is_empty() {
            // Root has all of each labelled partition, whatever is configured.
            return Ok(Capacity::Percent(100.0));
        }
        let v = self.value(self.capacity_text(path, label, "maximum-capacity"), 100.0)?;
        Ok(match v {
            Capacity::Percent(-1.0) => Capacity::Percent(100.0),
            v => v,
        })
    }

    /// Whether a queue's capacity on the default partition is a vector of amounts.
    pub(crate) fn has_amounts_alone(&self, path: &str) -> Result<bool, Refusal> {
        let text = self.capacity_text(path, "", "capacity").map(str::trim);
        let Some(text) = text.filter(|text| text.starts_with('[')) else {
            return Ok(false);
        };
        let vector = self.vector(text)?;
        Ok(vector.values().all(|(unit, _)| *unit == Unit::Absolute))
    }

    fn value(&self, text: Option<&str>, default: f32) -> Result<Capacity, Refusal> {
        let Some(t) = text.map(str::trim) else {
            return Ok(Capacity::Percent(default));
        };
        if t.starts_with('[') {
            let v = self.vector(t)?;
            // A weight inside a vector is not a known unit here: that type stays 0.
            let r: Res = (0..self.types.len())
                .map(|i| match v.get(&i) {
                    Some((Unit::Absolute, x)) => *x as i64,
                    _ => 0,
                })
                .collect();
            let percent = v.values().any(|(unit, _)| *unit == Unit::Percent);
            return Ok(if percent || r[0] == 0 {
                Capacity::Mixed(v)
            } else {
                Capacity::Absolute(r)
            });
        }
        if let Some(w) = t.strip_suffix('w') {
            return Ok(Capacity::Weight(number(w).ok_or("other")?));
        }
        let v: f32 = number(t.trim_end_matches('%')).ok_or("other")?;
        if (0.0..=100.0).contains(&v) || (v == -1.0 && (default == -1.0 || default == 100.0)) {
            return Ok(Capacity::Percent(v));
        }
        Err("other")
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let t = self.text(path, "queues").unwrap_or("");
        t.split(',')
            .map(str::trim)
            .filter(|x| !x.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Labels with any setting of their own on this queue; the default one always.
    pub(crate) fn configured_labels(&self, path: &str) -> BTreeSet<String> {
        let start = format!("{P}{path}.{LABELS}.");
        let mut out = BTreeSet::from([String::new()]);
        let own = self.queues.keys().chain(self.created.keys());
        for k in own.chain(self.site.keys()) {
            if let Some(rest) = k.strip_prefix(&start) {
                out.insert(rest.split('.').next().unwrap().to_owned());
            }
        }
        out
    }

    pub(crate) fn accessible(&self, path: &str) -> Option<BTreeSet<String>> {
        let star = BTreeSet::from(["*".to_owned()]);
        if path == "root" {
            return Some(star);
        }
        let t = self.text(path, LABELS)?;
        let set: BTreeSet<String> = t
            .split(',')
            .map(str::trim)
            .filter(|x| !x.is_empty())
            .map(str::to_owned)
            .collect();
        Some(if set.contains("*") { star } else { set })
    }

    pub(crate) fn am_percent(&self, path: &str, label: &str) -> f32 {
        let own = self
            .text_float(path, "maximum-am-resource-percent")
            .unwrap_or_else(|| self.float("maximum-am-resource-percent", 0.1));
        if label.is_empty() {
            return own;
        }
        self.text_float(
            path,
            &format!("{LABELS}.{label}.maximum-am-resource-percent"),
        )
        .unwrap_or(own)
    }

    pub(crate) fn parallel(&self, path: &str) -> i64 {
        self.text_int(path, "max-parallel-apps")
            .unwrap_or_else(|| self.int("max-parallel-apps", i64::from(i32::MAX)))
    }

    pub(crate) fn user_parallel(&self, user: &str) -> i64 {
        let common = self.int("user.max-parallel-apps", i64::from(i32::MAX));
        self.int(&format!("user.{user}.max-parallel-apps"), common)
    }

    pub(crate) fn user_weights(&self, path: &str) -> BTreeMap<String, f32> {
        let start = format!("{P}{path}.user-settings.");
        let mut out = BTreeMap::new();
        for (k, v) in self.queues.iter().chain(&self.created) {
            let user = k
                .strip_prefix(&start)
                .and_then(|x| x.strip_suffix(".weight"));
            if let (Some(user), Some(w)) = (user, number(v)) {
                out.insert(user.to_owned(), w);
            }
        }
        out
    }

    /// Own settings only: resource type to value.
    pub(crate) fn max_allocation(&self, path: &str) -> BTreeMap<usize, i64> {
        let mut out = BTreeMap::new();
        if let Some(t) = self
            .text(path, "maximum-allocation")
            .filter(|t| !t.is_empty())
        {
            for part in t.split(',') {
                let (name, v) = part.split_once('=').unwrap();
                out.insert(self.type_index(name.trim()).unwrap(), number(v).unwrap());
            }
            return out;
        }
        for (i, k) in ["maximum-allocation-mb", "maximum-allocation-vcores"]
            .iter()
            .enumerate()
        {
            if let Some(v) = self.text_int(path, k) {
                out.insert(i, v);
            }
        }
        out
    }
}
