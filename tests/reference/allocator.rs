//! One application on candidate nodes: checks, locality, fitting, reservations to give up.

use super::asks::Level;
use super::capacity::of;
use super::resources::{Res, add, hash_order, node_hash, sub, sub_floor};
use super::state::{
    ANY, App, Container, ContainerIdx, ContainerState, Key, Limits, NodeIdx, Scheduler,
};
use std::collections::BTreeSet;

/// Why nothing came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    QueueLimit,
    Other,
}

/// What an attempt proposes.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) res: Res,
    pub(crate) level: Level,
    pub(crate) requested: Option<Level>,
    pub(crate) skipped: Option<Skip>,
    /// Reservation to give up.
    pub(crate) excess: Option<ContainerIdx>,
    pub(crate) app: Option<u64>,
    pub(crate) node: Option<NodeIdx>,
    pub(crate) container: Option<ContainerIdx>,
    pub(crate) reserving: bool,
    /// Reservation that becomes the allocation.
    pub(crate) fulfilled: Option<ContainerIdx>,
    /// Whether exclusivity of partitions is respected.
    pub(crate) respect: bool,
}

impl Assignment {
    pub(crate) fn nothing(zero: &Res) -> Self {
        Self {
            res: zero.clone(),
            level: Level::NodeLocal,
            requested: None,
            skipped: None,
            excess: None,
            app: None,
            node: None,
            container: None,
            reserving: false,
            fulfilled: None,
            respect: true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Allocated,
    Reserved,
    PrioritySkipped,
    LocalitySkipped,
    AppSkipped,
    QueueSkipped,
}

#[derive(Clone, Debug)]
struct Outcome {
    found: Found,
    unreserve: Option<ContainerIdx>,
    res: Option<Res>,
    level: Level,
    requested: Option<Level>,
    place: Option<(NodeIdx, ContainerIdx)>,
}

fn skipped(found: Found) -> Outcome {
    Outcome {
        found,
        unreserve: None,
        res: None,
        level: Level::NodeLocal,
        requested: None,
        place: None,
    }
}

/// The attempt as every step of it sees it.
struct Try<'a> {
    app: u64,
    key: Key,
    limits: &'a Limits,
    respect: bool,
    reserved: Option<ContainerIdx>,
}

impl Scheduler {
    fn app(&self, app: u64) -> &App {
        &self.apps[&app]
    }

    pub(crate) fn assign_app(
        &mut self,
        app: u64,
        nodes: &[NodeIdx],
        p: &str,
        limits: &Limits,
        respect: bool,
        reserved: Option<ContainerIdx>,
    ) -> Assignment {
        if let Some(c) = reserved {
            let key = self.containers[c].key;
            let out = self.allocate(
                nodes,
                &Try {
                    app,
                    key,
                    limits,
                    respect,
                    reserved,
                },
            );
            return self.convert(app, out, reserved, respect);
        }
        let skip = Assignment {
            skipped: Some(Skip::Other),
            ..Assignment::nothing(&self.zero)
        };
        let look = if respect { p } else { "" };
        let mut pending = of(&self.app(app).pending, look, &self.zero);
        if look.is_empty() {
            pending = sub_floor(&pending, &self.zero);
        }
        if pending == self.zero {
            return skip;
        }
        let keys: BTreeSet<Key> = self.app(app).keys.clone();
        for key in keys {
            let out = self.allocate(
                nodes,
                &Try {
                    app,
                    key,
                    limits,
                    respect,
                    reserved,
                },
            );
            if out.found != Found::PrioritySkipped {
                return self.convert(app, out, None, respect);
            }
        }
        skip
    }

    fn convert(
        &self,
        app: u64,
        out: Outcome,
        reserved: Option<ContainerIdx>,
        respect: bool,
    ) -> Assignment {
        let mut a = Assignment::nothing(&self.zero);
        a.skipped = (out.found == Found::AppSkipped).then_some(Skip::Other);
        a.app = Some(app);
        a.respect = respect;
        a.excess = out.unreserve;
        a.requested = out.requested;
        match (out.found, out.res, out.place) {
            (Found::Allocated | Found::Reserved, Some(res), Some((node, container)))
                if self.rc.more(&self.cluster, &res, &self.zero) =>
            {
                a.res = res;
                a.level = out.level;
                a.node = Some(node);
                a.container = Some(container);
                a.reserving = out.found == Found::Reserved;
                a.fulfilled = if a.reserving { None } else { reserved };
            }
            (Found::QueueSkipped, ..) => a.skipped = Some(Skip::QueueLimit),
            _ => {}
        }
        a
    }

