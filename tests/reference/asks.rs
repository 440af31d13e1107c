//! Asks of an application: replacing them, counting them down, giving them back.

use super::capacity::of;
use super::config::Refusal;
use super::constraints;
use super::resources::{Res, change, hash_order, key_hash, times_int};
use super::state::{ANY, Ask, Key, KeyAsk, NodeIdx, Request, Scheduler};
use serde_json::Value;
use std::collections::BTreeMap;

/// The level at which a container was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    NodeLocal,
    RackLocal,
    OffSwitch,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NodeLocal => "NODE_LOCAL",
            Self::RackLocal => "RACK_LOCAL",
            Self::OffSwitch => "OFF_SWITCH",
        }
    }
}

fn follow_any(ask: &mut KeyAsk, name: &str, new: &mut Ask) {
    let any = ask.names.get(ANY).map(|a| a.label.clone());
    if name != ANY {
        if let Some(label) = any {
            new.label = label;
        }
    } else if any.as_ref() != Some(&new.label) {
        for (_, a) in ask.names.iter_mut().filter(|(other, _)| *other != ANY) {
            a.label.clone_from(&new.label);
        }
    }
}

impl Scheduler {
    /// Replaces asks (or adds one to each, when `recover`); true when an any-ask came.
    pub(crate) fn update_asks(
        &mut self,
        app: u64,
        requests: &[Request],
        recover: bool,
    ) -> Result<bool, Refusal> {
        let mut by_key: BTreeMap<Key, BTreeMap<String, Ask>> = BTreeMap::new();
        for r in requests {
            let label = r.label.clone();
            let ask = Ask {
                res: r.res.clone(),
                count: r.count,
                relax: r.relax,
                label,
            };
            by_key.entry(r.key).or_default().insert(r.name.clone(), ask);
        }
        let keys: Vec<Key> = by_key.keys().copied().collect();
        let mut changed = false;
        for key in hash_order(&keys, |k| key_hash(*k), 0) {
            let state = self.apps.get_mut(&app).unwrap();
            if state.asks.entry(key).or_default().fixed.is_some() {
                return Err("scheduling_request");
            }
            // Locations first: they take the label of the any-ask that comes with them.
            let mut names: Vec<String> = by_key[&key].keys().cloned().collect();
            names.sort_by_key(|n| n == ANY);
            for name in names {
                let mut new = by_key[&key][&name].clone();
                let state = self.apps.get_mut(&app).unwrap();
                let ask = state.asks.entry(key).or_default();
                let old = ask.names.get(&name).cloned();
                if let Some(old) = &old
                    && recover
                {
                    new.count = old.count + 1;
                }
                follow_any(ask, &name, &mut new);
                ask.names.insert(name.clone(), new.clone());
                if name == ANY {
                    ask.partition = new.label.clone().unwrap_or_default();
                    let partition = ask.partition.clone();
                    state.partitions.insert(partition);
                    self.pending_changed(app, key, old.as_ref(), &new);
                    changed = true;
                }
            }
        }
        Ok(changed)
    }

    fn pending_changed(&mut self, app: u64, key: Key, old: Option<&Ask>, new: &Ask) {
        let state = self.apps.get_mut(&app).unwrap();
        let (leaf, user) = (state.leaf, state.user.clone());
        let before = old.map_or(0, |a| a.count);
        if new.count <= 0 {
            if before >= 0 {
                state.keys.remove(&key);
                state.asks.remove(&key);
            }
            if state.keys.is_empty() {
                self.deactivate_user(leaf, &user, app);
            }
        } else if before <= 0 {
            state.keys.insert(key);
            self.activate_user(leaf, &user, app);
        }
        if let Some(old) = old {
            let p = old.label.clone().unwrap_or_default();
            self.add_pending(app, &p, &times_int(&old.res, before), -1);
        }
        let p = new.label.clone().unwrap_or_default();
        self.add_pending(app, &p, &times_int(&new.res, new.count), 1);
    }

    pub(crate) fn add_pending(&mut self, app: u64, p: &str, r: &Res, sign: i64) {
        let state = self.apps.get_mut(&app).unwrap();
        let sum = change(&of(&state.pending, p, &self.zero), r, sign);
        state.pending.insert(p.to_owned(), sum);
        let leaf = state.leaf;
        self.add_queue_pending(leaf, p, r, sign);
    }

