//! What is wrong with a text that is JSON, in words for people who write such files.

use serde::de::DeserializeOwned;

/// What serde says about a text, without the place: kinds of values by their names in JSON, and the value that
/// stands there.
///
/// ```
/// use capsched::simulator::json_fault;
///
/// let error = serde_json::from_str::<u64>("\"ten\"").unwrap_err();
/// assert_eq!(json_fault(&error), "a whole number from 0 is expected, not the text \"ten\"");
/// ```
#[must_use]
pub fn json_fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let said = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(said, _)| said);
    reworded(said).unwrap_or_else(|| said.to_owned())
}

/// The same, behind the path of the member where a value is of another kind than `T` has there.
pub(in crate::simulator) fn member_fault<T: DeserializeOwned>(
    text: &str,
    error: &serde_json::Error,
) -> String {
    let said = json_fault(error);
    if !error.is_data() || !said.contains(EXPECTED) {
        return said;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(placed) if placed.path().iter().len() > 0 => format!("`{}`: {said}", placed.path()),
        _ => said,
    }
}

const EXPECTED: &str = " is expected, not ";

/// `invalid type: string "x", expected u64`, and its like.
fn reworded(said: &str) -> Option<String> {
    let rest = said
        .strip_prefix("invalid type: ")
        .or_else(|| said.strip_prefix("invalid value: "))?;
    let (found, wanted) = rest.rsplit_once(", expected ")?;
    Some(format!("{}{EXPECTED}{}", kind(wanted), value(found)))
}

/// What is expected, by its name in JSON.
fn kind(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" | "str" | "a borrowed string" => "a text in quotes",
        "a boolean" | "bool" => "`true` or `false`",
        "a sequence" => "a list in `[]`",
        "a map" => "an object in `{}`",
        _ if wanted.starts_with("struct ") => "an object in `{}`",
        other => other,
    }
}

/// What stands there, by its name in JSON.
fn value(found: &str) -> String {
    let named = [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
    ];
    let named = named
        .iter()
        .find_map(|(begin, name)| Some((found.strip_prefix(begin)?, name)));
    match (found, named) {
        (_, Some((rest, name))) => format!("{name}{rest}"),
        ("null", _) => "`null`".to_owned(),
        ("map", _) => "an object".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "what is read is not looked at")]
    struct Job {
        name: String,
        tasks: Vec<Vec<u64>>,
        #[serde(default)]
        share: Option<f64>,
        #[serde(default)]
        waits: bool,
    }

    fn fault(text: &str) -> String {
        let error = serde_json::from_str::<Job>(text).unwrap_err();
        member_fault::<Job>(text, &error)
    }

    #[test]
    fn kinds_of_values_have_their_names_in_json_and_the_path_of_their_member() {
        for (text, said) in [
            (
                r#"{"name":"a","tasks":[[1,"x"]]}"#,
                "`tasks[0][1]`: a whole number from 0 is expected, not the text \"x\"",
            ),
            (
                r#"{"name":"a","tasks":[[-5]]}"#,
                "`tasks[0][0]`: a whole number from 0 is expected, not the number `-5`",
            ),
            (
                r#"{"name":"a","tasks":[[1.5]]}"#,
                "`tasks[0][0]`: a whole number from 0 is expected, not the number `1.5`",
            ),
            (
                r#"{"name":7,"tasks":[]}"#,
                "`name`: a text in quotes is expected, not the number `7`",
            ),
            (
                r#"{"name":"a","tasks":{}}"#,
                "`tasks`: a list in `[]` is expected, not an object",
            ),
            (
                r#"{"name":"a","tasks":[],"waits":"yes"}"#,
                "`waits`: `true` or `false` is expected, not the text \"yes\"",
            ),
            (
                r#"{"name":"a","tasks":[],"share":[]}"#,
                "`share`: a number is expected, not a list",
            ),
            (
                r#"{"name":null,"tasks":[]}"#,
                "`name`: a text in quotes is expected, not `null`",
            ),
            ("5", "an object in `{}` is expected, not the number `5`"),
        ] {
            assert_eq!(fault(text), said, "{text}");
        }
        assert_eq!(fault(r#"{"tasks":[]}"#), "missing field `name`");
        assert!(fault("{").starts_with("EOF while parsing"));
    }
}
