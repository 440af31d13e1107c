//! An open loop that is answered at once: what the machine itself adds to latencies.
//!
//! One thread asks on the schedule of `perf open`, another hands back whatever it finds, and
//! neither ever sleeps. Nothing is decided, so a stall seen here is one of the machine.

use anyhow::{Result, ensure};
use capsched::metrics::Histogram;
use capsched::sync::{AtomicBool, Ordering, spin_loop};
use capsched::time::{Clock, SystemClock};
use crossbeam_queue::ArrayQueue;

use crate::machine;
use crate::open::{GRACE_NS, Schedule};

/// Asks that may be on their way in either direction.
const QUEUE: usize = 65_536;

/// Offers `rate` asks a second for some seconds; latencies from the moment an ask was due.
pub(crate) fn measure(rate: u64, seconds: u64) -> Result<Histogram> {
    ensure!(rate > 0, "a rate is at least one ask a second");
    let (there, back) = (ArrayQueue::new(QUEUE), ArrayQueue::new(QUEUE));
    let ended = AtomicBool::new(false);
    let latency = std::thread::scope(|scope| {
        scope.spawn(|| {
            machine::stand_on(0);
            echo(&there, &back, &ended);
        });
        let latency = offer(rate, seconds, &there, &back);
        // Relaxed: the queues hand everything over.
        ended.store(true, Ordering::Relaxed);
        latency
    });
    Ok(latency)
}

/// Asks whatever is due and takes what came back, until every answer is there or late.
fn offer(rate: u64, seconds: u64, there: &ArrayQueue<u64>, back: &ArrayQueue<u64>) -> Histogram {
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let mut schedule = Schedule::new(began, rate);
    let end = began + seconds * 1_000_000_000;
    let mut latency = Histogram::new();
    let mut now = clock.now_ns();
    let all = rate.saturating_mul(seconds);
    // Counted: what fell due while this thread did not run is asked late. Timed, too, for rates that
    // nothing keeps up with.
    while latency.len() < all && now < end + GRACE_NS {
        let room = QUEUE - there.len();
        for due in schedule.due(now.min(end - 1), room) {
            // There is room, and nobody else fills it.
            let _ = there.push(due);
        }
        std::thread::yield_now();
        now = clock.now_ns();
        while let Some(due) = back.pop() {
            latency.record(now.saturating_sub(due));
        }
    }
    latency
}

fn echo(there: &ArrayQueue<u64>, back: &ArrayQueue<u64>, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        let Some(mut due) = there.pop() else {
            spin_loop();
            continue;
        };
        while let Err(full) = back.push(due) {
            due = full;
            if ended.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ask_of_the_schedule_comes_back_once() {
        assert_eq!(measure(5000, 1).unwrap().len(), 5000);
    }
}
