//! Plays the steps of a scenario and answers each with its `expect` object.

use super::config::{Config, Refusal};
use super::resources::Calculator;
use super::state::{App, ContainerIdx, ContainerState, NodeIdx, NodeState, Scheduler, Settings};
use super::{apps, tree_order};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

type Answer = Map<String, Value>;

fn strings(v: &Value) -> BTreeMap<String, String> {
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    v.as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.clone(), text(v)))
        .collect()
}

impl Scheduler {
    /// A scheduler with the header of a scenario: types, site, configuration, labels.
    pub(crate) fn start(header: &Value) -> Result<Self, Refusal> {
        let types: Vec<String> = header["resource_types"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap().to_owned())
            .collect();
        let mut labels = BTreeMap::new();
        for x in header["cluster_labels"].as_array().into_iter().flatten() {
            labels.insert(
                apps::text(&x["name"]).unwrap(),
                x["exclusive"].as_bool().unwrap(),
            );
        }
        let zero = vec![0; types.len()];
        let known = labels.keys().cloned().chain([String::new()]);
        let count = types.len();
        let conf = Config {
            site: strings(&header["site"]),
            queues: strings(&header["config"]),
            created: BTreeMap::new(),
            types,
        };
        let (minimum, maximum) = (conf.minimum(), conf.maximum());
        if (0..2).any(|i| minimum[i] <= 0 || minimum[i] > maximum[i]) {
            return Err("other");
        }
        let mut s = Self {
            types: count,
            label_total: known.map(|p| (p, zero.clone())).collect(),
            labels,
            cluster: zero.clone(),
            zero,
            minimum,
            maximum,
            conf,
            queues: Vec::new(),
            root: 0,
            nodes: Vec::new(),
            node_of: BTreeMap::new(),
            containers: Vec::new(),
            left_tags: Vec::new(),
            apps: BTreeMap::new(),
            events: VecDeque::new(),
            decisions: Vec::new(),
            am_started: Vec::new(),
            am_lost: Vec::new(),
            starts: 0,
            user_runnable: BTreeMap::new(),
            rc: Calculator::Memory,
            settings: Settings::default(),
        };
        s.rc = s.calculator();
        s.settings.asynchronous = s.conf.flag("schedule-asynchronously.enable", false);
        s.read_settings();
        s.root = s.build("root", None)?;
        s.check(s.root)?;
        s.update_cluster();
        Ok(s)
    }

    /// Carries out one step and answers with what the recordings call `expect`.
    pub(crate) fn play(&mut self, step: &Value) -> Value {
        self.decisions.clear();
        self.am_started.clear();
        self.am_lost.clear();
        let what = step["do"].as_str().unwrap();
        if what == "state" {
            return self.dump();
        }
        let before: BTreeMap<u64, &str> = self.apps.iter().map(|(n, a)| (*n, a.seen)).collect();
        let mut out = Answer::new();
        if let Err(skipped) = self.step(what, step, &mut out) {
            out.insert("skipped".to_owned(), json!(skipped));
        }
        self.drain();
        self.see();
        let mut lists = vec![
            ("decisions", json!(self.decisions)),
            ("am_started", json!(self.am_started)),
            ("am_lost", json!(self.am_lost)),
        ];
        let was = |n: &u64| before.get(n).copied().unwrap_or("none");
        let active = |(n, a): &(&u64, &App)| a.seen == "active" && was(n) != "active";
        let freed = |(n, a): &(&u64, &App)| {
            was(n) == "non_runnable" && a.seen != "non_runnable" && a.seen != "done"
        };
        let numbers = |x: (&u64, &App)| *x.0;
        let active: Vec<u64> = self.apps.iter().filter(active).map(numbers).collect();
        let freed: Vec<u64> = self.apps.iter().filter(freed).map(numbers).collect();
        lists.push(("activated", json!(active)));
        lists.push(("made_runnable", json!(freed)));
        for (name, list) in lists {
            put_list(&mut out, name, list);
        }
        Value::Object(out)
    }

    fn see(&mut self) {
        for app in self.apps.values_mut() {
            let leaf = &self.queues[app.leaf];
            app.seen = if app.done {
                "done"
            } else if leaf.active.contains(&app.number) {
                "active"
            } else if leaf.waiting.contains(&app.number) {
                "pending"
            } else if app.runnable {
                "none"
            } else {
                "non_runnable"
            };
        }
    }

