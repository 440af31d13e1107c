//! Steps of applications: submissions, calls of their masters, ends of containers, moves.

use capsched::api::{
    AppError, AppSpec, AppStage, Ask, AskCall, AskReply, ConstrainedAsk, ContainerChange,
    ContainerUpdate, UpdateKind,
};
use capsched::id::{ApplicationId, ContainerId};
use capsched::resource::ResourceVector;
use serde_json::{Value, json};

use super::{Answer, Player, error, list, skipped};
use crate::parity::scenario::{self, reference};

impl Player<'_> {
    pub(super) fn submit(&mut self, submit: &scenario::Submit, out: &mut Answer) {
        let id = ApplicationId::new(submit.app);
        let spec = AppSpec {
            placement_parent: submit.placement_parent.clone(),
            priority: submit.priority,
            master: match (&submit.am, submit.unmanaged) {
                (Some(size), false) => Some(size.0),
                (None, false) => Some(ResourceVector::NONE),
                (_, true) => None,
            },
            master_partition: submit.am_label.clone(),
            partition: submit.label.clone(),
            ..AppSpec::new(id, &submit.queue, &submit.user)
        };
        match self.engine.submit(&spec) {
            Ok(accepted) => {
                out.insert("accepted".into(), json!(true));
                out.insert("state".into(), json!(stage_name(Some(accepted.stage))));
                if let Some(size) = accepted.master {
                    let types = self.scenario.resource_types.len();
                    out.insert("am".into(), json!(size.values(types)));
                }
                self.seen.entry(submit.app).or_insert(None);
            }
            Err(refused) => {
                out.insert("accepted".into(), json!(false));
                error(out, refused.code());
            }
        }
    }

    pub(super) fn ask(&mut self, ask: &scenario::Ask, out: &mut Answer) {
        let id = ApplicationId::new(ask.app);
        if !self.may_ask(id) {
            skipped(out, "application master is not running");
            return;
        }
        let mut release: Vec<u32> = ask.release.clone();
        if let Some(positions) = &ask.release_nth {
            release.retain(|number| self.is_live(id, *number));
            for &position in positions {
                release.extend(self.nth(ask.app, position, &release));
            }
            out.insert("released".into(), json!(release));
        }
        let (updates, chosen) = self.updates(ask);
        let call = AskCall {
            asks: ask.requests.iter().map(to_ask).collect(),
            constrained: ask.scheduling_requests.iter().map(to_constrained).collect(),
            release,
            blacklist_add: ask.blacklist_add.clone(),
            blacklist_remove: ask.blacklist_remove.clone(),
            updates,
        };
        match self.engine.ask(id, &call) {
            Ok(reply) => {
                list(out, "updates", chosen);
                let numbers = reply.allocated.iter().map(|one| one.container.number);
                list(out, "allocated", numbers.collect());
                let types = self.scenario.resource_types.len();
                out.insert("headroom".into(), json!(reply.headroom.values(types)));
                self.answer_updates(&reply, out);
                let finished = reply.finished.iter().map(|one| one.number);
                list(out, "finished", finished.collect());
                list(out, "preempt_negotiable", reply.asked_back);
            }
            Err(refused) => error(out, refused.code()),
        }
    }

    /// The changes of a call. Those at which the recorded scheduler fails are left out, and the answer says so.
    fn updates(&self, ask: &scenario::Ask) -> (Vec<ContainerUpdate>, Vec<Value>) {
        let id = ApplicationId::new(ask.app);
        let (mut updates, mut chosen) = (Vec::new(), Vec::new());
        for update in &ask.updates {
            let nth = || self.nth(ask.app, update.nth.unwrap_or(0), &[]);
            let Some(number) = update.container.or_else(nth) else {
                chosen.push(json!("no such container"));
                continue;
            };
            let ledger = self.engine.ledger();
            let slot = ledger.live_container(ContainerId::new(id, number));
            let held = slot.map(|slot| ledger.container(slot));
            let grows = |size: &ResourceVector| !update.res.0.fits_in(size);
            let change = match update.change {
                scenario::Change::Increase => ContainerChange::Increase(update.res.0),
                scenario::Change::Decrease if held.is_some_and(|held| grows(&held.size.get())) => {
                    chosen.push(json!("a decrease to more"));
                    continue;
                }
                scenario::Change::Decrease => ContainerChange::Decrease(update.res.0),
            };
            if self.is_granted(id, number) {
                chosen.push(json!("granted and not fetched"));
                continue;
            }
            chosen.push(json!(number));
            updates.push(ContainerUpdate {
                container: number,
                version: update
                    .version
                    .or(slot.map(|slot| ledger.container_version(slot)))
                    .unwrap_or(0),
                change,
            });
        }
        (updates, chosen)
    }

    /// Whether a change of a container was granted that its application has not fetched.
    fn is_granted(&self, id: ApplicationId, number: u32) -> bool {
        let ledger = self.engine.ledger();
        ledger.app(id).is_some_and(|slot| {
            let mut live = ledger.live_containers(slot);
            live.any(|container| container.key.increases() == Some(number))
        })
    }

    fn answer_updates(&self, reply: &AskReply, out: &mut Answer) {
        let types = self.scenario.resource_types.len();
        let updated = reply.updated.iter().map(|updated| {
            let change = match updated.kind {
                UpdateKind::Increase => "increase",
                UpdateKind::Decrease => "decrease",
                other => other.name(),
            };
            json!({"container": updated.container.number, "change": change,
                "res": updated.size.values(types), "version": updated.version})
        });
        list(out, "updated", updated.collect());
        let errors = reply.update_errors.iter();
        let errors = errors.map(|error| json!([error.update.container, error.refusal.name()]));
        list(out, "update_errors", errors.collect());
    }

    fn may_ask(&self, id: ApplicationId) -> bool {
        let ledger = self.engine.ledger();
        ledger.app(id).is_some_and(|slot| {
            let app = &ledger.state().apps[slot];
            app.unmanaged || app.master.is_some()
        })
    }

    fn is_live(&self, id: ApplicationId, number: u32) -> bool {
        let container = ContainerId::new(id, number);
        self.engine.ledger().live_container(container).is_some()
    }

    /// The container at a position among those handed to an application and not ended.
    pub(super) fn nth(&self, app: u32, position: usize, without: &[u32]) -> Option<u32> {
        let ledger = self.engine.ledger();
        let slot = ledger.app(ApplicationId::new(app))?;
        let handed: Vec<u32> = ledger
            .live_containers(slot)
            .filter(|container| container.is_handed() && !container.master)
            .map(|container| container.id.number)
            .filter(|number| !without.contains(number))
            .collect();
        if handed.is_empty() {
            return None;
        }
        Some(handed[position % handed.len()])
    }

    pub(super) fn complete(&mut self, app: u32, number: Option<u32>, out: &mut Answer) {
        let ledger = self.engine.ledger();
        let id = number.map(|number| ContainerId::new(ApplicationId::new(app), number));
        let handed = id.filter(|&id| {
            ledger
                .live_container(id)
                .is_some_and(|slot| ledger.container(slot).is_handed())
        });
        match handed {
            Some(id) => {
                out.insert("container".into(), json!(reference(id)));
                self.engine.container_finished(id);
            }
            None => skipped(out, "no such container"),
        }
    }

    pub(super) fn move_app(&mut self, app: u32, queue: &str, out: &mut Answer) {
        let app = ApplicationId::new(app);
        self.meant.note_move(&self.engine, app);
        match self.engine.move_app(app, queue) {
            Ok(()) => {
                out.insert("moved".into(), json!(true));
            }
            Err(AppError::Unknown(_)) => skipped(out, "no such application"),
            Err(refused) => {
                out.insert("moved".into(), json!(false));
                error(out, refused.code());
            }
        }
    }
}

fn to_ask(request: &scenario::Request) -> Ask {
    Ask {
        priority: request.priority.unwrap_or(1),
        request_id: request.id,
        place: request.name.clone().unwrap_or_else(|| "*".to_owned()),
        size: request.res.0,
        count: request.count.unwrap_or(1),
        relax_locality: request.relax.unwrap_or(true),
        partition: request.label.clone(),
    }
}

fn to_constrained(request: &scenario::SchedulingRequest) -> ConstrainedAsk {
    ConstrainedAsk {
        priority: request.priority.unwrap_or(1),
        request_id: request.id,
        size: request.res.0,
        count: request.count.unwrap_or(1),
        tags: request.tags.clone(),
        constraint: request.constraint.clone(),
    }
}

fn stage_name(stage: Option<AppStage>) -> &'static str {
    match stage {
        Some(AppStage::Parked) => "non_runnable",
        Some(AppStage::Waiting) => "pending",
        Some(AppStage::Active) => "active",
        Some(AppStage::Between) => "none",
        Some(AppStage::Done | AppStage::Gone) | None => "done",
    }
}
