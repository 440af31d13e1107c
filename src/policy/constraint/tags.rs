//! Which allocation tags run where, by application and in total.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::id::{ApplicationId, Map, NameId, NodeSlot};

use super::evaluate::{Applications, Reduce, TagView};
use crate::queue::Scope;

/// Tags and how often each of them runs; counts are never 0.
type Multiset = BTreeMap<Arc<str>, u32>;

/// The allocation tags of running containers, counted per node and per rack, for every application
/// and in total.
///
/// A container counts from its allocation until its node has released the space; whoever owns the
/// index calls [`add`](Self::add) and [`remove`](Self::remove) once each with the same arguments.
// As AllocationTagsManager.
#[derive(Clone, Debug, Default)]
pub struct TagIndex {
    by_app: Map<ApplicationId, Places>,
    total: Places,
    known: Map<ApplicationId, Vec<Arc<str>>>,
    by_application_tag: BTreeMap<Arc<str>, BTreeSet<ApplicationId>>,
}

#[derive(Clone, Debug, Default)]
struct Places {
    nodes: Map<NodeSlot, Multiset>,
    racks: Map<NameId, Multiset>,
}

/// Where tags are counted.
#[derive(Clone, Copy)]
enum TagPlace {
    Node(NodeSlot),
    Rack(NameId),
}

impl TagIndex {
    /// An index without applications and containers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an application known, with its application tags; a second call replaces the tags.
    pub fn add_application<'a>(
        &mut self,
        app: ApplicationId,
        tags: impl IntoIterator<Item = &'a str>,
    ) {
        self.forget_tags(app);
        let tags: Vec<Arc<str>> = tags.into_iter().map(Arc::from).collect();
        for tag in &tags {
            let apps = self.by_application_tag.entry(Arc::clone(tag)).or_default();
            apps.insert(app);
        }
        self.known.insert(app, tags);
    }

    /// Forgets an application that has ended. Its containers, if some are still to be released,
    /// go on counting until then.
    pub fn remove_application(&mut self, app: ApplicationId) {
        self.forget_tags(app);
        self.known.remove(&app);
    }

    fn forget_tags(&mut self, app: ApplicationId) {
        for tag in self.known.get(&app).into_iter().flatten() {
            if let Some(apps) = self.by_application_tag.get_mut(tag) {
                apps.remove(&app);
                if apps.is_empty() {
                    self.by_application_tag.remove(tag);
                }
            }
        }
    }

    /// Applications that carry an application tag, ascending.
    pub fn applications_with_tag(&self, tag: &str) -> impl Iterator<Item = ApplicationId> + '_ {
        let apps = self.by_application_tag.get(tag);
        apps.into_iter().flatten().copied()
    }

    /// Counts the tags of a container that was allocated.
    pub fn add(&mut self, app: ApplicationId, node: NodeSlot, rack: NameId, tags: &[Arc<str>]) {
        if tags.is_empty() {
            return;
        }
        for places in [self.by_app.entry(app).or_default(), &mut self.total] {
            raise(places.nodes.entry(node).or_default(), tags);
            raise(places.racks.entry(rack).or_default(), tags);
        }
    }

    /// Takes back the tags of a container whose space is free again. Tags that were never added
    /// are ignored in release builds.
    pub fn remove(&mut self, app: ApplicationId, node: NodeSlot, rack: NameId, tags: &[Arc<str>]) {
        self.total.remove(node, rack, tags);
        if let Some(places) = self.by_app.get_mut(&app) {
            places.remove(node, rack, tags);
            if places.nodes.is_empty() && places.racks.is_empty() {
                self.by_app.remove(&app);
            }
        }
    }

    /// Number of containers with one tag on a node.
    #[must_use]
    pub fn on_node(&self, node: NodeSlot, applications: &Applications<'_>, tag: &str) -> u32 {
        self.count(TagPlace::Node(node), applications, tag)
    }

    /// Number of containers with one tag in a rack.
    #[must_use]
    pub fn on_rack(&self, rack: NameId, applications: &Applications<'_>, tag: &str) -> u32 {
        self.count(TagPlace::Rack(rack), applications, tag)
    }

    fn cardinality(
        &self,
        place: TagPlace,
        applications: &Applications<'_>,
        tags: &[Arc<str>],
        reduce: Reduce,
    ) -> u32 {
        let counts = |tag: &Arc<str>| self.count(place, applications, tag);
        if tags.is_empty() {
            // A tag of the place may belong to other applications only; it is then not present.
            let present = self.total.tags(place).into_iter().flat_map(Multiset::keys);
            reduced(present.map(counts).filter(|&count| count > 0), reduce)
        } else {
            reduced(tags.iter().map(counts), reduce)
        }
    }

    fn count(&self, place: TagPlace, applications: &Applications<'_>, tag: &str) -> u32 {
        let of = |app: &ApplicationId| self.by_app.get(app).map_or(0, |own| own.count(place, tag));
        match applications {
            Applications::All => self.total.count(place, tag),
            Applications::Own(app) | Applications::Named(app) => of(app),
            Applications::AllBut(app) => self.total.count(place, tag).saturating_sub(of(app)),
            Applications::Tagged(label) => {
                let apps = self.applications_with_tag(label);
                apps.map(|app| of(&app)).sum()
            }
        }
    }
}

