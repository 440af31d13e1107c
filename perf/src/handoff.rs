//! Hand-over in batches, node array and publication as in the engine, and nothing else.
//!
//! One proposer reads a published array of nodes, picks the next with room and hands records over
//! in batches; one committer checks each, changes the node and one counter, and publishes the
//! chunks that it changed once a batch. No queue, user, application or event exists: what batches
//! alone allow on a machine, far above the limit probe, which hands over one by one.

use std::sync::Arc;

use anyhow::{Result, bail};
use capsched::id::Version;
use capsched::sync::{
    PublishedReader, Publisher, Received, RingReceiver, RingSender, TrySendError, published, ring,
    yield_now,
};
use capsched::time::{Clock, SystemClock};

use crate::machine;
use crate::rounds;
use crate::shape::Shape;

/// What identifies the records of a measurement.
pub(crate) const DESIGN: &str = "hand-over in batches, nodes alone";

/// Nodes that are copied together.
const CHUNK: usize = 64;

/// Records of a batch, as in the engine.
const BATCH: usize = 64;

/// Batches that may wait, as in the engine.
const RING: usize = 8;

/// Free amounts of a node.
type Free = [i64; 2];
type Chunk = [Free; CHUNK];
type Nodes = Vec<Arc<Chunk>>;

/// One container on one node.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    node: u32,
    size: Free,
    app: u32,
}

impl Proposal {
    /// What nothing is logged as.
    const NONE: Self = Self {
        node: u32::MAX,
        size: [0; 2],
        app: u32::MAX,
    };
}

/// Fills the nodes of a shape once; commits per second, from the first one on.
pub(crate) fn measure(shape: &Shape) -> Result<u64> {
    let [node, container] = [&shape.cluster.node, &shape.load.containers[0]].map(|v| [v[0], v[1]]);
    let count = shape.cluster.nodes as usize;
    let slots = (node[0] / container[0]).min(node[1] / container[1]);
    let wanted = u64::try_from(slots)? * count as u64;
    let chunks: Nodes = (0..count.div_ceil(CHUNK))
        .map(|_| Arc::new([node; CHUNK]))
        .collect();
    let (publisher, published) = published(Version(1), Arc::new(chunks.clone()));
    let (sender, receiver) = ring(RING);
    let proposer = Proposer {
        nodes: published.reader(),
        count,
        sender,
        size: container,
    };
    let committer = Committer {
        chunks,
        publisher,
        receiver,
        log: vec![Proposal::NONE; usize::try_from(wanted)?],
        committed: 0,
    };
    let elapsed_ns = std::thread::scope(|scope| {
        scope.spawn(move || {
            machine::stand_on(1);
            proposer.run();
        });
        let commits = scope.spawn(move || {
            machine::stand_on(0);
            committer.run()
        });
        commits.join()
    });
    let Ok(elapsed_ns) = elapsed_ns else {
        bail!("the committer panicked");
    };
    Ok(rounds::rate(wanted, elapsed_ns))
}

struct Proposer {
    nodes: PublishedReader<Nodes>,
    count: usize,
    sender: RingSender<Vec<Proposal>>,
    size: Free,
}

impl Proposer {
    /// Goes round the nodes; a record for each that has room in what was published.
    fn run(mut self) {
        let mut at = 0;
        loop {
            let seen = Arc::clone(self.nodes.refresh());
            let mut batch = Vec::with_capacity(BATCH);
            for _ in 0..self.count {
                let free = seen[at / CHUNK][at % CHUNK];
                if free[0] >= self.size[0] && free[1] >= self.size[1] {
                    batch.push(Proposal {
                        node: u32::try_from(at).unwrap_or(u32::MAX),
                        size: self.size,
                        app: 0,
                    });
                }
                at = (at + 1) % self.count;
                if batch.len() == BATCH {
                    break;
                }
            }
            if !self.send(batch) {
                return;
            }
        }
    }

    fn send(&mut self, mut batch: Vec<Proposal>) -> bool {
        loop {
            match self.sender.try_send(batch) {
                Ok(()) => return true,
                Err(TrySendError::Closed(_)) => return false,
                Err(TrySendError::Full(back)) => {
                    batch = back;
                    yield_now();
                }
            }
        }
    }
}

struct Committer {
    chunks: Nodes,
    publisher: Publisher<Nodes>,
    receiver: RingReceiver<Vec<Proposal>>,
    /// As long as the fill from the start, so that no page of it is touched anew by the clock.
    log: Vec<Proposal>,
    committed: usize,
}

impl Committer {
    /// Commits until every place is taken; how long that took from the first commit on, in ns.
    fn run(mut self) -> u64 {
        let clock = SystemClock::new();
        let mut began_ns = None;
        let mut version = 1;
        let mut pending = [u32::MAX];
        while self.committed < self.log.len() {
            let Received::Item(batch) = self.receiver.try_recv() else {
                yield_now();
                continue;
            };
            began_ns.get_or_insert_with(|| clock.now_ns());
            for proposal in batch {
                let at = proposal.node as usize;
                let chunk = Arc::make_mut(&mut self.chunks[at / CHUNK]);
                let free = &mut chunk[at % CHUNK];
                let left = &mut pending[proposal.app as usize];
                if free[0] >= proposal.size[0] && free[1] >= proposal.size[1] && *left > 0 {
                    free[0] -= proposal.size[0];
                    free[1] -= proposal.size[1];
                    *left -= 1;
                    self.log[self.committed] = proposal;
                    self.committed += 1;
                }
            }
            version += 1;
            let next = Arc::new(self.chunks.clone());
            drop(self.publisher.publish(Version(version), next));
        }
        self.receiver.close();
        clock.now_ns() - began_ns.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_small_cluster_is_taken_once() {
        let mut shape = Shape::named("S1").unwrap();
        shape.cluster.nodes = 3;
        assert!(measure(&shape).unwrap() > 0);
    }
}
