//! Requests for one cell: submissions go to the cell of the policy, and everything about an application to its home.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use capsched::api::ApplicationId;
use capsched::sync::Ordering;
use tokio::task::JoinSet;

use super::client::{CallError, CellAnswer, CellRequest};
use super::names::CellName;
use super::policy::{CellChoice, Policy, RouteProblem};
use super::routes::CellRouter;
use crate::rest::Failure;
use crate::store::StoreError;

/// Headers of a caller that a cell sees.
const PASSED: [&str; 5] = [
    "accept",
    "authorization",
    "content-type",
    "x-request-id",
    "x-xsrf-header",
];

/// Seconds after which a caller may try again.
const AGAIN_S: u32 = 1;

/// Why a router does not answer with what a cell said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RouterFailure {
    pub(super) failure: Failure,
    /// Whether the same request may succeed soon.
    pub(super) again: bool,
}

impl From<Failure> for RouterFailure {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            again: false,
        }
    }
}

impl From<StoreError> for RouterFailure {
    fn from(error: StoreError) -> Self {
        unavailable(format!(
            "the router cannot keep the home of the application: {error}"
        ))
    }
}

impl RouterFailure {
    /// The headers beside the failure.
    pub(super) fn mark(&self, response: &mut Response) {
        if self.again {
            let seconds = HeaderValue::from(AGAIN_S);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
    }
}

fn retriable(status: StatusCode, text: String) -> RouterFailure {
    RouterFailure {
        failure: Failure::other(status, "RetriableException", text),
        again: true,
    }
}

/// 503: something is down, and the request was not carried out.
pub(super) fn unavailable(text: impl Into<String>) -> RouterFailure {
    retriable(StatusCode::SERVICE_UNAVAILABLE, text.into())
}

/// 504: a cell may have carried out the request or not.
pub(super) fn in_doubt(text: impl Into<String>) -> RouterFailure {
    retriable(StatusCode::GATEWAY_TIMEOUT, text.into())
}

/// Headers that a cell sees.
pub(super) fn passed(headers: &HeaderMap) -> HeaderMap {
    let given = PASSED.iter().filter_map(|&name| {
        let value = headers.get(name)?.clone();
        Some((HeaderName::from_static(name), value))
    });
    given.collect()
}

/// What a cell answered, as the router's answer.
pub(super) fn answered(answer: CellAnswer) -> Response {
    let mut response = (answer.status, answer.body).into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    for name in [
        header::CONTENT_TYPE,
        header::RETRY_AFTER,
        header::WWW_AUTHENTICATE,
    ] {
        if let Some(value) = answer.headers.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    // Where the cell is, does not concern the caller: the same path of the router leads there.
    let place = answer
        .headers
        .get(header::LOCATION)
        .and_then(|place| place.to_str().ok());
    let path = place.and_then(|place| Some(&place[place.find("/ws/")?..]));
    if let Some(Ok(path)) = path.map(HeaderValue::from_str) {
        headers.insert(header::LOCATION, path);
    }
    response
}

impl CellRouter {
    /// Calls a cell at an address that is up. A standby that answers is down, and so is an address without a connection.
    pub(super) async fn call(
        &self,
        cell: &CellName,
        request: &CellRequest,
    ) -> Result<CellAnswer, CallError> {
        // A second address is tried where the first one was lost meanwhile.
        let mut why = String::new();
        for _ in 0..2 {
            let address = self.states.active(cell).map_err(CallError::NotSent)?;
            let called = self.client.call(&address, request, self.patience).await;
            let lost = match &called {
                Ok(answer) if answer.status == StatusCode::TEMPORARY_REDIRECT => {
                    "it waits to lead".to_owned()
                }
                Ok(_) => {
                    self.figures.answered(cell);
                    return called;
                }
                Err(error) => error.to_string(),
            };
            self.figures.failed(cell);
            if let Err(CallError::InDoubt(_)) = called {
                // It may be slow alone. The next question about its health decides.
                return called;
            }
            self.states
                .enter(&address, Some(lost.clone()), self.now_ms());
            why = format!("{address}: {lost}");
        }
        Err(CallError::NotSent(why))
    }

    /// Sends a submission to the cell of its queue.
    pub(super) async fn submit(
        &self,
        app: ApplicationId,
        queue: &str,
        request: &CellRequest,
    ) -> Result<CellAnswer, RouterFailure> {
        if let Some(home) = self.store.home(app) {
            return self.submit_again(app, &home, request).await;
        }
        let policy = self.policy()?;
        let mut failed: Vec<(CellName, String)> = Vec::new();
        while let Some(choice) = self.choose(&policy.policy, queue, app, &failed)? {
            let cell = choice.cell;
            match failed.is_empty() {
                true => {
                    if let Some(home) = self.store.claim(app, &cell).await? {
                        return self.submit_again(app, &home, request).await;
                    }
                }
                false => self.store.move_home(app, &cell).await?,
            }
            match self.call(&cell, request).await {
                Ok(answer) => {
                    self.figures.submitted(&cell);
                    return Ok(answer);
                }
                Err(CallError::InDoubt(why)) => return Err(may_have(app, &cell, &why)),
                Err(CallError::NotSent(why)) => failed.push((cell, why)),
            }
        }
        self.store.forget_home(app).await?;
        let each = failed.iter().map(|(cell, why)| format!("{cell}: {why}"));
        let each = each.collect::<Vec<_>>().join("; ");
        Err(unavailable(format!("{app} was not submitted: {each}")))
    }

    /// The next cell to try; nothing: all were tried.
    fn choose(
        &self,
        policy: &Policy,
        queue: &str,
        app: ApplicationId,
        failed: &[(CellName, String)],
    ) -> Result<Option<CellChoice>, RouterFailure> {
        let untried = |cell: &CellName| !failed.iter().any(|(tried, _)| tried == cell);
        let found = policy.cell_of(queue, app, |cell| untried(cell) && self.states.is_up(cell));
        match found {
            Ok(choice) => Ok(Some(choice)),
            Err(RouteProblem::NoCell { .. }) if !failed.is_empty() => Ok(None),
            Err(problem @ RouteProblem::NoCell { .. }) => Err(unavailable(problem.to_string())),
            Err(problem) => Err(Failure::bad_request(problem.to_string()).into()),
        }
    }

    /// Repeats a submission at its home, which may have it. No other cell gets it.
    async fn submit_again(
        &self,
        app: ApplicationId,
        home: &CellName,
        request: &CellRequest,
    ) -> Result<CellAnswer, RouterFailure> {
        match self.call(home, request).await {
            Ok(answer) => Ok(answer),
            Err(CallError::NotSent(why) | CallError::InDoubt(why)) => {
                Err(may_have(app, home, &why))
            }
        }
    }

    /// Passes a request about an application to its home, or finds the cell that knows it.
    pub(super) async fn about(
        &self,
        app: ApplicationId,
        request: &CellRequest,
    ) -> Result<CellAnswer, RouterFailure> {
        let home = match self.store.home(app) {
            Some(home) => home,
            None => {
                self.find(
                    &format!("/ws/v1/cluster/apps/{app}/state"),
                    request,
                    &app.to_string(),
                )
                .await?
            }
        };
        self.ask(&home, request).await
    }

    /// Passes a request to a cell.
    pub(super) async fn ask(
        &self,
        cell: &CellName,
        request: &CellRequest,
    ) -> Result<CellAnswer, RouterFailure> {
        let called = self.call(cell, request).await;
        called.map_err(|error| {
            let text = shown(&[(cell.clone(), error.to_string())]);
            match error {
                CallError::NotSent(_) => unavailable(text),
                CallError::InDoubt(_) => in_doubt(text),
            }
        })
    }

    /// Passes a request to a cell that is up; to each in turn over many requests.
    pub(super) async fn any_cell(
        &self,
        request: &CellRequest,
    ) -> Result<CellAnswer, RouterFailure> {
        self.policy()?;
        let mut cells = self.states.all();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let shift = turn.checked_rem(cells.len()).unwrap_or(0);
        cells.rotate_left(shift);
        let mut missing = Vec::new();
        for (cell, _) in cells {
            match self.call(&cell, request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => missing.push((cell, error.to_string())),
            }
        }
        Err(unavailable(shown(&missing)))
    }

    /// The cell that knows something: all are asked for a path.
    pub(super) async fn find(
        &self,
        path: &str,
        request: &CellRequest,
        what: &str,
    ) -> Result<CellName, RouterFailure> {
        let mut question = CellRequest::plain(Method::GET, &with_query_of(path, &request.path));
        question.headers.clone_from(&request.headers);
        question.headers.remove(header::CONTENT_TYPE);
        let (found, mut missing) = self.ask_all(&question).await;
        let mut known = None;
        for (cell, answer) in found {
            match answer.status {
                StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => {}
                status if status.is_server_error() => {
                    missing.push((cell, format!("it answers {status}")));
                }
                _ => known = known.or(Some(cell)),
            }
        }
        match (known, missing.is_empty()) {
            (Some(cell), _) => Ok(cell),
            (None, true) => Err(Failure::not_found(format!("{what} not found in any cell")).into()),
            (None, false) => {
                let text = format!("{what} is in no cell that answers; {}", shown(&missing));
                Err(unavailable(text))
            }
        }
    }

    /// Asks all cells at once: answers, and reasons of cells without one, both by name.
    pub(super) async fn ask_all(
        &self,
        request: &CellRequest,
    ) -> (Vec<(CellName, CellAnswer)>, Vec<(CellName, String)>) {
        let mut asked = JoinSet::new();
        for (cell, _) in self.states.all() {
            let (router, request) = (self.clone(), request.clone());
            asked.spawn(async move {
                let answer = router.call(&cell, &request).await;
                (cell, answer)
            });
        }
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        while let Some(joined) = asked.join_next().await {
            match joined {
                Ok((cell, Ok(answer))) => found.push((cell, answer)),
                Ok((cell, Err(error))) => missing.push((cell, error.to_string())),
                Err(error) => tracing::error!(%error, "a cell could not be asked"),
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        missing.sort();
        (found, missing)
    }
}

fn may_have(app: ApplicationId, cell: &CellName, why: &str) -> RouterFailure {
    in_doubt(format!(
        "the cell {cell} may have {app} or not: {why}. Submit it again with the same id; it is there once"
    ))
}

/// Cells without an answer, and why.
pub(super) fn shown(missing: &[(CellName, String)]) -> String {
    let each = missing
        .iter()
        .map(|(cell, why)| format!("the cell {cell} cannot be reached: {why}"));
    each.collect::<Vec<_>>().join("; ")
}

/// A path with the query of another one.
fn with_query_of(path: &str, other: &str) -> String {
    match other.split_once('?') {
        Some((_, query)) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}
