//! Applications: submission, priority, moves, ends, and the calls of their masters.

use super::config::Refusal;
use super::resources::{Res, change, times_int};
use super::state::{
    ANY, App, ContainerIdx, ContainerState, Event, QueueIdx, QueueState, Request, Scheduler,
};
use serde_json::Value;

/// Reads a resource array.
pub(crate) fn resource(v: &Value) -> Res {
    v.as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_i64().unwrap())
        .collect()
}

pub(crate) fn text(v: &Value) -> Option<String> {
    v.as_str().map(str::to_owned)
}

impl Scheduler {
    pub(crate) fn submit(&mut self, step: &Value) -> Result<u64, Refusal> {
        let name = Self::name_of(step);
        let q = self.find_queue(&name);
        let mut app = App {
            number: step["app"].as_u64().unwrap(),
            user: step["user"].as_str().unwrap().to_owned(),
            unmanaged: step["unmanaged"].as_bool().unwrap_or(false),
            label: text(&step["label"]),
            am_res: self.minimum.clone(),
            next_id: 1,
            seen: "none",
            ..App::default()
        };
        if !app.unmanaged {
            let res = resource(&step["am"]);
            let own = text(&step["am_label"]).filter(|l| !l.is_empty());
            let label = own.or_else(|| app.label.clone());
            let top = self.max_allowed(q);
            app.am_label = self.check_request(q, &res, ANY, label, &top)?;
            app.am_res = self.rc.normalize(&res, &self.minimum, &top, &self.minimum);
            app.am_partition = app.am_label.clone().unwrap_or_default();
        }
        let default = q.map_or(0, |q| self.queues[q].default_priority);
        app.priority = step["priority"]
            .as_i64()
            .unwrap_or(default)
            .min(self.settings.max_priority);
        app.submitted_priority = app.priority;
        if self.queues[self.root].num_apps >= self.conf.int("maximum-applications", 10_000) {
            return Err("max_system_applications");
        }
        let placed = step["placement_parent"].as_str();
        let leaf = match q {
            Some(leaf) => leaf,
            None => self.create_path(&name).ok_or("unknown_queue")?,
        };
        if self.is_below_managed(leaf) && placed != Some(self.path_above(leaf)) {
            return Err("auto_created_queue_without_mapping");
        }
        if !self.queues[leaf].is_leaf {
            return Err("not_a_leaf");
        }
        self.check_leaf(leaf, &app.user)?;
        let own = self
            .conf
            .text(&self.queues[leaf].path, "multi-node-sorting.policy");
        let common = "yarn.scheduler.capacity.multi-node-sorting.policy";
        app.many_nodes = own.or(self.conf.get(common)).is_some();
        let above = self.upward(leaf).split_off(1);
        if above
            .iter()
            .any(|q| self.queues[*q].state != QueueState::Running)
        {
            return Err("queue_stopped");
        }
        for q in above {
            self.queues[q].num_apps += 1;
        }
        self.starts += 1;
        (app.leaf, app.start) = (leaf, self.starts);
        app.runnable = self.may_run(&app);
        if app.runnable {
            self.count_runnable(&app, 1);
        }
        let (number, unmanaged) = (app.number, app.unmanaged);
        self.apps.insert(number, app);
        self.add_attempt(number);
        if !unmanaged {
            self.events.push_back(Event::AttemptAdded(number));
        }
        Ok(number)
    }

    pub(crate) fn check_leaf(&mut self, q: QueueIdx, user: &str) -> Result<(), Refusal> {
        let queue = &self.queues[q];
        if queue.state != QueueState::Running {
            return Err("queue_stopped");
        }
        let managed = self.is_below_managed(q);
        let all = queue.active.len() + queue.waiting.len() + queue.parked.len();
        // What a managed parent made holds any number of applications.
        if !managed && all as i64 >= queue.max_apps {
            return Err("max_applications");
        }
        let u = self.user(q, user);
        let user = &self.queues[q].users.people[u];
        if !managed && user.pending + user.active >= self.queues[q].max_apps_user {
            return Err("max_applications");
        }
        Ok(())
    }

