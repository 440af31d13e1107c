//! Reasons of submissions and calls that are refused, and what makes them pass.

use capsched::api::{
    AppSpec, Ask, AskCall, Finding, NextStep, NodeSpec, Reason, ResourceVector, Scheduler as _,
    next_steps_of_refusal, next_steps_of_refused_call, refused_admission, refused_call,
    refused_submission,
};
use capsched::config::AdmissionRefusal;

use crate::cluster::{Cluster, PREFIX, app, cluster, gib, node};

/// What is found of a submission that is refused, and the steps that let it in.
fn refused(cluster: &mut Cluster, spec: AppSpec) -> (Finding, Vec<NextStep>) {
    let error = cluster.engine.submit(spec.clone()).unwrap_err();
    let types = &cluster.loaded.settings.scheduler.resource_types;
    let found = refused_submission(&error, types);
    let steps = next_steps_of_refusal(&cluster.engine, &spec, &found, &cluster.loaded);
    assert!(steps.iter().all(|step| step.lets_in));
    (found, steps)
}

fn set(steps: &[NextStep]) -> Option<(&str, &str)> {
    let (property, value) = steps.first()?.change.as_ref()?;
    Some((property.strip_prefix(PREFIX).unwrap(), value))
}

#[test]
fn an_unknown_queue_names_one_that_takes_the_application() {
    let mut cluster = cluster(&[], &["n0"]);
    let (found, steps) = refused(&mut cluster, AppSpec::new(app(1), "root.prod.a", "ann"));
    assert_eq!(found.reason, Reason::QueueNotFound);
    assert_eq!(steps[0].what, "submit to root.a");
}

#[test]
fn a_stopped_queue_takes_it_once_it_runs() {
    let mut cluster = cluster(&[("root.a.state", "STOPPED")], &["n0"]);
    let (found, steps) = refused(&mut cluster, AppSpec::new(app(1), "root.a", "ann"));
    assert_eq!(found.reason, Reason::QueueStopped);
    assert_eq!(set(&steps), Some(("root.a.state", "RUNNING")));
}

#[test]
fn a_full_list_of_applications_takes_one_more_when_it_is_longer() {
    let mut cluster = cluster(&[("root.a.maximum-applications", "1")], &["n0"]);
    cluster.asks(1, "root.a", "ann", (1, 1));
    let (found, steps) = refused(&mut cluster, AppSpec::new(app(2), "root.a", "ann"));
    assert_eq!(found.reason, Reason::MaxApplications);
    assert_eq!(found.evidence.limit, Some(1));
    assert_eq!(found.evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(set(&steps), Some(("root.a.maximum-applications", "2")));
}

#[test]
fn a_parent_names_a_leaf_and_a_missing_user_has_no_step() {
    let mut cluster = cluster(&[], &["n0"]);
    let (found, steps) = refused(&mut cluster, AppSpec::new(app(1), "root", "ann"));
    assert_eq!(found.reason, Reason::PlacementRejected);
    assert_eq!(steps[0].what, "submit to root.a");
    let (found, steps) = refused(&mut cluster, AppSpec::new(app(1), "root.a", ""));
    assert_eq!((found.reason, steps.len()), (Reason::PlacementRejected, 0));
}

#[test]
fn access_control_lists_are_named_by_their_property() {
    let refusal = AdmissionRefusal::Submit {
        user: "ann".to_owned(),
        queue: "root.a".to_owned(),
    };
    let found = refused_admission(&refusal);
    assert_eq!(found.reason, Reason::AclDenied);
    let property = "yarn.scheduler.capacity.root.a.acl_submit_applications";
    assert_eq!(found.property.as_deref(), Some(property));
    assert!(found.detail.contains("ann"));
    let rule = refused_admission(&AdmissionRefusal::Mapping { rule: 0 });
    assert_eq!(rule.reason, Reason::PlacementRejected);
}

#[test]
fn calls_are_refused_by_size_label_and_form() {
    // With nodes the largest of them bounds what may be asked, too.
    let mut cluster = cluster(&[], &["n0"]);
    let large = NodeSpec::new(node("large"), gib(32));
    cluster.engine.add_node(large).unwrap();
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let types = cluster.loaded.settings.scheduler.resource_types.clone();
    let mut found = |ask: Ask| {
        let call = AskCall::asking(vec![ask]);
        let error = cluster.engine.ask(app(1), call.clone()).unwrap_err();
        let why = refused_call(&error, &types);
        let steps =
            next_steps_of_refused_call(&cluster.engine, (app(1), &call), &why, &cluster.loaded);
        let steps: Vec<String> = steps.into_iter().map(|step| step.what).collect();
        (why, steps)
    };
    let (large, steps) = found(Ask::anywhere(gib(17), 1));
    assert_eq!(
        steps,
        ["ask for at most memory-mb 16384, vcores 16 in one container"]
    );
    assert_eq!(large.reason, Reason::LargerThanMaxAllocation);
    assert_eq!(
        large.property.as_deref(),
        Some("yarn.scheduler.maximum-allocation-mb")
    );
    assert_eq!(large.evidence.limit, Some(16_384));
    assert_eq!(large.evidence.asked, Some(17_408));
    let partition = Some("tape".to_owned());
    let (labelled, steps) = found(Ask {
        partition,
        ..Ask::anywhere(gib(1), 1)
    });
    assert_eq!(labelled.reason, Reason::LabelNotAccessible);
    assert!(labelled.detail.contains("tape"), "{labelled:?}");
    assert_eq!(steps, ["ask without the label"]);
    let (negative, steps) = found(Ask::anywhere(ResourceVector::of(&[-1, 1]), 1));
    assert_eq!(negative.reason, Reason::InvalidRequest);
    assert!(steps.is_empty());
}
