//! What all recordings that come with a configuration file share: how it is read and started.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use capsched::api::{NodeSpec, PartitionSpec, Reference, Sequential};
use capsched::config::{self, Admission, ConfigSource, Layer, Loaded, Options};
use capsched::queue::QueueSettings;
use capsched::resource::{Calculator, ResourceVector};
use serde::Deserialize;
use serde_json::{Value, json};

use super::scenario::{Amounts, Label, Node};

/// The user that the recorded scheduler ran as.
pub(super) const DAEMON: &str = "yarn";

/// A node that registers after the start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    node: Node,
    res: Amounts,
    #[serde(default)]
    labels: Vec<String>,
}

/// Codes of refusals that the reference does not share, as listed in `docs/DIFFERENCES.md`.
const DELIBERATE: [&str; 16] = [
    "E_NAN",
    "E_RANGE",
    "E_MAX_QUEUES",
    "E_MAPPING_CREATE",
    "E_DIGITS",
    "E_PREEMPTION",
    "E_QUEUE_DUP",
    "E_QUEUE_NAME",
    "E_QUEUE_DEPTH",
    "E_LIMIT",
    "E_RESOURCE_TAG",
    "E_XML_DOCTYPE",
    "E_XML_INCLUDE",
    "E_XML_ENCODING",
    "E_XML_LIMIT",
    "E_XML_DEPTH",
];

impl Refused {
    /// Whether the refusal is one of those that the reference does not share. `recorded` is what it
    /// did: it accepted the configuration, or refused it for a reason that was found here, too.
    pub(super) fn is_deliberate(&self, recorded: &Value) -> bool {
        // Of a file that is not read through, no other fault is known.
        let unread = self.code.starts_with("E_XML_") || self.code == "E_LIMIT";
        let shared = match recorded["error"]["code"].as_str() {
            Some(word) => unread || self.words.iter().any(|own| own == word),
            None => recorded["accepted"] == json!(true),
        };
        shared && DELIBERATE.contains(&&*self.code)
    }
}

/// The world around a configuration file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) site: &'a BTreeMap<String, String>,
    pub(super) resource_types: &'a [String],
    pub(super) cluster_labels: &'a [Label],
    pub(super) reference: Reference,
}

/// A configuration file and its placement rules, both accepted.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) loaded: Loaded,
    pub(super) admission: Admission,
}

/// A refusal: all reasons that were found, the deciding one first.
#[derive(Debug)]
pub(super) struct Refused {
    /// Words of the recordings.
    pub(super) words: Vec<String>,
    /// The deciding reason's own code, for differences that are meant.
    pub(super) code: String,
    /// Whether queues were added before the refusal, which the reference then keeps in its list.
    pub(super) adds_queues: bool,
}

/// Refusals of a refresh that come before a queue is added to the list of all.
const BEFORE_QUEUES: [&str; 3] = ["queue_not_stopped", "queue_kind_change", "state_of_parent"];

/// Whether a configuration lists queues that do not exist and are not stopped.
fn adds_queues(loaded: &Loaded, engine: &Sequential) -> bool {
    let settings = &loaded.settings;
    let added = settings.queues.iter().filter(|queue| {
        engine.ledger().queue(&queue.path).is_none() && !settings.stopped.contains(&*queue.path)
    });
    added.count() > 0
}

