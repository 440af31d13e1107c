//! Rounds on a copy of the engine, and what they come to for one application.

use crate::api::scheduler::Scheduler as _;
use crate::api::stepped::Stepped;
use crate::commit::Event;
use crate::id::ApplicationId;
use crate::queue::AppStage;

/// Rounds that a trial runs at most.
const ROUNDS: usize = 64;

/// Rounds without a container after which a trial ends.
const IDLE: usize = 3;

/// What a trial came to for one application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gain {
    pub(super) placed: u64,
    pub(super) active: bool,
}

/// Rounds on a copy until nothing more comes of them.
pub(super) fn played(mut copy: Stepped, app: ApplicationId) -> Gain {
    let (mut events, mut idle) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let placed = copy.tick();
        idle = if placed > 0 { 0 } else { idle + 1 };
        if idle >= IDLE {
            break;
        }
    }
    copy.events(&mut events);
    let own = |event: &&Event| match event {
        Event::Allocated { container, .. } => container.app == app,
        _ => false,
    };
    let ledger = copy.engine().ledger();
    let active = |slot| ledger.state().apps[slot].stage == AppStage::Active;
    Gain {
        placed: events
            .iter()
            .filter(own)
            .count()
            .try_into()
            .unwrap_or(u64::MAX),
        active: ledger.app(app).is_some_and(active),
    }
}
