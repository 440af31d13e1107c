//! What must equal in an answer, and what need not.

use serde_json::{Map, Value};

use super::difference::Difference;
use super::markup;
use super::player::Answered;
use super::scene::Recorded;

/// Names whose values are times, durations, rates, versions or texts that only one machine has.
const OWN: [&str; 17] = [
    "startedTime",
    "launchTime",
    "finishedTime",
    "elapsedTime",
    "lastHealthUpdate",
    "timestamp",
    "dateTime",
    "startTime",
    "lastrun",
    "containerAssignedPerSecond",
    "diagnostics",
    "message",
    "javaClassName",
    "amContainerLogs",
    "logUrl",
    "logsLink",
    "rmStateStoreName",
];

/// Names that may be absent, too.
const FREE: [&str; 2] = ["trackingUrl", "message"];

/// Names that distinguish the elements of an array, to pair them.
const IDENTITIES: [&str; 12] = [
    "id",
    "queuePath",
    "partitionName",
    "username",
    "name",
    "operation",
    "accessType",
    "state",
    "key",
    "resourceName",
    "priority",
    "requestPriority",
];

fn is_own(name: &str) -> bool {
    OWN.contains(&name)
        || name.ends_with("Seconds")
        || name.ends_with("Version")
        || name.ends_with("VersionBuiltOn")
        || name.starts_with("remainingTime")
}

/// What differs between a recorded answer and the present one. `asynchronous`: passes go on without heartbeats, so that
/// how many of them a recording has is a matter of time.
pub(super) fn differences(
    recorded: &Recorded,
    answer: &Answered,
    asynchronous: bool,
) -> Vec<Difference> {
    let status = answer.status.as_u16();
    // A fault of the original's own: any refusal is right.
    if matches!(recorded.status, 500 | 503) && (400..500).contains(&status) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if recorded.status != status {
        found.push(Difference::new("status", recorded.status, status));
    }
    let media = |text: &str| text.split(';').next().unwrap_or_default().trim().to_owned();
    let own = answer.headers.get("content-type");
    let own = media(
        own.and_then(|value| value.to_str().ok())
            .unwrap_or_default(),
    );
    let theirs = recorded.headers.get("content-type").map(|text| media(text));
    let is_page = theirs.as_deref() == Some("text/html") && recorded.status >= 400;
    let is_empty = answer.body.is_empty();
    if theirs.as_deref().is_some_and(|theirs| theirs != own) && !(is_page || is_empty) {
        let theirs = theirs.unwrap_or_default();
        found.push(Difference::new("content-type", theirs, &own));
    }
    if !is_page {
        let repeats = asynchronous && recorded.path.starts_with("/scheduler/app-activities/");
        body(recorded, answer, repeats, &mut found);
    }
    found
}

/// The rule by which an answer differs, where that is meant. `limits_broken`: the original stored limits of
/// allocations before that it refuses to start with.
///
/// * `KILL_AT_ONCE`: an application that is killed has ended when its killer is answered. The original first stores
///   the end; whoever asks meanwhile sees the name of that state.
/// * `LIMITS_RESTORED`: a change that breaks the limits of allocations is refused and not stored. The original keeps
///   it, and refuses every later change for it.
pub(super) fn deliberate(
    recorded: &Recorded,
    answer: &Answered,
    limits_broken: bool,
) -> Option<&'static str> {
    if limits_broken && recorded.path.starts_with("/scheduler-conf") {
        return Some("LIMITS_RESTORED");
    }
    let passing = ["FINAL_SAVING", "KILLING"];
    let state = recorded.body.get("state").and_then(Value::as_str);
    let own: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let killed = own.get("state").and_then(Value::as_str) == Some("KILLED");
    (state.is_some_and(|state| passing.contains(&state)) && killed).then_some("KILL_AT_ONCE")
}

/// Whether the original refused a change of the configuration only after it stored the change.
pub(super) fn breaks_limits(recorded: &Recorded) -> bool {
    recorded.status == 503
        && recorded.method == "PUT"
        && recorded.path.starts_with("/scheduler-conf")
        && recorded.body["RemoteException"]["exception"] == "YarnRuntimeException"
}

