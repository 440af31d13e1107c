//! Attempts of scheduling requests in front of the scheduler: placed, tried, retried, rejected.
//!
//! 1. A call brings requests, which are dispatched with attempt 1. What waits for another attempt is
//!    dispatched with it.
//! 2. The [algorithm](super::place_batch) places what is dispatched, between two calls.
//! 3. The next call tries each placement on its node, a container each.
//! 4. What a node refused, and what no node was found for, waits for the next attempt.
//! 5. After the last attempt the answer of a call reports it as rejected.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::processor::{BatchOutcome, BatchRequest};
use crate::id::NodeSlot;

/// Attempts where no number is set, as `retry-attempts` of the reference.
pub const RETRY_ATTEMPTS: u32 = 3;

/// A scheduling request with the number that its application gave it.
#[derive(Clone, Debug)]
pub struct PlacementRequest {
    /// The number, by which answers name it.
    pub allocation_id: i64,
    /// What is asked, with a size that is normalised.
    pub request: BatchRequest,
}

/// One container of a request that is to be tried on the node that the algorithm chose.
#[derive(Clone, Debug)]
#[must_use]
pub struct PlacementTrial {
    /// The request, of one container.
    pub request: PlacementRequest,
    /// The node.
    pub node: NodeSlot,
    attempt: u32,
}

/// Why a request was given up after the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// The algorithm found no node.
    CouldNotPlaceOnNode,
    /// The scheduler refused the container on the node that the algorithm chose.
    CouldNotScheduleOnNode,
}

/// A request that is given up.
#[derive(Clone, Debug)]
pub struct RejectedRequest {
    /// The request, of the containers that are missing.
    pub request: PlacementRequest,
    /// Why.
    pub reason: RejectionReason,
}

/// Requests of one attempt that are placed together.
#[derive(Clone, Debug)]
struct AttemptBatch {
    attempt: u32,
    requests: Vec<PlacementRequest>,
    /// Nodes that refused a request, by its first tag.
    blacklist: BTreeMap<Arc<str>, Vec<NodeSlot>>,
}

/// The requests of one application that are under way.
#[derive(Clone, Debug)]
pub struct PlacementAttempts {
    most: u32,
    dispatched: Vec<AttemptBatch>,
    waiting: Vec<AttemptBatch>,
    placed: Vec<PlacementTrial>,
    unplaced: Vec<(u32, PlacementRequest)>,
    refused: Vec<PlacementRequest>,
}

