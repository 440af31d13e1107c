//! Engines by handle, and the two functions that Java calls.
//!
//! A handle that belongs to no engine is refused like any other wrong value. A panic becomes an answer; the engine
//! itself survives panics of its threads.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use capsched::api::Engine;
use capsched::config::Options;

use crate::calls::{self, Call, Failure};
use crate::configuration::{Prepared, Start};
use crate::wire::{Reader, Writer};

const DONE: u8 = 0;
const REFUSED: u8 = 1;
const FAILED: u8 = 2;

/// An engine with what belongs to it.
#[derive(Debug)]
pub struct Session {
    /// The engine.
    pub engine: Engine,
    /// How its configuration is read again.
    pub options: Options,
    /// Number of resource types.
    pub types: usize,
}

#[derive(Debug)]
struct Sessions {
    last: i64,
    live: BTreeMap<i64, Arc<Session>>,
}

static SESSIONS: RwLock<Sessions> = RwLock::new(Sessions {
    last: 0,
    live: BTreeMap::new(),
});

/// Starts an engine with a request of [`Start::read`]; the answer is its handle and the warnings of its configuration.
#[must_use]
pub fn start(request: &[u8]) -> Vec<u8> {
    answered(|writer| {
        let mut reader = Reader::new(request);
        let start = Start::read(&mut reader)?;
        reader.end()?;
        let Prepared {
            builder,
            options,
            types,
            warnings,
        } = start
            .prepare()
            .map_err(|text| Failure::refused("configuration", text))?;
        let engine = builder
            .start()
            .map_err(|error| Failure::refused("start", error.to_string()))?;
        let session = Arc::new(Session {
            engine,
            options,
            types,
        });
        let mut sessions = SESSIONS.write().unwrap_or_else(PoisonError::into_inner);
        sessions.last += 1;
        let handle = sessions.last;
        sessions.live.insert(handle, session);
        writer.long(handle);
        writer.list(&warnings, |writer, warning| writer.text(warning));
        Ok(())
    })
}

/// Carries out one call on the engine of a handle. The call with number 0 ends the engine.
#[must_use]
pub fn call(handle: i64, call: i32, request: &[u8]) -> Vec<u8> {
    answered(|writer| {
        let Some(call) = Call::of(call) else {
            return Err(Failure::refused("call", format!("there is no call {call}")));
        };
        let gone = || Failure::refused("handle", format!("there is no engine {handle}"));
        if call == Call::Stop {
            let mut sessions = SESSIONS.write().unwrap_or_else(PoisonError::into_inner);
            let session = sessions.live.remove(&handle).ok_or_else(gone)?;
            // Calls that run keep the engine until they have returned; it ends with the last of them.
            session.engine.request_stop();
            return Ok(());
        }
        let sessions = SESSIONS.read().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.live.get(&handle).cloned().ok_or_else(gone)?;
        drop(sessions);
        let mut reader = Reader::new(request);
        calls::carry_out(&session, call, &mut reader, writer)
    })
}

/// The answer of what writes it, an error or a panic included.
fn answered(work: impl FnOnce(&mut Writer) -> Result<(), Failure>) -> Vec<u8> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut writer = Writer::default();
        writer.byte(DONE);
        work(&mut writer).map(|()| writer)
    }));
    let (status, failure) = match outcome {
        Ok(Ok(writer)) => return writer.into_bytes(),
        Ok(Err(failure)) => (REFUSED, failure),
        Err(payload) => (FAILED, Failure::refused("panic", cause(&*payload))),
    };
    let mut writer = Writer::default();
    writer.byte(status);
    writer.text(failure.code());
    writer.text(failure.text());
    writer.into_bytes()
}

fn cause(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        let answer = answered(|_| panic!("a planted panic"));
        let mut reader = Reader::new(&answer[1..]);
        assert_eq!(answer[0], FAILED);
        assert_eq!(reader.text().as_deref(), Ok("panic"));
        assert_eq!(reader.text().as_deref(), Ok("a planted panic"));
    }
}
