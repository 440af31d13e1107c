//! Reads JSON rules, inline or from a file.

use serde_json::{Map, Number, Value};

use super::error::MappingError;
use super::rule::{Fallback, Matcher, Rule, RuleAction};
use crate::config::prefix::PREFIX;
use crate::config::source::PropertySource;

/// Bytes of a file of rules at most, as of a configuration file.
const MAX_FILE: u64 = 64 << 20;

/// Reads the rules; inline text wins over a file, and without both there are none.
pub(super) fn read(source: &impl PropertySource) -> Result<Vec<Rule>, Vec<MappingError>> {
    let inline_key = format!("{PREFIX}mapping-rule-json");
    if let Some(text) = source.filled(&inline_key) {
        return document(&text, &inline_key);
    }
    let file_key = format!("{PREFIX}mapping-rule-json-file");
    let Some(path) = source.filled(&file_key) else {
        return Ok(Vec::new());
    };
    let path = path.trim();
    let text = contents(path).map_err(|error| {
        vec![MappingError::File {
            path: path.to_owned(),
            detail: error.to_string(),
        }]
    })?;
    document(&text, path)
}

/// A configuration may come from anyone: it must not make its reader wait for a pipe or swallow a
/// device.
fn contents(path: &str) -> std::io::Result<String> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if about.len() > MAX_FILE {
        let message = format!("more than {MAX_FILE} bytes");
        return Err(std::io::Error::other(message));
    }
    std::fs::read_to_string(path)
}

fn document(text: &str, place: &str) -> Result<Vec<Rule>, Vec<MappingError>> {
    let wrong = |detail: &str| {
        vec![MappingError::Json {
            place: place.to_owned(),
            rule: None,
            detail: detail.to_owned(),
        }]
    };
    // Text after the document is not read, as in the reference.
    let first = serde_json::Deserializer::from_str(text).into_iter().next();
    let value: Value = match first {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(wrong(&error.to_string())),
        None => return Err(wrong("the document is empty")),
    };
    let rules = match value {
        Value::Object(mut fields) => fields.remove("rules"),
        _ => return Err(wrong("expected an object with `rules`")),
    };
    let rules = match rules {
        None => Vec::new(),
        Some(Value::Array(rules)) => rules,
        Some(_) => return Err(wrong("`rules` is not a list")),
    };
    every_rule(&rules, place)
}

/// All rules of a document, or what is wrong with each of those that are at fault.
fn every_rule(rules: &[Value], place: &str) -> Result<Vec<Rule>, Vec<MappingError>> {
    let mut read = Vec::with_capacity(rules.len());
    let mut errors = Vec::new();
    for (i, value) in rules.iter().enumerate() {
        let (place, at) = (place.to_owned(), i + 1);
        match (rule(value), wide(value)) {
            (Ok(rule), _) => read.push(rule),
            (Err(_), Some(number)) => errors.push(MappingError::Create {
                place,
                rule: at,
                value: number.to_string(),
            }),
            (Err(detail), None) => errors.push(MappingError::Json {
                place,
                rule: Some(at),
                detail,
            }),
        }
    }
    if errors.is_empty() {
        Ok(read)
    } else {
        Err(errors)
    }
}

fn rule(value: &Value) -> Result<Rule, String> {
    let Value::Object(fields) = value else {
        return Err("a rule is an object".to_owned());
    };
    let policy = required(fields, "policy")?;
    let kind = required(fields, "type")?;
    let matches = required(fields, "matches")?;
    if matches.is_empty() {
        return Err("`matches` is empty".to_owned());
    }
    let matcher = match (kind.as_str(), matches) {
        ("user", matches) if matches == "*" => Matcher::Everyone,
        ("user", matches) => Matcher::User(matches),
        ("group", matches) if matches == "*" => {
            return Err("`*` cannot be matched by groups".to_owned());
        }
        ("group", matches) => Matcher::Group(matches),
        ("application", matches) => Matcher::Application(matches),
        _ => return Err(format!("type `{kind}` is not user, group or application")),
    };
    let fallback = match text(fields, "fallbackResult")?.as_deref() {
        None | Some("skip") => Fallback::Skip,
        Some("reject") => Fallback::Reject,
        Some("placeDefault") => Fallback::PlaceDefault,
        Some(other) => {
            return Err(format!(
                "fallbackResult `{other}` is not skip, reject or placeDefault"
            ));
        }
    };
    Ok(Rule {
        matcher,
        action: action(fields, &policy)?,
        fallback,
    })
}

