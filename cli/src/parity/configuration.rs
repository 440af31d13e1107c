//! Recorded configurations: the verdict, and what an accepted one comes to.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use capsched::api::{Reference, Sequential, StateView};
use capsched::config::{self, Loaded};
use capsched::queue::QueueSettings;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::compare::differences;
use super::scenario::Label;
use super::setting::{Accepted, Member, Refused, Setting, largest_node};
use super::verdict::{Verdict, judge};

/// One configuration with its verdict.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    pub(super) name: String,
    #[expect(dead_code, reason = "a remark of the file")]
    description: String,
    #[serde(default)]
    #[expect(dead_code, reason = "a remark of the file")]
    source: String,
    /// Number of changes to a sound configuration; with one the reason of a refusal is certain.
    #[serde(default = "one")]
    mutations: u32,
    xml: Option<String>,
    file: Option<String>,
    site: BTreeMap<String, String>,
    resource_types: Vec<String>,
    cluster_labels: Vec<Label>,
    nodes: Vec<Member>,
    pub(super) recorded_with: String,
    expect: Value,
}

fn one() -> u32 {
    1
}

impl Configuration {
    /// Judges the configuration; files that it only names lie below `data`.
    pub(super) fn play(&self, data: &Path, reference: Reference) -> Result<Verdict> {
        let xml = self.text(data)?;
        let setting = Setting {
            site: &self.site,
            resource_types: &self.resource_types,
            cluster_labels: &self.cluster_labels,
            reference,
        };
        let accepted = match setting.read(&xml) {
            Ok(accepted) => accepted,
            Err(refused) => return Ok(self.refused(&refused)),
        };
        let mut actual = json!({"accepted": true});
        if self.expect["accepted"] == json!(true) {
            let engine = setting.start(&accepted.loaded, &self.nodes)?;
            actual = outcome(&accepted, &engine);
            actual["accepted"] = json!(true);
            drop_parts(&mut actual, &["nodes", "apps"]);
        }
        Ok(judge(differences(&self.expect, &actual)))
    }

    fn text(&self, data: &Path) -> Result<String> {
        match (&self.xml, &self.file) {
            (Some(xml), _) => Ok(xml.clone()),
            (None, Some(file)) => {
                let path = data.join(file);
                let bytes = std::fs::read(&path);
                let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
                let text = String::from_utf8(bytes);
                text.with_context(|| format!("{} is not UTF-8", path.display()))
            }
            (None, None) => bail!("the configuration has neither `xml` nor `file`"),
        }
    }

    fn refused(&self, refused: &Refused) -> Verdict {
        let mut word = refused.words.first().cloned().unwrap_or_default();
        if self.mutations > 1 && self.expect["accepted"] == json!(false) {
            // Any reason that applies will do.
            let recorded = self.expect["error"]["code"].as_str();
            word = recorded.map_or(word, str::to_owned);
        }
        let actual = json!({"accepted": false, "error": {"code": word}});
        match judge(differences(&self.expect, &actual)) {
            Verdict::Failed { .. } if refused.is_deliberate(&self.expect) => {
                Verdict::Deliberate(refused.code.clone())
            }
            verdict => verdict,
        }
    }

    /// Puts the text of the named file beside its name, so that the recording stands alone.
    pub(super) fn inline(recording: &mut Map<String, Value>, data: &Path) -> Result<()> {
        let of: Self = serde_json::from_value(Value::Object(recording.clone()))?;
        recording.insert("xml".to_owned(), json!(of.text(data)?));
        Ok(())
    }
}

/// Removes parts of an object.
pub(super) fn drop_parts(object: &mut Value, names: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|name, _| !names.contains(&&**name));
    }
}

/// Settings and state of a scheduler that runs with a configuration.
pub(super) fn outcome(accepted: &Accepted, engine: &Sequential) -> Value {
    let ledger = engine.ledger();
    let loaded = &accepted.loaded;
    let mut state = json!(StateView::of(ledger));
    for queue in state["queues"].as_array_mut().into_iter().flatten() {
        let slot = queue["path"].as_str().and_then(|path| ledger.queue(path));
        if let Some(slot) = slot {
            let live = &ledger.state().queues[slot].settings;
            queue["settings"] = settings(loaded, live);
        }
    }
    state["scheduler"] = config::scheduler_json(loaded, largest_node(engine).as_ref());
    state
}

fn settings(loaded: &Loaded, queue: &QueueSettings) -> Value {
    let mut settings = config::queue_json(loaded, queue);
    if let Some(labels) = settings.get_mut("accessible_labels") {
        sort(labels);
    }
    settings
}

/// Sorts an array of texts, whose order means nothing.
pub(super) fn sort(array: &mut Value) {
    if let Some(items) = array.as_array_mut() {
        items.sort_by_key(ToString::to_string);
    }
}
