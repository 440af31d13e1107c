//! A test in Rust that builds the state of a snapshot call by call.

mod recovery;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use capsched::api::{ApplicationId, Closeness, Event, Restarts, Scheduler as _, Stepped};
use capsched::simulator::journal::{
    AppCall, AskLine, Call, ChangeLine, ContainerLine, GangCall, OpportunisticCall, SnapshotHead,
    StateSnapshot, SubmitCall, UpdateLine, reduced,
};
use serde_json::{Value, json};

use super::{application, loaded, read, refused};
use crate::aside;
use crate::output::{Problem, line, note, put};

/// Replays of rests that minimising makes at most.
const TRIALS: usize = 2_000;

/// Arguments of `capsched snapshot to-test`.
#[derive(clap::Args, Debug)]
pub(crate) struct ToTestArgs {
    /// The snapshot.
    #[arg(value_name = "SNAPSHOT")]
    file: PathBuf,
    /// The application whose reason the test expects; the first that waits when left out.
    #[arg(long, value_name = "APP")]
    why: Option<String>,
    /// Leave out every call without which the reason stays the same.
    #[arg(long, visible_alias = "minimize")]
    minimise: bool,
    /// The file to write; standard output when left out.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file when it exists.
    #[arg(long, requires = "out")]
    force: bool,
    /// Print one JSON object; without --out it holds the test.
    #[arg(long)]
    json: bool,
}

/// What the test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expected {
    app: ApplicationId,
    token: &'static str,
    containers: u64,
    /// Containers that the next round places.
    placed: usize,
}

/// Runs `capsched snapshot to-test`.
pub(super) fn to_test(args: &ToTestArgs) -> Result<ExitCode> {
    let snapshot = read(&args.file)?;
    let (engine, _) = loaded(&args.file, &snapshot)?;
    let first = engine.explain_all().first().map(|why| why.app);
    let app = args.why.as_deref().map(application).transpose()?.or(first);
    let wanted = app.and_then(|app| expected(&engine, app));
    let Some(wanted) = wanted else {
        let problem = match app {
            Some(app) => format!("{app} waits for nothing, so that there is nothing to expect"),
            None => "nothing waits, so that there is nothing to expect".to_owned(),
        };
        return Err(anyhow::Error::new(Problem(problem)));
    };
    let all = snapshot.calls.len();
    let calls = if args.minimise {
        let same = |calls: &[Call]| {
            let rest = played(&snapshot.head, calls);
            rest.and_then(|engine| expected(&engine, wanted.app))
                .is_some_and(|found| found.token == wanted.token)
        };
        reduced(snapshot.calls.clone(), TRIALS, same)
    } else {
        snapshot.calls.clone()
    };
    let app_shown = wanted.app.to_string();
    let engine = played(&snapshot.head, &calls);
    let kept = engine.and_then(|engine| expected(&engine, wanted.app));
    let text = test(&snapshot, &calls, &kept.unwrap_or(wanted))
        .map_err(|error| refused(&args.file, &error))?;
    note(format_args!("{} of {all} calls", calls.len()));
    shown(
        args,
        text,
        json!({"application": app_shown, "calls": calls.len(), "of_calls": all}),
    )
}

/// Writes or prints the test; `about` is what `--json` says of it.
fn shown(args: &ToTestArgs, text: String, mut about: Value) -> Result<ExitCode> {
    if let Some(path) = &args.out {
        aside::write(path, text.as_bytes(), args.force)?;
    }
    match &args.out {
        file if args.json => {
            about["file"] = json!(file.as_ref().map(|path| path.display().to_string()));
            about["test"] = json!(file.is_none().then_some(text));
            line(about);
        }
        Some(path) => line(path.display()),
        None => put(&text),
    }
    Ok(ExitCode::SUCCESS)
}

/// An engine after some calls.
fn played(head: &SnapshotHead, calls: &[Call]) -> Option<Stepped> {
    let mut engine = head.engine().ok()?;
    for call in calls {
        call.make(&mut engine);
    }
    let mut events = Vec::new();
    engine.events(&mut events);
    Some(engine)
}

