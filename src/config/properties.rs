//! Properties in layers: capacity-scheduler.xml over the site over the defaults.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

mod numbers;

use crate::id::Map;

use super::diagnostic::{Diagnostic, Span, clip, clip_key};
use super::document::Document;
use super::keys;
use super::number;
use super::other_files::{self, OtherFile};
use super::prefix::PREFIX;
use super::severity::Severity;

/// Parts of keys after which a name of the cluster stands.
const NAMED_INSIDE: [&str; 2] = [".accessible-node-labels.", ".user-settings."];

/// Rounds of substitution after which a value counts as a cycle.
const ROUNDS: usize = 20;

/// Longest text that a substitution may produce.
const LONGEST: usize = 1 << 20;

/// Defaults of the shipped files that a value may refer to.
const DEFAULTS: &[(&str, &str)] = &[
    ("yarn.scheduler.minimum-allocation-mb", "1024"),
    ("yarn.scheduler.minimum-allocation-vcores", "1"),
    ("yarn.scheduler.maximum-allocation-mb", "8192"),
    ("yarn.scheduler.maximum-allocation-vcores", "4"),
    ("yarn.scheduler.include-port-in-node-name", "false"),
    ("yarn.cluster.max-application-priority", "0"),
    ("yarn.node-labels.enabled", "false"),
    ("yarn.resourcemanager.scheduler.monitor.enable", "false"),
    (
        "yarn.resourcemanager.placement-constraints.handler",
        "disabled",
    ),
    ("yarn.resourcemanager.max-completed-applications", "1000"),
    (
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
        "1000",
    ),
    ("yarn.nodemanager.resource.memory-mb", "-1"),
    ("yarn.nodemanager.resource.cpu-vcores", "-1"),
    ("yarn.acl.enable", "false"),
    ("yarn.admin.acl", "*"),
];

#[derive(Clone, Debug)]
struct PropertyEntry {
    value: Arc<str>,
    span: Option<Span>,
    name_span: Option<Span>,
}

/// All properties of a configuration, each with the layer that counts.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    merged: Map<Arc<str>, PropertyEntry>,
    site: Map<Arc<str>, PropertyEntry>,
    /// Keys of `merged` in order, so that a prefix is a range.
    keys: Vec<Arc<str>>,
    /// Those of [`NAMED_INSIDE`] that some key holds: most trees have neither, and need not
    /// search for them at every queue.
    inside: Vec<&'static str>,
    environment: BTreeMap<String, String>,
    /// What the scheduler's file is when it is one of another kind.
    other: Option<OtherFile>,
    /// Number of the scheduler's file in the report.
    own_file: Option<usize>,
}

/// Collects the layers, lowest first.
#[derive(Debug, Default)]
pub(super) struct Layers {
    properties: Properties,
    finals: Map<Arc<str>, Option<Span>>,
    pub(super) findings: Vec<Diagnostic>,
}

impl Layers {
    pub(super) fn new(environment: BTreeMap<String, String>) -> Self {
        let properties = Properties {
            environment,
            ..Properties::default()
        };
        Self {
            properties,
            ..Self::default()
        }
    }

    /// Puts pairs without a place on top.
    pub(super) fn pairs(&mut self, pairs: &BTreeMap<String, String>, site: bool) {
        for (key, value) in pairs {
            let entry = PropertyEntry {
                value: value.as_str().into(),
                span: None,
                name_span: None,
            };
            self.put(key.as_str().into(), entry, site);
        }
    }

    /// Puts the properties of a file on top.
    pub(super) fn document(&mut self, document: &Document, file: usize, site: bool) {
        if !site {
            self.properties.other = document.other;
            self.properties.own_file = Some(file);
        }
        let mut seen: Map<&str, (usize, &str)> = Map::default();
        for (at, property) in document.properties.iter().enumerate() {
            let place = |bytes: &std::ops::Range<usize>| {
                let bytes = bytes.clone();
                Some(Span { file, bytes })
            };
            let key: Arc<str> = property.name.as_str().into();
            if let Some(value) = &property.value {
                if let Some(final_span) = self.finals.get(&key) {
                    let text = format!("`{}` is final; this value has no effect", clip_key(&key));
                    let finding = Diagnostic::warning("W_FINAL", text)
                        .at(place(&property.value_span))
                        .also(final_span.clone(), "declared final here");
                    self.findings.push(finding);
                    continue;
                }
                if let Some((first, before)) = seen.insert(&property.name, (at, value)) {
                    let first = place(&document.properties[first].name_span);
                    let finding = twice(&key, before == value).at(place(&property.name_span));
                    self.findings.push(finding.also(first, "first here"));
                }
                let entry = PropertyEntry {
                    value: value.as_str().into(),
                    span: place(&property.value_span),
                    name_span: place(&property.name_span),
                };
                self.put(Arc::clone(&key), entry, site);
            } else if !keys::may_be_empty(&key) {
                let text = format!("`{}` has no value and counts as unset", clip_key(&key));
                let finding = Diagnostic::warning("W_VALUE_EMPTY", text);
                self.findings.push(finding.at(place(&property.name_span)));
            }
            if property.is_final {
                self.finals.insert(key, place(&property.name_span));
            }
        }
    }

