//! Choices read off a list of drawn numbers.

/// Numbers that decide; zeros when they run out, which stand for the plainest choice.
#[derive(Debug)]
pub(crate) struct Dice {
    numbers: std::vec::IntoIter<u16>,
    /// Whether the scenario is for the real scheduler, which knows everything.
    real: bool,
}

impl Dice {
    /// Dice that fall as the numbers say.
    pub(crate) fn new(numbers: Vec<u16>) -> Self {
        Self {
            numbers: numbers.into_iter(),
            real: false,
        }
    }

    /// The same for a scenario that the real scheduler plays, when `real`.
    pub(crate) fn with(numbers: Vec<u16>, real: bool) -> Self {
        Self {
            real,
            ..Self::new(numbers)
        }
    }

    /// Whether the scenario is for the real scheduler.
    pub(crate) const fn is_real(&self) -> bool {
        self.real
    }

    /// A chance of what only the real scheduler is asked about; the model in the tests is not.
    pub(crate) fn rare(&mut self, percent: u16) -> bool {
        self.chance(percent) && self.real
    }

    /// A number below `n`, 0 for an empty range.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let drawn = usize::from(self.numbers.next().unwrap_or(0));
        drawn.checked_rem(n).unwrap_or(0)
    }

    /// Whether something happens that does in `percent` of all cases; small numbers say no.
    pub(crate) fn chance(&mut self, percent: u16) -> bool {
        self.below(100) >= usize::from(100 - percent)
    }

    /// One of several; the first is the plainest.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A position, each as likely as its weight.
    pub(crate) fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        for (i, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return i;
            }
            rest -= weight;
        }
        0
    }
}
