//! Settings that trials change.

use crate::config::{self, Loaded, Options};
use crate::queue::TreeSettings;

/// Settings with some values changed, for trials.
///
/// ```
/// use capsched::api::SettingsEditor;
///
/// // Nothing can be changed here; `config::Loaded` edits an accepted configuration.
/// assert!(().edited(&[]).is_none() && ().value("yarn.scheduler.capacity.root.queues").is_none());
/// ```
pub trait SettingsEditor {
    /// The settings with these properties set, by full name; nothing when they are refused.
    fn edited(&self, changes: &[(String, String)]) -> Option<TreeSettings>;

    /// The value of a property as it is written; nothing where the default holds.
    fn value(&self, property: &str) -> Option<String>;
}

/// Settings that nobody can change.
impl SettingsEditor for () {
    fn edited(&self, _changes: &[(String, String)]) -> Option<TreeSettings> {
        None
    }

    fn value(&self, _property: &str) -> Option<String> {
        None
    }
}

/// An accepted configuration, read again with the defaults of its release.
impl SettingsEditor for Loaded {
    fn edited(&self, changes: &[(String, String)]) -> Option<TreeSettings> {
        let scheduler = &self.settings.scheduler;
        let types = scheduler.resource_types.iter();
        let options = Options {
            resource_types: Some(types.map(ToString::to_string).collect()),
            running: Some(scheduler.calculator),
            reference: scheduler.rules.reference,
            ..Options::default()
        };
        let loaded = config::with_changes(&self.properties, changes, &options);
        Some(loaded.ok()?.settings)
    }

    fn value(&self, property: &str) -> Option<String> {
        self.properties.raw(property).map(str::to_owned)
    }
}
