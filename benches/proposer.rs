//! Benches of the proposer: one pass over one node, and over all nodes of a partition.

mod common;

use std::hint::black_box;
use std::time::Duration;

use capsched::id::{NodeSlot, PartitionId};
use capsched::proposer::{Candidates, FitIndex, Outcome, propose};
use capsched::queue::Exclusivity;
use common::{S1, ledger, place};
use criterion::{Criterion, criterion_group, criterion_main};

fn one_pass(c: &mut Criterion) {
    let mut ledger = ledger(S1);
    for node in 0..S1.nodes {
        assert!(place(&mut ledger, node), "an empty cluster has room");
    }
    let state = ledger.state();
    let one = Candidates::node(NodeSlot(0));
    let mut index = FitIndex::new((0..S1.nodes).map(NodeSlot).collect::<Vec<_>>(), 2);
    for node in 0..S1.nodes {
        index.set(
            NodeSlot(node),
            Some(&state.nodes[NodeSlot(node)].free.get()),
        );
    }
    let all = Candidates::indexed(&index, PartitionId::DEFAULT);
    let mut seen = Vec::new();
    for (name, candidates) in [("node", one), ("partition", all)] {
        let found = propose(state, &candidates, Exclusivity::Respect, &mut seen);
        assert!(matches!(found, Outcome::Proposed(_)), "there is room");
        c.bench_function(&format!("proposer/propose_{name}/{}", S1.nodes), |b| {
            b.iter(|| {
                seen.clear();
                propose(
                    state,
                    black_box(&candidates),
                    Exclusivity::Respect,
                    &mut seen,
                )
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = one_pass
}
criterion_main!(benches);