    /// Whether the application may take or reserve one more, given what it has reserved.
    fn should_allocate(&self, app: &App, key: Key, required: &Res) -> bool {
        let need = app.asks.get(&key).map_or(0, |a| a.count(ANY));
        let held = app.reserved.get(&key).map_or(0, Vec::len) as i64;
        let mut starvation = 0;
        if held > 0 {
            let top = &self.queues[app.leaf].max_alloc;
            let by_node = self.rc.ratio(required, top);
            let by_minimum = self.rc.ratio(&sub(top, &self.minimum), top);
            let least = if by_minimum < by_node {
                by_minimum
            } else {
                by_node
            };
            let again = app.re_reservations.get(&key).copied().unwrap_or(0);
            starvation = i64::from((again as f32 / held as f32 * (1.0 - least)) as i32);
        }
        starvation + need - held > 0
    }

    /// Why a node is not even tried; none means go on.
    fn precheck(&mut self, node: NodeIdx, t: &Try<'_>) -> Option<Found> {
        let app = self.app(t.app);
        let Some(ask) = app.asks.get(&t.key).filter(|a| a.count(ANY) > 0) else {
            return Some(Found::PrioritySkipped);
        };
        let required = ask.names[ANY].res.clone();
        let waits = !app.unmanaged && app.master.is_none();
        if !t.respect && waits && !self.settings.am_non_exclusive {
            return Some(Found::AppSkipped);
        }
        let p = self.nodes[node].partition.clone();
        let look = if t.respect { p.as_str() } else { "" };
        let fits_partition = if ask.fixed.is_some() {
            self.holds(app, ask, node, look)
        } else {
            ask.partition == look
        };
        let looking = self.settings.continue_looking;
        if !fits_partition || (!looking && !self.should_allocate(app, t.key, &required)) {
            return Some(Found::PrioritySkipped);
        }
        let could = if looking {
            of(&app.reserved_res, &p, &self.zero)
        } else {
            self.zero.clone()
        };
        if !self.rc.fits_in(&required, &add(&t.limits.headroom, &could)) {
            return Some(Found::QueueSkipped);
        }
        let mut missed = 0;
        if ask.partition.is_empty() {
            let count = self
                .apps
                .get_mut(&t.app)
                .unwrap()
                .missed
                .entry(t.key)
                .or_default();
            *count += 1;
            missed = *count;
        }
        (!t.respect && missed < self.node_of.len() as i64).then_some(Found::AppSkipped)
    }

    fn allocate(&mut self, nodes: &[NodeIdx], t: &Try<'_>) -> Outcome {
        if !self.app(t.app).asks.contains_key(&t.key) {
            return Outcome {
                unreserve: t.reserved,
                ..skipped(Found::PrioritySkipped)
            };
        }
        let mut out = skipped(Found::PrioritySkipped);
        let order = if nodes.len() == 1 {
            nodes.to_vec()
        } else {
            self.sorted_nodes(t.app, nodes)
        };
        for (i, node) in order.iter().copied().enumerate() {
            let last = i + 1 == order.len();
            let holds = self.nodes[node].reserved.is_some();
            if self.settings.skip_reserved_nodes && holds && !last {
                continue;
            }
            if t.reserved.is_none() {
                if let Some(why) = self.precheck(node, t) {
                    out = skipped(why);
                    continue;
                }
            } else if self.app(t.app).asks[&t.key].count(ANY) == 0 {
                return Outcome {
                    unreserve: t.reserved,
                    ..skipped(Found::QueueSkipped)
                };
            }
            out = self.try_node(node, t);
            if out.found == Found::Allocated || (out.found == Found::Reserved && last) {
                return self.propose(node, t, out);
            }
        }
        out
    }

    fn try_node(&mut self, node: NodeIdx, t: &Try<'_>) -> Outcome {
        let n = &self.nodes[node];
        let app = self.apps.get_mut(&t.app).unwrap();
        if app.black.contains(&n.host) || app.black.contains(&n.rack) {
            return skipped(Found::AppSkipped);
        }
        *app.opportunities.entry(t.key).or_default() += 1;
        let out = self.cascade(node, t);
        if t.reserved.is_none() && out.found == Found::PrioritySkipped {
            let app = self.apps.get_mut(&t.app).unwrap();
            let count = app.opportunities.entry(t.key).or_default();
            *count = (*count - 1).max(0);
        }
        out
    }

    /// Host, then rack, then any.
    fn cascade(&self, node: NodeIdx, t: &Try<'_>) -> Outcome {
        let ask = &self.app(t.app).asks[&t.key];
        let n = &self.nodes[node];
        let mut requested = None;
        let levels = [
            (Level::NodeLocal, n.host.as_str()),
            (Level::RackLocal, n.rack.as_str()),
            (Level::OffSwitch, ANY),
        ];
        for (level, name) in levels {
            if ask.count(name) <= 0 {
                continue;
            }
            if level != Level::NodeLocal && !ask.relax(name) {
                return skipped(Found::PrioritySkipped);
            }
            requested = requested.or(Some(level));
            let mut out = self.level(node, t, level, name);
            if out.res.is_some() || level == Level::OffSwitch {
                out.requested = requested;
                if level == Level::OffSwitch && out.found == Found::LocalitySkipped {
                    out.found = Found::AppSkipped;
                }
                return out;
            }
        }
        skipped(Found::PrioritySkipped)
    }

