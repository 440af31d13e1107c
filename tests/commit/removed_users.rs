//! A user whose record was removed while an application goes on asking gets nothing, on every way.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, GangAsk, GangWait, NodeName, NodeSpec};
use capsched::commit::{CommitOutcome, Conflict, Ledger, Unsettled};
use capsched::fast_path::AllFast;
use capsched::id::{AppSlot, NodeSlot, PartitionId};
use capsched::policy::is_granted;
use capsched::proposer::{BulkExtent, Candidates, FitIndex, Outcome, place_in_bulk, propose};
use capsched::queue::Exclusivity;
use capsched::resource::{NARROW, ResourceVector};

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

/// One leaf that runs one application at a time, and a node of 10 GiB.
fn ledger() -> Ledger {
    let settings = crate::trees::settings([
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("root.a.max-parallel-apps", "1"),
        ("maximum-am-resource-percent", "1"),
    ]);
    let mut ledger = Ledger::new(settings, &[]).unwrap();
    let node = NodeSpec::new(NodeName::new("h0", 1).unwrap(), of(10_240, 10));
    ledger.add_node(&node).unwrap();
    ledger.drain_follow_ups();
    ledger.track(true);
    ledger
}

fn submit(ledger: &mut Ledger, number: u32) -> AppSlot {
    let spec = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
    let app = ledger.submit(&spec).unwrap();
    ledger.drain_follow_ups();
    app
}

/// A ledger with one application that asks for so many containers.
fn asking(count: i32) -> (Ledger, AppSlot) {
    let mut ledger = ledger();
    let app = submit(&mut ledger, 1);
    let asks = vec![Ask::anywhere(of(1024, 1), count)];
    ledger.ask(app, &AskCall::asking(asks)).unwrap();
    ledger.drain_follow_ups();
    (ledger, app)
}

/// Whether a pass over the node proposes something, and what.
fn pass(ledger: &Ledger) -> (Outcome, Vec<capsched::proposer::Observation>) {
    let (candidates, mut seen) = (Candidates::node(NodeSlot::at(0)), Vec::new());
    let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
    (outcome, seen)
}

/// A ledger with one application that has a container and asks for more.
fn served() -> (Ledger, AppSlot) {
    let (mut ledger, app) = asking(9);
    let (outcome, seen) = pass(&ledger);
    let committed = ledger.commit(&outcome, &seen);
    assert_eq!(committed, CommitOutcome::Committed);
    ledger.drain_follow_ups();
    (ledger, app)
}

/// Commits what a pass over the node found, which is nothing.
fn pass_in_vain(ledger: &mut Ledger) {
    let (outcome, seen) = pass(ledger);
    assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Nothing);
}

/// Containers that a bulk placement of at most four finds on the node.
fn in_bulk(ledger: &Ledger) -> usize {
    let mut state = ledger.state().clone();
    state.copied = true;
    let node = NodeSlot::at(0);
    let mut index = FitIndex::new(vec![node], 2);
    index.note_total(&state.nodes[node].total.get());
    index.set(node, Some(&state.nodes[node].free.get()));
    let extent = BulkExtent {
        most: 4,
        second: None,
        watch: None,
    };
    let (partition, mut placed) = (PartitionId::DEFAULT, Vec::new());
    place_in_bulk(&mut state, &mut index, partition, extent, &mut placed)
}

/// Ends a parked application. It is counted as one that waits, so that nobody but it seems to be left
/// of its user, whose record is removed.
// As AbstractLeafQueue.removeApplicationAttempt.
fn remove_user_of(ledger: &mut Ledger, app: AppSlot) {
    let parked = submit(ledger, 2);
    ledger.end_app(parked);
    ledger.drain_follow_ups();
    let state = ledger.state();
    assert!(state.users[state.apps[app].user].removed);
}

/// Of one container that is asked, and of several: they are checked on different ways.
#[test]
fn what_was_proposed_before_the_removal_is_refused() {
    for (count, batch) in [(1, false), (5, false), (1, true), (5, true)] {
        let (mut ledger, app) = asking(count);
        let (outcome, _) = pass(&ledger);
        assert!(matches!(outcome, Outcome::Proposed(_)), "{outcome:?}");
        remove_user_of(&mut ledger, app);
        let committed = if batch {
            Unsettled::new(ledger).batch().commit(&outcome, &[])
        } else {
            ledger.commit(&outcome, &[])
        };
        let refused = CommitOutcome::Rejected(Conflict::OverUserLimit);
        assert_eq!(committed, refused, "{count} asked, in a batch: {batch}");
    }
}

#[test]
fn a_pass_and_a_bulk_placement_find_nothing_after_the_removal() {
    let _fast = AllFast::begin();
    let (mut ledger, app) = served();
    assert!(in_bulk(&ledger) > 0, "there is something to find before");
    remove_user_of(&mut ledger, app);
    let (outcome, _) = pass(&ledger);
    assert!(!matches!(outcome, Outcome::Proposed(_)), "{outcome:?}");
    assert_eq!(in_bulk(&ledger), 0);
}

#[test]
fn a_gang_waits_after_the_removal() {
    let (mut ledger, app) = asking(1);
    remove_user_of(&mut ledger, app);
    let gang = GangAsk {
        request_id: 7,
        ..GangAsk::of(2, of(1024, 1), 1000)
    };
    ledger.ask_gang(app, &gang).unwrap();
    ledger.serve_gangs();
    let waits: Vec<_> = ledger
        .waiting_gangs()
        .iter()
        .map(|gang| gang.wait.clone())
        .collect();
    assert_eq!(waits, [GangWait::UserLimit]);
}

/// Passes go on looking at it: what they find is cached for the next record of the user.
#[test]
fn the_application_of_a_removed_user_joins_no_skippable_head() {
    let (mut ledger, app) = served();
    remove_user_of(&mut ledger, app);
    let leaf = ledger.queue("root.a").unwrap();
    for _ in 0..2 {
        pass_in_vain(&mut ledger);
        let head = &ledger.state().queues[leaf].as_leaf().head;
        assert_eq!((head.len, head.next), (0, 0));
    }
    let state = ledger.state();
    assert!(state.apps[app].provider.is_some(), "it was served before");
}

/// What passes found about the removed record holds for the next one, in the same version of the leaf's users.
#[test]
fn a_new_record_gets_nothing_in_the_same_version_though_no_limit_is_near() {
    let _fast = AllFast::begin();
    let (mut ledger, app) = served();
    remove_user_of(&mut ledger, app);
    pass_in_vain(&mut ledger);
    submit(&mut ledger, 3);
    pass_in_vain(&mut ledger);
    let (state, leaf) = (ledger.state(), ledger.queue("root.a").unwrap());
    let user = &state.users[state.apps[app].user];
    let version = state.queues[leaf].as_leaf().users_version;
    let cached =
        user.part(PartitionId::DEFAULT).cached_limits[Exclusivity::Respect as usize].as_deref();
    assert_eq!(cached.map(|cached| cached.version), Some(version));
    assert!(!user.removed);
    assert!(is_granted::<NARROW>(
        state,
        leaf,
        PartitionId::DEFAULT,
        user
    ));
    assert_eq!(in_bulk(&ledger), 0);
    let node = NodeSpec::new(NodeName::new("h1", 1).unwrap(), of(10_240, 10));
    ledger.add_node(&node).unwrap();
    ledger.drain_follow_ups();
    // A publication renews what is certain of user limits without computing them.
    let _ = ledger.state_to_publish();
    assert!(in_bulk(&ledger) > 0, "a node ends the version");
}
