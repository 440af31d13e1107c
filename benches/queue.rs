//! Benches of the queue floor: the order of children while what they use moves.

use std::hint::black_box;
use std::time::Duration;

use capsched::id::QueueSlot;
use capsched::queue::{ChildClaim, ChildUse, Ranks};
use capsched::resource::share;
use criterion::{Criterion, criterion_group, criterion_main};

/// Shares in use that children come to by turns; odd, so that every child comes to all of them.
const TURNS: i64 = 61;

/// Children that a pass looks at when the first ones have nothing to place.
const LOOKED_AT: usize = 16;

fn using(turn: i64) -> ChildUse {
    let used = share::quotient(share::to_f32(turn * 37 % TURNS), share::to_f32(TURNS));
    ChildUse { used, idle: false }
}

/// Children with equal guarantees that use different shares of them.
fn claims(children: usize) -> Vec<ChildClaim> {
    let turns = (0..).map(using);
    let claim = |(child, of)| ChildClaim {
        child: QueueSlot::at(child),
        accessible: true,
        absolute_capacity: 0.001,
        priority: 0,
        of,
    };
    (0..children).zip(turns).map(claim).collect()
}

/// The first child gets something and lets others by: what every container costs in each queue.
fn follow(c: &mut Criterion) {
    let uses: Vec<_> = (0..TURNS).map(using).collect();
    for children in [10, 1_000] {
        let mut ranks = Ranks::new(1, Some(&claims(children)));
        let mut turns = uses.iter().cycle();
        c.bench_function(&format!("queue/follow_first/{children}"), |b| {
            b.iter(|| {
                let first = ranks.first().expect("there are children");
                // Slots are places here.
                ranks.follow(first.index(), *turns.next().expect("turns never end"));
                first
            });
        });
    }
}

/// The order is made anew when something changed that no use expresses.
fn build(c: &mut Criterion) {
    for children in [10, 1_000] {
        let claims = claims(children);
        c.bench_function(&format!("queue/build_order/{children}"), |b| {
            b.iter(|| Ranks::new(1, Some(black_box(&claims))));
        });
    }
}

fn in_order(c: &mut Criterion) {
    let ranks = Ranks::new(1, Some(&claims(1_000)));
    assert_eq!(ranks.in_order().count(), 1_000);
    c.bench_function(&format!("queue/in_order_{LOOKED_AT}/1000"), |b| {
        b.iter(|| black_box(&ranks).in_order().take(LOOKED_AT).last());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = follow, build, in_order
}
criterion_main!(benches);
