//! Who may read and change the configuration.

use capsched::config::{AccessTree, AdminAccess, Caller, Loaded, QueuePermission};

use super::change::ConfChange;
use super::outcome::ConfError;

/// The administrators of the start, and whether they alone make changes.
#[derive(Debug)]
pub(super) struct ConfAccess {
    admins: AdminAccess,
    admins_only: bool,
}

impl ConfAccess {
    pub(super) fn read(loaded: &Loaded, daemon: &str) -> Self {
        let key = "yarn.scheduler.configuration.mutation.acl-policy.class";
        let class = loaded.properties.text(key).ok().flatten();
        let by_queue = "QueueAdminConfigurationMutationACLPolicy";
        Self {
            admins: AdminAccess::read(&*loaded.properties, daemon),
            admins_only: !class.is_some_and(|class| class.trim().ends_with(by_queue)),
        }
    }

    /// Whether the caller may read and change configurations at all.
    pub(super) fn admits(&self, caller: &Caller<'_>) -> bool {
        !self.admins.enabled() || self.admins.is_admin(caller)
    }

    /// Refuses who does not administer the cluster.
    pub(super) fn administers(&self, caller: &Caller<'_>) -> Result<(), ConfError> {
        if self.admins.is_admin(caller) {
            return Ok(());
        }
        let text = format!("User {} is not admin of the cluster.", caller.user);
        Err(ConfError::Forbidden(text))
    }

    /// Refuses who may not make this change.
    // As DefaultConfigurationMutationACLPolicy and QueueAdminConfigurationMutationACLPolicy.
    pub(super) fn may(
        &self,
        caller: &Caller<'_>,
        change: &ConfChange,
        loaded: &Loaded,
    ) -> Result<(), ConfError> {
        if self.admins_only || !change.global.is_empty() {
            self.administers(caller)?;
        }
        if self.admins_only {
            return Ok(());
        }
        let lists = AccessTree::of(&loaded.settings.queues);
        let administers = |path: &str| lists.grants(caller, QueuePermission::Administer, path);
        match change.queues().find(|path| !administers(path)) {
            None => Ok(()),
            Some(path) => {
                let text = format!("User {} is not admin of queue {path}.", caller.user);
                Err(ConfError::Forbidden(text))
            }
        }
    }
}
