//! Conditions on the figures of a comparison that make `compare` fail, such as `global.p99 > 1.1 * base`.

use serde_json::Value;

use crate::output::Problem;

/// One condition: `[COLUMN.]FIGURE > BOUND`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gate {
    text: String,
    /// Column and figure as written; which is which depends on the columns.
    left: Vec<String>,
    order: GateOrder,
    bound: GateBound,
}

/// How a figure and its bound are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateOrder {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// What a figure is compared with.
#[derive(Clone, Debug, PartialEq)]
enum GateBound {
    Number(f64),
    /// So many times a figure of the base: the same one, or that of a path.
    OfBase(f64, Vec<String>),
}

/// A condition that holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GateFailure {
    pub(crate) condition: String,
    pub(crate) column: String,
    pub(crate) value: f64,
    pub(crate) bound: f64,
}

/// Reads `[COLUMN.]FIGURE>BOUND`; a bound is a number, or `[FACTOR*]base[.FIGURE]`.
pub(crate) fn gate(text: &str) -> Result<Gate, String> {
    let bad = || {
        let shown = text.escape_debug();
        format!(
            "`{shown}` is no condition such as `global.p99 > 1.1 * base`, `waiting>0` or `wait_ms.p95 >= base`"
        )
    };
    let at = text.find(['<', '>']).ok_or_else(bad)?;
    let right = &text[at + 1..];
    let (or_equal, right) = match right.strip_prefix('=') {
        Some(right) => (true, right),
        None => (false, right),
    };
    let order = match (text[at..].starts_with('>'), or_equal) {
        (true, false) => GateOrder::Above,
        (true, true) => GateOrder::AtLeast,
        (false, false) => GateOrder::Below,
        (false, true) => GateOrder::AtMost,
    };
    let left = path(text[..at].trim()).ok_or_else(bad)?;
    Ok(Gate {
        text: text.trim().to_owned(),
        left,
        order,
        bound: bound(right.trim()).ok_or_else(bad)?,
    })
}

/// The words of a path; a percentile such as `p99.9` is one word.
fn path(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split('.') {
        let is_decimal = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        match words.last_mut() {
            Some(last) if is_decimal && last.starts_with('p') => last.push_str(word),
            _ if word.is_empty() || word.contains(char::is_whitespace) => return None,
            _ => words.push(word.to_owned()),
        }
    }
    (!words.is_empty()).then_some(words)
}

fn bound(text: &str) -> Option<GateBound> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|of| of.is_finite());
    let (factor, base) = match text.split_once('*') {
        Some((factor, base)) => (number(factor).filter(|factor| *factor > 0.0)?, base.trim()),
        None if text.starts_with("base") => (1.0, text),
        None => return number(text).map(GateBound::Number),
    };
    let of = base.strip_prefix("base")?;
    if of.is_empty() {
        return Some(GateBound::OfBase(factor, Vec::new()));
    }
    Some(GateBound::OfBase(factor, path(of.strip_prefix('.')?)?))
}

impl std::fmt::Display for GateFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {} has {}, the bound is {}",
            self.condition, self.column, self.value, self.bound
        )
    }
}

impl Gate {
    /// Whether it needs the comparison of an earlier run.
    pub(crate) const fn needs_base(&self) -> bool {
        matches!(self.bound, GateBound::OfBase(..))
    }

    /// The columns on which the condition holds.
    ///
    /// # Errors
    ///
    /// When no column has the figure, or the base lacks it.
    pub(crate) fn failures(
        &self,
        runs: &[Value],
        base: Option<&[Value]>,
    ) -> Result<Vec<GateFailure>, Problem> {
        let named = |run: &&Value| run["name"] == self.left[0].as_str();
        let (columns, figure): (Vec<&Value>, &[String]) = match runs.iter().any(|run| named(&run)) {
            true if self.left.len() > 1 => (runs.iter().filter(named).collect(), &self.left[1..]),
            _ => (runs.iter().collect(), &self.left),
        };
        let mut failures = Vec::new();
        for run in columns {
            let column = run["name"].as_str().unwrap_or_default().to_owned();
            let value = value(run, figure).ok_or_else(|| self.lacks(&column, figure, "column"))?;
            let bound = self.bound_of(&column, figure, base)?;
            if self.order.holds(value, bound) {
                failures.push(GateFailure {
                    condition: self.text.clone(),
                    column,
                    value,
                    bound,
                });
            }
        }
        Ok(failures)
    }

