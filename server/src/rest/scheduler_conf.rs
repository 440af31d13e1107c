//! `/scheduler-conf`: the scheduler's configuration, read and changed, and its versions under `/v1/conf`.
//!
//! A router with the configuration as an [`Extension`] changes it; one without answers that its scheduler is not
//! mutable, as a resource manager over plain files does.
//!
//! Beyond the reference: every answer names the version as its `ETag`, `If-Match` makes a change conditional, and
//! `explain` has a change answered with issues and with where the effective settings come from.
// As RMWebServices.updateSchedulerConfiguration and its siblings.

mod answers;
mod explained;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{get, post};
use capsched::config::Caller;

use super::call::Call;
use super::wire::{Failure, Media, Reply, Wire};
use super::{Shared, wire};
use crate::conf::{BodyFormat, ConfChange, ConfError, MutableConf};
use crate::rm::ResourceManager;

use answers::{Answered, forbidden, immutable, of_error, unreadable};
use explained::Explain;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Get,
    Version,
    Format,
    Change,
    Validate,
    /// As the validation that answers with issues.
    ValidateIssues,
}

/// The routes below `/ws/v1/cluster`.
pub(super) fn routes() -> Router<Shared> {
    let of = |action: Action| {
        move |state: State<Shared>,
              conf: Option<Extension<Arc<MutableConf>>>,
              uri: Uri,
              headers: HeaderMap,
              body: Bytes| answer(action, state.0, conf, uri, headers, body)
    };
    Router::new()
        .route(
            "/scheduler-conf",
            get(of(Action::Get)).put(of(Action::Change)),
        )
        .route("/scheduler-conf/version", get(of(Action::Version)))
        .route("/scheduler-conf/format", get(of(Action::Format)))
        .route("/scheduler-conf/validate", post(of(Action::Validate)))
        .route(
            "/scheduler-conf/validate/v2",
            post(of(Action::ValidateIssues)),
        )
}

/// The routes of versions and of the log, with their whole paths.
pub(super) fn version_routes() -> Router<Shared> {
    versions::routes()
}

/// One request with what it is judged by.
struct Request<'a> {
    call: &'a Call,
    conf: &'a MutableConf,
    caller: Caller<'a>,
    /// The version that the caller saw.
    expected: Option<u64>,
    wire: Wire,
}

async fn answer(
    action: Action,
    shared: Shared,
    conf: Option<Extension<Arc<MutableConf>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let wire = shared.wire();
    let Some(call) = Call::read(&headers, uri.query(), BTreeMap::new(), body) else {
        let text = "only application/json and application/xml are answered\n".to_owned();
        let reply = Reply::Page(StatusCode::NOT_ACCEPTABLE, text);
        return wire::respond(Ok(reply), Media::Json, wire);
    };
    let media = call.media;
    let conf = conf.map(|Extension(conf)| conf);
    let kept = conf.clone();
    let carried = tokio::task::spawn_blocking(move || {
        carry_out(action, &shared, conf.as_deref(), &call, &headers)
    });
    let answered = carried.await.unwrap_or_else(|_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        let text = "the request could not be carried out";
        Answered::failure(Failure::other(status, "WebApplicationException", text))
    });
    let mut response = wire::respond(answered.reply, answered.media.unwrap_or(media), wire);
    if let Some(conf) = kept {
        add_version(&mut response, conf.state().version);
    }
    response
}

fn add_version(response: &mut Response, version: u64) {
    if let Ok(value) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, value);
    }
}

fn carry_out(
    action: Action,
    shared: &Shared,
    conf: Option<&MutableConf>,
    call: &Call,
    headers: &HeaderMap,
) -> Answered {
    let rm = shared.rm();
    let groups = rm.groups_of(&call.user);
    let caller = Caller {
        user: &call.user,
        groups: &groups,
        real_user: None,
    };
    let Some(conf) = conf else {
        let properties = &rm.configuration().loaded.properties;
        let daemon = &rm.setup().daemon;
        let admins = capsched::config::AdminAccess::read(&**properties, daemon);
        if admins.enabled() && !admins.is_admin(&caller) {
            return forbidden(shared.wire());
        }
        return immutable(action);
    };
    if !conf.admits(&caller) {
        return forbidden(shared.wire());
    }
    let expected = match expected_version(headers) {
        Ok(expected) => expected,
        Err(failure) => return Answered::failure(failure),
    };
    let request = Request {
        call,
        conf,
        caller,
        expected,
        wire: shared.wire(),
    };
    match action {
        Action::Get => request.get(),
        Action::Version => answers::version(conf.state().version),
        Action::Format => request.format(rm),
        Action::Change => request.change(rm),
        Action::Validate => request.validate(rm),
        Action::ValidateIssues => request.validate_issues(rm),
    }
}

