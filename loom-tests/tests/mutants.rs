//! The runner of the mutants: each planted bug must be noticed by a model named here, or by the
//! simulator.
//!
//! A mutant runs in a process of its own, this binary started again, because a deadlock aborts.
//! It is killed when that process fails, and when the same model passes without a bug in a process
//! that is started in the same way. `cargo loom-mutants` shows the table.

use std::collections::BTreeSet;
use std::process::Command;

use capsched::sync::Mutant;

/// A proposer against the committer, from end to end.
const END_TO_END: &str = "end_to_end::two_decisions_race_for_the_last_room";

/// The same, while its application ends, its node is lost, or the configuration changes.
const END_OF_APP: &str = "end_to_end::a_decision_races_with_the_end_of_its_application";
const LOSS_OF_NODE: &str = "end_to_end::a_decision_races_with_the_loss_of_its_node";
const RELOAD: &str = "end_to_end::a_decision_races_with_another_configuration";

/// The script that demands bugs of the commit of the simulator.
const CANARIES: &str = include_str!("../../.ci/canaries");

/// Bugs that nobody has to notice, and why.
const EXCUSED: &[(Mutant, &str)] = &[];

/// The models that must notice the bug, each for itself; none for those that no model can meet.
fn killers(mutant: Mutant) -> &'static [&'static str] {
    match mutant {
        Mutant::PublishPointerRelaxed | Mutant::PublishVersionBeforePointer => &[
            "publish::two_readers_of_two_publications_never_go_back",
            END_TO_END,
        ],
        Mutant::PublishVersionRelaxed => {
            &["publish::two_readers_of_two_publications_never_go_back"]
        }
        Mutant::PublishOlderVersion => &["publish::an_older_version_is_refused"],
        Mutant::RingCountRelaxed
        | Mutant::RingCloseThenCount
        | Mutant::RingFreesTooMuch
        | Mutant::RingFullAccepts => &["ring::closing_keeps_every_accepted_item_with_one_slot"],
        Mutant::RingTakesWithoutCount | Mutant::RingCloseNotAtomic | Mutant::RingSlotRelaxed => {
            &["ring::closing_keeps_every_accepted_item_with_one_slot"]
        }
        Mutant::RingEmptyTakenForEnd | Mutant::RingSenderLeavesOpen => {
            &["ring::a_parked_receiver_gets_every_item_and_the_end"]
        }
        Mutant::InboxStampRelaxed
        | Mutant::InboxCloseThenClaim
        | Mutant::InboxTakesWithoutStamp
        | Mutant::InboxCloseNotAtomic
        | Mutant::InboxEmptyTakenForEnd => &["inbox::two_senders_of_one_item"],
        Mutant::InboxFullLooksFree | Mutant::InboxFullAccepts | Mutant::InboxSlotRelaxed => {
            &["inbox::two_senders_of_two_items_share_one_slot"]
        }
        Mutant::RingWakesBeforeCount => {
            &["ring::an_item_alone_wakes_a_parked_receiver", END_TO_END]
        }
        Mutant::InboxWakesBeforeFill => &["inbox::items_alone_wake_a_parked_receiver"],
        Mutant::InboxFreesWrongLap | Mutant::InboxSendersLeaveOpen => {
            &["inbox::the_last_sender_that_goes_away_finishes_the_inbox"]
        }
        Mutant::InboxKeepsAfterReceiver => &["inbox::what_a_lost_receiver_accepted_is_dropped"],
        Mutant::RingWakesSenderTooEarly => &["ring::a_parked_sender_is_woken_for_room"],
        Mutant::RingCloseWakesNoSender => &["ring::a_parked_sender_is_woken_for_the_close"],
        Mutant::SkipRoomCheck => &[END_TO_END],
        Mutant::SkipUserLimitCheck => {
            &["end_to_end::two_decisions_race_for_the_last_container_of_a_user"]
        }
        Mutant::CommitForEndedApp
        | Mutant::ObserveOnReusedSlot
        | Mutant::FreedSlotShownEarly
        | Mutant::FreedSlotShownLate => &[END_OF_APP],
        Mutant::GangInPart => &["gangs::a_gang_races_with_a_decision_for_its_room"],
        Mutant::SkipRegistrationCheck | Mutant::LostNodeKeepsContainers => &[LOSS_OF_NODE],
        Mutant::SkipAncestorMaximum => &[RELOAD],
        Mutant::LatenciesCopiedThenEmptied => &["latencies::every_latency_is_collected_once"],
        Mutant::BellWithoutLock | Mutant::WakerWithoutFence | Mutant::SleeperWithoutFence => &[
            "parking::a_sleeper_is_woken_by_each_of_two_wakers",
            END_TO_END,
        ],
        Mutant::SleeperAnnouncesLate | Mutant::SleeperTicketLate | Mutant::WakerRingsEarly => {
            &["parking::a_sleeper_is_woken_by_each_of_two_wakers"]
        }
        Mutant::HandoffSecondCallLost => &["handoff::the_work_of_three_callers_is_done"],
        Mutant::HandoffCallRelaxed
        | Mutant::HandoffReleasedThoughCalled
        | Mutant::HandoffReleaseRelaxed
        | Mutant::HandoffTakeRelaxed
        | Mutant::HandoffRecallRelaxed => &["handoff::the_work_of_two_callers_is_done"],
        Mutant::HandoffClaimNotReported | Mutant::HandoffCallEndsClaim => {
            &["handoff::the_home_thread_gets_what_it_claims"]
        }
        Mutant::QuietRingsFirst | Mutant::QuietIdleRelaxed | Mutant::QuietWakeBeforeIdle => {
            &["proposer_status::an_idle_proposer_has_nothing_on_its_way"]
        }
        Mutant::ShutdownRequestNotAtomic | Mutant::ShutdownDropsAccepted => {
            &["shutdown::every_accepted_item_is_answered"]
        }
        Mutant::ShutdownWakesEarly | Mutant::ShutdownEndUnannounced => {
            &["shutdown::who_waits_for_the_end_sees_the_answers"]
        }
        Mutant::ShutdownOwnerDiesSilently => &["shutdown::a_dying_owner_releases_who_waits"],
        // Sums and reservations: loom's cluster of one node has neither.
        Mutant::RefusalNotCounted
        | Mutant::RefusalCountedTwice
        | Mutant::SkipQueueCharge
        | Mutant::FulfilOtherReservation
        | Mutant::KilledStaysCharged => &[],
    }
}

