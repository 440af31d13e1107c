//! Reads the text form of placement constraints.
//!
//! ```text
//! spec        := item (':' item)*
//! item        := source [',' constraint] | attribute      -- the latter only alone
//! source      := tag '(' N ')' | tag '=' N
//! constraint  := ('in'|'notin') ',' scope ',' tags
//!              | 'cardinality' ',' scope ',' tags ',' min ',' max
//!              | ('and'|'or') '(' constraint (':' constraint)* ')'
//!              | attribute
//! attribute   := name ('='|'!=') value (',' value)*
//! tags        := [namespace '/'] tag (',' [namespace '/'] tag)*
//! namespace   := 'self' | 'not-self' | 'all' | 'app-id/'<id> | 'app-tag/'<tag>
//! ```
//!
//! Operators and scopes may be written in any case, white space around words does not count, and
//! empty words between commas are dropped. The first word decides which form is read.

use std::collections::BTreeMap;
use std::fmt;

use crate::id::ApplicationId;

use crate::queue::{AttributeOp, Constraint, Namespace, Scope, Target};

/// Deepest nesting of `and` and `or`.
const MAX_DEPTH: usize = 64;

/// One entry of a placement specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecItem {
    /// Source tag and number of containers; nothing when the entry is an attribute alone.
    pub source: Option<(String, u32)>,
    /// The constraint; nothing when the source stands alone.
    pub constraint: Option<Constraint>,
}

/// A text that is not a placement constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintSyntaxError {
    /// Characters before the offending value.
    pub at: usize,
    /// The offending value, cut to 64 characters.
    pub value: String,
    /// What stands there in a constraint.
    pub expected: &'static str,
}

impl fmt::Display for ConstraintSyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "placement constraint, character {}: expected {}, found `{}`",
            self.at + 1,
            self.expected,
            self.value
        )
    }
}

impl std::error::Error for ConstraintSyntaxError {}

/// Reads one constraint, such as `notin,node,web`.
///
/// # Errors
///
/// With the place and the offending value when the text is malformed.
// As PlacementConstraintParser.parseExpression; differs: an operator that is recognised is not
// read as the name of an attribute when the rest does not fit.
pub fn parse_constraint(text: &str) -> Result<Constraint, ConstraintSyntaxError> {
    let whole = Piece { text, at: 0 };
    expression(whole, 0).map_err(|wrong| wrong.locate(text))
}

/// Reads a placement specification, such as `zk(3),notin,node,zk:hbase(5),in,rack,zk`.
///
/// # Errors
///
/// With the place and the offending value when the text is malformed.
// As PlacementConstraintParser.parsePlacementSpec.
pub fn parse_placement_spec(text: &str) -> Result<Vec<SpecItem>, ConstraintSyntaxError> {
    spec(Piece { text, at: 0 }).map_err(|wrong| wrong.locate(text))
}

/// A part of the text and where it starts, in bytes.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    at: usize,
}

struct Wrong {
    at: usize,
    value: String,
    expected: &'static str,
}

impl Wrong {
    fn locate(self, text: &str) -> ConstraintSyntaxError {
        ConstraintSyntaxError {
            at: text
                .get(..self.at)
                .map_or(0, |before| before.chars().count()),
            value: self.value,
            expected: self.expected,
        }
    }
}

impl<'a> Piece<'a> {
    fn wrong(self, expected: &'static str) -> Wrong {
        let value = self.text.chars().take(64);
        Wrong {
            at: self.at,
            value: value.flat_map(char::escape_debug).collect(),
            expected,
        }
    }

    /// The bytes `from..to`, which are boundaries of ASCII characters found in the text.
    fn part(self, from: usize, to: usize) -> Self {
        Self {
            text: &self.text[from..to],
            at: self.at + from,
        }
    }

    fn trim(self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        self.part(start, start + self.text.trim().len())
    }

    fn end(self) -> Self {
        self.part(self.text.len(), self.text.len())
    }

    fn is(self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Words between separators for which `splits` holds, trimmed; empty ones are dropped.
    fn split(self, mut splits: impl FnMut(char) -> bool) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for (at, c) in self.text.char_indices() {
            if splits(c) {
                pieces.push(self.part(from, at).trim());
                from = at + c.len_utf8();
            }
        }
        pieces.push(self.part(from, self.text.len()).trim());
        pieces.retain(|piece| !piece.text.is_empty());
        pieces
    }