/// What holds of an application; nothing when it waits for nothing.
fn expected(engine: &Stepped, app: ApplicationId) -> Option<Expected> {
    let why = engine.explain(app)?;
    let mut next = engine.trial();
    next.tick();
    let mut events = Vec::new();
    next.events(&mut events);
    let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
    Some(Expected {
        app,
        token: why.dominant()?.reason.token(),
        containers: why.containers(),
        placed: events.iter().filter(placed).count(),
    })
}

/// The text of the test.
fn test(
    snapshot: &StateSnapshot,
    calls: &[Call],
    wanted: &Expected,
) -> Result<String, capsched::simulator::journal::SnapshotError> {
    let head = &snapshot.head;
    let mode = format!("{:?}", head.mode()?);
    let token = wanted.token.to_lowercase();
    let number = wanted.app.sequence;
    let mut out = format!(
        "//! Application {number} waits: {}. Written by `capsched snapshot to-test`.\n\n\
         use std::collections::BTreeMap;\n\n\
         use capsched::api::*;\nuse capsched::config;\n\n\
         fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {{\n    \
             let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());\n    \
             pairs.iter().map(owned).collect()\n}}\n\n\
         #[test]\nfn application_{number}_waits_for_{token}() {{\n",
        wanted.token
    );
    settings(&mut out, head, &mode);
    for call in calls {
        out.push_str("    ");
        written(&mut out, call);
        out.push('\n');
    }
    let _ = write!(
        out,
        "    let mut events = Vec::new();\n    engine.events(&mut events);\n    \
         let why = engine.explain(ApplicationId::new({number})).unwrap();\n    \
         assert_eq!(why.dominant().unwrap().reason.token(), {:?});\n    \
         assert_eq!(why.containers(), {});\n    \
         assert_eq!(engine.tick(), {});\n}}\n",
        wanted.token, wanted.containers, wanted.placed
    );
    Ok(out)
}

/// The engine before the first call.
fn settings(out: &mut String, head: &SnapshotHead, mode: &str) {
    for (name, pairs) in [("site", &head.site), ("scheduler", &head.scheduler)] {
        let _ = writeln!(out, "    let {name} = pairs(&[");
        for (key, value) in pairs {
            let _ = writeln!(out, "        ({key:?}, {value:?}),");
        }
        out.push_str("    ]);\n");
    }
    let types: Vec<String> = head
        .types
        .iter()
        .map(|name| format!("{name:?}.to_owned()"))
        .collect();
    let _ = writeln!(
        out,
        "    let options = config::Options {{\n        resource_types: Some(vec![{}]),\n        \
         reference: {:?}.parse().unwrap(),\n        ..config::Options::default()\n    }};\n    \
         let loaded = config::load_pairs(&site, &scheduler, &options).unwrap();\n    \
         let builder = Engine::builder(loaded.settings);",
        types.join(", "),
        head.reference
    );
    for (label, exclusive) in &head.labels {
        let _ = writeln!(
            out,
            "    let builder = builder.partition({label:?}, {exclusive});"
        );
    }
    if head.recovers {
        out.push_str("    let builder = builder.recovering();\n");
    }
    engine(out, head, mode);
}

/// The engine of the settings.
fn engine(out: &mut String, head: &SnapshotHead, mode: &str) {
    let _ = writeln!(
        out,
        "    let mut engine = Stepped::new(builder.sequential().unwrap(), ModeKind::{mode});"
    );
    if head.every_beat {
        out.push_str("    engine = engine.carrying_out_all();\n");
    }
    if let Some(observe_only) = head.preemption {
        let _ = writeln!(
            out,
            "    let mut preemption = loaded.preemption;\n    preemption.enabled = true;\n    \
             preemption.observe_only = {observe_only};\n    \
             engine = engine.with_preemption(preemption);"
        );
    }
}

