//! M13: a proposer becomes idle, and the committer finds the engine quiet.
//!
//! Threads: a proposer, which sends one item or two and then rests, and the committer (main).
//! Property: once all are idle and the rings are empty, everything that was sent has been taken; a
//! committer that sleeps until then is woken.
//! Fails when: QuietRingsFirst, QuietIdleRelaxed or QuietWakeBeforeIdle is planted.

use capsched::id::Version;
use capsched::sync::{ProposerStatus, Received, is_quiet, parking, ring};
use loom::thread;
use loom_tests::{Witness, explore};

/// The version at which the proposer rests.
const LOOKED: Version = Version(1);

fn rest_after(n: u32, w: &'static [Witness; 2]) {
    let (waker, parker) = parking();
    let (mut sender, receiver) = ring(2);
    let statuses = [ProposerStatus::new(waker)];
    let [status] = statuses.clone();
    let proposer = thread::spawn(move || {
        for value in 0..n {
            assert_eq!(sender.try_send(value), Ok(()));
        }
        status.set_idle(LOOKED);
        // The ring stays open, so that not its end is taken for news.
        sender
    });
    let mut rings = [receiver];
    let mut taken = 0;
    while !is_quiet(&statuses, &rings, LOOKED) {
        if let Received::Item(_) = rings[0].try_recv() {
            taken += 1;
            w[0].met_if(statuses[0].is_idle_at(LOOKED));
            continue;
        }
        let mut looks = 0;
        parker.park_until(|| {
            looks += 1;
            rings[0].has_news() || statuses[0].is_idle_at(LOOKED)
        });
        w[1].met_if(looks > 1);
    }
    assert_eq!(taken, n, "quiet though an item was on its way");
    drop(proposer.join().expect("the proposer does not panic"));
}

const fn witnesses() -> [Witness; 2] {
    [
        Witness::of("an item was left when its sender rested"),
        Witness::of("the committer slept"),
    ]
}

#[test]
fn an_idle_proposer_has_nothing_on_its_way() {
    static W: [Witness; 2] = witnesses();
    explore(&[&W[0], &W[1]], || rest_after(1, &W));
}

#[test]
fn who_rests_has_none_of_two_on_its_way() {
    static W: [Witness; 2] = witnesses();
    explore(&[&W[0], &W[1]], || rest_after(2, &W));
}
