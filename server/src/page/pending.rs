//! The last look at what waits and why, renewed by a thread, so that no request waits for a long one.
//!
//! A look is as old as the time between two looks and the time that one takes. While somebody asks, the time between
//! two looks is a second, or ten times what a look takes. When nobody asked for a minute, it is a second, or a hundred
//! times what a look takes: then looks are for timelines alone. The first question ends that, and takes a look itself
//! where the last one was quick.

use std::sync::{Arc, PoisonError};

use capsched::api::{ApplicationId, Timeline};
use capsched::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};

use super::look::{Looker, Pending};
use super::timelines::{Standing, Timelines};
use crate::rm::ResourceManager;

/// Shortest time between two looks, in ms.
const BETWEEN_MS: u64 = 1000;

/// While somebody asks, a look is taken again after so many times what it took.
const SHARE: u64 = 10;

/// While nobody asks.
const UNASKED_SHARE: u64 = 100;

/// How long a question counts, in ms.
const ASKED_MS: u64 = 60_000;

/// A first question takes a look itself where the last one took no longer, in ms.
const QUICK_MS: u64 = 50;

/// A look at what waits.
#[derive(Clone, Debug)]
pub struct Look {
    pending: Arc<Pending>,
    at_ms: u64,
}

impl Look {
    /// What waited.
    #[must_use]
    pub fn pending(&self) -> &Pending {
        &self.pending
    }

    /// When it waited, in ms since the Unix epoch.
    #[must_use]
    pub fn at_ms(&self) -> u64 {
        self.at_ms
    }
}

/// When the last look ended, and what it took, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    ended_ms: u64,
    took_ms: u64,
}

impl Pace {
    /// Whether the next look may begin. A clock that was set back holds up none.
    fn is_due(self, now_ms: u64, asked_ms: u64) -> bool {
        let is_asked = now_ms.saturating_sub(asked_ms) < ASKED_MS;
        let share = if is_asked { SHARE } else { UNASKED_SHARE };
        let pause = BETWEEN_MS.max(share.saturating_mul(self.took_ms));
        let since = now_ms.checked_sub(self.ended_ms);
        since.is_none_or(|since| since >= pause)
    }
}

/// What looks go on from.
#[derive(Debug, Default)]
struct Looks {
    /// Nothing while a look is taken, and after one that did not end: then the next one begins afresh.
    looker: Option<Looker>,
    pace: Option<Pace>,
}

/// The last look at what waits, and what applications waited for before.
#[derive(Debug)]
pub struct PendingWatch {
    rm: Arc<ResourceManager>,
    /// Held for a copy of a reference.
    last: Mutex<Option<Look>>,
    timelines: Mutex<Timelines>,
    /// Held while a look is taken.
    looks: Mutex<Looks>,
    /// When somebody asked last, in ms since the Unix epoch.
    asked_ms: AtomicU64,
    /// Threads that renew the look.
    followers: AtomicUsize,
}

