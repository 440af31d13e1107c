//! One row for each reason: a state, and the token, the evidence and the next step that it has to be explained by.

use capsched::api::{
    AppSpec, Ask, AskCall, ConstrainedAsk, Evidence, Finding, GangAsk, NextStep, NodeSpec, Reason,
    RefusedAdmission, ResourceVector, Scheduler as _, UnderWay, explain, next_steps,
    next_steps_of_refusal, next_steps_of_refused_admission, next_steps_of_refused_call,
    refused_admission, refused_call, refused_submission,
};
use capsched::config::{Admission, AdmissionRefusal, Caller};

use crate::cluster::{Cluster, app, cluster, gib, node};
use crate::opportunistic::asking;

/// An explanation with the steps that were seen to help.
type Explained = (Finding, Vec<NextStep>);

/// A reason, a state that has it, its evidence and its first step; or the rule where there is none.
struct Row {
    reason: Reason,
    state: fn() -> Explained,
    evidence: &'static str,
    step: &'static str,
}

const fn row(
    reason: Reason,
    state: fn() -> Explained,
    evidence: &'static str,
    step: &'static str,
) -> Row {
    Row {
        reason,
        state,
        evidence,
        step,
    }
}

const ROWS: [Row; 33] = [
    row(
        Reason::QueueNotFound,
        || submitted(&[], "root.prod.a"),
        "by root.prod.queues",
        "submit to root.a",
    ),
    row(
        Reason::QueueStopped,
        || submitted(&[("root.a.state", "STOPPED")], "root.a"),
        "by root.a.state",
        "set root.a.state to RUNNING",
    ),
    row(
        Reason::AclDenied,
        denied,
        "of root.a by root.a.acl_submit_applications",
        "set root.a.acl_submit_applications to \"bob,ann\"",
    ),
    row(
        Reason::PlacementRejected,
        || submitted(&[], "root"),
        "`root` holds queues, not applications",
        "submit to root.a",
    ),
    row(
        Reason::PlacementRejected,
        nobody,
        "`` is not a user name",
        "no setting and no time helps: the request itself has to change",
    ),
    row(
        Reason::InvalidRequest,
        || called(Ask::anywhere(ResourceVector::of(&[-1, 1]), 1)),
        "<memory:-1, vcores:1> is not between nothing and <memory:16384, vcores:16>",
        "no setting and no time helps: the request itself has to change",
    ),
    row(
        Reason::LabelNotAccessible,
        || called(labelled("tape")),
        "label `tape` is unknown or not accessible to the queue",
        "ask without the label",
    ),
    row(
        Reason::NoNodeWithLabel,
        unlabelled,
        "nodes used 0",
        "add a node like n0 with label gpu",
    ),
    row(
        Reason::LargerThanMaxAllocation,
        || called(Ask::anywhere(gib(17), 1)),
        "memory-mb limit 16384 asked 17408 by yarn.scheduler.maximum-allocation-mb",
        "ask for at most memory-mb 16384, vcores 16 in one container",
    ),
    row(
        Reason::LargerThanAnyNode,
        large,
        "memory-mb limit 8192 used 0 asked 9216",
        "ask for smaller containers",
    ),
    row(
        Reason::ExceedsQueueMax,
        exceeds,
        "memory-mb limit 4096 used 0 asked 5120 of root.a by root.a.maximum-capacity",
        "set root.a.maximum-capacity to 70",
    ),
    row(
        Reason::MaxApplications,
        full_list,
        "limit 1 used 1 asked 1 of root.a by root.a.maximum-applications",
        "set root.a.maximum-applications to 2",
    ),
    row(
        Reason::MaxParallelApps,
        parked,
        "limit 1 used 1 asked 1 of root.a by root.a.max-parallel-apps",
        "set root.a.max-parallel-apps to 2",
    ),
    row(
        Reason::AmLimitQueue,
        || {
            masters(
                ("root.a.maximum-am-resource-percent", "0.1"),
                ["ann", "bob"],
            )
        },
        "memory-mb limit 1024 used 1024 asked 1024 of root.a held 1:1024 by root.a.maximum-am-resource-percent",
        "set root.a.maximum-am-resource-percent to 0.15",
    ),
    row(
        Reason::AmLimitUser,
        || masters(("root.a.user-limit-factor", "0.2"), ["ann", "ann"]),
        "memory-mb limit 1024 used 1024 asked 1024 of root.a held 1:1024 by root.a.user-limit-factor",
        "set root.a.user-limit-factor to 0.3",
    ),
    row(
        Reason::QueueMaxCapacity,
        full_queue,
        "memory-mb limit 4096 used 4096 asked 1024 of root.a held 1:4096 by root.a.maximum-capacity",
        "set root.a.maximum-capacity to 70",
    ),
    row(
        Reason::ParentHeadroom,
        full_parent,
        "memory-mb limit 4096 used 4096 asked 1024 of root.a held 1:4096 by root.a.maximum-capacity",
        "set root.a.maximum-capacity to 70",
    ),
    row(
        Reason::UserLimit,
        full_user,
        "memory-mb limit 8192 used 9216 asked 3072 of root.a held 1:9216 by root.a.user-limit-factor",
        "set root.a.user-limit-factor to 1.5",
    ),
    row(
        Reason::LowerPriority,
        || behind(Some(4)),
        "limit 2 used 2 of root.a",
        "raise its priority to 5",
    ),
    row(
        Reason::BehindInOrder,
        || behind(None),
        "limit 2 used 2 of root.a",
        "raise its priority to 1",
    ),
    row(
        Reason::NoNodeFitsNow,
        || crowded(&["n0"], (8, 1), 1),
        "memory-mb limit 8192 used 8192 asked 1024 held 1:8192 short memory-mb:1",
        "add a node like n0",
    ),
    row(
        Reason::Fragmented,
        || crowded(&["n0", "n1"], (2, 6), 4),
        "memory-mb limit 16384 used 12288 asked 4096 held 1:12288 short memory-mb:2",
        "ask for smaller containers",
    ),
    row(
        Reason::LocalityWait,
        elsewhere,
        "nodes with room used 1 short memory-mb:1",
        "relax locality",
    ),
    row(
        Reason::NodesReserved,
        || reserving().explained(3),
        "nodes with room used 1 short memory-mb:1 by skip-allocate-on-nodes-with-reserved-containers",
        "add a node like n1",
    ),
    row(
        Reason::ExcludedNodes,
        excluding,
        "nodes with room used 1",
        "exclude no nodes",
    ),
    row(
        Reason::ConstraintUnsatisfied,
        apart,
        "nodes with room used 1",
        "add a node like n0",
    ),
    row(
        Reason::GangWaits,
        gang,
        "members limit 1 used 0 asked 2",
        "ask for a gang of 1",
    ),
    row(
        Reason::OpportunisticWaits,
        || asking(4).explained(1),
        "nodes limit 1 used 1 asked 1 by yarn.nodemanager.opportunistic-containers-max-queue-length",
        "nothing that was tried on a copy helps at once",
    ),
    row(
        Reason::OpportunisticQueued,
        || asking(2).explained(1),
        "opportunistic containers of memory-mb 6144, vcores 1 are in the queues of 1 nodes; the next one has 0 ahead \
         on n0:0",
        "nothing to do: it is under way",
    ),
    row(
        Reason::PreemptionInProgress,
        preempting,
        "containers used 2 held 1:2",
        "wait: the 2 containers that preemption takes make room",
    ),
    row(
        Reason::ReservedOnNode,
        || reserving().explained(2),
        "memory-mb limit 8192 used 5120 asked 4096",
        "wait for the end of the container on its node n0:0",
    ),
    row(
        Reason::ConflictRetry,
        refused_proposals,
        "refused proposals used 3",
        "wait: the next rounds serve it",
    ),
    row(
        Reason::NotYetEvaluated,
        || fresh().explained(1),
        "nodes with room used 1",
        "wait: the next rounds serve it",
    ),
];

