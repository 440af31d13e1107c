//! What a developer asks a running server: its threads, its memory, and where its processor time goes.
//!
//! It listens on its own, at a loopback address alone, and only where that is wanted. Whoever has an account on this
//! machine may ask. A profile needs a build with the feature `pprof`; without it that route says so.

#[cfg(feature = "pprof")]
mod profile;
mod threads;

use std::fmt::Write as _;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Query, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;

use crate::daemon::{ServeOptions, ServeProblem, Serving};
use crate::security::{BindProblem, Hosts};

/// Seconds of a profile unless the caller gives some, and at most.
const SECONDS: u64 = 10;
const MOST_SECONDS: u64 = 300;

/// The routes, for people.
const INDEX: &str = "\
/debug/pprof/threads             threads with processor time in s, as text
/debug/pprof/memory              memory of the process, as text
/debug/pprof/profile?seconds=10  samples of processor time as folded stacks, one a line with its count
";

/// The listener of these routes.
#[derive(Debug)]
pub struct DebugServing(Serving);

impl DebugServing {
    /// Listens at a loopback address.
    ///
    /// # Errors
    ///
    /// That the address can be reached from other machines, or cannot be listened on.
    pub fn listen(address: SocketAddr) -> Result<Self, ServeProblem> {
        if !address.ip().is_loopback() {
            return Err(ServeProblem::Bind(BindProblem::DebugFromOutside(address)));
        }
        Serving::listen(&ServeOptions::at(address)).map(Self)
    }

    /// The address, with the port that the system chose.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves until the task ends.
    ///
    /// # Errors
    ///
    /// As [`ServeProblem`].
    pub async fn run(self) -> Result<(), ServeProblem> {
        self.0.run(router()).await
    }
}

/// All routes.
pub fn router() -> Router {
    Router::new()
        .route("/debug/pprof", get(|| async { INDEX }))
        .route("/debug/pprof/", get(|| async { INDEX }))
        .route("/debug/pprof/threads", get(threads))
        .route("/debug/pprof/memory", get(memory))
        .route("/debug/pprof/profile", get(profile))
        .layer(from_fn(only_here))
}

/// Refuses what a page of another site asks for: it names another host.
async fn only_here(request: Request, next: Next) -> Response {
    let text = |headers: &HeaderMap, name| {
        let value: Option<&header::HeaderValue> = headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let host = text(request.headers(), header::HOST.as_str());
    if !host.is_some_and(|host| Hosts::default().allows(&host)) {
        let why = "only localhost and addresses are answered\n";
        return (StatusCode::MISDIRECTED_REQUEST, why).into_response();
    }
    if text(request.headers(), "sec-fetch-site").as_deref() == Some("cross-site") {
        let why = "a page of another site may not call this\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    next.run(request).await
}

fn failed(text: impl Into<String>) -> Response {
    (StatusCode::NOT_IMPLEMENTED, text.into() + "\n").into_response()
}

async fn threads() -> Response {
    let found = tokio::task::spawn_blocking(threads::all).await;
    let Ok(Ok(found)) = found else {
        return failed("this system does not list threads in /proc/self/task");
    };
    let mut text = String::from("cpu_s\tstate\tname\n");
    for thread in found {
        // A write to a string does not fail.
        let _ = writeln!(
            text,
            "{}.{:02}\t{}\t{}",
            thread.cpu_cs / 100,
            thread.cpu_cs % 100,
            thread.state,
            thread.name
        );
    }
    text.into_response()
}

async fn memory() -> Response {
    match tokio::task::spawn_blocking(threads::memory).await {
        Ok(Ok(text)) => text.into_response(),
        _ => failed("this system does not say it in /proc/self/status"),
    }
}

#[derive(Debug, Deserialize)]
struct Wanted {
    seconds: Option<u64>,
}

async fn profile(Query(wanted): Query<Wanted>) -> Response {
    let seconds = wanted.seconds.unwrap_or(SECONDS);
    if !(1..=MOST_SECONDS).contains(&seconds) {
        let text = format!("seconds is {seconds}, 1 to {MOST_SECONDS} are expected\n");
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    taken(seconds).await
}

#[cfg(feature = "pprof")]
async fn taken(seconds: u64) -> Response {
    use profile::ProfileProblem;
    let pause = std::time::Duration::from_secs(seconds);
    match profile::folded(pause).await {
        Ok(text) => text.into_response(),
        Err(ProfileProblem::Busy) => {
            (StatusCode::CONFLICT, "a profile is being taken\n").into_response()
        }
        Err(ProfileProblem::Failed(why)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, why + "\n").into_response()
        }
    }
}

#[cfg(not(feature = "pprof"))]
async fn taken(_: u64) -> Response {
    failed("this program was built without profiles: build it with `--features pprof`")
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use tower::ServiceExt;

    use super::*;

    async fn answer(path: &str, host: &str) -> (StatusCode, String) {
        let request = Request::builder().uri(path).header("host", host);
        let request = request.body(Body::empty()).unwrap();
        let response = router().oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn threads_and_memory_are_listed() {
        let (status, text) = answer("/debug/pprof/threads", "localhost:1").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.lines().count() > 1, "{text}");
        let (status, text) = answer("/debug/pprof/memory", "127.0.0.1").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("VmRSS"), "{text}");
    }

    #[tokio::test]
    async fn other_hosts_and_odd_times_are_refused() {
        let (status, _) = answer("/debug/pprof/threads", "evil.example.org").await;
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST);
        for seconds in ["0", "301", "x", "-1"] {
            let (status, _) = answer(
                &format!("/debug/pprof/profile?seconds={seconds}"),
                "localhost",
            )
            .await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{seconds}");
        }
    }

    #[cfg(not(feature = "pprof"))]
    #[tokio::test]
    async fn without_the_feature_a_profile_names_it() {
        let (status, text) = answer("/debug/pprof/profile?seconds=1", "localhost").await;
        assert_eq!(status, StatusCode::NOT_IMPLEMENTED);
        assert!(text.contains("--features pprof"), "{text}");
    }

    #[cfg(feature = "pprof")]
    #[tokio::test]
    async fn a_profile_has_the_stack_of_what_runs_and_one_is_taken_at_a_time() {
        use capsched::sync::{AtomicBool, Ordering};
        use std::sync::Arc;
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let busy = tokio::task::spawn_blocking(move || {
            let mut sum = 0_u64;
            while !until.load(Ordering::Relaxed) {
                sum = std::hint::black_box(sum.wrapping_mul(31) + 7);
            }
            sum
        });
        let path = "/debug/pprof/profile?seconds=2";
        let (one, two) = tokio::join!(answer(path, "localhost"), answer(path, "localhost"));
        ends.store(true, Ordering::Relaxed);
        busy.await.unwrap();
        let mut both = [one, two];
        both.sort_by_key(|(status, _)| status.as_u16());
        assert_eq!(both[1].0, StatusCode::CONFLICT);
        assert_eq!(both[0].0, StatusCode::OK);
        let counts = both[0]
            .1
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        assert!(counts.sum::<u64>() > 0, "{}", both[0].1);
    }

    #[test]
    fn addresses_that_others_reach_are_refused() {
        let error = DebugServing::listen("0.0.0.0:0".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("loopback"), "{error}");
        let serving = DebugServing::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        assert_ne!(serving.address().port(), 0);
    }
}