impl PendingWatch {
    /// A watch over a resource manager.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>) -> Self {
        Self {
            rm,
            last: Mutex::default(),
            timelines: Mutex::default(),
            looks: Mutex::default(),
            asked_ms: AtomicU64::new(0),
            followers: AtomicUsize::new(0),
        }
    }

    /// The last look at what waits. A first question in a minute gets a new one where looks are quick: somebody who
    /// asks once sees what was submitted just before.
    ///
    /// Cost: a lock for a moment, while a thread renews looks. Otherwise, and before the first look has ended, a look.
    #[must_use]
    pub fn last(&self) -> Look {
        let now_ms = self.rm.now_ms();
        // Relaxed, here and below: nothing else is read by them.
        let before_ms = self.asked_ms.swap(now_ms, Ordering::Relaxed);
        if self.followers.load(Ordering::Relaxed) == 0 {
            self.renew();
        } else if now_ms.saturating_sub(before_ms) >= ASKED_MS {
            self.renew_if_quick();
        }
        let known = self.last_look().clone();
        known.unwrap_or_else(|| self.first())
    }

    /// The first look, which a thread may have begun.
    fn first(&self) -> Look {
        let mut looks = self.looks();
        let known = self.last_look().clone();
        known.unwrap_or_else(|| self.look(&mut looks, self.rm.now_ms()))
    }

    /// Takes a look though none is due, unless one is being taken or the last one took long.
    fn renew_if_quick(&self) {
        if let Ok(mut looks) = self.looks.try_lock()
            && looks.pace.is_some_and(|pace| pace.took_ms <= QUICK_MS)
        {
            self.look(&mut looks, self.rm.now_ms());
        }
    }

    /// What an application waited for, from look to look; when the last look was, up to which that is known; and the
    /// present time, up to which the last reason is taken to hold. The first spans of a long history are forgotten.
    ///
    /// Cost: as [`Self::last`].
    #[must_use]
    pub fn timeline(&self, app: ApplicationId) -> (Timeline, u64, u64) {
        let looked_ms = self.last().at_ms;
        let timelines = self.timelines();
        // Within the lock, so that no look is later.
        let now_ms = self.rm.now_ms();
        (timelines.of(app, now_ms), looked_ms, now_ms)
    }

    /// Says that a thread renews the look from now on, until what is returned is dropped.
    #[must_use]
    pub(crate) fn followed(self: Arc<Self>) -> Following {
        self.followers.fetch_add(1, Ordering::Relaxed);
        Following(self)
    }

    /// Takes a look where one is due.
    fn renew(&self) {
        let mut looks = self.looks();
        let begun_ms = self.rm.now_ms();
        // Relaxed: nothing else is read by it.
        let asked_ms = self.asked_ms.load(Ordering::Relaxed);
        let is_due = |pace: Pace| pace.is_due(begun_ms, asked_ms);
        if !looks.pace.is_none_or(is_due) {
            return;
        }
        self.look(&mut looks, begun_ms);
    }

    fn look(&self, looks: &mut Looks, begun_ms: u64) -> Look {
        let newest = self.rm.engine().snapshot();
        let looker = looks.looker.take();
        let mut looker = looker.unwrap_or_else(|| Looker::new(&newest));
        let pending = looker.look(newest);
        looks.looker = Some(looker);
        self.note(begun_ms, &pending);
        let at_ms = begun_ms;
        let look = Look { pending, at_ms };
        *self.last_look() = Some(look.clone());
        let ended_ms = self.rm.now_ms();
        let took_ms = ended_ms.saturating_sub(begun_ms);
        looks.pace = Some(Pace { ended_ms, took_ms });
        look
    }

    /// Has the timelines follow a look. They and the books are locked one after the other, each for a short time.
    fn note(&self, at_ms: u64, seen: &Arc<Pending>) {
        let last = self.last_look().clone();
        let is_known = last.is_some_and(|last| Arc::ptr_eq(&last.pending, seen));
        if !is_known {
            self.timelines().add(at_ms, seen);
        }
        let others = self.timelines().others(seen);
        let standings = self.rm.read(|books| {
            let of = |id| (id, Standing::of(books.app(id)));
            others.into_iter().map(of).collect()
        });
        self.timelines().follow(at_ms, standings);
    }

    fn last_look(&self) -> MutexGuard<'_, Option<Look>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timelines(&self) -> MutexGuard<'_, Timelines> {
        let timelines = self.timelines.lock();
        timelines.unwrap_or_else(PoisonError::into_inner)
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watch whose look a thread renews. When that thread ends, requests look themselves.
#[derive(Debug)]
pub(crate) struct Following(Arc<PendingWatch>);

impl Following {
    /// Takes a look where one is due.
    pub(crate) fn follow(&self) {
        self.0.renew();
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.followers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use capsched::time::ManualClock;
    use tower::ServiceExt;

    use super::*;
    use crate::page::Page;
    use crate::rm::{Answer, Command, Setup, Submission};
    use crate::security::{Access, AccessLimits, Authentication, Hosts};

    /// A manager whose clock stands still, with one application that waits.
    fn manager() -> (Arc<ResourceManager>, ManualClock) {
        let clock = ManualClock::at(1_000_000);
        let name = |name: &str| format!("yarn.scheduler.capacity.root.{name}");
        let scheduler = [("queues", "a"), ("a.capacity", "100")];
        let scheduler = scheduler.map(|(key, value)| (name(key), value.to_owned()));
        let mut setup = Setup::new([].into(), scheduler.into());
        setup.clock = Arc::new(clock.clone());
        let rm = Arc::new(ResourceManager::start(setup).unwrap());
        submit(&rm);
        (rm, clock)
    }

    fn submit(rm: &ResourceManager) {
        let Answer::Application(application) = rm.execute("ann", Command::NewApplication).unwrap()
        else {
            panic!("an id was asked for");
        };
        let submission = Submission {
            application,
            queue: "root.a".to_owned(),
            master: vec![1024, 1],
            ..Submission::default()
        };
        rm.execute("ann", Command::Submit(Box::new(submission)))
            .unwrap();
    }

    /// What the list of applications answers: the reasons of its rows, and their age.
    async fn listed(rm: &Arc<ResourceManager>, watch: &Arc<PendingWatch>) -> serde_json::Value {
        let access = Access::new(
            Arc::<ResourceManager>::clone(rm),
            Authentication::none(),
            true,
            Hosts::default(),
            AccessLimits::default(),
        );
        let page = Page::new(Arc::clone(rm), Arc::clone(watch), Arc::new(access));
        let request = axum::http::Request::get("/v1/apps");
        let request = request.body(axum::body::Body::empty()).unwrap();
        let response = page.router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await;
        let list: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
        let rows = list["apps"].as_array().unwrap().iter();
        let reasons: Vec<_> = rows.map(|row| row["reason"].clone()).collect();
        serde_json::json!([reasons, list["reasons_age_ms"]])
    }

    #[tokio::test]
    #[expect(
        clippy::await_holding_lock,
        reason = "a request that waits for this lock is what must not be"
    )]
    async fn a_request_waits_for_no_look_that_a_thread_takes_and_says_how_old_the_last_one_is() {
        let (rm, clock) = manager();
        let watch = Arc::new(PendingWatch::new(Arc::clone(&rm)));
        let following = Arc::clone(&watch).followed();
        let reason = "NO_NODE_WITH_LABEL";
        let first = listed(&rm, &watch).await;
        assert_eq!(first, serde_json::json!([[reason], 0]));
        submit(&rm);
        clock.advance(std::time::Duration::from_secs(90));
        let stuck = watch.looks();
        let during = listed(&rm, &watch).await;
        assert_eq!(during, serde_json::json!([[reason, null], 90_000]));
        drop(stuck);
        following.follow();
        let after = listed(&rm, &watch).await;
        assert_eq!(after, serde_json::json!([[reason, reason], 0]));
    }

    #[test]
    fn requests_look_themselves_once_no_thread_does() {
        let (rm, clock) = manager();
        let watch = Arc::new(PendingWatch::new(rm));
        let following = Arc::clone(&watch).followed();
        assert_eq!(watch.last().pending().apps.len(), 1);
        drop(following);
        clock.advance(std::time::Duration::from_secs(1));
        assert_eq!(watch.last().at_ms(), 1_001_000);
    }

    #[test]
    fn a_first_question_sees_what_was_submitted_just_before_unless_looks_take_long() {
        let (rm, clock) = manager();
        let watch = Arc::new(PendingWatch::new(Arc::clone(&rm)));
        let following = Arc::clone(&watch).followed();
        following.follow();
        submit(&rm);
        let seen = |watch: &PendingWatch| watch.last().pending().apps.len();
        assert_eq!(seen(&watch), 2);
        submit(&rm);
        assert_eq!(seen(&watch), 2, "somebody asked just before");
        clock.advance(std::time::Duration::from_millis(ASKED_MS));
        watch.looks().pace.as_mut().unwrap().took_ms = QUICK_MS + 1;
        assert_eq!(seen(&watch), 2, "a look takes long");
        clock.advance(std::time::Duration::from_millis(ASKED_MS));
        watch.looks().pace.as_mut().unwrap().took_ms = QUICK_MS;
        assert_eq!(seen(&watch), 3);
    }

    #[test]
    fn what_did_not_change_is_not_looked_at_again() {
        let (rm, clock) = manager();
        let watch = Arc::new(PendingWatch::new(Arc::clone(&rm)));
        let first = watch.last();
        clock.advance(std::time::Duration::from_secs(2));
        let second = watch.last();
        assert_eq!((first.at_ms, second.at_ms), (1_000_000, 1_002_000));
        assert!(Arc::ptr_eq(&first.pending, &second.pending));
        submit(&rm);
        clock.advance(std::time::Duration::from_secs(2));
        let third = watch.last();
        assert_eq!(
            (second.pending.apps.len(), third.pending.apps.len()),
            (1, 2)
        );
    }

    #[test]
    fn looks_take_a_tenth_of_a_thread_while_somebody_asks_and_else_a_hundredth() {
        let pace = Pace {
            ended_ms: 500_000,
            took_ms: 2_000,
        };
        let asked = 500_000;
        assert!(!pace.is_due(519_999, asked));
        assert!(pace.is_due(520_000, asked));
        assert!(!pace.is_due(520_000, asked - 60_000), "nobody asks");
        assert!(!pace.is_due(699_999, 0));
        assert!(pace.is_due(700_000, 0));
        assert!(pace.is_due(499_999, 0), "the clock was set back");
        let quick = Pace { took_ms: 3, ..pace };
        assert!(!quick.is_due(500_999, 0));
        assert!(quick.is_due(501_000, 0));
    }
}
