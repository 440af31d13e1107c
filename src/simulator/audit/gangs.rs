//! Gangs in the auditor's books: a minimum is placed whole, within its time.

use super::AuditBooks;
use super::rows::{AuditedGang, GangKey};
use crate::api::{ApplicationId, Event, GangAsk, GangStep};

impl AuditBooks {
    /// An application asked for a gang, and it was taken.
    pub fn gang_asked(&mut self, app: ApplicationId, gang: &GangAsk, now_ms: u64) {
        let Some(entry) = self.apps.get_mut(&app).filter(|_| self.judges) else {
            return;
        };
        let key = (gang.priority, gang.request_id);
        let members = i64::from(gang.minimum) + i64::from(gang.elastic);
        entry.wanted.insert(key, members);
        let gang = AuditedGang {
            minimum: gang.minimum,
            deadline_ms: now_ms.saturating_add(gang.within_ms),
            placed: 0,
        };
        self.gangs.waiting.insert((app, key), gang);
    }

    /// Follows an event as far as it is about gangs. Between the members of a minimum nothing else happens.
    pub(super) fn gang_event(&mut self, event: &Event) {
        let idle = self.gangs.waiting.is_empty() && !matches!(event, Event::Gang(_));
        if idle || !self.judges {
            return;
        }
        let of = match event {
            Event::Allocated { container, key, .. } => {
                Some((container.app, (key.priority, key.request_id)))
            }
            Event::Gang(gang) => Some((gang.app, (gang.priority, gang.request_id))),
            _ => None,
        };
        if let Some(open) = self.gangs.open.filter(|open| of != Some(*open)) {
            self.gangs.open = None;
            let text = format!(
                "a part of the gang of {} under {:?} is placed",
                open.0, open.1
            );
            self.violated("G1", text);
        }
        let Some(key) = of else { return };
        match event {
            Event::Gang(gang) => self.gang_stepped(key, &gang.step),
            _ => {
                if let Some(gang) = self.gangs.waiting.get_mut(&key) {
                    gang.placed += 1;
                    self.gangs.open = Some(key);
                }
            }
        }
    }

    fn gang_stepped(&mut self, key: GangKey, step: &GangStep) {
        if matches!(step, GangStep::Holds { .. }) {
            return;
        }
        self.gangs.open = None;
        let gone = matches!(step, GangStep::Expired { .. });
        let Some(gang) = self.gangs.waiting.remove(&key) else {
            let text = format!("{} has no gang that waits under {:?}", key.0, key.1);
            self.violated("G1", text);
            return;
        };
        let expected = if gone { 0 } else { gang.minimum };
        if gang.placed != expected {
            let (placed, minimum) = (gang.placed, gang.minimum);
            let text = format!(
                "{placed} of {minimum} members of a gang of {} are placed",
                key.0
            );
            self.violated("G1", text);
        }
        if gone && let Some(app) = self.apps.get_mut(&key.0) {
            app.wanted.insert(key.1, 0);
        }
    }

    /// It is a moment later, and everything until then was shown: no gang waits beyond its time.
    pub fn gangs_at(&mut self, now_ms: u64) {
        let late = |gang: &AuditedGang| gang.deadline_ms < now_ms || gang.placed > 0;
        let waiting = self.gangs.waiting.iter();
        let late: Vec<GangKey> = waiting
            .filter(|(_, gang)| late(gang))
            .map(|(key, _)| *key)
            .collect();
        for key in late {
            self.gangs.waiting.remove(&key);
            let text = format!(
                "the gang of {} under {:?} waits beyond its time",
                key.0, key.1
            );
            self.violated("G2", text);
        }
    }

    /// The gangs of an application were not taken, or the application ended.
    pub fn gang_refused(&mut self, app: ApplicationId) {
        self.forget_gangs_of(app);
    }

    pub(super) fn forget_gangs_of(&mut self, app: ApplicationId) {
        self.gangs.waiting.retain(|key, _| key.0 != app);
        self.gangs.open = self.gangs.open.filter(|open| open.0 != app);
    }
}
