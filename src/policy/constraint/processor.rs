//! The placement algorithm that works on a batch of requests in front of the scheduler.
//!
//! Every node's free space and the running tags are known; the batch is placed request by request,
//! one container per visit of a node, walking the nodes in a [circle](Circle). Tags of placements
//! under way count for the following ones. Afterwards each placement is tested again, because one
//! that came early may be broken by one that came late. What is left over makes a batch of its own,
//! which is placed once more from the first node on.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{ApplicationId, NameId, NodeSlot};
use crate::resource::{Calculator, ResourceVector};

use super::evaluate::evaluate;
use super::registry::ConstraintRegistry;
use super::tags::{NodeTags, TagIndex};
use crate::queue::Constraint;

/// Rounds over one batch.
const ROUNDS: usize = 2;

/// One scheduling request of a batch.
#[derive(Clone, Debug)]
pub struct BatchRequest {
    /// Tags of the containers, ascending.
    pub tags: Vec<Arc<str>>,
    /// Size of one container.
    pub size: ResourceVector,
    /// Number of containers.
    pub count: u32,
    /// Constraint of the request itself.
    pub constraint: Option<Arc<Constraint>>,
    /// Nodes that must not be tried in the first round; what is left over may go there.
    pub blacklist: Vec<NodeSlot>,
}

/// A candidate node of a batch.
#[derive(Clone, Debug)]
pub struct BatchNode {
    /// The node.
    pub node: NodeSlot,
    /// Its rack.
    pub rack: NameId,
    /// Its partition; empty for the default one.
    pub partition: String,
    /// Its attributes, as `prefix/name` and value.
    pub attributes: Vec<(String, String)>,
    /// What is not allocated on it.
    pub available: ResourceVector,
}

/// The order in which the requests of a batch are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrder {
    /// As given.
    Serial,
    /// Requests with the tags that occur most often in the batch first.
    PopularTags,
}

/// One container of a request on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPlacement {
    /// Position of the request in the batch.
    pub request: usize,
    /// The node.
    pub node: NodeSlot,
}

/// What came of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchOutcome {
    /// Placements, request by request in the order in which these were tried.
    pub placed: Vec<BatchPlacement>,
    /// What was not placed: position of the request and number of containers. A request occurs
    /// twice when nodes are missing for one part and another part was broken by later placements.
    pub rejected: Vec<(usize, u32)>,
}

/// Places the requests of one call of an application. `tags` holds the running tags; those of the
/// placements are added while the algorithm runs and taken back before it returns.
///
/// Cost: at most two rounds of requests times nodes.
// As DefaultPlacementAlgorithm.place; differs: what is placed is taken off the free space, where
// the reference adds it.
#[must_use]
pub fn place_batch(
    app: ApplicationId,
    requests: &[BatchRequest],
    nodes: &[BatchNode],
    order: RequestOrder,
    calculator: Calculator,
    registry: &ConstraintRegistry,
    tags: &mut TagIndex,
) -> BatchOutcome {
    let mut run = ProcessorRun {
        app,
        requests,
        nodes,
        calculator,
        constraints: requests
            .iter()
            .map(|request| registry.effective(app, &request.tags, request.constraint.as_ref()))
            .collect(),
        available: nodes.iter().map(|node| node.available).collect(),
        placed: Vec::new(),
        tags,
    };
    let asked = requests.iter().map(|request| request.count);
    let mut batch: Vec<(usize, u32)> = asked.enumerate().collect();
    for round in 0..ROUNDS {
        let mut rejected = run.place(batch, order, round == 0);
        run.validate_again(&mut rejected);
        batch = rejected;
        if batch.is_empty() {
            break;
        }
    }
    run.finish(batch)
}

/// Positions of the parts of a batch in the order of placement.
fn sequence(requests: &[BatchRequest], batch: &[(usize, u32)], order: RequestOrder) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..batch.len()).collect();
    if order == RequestOrder::PopularTags {
        let tags_of = |at: usize| requests[batch[at].0].tags.iter();
        let mut popularity: BTreeMap<&str, usize> = BTreeMap::new();
        for tag in positions.iter().flat_map(|&at| tags_of(at)) {
            *popularity.entry(tag).or_insert(0) += 1;
        }
        let most = |at: &usize| {
            let most = tags_of(*at).map(|tag| popularity.get(&**tag).copied().unwrap_or(0));
            std::cmp::Reverse(most.max().unwrap_or(0))
        };
        positions.sort_by_key(most);
    }
    positions
}

