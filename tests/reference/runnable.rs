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

    /// The leaf counts those that it holds; parents count who started and ended below them.
    pub(crate) fn count_runnable(&mut self, app: &App, n: i64) {
        *self.user_runnable.entry(app.user.clone()).or_default() += n;
        for q in self.upward(app.leaf).into_iter().skip(1) {
            self.queues[q].running_apps += n;
        }
    }

    /// A running application ended: parked ones of the queues that were full may enter.
    pub(crate) fn runnable_ended(&mut self, app: &App) {
        self.count_runnable(app, -1);
        let was_full = |q: &QueueIdx| self.queues[*q].running_apps + 1 == self.queues[*q].parallel;
        let mut lists = Vec::new();
        if let Some(top) = self.upward(app.leaf).into_iter().rfind(was_full) {
            self.gather(top, &mut lists);
        }
        let mine = self.user_runnable.get(&app.user).copied().unwrap_or(0);
        if mine + 1 == self.conf.user_parallel(&app.user) {
            let mut own = Vec::new();
            for q in self.tree(self.root) {
                own.extend(self.queues[q].parked.clone());
            }
            own.retain(|a| self.apps[a].user == app.user);
            own.sort_by_key(|a| self.apps[a].start);
            lists.push(own);
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
        let mut lists = lists.to_vec();
        let mut todo: Vec<u64> = Vec::new();
        loop {
            lists.retain(|list| !list.is_empty());
            let oldest = lists.iter_mut().min_by_key(|l| self.apps[&l[0]].start);
            let Some(list) = oldest else { break };
            todo.push(list.remove(0));
        }
        todo.dedup();
        let mut n = 0;
        for a in todo {
            if most == Some(n) {
                return;
            }
            let app = self.apps[&a].clone();
            if !self.may_run(&app) {
                // Also one that was let in just now and stands in two lists.
                self.apps.get_mut(&a).unwrap().runnable = false;
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
