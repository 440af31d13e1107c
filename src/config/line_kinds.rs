//! What single lines look like in files that are no XML.

/// Whether a line is a piece of base64: long, of its signs alone, and no number or word.
pub(super) fn is_base64(line: &str) -> bool {
    let body = line.trim_end_matches('=');
    let sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    line.len() >= 16
        && line.len().is_multiple_of(4)
        && line.len() - body.len() <= 2
        && body.chars().all(sign)
        && body.contains(|c: char| c.is_ascii_digit())
        && body.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether a line is a key with dots, then white space or a colon, and a value.
pub(super) fn is_pair(line: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*' | '/');
    let end = line.find(|c| !part(c)).unwrap_or(line.len());
    let (key, rest) = line.split_at(end);
    let starts = |c: char| c.is_whitespace() || c == ':';
    key.contains('.') && !key.ends_with('.') && rest.starts_with(starts)
}

/// Whether all lines have the same number of the same separator.
pub(super) fn is_table(lines: &[&str]) -> bool {
    lines.len() > 1
        && [',', ';', '\t', '|'].into_iter().any(|separator| {
            let mut counts = lines.iter().map(|line| line.matches(separator).count());
            let first = counts.next().unwrap_or(0);
            first > 0 && counts.all(|count| count == first)
        })
}

/// Whether a line of YAML begins a block of text.
pub(super) fn is_block(line: &str) -> bool {
    [": |", ": >", ": |-", ": >-", ": |+"]
        .iter()
        .any(|end| line.ends_with(end))
}

/// Whether a line is an item or a key of YAML.
pub(super) fn is_yaml(line: &str) -> bool {
    let item = line.starts_with("- ");
    let key = line.split_once(':').is_some_and(|(key, rest)| {
        !key.contains(['=', '<']) && (rest.is_empty() || rest.starts_with(' '))
    });
    item || key
}
