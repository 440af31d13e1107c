//! Trials of what helps a gang that waits.

use super::{Change, Trials};
use crate::api::scheduler::Scheduler as _;
use crate::api::stepped::Stepped;
use crate::commit::WaitingGang;
use crate::queue::{GangAsk, GangWait};

impl Trials<'_> {
    /// The first gang of the application that waits.
    pub(super) fn gang(&self) -> Option<&WaitingGang> {
        let mut gangs = self.engine.engine().ledger().waiting_gangs().iter();
        gangs.find(|gang| gang.app == self.why.app)
    }

    /// As many members at once as there is room for.
    pub(super) fn fewer_members(&self) -> Option<Change> {
        match self.gang()?.wait {
            GangWait::Room { found } | GangWait::Cluster { found } if found > 0 => {
                Some(Change::FewerMembers(found))
            }
            _ => None,
        }
    }

    /// Asks for the gang that waits with another minimum.
    pub(super) fn ask_for_fewer(&self, copy: &mut Stepped, members: u32) -> Option<()> {
        let gang = self.gang()?;
        let state = self.engine.engine().ledger().state();
        let ask = GangAsk {
            priority: gang.key.priority,
            request_id: gang.key.request_id,
            close: gang.close.clone(),
            partition: Some(state.partitions[gang.partition].name.to_string()),
            ..GangAsk::of(members, gang.size, GangAsk::LONGEST_MS)
        };
        copy.ask_gang(self.why.app, ask).ok()
    }
}