    fn words(self) -> Vec<Self> {
        self.split(|c| c == ',')
    }

    /// Parts between colons outside brackets.
    fn items(self) -> Result<Vec<Self>, Wrong> {
        let mut depth = 0usize;
        for (at, c) in self.text.char_indices() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => {
                    return Err(self.part(at, self.text.len()).wrong("no closing bracket"));
                }
                ')' => depth -= 1,
                _ => {}
            }
        }
        if depth > 0 {
            return Err(self.end().wrong("a closing bracket"));
        }
        let mut depth = 0usize;
        let items = self.split(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            c == ':' && depth == 0
        });
        if items.is_empty() {
            return Err(self.wrong("a constraint"));
        }
        Ok(items)
    }

    /// What stands before and inside the brackets that end the text, if it starts so.
    fn call(self) -> Option<(Self, Self)> {
        let open = self.text.find('(')?;
        let inner = self.text.len().checked_sub(1)?;
        let closed = self.text.ends_with(')') && inner > open;
        closed.then(|| (self.part(0, open).trim(), self.part(open + 1, inner)))
    }
}

fn spec(text: Piece<'_>) -> Result<Vec<SpecItem>, Wrong> {
    let items = text.items()?;
    let alone = items.len() == 1;
    items.into_iter().map(|text| item(text, alone)).collect()
}

fn item(text: Piece<'_>, alone: bool) -> Result<SpecItem, Wrong> {
    let comma = text.text.find(',').unwrap_or(text.text.len());
    let first = text.part(0, comma).trim();
    let rest = (comma < text.text.len()).then(|| text.part(comma + 1, text.text.len()).trim());
    if let Some((tag, count)) = first.call() {
        let constraint = rest.map(|rest| expression(rest, 0)).transpose()?;
        return Ok(SpecItem {
            source: Some(source(tag, count.trim())?),
            constraint,
        });
    }
    if let (Some((tag, count)), Some(rest)) = (equation(first), rest)
        && starts_constraint(rest)
    {
        return Ok(SpecItem {
            source: Some(source(tag, count)?),
            constraint: Some(expression(rest, 0)?),
        });
    }
    if !alone || !first.text.contains('=') {
        return Err(first.wrong("a source of the form tag(N)"));
    }
    Ok(SpecItem {
        source: None,
        constraint: Some(attribute(text)?),
    })
}

/// The sides of `tag=N`.
fn equation(text: Piece<'_>) -> Option<(Piece<'_>, Piece<'_>)> {
    let at = text.text.find('=')?;
    let tag = text.part(0, at).trim();
    let value = text.part(at + 1, text.text.len()).trim();
    (!tag.text.ends_with('!')).then_some((tag, value))
}

/// Whether a constraint and not a further value of an attribute starts here.
fn starts_constraint(text: Piece<'_>) -> bool {
    let end = text.text.find([',', '(']).unwrap_or(text.text.len());
    let first = text.part(0, end).trim();
    let operators = ["in", "notin", "cardinality", "and", "or"];
    operators.iter().any(|word| first.is(word)) || first.text.contains('=')
}

fn source(tag: Piece<'_>, count: Piece<'_>) -> Result<(String, u32), Wrong> {
    if tag.text.is_empty() {
        return Err(tag.wrong("a source tag"));
    }
    let number = count.text.parse::<i32>().ok();
    let number = number.and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or_else(|| count.wrong("a number of containers"))?;
    Ok((tag.text.to_owned(), number))
}

fn expression(text: Piece<'_>, depth: usize) -> Result<Constraint, Wrong> {
    let text = text.trim();
    if depth > MAX_DEPTH {
        return Err(text.wrong("at most 64 levels of brackets"));
    }
    let open = text.text.find('(').unwrap_or(text.text.len());
    let operator = text.part(0, open).trim();
    if operator.is("and") || operator.is("or") {
        let Some((_, inner)) = text.call() else {
            return Err(text.wrong("(...:...) after and, or"));
        };
        let children = inner.items()?;
        let children = children
            .into_iter()
            .map(|child| expression(child, depth + 1));
        let children = children.collect::<Result<_, _>>()?;
        return Ok(if operator.is("and") {
            Constraint::And(children)
        } else {
            Constraint::Or(children)
        });
    }
    let words = text.words();
    let Some(&first) = words.first() else {
        return Err(text.wrong("in, notin, cardinality, and, or, or an attribute"));
    };
    if first.is("in") || first.is("notin") {
        let scope = scope(words.get(1), text)?;
        let targets = tags(&words[2..], text)?;
        return Ok(if first.is("in") {
            Constraint::target_in(scope, targets)
        } else {
            Constraint::target_not_in(scope, targets)
        });
    }
    if first.is("cardinality") {
        return cardinality(&words, text);
    }
    attribute(text)
}