/// Compares two bodies. `repeats`: equal passes of one count once.
fn body(recorded: &Recorded, answer: &Answered, repeats: bool, found: &mut Vec<Difference>) {
    let text = String::from_utf8_lossy(&answer.body);
    match &recorded.body {
        Value::Null => {
            if !text.is_empty() {
                found.push(Difference::new("body", "nothing", text));
            }
        }
        Value::String(theirs) => text_body(recorded, theirs, &text, found),
        theirs => {
            if recorded.status >= 400 && theirs.get("RemoteException").is_none() {
                // The page of a server for an unknown path.
                return;
            }
            match serde_json::from_str::<Value>(&text) {
                Ok(own) => {
                    let (mut theirs, mut own) = (canonical(theirs), canonical(&own));
                    if repeats {
                        drop_repeated_passes(&mut theirs);
                        drop_repeated_passes(&mut own);
                    }
                    values("", &theirs, &own, found);
                }
                Err(_) => found.push(Difference::new("body", theirs, text)),
            }
        }
    }
}

fn text_body(recorded: &Recorded, theirs: &str, own: &str, found: &mut Vec<Difference>) {
    if recorded.status >= 400 {
        return;
    }
    let trees = (markup::tree(theirs), markup::tree(own));
    match trees {
        (Some(theirs), Some(own)) if theirs.is_object() => {
            values("", &canonical(&theirs), &canonical(&own), found);
        }
        _ if theirs != own => found.push(Difference::new("body", theirs, own)),
        _ => {}
    }
}

/// The name by which an element is paired.
fn identity(value: &Value) -> String {
    let named = IDENTITIES.iter().filter_map(|name| value.get(name));
    let named: Vec<String> = named.map(ToString::to_string).collect();
    if named.is_empty() {
        value.to_string()
    } else {
        named.join(" ")
    }
}

/// A value with what is a machine's own left out, and arrays in the order of their elements' names.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(all) => {
            let mut all: Vec<Value> = all.iter().map(canonical).collect();
            all.sort_by_cached_key(|one| (identity(one), one.to_string()));
            Value::Array(all)
        }
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(name, _)| !FREE.contains(&name.as_str()));
            let kept = kept.map(|(name, value)| {
                let value = if is_own(name) {
                    form(value)
                } else {
                    canonical(value)
                };
                let value = if name == "resourceSecondsMap" {
                    seconds(&value)
                } else {
                    value
                };
                (name.clone(), value)
            });
            Value::Object(kept.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Leaves one of equal passes in the activities of an application, which are in order.
fn drop_repeated_passes(activities: &mut Value) {
    let passes = activities.pointer_mut("/appActivities/allocations");
    if let Some(Value::Array(passes)) = passes {
        passes.dedup();
    }
}

/// What stands for a value of which only the type counts.
fn form(value: &Value) -> Value {
    match value {
        Value::Number(_) => "a number".into(),
        Value::String(_) => "a text".into(),
        Value::Array(all) => Value::Array(all.iter().map(form).collect()),
        other => other.clone(),
    }
}

/// Durations by resource type, of which the names count.
fn seconds(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let own = |(name, value): (&String, &Value)| {
                let value = if name == "value" {
                    form(value)
                } else {
                    seconds(value)
                };
                (name.clone(), value)
            };
            Value::Object(fields.iter().map(own).collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(seconds).collect()),
        other => other.clone(),
    }
}

fn values(place: &str, theirs: &Value, own: &Value, found: &mut Vec<Difference>) {
    match (theirs, own) {
        (Value::Object(theirs), Value::Object(own)) => {
            for (name, value) in theirs {
                let place = format!("{place}/{name}");
                match own.get(name) {
                    Some(own) => values(&place, value, own, found),
                    None => found.push(Difference::new(place, value, "nothing")),
                }
            }
            for (name, value) in own {
                if !theirs.contains_key(name) {
                    let place = format!("{place}/{name}");
                    found.push(Difference::new(place, "nothing", value));
                }
            }
        }
        (Value::Array(theirs), Value::Array(own)) if theirs.len() == own.len() => {
            for (theirs, own) in theirs.iter().zip(own) {
                let place = format!("{place}[{}]", short(&identity(theirs)));
                values(&place, theirs, own, found);
            }
        }
        _ if theirs != own => found.push(Difference::new(place, theirs, own)),
        _ => {}
    }
}

fn short(text: &str) -> String {
    text.chars().filter(|&c| c != '"').take(40).collect()
}