/// The nodes in the order in which one request tries them: first the node that accepted something
/// last, then all from where the walk of the round stands.
// As CircularIterator: asking whether there is a further node takes it off the walk.
struct Circle<'a> {
    nodes: usize,
    /// Where the walk of the round stands; at the end it stays there.
    walk: &'a mut usize,
    /// A walk of the request's own, once that of the round is at its end.
    own: Option<usize>,
    start: usize,
    first: Option<usize>,
    next: Option<usize>,
}

impl<'a> Circle<'a> {
    /// A circle over at least one node.
    fn new(nodes: usize, walk: &'a mut usize, first: Option<usize>) -> Self {
        let own = (*walk == nodes).then_some(0);
        let mut circle = Self {
            nodes,
            walk,
            own,
            start: 0,
            first,
            next: None,
        };
        circle.start = circle.step();
        circle.next = Some(circle.start);
        circle
    }

    fn step(&mut self) -> usize {
        let at = self.own.as_mut().unwrap_or(self.walk);
        let node = *at;
        *at += 1;
        node
    }

    /// Whether there is a further node, which is taken off the walk.
    fn has_next(&mut self) -> bool {
        if self.next.is_some() || self.first.is_some() {
            return true;
        }
        if self.own.unwrap_or(*self.walk) == self.nodes {
            self.own = Some(0);
        }
        let node = self.step();
        self.next = Some(node);
        node != self.start
    }

    fn next(&mut self) -> Option<usize> {
        self.first.take().or_else(|| self.next.take())
    }
}

/// The nodes that one part of a batch was placed on.
struct Placed {
    request: usize,
    nodes: Vec<usize>,
}

struct ProcessorRun<'a> {
    app: ApplicationId,
    requests: &'a [BatchRequest],
    nodes: &'a [BatchNode],
    calculator: Calculator,
    constraints: Vec<Option<Arc<Constraint>>>,
    available: Vec<ResourceVector>,
    placed: Vec<Placed>,
    tags: &'a mut TagIndex,
}

