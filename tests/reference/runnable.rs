//! Limits on applications that run at the same time, and who is let in when one ends.

use super::state::{App, QueueIdx, Scheduler};

impl Scheduler {
    pub(crate) fn may_run(&self, app: &App) -> bool {
        let mine = self.user_runnable.get(&app.user).copied().unwrap_or(0);
        mine < self.conf.user_parallel(&app.user)
            && self.upward(app.leaf).into_iter().all(|q| self.has_room(q))
    }

    fn has_room(&self, q: QueueIdx) -> bool {
        self.queues[q].running_apps < self.queues[q].parallel
    }

    pub(crate) fn count_runnable(&mut self, app: &App, n: i64) {
        *self.user_runnable.entry(app.user.clone()).or_default() += n;
        for q in self.upward(app.leaf) {
            self.queues[q].running_apps += n;
        }
    }

    /// A running application ended: parked ones of the queues that were full may enter.
    pub(crate) fn runnable_ended(&mut self, app: &App) {
        let full = |q: &QueueIdx| self.queues[*q].running_apps == self.queues[*q].parallel;
        let top = self.upward(app.leaf).into_iter().rfind(full);
        let mine = self.user_runnable.get(&app.user).copied().unwrap_or(0);
        let user_full = mine == self.conf.user_parallel(&app.user);
        self.count_runnable(app, -1);
        let mut lists = Vec::new();
        if let Some(top) = top {
            for q in self.tree(top) {
                let below = self.upward(q).into_iter().take_while(|x| *x != top);
                if !self.queues[q].parked.is_empty() && below.into_iter().all(|x| self.has_room(x))
                {
                    lists.push(self.queues[q].parked.clone());
                }
            }
        }
        if user_full {
            let parked = self
                .tree(self.root)
                .into_iter()
                .flat_map(|q| &self.queues[q].parked);
            let mut own: Vec<u64> = parked.copied().collect();
            own.retain(|a| self.apps[a].user == app.user);
            if !own.is_empty() {
                lists.push(own);
            }
        }
        let most = lists.len();
        self.promote(&lists, Some(most));
    }

    /// Parked applications below queues with room.
    pub(crate) fn gather(&self, q: QueueIdx, lists: &mut Vec<Vec<u64>>) {
        if !self.has_room(q) {
            return;
        }
        if self.queues[q].is_leaf {
            lists.push(self.queues[q].parked.clone());
        }
        for c in &self.queues[q].children {
            self.gather(*c, lists);
        }
    }

    /// Lets parked applications in, oldest first.
    pub(crate) fn promote(&mut self, lists: &[Vec<u64>], most: Option<usize>) {
        let mut todo: Vec<u64> = lists.iter().flatten().copied().collect();
        todo.sort_by_key(|a| self.apps[a].start);
        todo.dedup();
        let mut n = 0;
        for a in todo {
            if most == Some(n) && n > 0 {
                return;
            }
            let app = self.apps[&a].clone();
            if !self.may_run(&app) {
                continue;
            }
            self.count_runnable(&app, 1);
            self.apps.get_mut(&a).unwrap().runnable = true;
            self.queues[app.leaf].parked.retain(|x| *x != a);
            self.add_attempt(a);
            n += 1;
        }
    }
}
