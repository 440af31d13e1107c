//! Settings that do nothing, or other than they read: what is accepted and misleads.
//!
//! Each rule is a function from the settings to findings at the place of the setting, with the
//! smallest change that does what was meant. A rule speaks only where it is certain: rules about
//! the site need a site file.

mod access;
mod capacity;
mod creation;
mod orders;
mod regrets;
mod site;

use crate::id::Map;
use crate::queue::{QueueSettings, TreeSettings};

use super::diagnostic::Diagnostic;
use super::number;
use super::prefix::PREFIX;
use super::properties::Properties;

/// The findings of all rules.
pub(super) fn findings(properties: &Properties, settings: &TreeSettings) -> Vec<Diagnostic> {
    let of = Effects::new(properties, settings);
    let mut all = of.other_files();
    all.extend(of.unread_types());
    all.extend(of.maximums());
    all.extend(of.creations());
    all.extend(of.unused_templates());
    all.extend(of.priorities());
    all.extend(of.order_options());
    all.extend(of.groups_by_accident());
    all.extend(of.access_lists());
    all.extend(of.lone_users());
    all.extend(of.nothing_preempted());
    all
}

/// What every rule looks at.
struct Effects<'a> {
    properties: &'a Properties,
    settings: &'a TreeSettings,
    by_path: Map<&'a str, &'a QueueSettings>,
    children: Map<&'a str, Vec<&'a QueueSettings>>,
}

impl<'a> Effects<'a> {
    fn new(properties: &'a Properties, settings: &'a TreeSettings) -> Self {
        let mut of = Self {
            properties,
            settings,
            by_path: Map::default(),
            children: Map::default(),
        };
        for queue in &settings.queues {
            of.by_path.insert(&queue.path, queue);
            if let Some(parent) = queue.parent_path() {
                of.children.entry(parent).or_default().push(queue);
            }
        }
        of
    }

    /// The value of a key with its variables replaced; nothing when it is not set.
    fn text(&self, key: &str) -> Option<String> {
        self.properties.text(key).ok().flatten()
    }

    fn flag(&self, key: &str) -> bool {
        self.text(key).and_then(|text| number::boolean(&text)) == Some(true)
    }

    /// A warning at the value of a key, with the change that helps.
    fn warning(&self, code: &'static str, key: &str, message: String, help: String) -> Diagnostic {
        Diagnostic::warning(code, message)
            .at(self.properties.span(key))
            .help(help)
    }

    fn queue(&self, path: &str) -> Option<&'a QueueSettings> {
        self.by_path.get(path).copied()
    }
}

fn key(path: &str, name: &str) -> String {
    format!("{PREFIX}{path}.{name}")
}
