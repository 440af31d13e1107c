//! Passes over a partition go by applications that ask on others only, where there are threads.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec, PartitionSpec};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::fast_path::AllFast;
use capsched::id::{AppSlot, NodeSlot};
use capsched::proposer::{Candidates, Outcome, Step, Watch, propose_watched};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;

/// Applications that ask on partition `x`, before one that asks on the default one.
const ELSEWHERE: u32 = 40;

/// Counts the applications that a pass looks at: each has its limits looked up.
#[derive(Default)]
struct Looks(usize);

impl Watch for Looks {
    fn ended(&mut self, step: Step) {
        self.0 += usize::from(step == Step::Headroom);
    }
}

fn ask(ledger: &mut Ledger, number: u32, partition: &str, count: i32) {
    let app = ledger.app(ApplicationId::new(number)).unwrap();
    let ask = Ask {
        partition: Some(partition.to_owned()),
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), count)
    };
    ledger.ask(app, &AskCall::asking(vec![ask])).unwrap();
    ledger.drain_follow_ups();
}

/// A node of the default partition, one of `x`, and the applications.
fn ledger(exclusive: bool) -> Ledger {
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
        ("maximum-am-resource-percent", "1"),
    ];
    let partition = PartitionSpec {
        name: "x".to_owned(),
        exclusive,
    };
    let mut ledger = Ledger::new(crate::trees::settings(pairs), &[partition]).unwrap();
    for partition in ["", "x"] {
        let name = NodeName::new(&format!("n{partition}"), 1).unwrap();
        let mut node = NodeSpec::new(name, ResourceVector::of(&[1 << 20, 1 << 10]));
        partition.clone_into(&mut node.partition);
        ledger.add_node(&node).unwrap();
    }
    for number in 1..=ELSEWHERE + 1 {
        let app = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
        ledger.submit(&app).unwrap();
        ledger.drain_follow_ups();
        let partition = if number > ELSEWHERE { "" } else { "x" };
        ask(&mut ledger, number, partition, 2);
    }
    ledger
}

/// Who gets a container on a node, if anybody, and how many a pass looked at.
fn pass(ledger: &mut Ledger, node: usize, exclusivity: Exclusivity) -> (Option<AppSlot>, usize) {
    let mut looks = Looks::default();
    let candidates = Candidates::node(NodeSlot::at(node));
    let (state, mut seen) = (ledger.state(), Vec::new());
    let outcome = propose_watched(state, &candidates, exclusivity, &mut seen, Some(&mut looks));
    let committed = ledger.commit(&outcome, &seen);
    ledger.drain_follow_ups();
    let app = match &outcome {
        Outcome::Proposed(proposal) => {
            assert_eq!(committed, CommitOutcome::Committed);
            Some(proposal.app)
        }
        _ => None,
    };
    (app, looks.0)
}

#[test]
fn applications_that_ask_elsewhere_are_passed_by_where_there_are_threads() {
    let _fast = AllFast::begin();
    for concurrent in [false, true] {
        let mut ledger = ledger(true);
        if concurrent {
            ledger.track(true);
        }
        let many = ELSEWHERE as usize;
        let of = |ledger: &Ledger, number| ledger.app(ApplicationId::new(number));
        let (first, last) = (of(&ledger, 1), of(&ledger, ELSEWHERE + 1));
        let looks = if concurrent { 2 } else { many + 1 };
        // The first one gets a look: it might join the front.
        assert_eq!(pass(&mut ledger, 0, Exclusivity::Respect), (last, looks));
        assert_eq!(pass(&mut ledger, 1, Exclusivity::Respect), (first, 1));
        // Who asks here from now on is looked at, and so is who asks here again.
        ask(&mut ledger, 7, "", 1);
        let (seventh, looks) = (of(&ledger, 7), if concurrent { 2 } else { 7 });
        assert_eq!(pass(&mut ledger, 0, Exclusivity::Respect), (seventh, looks));
        let looks = if concurrent { 2 } else { many + 1 };
        assert_eq!(pass(&mut ledger, 0, Exclusivity::Respect), (last, looks));
        assert_eq!(pass(&mut ledger, 0, Exclusivity::Respect), (None, 0));
        ask(&mut ledger, ELSEWHERE + 1, "", 1);
        let (app, _) = pass(&mut ledger, 0, Exclusivity::Respect);
        assert_eq!(app, last);
    }
}

#[test]
fn a_pass_that_lends_looks_at_those_who_ask_on_the_default_partition() {
    let _fast = AllFast::begin();
    let mut ledger = ledger(false);
    ledger.track(true);
    let last = ledger.app(ApplicationId::new(ELSEWHERE + 1));
    // Shared only after as many missed opportunities as there are nodes.
    let passes = [(); 3].map(|()| pass(&mut ledger, 1, Exclusivity::Ignore));
    assert!(passes.iter().all(|&(_, looks)| looks == 2), "{passes:?}");
    assert_eq!(passes[2].0, last, "{passes:?}");
}