/// What the process said last about its end, or nothing when it ended well.
fn cause_of_death(mutant: Option<Mutant>, model: &str) -> Option<String> {
    let program = std::env::current_exe().expect("a running test has a path");
    let name = mutant.map(|mutant| format!("{mutant:?}"));
    let output = Command::new(program)
        .args(["--exact", "--test-threads=1", "--nocapture"])
        .arg(model)
        .env("CAPSCHED_MUTANT", name.unwrap_or_default())
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("the test binary can be started again");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("running 1 test"),
        "{mutant:?}: there is no model {model}"
    );
    (!output.status.success()).then(|| first_panic(&said))
}

fn first_panic(said: &str) -> String {
    let mut lines = said
        .lines()
        .skip_while(|line| !line.contains("panicked at"));
    let place = lines.next().unwrap_or("no panic: the process was aborted");
    let message = lines.next().unwrap_or_default();
    let place = place.rsplit("panicked at ").next().unwrap_or(place);
    format!("{message} ({})", place.trim_end_matches(':'))
}

/// The names of the bugs that the simulator must find; what stands behind a colon is by which invariant.
fn demanded_of_the_simulator() -> BTreeSet<&'static str> {
    let list = CANARIES
        .lines()
        .find_map(|line| line.strip_prefix("demanded=(")?.strip_suffix(')'));
    let names = list.expect("the script has its list on one line");
    names
        .split_whitespace()
        .map(|pair| pair.split(':').next().unwrap_or(pair))
        .collect()
}

#[test]
fn every_mutant_is_demanded_or_excused() {
    let simulator = demanded_of_the_simulator();
    let known: BTreeSet<_> = Mutant::ALL.iter().map(|m| format!("{m:?}")).collect();
    for name in &simulator {
        assert!(known.contains(*name), "{name}: there is no such mutant");
    }
    for &mutant in Mutant::ALL {
        let name = format!("{mutant:?}");
        let demanded = !killers(mutant).is_empty() || simulator.contains(&*name);
        let excused = EXCUSED.iter().any(|(known, _)| *known == mutant);
        assert_ne!(demanded, excused, "{name}: demanded, or excused, not both");
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn every_mutant_is_killed() {
    let all = Mutant::ALL.iter().flat_map(|mutant| killers(*mutant));
    for model in all.collect::<BTreeSet<_>>() {
        let cause = cause_of_death(None, model);
        assert_eq!(cause, None, "{model} fails without a bug");
    }
    let mut survivors = Vec::new();
    for &mutant in Mutant::ALL {
        for model in killers(mutant) {
            match cause_of_death(Some(mutant), model) {
                Some(cause) => println!("{mutant:?}: {model}: killed: {cause}"),
                None => {
                    println!("{mutant:?}: {model}: SURVIVED");
                    survivors.push((mutant, model));
                }
            }
        }
    }
    assert!(survivors.is_empty(), "not noticed: {survivors:?}");
}
