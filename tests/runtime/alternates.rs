//! The second choice of a proposal: where its container goes when the first node takes it no more.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, CommitOutcome, CommittedDecision, Conflict, Event, Mode,
    NodeName, NodeSpec, PartitionSpec, Pipeline,
};
use capsched::resource::ResourceVector;
use capsched::time::ManualClock;

const APP: ApplicationId = ApplicationId::new(1);

fn node(number: usize) -> NodeName {
    format!("n{number}:1").parse().unwrap()
}

fn asking(containers: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(
        ResourceVector::of(&[1024, 1]),
        containers,
    )])
}

const GPU: &str = "gpu";

/// The second choice of the first of two proposers, whose share are the nodes 0, 2, 4 and 6.
const SECOND: usize = 4;

/// Eight nodes with room for one container each, an application that asks for one, and the proposal of
/// the first of some proposers on its way.
fn proposed(threads: usize) -> Pipeline {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let settings = crate::trees::settings([
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("root.a.accessible-node-labels", "*"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy.names", "usage"),
        ("multi-node-sorting.policy", "usage"),
        ("multi-node-sorting.policy.usage.class", class),
    ]);
    let mode = Mode::Global { threads };
    let gpu = PartitionSpec {
        name: GPU.to_owned(),
        exclusive: true,
    };
    let mut pipeline = Pipeline::new(settings, &[gpu], mode, 8, ManualClock::at(0)).unwrap();
    for number in 0..8 {
        let spec = NodeSpec::new(node(number), ResourceVector::of(&[1024, 1]));
        pipeline.call(|engine| engine.add_node(&spec)).unwrap();
    }
    let app = AppSpec::new(APP, "root.a", "ann");
    pipeline.call(|engine| engine.submit(&app)).unwrap();
    pipeline.call(|engine| engine.ask(APP, &asking(1))).unwrap();
    pipeline.take_events();
    pipeline.publish();
    pipeline.sort_nodes();
    assert!(pipeline.catch_up(0, true));
    assert!(pipeline.turn(0).proposed);
    assert_eq!(pipeline.hand_over(0), 1);
    pipeline
}

fn lose(pipeline: &mut Pipeline, number: usize) {
    let lost = node(number);
    pipeline.call(|engine| engine.remove_node(&lost)).unwrap();
    pipeline.take_events();
}

/// What becomes of the one proposal that waits.
fn committed(pipeline: &mut Pipeline) -> CommittedDecision {
    let mut steps = pipeline.commit(0).unwrap();
    pipeline.drain_follow_ups();
    assert_eq!(steps.len(), 1);
    steps.remove(0)
}

fn place(step: &CommittedDecision) -> Option<&NodeName> {
    step.events.iter().find_map(|event| match event {
        Event::Allocated { node, .. } => Some(node),
        _ => None,
    })
}

#[test]
fn a_lost_node_gives_way_to_the_alternate_and_the_proposer_hears_of_it() {
    let mut pipeline = proposed(2);
    lose(&mut pipeline, 0);
    pipeline.publish();
    assert!(pipeline.catch_up(0, false));
    let step = committed(&mut pipeline);
    let intent = step.intent.as_ref().unwrap();
    let choices = (&intent.node, intent.alternate.as_ref());
    assert_eq!(choices, (&node(0), Some(&node(SECOND))));
    assert_eq!(step.outcome, CommitOutcome::CommittedElsewhere);
    assert_eq!(place(&step), Some(&node(SECOND)));
    assert!(pipeline.accounts().balance());
    pipeline.publish();
    assert!(
        pipeline.catch_up(0, false),
        "its copy has the container on the other node"
    );
    assert!(!pipeline.turn(0).proposed, "nothing is asked any more");
}

#[test]
fn the_first_choice_comes_first() {
    let mut pipeline = proposed(2);
    let step = committed(&mut pipeline);
    assert_eq!(step.outcome, CommitOutcome::Committed);
    assert_eq!(place(&step), Some(&node(0)));
}

/// Takes all room of a node.
fn shrink(pipeline: &mut Pipeline, number: usize) {
    let size = ResourceVector::of(&[512, 1]);
    pipeline
        .call(|engine| engine.resize_node(&node(number), size))
        .unwrap();
}

fn drain(pipeline: &mut Pipeline, number: usize) {
    pipeline
        .call(|engine| engine.decommission_node(&node(number)))
        .unwrap();
}

#[test]
fn a_node_without_room_or_that_is_leaving_gives_way_too() {
    for spoil in [shrink, drain] {
        let mut pipeline = proposed(2);
        spoil(&mut pipeline, 0);
        let step = committed(&mut pipeline);
        let found = (step.outcome, place(&step));
        assert_eq!(
            found,
            (CommitOutcome::CommittedElsewhere, Some(&node(SECOND)))
        );
    }
}

/// Comes back as another registration of its slot.
fn rejoin(pipeline: &mut Pipeline, number: usize) {
    lose(pipeline, number);
    let spec = NodeSpec::new(node(number), ResourceVector::of(&[1024, 1]));
    pipeline.call(|engine| engine.add_node(&spec)).unwrap();
}

fn relabel(pipeline: &mut Pipeline, number: usize) {
    pipeline
        .call(|engine| engine.relabel_node(&node(number), GPU))
        .unwrap();
}

#[test]
fn an_alternate_is_checked_as_the_first_node_is() {
    for spoil in [lose, shrink, drain, rejoin, relabel] {
        let mut pipeline = proposed(2);
        spoil(&mut pipeline, SECOND);
        lose(&mut pipeline, 0);
        let step = committed(&mut pipeline);
        assert_eq!(
            (step.outcome, place(&step)),
            (CommitOutcome::Rejected(Conflict::NodeGone), None)
        );
    }
}

#[test]
fn what_is_not_about_the_node_is_refused_though_there_is_an_alternate() {
    let mut pipeline = proposed(2);
    pipeline.call(|engine| engine.ask(APP, &asking(0))).unwrap();
    let step = committed(&mut pipeline);
    assert!(step.intent.as_ref().unwrap().alternate.is_some());
    assert_eq!(
        (step.outcome, place(&step)),
        (CommitOutcome::Rejected(Conflict::AskGone), None)
    );
}

#[test]
fn a_sole_proposer_names_no_alternate() {
    let mut pipeline = proposed(1);
    lose(&mut pipeline, 0);
    let step = committed(&mut pipeline);
    assert_eq!(step.intent.as_ref().unwrap().alternate, None);
    assert_eq!(
        (step.outcome, place(&step)),
        (CommitOutcome::Rejected(Conflict::NodeGone), None)
    );
}