    fn level(&self, node: NodeIdx, t: &Try<'_>, level: Level, name: &str) -> Outcome {
        if !self.may_use(node, t, level) {
            return skipped(Found::LocalitySkipped);
        }
        let res = self.app(t.app).asks[&t.key].names[name].res.clone();
        self.fit(node, t, level, &res)
    }

    /// Whether the application has waited long enough for this level.
    fn may_use(&self, node: NodeIdx, t: &Try<'_>, level: Level) -> bool {
        let app = self.app(t.app);
        let (ask, leaf) = (&app.asks[&t.key], &self.queues[app.leaf]);
        let n = self.node_of.len() as i64;
        let waited = app.opportunities.get(&t.key).copied().unwrap_or(0);
        let (host, rack) = (&self.nodes[node].host, &self.nodes[node].rack);
        match level {
            Level::OffSwitch if t.reserved.is_some() => true,
            Level::OffSwitch if n == 0 => false,
            Level::OffSwitch if ask.names.len() == 1 => true,
            Level::OffSwitch if leaf.rack_delay > -1 => {
                waited > n.min(leaf.node_delay + leaf.rack_delay)
            }
            Level::OffSwitch => {
                let places = (ask.names.len() - 1) as f32 / n as f32;
                let wait = (ask.count(ANY) as f32 * places.min(1.0)) as i32;
                n.min(i64::from(wait)) < waited
            }
            Level::RackLocal => ask.count(rack) > 0 && n.min(leaf.node_delay) < waited,
            Level::NodeLocal => ask.count(rack) > 0 && ask.count(host) > 0,
        }
    }

    fn fit(&self, node: NodeIdx, t: &Try<'_>, level: Level, res: &Res) -> Outcome {
        let (rc, n, app) = (self.rc, &self.nodes[node], self.app(t.app));
        let no = skipped(Found::LocalitySkipped);
        if !rc.fits_in(res, &n.total) {
            return no;
        }
        let looking = self.settings.continue_looking && t.reserved.is_none();
        let should = self.should_allocate(app, t.key, res);
        let over = sub(res, &t.limits.headroom);
        let need = rc.max(&self.cluster, &over, &t.limits.unreserve);
        let must_unreserve = rc.any_above_zero(&need);
        let (found, give) = if rc.containers(&n.free, res) > 0 {
            let mut give = None;
            if looking && (!should || must_unreserve) {
                give = self.find_reservation(app, t.key, if must_unreserve { &need } else { res });
                if give.is_none() {
                    return no;
                }
            }
            (Found::Allocated, give)
        } else if (should || t.reserved.is_some()) && !(looking && must_unreserve) {
            (Found::Reserved, None)
        } else {
            return no;
        };
        Outcome {
            unreserve: give,
            res: Some(res.clone()),
            level,
            ..skipped(found)
        }
    }

    /// The first reservation, in hash order of the nodes, that is large enough.
    fn find_reservation(&self, app: &App, key: Key, need: &Res) -> Option<ContainerIdx> {
        let held = app.reserved.get(&key)?;
        let order = hash_order(held, |(name, _)| node_hash(name), 0);
        order
            .into_iter()
            .map(|x| x.1)
            .find(|c| self.rc.fits_in(need, &self.containers[*c].res))
    }

    /// Counters change before the commit.
    fn propose(&mut self, node: NodeIdx, t: &Try<'_>, mut out: Outcome) -> Outcome {
        let app = self.apps.get_mut(&t.app).unwrap();
        if t.reserved.is_none() {
            let full_reset = self.queues[app.leaf].rack_reset;
            let rack = out.level == Level::RackLocal && full_reset;
            if out.level == Level::NodeLocal || rack {
                app.opportunities.insert(t.key, 0);
            }
            if self.nodes[node].partition.is_empty() {
                app.missed.insert(t.key, 0);
            }
        }
        let container = t.reserved.unwrap_or(self.containers.len());
        if t.reserved.is_none() {
            self.containers.push(Container {
                app: t.app,
                key: t.key,
                res: out.res.clone().unwrap(),
                node,
                id: None,
                state: ContainerState::New,
                recover: None,
                is_am: false,
                tags: BTreeSet::new(),
            });
        }
        out.place = Some((node, container));
        out
    }

    /// Candidates of multi-node placement: by allocated amount, then node id.
    fn sorted_nodes(&self, app: u64, nodes: &[NodeIdx]) -> Vec<NodeIdx> {
        if !self.app(app).many_nodes {
            return nodes[..1].to_vec();
        }
        let mut out = nodes.to_vec();
        out.sort_by_key(|n| {
            let n = &self.nodes[*n];
            let port: i64 = n.name.rsplit_once(':').unwrap().1.parse().unwrap();
            (n.allocated.clone(), n.host.clone(), port)
        });
        out
    }
}
