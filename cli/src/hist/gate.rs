//! Conditions on latencies that make `hist` fail, such as `p99>100us` or `propose.p99.9>1.1*base`.

use std::time::Duration;

use capsched::metrics::{Histogram, TaggedInterval};

use super::name;

/// Phase that a condition without one is about: a whole decision.
const DECISION: &str = "propose";

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    text: String,
    phase: Option<String>,
    measure: Measure,
    above: bool,
    or_equal: bool,
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// The latency that this share of all does not exceed.
    Quantile(f64),
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Ns(u64),
    /// So many times the same figure of the base.
    OfBase(f64),
}

impl Measure {
    fn parse(text: &str) -> Option<Self> {
        if text == "max" {
            return Some(Self::Max);
        }
        let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
        #[expect(clippy::float_arithmetic, reason = "a percentage as a share")]
        let share = percent / 100.0;
        (0.0..=1.0)
            .contains(&share)
            .then_some(Self::Quantile(share))
    }

    fn of(self, histogram: &Histogram) -> u64 {
        match self {
            Self::Quantile(share) => histogram.quantile(share),
            Self::Max => histogram.latency().max,
        }
    }
}

/// Reads `[PHASE.]pNN>TIME` or `[PHASE.]pNN>FACTOR*base`.
pub(super) fn condition(text: &str) -> Result<Condition, String> {
    let bad = || {
        let shown = text.escape_debug();
        format!(
            "`{shown}` is no condition such as `p99>100us`, `max>=2ms` or `propose.p99.9>1.1*base`"
        )
    };
    let at = text.find(['<', '>']).ok_or_else(bad)?;
    let (left, right) = (text[..at].trim(), &text[at + 1..]);
    let or_equal = right.starts_with('=');
    let right = right.strip_prefix('=').unwrap_or(right).trim();
    let (phase, measure) = measured(left).ok_or_else(bad)?;
    Ok(Condition {
        text: text.trim().to_owned(),
        phase,
        measure,
        above: text[at..].starts_with('>'),
        or_equal,
        bound: bound(right).ok_or_else(bad)?,
    })
}

/// Phase and measure; the phase ends at the first dot behind which a measure stands.
fn measured(text: &str) -> Option<(Option<String>, Measure)> {
    if let Some(measure) = Measure::parse(text) {
        return Some((None, measure));
    }
    let mut dots = text.match_indices('.').map(|(dot, _)| dot);
    dots.find_map(|dot| {
        let measure = Measure::parse(&text[dot + 1..])?;
        Some((Some(text[..dot].to_owned()), measure))
    })
}

fn bound(text: &str) -> Option<Bound> {
    if let Some(factor) = text.strip_suffix("base") {
        let factor = factor.trim_end().strip_suffix('*')?.trim();
        let factor: f64 = factor.parse().ok()?;
        return (factor.is_finite() && factor > 0.0).then_some(Bound::OfBase(factor));
    }
    let units: [(&str, f64); 4] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, seconds) = units
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    let number: f64 = number.trim().parse().ok()?;
    #[expect(clippy::float_arithmetic, reason = "a time in any unit as seconds")]
    let time = Duration::try_from_secs_f64(number * seconds).ok()?;
    Some(Bound::Ns(u64::try_from(time.as_nanos()).ok()?))
}

/// What holds of a condition on one log.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) condition: String,
    pub(super) phase: String,
    pub(super) ns: u64,
    pub(super) bound_ns: u64,
}

impl Condition {
    /// Whether it needs a run to compare with.
    pub(super) fn needs_base(&self) -> bool {
        matches!(self.bound, Bound::OfBase(_))
    }

