//! Benches of the commit floor: a container's way through the ledger.

mod common;

use std::sync::Arc;
use std::time::Duration;

use capsched::commit::{CommitOutcome, Event};
use capsched::id::{NodeSlot, PartitionId};
use capsched::proposer::{
    BulkExtent, Candidates, FitIndex, Observation, Outcome, OverlayResult, apply_to_copy,
    observe_on_copy, place_in_bulk, propose,
};
use capsched::queue::{Exclusivity, NodeReport};
use capsched::snapshot::{Snapshot, State};
use capsched::time::{Clock, SystemClock};
use common::{S1, Size, ledger, place};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Ten times the canonical workload, in a tree of three levels.
const S3: Size = Size {
    nodes: 10_000,
    levels: &[5, 4, 5],
    apps: 1_000,
    users: 200,
};

/// Containers that are decided together.
const RUN: usize = 64;

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
                ledger.drain_follow_ups();
                let Some(Event::Allocated { container, .. }) = ledger.take_events().pop() else {
                    unreachable!("a committed proposal is the last event");
                };
                let slot = ledger.live_container(container).expect("it was placed");
                ledger.container_exited(slot, 0);
                ledger.drain_follow_ups();
                ledger.take_events()
            });
        });
    }
}

/// What a proposer copies of a cluster.
fn shown(size: Size) -> Snapshot {
    let mut ledger = ledger(size);
    ledger.track(true);
    let empty = Snapshot::empty(Arc::clone(&ledger.state().settings));
    empty.next(ledger.state_to_publish())
}

/// A proposer's copy of it, and all nodes in order.
fn copy(shown: &Snapshot) -> (State, FitIndex) {
    let mut state = State::new(Arc::clone(&shown.settings));
    state.refresh(&Snapshot::empty(Arc::clone(&shown.settings)), shown, |_| {});
    let order: Vec<_> = (0..state.nodes.len()).map(NodeSlot::at).collect();
    let mut index = FitIndex::new(order.clone(), 2);
    for node in order {
        index.note_total(&state.nodes[node].total.get());
        index.set(node, Some(&state.nodes[node].free.get()));
    }
    (state, index)
}

/// Bulk placements on an empty cluster until it is full, and again on another. What is timed is deciding and
/// charging, of whole bulk alone: not the passes between them, nor making another cluster.
fn bulk(c: &mut Criterion) {
    for (name, size) in [("S1", S1), ("S3", S3)] {
        let shown = shown(size);
        let (mut state, mut index) = copy(&shown);
        let (mut placed, mut seen) = (Vec::with_capacity(RUN), Vec::new());
        let clock = SystemClock::new();
        let mut group = c.benchmark_group("commit/bulk");
        group.throughput(Throughput::Elements(RUN as u64));
        group.bench_function(name, |b| {
            b.iter_custom(|wished| {
                let (mut spent_ns, mut done) = (0, 0);
                while done < wished {
                    placed.clear();
                    let extent = BulkExtent {
                        most: RUN,
                        second: None,
                        watch: None,
                    };
                    let before = clock.now_ns();
                    let count = place_in_bulk(
                        &mut state,
                        &mut index,
                        PartitionId::DEFAULT,
                        extent,
                        &mut placed,
                    );
                    let took_ns = clock.now_ns() - before;
                    if count == RUN {
                        (spent_ns, done) = (spent_ns + took_ns, done + 1);
                    } else {
                        go_on(&mut state, &mut index, &mut seen, &shown);
                    }
                }
                Duration::from_nanos(spent_ns)
            });
        });
    }
}

/// A pass where no run goes on, or an empty cluster where the other one is full.
fn go_on(state: &mut State, index: &mut FitIndex, seen: &mut Vec<Observation>, shown: &Snapshot) {
    let candidates = Candidates::indexed(index, PartitionId::DEFAULT);
    let found = propose(state, &candidates, Exclusivity::Respect, seen);
    observe_on_copy(state, seen);
    seen.clear();
    match found {
        Outcome::Proposed(proposal) => {
            assert_eq!(apply_to_copy(state, &proposal), OverlayResult::Yes);
            index.lessen(proposal.node, &state.nodes[proposal.node].free);
        }
        _ => (*state, *index) = copy(shown),
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

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = allocate_and_finish, bulk, report
}
criterion_main!(benches);
