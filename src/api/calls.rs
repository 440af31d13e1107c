//! Calls of a started engine that are made of others: the usual figures.

use crate::metrics::{Latency, Phase};
use crate::runtime::Threaded;

impl Threaded {
    /// The figures of the decisions so far, in ns: how long a proposer took for one that proposed
    /// something. Which ones are measured says [`Latencies`](crate::api::Latencies); in heartbeat
    /// mode, where a call of the caller decides, there are none.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).mode(Mode::Global { threads: 1 }).start()?;
    /// let latency = engine.latency();
    /// println!("{} decisions, p99 {} ns", latency.n, latency.p99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn latency(&self) -> Latency {
        let all = self.latencies();
        let decisions = all.get(Phase::Propose);
        decisions.map(|found| found.latency()).unwrap_or_default()
    }
}
