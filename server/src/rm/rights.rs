//! Who may carry out which command.

use capsched::api::LiveQueues;
use capsched::config::{Caller, QueuePermission};

use super::{Command, CommandError, ResourceManager, lock};
use crate::security::Authority;

impl Authority for ResourceManager {
    fn now_ms(&self) -> u64 {
        Self::now_ms(self)
    }

    fn is_admin(&self, user: &str) -> bool {
        Self::is_admin(self, user)
    }
}

impl ResourceManager {
    /// The groups of a user, the primary one first.
    #[must_use]
    pub fn groups_of(&self, user: &str) -> Vec<String> {
        self.setup.groups.of(user)
    }

    /// Whether a user administers the cluster.
    // As AdminACLsManager.isAdmin.
    #[must_use]
    pub fn is_admin(&self, user: &str) -> bool {
        let groups = self.groups_of(user);
        let caller = Caller {
            user,
            groups: &groups,
            real_user: None,
        };
        let rules = self.engine.rules();
        rules.is_some_and(|rules| rules.is_admin(&caller))
    }

    /// Whether a user has a right in a queue, by its lists and those of its ancestors. Nothing when there is no such
    /// queue.
    // As CapacityScheduler.checkAccess.
    #[must_use]
    pub fn has_access(&self, user: &str, permission: QueuePermission, queue: &str) -> Option<bool> {
        let (groups, queue) = (self.groups_of(user), queue.to_owned());
        let path = self.engine.inspect(move |ledger| {
            let slot = ledger.queue(&queue)?;
            Some(ledger.state().queues[slot].settings.path.clone())
        });
        let path = path.ok().flatten()?;
        let caller = Caller {
            user,
            groups: &groups,
            real_user: None,
        };
        let rules = self.engine.rules()?;
        Some(rules.grants(&caller, permission, &path))
    }

    pub(super) fn check_rights(&self, user: &str, command: &Command) -> Result<(), CommandError> {
        match command {
            Command::Kill { application, .. }
            | Command::Move { application, .. }
            | Command::SetPriority { application, .. }
            | Command::SetLifetime { application, .. } => self.check_owner(user, application),
            Command::AddLabels { .. }
            | Command::RemoveLabels { .. }
            | Command::ReplaceLabels { .. }
            | Command::DecommissionNode { .. }
            | Command::RefreshQueues { .. } => {
                if self.is_admin(user) {
                    return Ok(());
                }
                let text = format!("User {user} does not administer the cluster.");
                Err(CommandError::Forbidden(text))
            }
            Command::MasterPlaced { .. }
            | Command::AttemptStarted { .. }
            | Command::Ended { .. }
            | Command::ContainerChanged { .. }
            | Command::ChangedContainerEnded { .. }
            | Command::IdsGivenOut { .. } => {
                let text = "Only the resource manager itself says what it decided.";
                Err(CommandError::Forbidden(text.to_owned()))
            }
            // A submission is checked by its queue; nodes and masters speak through services of their own.
            Command::RegisterNode(_)
            | Command::RemoveNode { .. }
            | Command::NewApplication
            | Command::Submit(_)
            | Command::RegisterMaster { .. }
            | Command::FinishMaster { .. } => Ok(()),
        }
    }

    /// Whether a user may change an application.
    // As ClientRMService.verifyUserAccessForRMApp with ApplicationAccessType.MODIFY_APP.
    fn check_owner(&self, user: &str, application: &str) -> Result<(), CommandError> {
        let id = self.parse_app(application)?;
        let found = {
            let books = lock(&self.books);
            let app = books.app(id);
            app.map(|app| (app.user.clone(), app.queue.clone()))
        };
        let Some((owner, queue)) = found else {
            return Err(unknown(application));
        };
        match self.may_modify(user, vec![(owner, queue)])[..] {
            [true] => Ok(()),
            _ => Err(CommandError::Forbidden(format!(
                "User {user} cannot perform operation MODIFY_APP on {application}"
            ))),
        }
    }

    /// Whether a user may change applications, each given by its owner and queue: owners may, and those who
    /// administer the queue or the cluster. Everybody may where access is not checked.
    // As ApplicationACLsManager.checkAccess and QueueACLsManager.checkAccess.
    #[must_use]
    pub fn may_modify(&self, user: &str, apps: Vec<(String, String)>) -> Vec<bool> {
        let (name, groups, count) = (user.to_owned(), self.groups_of(user), apps.len());
        let Some(rules) = self.engine.rules() else {
            return vec![false; count];
        };
        let looked = self.engine.inspect(move |ledger| {
            let caller = Caller {
                user: &name,
                groups: &groups,
                real_user: None,
            };
            let may = |(owner, queue): &(String, String)| {
                rules.may_modify(&caller, owner, queue, &LiveQueues(ledger))
            };
            apps.iter().map(may).collect()
        });
        looked.unwrap_or_else(|_| vec![false; count])
    }
}

pub(super) fn unknown(application: &str) -> CommandError {
    CommandError::NotFound(format!("app with id: {application} not found"))
}