    fn put(&mut self, key: Arc<str>, entry: PropertyEntry, site: bool) {
        if site {
            self.properties.site.insert(Arc::clone(&key), entry.clone());
        }
        if self
            .properties
            .merged
            .insert(Arc::clone(&key), entry)
            .is_none()
        {
            self.properties.keys.push(key);
        }
    }

    pub(super) fn finish(mut self) -> (Properties, Vec<Diagnostic>) {
        self.properties.keys.sort_unstable();
        let held = |part: &&str| self.properties.keys.iter().any(|key| key.contains(*part));
        self.properties.inside = NAMED_INSIDE.into_iter().filter(held).collect();
        (self.properties, self.findings)
    }
}

/// A property that stands twice in one file. With one value it does no harm.
fn twice(key: &str, same: bool) -> Diagnostic {
    let key = clip_key(key);
    if same {
        let text = format!("`{key}` stands twice, with the same value");
        return Diagnostic::new("H_KEY_TWICE", Severity::Hint, text);
    }
    let text = format!("`{key}` stands twice, with another value; the last one counts");
    Diagnostic::warning("W_KEY_TWICE", text)
}

impl Properties {
    /// The value as written, of the highest layer that has one.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        #[cfg(test)]
        asked::note(key);
        self.merged.get(key).map(|entry| &*entry.value)
    }

    /// The value with its variables replaced.
    ///
    /// # Errors
    ///
    /// The value, when replacing takes more than 20 rounds.
    pub fn text(&self, key: &str) -> Result<Option<String>, String> {
        self.raw(key).map(|raw| self.substitute(raw)).transpose()
    }

    /// Where the value stands, when it comes from a file.
    #[must_use]
    pub fn span(&self, key: &str) -> Option<Span> {
        self.merged.get(key)?.span.clone()
    }

    /// Where the name stands, when it comes from a file.
    #[must_use]
    pub fn name_span(&self, key: &str) -> Option<Span> {
        self.merged.get(key)?.name_span.clone()
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| &**key)
    }

    /// The keys that start with a prefix, in order.
    pub fn keys_below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let from = self.keys.partition_point(|key| &**key < prefix);
        self.keys[from..]
            .iter()
            .map(|key| &**key)
            .take_while(move |key| key.starts_with(prefix))
    }

    /// The start of the scheduler's file, for what is missing in it.
    pub(super) fn start(&self) -> Option<Span> {
        let file = self.own_file?;
        Some(Span { file, bytes: 0..0 })
    }

    /// What the scheduler's file is, when it is one of another kind and says nothing of queues.
    pub(super) fn other_file(&self) -> Option<OtherFile> {
        let about_queues = self.keys_below(PREFIX).next().is_some();
        self.other
            .or_else(|| other_files::of_keys(self.keys()).filter(|_| !about_queues))
    }

    /// The site layer alone.
    pub(super) fn site_only(&self) -> Self {
        Self {
            merged: self.site.clone(),
            environment: self.environment.clone(),
            ..Self::default()
        }
    }

    /// The values of the site, and those of the scheduler's file, with changes on top of the second.
    #[must_use]
    pub fn pairs_with(&self, changes: &[(String, String)]) -> [BTreeMap<String, String>; 2] {
        let pair =
            |(key, entry): (&Arc<str>, &PropertyEntry)| (key.to_string(), entry.value.to_string());
        let site: BTreeMap<String, String> = self.site.iter().map(pair).collect();
        let own = self.merged.iter().map(pair);
        let own = own.filter(|(key, value)| site.get(key) != Some(value));
        let mut own: BTreeMap<String, String> = own.collect();
        own.extend(changes.iter().cloned());
        [site, own]
    }

    /// Whether there is a site layer at all.
    pub(super) fn has_site(&self) -> bool {
        !self.site.is_empty()
    }

    /// Whether the site layer has the key.
    #[must_use]
    pub fn in_site(&self, key: &str) -> bool {
        self.site.contains_key(key)
    }

    /// Replaces `${name}`, `${env.NAME}`, `${env.NAME:-default}` and `${env.NAME-default}`; an
    /// unknown name stops the replacing and stays as it is.
    // As Configuration.substituteVars.
    fn substitute(&self, text: &str) -> Result<String, String> {
        let mut now = text.to_owned();
        for _ in 0..ROUNDS {
            let Some((start, end)) = variable(&now) else {
                return Ok(now);
            };
            let Some(value) = self.variable_value(&now[start..end]) else {
                return Ok(now);
            };
            let whole = start - 2..end + 1;
            if value.contains(&now[whole.clone()]) {
                return Ok(text.to_owned());
            }
            now.replace_range(whole, &value);
            if now.len() > LONGEST {
                break;
            }
        }
        Err(text.to_owned())
    }

    fn variable_value(&self, name: &str) -> Option<String> {
        if let Some(rest) = name.strip_prefix("env.").filter(|rest| !rest.is_empty()) {
            let known = |name: &str| self.environment.get(name).cloned();
            let value = match rest.find('-') {
                Some(at) if at > 0 && rest.as_bytes()[at - 1] == b':' => known(&rest[..at - 1])
                    .filter(|value| !value.is_empty())
                    .or_else(|| Some(rest[at + 1..].to_owned())),
                Some(at) => known(&rest[..at]).or_else(|| Some(rest[at + 1..].to_owned())),
                None => known(rest),
            };
            if value.is_some() {
                return value;
            }
        }
        if let Some(raw) = self.raw(name) {
            return Some(raw.to_owned());
        }
        let default = DEFAULTS.iter().find(|(key, _)| *key == name);
        default.map(|(_, value)| (*value).to_owned())
    }
}