impl ProcessorRun<'_> {
    /// One round over a batch; what found no node, in the order of the batch.
    // As DefaultPlacementAlgorithm.doPlacement.
    fn place(
        &mut self,
        mut batch: Vec<(usize, u32)>,
        order: RequestOrder,
        blacklists: bool,
    ) -> Vec<(usize, u32)> {
        let (mut walk, mut last) = (0, None);
        for at in sequence(self.requests, &batch, order) {
            if self.nodes.is_empty() {
                break;
            }
            let (request, left) = &mut batch[at];
            let request = *request;
            let mut circle = Circle::new(self.nodes.len(), &mut walk, last);
            let mut nodes = Vec::new();
            while circle.has_next() && *left > 0 {
                let Some(node) = circle.next() else { break };
                if self.accepts(request, node, blacklists) {
                    *left -= 1;
                    self.available[node] -= self.requests[request].size;
                    self.count(request, node, true);
                    nodes.push(node);
                    last = Some(node);
                }
            }
            self.placed.push(Placed { request, nodes });
        }
        batch.retain(|&(_, left)| left > 0);
        batch
    }

    fn accepts(&self, request: usize, node: usize, blacklists: bool) -> bool {
        let asked = &self.requests[request];
        !(blacklists && asked.blacklist.contains(&self.nodes[node].node))
            && self.calculator.fits_in(&asked.size, &self.available[node])
            && self.holds(request, node) == Some(true)
    }

    /// Whether the constraint of a request holds on a node; nothing where it cannot be evaluated.
    fn holds(&self, request: usize, at: usize) -> Option<bool> {
        let Some(constraint) = &self.constraints[request] else {
            return Some(true);
        };
        let node = &self.nodes[at];
        let view = NodeTags {
            index: self.tags,
            node: node.node,
            rack: node.rack,
            partition: &node.partition,
            attributes: &node.attributes,
        };
        evaluate(constraint, self.app, &view).ok()
    }

    fn count(&mut self, request: usize, node: usize, add: bool) {
        let tags = &self.requests[request].tags;
        let BatchNode { node, rack, .. } = self.nodes[node];
        if add {
            self.tags.add(self.app, node, rack, tags);
        } else {
            self.tags.remove(self.app, node, rack, tags);
        }
    }

    /// Drops the placements of all rounds that later ones have broken.
    // As DefaultPlacementAlgorithm.validatePlacement.
    fn validate_again(&mut self, rejected: &mut Vec<(usize, u32)>) {
        let placed = std::mem::take(&mut self.placed);
        for Placed { request, nodes } in placed {
            let mut kept = Vec::new();
            let mut broken = 0;
            for node in nodes {
                self.count(request, node, false);
                if self.holds(request, node) == Some(false) {
                    self.available[node] += self.requests[request].size;
                    broken += 1;
                } else {
                    self.count(request, node, true);
                    kept.push(node);
                }
            }
            if broken > 0 {
                rejected.push((request, broken));
            }
            if !kept.is_empty() {
                let nodes = kept;
                self.placed.push(Placed { request, nodes });
            }
        }
    }

    fn finish(mut self, rejected: Vec<(usize, u32)>) -> BatchOutcome {
        let mut outcome = BatchOutcome {
            placed: Vec::new(),
            rejected,
        };
        for Placed { request, nodes } in std::mem::take(&mut self.placed) {
            for at in nodes {
                self.count(request, at, false);
                let node = self.nodes[at].node;
                outcome.placed.push(BatchPlacement { request, node });
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Applications, parse_constraint};

    const APP: ApplicationId = ApplicationId::new(1);
    const DOMINANT: Calculator = Calculator::Dominant { types: 2 };

    fn nodes(count: u32, memory: i64) -> Vec<BatchNode> {
        let nodes = (0..count).map(|node| BatchNode {
            node: NodeSlot(node),
            rack: NameId(1 + node / 2),
            partition: String::new(),
            attributes: Vec::new(),
            available: ResourceVector::of(&[memory, 8]),
        });
        nodes.collect()
    }

    fn request(tag: &str, count: u32, constraint: Option<&str>) -> BatchRequest {
        BatchRequest {
            tags: vec![tag.into()],
            size: ResourceVector::of(&[1024, 1]),
            count,
            constraint: constraint.map(|text| Arc::new(parse_constraint(text).unwrap())),
            blacklist: Vec::new(),
        }
    }

    fn run(requests: &[BatchRequest], nodes: &[BatchNode], order: RequestOrder) -> BatchOutcome {
        let mut tags = TagIndex::new();
        let registry = ConstraintRegistry::new();
        let outcome = place_batch(APP, requests, nodes, order, DOMINANT, &registry, &mut tags);
        for node in nodes {
            let left = tags.on_node(node.node, &Applications::All, "a");
            assert_eq!(left, 0, "temporary tags are taken back");
        }
        outcome
    }

    fn places(outcome: &BatchOutcome) -> Vec<(usize, u32)> {
        let placed = outcome.placed.iter();
        placed
            .map(|placed| (placed.request, placed.node.0))
            .collect()
    }

    #[test]
    fn the_circle_begins_at_the_last_node_that_accepted_and_passes_by_one() {
        let asked = [request("a", 2, None), request("b", 3, None)];
        let outcome = run(&asked, &nodes(4, 4096), RequestOrder::Serial);
        assert_eq!(places(&outcome), [(0, 0), (0, 1), (1, 1), (1, 3), (1, 0)]);
        assert_eq!(outcome.rejected, []);
    }

    #[test]
    fn one_circle_gives_a_node_one_container_and_there_are_two_rounds() {
        let outcome = run(
            &[request("a", 9, None)],
            &nodes(3, 8192),
            RequestOrder::Serial,
        );
        assert_eq!(outcome.placed.len(), 6);
        assert_eq!(outcome.rejected, [(0, 3)]);
    }

    #[test]
    fn space_constraint_and_blacklist_are_respected() {
        let mut blocked = request("a", 4, Some("notin,node,a"));
        blocked.blacklist.push(NodeSlot(1));
        let outcome = run(&[blocked], &nodes(3, 8192), RequestOrder::Serial);
        // The second round does not know what is blacklisted.
        assert_eq!(places(&outcome), [(0, 0), (0, 2), (0, 1)]);
        assert_eq!(outcome.rejected, [(0, 1)]);
        let none = run(
            &[request("a", 1, None)],
            &nodes(3, 1000),
            RequestOrder::Serial,
        );
        assert_eq!((none.placed.len(), none.rejected), (0, vec![(0, 1)]));
        let nowhere = run(&[request("a", 1, None)], &[], RequestOrder::Serial);
        assert_eq!(nowhere.rejected, [(0, 1)]);
    }

    #[test]
    fn a_placement_broken_by_a_later_one_moves_in_the_second_round() {
        // The first request avoids the second, which has room on node 0 only.
        let mut nodes = nodes(2, 4096);
        nodes[1].available = ResourceVector::of(&[1024, 8]);
        let mut big = request("b", 1, None);
        big.size = ResourceVector::of(&[2048, 1]);
        let asked = [request("a", 1, Some("notin,node,b")), big];
        let outcome = run(&asked, &nodes, RequestOrder::Serial);
        assert_eq!(places(&outcome), [(1, 0), (0, 1)]);
        assert_eq!(outcome.rejected, []);
    }

    #[test]
    fn affinity_to_a_request_of_the_same_batch_is_found_in_the_second_round() {
        let asked = [request("a", 1, Some("in,rack,b")), request("b", 1, None)];
        let outcome = run(&asked, &nodes(4, 4096), RequestOrder::Serial);
        assert_eq!(places(&outcome), [(1, 0), (0, 0)]);
    }

    #[test]
    fn what_is_missing_and_what_was_broken_are_parts_of_their_own() {
        // Three of the first kind fit, one a node; the second kind breaks one of them.
        let mut asked = [request("a", 4, Some("notin,node,b")), request("b", 1, None)];
        asked[0].size = ResourceVector::of(&[3072, 1]);
        let outcome = run(&asked, &nodes(3, 4096), RequestOrder::Serial);
        assert_eq!(places(&outcome), [(0, 0), (0, 1), (1, 2)]);
        assert_eq!(outcome.rejected, [(0, 1), (0, 1)]);
    }

    #[test]
    fn popular_tags_go_first() {
        let asked = [
            request("a", 1, None),
            request("b", 1, None),
            request("b", 1, None),
        ];
        let outcome = run(&asked, &nodes(4, 4096), RequestOrder::PopularTags);
        assert_eq!(places(&outcome), [(1, 0), (2, 0), (0, 0)]);
    }

    #[test]
    fn registered_constraints_hold_for_the_batch() {
        let mut registry = ConstraintRegistry::new();
        let rule = parse_constraint("notin,rack,a").unwrap();
        registry
            .add_global(vec!["a".to_owned()], rule, false)
            .unwrap();
        let mut tags = TagIndex::new();
        let outcome = place_batch(
            APP,
            &[request("a", 4, None)],
            &nodes(4, 4096),
            RequestOrder::Serial,
            DOMINANT,
            &registry,
            &mut tags,
        );
        assert_eq!(places(&outcome), [(0, 0), (0, 2)]);
    }

    #[test]
    fn what_fits_is_decided_by_the_calculator() {
        let mut large = request("a", 1, None);
        large.size = ResourceVector::of(&[1024, 99]);
        let placed = |calculator| {
            let (registry, mut tags) = (ConstraintRegistry::new(), TagIndex::new());
            let order = RequestOrder::Serial;
            let asked = [large.clone()];
            let outcome = place_batch(
                APP,
                &asked,
                &nodes(1, 4096),
                order,
                calculator,
                &registry,
                &mut tags,
            );
            outcome.placed.len()
        };
        assert_eq!(placed(DOMINANT), 0);
        assert_eq!(placed(Calculator::MemoryOnly { types: 2 }), 1);
    }
}