    /// The phases of a log on which the condition holds.
    ///
    /// # Errors
    ///
    /// When no phase is meant by it, or the base lacks one.
    pub(super) fn broken(
        &self,
        phases: &[TaggedInterval],
        base: Option<&[TaggedInterval]>,
    ) -> Result<Vec<Broken>, String> {
        let named = |wanted: &str| phases.iter().any(|phase| name(phase) == wanted);
        let wanted = match &self.phase {
            Some(phase) => Some(phase.as_str()),
            None => Some(DECISION).filter(|phase| named(phase)),
        };
        let meant = phases
            .iter()
            .filter(|phase| wanted.is_none_or(|wanted| wanted == name(phase)));
        let mut broken = Vec::new();
        let mut seen = false;
        for phase in meant {
            seen = true;
            let (ns, bound_ns) = (
                self.measure.of(&phase.latencies),
                self.bound_ns(phase, base)?,
            );
            if self.holds(ns, bound_ns) {
                broken.push(Broken {
                    condition: self.text.clone(),
                    phase: name(phase).to_owned(),
                    ns,
                    bound_ns,
                });
            }
        }
        if seen {
            return Ok(broken);
        }
        let names: Vec<&str> = phases.iter().map(name).collect();
        let there = names.join(", ");
        Err(format!("`{}` names no phase; there are {there}", self.text))
    }

    fn holds(&self, ns: u64, bound_ns: u64) -> bool {
        match (self.above, self.or_equal) {
            (true, false) => ns > bound_ns,
            (true, true) => ns >= bound_ns,
            (false, false) => ns < bound_ns,
            (false, true) => ns <= bound_ns,
        }
    }

    fn bound_ns(
        &self,
        phase: &TaggedInterval,
        base: Option<&[TaggedInterval]>,
    ) -> Result<u64, String> {
        let factor = match self.bound {
            Bound::Ns(ns) => return Ok(ns),
            Bound::OfBase(factor) => factor,
        };
        let mut base = base.unwrap_or_default().iter();
        let base = base.find(|other| name(other) == name(phase));
        let base = base.ok_or_else(|| format!("`{}`: the base lacks the phase", self.text))?;
        let base = Duration::from_nanos(self.measure.of(&base.latencies));
        let bound = base.as_nanos();
        #[expect(
            clippy::float_arithmetic,
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a bound that a person gives as a factor"
        )]
        let bound = (bound as f64 * factor) as u64;
        Ok(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(tag: &str, ns: u64) -> Vec<TaggedInterval> {
        let mut latencies = Histogram::new();
        latencies.record(ns);
        vec![TaggedInterval {
            tag: tag.to_owned(),
            start: Duration::ZERO,
            length: Duration::from_secs(1),
            latencies,
        }]
    }

    #[test]
    fn conditions_have_a_phase_a_measure_and_a_bound() {
        let one = condition("end-to-end.p99.9 >= 1.5ms").unwrap();
        assert_eq!(one.phase.as_deref(), Some("end-to-end"));
        assert_eq!(one.bound, Bound::Ns(1_500_000));
        assert!(one.or_equal && one.above && !one.needs_base());
        assert!(condition("p99>1.1*base").unwrap().needs_base());
        for bad in [
            "p99",
            "p101>1us",
            "q9>1us",
            "p9>",
            "p9>1",
            "p9>x*base",
            ">1us",
            "p9>-1us",
        ] {
            assert!(condition(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_condition_holds_for_the_phases_that_it_means() {
        let broken = |text: &str, of: &[TaggedInterval], base: Option<&[TaggedInterval]>| {
            condition(text)
                .unwrap()
                .broken(of, base)
                .map(|all| all.len())
        };
        let run = log("propose", 200_000);
        assert_eq!(broken("p99>100us", &run, None), Ok(1));
        assert_eq!(broken("p99>300us", &run, None), Ok(0));
        assert_eq!(broken("p99<300us", &run, None), Ok(1));
        let base = log("propose", 100_000);
        assert_eq!(broken("max>1.5*base", &run, Some(&base)), Ok(1));
        assert_eq!(broken("max>2.5*base", &run, Some(&base)), Ok(0));
        assert!(broken("apply.p99>1us", &run, None).is_err());
        let other = log("x", 100_000);
        assert!(broken("max>1*base", &run, Some(&other)).is_err());
        assert_eq!(
            broken("max>1us", &other, None),
            Ok(1),
            "a foreign log has other phases"
        );
    }
}