/// Where the first variable's name stands: after `${`, up to `}`, without `$`, `}` and spaces.
fn variable(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = text[from..].find("${") {
        let start = from + found + 2;
        let stop = bytes[start..]
            .iter()
            .position(|b| matches!(b, b'}' | b' ' | b'$'));
        let end = start + stop?;
        match bytes[end] {
            b'}' if end > start => return Some((start, end)),
            // A `$` may open the next variable.
            b'$' => from = end,
            _ => from = end + 1,
        }
    }
    None
}

/// Typed look-ups that note what cannot be read and go on with the default.
#[derive(Debug)]
pub(super) struct Look<'a> {
    base: &'a Properties,
    /// Keys of a queue that a template fills; they come first.
    overlay: Option<&'a BTreeMap<String, String>>,
    findings: RefCell<Vec<Diagnostic>>,
}

impl<'a> Look<'a> {
    pub(super) fn new(base: &'a Properties) -> Self {
        Self {
            base,
            overlay: None,
            findings: RefCell::default(),
        }
    }

    pub(super) fn over(base: &'a Properties, overlay: &'a BTreeMap<String, String>) -> Self {
        Self {
            base,
            overlay: Some(overlay),
            findings: RefCell::default(),
        }
    }

    pub(super) fn properties(&self) -> &'a Properties {
        self.base
    }

    pub(super) fn note(&self, finding: Diagnostic) {
        self.findings.borrow_mut().push(finding);
    }

    /// Notes an error about the value of a key.
    pub(super) fn fail(&self, code: &'static str, key: &str, message: impl Into<String>) {
        self.note(Diagnostic::error(code, message).at(self.base.span(key)));
    }

    /// Number of findings so far.
    pub(super) fn count(&self) -> usize {
        self.findings.borrow().len()
    }

    /// Whether findings after the first `from` ones have one of these codes.
    pub(super) fn noted(&self, from: usize, codes: &[&str]) -> bool {
        let findings = self.findings.borrow();
        findings[from..].iter().any(|f| codes.contains(&f.code))
    }

    pub(super) fn take(self) -> Vec<Diagnostic> {
        self.findings.into_inner()
    }

    fn raw(&self, key: &str) -> Option<&str> {
        #[cfg(test)]
        asked::note(key);
        if let Some(value) = self.overlay.and_then(|overlay| overlay.get(key)) {
            return Some(value);
        }
        self.base.raw(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        match self.base.substitute(self.raw(key)?) {
            Ok(text) => Some(text),
            Err(raw) => {
                let message = format!(
                    "`{}` of `{}` still has variables after {ROUNDS} replacements",
                    clip(&raw),
                    clip_key(key)
                );
                self.fail("substitution_cycle", key, message);
                None
            }
        }
    }

    /// Keys with a prefix, those of the overlay included.
    pub(super) fn keys_below(&self, prefix: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let named = NAMED_INSIDE.iter().find(|part| prefix.ends_with(**part));
        let absent = named.is_some_and(|part| !self.base.inside.contains(part));
        if !absent {
            all.extend(self.base.keys_below(prefix).map(str::to_owned));
        }
        if let Some(overlay) = self.overlay {
            let more = overlay.range(prefix.to_owned()..);
            let more = more
                .map(|(key, _)| key)
                .take_while(|key| key.starts_with(prefix));
            all.extend(more.cloned());
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
        let value = self.text(key);
        value
            .and_then(|text| number::boolean(&text))
            .unwrap_or(default)
    }
}

/// The keys that were looked up, for tests of the table of keys.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static KEYS: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn note(key: &str) {
        KEYS.with_borrow_mut(|keys| keys.insert(key.to_owned()));
    }

    /// What this thread looked up since the last call.
    pub(in crate::config) fn take() -> BTreeSet<String> {
        KEYS.take()
    }
}