    pub(crate) fn add_attempt(&mut self, app: u64) {
        let state = &self.apps[&app];
        let (leaf, name, runnable) = (state.leaf, state.user.clone(), state.runnable);
        let user = self.user(leaf, &name);
        let queue = &mut self.queues[leaf];
        if !runnable {
            queue.parked.push(app);
            return;
        }
        queue.running_apps += 1;
        queue.users.people[user].pending += 1;
        if !queue.waiting.contains(&app) {
            queue.waiting.push(app);
        }
        if self.rc.more(&self.cluster, &self.cluster, &self.zero) {
            self.activate(leaf);
        } else {
            self.explain(leaf, app);
        }
    }

    /// The capped priority; only one that differs from that at submission takes effect.
    pub(crate) fn change_priority(&mut self, app: u64, wanted: i64) -> i64 {
        let p = wanted.min(self.settings.max_priority);
        let state = self.apps.get_mut(&app).unwrap();
        if p != state.submitted_priority {
            state.priority = p;
            let queue = &mut self.queues[state.leaf];
            // Leaving and entering the order forgets that it was to be sorted anew.
            queue.dirty.remove(&app);
            if !queue.active.contains(&app) && !queue.waiting.contains(&app) {
                // A parked attempt enters the pending order.
                queue.waiting.push(app);
            }
        }
        p
    }

    /// Partition and amount of a container.
    pub(crate) fn place_of(&self, c: ContainerIdx) -> (String, Res) {
        let x = &self.containers[c];
        (self.nodes[x.node].partition.clone(), x.res.clone())
    }

    /// Partition and amount of every key's any-ask.
    pub(crate) fn outstanding(&self, app: u64) -> Vec<(String, Res)> {
        let asks = self.apps[&app].asks.values();
        asks.filter_map(|ask| {
            let a = ask.names.get(ANY).filter(|a| a.count > 0)?;
            Some((ask.partition.clone(), times_int(&a.res, a.count)))
        })
        .collect()
    }

    /// Reservations of an application in order of their numbers.
    pub(crate) fn reservations(&self, app: u64) -> Vec<ContainerIdx> {
        self.by_ref(self.apps[&app].reserved.values().flatten().map(|x| x.1))
    }

    pub(crate) fn end_app(&mut self, app: u64) {
        let live: Vec<ContainerIdx> = self.apps[&app].live.values().copied().collect();
        for c in live.into_iter().chain(self.reservations(app)) {
            self.complete(c, "KILL");
        }
        let state = &self.apps[&app];
        let (leaf, user) = (state.leaf, state.user.clone());
        for (p, r) in self.outstanding(app) {
            self.add_queue_pending(leaf, &p, &r, -1);
        }
        let state = self.apps.get_mut(&app).unwrap();
        state.done = true;
        state.asks.clear();
        state.keys.clear();
        self.remove_attempt(app, false);
        self.deactivate_user(leaf, &user, app);
        self.app_finished(leaf);
        for q in self.upward(leaf).into_iter().skip(1) {
            self.queues[q].num_apps -= 1;
            self.app_finished(q);
        }
    }

    /// Asks again for what a lost container had taken.
    pub(crate) fn recover(&mut self, c: ContainerIdx) {
        let app = self.containers[c].app;
        if let Some(back) = self.containers[c]
            .recover
            .clone()
            .filter(|_| !self.apps[&app].done)
        {
            self.update_asks(app, &back, true).unwrap_or_default();
        }
    }

    pub(crate) fn remove_attempt(&mut self, app: u64, moved: bool) {
        let a = self.apps[&app].clone();
        let leaf = a.leaf;
        let u = self.user(leaf, &a.user);
        let queue = &mut self.queues[leaf];
        queue.dirty.remove(&app);
        queue.running_apps -= i64::from(!queue.parked.contains(&app));
        queue.parked.retain(|x| *x != app);
        if queue.active.contains(&app) {
            queue.active.retain(|x| *x != app);
            queue.users.people[u].active -= 1;
            self.add_am_used(leaf, u, &a.am_partition, &a.am_res, -1);
        } else {
            queue.waiting.retain(|x| *x != app);
            queue.users.people[u].pending -= 1;
        }
        let user = &self.queues[leaf].users.people[u];
        if user.active + user.pending == 0 {
            self.queues[leaf].users.remove(&a.user);
        }
        self.activate(leaf);
        if a.runnable && !moved {
            self.runnable_ended(&a);
        }
    }

