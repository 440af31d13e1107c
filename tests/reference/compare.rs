//! Compares the answer to a step with the recorded one, as the parity recordings demand.

use serde_json::Value;

const RATIOS: [&str; 8] = [
    "cap",
    "abs_cap",
    "max_cap",
    "abs_max_cap",
    "used_cap",
    "abs_used_cap",
    "weight",
    "norm_weight",
];

fn ratio(v: &Value) -> Option<f32> {
    match v {
        Value::String(s) => s.parse().ok(),
        v => v.to_string().parse().ok(),
    }
}

fn same_ratio(want: &Value, got: &Value) -> bool {
    match (ratio(want), ratio(got)) {
        (Some(x), Some(y)) => x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
        _ => false,
    }
}

/// Remarks that are no part of the comparison.
fn is_remark(inside: &str, key: &str) -> bool {
    key == "choices" || (inside == "error" && ["class", "type", "message"].contains(&key))
}

/// Every difference between the recorded and the given answer, each with its place.
pub(crate) fn differences(want: &Value, got: &Value) -> Vec<String> {
    let mut out = Vec::new();
    walk(want, got, "", "", &mut out);
    out
}

fn walk(want: &Value, got: &Value, key: &str, place: &str, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(w), Value::Object(g)) => {
            for (k, x) in w.iter().filter(|(k, _)| !is_remark(key, k)) {
                match g.get(k) {
                    Some(y) => walk(x, y, k, &format!("{place}.{k}"), out),
                    None => out.push(format!("{place}.{k}: missing, expected {x}")),
                }
            }
            for (k, y) in g
                .iter()
                .filter(|(k, _)| !is_remark(key, k) && !w.contains_key(*k))
            {
                out.push(format!("{place}.{k}: unexpected {y}"));
            }
        }
        (Value::Array(w), Value::Array(g)) if w.len() == g.len() => {
            for (i, (x, y)) in w.iter().zip(g).enumerate() {
                let name = x["path"]
                    .as_str()
                    .map_or_else(|| i.to_string(), str::to_owned);
                walk(x, y, key, &format!("{place}[{name}]"), out);
            }
        }
        _ if want == got || (RATIOS.contains(&key) && same_ratio(want, got)) => {}
        _ => out.push(format!("{place}: expected {want}, got {got}")),
    }
}
