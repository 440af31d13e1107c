//! Events from an id on, as a stream that goes on (`text/event-stream`).

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive};
use axum::response::{IntoResponse, Sse};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::wrappers::ReceiverStream;

use super::Page;
use super::answer::{Problem, blocking};
use super::event_text::described;
use crate::rm::ResourceManager;

/// Time between two looks at the log.
const BETWEEN: Duration = Duration::from_millis(250);

/// Events of one look at most.
const MOST: usize = 1000;

/// Events that a stream without a start begins with.
const RECENT: u64 = 200;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    /// The last id that the caller has; empty: the newest 200 and what comes then.
    from: String,
}

/// Events behind an id: of the query, or of `Last-Event-ID`.
pub(super) async fn stream(
    State(page): State<Page>,
    Query(wish): Query<From>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let header = headers.get("last-event-id");
    let header = header.and_then(|id| id.to_str().ok()).unwrap_or_default();
    let text = if header.is_empty() {
        wish.from.as_str()
    } else {
        header
    };
    let from = match text {
        "" => None,
        text => {
            let wrong = |_| Problem::parameter("from", "this is no number of an event");
            Some(text.parse::<u64>().map_err(wrong)?)
        }
    };
    let permit = page.streams.clone().try_acquire_owned().map_err(|_| {
        let text = "as many streams of events are open as there may be";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, text)
    })?;
    let (sender, receiver) = mpsc::channel(MOST);
    tokio::spawn(async move {
        feed(page, from, &sender).await;
        drop(permit);
    });
    Ok(Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::default()))
}

/// Sends what comes until the caller is gone.
async fn feed(page: Page, from: Option<u64>, sender: &Sender<Result<Event, Infallible>>) {
    let mut last = from;
    loop {
        let rm = std::sync::Arc::clone(&page.rm);
        let Ok((events, seen)) = blocking(move || Ok(behind(&rm, last))).await else {
            return;
        };
        last = Some(seen);
        for event in events {
            if sender.send(Ok(event)).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(BETWEEN) => {}
            () = sender.closed() => return,
        }
    }
}

/// Events behind an id, with the last id. Those that are no longer kept are counted by a `gap` event.
fn behind(rm: &ResourceManager, last: Option<u64>) -> (Vec<Event>, u64) {
    rm.read(|books| {
        let log = books.events();
        let newest = log.last_id();
        // An id of an earlier run of the server may be larger than any of this one.
        let known = last.filter(|&id| id <= newest);
        let from = known.unwrap_or_else(|| newest.saturating_sub(RECENT));
        let kept = from.max(log.first_id().saturating_sub(1));
        let mut events = Vec::new();
        if kept > from && last.is_some() {
            let gap = json!({"dropped": kept - from}).to_string();
            events.push(Event::default().id(kept.to_string()).event("gap").data(gap));
        }
        let mut seen = kept;
        for numbered in log.behind(kept, MOST) {
            seen = numbered.id;
            let text = json!(described(numbered)).to_string();
            events.push(
                Event::default()
                    .id(seen.to_string())
                    .event("event")
                    .data(text),
            );
        }
        (events, seen)
    })
}
