//! Benches of the commit floor: a container's way through the ledger.

mod common;

use capsched::commit::{CommitOutcome, Event};
use capsched::id::NodeSlot;
use capsched::proposer::{Candidates, propose};
use capsched::queue::{Exclusivity, NodeReport};
use common::{S1, ledger, place};
use criterion::{Criterion, criterion_group, criterion_main};

/// Commits one decision and ends its container, so that the cluster stays as full as it is.
fn allocate_and_finish(c: &mut Criterion) {
    for full in [1, 16] {
        let mut ledger = ledger(S1);
        for node in (0..S1.nodes).cycle().take(S1.nodes as usize * full) {
            assert!(place(&mut ledger, node), "there is room");
        }
        drop(ledger.take_events());
        let candidates = Candidates::node(NodeSlot(7));
        let mut seen = Vec::new();
        c.bench_function(&format!("commit/allocate_finish/{full}"), |b| {
            b.iter(|| {
                seen.clear();
                let mode = Exclusivity::Respect;
                let found = propose(ledger.state(), &candidates, mode, &mut seen);
                assert_eq!(ledger.commit(&found, &seen), CommitOutcome::Committed);
                ledger.settle();
                let Some(Event::Allocated { container, .. }) = ledger.take_events().pop() else {
                    unreachable!("a committed proposal is told last");
                };
                let slot = ledger.live_container(container).expect("it was placed");
                ledger.container_exited(slot);
                ledger.settle();
                ledger.take_events()
            });
        });
    }
}

/// A heartbeat that reports nothing new from a node with containers.
fn report(c: &mut Criterion) {
    let mut ledger = ledger(S1);
    for _ in 0..32 {
        assert!(place(&mut ledger, 7), "there is room");
    }
    let node = ledger.state().nodes[NodeSlot(7)].name.clone();
    c.bench_function("commit/node_reported/32", |b| {
        b.iter(|| ledger.node_reported(&node, &NodeReport::AsExpected));
    });
}

criterion_group!(benches, allocate_and_finish, report);
criterion_main!(benches);