impl Setting<'_> {
    /// Reads a configuration file for a scheduler that starts.
    pub(super) fn read(&self, xml: &str) -> Result<Accepted, Refused> {
        let loaded = self.load(xml, None)?;
        let admission = admission(&loaded, [])?;
        Ok(Accepted { loaded, admission })
    }

    /// Reads a configuration file that a live scheduler may be refreshed with. The placement rules
    /// come after the queues.
    pub(super) fn read_again(&self, xml: &str, engine: &Sequential) -> Result<Accepted, Refused> {
        let running = engine.ledger().state().calculator;
        let loaded = self.load(xml, Some(running))?;
        engine
            .check_reconfigure(&loaded.settings)
            .map_err(|error| Refused {
                words: vec![config::word(error.code()).to_owned()],
                code: error.code().to_owned(),
                adds_queues: !BEFORE_QUEUES.contains(&error.code()) && adds_queues(&loaded, engine),
            })?;
        let live = engine.ledger().state().queues.iter();
        let live = live.filter(|queue| !queue.removed);
        let admission =
            admission(&loaded, live.map(|queue| &*queue.settings)).map_err(|refused| Refused {
                adds_queues: adds_queues(&loaded, engine),
                ..refused
            })?;
        Ok(Accepted { loaded, admission })
    }

    fn load(&self, xml: &str, running: Option<Calculator>) -> Result<Loaded, Refused> {
        let source = |name: &str, text: &str, layer| ConfigSource {
            name: name.to_owned(),
            bytes: text.as_bytes().to_vec(),
            layer,
        };
        let sources = [
            source("yarn-site.xml", &self.site_file(), Layer::Site),
            source("capacity-scheduler.xml", xml, Layer::Scheduler),
        ];
        let options = Options {
            resource_types: Some(self.resource_types.to_vec()),
            running,
            reference: self.reference,
            ..Options::default()
        };
        config::load(&sources, &options).map_err(|report| Refused {
            words: report
                .errors()
                .map(|error| error.word().to_owned())
                .collect(),
            code: report
                .first_error()
                .map_or_else(String::new, |error| error.code.to_owned()),
            adds_queues: false,
        })
    }

    /// The site's properties as a file.
    fn site_file(&self) -> String {
        let mut text = String::from("<configuration>");
        let labels = ("yarn.node-labels.enabled", "true");
        let own = self.site.iter().map(|(key, value)| (&**key, &**value));
        for (key, value) in [labels].into_iter().chain(own) {
            text += "<property><name>";
            text += &escape(key);
            text += "</name><value>";
            text += &escape(value);
            text += "</value></property>";
        }
        text + "</configuration>"
    }

    /// Starts a scheduler without threads; its nodes register in order.
    pub(super) fn start(&self, loaded: &Loaded, nodes: &[Member]) -> Result<Sequential> {
        let labels: Vec<_> = self
            .cluster_labels
            .iter()
            .map(|label| PartitionSpec {
                name: label.name.clone(),
                exclusive: label.exclusive,
            })
            .collect();
        let mut engine = Sequential::new(loaded.settings.clone(), &labels)
            .map_err(|error| anyhow!("the tree was refused: {error}"))?;
        for member in nodes {
            let mut spec = NodeSpec::new(member.node.0.clone(), member.res.0);
            match member.labels.as_slice() {
                [] => {}
                [label] => spec.partition.clone_from(label),
                _ => bail!("{} has several labels", member.node.0),
            }
            engine.add_node(&spec)?;
        }
        Ok(engine)
    }
}

/// Placement rules, access control and priorities of a configuration.
fn admission<'a>(
    loaded: &Loaded,
    live: impl IntoIterator<Item = &'a QueueSettings>,
) -> Result<Admission, Refused> {
    Admission::read_beside(loaded, DAEMON, live).map_err(|errors| {
        let words: Vec<_> = errors.iter().map(|error| error.code().to_owned()).collect();
        Refused {
            code: words.first().cloned().unwrap_or_default(),
            words,
            adds_queues: false,
        }
    })
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// The largest amounts of each type that a node of a live scheduler has.
pub(super) fn largest_node(engine: &Sequential) -> Option<ResourceVector> {
    let ledger = engine.ledger();
    let nodes = ledger.nodes_by_name();
    let totals = nodes.map(|(_, slot)| ledger.state().nodes[slot].total.get());
    totals.reduce(|a, b| a.component_max(&b))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_deliberate_code_stands_among_the_differences() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/DIFFERENCES.md");
        let page = std::fs::read_to_string(path).unwrap();
        for code in DELIBERATE {
            assert!(page.contains(&format!("`{code}`")), "{code}");
        }
    }
}
