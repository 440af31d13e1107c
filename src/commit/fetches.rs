//! Fetches: calls of applications that ask for nothing and take what they got. Long changes pause for them.
//!
//! 1. They come by an inbox of their own, beside that of other calls.
//! 2. The owner of the ledger carries them out in each turn before other calls.
//! 3. The ledger also does so in the pauses of a long change
//!    ([`VisitedQueues::pause`](super::tree::visited_queues::VisitedQueues::pause)), where nothing else is served.
//!
//! # Why it is valid
//!
//! In a pause a fetch decides nothing. It writes containers of its application, and what is computed for a user of its
//! leaf. Steps between two pauses are whole: the figures of a queue, an application, a container.
//!
//! * What is computed for a user holds for a version of the leaf's users and an epoch. A visit moves the epoch before the
//!   figures of each leaf, and the version behind them. A charge moves the version.
//! * What a change listed before a pause stays: a fetch ends no container, and no slot becomes free.
//! * The headroom in the answer may follow from the new total and capacities before it. So may that of an `allocate`
//!   beside `updateClusterResource` in the reference.
//!
//! # What waits for the end of the change
//!
//! * All fetches, where a tree is changed as a whole: a refresh that is not prepared, and queues that are created.
//! * Fetches whose application waits for its master, has changed containers to take or waits for opportunistic ones.
//! * Those that have containers to take, where opportunistic containers are enabled or events hand containers out: there
//!   more follows from that.
//!
//! Tests: `tests/runtime/fetches.rs`.

use std::collections::VecDeque;
use std::fmt;

use crate::commit::apps::ask_error::AskError;
use crate::id::{AppSlot, ApplicationId};
use crate::queue::AskReply;
use crate::sync::{InboxReceiver, Parker, Received};

/// Moments of a visit from one look for fetches to the next: a queue takes some 0.3 us.
const MOMENTS: usize = 64;

type Answer = Box<dyn FnOnce(Result<AskReply, AskError>) + Send>;

/// A fetch, and how far it is carried out.
pub(crate) struct Fetch {
    app: ApplicationId,
    /// The application's slot and its generation when it began.
    owner: Option<(AppSlot, u32)>,
    /// Whether opportunistic containers that were asked for before are placed as far as they can be.
    placed: bool,
    reply: AskReply,
    answer: Answer,
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch")
            .field("app", &self.app)
            .finish_non_exhaustive()
    }
}

impl Fetch {
    /// A fetch of an application, of which one answer is handed to a closure. If none comes, the closure is dropped.
    pub(crate) fn of(
        app: ApplicationId,
        answer: impl FnOnce(Result<AskReply, AskError>) + Send + 'static,
    ) -> Box<Self> {
        let mut reply = AskReply::default();
        // Memory that another thread gives back costs both.
        reply.allocated.reserve(1);
        Box::new(Self {
            app,
            owner: None,
            placed: false,
            reply,
            answer: Box::new(answer),
        })
    }

    /// The application.
    pub(crate) const fn app(&self) -> ApplicationId {
        self.app
    }

    /// Whether opportunistic containers are placed as far as they can be, for which there is one round.
    pub(super) const fn is_placed(&self) -> bool {
        self.placed
    }

    /// They are.
    pub(super) fn set_placed(&mut self) {
        self.placed = true;
    }

    /// Whether a part of it was carried out.
    pub(super) const fn is_begun(&self) -> bool {
        self.owner.is_some()
    }

    /// The reply, while it is the same application that it began for, by slot and generation.
    pub(super) fn reply_to(&mut self, owner: (AppSlot, u32)) -> Result<&mut AskReply, AskError> {
        if *self.owner.get_or_insert(owner) != owner {
            return Err(AskError::UnknownApplication(self.app));
        }
        Ok(&mut self.reply)
    }

    /// Answers what it came to. It is returned where it goes on.
    pub(crate) fn answer(self: Box<Self>, came_to: Result<bool, AskError>) -> Option<Box<Self>> {
        match came_to {
            Ok(false) => return Some(self),
            Ok(true) => (self.answer)(Ok(self.reply)),
            Err(error) => (self.answer)(Err(error)),
        }
        None
    }
}

