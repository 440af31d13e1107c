//! Calls of the engine to its monitor.
//!
//! Tests: `tests/preemption/periodic.rs`.

use std::any::Any;

use super::engine::Threaded;
use super::engine_clock::EngineClock;
use super::monitor::{Access, Monitor, MonitorHandle, Request, watched};
use super::start::StartError;
use crate::commit::PreemptionRound;
use crate::time::Clock;

impl Threaded {
    /// Starts the thread of a monitor, whose first round is due at once. One that was started
    /// before is no longer reachable, but goes on.
    ///
    /// # Errors
    ///
    /// When the operating system refuses the thread.
    pub fn start_monitor<C: Clock + 'static>(
        &mut self,
        monitor: Box<dyn Monitor>,
        clock: C,
    ) -> Result<(), StartError> {
        self.start_watcher(monitor, EngineClock::of(clock))
    }

    fn start_watcher(
        &mut self,
        monitor: Box<dyn Monitor>,
        clock: EngineClock,
    ) -> Result<(), StartError> {
        let access = Access::of(self.commands.clone());
        let ends = (self.shutdown.clone(), self.panics.clone());
        let (handle, watcher) = watched(monitor, access, clock, ends);
        self.monitor = Some(handle);
        self.spawn("capsched-monitor", move || watcher.run())
    }

    /// Runs the round of the monitor that is due by the clock, if one is, and waits for it: for
    /// clocks that are moved by hand. Nothing as well without a monitor.
    #[must_use]
    pub fn preempt_if_due(&self) -> Option<PreemptionRound> {
        self.reachable_monitor()?.call(Request::Due).flatten()
    }

    /// Runs a round of the monitor at once and waits for it; the times of the others stay. Nothing
    /// without a monitor, or once the engine has shut down.
    #[must_use]
    pub fn preempt_now(&self) -> Option<PreemptionRound> {
        self.reachable_monitor()?.call(Request::Now)
    }

    /// Gives the monitor a message of a type that it knows, and waits until it was taken. Whether it
    /// was: not without a monitor, nor by one that panicked over it.
    pub fn notify_monitor(&self, message: Box<dyn Any + Send>) -> bool {
        let call = |monitor: &MonitorHandle| monitor.call(|reply| Request::Message(message, reply));
        self.reachable_monitor().and_then(call).is_some()
    }

    /// The monitor, unless this thread runs a closure of a caller, for which the monitor would wait.
    fn reachable_monitor(&self) -> Option<&MonitorHandle> {
        let monitor = self.monitor.as_ref();
        monitor.filter(|_| !self.commands.are_inside())
    }

    /// The monitor is not among the threads that a shutdown wakes by itself.
    pub(in crate::runtime) fn wake_monitor(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.wake();
        }
    }

    /// Rounds of the monitor so far.
    #[must_use]
    pub fn monitor_rounds(&self) -> u64 {
        self.monitor.as_ref().map_or(0, MonitorHandle::rounds)
    }
}