#[test]
fn every_reason_has_its_token_its_evidence_and_its_next_step() {
    let mut wrong = Vec::new();
    for row in &ROWS {
        let (found, steps) = (row.state)();
        let evidence = shown(&found);
        let step = steps
            .first()
            .map_or_else(|| found.reason.without_step().to_owned(), said);
        let shown = (found.reason.token(), evidence.as_str(), step.as_str());
        let wanted = (row.reason.token(), row.evidence, row.step);
        if shown != wanted {
            wrong.push(format!(
                "{shown:?}\n  instead of {wanted:?}: {found:?} {steps:?}"
            ));
        }
        let gains = |step: &NextStep| step.admits > 0 || step.lets_in;
        assert!(steps.iter().all(gains), "{steps:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let has_row = |reason: &Reason| ROWS.iter().any(|row| row.reason == *reason);
    assert!(Reason::ALL.iter().all(has_row), "a reason without a row");
}

/// A step, with properties without their common beginning.
fn said(step: &NextStep) -> String {
    step.what.replace(crate::cluster::PREFIX, "")
}

/// Figures and setting of a finding; its words where it has neither.
fn shown(found: &Finding) -> String {
    let Evidence {
        dimension,
        limit,
        used,
        asked,
        binding,
        holders,
        short,
        ..
    } = &found.evidence;
    let mut parts: Vec<String> = dimension.iter().map(ToString::to_string).collect();
    for (name, amount) in [("limit", limit), ("used", used), ("asked", asked)] {
        parts.extend(amount.map(|amount| format!("{name} {amount}")));
    }
    parts.extend(binding.as_ref().map(|queue| format!("of {queue}")));
    let held = |of: &capsched::api::Holder| format!("held {}:{}", of.app.sequence, of.amount);
    parts.extend(holders.iter().map(held));
    parts.extend(short.iter().map(|(name, n)| format!("short {name}:{n}")));
    let property = found.property.as_ref();
    parts.extend(property.map(|name| format!("by {}", name.replace(crate::cluster::PREFIX, ""))));
    if parts.is_empty() {
        return found.detail.clone();
    }
    parts.join(" ")
}

impl Cluster {
    fn explained(&self, number: u32) -> Explained {
        let why = self.why(number);
        let found = why.dominant().expect("there is a reason").clone();
        (found, next_steps(&self.engine, &why, &self.loaded))
    }
}

fn refusal(cluster: &mut Cluster, spec: AppSpec) -> Explained {
    let error = cluster.engine.submit(spec.clone()).unwrap_err();
    let found = refused_submission(&error, &cluster.loaded.settings.scheduler.resource_types);
    let steps = next_steps_of_refusal(&cluster.engine, &spec, &found, &cluster.loaded);
    (found, steps)
}

fn submitted(conf: &[(&str, &str)], queue: &str) -> Explained {
    refusal(
        &mut cluster(conf, &["n0"]),
        AppSpec::new(app(1), queue, "ann"),
    )
}

fn nobody() -> Explained {
    refusal(
        &mut cluster(&[], &["n0"]),
        AppSpec::new(app(1), "root.a", ""),
    )
}

fn full_list() -> Explained {
    let mut cluster = cluster(&[("root.a.maximum-applications", "1")], &["n0"]);
    cluster.asks(1, "root.a", "ann", (1, 1));
    refusal(&mut cluster, AppSpec::new(app(2), "root.a", "ann"))
}

/// A submission of ann to a queue of bob; she may submit nowhere else.
fn denied() -> Explained {
    let explained = refused(&by_lists(), &[("root.a.acl_submit_applications", "bob")]);
    let steps = &explained.1;
    assert_eq!(steps.len(), 1, "no other queue lets her in: {steps:?}");
    explained
}

/// What access lists of root.a refuse to ann.
fn by_lists() -> AdmissionRefusal {
    AdmissionRefusal::Submit {
        user: "ann".to_owned(),
        queue: "root.a".to_owned(),
    }
}

/// A refused submission of ann to root.a, where only the lists given let anybody in.
fn refused(refusal: &AdmissionRefusal, lists: &[(&str, &str)]) -> Explained {
    let nobody = [
        ("root.acl_submit_applications", " "),
        ("root.acl_administer_queue", " "),
    ];
    let cluster = cluster(&[&nobody[..], lists].concat(), &["n0"]);
    let rules = Admission::read(&cluster.loaded, "yarn").unwrap();
    let of = RefusedAdmission {
        spec: &AppSpec::new(app(1), "root.a", "ann"),
        caller: ann(),
        rules: &rules,
        refusal,
    };
    let steps = next_steps_of_refused_admission(&cluster.engine, of, &cluster.loaded);
    (refused_admission(refusal), steps)
}

fn ann() -> Caller<'static> {
    Caller {
        user: "ann",
        groups: &[],
        real_user: None,
    }
}

#[test]
fn who_may_submit_elsewhere_gets_the_queue_as_a_step() {
    let lists = [("root.b.acl_submit_applications", "ann")];
    let (_, steps) = refused(&by_lists(), &lists);
    let steps: Vec<String> = steps.iter().map(said).collect();
    let listed = "set root.a.acl_submit_applications to \"ann\"";
    assert_eq!(steps, [listed, "submit to root.b"]);
    let (_, steps) = refused(&AdmissionRefusal::Mapping { rule: 0 }, &lists);
    assert!(steps.is_empty(), "{steps:?}");
}

fn labelled(label: &str) -> Ask {
    Ask {
        partition: Some(label.to_owned()),
        ..Ask::anywhere(gib(1), 1)
    }
}

/// A call that is refused, on a cluster whose largest node has 32 GiB.
fn called(ask: Ask) -> Explained {
    let mut cluster = cluster(&[], &["n0"]);
    let spec = NodeSpec::new(node("large"), gib(32));
    cluster.engine.add_node(spec).unwrap();
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let call = AskCall::asking(vec![ask]);
    let error = cluster.engine.ask(app(1), call.clone()).unwrap_err();
    let types = &cluster.loaded.settings.scheduler.resource_types;
    let found = refused_call(&error, types);
    let of = (app(1), &call);
    let steps = next_steps_of_refused_call(&cluster.engine, of, &found, &cluster.loaded);
    (found, steps)
}

fn unlabelled() -> Explained {
    let conf = [
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
    ];
    let mut cluster = cluster(&conf, &["n0"]);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    cluster.ask(1, vec![labelled("gpu")]);
    cluster.explained(1)
}

fn large() -> Explained {
    let mut cluster = cluster(&[], &["n0"]);
    let spec = NodeSpec::new(node("large"), gib(16));
    cluster.engine.add_node(spec).unwrap();
    cluster.asks(1, "root.a", "ann", (1, 9));
    cluster.engine.remove_node(&node("large")).unwrap();
    cluster.explained(1)
}

fn exceeds() -> Explained {
    let mut cluster = cluster(&[("root.a.maximum-capacity", "50")], &["n0"]);
    cluster.asks(1, "root.a", "ann", (1, 5));
    cluster.explained(1)
}

fn parked() -> Explained {
    let mut cluster = cluster(&[("root.a.max-parallel-apps", "1")], &["n0"]);
    cluster.asks(1, "root.a", "ann", (1, 1));
    cluster.submit(AppSpec::new(app(2), "root.a", "bob").with_master(gib(1)));
    cluster.explained(2)
}

fn masters(setting: (&str, &str), users: [&str; 2]) -> Explained {
    let mut cluster = cluster(&[setting], &["n0"]);
    for (number, user) in (1..).zip(users) {
        let spec = AppSpec::new(app(number), "root.a", user).with_master(gib(1));
        cluster.submit(spec);
        cluster.beat(1);
    }
    cluster.explained(2)
}

fn full_queue() -> Explained {
    let mut cluster = cluster(&[("root.a.maximum-capacity", "50")], &["n0"]);
    cluster.asks(1, "root.a", "ann", (6, 1));
    cluster.beat(6);
    cluster.explained(1)
}

fn full_parent() -> Explained {
    Cluster::with_full_parent().explained(2)
}

fn full_user() -> Explained {
    let mut cluster = cluster(&[("root.a.user-limit-factor", "1")], &["n0", "n1"]);
    cluster.asks(1, "root.a", "ann", (4, 3));
    cluster.beat(6);
    cluster.explained(1)
}

/// One container fits, and another application comes first.
fn behind(priority: Option<i32>) -> Explained {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.asks(1, "root.a", "ann", (7, 1));
    cluster.beat(7);
    let first = AppSpec {
        priority,
        ..AppSpec::new(app(2), "root.a", "ann")
    };
    cluster.submit(first);
    cluster.ask(2, vec![Ask::anywhere(gib(1), 1)]);
    cluster.asks(3, "root.a", "bob", (1, 1));
    cluster.explained(3)
}

/// One more container where others of one size run.
fn crowded(hosts: &[&str], running: (i32, i64), asked: i64) -> Explained {
    let mut cluster = cluster(&[], hosts);
    cluster.asks(1, "root.b", "bob", running);
    cluster.beat(8);
    cluster.asks(2, "root.a", "ann", (1, asked));
    cluster.explained(2)
}

fn elsewhere() -> Explained {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    let on = |size| {
        let any = Ask {
            relax_locality: false,
            ..Ask::anywhere(gib(size), 1)
        };
        let at = |place: &str, relax_locality| Ask {
            place: place.to_owned(),
            relax_locality,
            ..any.clone()
        };
        vec![at("n0", true), at("/default-rack", false), any.clone()]
    };
    cluster.submit(AppSpec::new(app(1), "root.b", "bob"));
    cluster.ask(1, on(8));
    cluster.beat(1);
    cluster.submit(AppSpec::new(app(2), "root.a", "ann"));
    cluster.ask(2, on(1));
    cluster.explained(2)
}

/// Application 2 has n0 reserved, beside a container of application 1; 3 asks for what is left there.
fn reserving() -> Cluster {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    cluster.asks(1, "root.a", "ann", (1, 5));
    cluster.beat_of("n0");
    cluster.asks(4, "root.a", "ann", (1, 7));
    cluster.beat_of("n1");
    cluster.asks(2, "root.a", "ann", (1, 4));
    cluster.beat_of("n0");
    cluster.asks(3, "root.b", "bob", (1, 2));
    cluster
}

fn excluding() -> Explained {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let call = AskCall {
        blacklist_add: vec!["n0".to_owned()],
        ..AskCall::asking(vec![Ask::anywhere(gib(1), 1)])
    };
    cluster.engine.ask(app(1), call).unwrap();
    cluster.explained(1)
}

fn apart() -> Explained {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let call = AskCall {
        constrained: vec![ConstrainedAsk {
            priority: 1,
            request_id: 0,
            size: gib(1),
            count: 2,
            tags: vec!["web".to_owned()],
            constraint: Some("notin,node,web".to_owned()),
        }],
        ..AskCall::default()
    };
    cluster.engine.ask(app(1), call).unwrap();
    cluster.beat(2);
    cluster.explained(1)
}

fn gang() -> Explained {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    cluster.asks(1, "root.b", "bob", (1, 6));
    cluster.beat(1);
    cluster.asks(2, "root.a", "ann", (0, 1));
    let gang = GangAsk::of(2, gib(8), 60_000);
    cluster.engine.ask_gang(app(2), gang).unwrap();
    cluster.explained(2)
}

fn preempting() -> Explained {
    Cluster::preempting().explained(2)
}

fn fresh() -> Cluster {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.asks(1, "root.a", "ann", (1, 1));
    cluster
}

/// The commit refused three proposals. Rounds of one thread never conflict, so the number is given.
fn refused_proposals() -> Explained {
    let cluster = fresh();
    let mut under_way = UnderWay::default();
    under_way.refused.insert(app(1), 3);
    let why = explain(cluster.engine.engine().ledger(), app(1), under_way).unwrap();
    let found = why.dominant().expect("there is a reason").clone();
    (found, next_steps(&cluster.engine, &why, &cluster.loaded))
}