    /// One step; an error says why it did not apply.
    fn step(&mut self, what: &str, step: &Value, out: &mut Answer) -> Result<(), &'static str> {
        match what {
            "submit" => self.play_submit(step, out),
            "ask" => return self.play_ask(step, out),
            "complete" | "complete_nth" => return self.play_complete(step, out),
            "finish_app" | "kill_app" => {
                let app = self.live_app(step).ok_or("no such application")?;
                self.end_app(app);
            }
            "change_priority" => {
                let app = self.live_app(step).ok_or("no such application")?;
                let p = self.change_priority(app, step["priority"].as_i64().unwrap());
                out.insert("priority".to_owned(), json!(p));
            }
            "move_app" => {
                let app = self.live_app(step).ok_or("no such application")?;
                let moved = self.move_app(app, step["queue"].as_str().unwrap());
                out.insert("moved".to_owned(), json!(moved.is_ok()));
                refused(out, moved.err());
            }
            "reconfigure" => self.play_reconfigure(step, out),
            "schedule_partition" => return self.play_partition(step, out),
            // Only the preemption policy reads the clock.
            "advance_clock" => {}
            "preempt" => panic!("the reference has no preemption rounds"),
            _ => return self.play_node(what, step, out),
        }
        Ok(())
    }

    fn play_node(
        &mut self,
        what: &str,
        step: &Value,
        out: &mut Answer,
    ) -> Result<(), &'static str> {
        let name = step["node"].as_str().ok_or("no such node")?;
        let known = self.node_of.get(name).copied();
        let label = step["labels"].get(0).and_then(Value::as_str).unwrap_or("");
        if what == "add_node" {
            if known.is_some() {
                return Err("node is already registered");
            }
            let rack = step["rack"].as_str().unwrap_or("/default-rack");
            self.add_node(name, rack, apps::resource(&step["res"]), label);
            return Ok(());
        }
        let n: NodeIdx = known.ok_or("no such node")?;
        match what {
            "remove_node" => self.remove_node(n),
            "update_node_resource" => {
                let res = apps::resource(&step["res"]);
                let changed = self.nodes[n].total != res;
                self.set_node_total(n, res);
                let beyond = if changed {
                    self.overcommitted(n)
                } else {
                    Vec::new()
                };
                for c in beyond {
                    let (app, id) = self.reference(c);
                    if self.apps[&app].live.contains_key(&id) {
                        self.apps.get_mut(&app).unwrap().asked_back.insert(id);
                    }
                }
            }
            "update_node_labels" => self.relabel_node(n, label),
            "decommission" => self.nodes[n].state = NodeState::Decommissioning,
            "heartbeat" => {
                let (launched, exited) = self.heartbeat(n);
                put_list(out, "launched", self.references(&launched));
                put_list(out, "exited", self.references(&exited));
            }
            "schedule_node" => {
                if self.nodes[n].state != NodeState::Running {
                    return Err("node is not running");
                }
                let assigned = self.attempt(&[n]).is_some_and(|a| a.res != self.zero);
                out.insert("assigned".to_owned(), json!(assigned));
            }
            other => panic!("unknown step {other}"),
        }
        Ok(())
    }

    fn references(&self, some: &[ContainerIdx]) -> Value {
        some.iter().map(|c| json!(self.reference(*c))).collect()
    }

    fn play_partition(&mut self, step: &Value, out: &mut Answer) -> Result<(), &'static str> {
        let some = self.running_nodes(step["partition"].as_str().unwrap_or(""));
        if some.is_empty() {
            return Err("no running node in the partition");
        }
        for _ in 0..step["times"].as_u64().unwrap_or(1) {
            let assigned = self.attempt(&some).is_some_and(|a| a.res != self.zero);
            out.insert("assigned".to_owned(), json!(assigned));
        }
        Ok(())
    }

    fn play_submit(&mut self, step: &Value, out: &mut Answer) {
        match self.submit(step) {
            Err(code) => {
                out.insert("accepted".to_owned(), json!(false));
                refused(out, Some(code));
            }
            Ok(app) => {
                self.drain();
                self.see();
                let app = &self.apps[&app];
                out.insert("accepted".to_owned(), json!(true));
                out.insert("state".to_owned(), json!(app.seen));
                if !app.unmanaged {
                    out.insert("am".to_owned(), json!(app.am_res));
                }
            }
        }
    }

    fn live_app(&self, step: &Value) -> Option<u64> {
        let app = self.apps.get(&step["app"].as_u64()?)?;
        (!app.done).then_some(app.number)
    }

    /// The application's container number `n`, modulo their count, of those that it runs itself.
    fn nth(&self, app: u64, n: u64, without: &[ContainerIdx]) -> Option<ContainerIdx> {
        let mut some: Vec<ContainerIdx> = self.apps[&app].live.values().copied().collect();
        some.retain(|c| {
            let x = &self.containers[*c];
            let handed = [ContainerState::Acquired, ContainerState::Running].contains(&x.state);
            handed && !x.is_am && !without.contains(c)
        });
        if some.is_empty() {
            None
        } else {
            some.get((n % some.len() as u64) as usize).copied()
        }
    }

    fn play_ask(&mut self, step: &Value, out: &mut Answer) -> Result<(), &'static str> {
        let may = |a: &u64| self.apps[a].unmanaged || self.apps[a].master.is_some();
        let app = self
            .live_app(step)
            .filter(may)
            .ok_or("application master is not running")?;
        let live = &self.apps[&app].live;
        let mut release: Vec<ContainerIdx> = Vec::new();
        for id in step["release"].as_array().into_iter().flatten() {
            release.extend(live.get(&id.as_u64().unwrap()));
        }
        if let Some(picks) = step["release_nth"].as_array() {
            for n in picks {
                release.extend(self.nth(app, n.as_u64().unwrap(), &release));
            }
            let ids: Vec<_> = release.iter().map(|c| self.containers[*c].id).collect();
            out.insert("released".to_owned(), json!(ids));
        }
        let (got, headroom) = match self.ask(app, step, &release) {
            Ok(answer) => answer,
            Err(code) => {
                refused(out, Some(code));
                return Ok(());
            }
        };
        let ids: Vec<_> = got.iter().map(|c| self.containers[*c].id).collect();
        put_list(out, "allocated", json!(ids));
        for c in got {
            let node = self.containers[c].node;
            if self.node_of.contains_key(&self.nodes[node].name) {
                self.nodes[node].to_launch.insert(c);
            }
        }
        out.insert("headroom".to_owned(), json!(headroom));
        let mut ended = std::mem::take(&mut self.apps.get_mut(&app).unwrap().finished);
        ended.sort_unstable();
        ended.dedup();
        put_list(out, "finished", json!(ended));
        let state = self.apps.get_mut(&app).unwrap();
        let mut back = std::mem::take(&mut state.asked_back);
        back.retain(|id| state.live.contains_key(id));
        put_list(out, "preempt_negotiable", json!(back));
        Ok(())
    }

    fn play_complete(&mut self, step: &Value, out: &mut Answer) -> Result<(), &'static str> {
        let app = self.live_app(step).ok_or("no such container")?;
        let c = match step["nth"].as_u64() {
            Some(n) => self.nth(app, n, &[]),
            None => step["container"]
                .as_u64()
                .and_then(|i| self.apps[&app].live.get(&i).copied()),
        };
        let c = c.ok_or("no such container")?;
        let state = self.containers[c].state;
        if ![ContainerState::Acquired, ContainerState::Running].contains(&state) {
            return Err("no such container");
        }
        out.insert("container".to_owned(), json!(self.reference(c)));
        self.complete(c, "FINISHED");
        self.free_space(c, true);
        let node = &mut self.nodes[self.containers[c].node];
        node.to_launch.remove(&c);
        node.launched.remove(&c);
        node.to_clean.remove(&c);
        Ok(())
    }

    fn play_reconfigure(&mut self, step: &Value, out: &mut Answer) {
        let mut removed = Vec::new();
        for k in step["remove"].as_array().into_iter().flatten() {
            removed.push(apps::text(k).unwrap());
        }
        let accepted = self.refresh(strings(&step["set"]), &removed).is_ok();
        out.insert("accepted".to_owned(), json!(accepted));
        refused(out, (!accepted).then_some("invalid_configuration"));
        out.insert("child_order".to_owned(), tree_order(self));
    }
}

fn refused(out: &mut Answer, code: Option<&str>) {
    if let Some(code) = code {
        out.insert("error".to_owned(), json!({ "code": code }));
    }
}

/// Empty lists are omitted.
fn put_list(out: &mut Answer, name: &str, list: Value) {
    if list.as_array().is_some_and(|l| !l.is_empty()) {
        out.insert(name.to_owned(), list);
    }
}