    /// Validates one request; returns its label after defaulting.
    fn check_request(
        &self,
        q: Option<QueueIdx>,
        res: &Res,
        name: &str,
        label: Option<String>,
        top: &Res,
    ) -> Result<Option<String>, Refusal> {
        let mut label = label;
        if let Some(q) = q.filter(|_| name == ANY && label.is_none()) {
            label = Some(self.queues[q].default_label.clone().unwrap_or_default());
        }
        if res.iter().zip(top).any(|(v, t)| *v < 0 || v > t) {
            return Err("resource_out_of_range");
        }
        let Some(named) = label.as_deref().filter(|l| !l.is_empty()) else {
            return Ok(label);
        };
        if name != ANY {
            return Err("label_on_location");
        }
        if named.contains("&&") {
            return Err("label_expression");
        }
        let usable = |q| self.can_access(q, named) && self.labels.contains_key(named);
        if q.is_some_and(|q| !usable(q)) {
            return Err("label_access");
        }
        Ok(label)
    }

    /// One call of an application master; what it gets and the headroom reported.
    pub(crate) fn ask(
        &mut self,
        app: u64,
        step: &Value,
        releases: &[ContainerIdx],
    ) -> Result<(Vec<ContainerIdx>, Res), Refusal> {
        let (leaf, default) = (self.apps[&app].leaf, self.apps[&app].label.clone());
        // A queue that was removed is found by nobody.
        let queue = self.find_queue(&self.queues[leaf].path);
        let top = self.max_allowed(queue);
        let mut requests = Vec::new();
        for r in step["requests"].as_array().into_iter().flatten() {
            let name = text(&r["name"]).unwrap_or_else(|| ANY.to_owned());
            let mut label = text(&r["label"]);
            if name == ANY && label.is_none() {
                label.clone_from(&default);
            }
            let res = resource(&r["res"]);
            let label = self.check_request(queue, &res, &name, label, &top)?;
            requests.push(Request {
                key: (
                    r["priority"].as_i64().unwrap_or(1),
                    r["id"].as_i64().unwrap_or(0),
                ),
                name,
                res: self.rc.normalize(&res, &self.minimum, &top, &self.minimum),
                count: r["count"].as_i64().unwrap_or(1),
                relax: r["relax"].as_bool().unwrap_or(true),
                label,
            });
        }
        self.am_call(app, requests, step, releases)
    }

    pub(crate) fn am_call(
        &mut self,
        app: u64,
        mut requests: Vec<Request>,
        step: &Value,
        releases: &[ContainerIdx],
    ) -> Result<(Vec<ContainerIdx>, Res), Refusal> {
        for c in releases {
            self.complete(*c, "RELEASED");
        }
        let top = self.max_allowed(None);
        for r in &mut requests {
            r.res = self
                .rc
                .normalize(&r.res, &self.minimum, &top, &self.minimum);
        }
        let mut changed = self.update_asks(app, &requests, false)?;
        if let Some(some) = step["scheduling_requests"].as_array().filter(|_| !changed) {
            changed = self.update_scheduling(app, some, &top)?;
        }
        let state = self.apps.get_mut(&app).unwrap();
        for x in step["blacklist_add"].as_array().into_iter().flatten() {
            state.black.insert(text(x).unwrap());
        }
        for x in step["blacklist_remove"].as_array().into_iter().flatten() {
            state.black.remove(x.as_str().unwrap());
        }
        let got = std::mem::take(&mut state.fresh);
        for c in &got {
            self.containers[*c].state = ContainerState::Acquired;
            self.containers[*c].recover = None;
        }
        let headroom = self.shown_headroom(app);
        let state = &self.apps[&app];
        if changed && (state.unmanaged || state.master.is_some()) {
            self.flag(state.leaf, app, true);
        }
        Ok((got, headroom))
    }

