//! The service of events: what happens, from a number on.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::callers::Callers;
use super::wire::{self, events_server::Events};
use super::{Answers, blocking};
use crate::page::described;
use crate::rm::ResourceManager;

/// Time between two looks at the log.
const BETWEEN: Duration = Duration::from_millis(100);

/// Events of one look at most; a reader that is slower holds up its own stream alone.
const MOST: usize = 1000;

/// Streams that are open at once.
const STREAMS: usize = 64;

/// The service.
#[derive(Clone, Debug)]
pub(super) struct EventService {
    callers: Callers,
    streams: Arc<Semaphore>,
}

impl EventService {
    pub(super) fn new(callers: Callers) -> Self {
        Self {
            callers,
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }
}

/// Events behind a number, with the number of the last one that was looked at.
fn behind(rm: &ResourceManager, from: Option<u64>) -> (Vec<wire::Event>, u64) {
    rm.read(|books| {
        let log = books.events();
        let newest = log.last_id();
        // A number of an earlier run of the server may be larger than any of this one.
        let from = from.filter(|&id| id <= newest).unwrap_or(newest);
        let kept = from.max(log.first_id().saturating_sub(1));
        let (mut seen, mut dropped) = (kept, kept - from);
        let events = log.behind(kept, MOST).map(|numbered| {
            seen = numbered.id;
            let of = described(numbered);
            wire::Event {
                id: numbered.id,
                at_ms: numbered.at_ms,
                kind: of.kind.to_owned(),
                application: of.app.unwrap_or_default(),
                text: of.text,
                dropped: std::mem::take(&mut dropped),
            }
        });
        let events = events.collect();
        (events, seen)
    })
}

/// Sends what comes until the caller is gone.
async fn feed(
    rm: Arc<ResourceManager>,
    mut from: Option<u64>,
    sender: Sender<Result<wire::Event, Status>>,
) {
    loop {
        let looked = Arc::clone(&rm);
        let Ok((events, seen)) = blocking(move || Ok(behind(&looked, from))).await else {
            return;
        };
        from = Some(seen);
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

#[tonic::async_trait]
impl Events for EventService {
    type FollowStream = Answers<wire::Event>;

    async fn follow(
        &self,
        request: Request<wire::FollowRequest>,
    ) -> Result<Response<Self::FollowStream>, Status> {
        self.callers.reader(&request)?;
        let permit = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Status::resource_exhausted("as many streams of events are open as there may be")
        })?;
        let (sender, receiver) = mpsc::channel(MOST);
        let (rm, from) = (Arc::clone(&self.callers.rm), request.into_inner().behind);
        tokio::spawn(async move {
            feed(rm, from, sender).await;
            drop(permit);
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}