impl Places {
    fn tags(&self, place: TagPlace) -> Option<&Multiset> {
        match place {
            TagPlace::Node(node) => self.nodes.get(&node),
            TagPlace::Rack(rack) => self.racks.get(&rack),
        }
    }

    fn count(&self, place: TagPlace, tag: &str) -> u32 {
        let tags = self.tags(place);
        tags.and_then(|tags| tags.get(tag)).copied().unwrap_or(0)
    }

    fn remove(&mut self, node: NodeSlot, rack: NameId, tags: &[Arc<str>]) {
        lower(&mut self.nodes, node, tags);
        lower(&mut self.racks, rack, tags);
    }
}

fn raise(counts: &mut Multiset, tags: &[Arc<str>]) {
    for tag in tags {
        *counts.entry(Arc::clone(tag)).or_insert(0) += 1;
    }
}

fn lower<K: std::hash::Hash + Eq>(places: &mut Map<K, Multiset>, key: K, tags: &[Arc<str>]) {
    let Some(counts) = places.get_mut(&key) else {
        debug_assert!(tags.is_empty(), "tags are removed where they were added");
        return;
    };
    for tag in tags {
        match counts.get_mut(tag) {
            Some(1) => {
                counts.remove(tag);
            }
            Some(count) => *count -= 1,
            None => debug_assert!(false, "tag {tag} is removed as often as it was added"),
        }
    }
    if counts.is_empty() {
        places.remove(&key);
    }
}

fn reduced(counts: impl Iterator<Item = u32>, reduce: Reduce) -> u32 {
    match reduce {
        Reduce::Smallest => counts.min().unwrap_or(0),
        Reduce::Largest => counts.max().unwrap_or(0),
        Reduce::Sum => counts.sum(),
    }
}

/// One candidate node in front of the index.
#[derive(Clone, Copy, Debug)]
pub struct NodeTags<'a> {
    /// The running tags.
    pub index: &'a TagIndex,
    /// The candidate.
    pub node: NodeSlot,
    /// Its rack.
    pub rack: NameId,
    /// Its partition; empty for the default one.
    pub partition: &'a str,
    /// Its attributes, as `prefix/name` and value.
    pub attributes: &'a [(String, String)],
}