    /// A container or reservation ends.
    pub(crate) fn complete(&mut self, c: ContainerIdx, reason: &str) {
        let x = self.containers[c].clone();
        let (p, res) = self.place_of(c);
        let leaf = self.apps[&x.app].leaf;
        if x.state == ContainerState::Reserved {
            if !self.unreserve(c) {
                return;
            }
            self.log("unreserve", c, reason);
        } else {
            let app = self.apps.get_mut(&x.app).unwrap();
            let Some(id) = x.id.filter(|id| app.live.get(id) == Some(&c)) else {
                return;
            };
            app.live.remove(&id);
            app.fresh.retain(|x| *x != c);
            let rest = change(&super::capacity::of(&app.used, &p, &self.zero), &res, -1);
            app.used.insert(p.clone(), rest);
            self.containers[c].state = ContainerState::Done;
            if reason != "FINISHED" {
                self.nodes[x.node].to_launch.remove(&c);
            }
            self.free_space(c, false);
            let fresh = x.state == ContainerState::Allocated;
            if !fresh && reason != "FINISHED" {
                self.events.push_back(Event::Clean(c));
            }
            // The original has no transition for a fresh one that is given back.
            if !fresh || reason != "RELEASED" {
                self.events.push_back(Event::Finished(c));
            }
            self.log("complete", c, reason);
        }
        self.flag(leaf, x.app, false);
        self.charge(leaf, x.app, &p, &res, -1);
        // What was not handed over, and did not run, is asked again at once.
        if x.state == ContainerState::Allocated && reason != "FINISHED" {
            self.recover(c);
        }
    }

    /// Carries out the calls that waited.
    pub(crate) fn drain(&mut self) {
        while let Some(event) = self.events.pop_front() {
            match event {
                Event::AttemptAdded(app) => self.ask_for_master(app),
                Event::Labels(sent) => self.receive_labels(sent),
                Event::Allocated(app) => self.take_over_master(app),
                Event::Clean(c) => {
                    let node = &mut self.nodes[self.containers[c].node];
                    node.to_launch.remove(&c);
                    if node.launched.remove(&c) {
                        node.to_clean.insert(c);
                    }
                }
                Event::Finished(c) => {
                    let (number, id) = self.reference(c);
                    let app = self.apps.get_mut(&number).unwrap();
                    app.finished.push(id);
                    if !app.done && app.master == Some(c) {
                        self.am_lost.push(number);
                        self.end_app(number);
                    }
                }
                Event::NodeTotal(n, res) => {
                    if self.node_of.contains_key(&self.nodes[n].name) {
                        let node = &mut self.nodes[n];
                        node.enforced |= node.total != res;
                        self.set_node_total(n, res);
                    }
                }
                Event::Overcommitted(c) => {
                    use ContainerState::{Acquired, Allocated, Running};
                    if [Allocated, Acquired, Running].contains(&self.containers[c].state) {
                        self.complete(c, "KILL");
                    }
                }
            }
        }
    }

    fn ask_for_master(&mut self, app: u64) {
        let state = &self.apps[&app];
        // The leaf may have been made for the application.
        let default = self.queues[state.leaf].default_label.clone();
        let request = Request {
            key: (0, -1),
            name: ANY.to_owned(),
            res: state.am_res.clone(),
            count: 1,
            relax: true,
            label: state.am_label.clone().or(default),
        };
        self.am_call(app, vec![request], &Value::Null, &[]).unwrap();
    }

    fn take_over_master(&mut self, app: u64) {
        let state = &self.apps[&app];
        if state.done || state.unmanaged || state.master.is_some() {
            return;
        }
        let (got, _) = self.am_call(app, Vec::new(), &Value::Null, &[]).unwrap();
        if let Some(c) = got.first().copied() {
            self.apps.get_mut(&app).unwrap().master = Some(c);
            self.containers[c].is_am = true;
            self.nodes[self.containers[c].node].to_launch.insert(c);
            self.am_started.push(app);
        }
    }
}