impl PlacementAttempts {
    /// An application without requests; each of them is attempted `most` times, at least once.
    #[must_use]
    pub const fn new(most: u32) -> Self {
        Self {
            most,
            dispatched: Vec::new(),
            waiting: Vec::new(),
            placed: Vec::new(),
            unplaced: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// A call of the application begins. Returns what is to be tried, which [`Self::tried`] ends.
    // As PlacementConstraintProcessor.allocate: the calls before that of the scheduler.
    pub fn begin_call(&mut self, requests: Vec<PlacementRequest>) -> Vec<PlacementTrial> {
        if !requests.is_empty() {
            self.dispatched.push(AttemptBatch {
                attempt: 1,
                requests,
                blacklist: BTreeMap::new(),
            });
        }
        self.dispatched.append(&mut self.waiting);
        std::mem::take(&mut self.placed)
    }

    /// The scheduler has answered a trial.
    // As PlacementConstraintProcessor.handleSchedulingResponse.
    pub fn tried(&mut self, trial: PlacementTrial, accepted: bool) {
        if accepted {
            return;
        }
        let PlacementTrial {
            request,
            node,
            attempt,
        } = trial;
        if attempt < self.most {
            self.wait(request, attempt, Some(node));
        } else {
            self.refused.push(request);
        }
    }

    /// The call ends. Returns what its answer reports as rejected: first what no node was found for.
    // As PlacementConstraintProcessor.handleRejectedRequests.
    pub fn end_call(&mut self) -> Vec<RejectedRequest> {
        let mut rejected = Vec::new();
        for (attempt, request) in std::mem::take(&mut self.unplaced) {
            if attempt < self.most {
                self.wait(request, attempt, None);
            } else {
                let reason = RejectionReason::CouldNotPlaceOnNode;
                rejected.push(RejectedRequest { request, reason });
            }
        }
        let reason = RejectionReason::CouldNotScheduleOnNode;
        let refused = self.refused.drain(..);
        rejected.extend(refused.map(|request| RejectedRequest { request, reason }));
        rejected
    }

    /// Places what was dispatched, batch by batch, with the algorithm that is given.
    // As PlacementDispatcher.dispatch with collect.
    pub fn place(&mut self, mut algorithm: impl FnMut(&[BatchRequest]) -> BatchOutcome) {
        for batch in std::mem::take(&mut self.dispatched) {
            let asked: Vec<BatchRequest> = batch.requests_to_place();
            let outcome = algorithm(&asked);
            let of = |at: usize, count: u32| {
                let mut request = batch.requests[at].clone();
                request.request.count = count;
                request
            };
            let attempt = batch.attempt;
            self.placed
                .extend(outcome.placed.iter().map(|placed| PlacementTrial {
                    request: of(placed.request, 1),
                    node: placed.node,
                    attempt,
                }));
            let rejected = outcome.rejected.iter();
            self.unplaced
                .extend(rejected.map(|&(at, count)| (attempt, of(at, count))));
        }
    }

    /// Whether nothing of the application is under way.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.dispatched.is_empty()
            && self.waiting.is_empty()
            && self.placed.is_empty()
            && self.unplaced.is_empty()
            && self.refused.is_empty()
    }

    /// A request waits for its next attempt, without the node that refused it.
    // As PlacementConstraintProcessor.addToRetryList: one batch for each number of attempts.
    fn wait(&mut self, request: PlacementRequest, attempt: u32, refused_by: Option<NodeSlot>) {
        let next = attempt + 1;
        let known = self.waiting.iter().position(|batch| batch.attempt == next);
        let at = known.unwrap_or_else(|| {
            self.waiting.push(AttemptBatch {
                attempt: next,
                requests: Vec::new(),
                blacklist: BTreeMap::new(),
            });
            self.waiting.len() - 1
        });
        let batch = &mut self.waiting[at];
        if let (Some(tag), Some(node)) = (request.request.tags.first(), refused_by) {
            let refusing = batch.blacklist.entry(Arc::clone(tag)).or_default();
            refusing.push(node);
        }
        batch.requests.push(request);
    }
}

impl AttemptBatch {
    /// The requests, each without the nodes that refused one with its first tag.
    fn requests_to_place(&self) -> Vec<BatchRequest> {
        let requests = self.requests.iter().map(|request| {
            let mut asked = request.request.clone();
            let tag = asked.tags.first();
            let refusing = tag.and_then(|tag| self.blacklist.get(tag));
            asked.blacklist = refusing.cloned().unwrap_or_default();
            asked
        });
        requests.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ApplicationId, NameId};
    use crate::policy::{BatchNode, ConstraintRegistry, RequestOrder, TagIndex, place_batch};
    use crate::resource::{Calculator, ResourceVector};

    fn request(allocation_id: i64, tag: &str, count: u32, memory: i64) -> PlacementRequest {
        PlacementRequest {
            allocation_id,
            request: BatchRequest {
                tags: vec![tag.into()],
                size: ResourceVector::of(&[memory, 1]),
                count,
                constraint: None,
                blacklist: Vec::new(),
            },
        }
    }

    /// Places on nodes of 4 GiB.
    fn on_nodes(count: u32) -> impl Fn(&[BatchRequest]) -> BatchOutcome {
        let node = |node| BatchNode {
            node: NodeSlot(node),
            rack: NameId(1),
            partition: String::new(),
            attributes: Vec::new(),
            available: ResourceVector::of(&[4096, 8]),
        };
        let nodes: Vec<BatchNode> = (0..count).map(node).collect();
        move |asked| {
            place_batch(
                ApplicationId::new(1),
                asked,
                &nodes,
                RequestOrder::Serial,
                Calculator::Dominant { types: 2 },
                &ConstraintRegistry::new(),
                &mut TagIndex::new(),
            )
        }
    }