/// A clock, in ns.
pub(crate) type PauseClock = Box<dyn FnMut() -> u64 + Send>;

/// The fetches that wait for a ledger.
#[derive(Default)]
pub(crate) struct Fetches {
    /// Nothing where nobody sends any.
    inbox: Option<InboxReceiver<Box<Fetch>>>,
    /// Those that are begun, which go on in each turn by one budget.
    begun: VecDeque<Box<Fetch>>,
    /// Those that wait for the end of a change, in the order in which they came.
    put_off: VecDeque<Box<Fetch>>,
    /// Moments since the last pause.
    moments: usize,
    /// How often one was carried out or begun in a pause.
    in_pauses: u64,
    /// When a pause ends, where that is measured.
    clock: Option<PauseClock>,
    /// When pauses ended since the last call of [`Self::take_pauses`].
    pauses: Vec<u64>,
}

impl fmt::Debug for Fetches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetches")
            .field("put_off", &self.put_off.len())
            .finish_non_exhaustive()
    }
}

impl Fetches {
    /// Takes fetches from an inbox from now on.
    pub(crate) fn attach(&mut self, inbox: InboxReceiver<Box<Fetch>>) {
        (self.inbox, self.moments) = (Some(inbox), 0);
    }

    /// Notes when pauses end.
    pub(crate) fn time_pauses(&mut self, clock: PauseClock) {
        self.clock = Some(clock);
    }

    /// The one that was begun first.
    pub(crate) fn pop_begun(&mut self) -> Option<Box<Fetch>> {
        self.begun.pop_front()
    }

    /// The next one that is to be begun.
    pub(crate) fn pop(&mut self) -> Option<Box<Fetch>> {
        self.put_off.pop_front().or_else(|| self.receive())
    }

    /// The one that goes on next in a pause: those that wait for its end are passed, and long ones come behind others.
    pub(super) fn pop_in_pause(&mut self) -> Option<Box<Fetch>> {
        self.receive().or_else(|| self.begun.pop_front())
    }

    /// Whether one is begun.
    pub(crate) fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    fn receive(&mut self) -> Option<Box<Fetch>> {
        match self.inbox.as_mut()?.try_recv() {
            Received::Item(fetch) => Some(fetch),
            Received::Empty | Received::Finished => None,
        }
    }

    /// Leaves one to the next part.
    pub(crate) fn go_on_with(&mut self, fetch: Box<Fetch>) {
        self.begun.push_back(fetch);
    }

    /// Leaves one to the end of the present change.
    pub(super) fn put_off(&mut self, fetch: Box<Fetch>) {
        self.put_off.push_back(fetch);
    }

    /// Whether any waits.
    pub(crate) fn has_news(&self) -> bool {
        let is_left = self.has_begun() || !self.put_off.is_empty();
        is_left || self.inbox.as_ref().is_some_and(InboxReceiver::has_news)
    }

    /// Refuses further ones, and hands over all that were accepted.
    pub(crate) fn finish(&mut self, parker: &Parker, mut take: impl FnMut(Box<Fetch>)) {
        let left = self.begun.drain(..);
        left.chain(self.put_off.drain(..)).for_each(&mut take);
        if let Some(inbox) = &mut self.inbox {
            inbox.finish(parker, take);
        }
    }

    /// Counts a moment at which a change may pause; whether it does.
    #[inline]
    pub(super) fn is_pause(&mut self) -> bool {
        self.moments += 1;
        let is_pause = self.moments == MOMENTS;
        if is_pause {
            self.moments = 0;
        }
        is_pause
    }

    /// One is carried out or begun in a pause.
    pub(super) fn note_in_pause(&mut self) {
        self.in_pauses += 1;
    }

    /// How often that was so.
    pub(super) const fn in_pauses(&self) -> u64 {
        self.in_pauses
    }

    /// A pause ends.
    pub(super) fn end_pause(&mut self) {
        let now_ns = self.clock.as_mut().map(|now| now());
        self.pauses.extend(now_ns);
    }

    /// When pauses ended since the last call, in ns.
    pub(crate) fn take_pauses(&mut self) -> impl Iterator<Item = u64> {
        self.pauses.drain(..)
    }
}
