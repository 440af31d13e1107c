//! M5: latencies on their way from hot threads to the collector.
//!
//! Threads: two recorders that record twice each, and the collector (main).
//! Property: every latency is collected once, also what a recorder still had when it went away.
//! Fails when: LatenciesCopiedThenEmptied is planted.
//!
//! loom lets nobody run between the collector's lock and its release, because there is no other
//! operation of the model in between. So no hand-over meets the held lock here; the unit test
//! `a_hand_over_during_a_collection_is_made_later` of `metrics` makes one.

use capsched::metrics::{Collector, HistogramSet, Phase, Recorder};
use loom::thread;
use loom_tests::{Witness, explore};

/// What each of the recorders measures.
const PHASES: [Phase; 2] = [Phase::NodePick, Phase::Apply];

/// Records twice, with a hand-over in between, and goes away.
fn record(mut recorder: Recorder, phase: Phase) {
    recorder.record(phase, 5);
    recorder.hand_over();
    recorder.record(phase, 7);
}

fn counts(set: &HistogramSet<Phase>) -> [u64; 2] {
    PHASES.map(|phase| set.get(phase).map_or(0, |histogram| histogram.len()))
}

#[test]
fn every_latency_is_collected_once() {
    static MIDDLE: Witness = Witness::of("the collector came between two latencies");
    static EARLY: Witness = Witness::of("the collector came before any latency");
    static ALONE: Witness = Witness::of("one recorder was collected before the other");
    explore(&[&MIDDLE, &EARLY, &ALONE], || {
        let mut collector = Collector::new();
        let recorders = PHASES.map(|phase| {
            let recorder = collector.recorder();
            thread::spawn(move || record(recorder, phase))
        });
        let first = counts(collector.collect());
        let second = counts(collector.collect());
        EARLY.met_if(first == [0, 0]);
        ALONE.met_if(first[0] == 0 && first[1] > 0);
        for i in 0..PHASES.len() {
            assert!(first[i] <= second[i], "the totals went back");
            MIDDLE.met_if(second[i] == 1);
        }
        for recorder in recorders {
            recorder.join().expect("a recorder does not panic");
        }
        assert_eq!(
            counts(&collector.take()),
            [2, 2],
            "recorded and collected differ"
        );
        assert_eq!(counts(&collector.take()), [0, 0], "a latency came twice");
    });
}