/// One call as a statement. What was refused is refused again, so that results are dropped.
fn written(out: &mut String, call: &Call) {
    let _ = match call {
        Call::Submit(app) => submission(out, app),
        Call::RecoverApp(call) => recovery::application(out, call),
        Call::RegisterNode(call) => recovery::node(out, call),
        Call::Ask(call) => app_call(out, call),
        Call::Gang(call) => gang_call(out, call),
        Call::Opportunistic(call) => opportunistic_call(out, call),
        Call::Finished { container, status } => {
            let container = container_id(*container);
            write!(
                out,
                "let _ = engine.container_exited({container}, {status});"
            )
        }
        Call::EndAttempt { app } => {
            write!(
                out,
                "let _ = engine.end_attempt(ApplicationId::new({app}));"
            )
        }
        Call::StartAttempt { app } => {
            write!(
                out,
                "let _ = engine.start_attempt(ApplicationId::new({app}));"
            )
        }
        Call::FinishApp { app } => {
            write!(out, "let _ = engine.finish_app(ApplicationId::new({app}));")
        }
        Call::Schedule {} => write!(out, "engine.schedule();"),
        Call::SchedulePart { steps } => write!(out, "engine.schedule_part({steps});"),
        Call::Advance { to_ms } => write!(out, "engine.advance({to_ms});"),
        Call::PassRounds { most } => write!(out, "engine.pass_rounds({most});"),
        Call::MayBring {} => write!(out, "engine.looks_may_bring();"),
        Call::AddNode { .. }
        | Call::RemoveNode { .. }
        | Call::Beat { .. }
        | Call::PassBeats { .. } => node_call(out, call),
    };
}

/// A call that names a node.
fn node_call(out: &mut String, call: &Call) -> std::fmt::Result {
    match call {
        Call::AddNode {
            node,
            rack,
            size,
            label,
            attributes,
        } => write!(
            out,
            "let _ = engine.add_node(NodeSpec {{ rack: {rack:?}.to_owned(), partition: {label:?}.to_owned(), \
             attributes: {}, ..NodeSpec::new({node:?}.parse().unwrap(), {}) }});",
            owned_pairs(attributes),
            vector(size)
        ),
        Call::RemoveNode { node } => {
            write!(
                out,
                "let _ = engine.remove_node(&{node:?}.parse().unwrap());"
            )
        }
        Call::Beat { node, report } => {
            let report = reported(report.as_ref());
            write!(
                out,
                "let _ = engine.heartbeat(&{node:?}.parse().unwrap(), {report});"
            )
        }
        Call::PassBeats { first, most } => {
            write!(
                out,
                "engine.pass_heartbeats(&{first:?}.parse().unwrap(), {most});"
            )
        }
        _ => Ok(()),
    }
}

fn submission(out: &mut String, app: &SubmitCall) -> std::fmt::Result {
    write!(out, "let _ = engine.submit({});", spec(app))
}

/// What an application is submitted with.
fn spec(app: &SubmitCall) -> String {
    let (parent, label) = (owned(app.parent.as_deref()), owned(app.label.as_deref()));
    let restarts = match app.restarts {
        Restarts::Never => String::new(),
        other => format!("restarts: Restarts::{other:?}, "),
    };
    let refused = app.refused_priority.map_or_else(String::new, |refusal| {
        format!("refused_priority: Some(PriorityRefusal::{refusal:?}), ")
    });
    let master = app.master.as_ref();
    let master = master.map_or("None".to_owned(), |size| format!("Some({})", vector(size)));
    format!(
        "AppSpec {{ placement_parent: {parent}, priority: {:?}, master: {master}, \
         master_partition: {}, partition: {label}, tags: {}, {restarts}{refused}\
         ..AppSpec::new(ApplicationId::new({}), {:?}, {:?}) }}",
        app.priority,
        owned(app.master_label.as_deref()),
        owned_list(&app.tags),
        app.app,
        app.queue,
        app.user
    )
}

fn app_call(out: &mut String, call: &AppCall) -> std::fmt::Result {
    let asks: Vec<String> = call.asks.iter().map(ask).collect();
    let constrained = call.constrained.iter().map(|line| {
        format!(
            "ConstrainedAsk {{ priority: {}, request_id: {}, size: {}, count: {}, tags: {}, constraint: {} }}",
            line.priority,
            line.id,
            vector(&line.size),
            line.count,
            owned_list(&line.tags),
            owned(line.constraint.as_deref())
        )
    });
    let constrained: Vec<String> = constrained.collect();
    let updates: Vec<String> = call.updates.iter().map(update).collect();
    write!(
        out,
        "let _ = engine.ask(ApplicationId::new({}), AskCall {{ asks: vec![{}], constrained: vec![{}], \
         release: vec!{:?}, updates: vec![{}], blacklist_add: {}, blacklist_remove: {} }});",
        call.app,
        asks.join(", "),
        constrained.join(", "),
        call.release,
        updates.join(", "),
        owned_list(&call.exclude),
        owned_list(&call.include)
    )
}

