//! Sites whose scheduler reads no `capacity-scheduler.xml`, or only once.

use super::Effects;
use crate::config::diagnostic::{Diagnostic, clip};

const SCHEDULER: &str = "yarn.resourcemanager.scheduler.class";
const OURS: &str =
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler";
const STORE: &str = "yarn.scheduler.configuration.store.class";

impl Effects<'_> {
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
                clip(&class)
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
