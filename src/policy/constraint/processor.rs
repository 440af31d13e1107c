//! The placement algorithm that works on a batch of requests in front of the scheduler.
//!
//! Every node's free space and the running tags are known; the batch is placed request by request,
//! one container per visit of a node, walking the nodes in a circle. Tags of placements under way
//! count for the following ones. Afterwards each placement is tested again, because one that came
//! early may be broken by one that came late.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{ApplicationId, NameId, NodeSlot};
use crate::resource::ResourceVector;

use super::evaluate::evaluate;
use super::registry::ConstraintRegistry;
use super::tags::{NodeView, TagIndex};
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
    /// Nodes that must not be tried.
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
    /// Placements in the order in which they were made.
    pub placed: Vec<BatchPlacement>,
    /// Requests that were not placed completely: position and number of containers left over.
    pub rejected: Vec<(usize, u32)>,
}

/// Places the requests of one call of an application. `tags` holds the running tags; those of the
/// placements are added while the algorithm runs and taken back before it returns.
// As DefaultPlacementAlgorithm.place.
#[must_use]
pub fn place_batch(
    app: ApplicationId,
    requests: &[BatchRequest],
    nodes: &[BatchNode],
    order: RequestOrder,
    registry: &ConstraintRegistry,
    tags: &mut TagIndex,
) -> BatchOutcome {
    let mut run = Run {
        app,
        requests,
        nodes,
        constraints: requests
            .iter()
            .map(|request| registry.effective(app, &request.tags, request.constraint.as_ref()))
            .collect(),
        available: nodes.iter().map(|node| node.available).collect(),
        left: requests.iter().map(|request| request.count).collect(),
        next: 0,
        placed: Vec::new(),
        tags,
    };
    let sequence = sequence(requests, order);
    for _ in 0..ROUNDS {
        for &request in &sequence {
            run.place(request);
        }
        run.validate_again();
        if run.left.iter().all(|&left| left == 0) {
            break;
        }
    }
    run.finish()
}

/// Positions of the requests in the order of placement.
fn sequence(requests: &[BatchRequest], order: RequestOrder) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..requests.len()).collect();
    if order == RequestOrder::PopularTags {
        let mut popularity: BTreeMap<&str, usize> = BTreeMap::new();
        for tag in requests.iter().flat_map(|request| &request.tags) {
            *popularity.entry(tag).or_insert(0) += 1;
        }
        let most = |at: &usize| {
            let tags = requests[*at].tags.iter();
            let most = tags.map(|tag| popularity.get(&**tag).copied().unwrap_or(0));
            std::cmp::Reverse(most.max().unwrap_or(0))
        };
        positions.sort_by_key(most);
    }
    positions
}

struct Run<'a> {
    app: ApplicationId,
    requests: &'a [BatchRequest],
    nodes: &'a [BatchNode],
    constraints: Vec<Option<Arc<Constraint>>>,
    available: Vec<ResourceVector>,
    left: Vec<u32>,
    /// Position after the last node that accepted something.
    next: usize,
    /// Positions of request and node.
    placed: Vec<(usize, usize)>,
    tags: &'a mut TagIndex,
}

impl Run<'_> {
    /// One full circle for a request.
    fn place(&mut self, request: usize) {
        let start = self.next;
        for step in 0..self.nodes.len() {
            if self.left[request] == 0 {
                break;
            }
            let node = (start + step) % self.nodes.len();
            if self.accepts(request, node) {
                self.left[request] -= 1;
                let size = self.requests[request].size;
                self.available[node] -= size;
                self.count(request, node, true);
                self.placed.push((request, node));
                self.next = (node + 1) % self.nodes.len();
            }
        }
    }

    fn accepts(&self, request: usize, node: usize) -> bool {
        let asked = &self.requests[request];
        !asked.blacklist.contains(&self.nodes[node].node)
            && asked.size.fits_in(&self.available[node])
            && self.holds(request, node)
    }

    fn holds(&self, request: usize, at: usize) -> bool {
        let Some(constraint) = &self.constraints[request] else {
            return true;
        };
        let node = &self.nodes[at];
        let view = NodeView {
            index: self.tags,
            node: node.node,
            rack: node.rack,
            partition: &node.partition,
            attributes: &node.attributes,
        };
        evaluate(constraint, self.app, &view) == Ok(true)
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

    /// Drops the placements that the later ones have broken.
    fn validate_again(&mut self) {
        let placed = std::mem::take(&mut self.placed);
        for (request, node) in placed {
            self.count(request, node, false);
            if self.holds(request, node) {
                self.count(request, node, true);
                self.placed.push((request, node));
            } else {
                let size = self.requests[request].size;
                self.available[node] += size;
                self.left[request] += 1;
            }
        }
    }

    fn finish(mut self) -> BatchOutcome {
        let placed = std::mem::take(&mut self.placed);
        for &(request, node) in &placed {
            self.count(request, node, false);
        }
        let placed = placed.into_iter().map(|(request, node)| BatchPlacement {
            request,
            node: self.nodes[node].node,
        });
        let left = self.left.iter().copied().enumerate();
        BatchOutcome {
            placed: placed.collect(),
            rejected: left.filter(|&(_, left)| left > 0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Applications, parse_constraint};

    const APP: ApplicationId = ApplicationId::new(1);

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
        let outcome = place_batch(APP, requests, nodes, order, &registry, &mut tags);
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
    fn the_circle_goes_on_behind_the_last_node_that_accepted() {
        let asked = [request("a", 2, None), request("b", 3, None)];
        let outcome = run(&asked, &nodes(4, 4096), RequestOrder::Serial);
        assert_eq!(places(&outcome), [(0, 0), (0, 1), (1, 2), (1, 3), (1, 0)]);
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
        assert_eq!(places(&outcome), [(0, 0), (0, 2)]);
        assert_eq!(outcome.rejected, [(0, 2)]);
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
        assert_eq!(places(&outcome), [(1, 0), (0, 1)]);
    }

    #[test]
    fn popular_tags_go_first() {
        let asked = [
            request("a", 1, None),
            request("b", 1, None),
            request("b", 1, None),
        ];
        let outcome = run(&asked, &nodes(4, 4096), RequestOrder::PopularTags);
        assert_eq!(places(&outcome), [(1, 0), (2, 1), (0, 2)]);
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
            &registry,
            &mut tags,
        );
        assert_eq!(places(&outcome), [(0, 0), (0, 2)]);
    }
}
