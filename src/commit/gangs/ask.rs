//! Asks for gangs: their checks, and the gangs that wait, to be read.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::limits::is_key_in_use;
use super::preparation::GangPreparation;
use super::waiting::WaitingGang;
use crate::cluster::is_attribute_name;
use crate::commit::apps::ask_error::AskError;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};
use crate::queue::{App, Ask, Closeness, GangAsk, GangWait};

impl Ledger {
    /// Asks for a gang. Another one that waits under the same key is replaced; with a minimum of 0 it is
    /// withdrawn. Placing is up to [`Self::serve_gangs`].
    ///
    /// # Errors
    ///
    /// As [`AskError`]; nothing changed then.
    pub fn ask_gang(&mut self, app: AppSlot, ask: &GangAsk) -> Result<(), AskError> {
        self.ask_prepared_gang(app, ask, GangPreparation::default())
    }

    /// The same for an ask that may be prepared.
    ///
    /// # Errors
    ///
    /// As [`Self::ask_gang`].
    pub fn ask_prepared_gang(
        &mut self,
        app: AppSlot,
        ask: &GangAsk,
        preparation: GangPreparation,
    ) -> Result<(), AskError> {
        self.gangs.prepared -= usize::from(preparation.has_begun());
        let checked = self.gang_of(app, ask);
        if let Ok(gang) = &checked {
            let key = SchedulerKey::new(ask.priority, ask.request_id);
            self.gangs.withdraw(app, key);
            if let Some(gang) = gang {
                if let Some((sites, members)) = preparation.into_parts(gang) {
                    self.gangs.sites.insert((app, key), sites);
                    self.gangs.members = members;
                }
                self.gangs.add(gang.clone());
            }
        }
        if self.gangs.is_idle() {
            self.gang_nodes().forget_written();
        }
        checked.map(|_| ())
    }

    /// Drops what is prepared for an ask of an application that is gone.
    pub fn drop_prepared_gang(&mut self, preparation: &GangPreparation) {
        self.gangs.prepared -= usize::from(preparation.has_begun());
        if self.gangs.is_idle() {
            self.gang_nodes().forget_written();
        }
    }

    /// The gang of an ask; nothing where it withdraws one.
    ///
    /// # Errors
    ///
    /// As [`Self::ask_gang`].
    pub(super) fn gang_of(
        &self,
        app: AppSlot,
        ask: &GangAsk,
    ) -> Result<Option<WaitingGang>, AskError> {
        let row = &self.state.apps[app];
        if !row.may_ask() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        if ask.minimum == 0 {
            return Ok(None);
        }
        let key = SchedulerKey::new(ask.priority, ask.request_id);
        self.gangs.check((app, row), key, ask)?;
        self.checked_gang(app, key, ask).map(Some)
    }

    /// The gang of an ask that is like an ask for all of its members anywhere.
    fn checked_gang(
        &self,
        app: AppSlot,
        key: SchedulerKey,
        ask: &GangAsk,
    ) -> Result<WaitingGang, AskError> {
        let members = i64::from(ask.minimum) + i64::from(ask.elastic);
        let count = i32::try_from(members).map_err(|_| AskError::Count(members))?;
        let like = Ask {
            priority: ask.priority,
            request_id: ask.request_id,
            partition: ask.partition.clone(),
            ..Ask::anywhere(ask.size, count)
        };
        let checked = self.checked_ask(app, &like)?;
        let row = &self.state.apps[app];
        let now_ms = self.clock.now_ms();
        Ok(WaitingGang {
            app: row.id,
            key,
            size: checked.size.get(),
            minimum: ask.minimum,
            elastic: ask.elastic,
            close: ask.close.clone(),
            partition: checked.partition.unwrap_or(PartitionId::DEFAULT),
            asked_ms: now_ms,
            deadline_ms: now_ms.saturating_add(ask.within_ms),
            wait: GangWait::Room { found: 0 },
            slot: app,
            generation: row.generation,
        })
    }

    /// The gangs that wait, in the order in which they were asked.
    pub fn waiting_gangs(&self) -> &[WaitingGang] {
        &self.gangs.waiting
    }

    /// The nodes that a waiting gang holds.
    pub fn nodes_held_for<'a>(
        &'a self,
        gang: &WaitingGang,
    ) -> impl Iterator<Item = NodeSlot> + use<'a> {
        let (app, key) = (gang.slot, gang.key);
        let mut holds = self.gangs.holds.iter();
        let hold = holds.find(move |hold| hold.is_for(app, key));
        hold.into_iter().flat_map(|hold| hold.nodes())
    }
}

impl super::Gangs {
    /// Checks what a gang has besides an ask.
    fn check(
        &self,
        (app, row): (AppSlot, &App),
        key: SchedulerKey,
        ask: &GangAsk,
    ) -> Result<(), AskError> {
        let refuse = |reason: String| Err(AskError::Gang(reason));
        if ask.minimum > GangAsk::MOST_MEMBERS {
            let most = GangAsk::MOST_MEMBERS;
            return refuse(format!("{} members are more than {most}", ask.minimum));
        }
        if !(1..=GangAsk::LONGEST_MS).contains(&ask.within_ms) {
            let (given, most) = (ask.within_ms, GangAsk::LONGEST_MS);
            return refuse(format!("{given} ms to wait are not 1 to {most}"));
        }
        if let Closeness::Attribute(name) = &ask.close
            && !is_attribute_name(name)
        {
            let clipped: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            return refuse(format!("`{clipped}` is not an attribute as prefix/name"));
        }
        if is_key_in_use(row, key) {
            return refuse("other asks are outstanding under its priority and id".to_owned());
        }
        let others = |gang: &&WaitingGang| gang.slot == app && gang.key != key;
        if self.waiting.iter().filter(others).count() >= GangAsk::MOST_WAITING {
            let most = GangAsk::MOST_WAITING;
            return refuse(format!("{most} gangs of the application wait already"));
        }
        Ok(())
    }

    fn add(&mut self, gang: WaitingGang) {
        self.waiting.push(gang);
        self.changed = true;
    }

    /// Forgets the gang that waits under a key; its hold ends when gangs are served.
    fn withdraw(&mut self, app: AppSlot, key: SchedulerKey) {
        self.waiting
            .retain(|gang| (gang.slot, gang.key) != (app, key));
        self.sites.remove(&(app, key));
        self.changed = true;
    }
}