fn action(fields: &Map<String, Value>, policy: &str) -> Result<RuleAction, String> {
    let create = create(fields)?;
    let parent = text(fields, "parentQueue")?;
    let below = |variables: &str| {
        parent.as_ref().map_or_else(
            || variables.to_owned(),
            |parent| format!("{parent}.{variables}"),
        )
    };
    let pattern = match policy {
        "reject" => return Ok(RuleAction::Reject),
        "setDefaultQueue" => return Ok(RuleAction::SetDefault(required(fields, "value")?)),
        "defaultQueue" => {
            return Ok(RuleAction::Place {
                pattern: "%default".to_owned(),
                create: false,
            });
        }
        "specified" => "%specified".to_owned(),
        "custom" => required(fields, "customPlacement")?,
        "user" => below("%user"),
        "primaryGroup" => below("%primary_group"),
        "primaryGroupUser" => below("%primary_group.%user"),
        "secondaryGroup" => below("%secondary_group"),
        "secondaryGroupUser" => below("%secondary_group.%user"),
        "applicationName" => below("%application"),
        _ => return Err(format!("policy `{policy}` is unknown")),
    };
    Ok(RuleAction::Place { pattern, create })
}

/// Whether a rule creates queues, which it does where the field says nothing.
// As StdDeserializer._parseBoolean of Jackson, which takes words and whole numbers, too.
fn create(fields: &Map<String, Value>) -> Result<bool, String> {
    let Some(value) = fields.get("create") else {
        return Ok(true);
    };
    let known = match value {
        Value::Null => Some(true),
        Value::Bool(create) => Some(*create),
        Value::Number(number) => truth(number),
        Value::String(text) if text.is_empty() => Some(true),
        Value::String(text) => match text.trim_matches(|c| c <= ' ') {
            "true" | "True" | "TRUE" | "null" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        },
        Value::Array(_) | Value::Object(_) => None,
    };
    known.ok_or_else(|| format!("create `{value}` is not true or false"))
}

/// The `create` of a rule, where it is a number that the reference may read as a whole one: `-0` and
/// numbers beyond 64 bits.
fn wide(rule: &Value) -> Option<&Number> {
    let Some(Value::Number(number)) = rule.get("create") else {
        return None;
    };
    let value = number.as_f64().filter(|_| truth(number).is_none())?;
    // 2^63, from which on whole numbers may not fit.
    let wide = value.fract() == 0.0 && value.abs() >= 9_223_372_036_854_775_808.0;
    (wide || value.to_bits() == (-0.0_f64).to_bits()).then_some(number)
}

/// Whether a whole number is another one than 0; nothing for other numbers.
fn truth(number: &Number) -> Option<bool> {
    let small = number.as_i64().map(|value| value != 0);
    small.or_else(|| number.as_u64().map(|_| true))
}

fn required(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    text(fields, name)?.ok_or_else(|| format!("`{name}` is not set"))
}

