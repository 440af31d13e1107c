//! The load of a federation: applications with a queue, a size and lives of containers, drawn from a seed.

/// Containers of an application with the share in 100 of applications that have so many.
const SIZES: [(u32, u64); 3] = [(10, 70), (100, 25), (1_000, 5)];

/// Numbers without a pattern, the same for one seed.
// As SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound that is not 0.
    pub(super) const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Seconds of a life, exponentially distributed round a mean, at least 1.
    #[expect(
        clippy::float_arithmetic,
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a drawn time, rounded to whole seconds"
    )]
    pub(super) fn life_s(&mut self, mean_s: u64) -> u64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let life = -(1.0 - part).ln() * mean_s as f64;
        (life.round() as u64).max(1)
    }
}

/// One application of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) queue: usize,
    pub(super) containers: u32,
}

/// Draws applications, so many containers a second.
#[derive(Clone, Debug)]
pub(super) struct Load {
    random: Random,
    /// Sums of the weights of queues up to each of them.
    queues: Vec<u64>,
    per_second: u64,
    /// Containers that earlier seconds had too many.
    ahead: u64,
}

impl Load {
    /// A load over queues, of which the first have the most work.
    pub(super) fn new(seed: u64, queues: u32, per_second: u64) -> Self {
        let mut sum = 0;
        let weights = (0..u64::from(queues)).map(|queue| 100_000 / (queue + 10));
        let queues = weights.map(|weight| {
            sum += weight.max(1);
            sum
        });
        Self {
            random: Random::seeded(seed),
            queues: queues.collect(),
            per_second,
            ahead: 0,
        }
    }

    fn draw(&mut self) -> Drawn {
        let total = self.queues.last().copied().unwrap_or(1);
        let at = self.random.below(total);
        let queue = self.queues.partition_point(|sum| *sum <= at);
        let mut percent = self.random.below(100);
        for (containers, share) in SIZES {
            match percent.checked_sub(share) {
                Some(left) => percent = left,
                None => return Drawn { queue, containers },
            }
        }
        Drawn {
            queue,
            containers: 1,
        }
    }

    /// The applications of the next second.
    pub(super) fn second(&mut self) -> Vec<Drawn> {
        let mut drawn = Vec::new();
        let mut containers = std::mem::take(&mut self.ahead);
        while containers < self.per_second {
            let app = self.draw();
            containers += u64::from(app.containers);
            drawn.push(app);
        }
        self.ahead = containers - self.per_second;
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_repeats_and_has_the_wanted_rate_and_every_queue() {
        let drawn = |seed| {
            let mut load = Load::new(seed, 20, 5_000);
            (0..50).flat_map(|_| load.second()).collect::<Vec<_>>()
        };
        let first = drawn(3);
        assert_eq!(first, drawn(3));
        assert_ne!(first, drawn(4));
        let containers: u64 = first.iter().map(|app| u64::from(app.containers)).sum();
        assert!((250_000..251_000).contains(&containers), "{containers}");
        let of = |queue| first.iter().filter(|app| app.queue == queue).count();
        assert!((0..20).all(|queue| of(queue) > 0));
        assert!(of(0) > of(19));
    }

    #[test]
    fn lives_have_their_mean() {
        let mut random = Random::seeded(1);
        let sum: u64 = (0..20_000).map(|_| random.life_s(30)).sum();
        assert!((580_000..620_000).contains(&sum), "{sum}");
    }
}