    #[expect(
        clippy::float_arithmetic,
        reason = "a bound that a person gives as a factor"
    )]
    fn bound_of(
        &self,
        column: &str,
        figure: &[String],
        base: Option<&[Value]>,
    ) -> Result<f64, Problem> {
        let (factor, path) = match &self.bound {
            GateBound::Number(number) => return Ok(*number),
            GateBound::OfBase(factor, path) => (factor, path),
        };
        let figure = if path.is_empty() { figure } else { path };
        let mut runs = base.unwrap_or_default().iter();
        let run = runs.find(|run| run["name"] == column);
        let found = run.and_then(|run| value(run, figure));
        let found = found.ok_or_else(|| self.lacks(column, figure, "base's column"))?;
        Ok(factor * found)
    }

    fn lacks(&self, column: &str, figure: &[String], whose: &str) -> Problem {
        Problem(format!(
            "`{}`: the {whose} `{}` has no figure `{}`; `compare --json` shows those that there are",
            self.text,
            column.escape_debug(),
            figure.join(".").escape_debug()
        ))
    }
}

impl GateOrder {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
        }
    }
}

/// A figure of a run by its path; percentiles alone are those of decisions.
fn value(run: &Value, path: &[String]) -> Option<f64> {
    let at = |start: &Value| {
        let found = path.iter().try_fold(start, |of, word| of.get(word))?;
        found.as_f64()
    };
    at(run).or_else(|| at(&run["latency_ns"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runs(p99: u64) -> Vec<Value> {
        let run = |name: &str, p99: u64| {
            json!({"name": name, "waiting": 2, "wait_ms": {"p95": 40},
                "latency_ns": {"p99": p99, "p999": 9}})
        };
        vec![run("global", p99), run("heartbeat", 10)]
    }

    fn failed(text: &str, base: Option<&[Value]>) -> Vec<String> {
        let failures = gate(text).unwrap().failures(&runs(120), base).unwrap();
        failures.into_iter().map(|one| one.column).collect()
    }

    #[test]
    fn a_condition_holds_for_its_column_or_for_each() {
        assert_eq!(failed("global.p99>100", None), ["global"]);
        assert_eq!(failed("p99>5", None), ["global", "heartbeat"]);
        assert_eq!(failed("wait_ms.p95 >= 40", None).len(), 2);
        assert_eq!(failed("waiting < 2", None), Vec::<String>::new());
        assert_eq!(failed("global.p99.9<=9", None), ["global"]);
        let base = runs(100);
        assert_eq!(
            failed("global.p99 > 1.1 * base.p99", Some(&base)),
            ["global"]
        );
        assert!(failed("global.p99 > 1.2 * base", Some(&base)).is_empty());
        assert_eq!(failed("p99 >= base", Some(&base)).len(), 2);
    }

    #[test]
    fn what_is_no_condition_or_no_figure_is_refused() {
        for bad in [
            "",
            "p99",
            "p99>",
            "p99>x",
            "p99>-*base",
            ">1",
            "a b>1",
            "p99>1*other",
            "a..b>1",
            "p9>0*base",
        ] {
            assert!(gate(bad).is_err(), "{bad}");
        }
        let refused = |text: &str, base: Option<&[Value]>| {
            gate(text).unwrap().failures(&runs(1), base).unwrap_err().0
        };
        assert!(refused("speed>1", None).contains("no figure `speed`"));
        assert!(refused("p99>base", Some(&[])).contains("base's column `global`"));
    }
}
