//! Moves of applications between leaves.

use super::config::Refusal;
use super::resources::hash_order;
use super::state::{ContainerIdx, ContainerState, Scheduler};

/// `ContainerId.hashCode` of the first attempt of application (1, app).
fn container_hash(app: u64, number: u64) -> u32 {
    let fold = |h: u32, x: u32, by: u32| h.wrapping_mul(by).wrapping_add(x);
    let id = fold(fold(6521, 1, 371_237), app as u32, 371_237);
    let attempt = fold(fold(5501, id, 347_671), 1, 347_671);
    31u32.wrapping_mul(number as u32).wrapping_add(attempt)
}

impl Scheduler {
    /// An application goes to another leaf with its containers and asks.
    pub(crate) fn move_app(&mut self, app: u64, path: &str) -> Result<(), Refusal> {
        // Its queue may have been removed while it ran.
        let own = &self.queues[self.apps[&app].leaf].path;
        self.find_queue(own).ok_or("unknown_queue")?;
        let to = self.find_queue(path).ok_or("unknown_queue")?;
        if !self.queues[to].is_leaf {
            return Err("not_a_leaf");
        }
        self.apps.get_mut(&app).unwrap().partitions.remove("");
        let wanted = &self.apps[&app].partitions;
        if wanted.iter().any(|p| !self.can_access(to, p)) {
            return Err("label_access");
        }
        let user = self.apps[&app].user.clone();
        self.check_leaf(to, &user)?;
        let from = self.apps[&app].leaf;
        let ids: Vec<u64> = self.apps[&app].live.keys().copied().collect();
        let order = hash_order(&ids, |i| container_hash(app, *i), 0);
        let live: Vec<ContainerIdx> = order.iter().map(|i| self.apps[&app].live[i]).collect();
        for c in live.into_iter().chain(self.reservations(app)) {
            let (p, res) = self.place_of(c);
            self.charge(from, app, &p, &res, -1);
            // Reserved figures of queues stay behind: the new leaf may go below zero later.
            self.charge(to, app, &p, &res, 1);
            let x = &self.containers[c];
            let asked = self.apps[&app].asks.get(&x.key);
            let anywhere = asked.is_none_or(|ask| ask.partition.is_empty());
            if x.state == ContainerState::Reserved && anywhere {
                self.add_reserved_now(from, &res, -1);
                self.add_reserved_now(to, &res, 1);
            }
        }
        self.remove_attempt(app, true);
        let state = self.apps.get_mut(&app).unwrap();
        state.leaf = to;
        state.moving_from = Some(from);
        self.add_attempt(app);
        self.apps.get_mut(&app).unwrap().moving_from = None;
        for (p, r) in self.outstanding(app) {
            self.add_queue_pending(from, &p, &r, -1);
            self.add_queue_pending(to, &p, &r, 1);
        }
        self.deactivate_user(from, &user, app);
        if !self.apps[&app].keys.is_empty() {
            self.activate_user(to, &user, app);
        }
        self.app_finished(from);
        for q in self.upward(from).into_iter().skip(1) {
            self.queues[q].num_apps -= 1;
            self.app_finished(q);
        }
        for q in self.upward(to).into_iter().skip(1) {
            self.queues[q].num_apps += 1;
        }
        Ok(())
    }
}