/// The version that `If-Match` names; `*` names any.
fn expected_version(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let number = text.trim_matches('"').parse();
    let wrong = |_| Failure::bad_request("If-Match names a version as \"3\", or any as *");
    number.map(Some).map_err(wrong)
}

impl Request<'_> {
    fn explain(&self) -> Result<Option<Explain>, Failure> {
        self.call.filled("explain").map(str::parse).transpose()
    }

    fn get(&self) -> Answered {
        let state = self.conf.state();
        match self.explain() {
            Ok(None) => answers::properties(&state.properties),
            Ok(Some(_)) => {
                let document = explained::document(&state, &[], explained::queues(&state.loaded));
                Answered::json(StatusCode::OK, &document)
            }
            Err(failure) => Answered::failure(failure),
        }
    }

    fn format(&self, rm: &ResourceManager) -> Answered {
        match self.conf.format(rm, &self.caller, rm.now_ms()) {
            Ok(_) => Answered::text("Configuration under store successfully formatted."),
            Err(error) => of_error(&error),
        }
    }

    /// The change of the body, in the form that its media type names.
    fn body(&self) -> Result<ConfChange, Failure> {
        let format = match self.call.content_type.as_str() {
            "application/json" => BodyFormat::Json {
                lists_are_empty: self.wire == Wire::Hadoop35,
            },
            "application/xml" | "text/xml" => BodyFormat::Xml,
            _ => {
                let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
                let text = "a change is application/json or application/xml";
                return Err(Failure::other(status, "NotSupportedException", text));
            }
        };
        ConfChange::read(&self.call.body, format).map_err(|error| unreadable(&error))
    }

    fn change(&self, rm: &ResourceManager) -> Answered {
        let read = self.body().and_then(|body| Ok((body, self.explain()?)));
        let (change, explain) = match read {
            Ok(read) => read,
            Err(failure) => return Answered::failure(failure),
        };
        let before = self.conf.state();
        let now_ms = rm.now_ms();
        let made = self
            .conf
            .change(rm, &self.caller, &change, self.expected, now_ms);
        match (made, explain) {
            (Ok(_), None) => Answered::text("Configuration change successfully applied."),
            (Err(error), None) => of_error(&error),
            (Ok(outcome), Some(explain)) => {
                let issues = capsched::config::issues(&outcome.state.loaded.report);
                let queues = explain.of(&before.loaded, &outcome.state.loaded);
                let document = explained::document(&outcome.state, &issues, queues);
                Answered::json(StatusCode::OK, &document)
            }
            (Err(error), Some(_)) => answers::issues_of_error(&error),
        }
    }

    fn validate(&self, rm: &ResourceManager) -> Answered {
        let change = match self.body() {
            Ok(change) => change,
            Err(failure) => return Answered::failure(failure),
        };
        match self.conf.validate(rm, &change) {
            Ok(next) => answers::properties(&next),
            Err(error) => {
                let prefix =
                    "CapacityScheduler configuration validation failed:java.io.IOException: ";
                of_error(&error).with_prefix(prefix)
            }
        }
    }

    fn validate_issues(&self, rm: &ResourceManager) -> Answered {
        let read = self.body().and_then(|body| Ok((body, self.explain()?)));
        let (change, explain) = match read {
            Ok(read) => read,
            Err(failure) => return Answered::failure(failure),
        };
        let present = self.conf.state();
        if self.expected.is_some_and(|seen| seen != present.version) {
            return of_error(&ConfError::VersionMismatch {
                present: present.version,
            });
        }
        let judged = self.conf.validate(rm, &change);
        let loaded = judged.map(|next| self.conf.load(&next));
        match loaded {
            Ok(Ok(loaded)) => {
                let issues = capsched::config::issues(&loaded.report);
                let queues = explain.map(|explain| explain.of(&present.loaded, &loaded));
                Answered::json(StatusCode::OK, &answers::verdict(true, &issues, queues))
            }
            Ok(Err(report)) => {
                let issues = capsched::config::issues(&report);
                Answered::json(StatusCode::OK, &answers::verdict(false, &issues, None))
            }
            Err(error) => {
                let issues = answers::issues(&error);
                Answered::json(StatusCode::OK, &answers::verdict(false, &issues, None))
            }
        }
    }
}