    fn reported(rejected: &[RejectedRequest]) -> Vec<(i64, u32, RejectionReason)> {
        let rejected = rejected.iter();
        rejected
            .map(|one| {
                let request = &one.request;
                (request.allocation_id, request.request.count, one.reason)
            })
            .collect()
    }

    #[test]
    fn what_fits_nowhere_is_rejected_after_the_last_attempt_with_all_its_containers() {
        let mut attempts = PlacementAttempts::new(RETRY_ATTEMPTS);
        let reason = RejectionReason::CouldNotPlaceOnNode;
        // A call learns that an attempt failed, and the call after it begins the next attempt.
        for call in 1..=2 * RETRY_ATTEMPTS {
            let asked = (call == 1).then(|| request(7, "a", 5, 8192));
            assert_eq!(attempts.begin_call(asked.into_iter().collect()).len(), 0);
            let rejected = reported(&attempts.end_call());
            if call < 2 * RETRY_ATTEMPTS {
                assert_eq!(rejected, [], "call {call}");
                attempts.place(on_nodes(2));
            } else {
                assert_eq!(rejected, [(7, 5, reason)]);
            }
        }
        assert!(attempts.is_empty());
    }

    #[test]
    fn what_a_node_refuses_is_retried_elsewhere_a_container_each() {
        let mut attempts = PlacementAttempts::new(2);
        let none = attempts.begin_call(vec![request(1, "a", 2, 1024)]);
        assert_eq!((none.len(), attempts.end_call().len()), (0, 0));
        attempts.place(on_nodes(2));
        let trials = attempts.begin_call(Vec::new());
        let nodes: Vec<u32> = trials.iter().map(|trial| trial.node.0).collect();
        assert_eq!(nodes, [0, 1]);
        for trial in trials {
            assert_eq!(trial.request.request.count, 1);
            let accepted = trial.node.0 == 1;
            attempts.tried(trial, accepted);
        }
        assert_eq!(attempts.end_call().len(), 0);
        let _ = attempts.begin_call(Vec::new());
        attempts.place(on_nodes(2));
        for trial in attempts.begin_call(Vec::new()) {
            assert_eq!(trial.node.0, 1, "node 0 refused the tag");
            attempts.tried(trial, false);
        }
        let reason = RejectionReason::CouldNotScheduleOnNode;
        assert_eq!(reported(&attempts.end_call()), [(1, 1, reason)]);
        assert!(attempts.is_empty());
    }

    #[test]
    fn each_number_of_attempts_has_a_batch_of_its_own() {
        let mut attempts = PlacementAttempts::new(3);
        let _ = attempts.begin_call(vec![request(1, "a", 1, 8192)]);
        attempts.place(on_nodes(1));
        let _ = attempts.begin_call(vec![request(2, "b", 1, 8192), request(3, "c", 1, 8192)]);
        assert_eq!(attempts.end_call().len(), 0);
        // The first request has attempt 2 now, the others have attempt 1.
        let _ = attempts.begin_call(Vec::new());
        attempts.place(on_nodes(1));
        assert_eq!(attempts.end_call().len(), 0);
        let _ = attempts.begin_call(Vec::new());
        let mut batches = Vec::new();
        attempts.place(|asked| {
            let tags = asked.iter().map(|request| request.tags[0].to_string());
            batches.push(tags.collect::<Vec<_>>());
            on_nodes(1)(asked)
        });
        assert_eq!(batches, [vec!["b", "c"], vec!["a"]]);
        let _ = attempts.begin_call(Vec::new());
        let rejected = reported(&attempts.end_call());
        assert_eq!(rejected, [(1, 1, RejectionReason::CouldNotPlaceOnNode)]);
    }
}
