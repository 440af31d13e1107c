//! Hosts on which masters of an application failed: the next master is placed elsewhere, unless too many failed.
//!
//! Off unless the settings have a threshold. While a master waits for its container, its application's list of places
//! not to use is that of these hosts; its own list is kept aside until the master starts.
//!
//! Tests: `tests/commit/failed_masters.rs`.
// As SimpleBlacklistManager, and AppSchedulingInfo with a list of the system beside that of the application.

use crate::id::{AppSlot, ApplicationId, Map, NameId};

/// Where masters failed, and the lists that wait for masters to start.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct FailedMasters {
    /// Hosts by application, ascending.
    hosts: Map<ApplicationId, Vec<NameId>>,
    /// Places that applications do not use, from the start of an attempt to that of its master.
    own: Map<AppSlot, Vec<NameId>>,
}

impl FailedMasters {
    /// Forgets an application.
    pub(in crate::commit) fn forget(&mut self, app: ApplicationId) {
        self.hosts.remove(&app);
    }

    /// Takes the list of an application that was kept aside; nothing where the list in its row is its own.
    pub(in crate::commit) fn take_own(&mut self, app: AppSlot) -> Option<Vec<NameId>> {
        self.own.remove(&app)
    }

    /// Keeps the list of an application aside until its master starts.
    pub(super) fn keep_own(&mut self, app: AppSlot, own: Vec<NameId>) {
        self.own.insert(app, own);
    }

    /// Hosts on which masters of an application failed, ascending; nothing where none did.
    pub(super) fn hosts_of(&self, app: ApplicationId) -> Option<&[NameId]> {
        self.hosts.get(&app).map(Vec::as_slice)
    }

    pub(super) fn add(&mut self, app: ApplicationId, host: NameId) {
        let hosts = self.hosts.entry(app).or_default();
        if let Err(at) = hosts.binary_search(&host) {
            hosts.insert(at, host);
        }
    }
}

/// Whether a master that exited with this status failed in a way that may be its node's fault.
// As Apps.shouldCountTowardsNodeBlacklisting: not success, aborted, disks failed, preempted, out of memory, or killed.
#[must_use]
pub(crate) const fn may_blame_node(exit_status: i32) -> bool {
    !matches!(exit_status, 0 | -107..=-100)
}
