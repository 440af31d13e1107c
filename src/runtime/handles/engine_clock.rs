//! The clock of an engine with threads, whatever its type: the engine is compiled once, in this library, and
//! not again by everybody who starts one.
//!
//! Tests: `tests/runtime/panics.rs`.

use std::any::Any;
use std::sync::Arc as StdArc;

use crate::time::{Clock, SystemClock};

/// The machine's clock, or another one behind a pointer.
#[derive(Clone)]
pub(in crate::runtime) enum EngineClock {
    /// Read without a step through the pointer: most engines have it.
    System(SystemClock),
    Other(StdArc<dyn Clock>),
}

impl EngineClock {
    pub(in crate::runtime) fn of<C: Clock + 'static>(clock: C) -> Self {
        match (&clock as &dyn Any).downcast_ref::<SystemClock>() {
            Some(system) => Self::System(*system),
            None => Self::Other(StdArc::new(clock)),
        }
    }
}

impl Clock for EngineClock {
    fn now_ms(&self) -> u64 {
        match self {
            Self::System(clock) => clock.now_ms(),
            Self::Other(clock) => clock.now_ms(),
        }
    }

    fn now_ns(&self) -> u64 {
        match self {
            Self::System(clock) => clock.now_ns(),
            Self::Other(clock) => clock.now_ns(),
        }
    }
}