    /// Takes one off the asks; what comes back is asked again should the container be lost.
    pub(crate) fn ask_served(
        &mut self,
        app: u64,
        key: Key,
        level: Level,
        node: NodeIdx,
    ) -> Vec<Request> {
        let (host, rack) = (self.nodes[node].host.clone(), self.nodes[node].rack.clone());
        let state = self.apps.get_mut(&app).unwrap();
        let (leaf, user) = (state.leaf, state.user.clone());
        let ask = state.asks.get_mut(&key).unwrap();
        let fixed = ask.fixed.is_some();
        let any = ANY.to_owned();
        let names = match level {
            Level::NodeLocal if !fixed => vec![host, rack, any],
            Level::RackLocal if !fixed => vec![rack, any],
            _ => vec![any],
        };
        let mut back = Vec::new();
        let mut served = None;
        for name in names {
            let Some(a) = ask.names.get_mut(&name) else {
                continue;
            };
            let (res, label) = (a.res.clone(), a.label.clone());
            let partition = label.clone().unwrap_or_default();
            let is_any = name == ANY;
            // What a scheduling request had taken is not asked again.
            if !fixed {
                back.push(Request {
                    key,
                    name: name.clone(),
                    res: res.clone(),
                    count: 1,
                    relax: a.relax,
                    label,
                });
            }
            a.count -= 1;
            let empty = a.count == 0;
            // Of a scheduling request only the count goes down: key and pending stay.
            if is_any && !fixed {
                served = Some((partition, res, empty));
            }
            if empty && !(is_any && fixed) {
                ask.names.remove(&name);
            }
        }
        if let Some((partition, res, empty)) = served {
            if empty {
                if ask.names.is_empty() {
                    state.asks.remove(&key);
                }
                state.keys.remove(&key);
                if state.keys.is_empty() {
                    self.deactivate_user(leaf, &user, app);
                }
            }
            self.add_pending(app, &partition, &res, -1);
        }
        back
    }

    /// Adds scheduling requests, one after another until one is refused; true when demand changed.
    pub(crate) fn update_scheduling(
        &mut self,
        app: u64,
        requests: &[Value],
        top: &Res,
    ) -> Result<bool, Refusal> {
        let mut changed = false;
        for r in requests {
            let key = (
                r["priority"].as_i64().unwrap_or(1),
                r["id"].as_i64().unwrap_or(0),
            );
            let res = super::apps::resource(&r["res"]);
            let res = self.rc.normalize(&res, &self.minimum, top, &self.minimum);
            let mut tags: Vec<String> = Vec::new();
            for t in r["tags"].as_array().into_iter().flatten() {
                tags.push(t.as_str().unwrap().to_owned());
            }
            tags.sort();
            let constraint = r["constraint"].as_str().map(str::to_owned);
            let fixed = (res.clone(), tags, constraint);
            let state = self.apps.get_mut(&app).unwrap();
            let again = state.asks.contains_key(&key);
            let target = self.queues[state.leaf].default_label.clone();
            let ask = state.asks.entry(key).or_insert_with(|| KeyAsk {
                tags: fixed.1.iter().cloned().collect(),
                constraint: fixed.2.as_deref().map(constraints::parse),
                fixed: Some(fixed.clone()),
                partition: target.unwrap_or_default(),
                ..KeyAsk::default()
            });
            // The original compares with a constraint that is not there, and fails.
            let nothing = again && fixed.2.is_none();
            if nothing || ask.fixed.as_ref() != Some(&fixed) {
                return Err("scheduling_request");
            }
            let count = r["count"].as_i64().unwrap_or(1);
            let new = Ask {
                res,
                count,
                relax: true,
                label: Some(ask.partition.clone()),
            };
            let old = ask.names.insert(ANY.to_owned(), new.clone());
            // The same number once more changes nothing, not even at 0: the key stays.
            if old.as_ref().is_none_or(|old| old.count != count) {
                self.pending_changed(app, key, old.as_ref(), &new);
                changed = true;
            }
        }
        Ok(changed)
    }
}
