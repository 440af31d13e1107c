//! Routes that read applications: lists, single ones, their attempts and containers.

use axum::http::StatusCode;

use super::cluster::states;
use super::{Answered, application, inspect};
use crate::rest::tree::{Object, View};
use crate::rest::views::app::{self, AppShown, Figures};
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Shared};
use crate::rm::{Application, FinalStatus};

/// Groups of fields that a caller may leave out.
// As DeSelectFields.DeSelectType.
const DESELECTS: [&str; 5] = [
    "resourceRequests",
    "timeouts",
    "appNodeLabelExpression",
    "amNodeLabelExpression",
    "resourceInfo",
];

/// What applications a caller asks for.
// As ApplicationsRequestBuilder.
struct Filter {
    states: Vec<crate::rm::AppState>,
    status: Option<FinalStatus>,
    user: Option<String>,
    name: Option<String>,
    queue: Option<String>,
    kinds: Vec<String>,
    tags: Vec<String>,
    started: (u64, u64),
    finished: (u64, u64),
    limit: usize,
}

impl Filter {
    fn read(shared: &Shared, call: &Call) -> Result<Self, Failure> {
        let lower = |name: &str| -> Vec<String> {
            let values = call.list(&[name]).into_iter();
            values.map(|value| value.to_lowercase()).collect()
        };
        Ok(Self {
            states: states(&call.list(&["states", "state"]))?,
            status: call.filled("finalStatus").map(final_status).transpose()?,
            user: call.filled("user").map(str::to_owned),
            name: call.filled("name").map(str::to_owned),
            queue: call.filled("queue").map(|name| full_path(shared, name)),
            kinds: call.list(&["applicationTypes"]),
            tags: lower("applicationTags"),
            started: range(call, "startedTime")?,
            finished: range(call, "finishedTime")?,
            limit: limit(call)?,
        })
    }

    fn takes(&self, app: &Application) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|w| w == is);
        let within = |(from, to): (u64, u64), time: u64| from <= time && time <= to;
        let status = self.status.is_none_or(|status| status == app.final_status);
        let state = self.states.is_empty() || self.states.contains(&app.state);
        let kind = self.kinds.is_empty() || self.kinds.contains(&app.kind);
        let tag = |tag: &String| self.tags.contains(&tag.to_lowercase());
        let tags = self.tags.is_empty() || app.tags.iter().any(tag);
        let names = same(&self.user, &app.user)
            && same(&self.name, &app.name)
            && same(&self.queue, &app.queue);
        let times = within(self.started, app.started_ms) && within(self.finished, app.finished_ms);
        status && state && kind && tags && names && times
    }
}

fn final_status(text: &str) -> Result<FinalStatus, Failure> {
    let mut known = FinalStatus::ALL.into_iter();
    known.find(|status| status.name() == text).ok_or_else(|| {
        let text: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        let text = format!(
            "No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.{text}"
        );
        Failure::other(StatusCode::BAD_REQUEST, "IllegalArgumentException", text)
    })
}

/// The full path of a queue; a name that stands for no queue stays as it is.
// As CapacityScheduler.normalizeQueueName.
fn full_path(shared: &Shared, name: &str) -> String {
    let wanted = name.to_owned();
    let path = inspect(shared, move |ledger| {
        let slot = ledger.queue(&wanted)?;
        Some(ledger.state().queues[slot].settings.path.to_string())
    });
    path.ok().flatten().unwrap_or_else(|| name.to_owned())
}

fn limit(call: &Call) -> Result<usize, Failure> {
    let Some(text) = call.filled("limit") else {
        return Ok(usize::MAX);
    };
    match text.parse::<i64>() {
        Err(_) => Err(Failure::bad_request("limit value must be a number!")),
        Ok(limit) if limit <= 0 => Err(Failure::bad_request("limit value must be greater then 0")),
        Ok(limit) => Ok(usize::try_from(limit).unwrap_or(usize::MAX)),
    }
}

fn range(call: &Call, name: &str) -> Result<(u64, u64), Failure> {
    let bound = |end: &str, default: u64| match call.filled(&format!("{name}{end}")) {
        None => Ok(default),
        Some(text) => {
            let text = text.parse::<u64>();
            text.map_err(|_| {
                Failure::bad_request(format!("{name}{end} must be a number from 0 on"))
            })
        }
    };
    let (from, to) = (bound("Begin", 0)?, bound("End", u64::MAX)?);
    if from > to {
        let text = format!("{name}End must be greater than {name}Begin");
        return Err(Failure::bad_request(text));
    }
    Ok((from, to))
}

fn deselects(call: &Call) -> Result<Vec<String>, Failure> {
    let named = call.list(&["deSelects"]);
    for name in &named {
        if !DESELECTS.contains(&name.as_str()) {
            let text = format!(
                "Invalid deSelectType {name} specified. It should be one of [{}]",
                DESELECTS.join(", ")
            );
            return Err(Failure::bad_request(text));
        }
    }
    Ok(named.iter().map(|name| name.to_lowercase()).collect())
}

