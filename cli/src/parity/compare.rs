//! Comparing what a step came to with what was recorded.

use std::fmt;

use serde_json::{Value, json};

use super::rules;

/// Keys whose values are the reference's `f32` fractions, compared bit by bit.
const FRACTIONS: [&str; 11] = [
    "cap",
    "abs_cap",
    "max_cap",
    "abs_max_cap",
    "used_cap",
    "abs_used_cap",
    "weight",
    "norm_weight",
    "user_limit",
    "user_limit_factor",
    "max_am_percent",
];

/// Objects whose keys are names, not fields; their values are compared as the object's.
const BY_NAME: [&str; 3] = [
    "user_weights",
    "configured_capacity",
    "configured_max_capacity",
];

type Fields = serde_json::Map<String, Value>;

/// One place where the two differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    place: String,
    expected: Option<Value>,
    actual: Option<Value>,
}

impl Difference {
    /// A difference at a place.
    pub(super) fn new(place: String, expected: Value, actual: Value) -> Self {
        Self {
            place,
            expected: Some(expected),
            actual: Some(actual),
        }
    }

    /// The place without the names and positions in it: what differences have in common.
    pub(super) fn kind(&self) -> String {
        let mut kind = String::new();
        let mut depth = 0_usize;
        for letter in self.place.chars() {
            match letter {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                letter if depth == 0 => kind.push(letter),
                _ => {}
            }
        }
        kind
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "place": self.place, "expected": self.expected, "actual": self.actual,
            "rule": rules::of(&self.place),
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => "nothing".to_owned(),
        };
        write!(
            f,
            "{}: expected {}, got {} (spec {})",
            self.place,
            show(&self.expected),
            show(&self.actual),
            rules::of(&self.place)
        )
    }
}

/// All differences, in the order of the recording.
pub(super) fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", "", expected, actual, &mut found);
    found
}

/// Parts of an object that are remarks, not demands.
fn is_remark(inside: &str, key: &str) -> bool {
    let of_error = ["class", "type", "message", "cause", "cause_message"];
    key == "choices" || (inside == "error" && of_error.contains(&key))
}

fn compare(place: &str, key: &str, expected: &Value, actual: &Value, out: &mut Vec<Difference>) {
    match (expected, actual) {
        (Value::Object(want), Value::Object(got)) => compare_fields(place, key, want, got, out),
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            for (i, (want, got)) in want.iter().zip(got).enumerate() {
                let name = want.get("path").and_then(Value::as_str);
                let place = match name {
                    Some(name) => format!("{place}[{name}]"),
                    None => format!("{place}[{i}]"),
                };
                compare(&place, key, want, got, out);
            }
        }
        _ => {
            if !same(key, expected, actual) {
                out.push(Difference {
                    place: place.to_owned(),
                    expected: Some(expected.clone()),
                    actual: Some(actual.clone()),
                });
            }
        }
    }
}

fn compare_fields(place: &str, key: &str, want: &Fields, got: &Fields, out: &mut Vec<Difference>) {
    let surplus = got.keys().filter(|key| !want.contains_key(*key));
    for name in want.keys().chain(surplus) {
        if is_remark(key, name) {
            continue;
        }
        let place = format!("{place}.{name}");
        // Inside these the names are those of users, labels and the like.
        let part = if BY_NAME.contains(&key) { key } else { name };
        match (want.get(name), got.get(name)) {
            (Some(want), Some(got)) => compare(&place, part, want, got, out),
            (want, got) => out.push(Difference {
                place,
                expected: want.cloned(),
                actual: got.cloned(),
            }),
        }
    }
}

/// Whether two values without named parts are the same.
fn same(key: &str, expected: &Value, actual: &Value) -> bool {
    let float = FRACTIONS.contains(&key) || key == "user_weights";
    let fractions = if float {
        fraction(expected).zip(fraction(actual))
    } else {
        None
    };
    match key {
        "configured_capacity" | "configured_max_capacity" => {
            expected == actual || vector(expected).is_some_and(|want| Some(want) == vector(actual))
        }
        _ => match fractions {
            Some((want, got)) => want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan()),
            None => expected == actual,
        },
    }
}

/// The entries of a capacity vector by type: the bits of the number, and the unit.
fn vector(text: &Value) -> Option<Vec<(&str, u64, &str)>> {
    let inner = text.as_str()?.strip_prefix('[')?.strip_suffix(']')?;
    let pairs = inner.split(',').filter(|pair| !pair.is_empty());
    let mut entries: Vec<_> = pairs.map(vector_entry).collect::<Option<_>>()?;
    entries.sort_unstable();
    Some(entries)
}

fn vector_entry(pair: &str) -> Option<(&str, u64, &str)> {
    let (name, number) = pair.split_once('=')?;
    let digits = number.trim_end_matches(['%', 'w']);
    let value: f64 = digits.parse().ok()?;
    Some((name, value.to_bits(), &number[digits.len()..]))
}

/// A fraction as the reference's float.
fn fraction(value: &Value) -> Option<f32> {
    match value {
        Value::Number(number) => number.to_string().parse().ok(),
        Value::String(word) => match word.as_str() {
            "NaN" => Some(f32::NAN),
            "Infinity" => Some(f32::INFINITY),
            "-Infinity" => Some(f32::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_compared_as_floats_and_integers_exactly() {
        let want = json!({"cap": 0.1, "used": [1, 2]});
        assert!(differences(&want, &json!({"cap": 0.100_000_001, "used": [1, 2]})).is_empty());
        let found = differences(&want, &json!({"cap": 0.100_001, "used": [1, 3], "x": 1}));
        let places: Vec<_> = found.iter().map(|d| d.place.as_str()).collect();
        assert_eq!(places, [".cap", ".used[1]", ".x"]);
    }

    #[test]
    fn remarks_are_left_out() {
        let want = json!({"error": {"code": "a", "message": "m"}, "choices": 2});
        assert!(differences(&want, &json!({"error": {"code": "a"}})).is_empty());
        assert!(!differences(&want, &json!({"error": {"code": "b"}})).is_empty());
    }
}