fn cardinality(words: &[Piece<'_>], text: Piece<'_>) -> Result<Constraint, Wrong> {
    let scope = scope(words.get(1), text)?;
    let [names @ .., low, high] = &words[2..] else {
        return Err(text.end().wrong("tags, a minimum and a maximum"));
    };
    let bound = |word: &Piece<'_>| word.text.parse().map_err(|_| word.wrong("a whole number"));
    let (low, high) = (bound(low)?, bound(high)?);
    let targets = tags(names, text)?;
    Ok(Constraint::target_cardinality(scope, low, high, targets))
}

fn scope(word: Option<&Piece<'_>>, text: Piece<'_>) -> Result<Scope, Wrong> {
    match word {
        Some(word) if word.is("node") => Ok(Scope::Node),
        Some(word) if word.is("rack") => Ok(Scope::Rack),
        Some(word) => Err(word.wrong("the scope node or rack")),
        None => Err(text.end().wrong("the scope node or rack")),
    }
}

/// One target for each namespace among the tags.
fn tags(words: &[Piece<'_>], text: Piece<'_>) -> Result<Vec<Target>, Wrong> {
    if words.is_empty() {
        return Err(text.end().wrong("an allocation tag"));
    }
    let mut by_namespace: BTreeMap<Namespace, Vec<&str>> = BTreeMap::new();
    for &word in words {
        let (namespace, tag) = namespaced(word)?;
        by_namespace.entry(namespace).or_default().push(tag.text);
    }
    Ok(by_namespace
        .into_iter()
        .map(|(namespace, tags)| Target::tags(namespace, tags))
        .collect())
}

fn namespaced(word: Piece<'_>) -> Result<(Namespace, Piece<'_>), Wrong> {
    if word.text.contains(['(', ')', '=']) {
        return Err(word.wrong("an allocation tag"));
    }
    let Some(slash) = word.text.find('/') else {
        return Ok((Namespace::Itself, word));
    };
    let rest = word.part(slash + 1, word.text.len());
    let (namespace, tag) = match &word.text[..slash] {
        "self" => (Namespace::Itself, rest),
        "not-self" => (Namespace::NotSelf, rest),
        "all" => (Namespace::All, rest),
        "app-id" => {
            let (id, tag) = next_part(rest)?;
            let known = application_id(id.text);
            let known = known.ok_or_else(|| id.wrong("application_<number>_<number>"))?;
            (Namespace::AppId(known), tag)
        }
        "app-tag" => {
            let (name, tag) = next_part(rest)?;
            if name.text.is_empty() {
                return Err(name.wrong("an application tag"));
            }
            (Namespace::AppTag(name.text.into()), tag)
        }
        _ => return Err(word.wrong("self, not-self, all, app-id or app-tag before the slash")),
    };
    if tag.text.is_empty() {
        return Err(tag.wrong("an allocation tag"));
    }
    Ok((namespace, tag))
}

fn next_part(text: Piece<'_>) -> Result<(Piece<'_>, Piece<'_>), Wrong> {
    match text.text.find('/') {
        Some(at) => Ok((text.part(0, at), text.part(at + 1, text.text.len()))),
        None => Err(text.end().wrong("a slash and an allocation tag")),
    }
}

fn application_id(text: &str) -> Option<ApplicationId> {
    let (cluster, sequence) = text.strip_prefix("application_")?.split_once('_')?;
    Some(ApplicationId {
        cluster: cluster.parse().ok()?,
        sequence: sequence.parse().ok()?,
    })
}

fn attribute(text: Piece<'_>) -> Result<Constraint, Wrong> {
    let words = text.words();
    let Some((&first, more)) = words.split_first() else {
        return Err(text.wrong("an attribute and its value"));
    };
    let Some(equals) = first.text.find('=') else {
        return Err(first.wrong("in, notin, cardinality, and, or, or an attribute name=value"));
    };
    let left = first.part(0, equals);
    let (op, name) = match left.text.strip_suffix('!') {
        Some(name) => (AttributeOp::NotEqual, left.part(0, name.len()).trim()),
        None => (AttributeOp::Equal, left.trim()),
    };
    if name.text.is_empty() || name.text.contains(['(', ')']) {
        return Err(first.wrong("the name of an attribute"));
    }
    let value = first.part(equals + 1, first.text.len()).trim();
    if value.text.is_empty() {
        return Err(value.wrong("the value of an attribute"));
    }
    if let Some(second) = more.iter().find(|word| word.text.contains('=')) {
        return Err(second.wrong("a further value of the one attribute"));
    }
    let values = std::iter::once(value.text).chain(more.iter().map(|word| word.text));
    let target = Target::attribute(name.text, values);
    Ok(Constraint::target_node_attribute(
        Scope::Node,
        op,
        vec![target],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text and what it means, written back in the canonical form.
    const GOOD: &[(&str, &str)] = &[
        ("in,node,zk", "in,node,zk"),
        ("NOTIN,NODE,zk", "notin,node,zk"),
        ("NotIn , Rack , b , a", "notin,rack,a,b"),
        ("in,node,,zk,", "in,node,zk"),
        ("in,node,zk,zk", "in,node,zk"),
        ("cardinality,node,hbase,1,3", "cardinality,node,hbase,1,3"),
        (
            "CARDINALITY,rack,zk,hbase,1,2",
            "cardinality,rack,hbase,zk,1,2",
        ),
        ("cardinality,node,web,0,0", "notin,node,web"),
        ("cardinality,node,web,1,2147483647", "in,node,web"),
        ("cardinality,node,web,-1,2", "cardinality,node,web,-1,2"),
        ("in,node,self/a", "in,node,a"),
        (
            "in,node,not-self/a,all/a,a,all/b",
            "in,node,a,not-self/a,all/a,all/b",
        ),
        (
            "notin,rack,app-id/application_7_0012/web",
            "notin,rack,app-id/application_7_0012/web",
        ),
        ("in,node,app-tag/batch/web", "in,node,app-tag/batch/web"),
        (
            "and(in,node,zk:notin,node,spark)",
            "and(in,node,zk:notin,node,spark)",
        ),
        (
            "OR ( in,node,zk : AND(in,rack,a:cardinality,node,b,0,2) )",
            "or(in,node,zk:and(in,rack,a:cardinality,node,b,0,2))",
        ),
        ("and(in,node,zk)", "and(in,node,zk)"),
        ("java=1.8", "rm.yarn.io/java=1.8"),
        ("nm.yarn.io/os != linux", "nm.yarn.io/os!=linux"),
        ("java=1.9, 1.8", "rm.yarn.io/java=1.8,1.9"),
        (
            "or(java=1.8:java=11)",
            "or(rm.yarn.io/java=1.8:rm.yarn.io/java=11)",
        ),
        (
            "gr\u{f6}\u{df}e=gro\u{df}",
            "rm.yarn.io/gr\u{f6}\u{df}e=gro\u{df}",
        ),
    ];

    #[test]
    fn every_form_is_read() {
        for (text, want) in GOOD {
            let read = parse_constraint(text);
            assert_eq!(
                read.map(|c| c.to_string()),
                Ok((*want).to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_written_form_reads_back_as_the_same() {
        for (text, _) in GOOD {
            let read = parse_constraint(text).unwrap();
            assert_eq!(parse_constraint(&read.to_string()), Ok(read), "{text}");
        }
    }

    #[test]
    fn malformed_text_is_an_error_with_place_and_value() {
        for (text, at, value) in [
            ("", 0, ""),
            (" , ", 1, ","),
            ("in", 2, ""),
            ("in,cell,zk", 3, "cell"),
            ("in,node", 7, ""),
            ("notin,node,", 11, ""),
            ("in,node,x=1", 8, "x=1"),
            ("cardinality,node,zk,1", 17, "zk"),
            ("cardinality,node,1", 18, ""),
            ("cardinality,node,1,2", 20, ""),
            ("cardinality,node,zk,1,x", 22, "x"),
            ("cardinality", 11, ""),
            ("cardinality,node,zk,99999999999,2", 20, "99999999999"),
            ("cardinality,node,zk,1.5,2", 20, "1.5"),
            ("within,node,zk", 0, "within"),
            ("\u{e4},in", 0, "\u{e4}"),
            ("and", 0, "and"),
            ("and()", 4, ""),
            ("and(in,node,zk", 0, "and(in,node,zk"),
            ("and(in,node,zk)x", 0, "and(in,node,zk)x"),
            ("and(in,node,\u{e4}:in,cell,b)", 17, "cell"),
            ("and(in,node,a))", 13, ")"),
            ("in,node,mine/a", 8, "mine/a"),
            ("in,node,self/", 13, ""),
            ("in,node,app-id/application_x_1/a", 15, "application_x_1"),
            ("in,node,app-id/application_1_1", 30, ""),
            ("in,node,app-tag//a", 16, ""),
            ("=1", 0, "=1"),
            ("!=1", 0, "!=1"),
            ("java=", 5, ""),
            ("java=1,os=2", 7, "os=2"),
        ] {
            let error = parse_constraint(text).unwrap_err();
            assert_eq!(
                (error.at, error.value.as_str()),
                (at, value),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep =
            |levels: usize| format!("{}in,node,a{}", "and(".repeat(levels), ")".repeat(levels));
        assert!(parse_constraint(&deep(64)).is_ok());
        assert!(parse_constraint(&deep(65)).is_err());
        assert!(parse_constraint(&deep(5_000)).is_err());
        assert!(parse_constraint(&"(".repeat(5_000)).is_err());
    }

    fn shown(text: &str) -> Result<Vec<String>, ConstraintSyntaxError> {
        let items = parse_placement_spec(text)?;
        let items = items.into_iter().map(|item| {
            let source = item
                .source
                .map_or("-".to_owned(), |(tag, n)| format!("{tag} {n}"));
            let constraint = item.constraint.map_or("-".to_owned(), |c| c.to_string());
            format!("{source} {constraint}")
        });
        Ok(items.collect())
    }

    #[test]
    fn the_documented_specification_is_read() {
        let text = "zk(3),NOTIN,NODE,zk:hbase(5),IN,RACK,zk:spark(7),CARDINALITY,NODE,hbase,1,3";
        let want = [
            "zk 3 notin,node,zk",
            "hbase 5 in,rack,zk",
            "spark 7 cardinality,node,hbase,1,3",
        ];
        assert_eq!(shown(text).unwrap(), want);
        assert_eq!(
            shown(&text.replace('(', "=").replace(')', "")).unwrap(),
            want
        );
    }

    #[test]
    fn sources_and_attributes_are_distinguished() {
        for (text, want) in [
            ("java=1.8", "- rm.yarn.io/java=1.8"),
            ("java=8,9", "- rm.yarn.io/java=8,9"),
            ("java!=8", "- rm.yarn.io/java!=8"),
            ("zk=3,java=8", "zk 3 rm.yarn.io/java=8"),
            ("zk(3),java!=8", "zk 3 rm.yarn.io/java!=8"),
            ("zk(3)", "zk 3 -"),
            (
                "zk(0),and(in,node,a:java=8)",
                "zk 0 and(in,node,a:rm.yarn.io/java=8)",
            ),
        ] {
            assert_eq!(shown(text).unwrap(), [want], "{text}");
        }
    }

    #[test]
    fn malformed_specifications_are_errors() {
        for (text, at) in [
            ("", 0),
            (":", 0),
            ("zk", 0),
            ("zk(x),in,node,a", 3),
            ("zk(-1),in,node,a", 3),
            ("(3),in,node,a", 0),
            ("zk(3),", 6),
            ("zk(3),in,node", 13),
            ("zk=x,in,node,a", 3),
            ("zk(3),in,node,a:java=8", 16),
            ("in,node,a", 0),
        ] {
            let error = shown(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
        }
    }

    #[test]
    fn arbitrary_text_never_panics() {
        let words = [
            "in",
            ",",
            "node",
            "(",
            ")",
            ":",
            "and",
            "=",
            "!",
            "/",
            "app-id/",
            "\u{e4}",
            " ",
            "cardinality",
            "1",
        ];
        let mut seed = 7u32;
        let mut read = 0;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..seed % 12 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(words[(seed >> 16) as usize % words.len()]);
            }
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed ^= seed >> 13;
            for error in [
                parse_constraint(&text).err(),
                parse_placement_spec(&text).err(),
            ] {
                read += usize::from(error.is_none());
                assert!(error.is_none_or(|error| error.at <= text.chars().count()));
            }
        }
        assert!(read > 10, "some texts are constraints");
    }
}