/// Applications as a caller sees them, in the order given.
fn shown(shared: &Shared, call: &Call, apps: &[Application]) -> Result<Vec<Object>, Failure> {
    let deselects = deselects(call)?;
    let live = apps.iter().filter(|app| !app.state.is_over());
    let live = live.map(|app| (app.id, app.partitions.clone())).collect();
    let figures = inspect(shared, move |ledger| app::figures(ledger, live))?;
    let rm = shared.rm();
    let configuration = rm.configuration();
    let owners = apps.iter().map(|app| (app.user.clone(), app.path.clone()));
    let rights = rm.may_modify(&call.user, owners.collect());
    let one = |(app, full): (&Application, bool)| {
        let shown = AppShown {
            cluster: rm.cluster(),
            now_ms: rm.now_ms(),
            base: &call.host,
            settings: &configuration.loaded.settings.scheduler,
            deselects: &deselects,
            full,
        };
        let figures: Option<&Figures> = figures.get(&app.id);
        shown.app(app, figures)
    };
    Ok(apps.iter().zip(rights).map(one).collect())
}

pub(super) fn list(shared: &Shared, call: &Call) -> Answered {
    let filter = Filter::read(shared, call)?;
    let apps: Vec<Application> = shared.rm().read(|books| {
        let found = books.apps().filter(|app| filter.takes(app));
        found.take(filter.limit).cloned().collect()
    });
    let apps = shown(shared, call, &apps)?;
    let body = Object::new().with_many("app", apps);
    Ok(Reply::Document(View::wrapped("apps", body)))
}

pub(super) fn one(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let mut apps = shown(shared, call, std::slice::from_ref(&app))?;
    let body = apps.pop().unwrap_or_default();
    Ok(Reply::Document(View::wrapped("app", body)))
}

pub(super) fn attempts(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let attempts = app
        .attempts
        .iter()
        .map(|attempt| app::attempt(&app, attempt));
    let body = Object::new().with_many("appAttempt", attempts);
    Ok(Reply::Document(View::wrapped("appAttempts", body)))
}

/// The number of the attempt of a path.
fn attempt_number(app: &Application, call: &Call) -> Result<u32, Failure> {
    let text = call.part("attempt");
    let known = app.attempts.iter().map(|attempt| attempt.number);
    let mut known = known.filter(|&number| app::attempt_id(app.id, number) == text);
    let missing = || {
        let text: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        Failure::not_found(format!("app attempt with id: {text} not found"))
    };
    known.next().ok_or_else(missing)
}

// As AppAttemptInfo of the web services of the application history, which the resource manager shares.
pub(super) fn attempt(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let number = attempt_number(&app, call)?;
    let attempt = app.attempts.iter().find(|attempt| attempt.number == number);
    let body = attempt.map(|attempt| {
        let master = attempt.master.as_ref().map(|(id, _)| id.to_string());
        let url = Some(attempt.tracking_url.clone()).filter(|url| !url.is_empty());
        Object::new()
            .with("appAttemptId", app::attempt_id(app.id, number))
            .with_some("host", attempt.host.clone())
            .with("rpcPort", attempt.rpc_port)
            .with_some("trackingUrl", url)
            .with("diagnosticsInfo", attempt.diagnostics.clone())
            .with("appAttemptState", attempt.state.name())
            .with_some("amContainerId", master)
            .with("startedTime", attempt.started_ms)
            .with("finishedTime", attempt.finished_ms)
    });
    Ok(Reply::Document(View::mapped(
        "appAttempt",
        true,
        body.unwrap_or_default(),
    )))
}

pub(super) fn containers(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let number = attempt_number(&app, call)?;
    let ports: std::collections::BTreeMap<String, u16> = shared.rm().read(|books| {
        let nodes = books.nodes().iter();
        nodes
            .map(|(name, node)| (name.to_string(), node.registration.http_port))
            .collect()
    });
    let now_ms = shared.rm().now_ms();
    let present = app
        .attempt()
        .is_some_and(|attempt| attempt.number == number);
    let containers = if present {
        inspect(shared, move |ledger| {
            let port = |node: &str| ports.get(node).copied().unwrap_or(0);
            app::containers(ledger, &app, port, now_ms)
        })?
    } else {
        Vec::new()
    };
    let body = Object::new().with_many("container", containers);
    Ok(Reply::Document(View::mapped("containers", true, body)))
}

pub(super) fn state(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let body = Object::new().with("state", app.state.name());
    Ok(Reply::Document(View::mapped("appstate", false, body)))
}

pub(super) fn queue(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let body = Object::new().with("queue", app.queue);
    Ok(Reply::Document(View::unwrapped("appqueue", body)))
}

pub(super) fn priority(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let body = Object::new().with("priority", app.priority);
    Ok(Reply::Document(View::unwrapped(
        "applicationpriority",
        body,
    )))
}

pub(super) fn timeouts(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    let timeout = app::timeout(&app, shared.rm().now_ms());
    let body = Object::new().with_many("timeout", [timeout]);
    Ok(Reply::Document(View::wrapped("timeouts", body)))
}

pub(super) fn timeout(shared: &Shared, call: &Call) -> Answered {
    let app = application(shared, call)?;
    if !call.part("type").eq_ignore_ascii_case("LIFETIME") {
        let kind: String = call
            .part("type")
            .chars()
            .take(64)
            .flat_map(char::escape_debug)
            .collect();
        return Err(Failure::bad_request(format!(
            "Invalid application-state {kind} specified. It should be one of [LIFETIME]"
        )));
    }
    let body = app::timeout(&app, shared.rm().now_ms());
    Ok(Reply::Document(View::wrapped("timeout", body)))
}