/// A field as text; numbers and truth values are taken as they are written.
fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(scalar @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(scalar.to_string())),
        Some(other) => Err(format!("`{name}` is not a text: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read_text(text: &str) -> Result<Vec<Rule>, Vec<MappingError>> {
        let key = format!("{PREFIX}mapping-rule-json");
        read(&BTreeMap::from([(key, text.to_owned())]))
    }

    fn one(fields: &str) -> Result<Rule, String> {
        let rules = read_text(&format!("{{\"rules\":[{{{fields}}}]}}"));
        rules
            .map(|mut rules| rules.remove(0))
            .map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn every_policy_has_its_target() {
        for (policy, plain, below) in [
            ("specified", "%specified", "%specified"),
            ("defaultQueue", "%default", "%default"),
            ("user", "%user", "root.p.%user"),
            ("primaryGroup", "%primary_group", "root.p.%primary_group"),
            (
                "primaryGroupUser",
                "%primary_group.%user",
                "root.p.%primary_group.%user",
            ),
            (
                "secondaryGroup",
                "%secondary_group",
                "root.p.%secondary_group",
            ),
            (
                "secondaryGroupUser",
                "%secondary_group.%user",
                "root.p.%secondary_group.%user",
            ),
            ("applicationName", "%application", "root.p.%application"),
            ("custom", "root.x.%user", "root.x.%user"),
        ] {
            let base = format!(
                r#""type":"user","matches":"*","policy":"{policy}","customPlacement":"root.x.%user""#
            );
            for (fields, want) in [
                (base.clone(), plain),
                (format!(r#"{base},"parentQueue":"root.p""#), below),
            ] {
                let rule = one(&fields).unwrap();
                let create = policy != "defaultQueue";
                let pattern = want.to_owned();
                assert_eq!(
                    rule.action,
                    RuleAction::Place { pattern, create },
                    "{policy}"
                );
                assert_eq!(rule.matcher, Matcher::Everyone);
                assert_eq!(rule.fallback, Fallback::Skip);
            }
        }
    }

    #[test]
    fn reject_and_set_default_place_nothing() {
        let rule = one(r#""type":"user","matches":"a","policy":"reject""#).unwrap();
        assert_eq!(
            (rule.matcher, rule.action),
            (Matcher::User("a".to_owned()), RuleAction::Reject)
        );
        let set = r#""type":"group","matches":"g","policy":"setDefaultQueue","value":"root.b""#;
        let rule = one(set).unwrap();
        assert_eq!(rule.matcher, Matcher::Group("g".to_owned()));
        assert_eq!(rule.action, RuleAction::SetDefault("root.b".to_owned()));
    }

    #[test]
    fn a_create_that_the_reference_reads_as_a_whole_number_has_a_code_of_its_own() {
        for (create, code) in [
            ("-0", "E_MAPPING_CREATE"),
            ("12345678901234567890123", "E_MAPPING_CREATE"),
            ("-12345678901234567890123", "E_MAPPING_CREATE"),
            ("1.5", "mapping_json"),
            ("[]", "mapping_json"),
        ] {
            let text = format!(
                r#"{{"rules":[{{"type":"user","matches":"*","policy":"user","create":{create}}}]}}"#
            );
            let errors = document(&text, "here").unwrap_err();
            assert_eq!(errors[0].code(), code, "{create}");
            assert!(
                errors[0].to_string().starts_with("here, rule 1: create"),
                "{}",
                errors[0]
            );
        }
    }

    #[test]
    fn create_and_fallback_are_read() {
        for (field, create, fallback) in [
            (r#""create":true"#, true, Fallback::Skip),
            (r#""create":false"#, false, Fallback::Skip),
            (r#""create":"false""#, false, Fallback::Skip),
            (r#""create":null"#, true, Fallback::Skip),
            (r#""create":"""#, true, Fallback::Skip),
            (r#""create":" TRUE\n""#, true, Fallback::Skip),
            (r#""create":"null""#, true, Fallback::Skip),
            (r#""create":"False""#, false, Fallback::Skip),
            (r#""create":0"#, false, Fallback::Skip),
            (r#""create":-1"#, true, Fallback::Skip),
            (r#""fallbackResult":"skip""#, true, Fallback::Skip),
            (r#""fallbackResult":"reject""#, true, Fallback::Reject),
            (
                r#""fallbackResult":"placeDefault""#,
                true,
                Fallback::PlaceDefault,
            ),
            (r#""comment":[1]"#, true, Fallback::Skip),
        ] {
            let base = r#""type":"application","matches":5,"policy":"user""#;
            let rule = one(&format!("{base},{field}")).unwrap();
            assert_eq!(rule.matcher, Matcher::Application("5".to_owned()));
            assert_eq!(rule.fallback, fallback, "{field}");
            assert!(
                matches!(rule.action, RuleAction::Place { create: c, .. } if c == create),
                "{field}"
            );
        }
    }

    #[test]
    fn a_faulty_rule_is_named_with_its_value() {
        for (fields, word) in [
            (r#""type":"user","matches":"*""#, "`policy` is not set"),
            (r#""policy":"user","matches":"*""#, "`type` is not set"),
            (r#""type":"user","policy":"user""#, "`matches` is not set"),
            (r#""type":"user","policy":"user","matches":"""#, "is empty"),
            (r#""type":"group","policy":"user","matches":"*""#, "groups"),
            (r#""type":"User","policy":"user","matches":"*""#, "`User`"),
            (
                r#""type":"user","policy":"nonsense","matches":"*""#,
                "`nonsense`",
            ),
            (
                r#""type":"user","policy":"custom","matches":"*""#,
                "`customPlacement`",
            ),
            (
                r#""type":"user","policy":"setDefaultQueue","matches":"*""#,
                "`value`",
            ),
            (
                r#""type":"user","policy":"user","matches":"*","create":1.5"#,
                "create `1.5`",
            ),
            (
                r#""type":"user","policy":"user","matches":"*","create":"tRue""#,
                "create `\"tRue\"`",
            ),
            (
                r#""type":"user","policy":"user","matches":"*","create":"1""#,
                "create `\"1\"`",
            ),
            (
                r#""type":"user","policy":"user","matches":"*","create":" ""#,
                "create",
            ),
            (
                r#""type":"user","policy":"user","matches":"*","fallbackResult":"x""#,
                "`x`",
            ),
            (
                r#""type":"user","policy":"user","matches":["a"]"#,
                "`matches`",
            ),
        ] {
            let error = one(fields).unwrap_err();
            assert!(error.contains(word), "{fields}: {error}");
            assert!(error.contains("rule 1"), "{error}");
        }
    }

    #[test]
    fn a_broken_document_is_refused() {
        for text in [
            "{",
            "[]",
            "7",
            " ",
            "{'rules':[]}",
            r#"{"rules":7}"#,
            r#"{"rules":null}"#,
            r#"{"rules":[1]}"#,
        ] {
            let errors = read_text(text).unwrap_err();
            assert_eq!(errors[0].code(), "mapping_json", "{text}");
        }
        for text in ["", "{}", r#"{"rules":[]}"#, r#"{"rules":[]} x"#] {
            assert_eq!(read_text(text), Ok(Vec::new()), "{text}");
        }
    }

    #[test]
    fn a_file_serves_when_there_is_no_inline_text() {
        let file = std::env::temp_dir().join(format!("capsched-rules-{}.json", std::process::id()));
        let text = r#"{"rules":[{"type":"user","matches":"*","policy":"reject"}]}"#;
        std::fs::write(&file, text).unwrap();
        let name = format!(" {} ", file.display());
        let key = format!("{PREFIX}mapping-rule-json-file");
        let mut source = BTreeMap::from([(key, name)]);
        assert_eq!(read(&source).map(|rules| rules.len()), Ok(1));
        source.insert(format!("{PREFIX}mapping-rule-json"), "{}".to_owned());
        assert_eq!(read(&source).map(|rules| rules.len()), Ok(0));
        source.remove(&format!("{PREFIX}mapping-rule-json"));
        std::fs::remove_file(&file).unwrap();
        let errors = read(&source).unwrap_err();
        assert_eq!(errors[0].code(), "mapping_file");
    }
}
