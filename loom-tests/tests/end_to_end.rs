//! M11: end to end, from a published snapshot over ring and commit to the next one.
//!
//! Threads: a proposer and the committer (main), which in most models also decides by itself, replaces an
//! application or the node, or takes over another configuration. Snapshot, ring, parking, `propose` and ledger are the engine's own; the
//! turns of proposer and committer are those of `mode` without what is there for speed. A second
//! proposer is too much for loom at two preemptions; shuttle has four.
//! Property: every decision is committed or refused once, and a snapshot counts it when it shows
//! it (P1); one that was made on the live state is never refused (P7); no reader goes back, and
//! the version word is never ahead of the snapshot (E3); no node, no user and no ended application
//! gets more than it may (N1, U2, U8), no lost node anything (N11), and no queue more than its maximum
//! of now (Q4); containers end with their node (N4); observations are applied unless they are about
//! what is no more; nobody waits for ever.
//! Fails when: PublishPointerRelaxed, PublishVersionBeforePointer, RingWakesBeforeCount, SkipRoomCheck,
//! SkipRegistrationCheck, SkipAncestorMaximum, SkipUserLimitCheck, LostNodeKeepsContainers,
//! CommitForEndedApp, BellWithoutLock, WakerWithoutFence, SleeperWithoutFence, ObserveOnReusedSlot,
//! FreedSlotShownEarly or FreedSlotShownLate is
//! planted.

mod cluster;
mod scene;

use capsched::commit::Conflict;
use cluster::Scene;
use loom_tests::{Witness, explore_engine};
use scene::Change;

/// What threads met.
struct Witnesses {
    lost: Witness,
    followed: Witness,
    together: Witness,
    awaited: Witness,
    idle: Witness,
    observed: Witness,
}

impl Witnesses {
    const fn none_met() -> Self {
        Self {
            lost: Witness::of("a decision on an older state was refused"),
            followed: Witness::of("a proposer decided on what another thread had changed"),
            together: Witness::of("two changes were published at once"),
            awaited: Witness::of("a proposer slept until its decision was published"),
            idle: Witness::of("the committer slept"),
            observed: Witness::of("a decision came with what was observed on the way"),
        }
    }

    fn all(&self) -> [&Witness; 5] {
        let Self {
            lost,
            followed,
            together,
            awaited,
            idle,
            // Only where an application is seen for the first time.
            observed: _,
        } = self;
        [lost, followed, together, awaited, idle]
    }
}

#[test]
fn two_decisions_race_for_the_last_room() {
    static W: Witnesses = Witnesses::none_met();
    let scene = Scene {
        room: 1,
        limit: 1,
        placed: 0,
        asked: 2,
        beside: 0,
        refusal: Conflict::DoesNotFit,
    }
    .prepared();
    explore_engine(&W.all(), move || scene.play(1, Some(Change::Decide), &W));
}

#[test]
fn two_decisions_race_for_the_last_container_of_a_user() {
    static W: Witnesses = Witnesses::none_met();
    let scene = Scene {
        room: 4,
        limit: 2,
        placed: 2,
        asked: 4,
        beside: 0,
        refusal: Conflict::OverUserLimit,
    }
    .prepared();
    explore_engine(&W.all(), move || scene.play(1, Some(Change::Decide), &W));
}

#[test]
fn a_decision_races_with_the_end_of_its_application() {
    static W: Witnesses = Witnesses::none_met();
    let [lost, followed, together, awaited, idle] = W.all();
    let witnesses = [lost, followed, together, awaited, idle, &W.observed];
    let scene = Scene {
        room: 2,
        limit: 2,
        placed: 0,
        asked: 1,
        beside: 0,
        refusal: Conflict::AppGone,
    }
    .prepared();
    explore_engine(&witnesses, move || scene.play(2, Some(Change::Replace), &W));
}

#[test]
fn a_decision_races_with_the_loss_of_its_node() {
    static W: Witnesses = Witnesses::none_met();
    let scene = Scene {
        room: 3,
        limit: 3,
        placed: 1,
        asked: 3,
        beside: 0,
        refusal: Conflict::NodeGone,
    }
    .prepared();
    explore_engine(&W.all(), move || {
        scene.play(2, Some(Change::ReplaceNode { room: 2 }), &W)
    });
}

#[test]
fn a_decision_races_with_another_configuration() {
    static W: Witnesses = Witnesses::none_met();
    let scene = Scene {
        room: 2,
        limit: 2,
        placed: 0,
        asked: 1,
        beside: 1,
        refusal: Conflict::OverQueueLimit,
    }
    .prepared();
    explore_engine(&W.all(), move || scene.play(1, Some(Change::Reload), &W));
}

#[test]
fn a_proposer_alone_is_never_refused() {
    static W: Witnesses = Witnesses::none_met();
    let scene = Scene {
        room: 2,
        limit: 2,
        placed: 0,
        asked: 3,
        beside: 0,
        refusal: Conflict::DoesNotFit,
    }
    .prepared();
    explore_engine(&[&W.awaited, &W.idle], move || scene.play(3, None, &W));
}