impl TagView for NodeTags<'_> {
    fn cardinality(
        &self,
        scope: Scope,
        applications: &Applications<'_>,
        tags: &[Arc<str>],
        reduce: Reduce,
    ) -> u32 {
        let place = match scope {
            Scope::Node => TagPlace::Node(self.node),
            Scope::Rack => TagPlace::Rack(self.rack),
        };
        self.index.cardinality(place, applications, tags, reduce)
    }

    fn attribute(&self, key: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    fn partition(&self) -> &str {
        self.partition
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const APPS: [ApplicationId; 2] = [ApplicationId::new(1), ApplicationId::new(2)];

    fn words(tags: &[&str]) -> Vec<Arc<str>> {
        tags.iter().map(|&tag| tag.into()).collect()
    }

    fn on(index: &TagIndex, node: u32, rack: u32) -> NodeTags<'_> {
        NodeTags {
            index,
            node: NodeSlot(node),
            rack: NameId(rack),
            partition: "",
            attributes: &[],
        }
    }

    #[test]
    fn counts_are_reduced_by_the_given_operator() {
        let mut index = TagIndex::new();
        for tags in [&["a", "b"][..], &["a"], &["a", "c"]] {
            index.add(APPS[0], NodeSlot(0), NameId(1), &words(tags));
        }
        let view = on(&index, 0, 1);
        for (tags, smallest, largest, sum) in [
            (&["a", "b", "c"][..], 1, 3, 5),
            (&["a"], 3, 3, 3),
            (&["a", "x"], 0, 3, 3),
            (&["x"], 0, 0, 0),
            (&[], 1, 3, 5),
        ] {
            let own = Applications::Own(APPS[0]);
            let count = |reduce| view.cardinality(Scope::Node, &own, &words(tags), reduce);
            assert_eq!(count(Reduce::Smallest), smallest, "{tags:?}");
            assert_eq!(count(Reduce::Largest), largest, "{tags:?}");
            assert_eq!(count(Reduce::Sum), sum, "{tags:?}");
        }
    }

    #[test]
    fn a_rack_counts_all_of_its_nodes() {
        let mut index = TagIndex::new();
        index.add(APPS[0], NodeSlot(0), NameId(1), &words(&["a"]));
        index.add(APPS[1], NodeSlot(1), NameId(1), &words(&["a"]));
        index.add(APPS[1], NodeSlot(2), NameId(2), &words(&["a"]));
        assert_eq!(index.on_rack(NameId(1), &Applications::All, "a"), 2);
        let others = Applications::AllBut(APPS[0]);
        assert_eq!(index.on_rack(NameId(1), &others, "a"), 1);
        assert_eq!(index.on_node(NodeSlot(0), &others, "a"), 0);
    }

    #[test]
    fn application_tags_follow_their_application() {
        let mut index = TagIndex::new();
        index.add_application(APPS[1], ["x", "y"]);
        index.add_application(APPS[0], ["x"]);
        let tagged = |index: &TagIndex, tag| index.applications_with_tag(tag).collect::<Vec<_>>();
        assert_eq!(tagged(&index, "x"), APPS);
        index.add_application(APPS[1], ["y"]);
        assert_eq!(tagged(&index, "x"), APPS[..1]);
        index.remove_application(APPS[1]);
        assert_eq!(tagged(&index, "y"), []);
    }

    #[test]
    fn an_ended_application_counts_until_its_space_is_free() {
        let mut index = TagIndex::new();
        index.add_application(APPS[0], []);
        index.add(APPS[0], NodeSlot(0), NameId(1), &words(&["a"]));
        index.remove_application(APPS[0]);
        let named = |index: &TagIndex| {
            let named = Applications::Named(APPS[0]);
            on(index, 0, 1).cardinality(Scope::Node, &named, &words(&["a"]), Reduce::Sum)
        };
        assert_eq!(named(&index), 1);
        index.remove(APPS[0], NodeSlot(0), NameId(1), &words(&["a"]));
        assert_eq!(named(&index), 0);
    }

    proptest! {
        #[test]
        fn the_index_equals_a_plain_count_of_containers(
            steps in prop::collection::vec((0usize..2, 0u32..3, 0usize..4, any::<bool>()), 0..60),
        ) {
            let sets = [&["a"][..], &["a", "b"], &["c"], &[]];
            let mut index = TagIndex::new();
            let mut running: Vec<(usize, u32, usize)> = Vec::new();
            for (app, node, set, start) in steps {
                let rack = NameId(node % 2);
                if start {
                    index.add(APPS[app], NodeSlot(node), rack, &words(sets[set]));
                    running.push((app, node, set));
                } else if let Some((app, node, set)) = running.pop() {
                    let rack = NameId(node % 2);
                    index.remove(APPS[app], NodeSlot(node), rack, &words(sets[set]));
                }
            }
            for node in 0..3 {
                for tag in ["a", "b", "c"] {
                    let count = |apps: &[usize], here: &dyn Fn(u32) -> bool| {
                        let matching = running.iter().filter(|(app, node, set)| {
                            apps.contains(app) && here(*node) && sets[*set].contains(&tag)
                        });
                        u32::try_from(matching.count()).unwrap()
                    };
                    for (applications, apps) in [
                        (Applications::All, &[0, 1][..]),
                        (Applications::Own(APPS[0]), &[0]),
                        (Applications::AllBut(APPS[0]), &[1]),
                    ] {
                        let slot = NodeSlot(node);
                        prop_assert_eq!(
                            index.on_node(slot, &applications, tag),
                            count(apps, &|n| n == node)
                        );
                        prop_assert_eq!(
                            index.on_rack(NameId(node % 2), &applications, tag),
                            count(apps, &|n| n % 2 == node % 2)
                        );
                    }
                }
            }
            if running.is_empty() {
                prop_assert!(index.by_app.is_empty() && index.total.nodes.is_empty());
            }
        }
    }
}