fn opportunistic_call(out: &mut String, call: &OpportunisticCall) -> std::fmt::Result {
    let asks: Vec<String> = call.asks.iter().map(ask).collect();
    write!(
        out,
        "let _ = engine.ask_opportunistic(ApplicationId::new({}), vec![{}]);",
        call.app,
        asks.join(", ")
    )
}

fn gang_call(out: &mut String, call: &GangCall) -> std::fmt::Result {
    let close = match &call.close {
        Closeness::Anywhere => "Closeness::Anywhere".to_owned(),
        Closeness::Rack => "Closeness::Rack".to_owned(),
        Closeness::Attribute(name) => format!("Closeness::Attribute({name:?}.to_owned())"),
    };
    write!(
        out,
        "let _ = engine.ask_gang(ApplicationId::new({}), GangAsk {{ priority: {}, request_id: {}, size: {}, \
         minimum: {}, elastic: {}, within_ms: {}, close: {close}, partition: {} }});",
        call.app,
        call.priority,
        call.id,
        vector(&call.size),
        call.minimum,
        call.elastic,
        call.within_ms,
        owned(call.label.as_deref())
    )
}

fn update(line: &UpdateLine) -> String {
    let change = match &line.change {
        ChangeLine::Increase(size) => format!("Increase({})", vector(size)),
        ChangeLine::Decrease(size) => format!("Decrease({})", vector(size)),
        ChangeLine::Promote => "Promote".to_owned(),
        ChangeLine::Demote => "Demote".to_owned(),
    };
    format!(
        "ContainerUpdate {{ container: {}, version: {}, change: ContainerChange::{change} }}",
        line.container, line.version
    )
}

fn ask(line: &AskLine) -> String {
    format!(
        "Ask {{ priority: {}, request_id: {}, place: {:?}.to_owned(), size: {}, count: {}, \
         relax_locality: {}, partition: {} }}",
        line.priority,
        line.id,
        line.place,
        vector(&line.size),
        line.count,
        line.relax,
        owned(line.label.as_deref())
    )
}

fn vector(size: &[i64]) -> String {
    format!("ResourceVector::of(&{size:?})")
}

fn owned(text: Option<&str>) -> String {
    text.map_or("None".to_owned(), |text| {
        format!("Some({text:?}.to_owned())")
    })
}

fn owned_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts
        .iter()
        .map(|text| format!("{text:?}.to_owned()"))
        .collect();
    format!("vec![{}]", texts.join(", "))
}

fn owned_pairs(pairs: &[(String, String)]) -> String {
    let pair = |(a, b): &(String, String)| format!("({a:?}.to_owned(), {b:?}.to_owned())");
    let pairs: Vec<String> = pairs.iter().map(pair).collect();
    format!("vec![{}]", pairs.join(", "))
}

fn container_id(container: ContainerLine) -> String {
    let id = container.id();
    let (app, number) = (id.app.sequence, id.number);
    let first = format!("ContainerId::new(ApplicationId::new({app}), {number})");
    match id.attempt {
        1 => first,
        attempt => format!("ContainerId {{ attempt: {attempt}, ..{first} }}"),
    }
}

fn reported(report: Option<&[Vec<ContainerLine>; 2]>) -> String {
    let Some([launched, exited]) = report else {
        return "NodeReport::AsExpected".to_owned();
    };
    let list = |of: &[ContainerLine]| {
        let ids: Vec<String> = of.iter().map(|&id| container_id(id)).collect();
        ids.join(", ")
    };
    format!(
        "NodeReport::Exactly {{ launched: vec![{}], exited: vec![{}] }}",
        list(launched),
        list(exited)
    )
}
