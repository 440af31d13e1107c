//! Sites whose scheduler reads no `capacity-scheduler.xml`, or only once.

use super::Effects;
use crate::config::diagnostic::{Diagnostic, clip, clip_key};

const SCHEDULER: &str = "yarn.resourcemanager.scheduler.class";
const OURS: &str =
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler";
const STORE: &str = "yarn.scheduler.configuration.store.class";

const TYPES: &str = "yarn.resource-types.";
/// Parts of a resource type that this reader or the Fair Scheduler knows.
const PARTS: [&str; 6] = [
    "units",
    "type",
    "tags",
    "minimum-allocation",
    "maximum-allocation",
    "increment-allocation",
];

impl Effects<'_> {
    /// Keys of resource types that no type has.
    // As ResourceUtils.getResourceInformationMapFromConfig, which asks for declared types alone.
    pub(super) fn unread_types(&self) -> Vec<Diagnostic> {
        let keys = self.properties.keys_below(TYPES);
        let keys = keys.filter(|key| self.properties.in_site(key));
        keys.filter_map(|key| self.unread_type(key)).collect()
    }

    fn unread_type(&self, key: &str) -> Option<Diagnostic> {
        let rest = &key[TYPES.len()..];
        let mut declared = self.settings.scheduler.resource_types.iter();
        let own = declared.find_map(|name| rest.strip_prefix(&**name)?.strip_prefix('.'));
        if let Some(part) = own {
            if let Some(found) = self.fixed_part(key, part) {
                return Some(found);
            }
            let near = PARTS.iter().find(|known| is_near(known, part));
            return (!PARTS.contains(&part)).then(|| {
                let message = format!("no key `{}`", clip_key(key));
                let start = &key[..key.len() - part.len()];
                let help = near.map_or_else(
                    || format!("the parts of a type are `{}`", PARTS.join("`, `")),
                    |near| format!("did you mean `{start}{near}`?"),
                );
                self.warning("W_KEY_UNKNOWN", key, message, help)
            });
        }
        let (name, part) = PARTS.iter().find_map(|part| {
            let name = rest.strip_suffix(part)?.strip_suffix('.')?;
            Some((name, *part))
        })?;
        // One that is declared and refused for a fault of its own has that fault alone.
        let list = self.text(TYPES.trim_end_matches('.')).unwrap_or_default();
        if list.split(',').any(|declared| declared.trim() == name) {
            return None;
        }
        let message = format!(
            "`{}` has no effect: there is no such resource type",
            clip_key(key)
        );
        let help = match name {
            "memory" => format!("did you mean `{TYPES}memory-mb.{part}`?"),
            _ => format!("add `{}` to `yarn.resource-types`", clip(name)),
        };
        Some(self.warning("W_KEY_NO_EFFECT", key, message, help))
    }

    /// Unit and kind of the two types that every cluster has, and which a site cannot change.
    // As ResourceUtils.addMandatoryResources.
    fn fixed_part(&self, key: &str, part: &str) -> Option<Diagnostic> {
        let fixed = ["memory-mb.", "vcores."]
            .iter()
            .any(|name| key[TYPES.len()..].starts_with(name));
        (fixed && matches!(part, "units" | "type" | "tags")).then(|| {
            let message = format!(
                "`{}` has no effect: the type has a fixed one",
                clip_key(key)
            );
            let help = "remove the key".to_owned();
            self.warning("W_KEY_NO_EFFECT", key, message, help)
        })
    }

    /// Another scheduler, or a store that replaces the file.
    // As ResourceManager.createScheduler and CapacityScheduler.getCsConfProvider.
    pub(super) fn other_files(&self) -> Vec<Diagnostic> {
        let mut all = Vec::new();
        if let Some(class) = self.text(SCHEDULER)
            && self.properties.in_site(SCHEDULER)
            && class.trim() != OURS
        {
            let message = format!(
                "the site runs `{}`, which does not read this file",
                clip_key(&class)
            );
            let help = format!("set `{SCHEDULER}` to `{OURS}`, or remove it");
            all.push(self.warning("W_OTHER_SCHEDULER", SCHEDULER, message, help));
        }
        if let Some(store) = self.text(STORE)
            && self.properties.in_site(STORE)
            && matches!(&*store, "memory" | "leveldb" | "zk" | "fs")
        {
            let message = format!(
                "the site keeps the configuration in the store `{store}`: a refresh does not read \
                 this file"
            );
            let help =
                format!("set `{STORE}` to `file`, or change the store with `yarn schedulerconf`");
            all.push(self.warning("W_OTHER_STORE", STORE, message, help));
        }
        all
    }
}

/// Whether a part is meant by another text: the same letters up to a plural or a shorter form.
fn is_near(known: &str, text: &str) -> bool {
    let short = known.split('-').next().unwrap_or(known);
    let text = text.replace('_', "-").to_lowercase();
    known.trim_end_matches('s') == text.trim_end_matches('s')
        || known.starts_with(&text)
        || (text.starts_with(&short[..3]) && text.ends_with("allocation"))
}
