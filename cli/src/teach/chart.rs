//! What an example hands over: charts as plain series, the numbers to remember, the assumptions.

use serde::Serialize;

/// A played example.
#[derive(Debug, Serialize)]
pub(super) struct Lesson {
    /// Name on the command line and of files.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What the example shows.
    pub(super) about: &'static str,
    pub(super) charts: Vec<Chart>,
    /// What is to be remembered, as read from the engine.
    pub(super) facts: Vec<Fact>,
    /// What was given and not decided by the engine.
    pub(super) assumed: Vec<&'static str>,
}

/// One chart: series over the same steps.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    /// Part of file names.
    pub(super) name: &'static str,
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Rows of the terminal chart; values that must differ should fall on rows.
    #[serde(skip)]
    pub(super) rows: i64,
    /// Areas, stacked in this order from below.
    pub(super) areas: Vec<Series>,
    /// Step curves over the areas.
    pub(super) curves: Vec<Series>,
    /// Horizontal lines: guarantees and maxima.
    pub(super) levels: Vec<Level>,
    /// What happened when.
    pub(super) marks: Vec<Mark>,
}

/// An axis from 0. Series hold one value for each integer position of the x axis, from 0.
#[derive(Debug, Serialize)]
pub(super) struct Axis {
    pub(super) label: &'static str,
    pub(super) end: i64,
    /// Distance of the numbers written on it.
    pub(super) step: i64,
}

/// Values by position.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) values: Vec<i64>,
}

/// A value that does not move.
#[derive(Debug, Serialize)]
pub(super) struct Level {
    pub(super) label: String,
    pub(super) value: i64,
    pub(super) kind: LevelKind,
}

/// What a level stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LevelKind {
    Guarantee,
    Maximum,
}

/// Something that happened.
#[derive(Debug, Serialize)]
pub(super) struct Mark {
    pub(super) at: i64,
    pub(super) text: String,
}

/// A number to remember.
#[derive(Debug, Serialize)]
pub(super) struct Fact {
    /// Stable name, for programs.
    pub(super) key: &'static str,
    pub(super) text: &'static str,
    pub(super) value: i64,
    pub(super) unit: &'static str,
}

impl Fact {
    pub(super) fn gb(key: &'static str, text: &'static str, value: i64) -> Self {
        Self {
            key,
            text,
            value,
            unit: "GB",
        }
    }
}

impl Series {
    pub(super) fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            values: Vec::new(),
        }
    }
}

impl Level {
    pub(super) fn guarantee(label: impl Into<String>, value: i64) -> Self {
        Self {
            label: label.into(),
            value,
            kind: LevelKind::Guarantee,
        }
    }

    pub(super) fn maximum(label: impl Into<String>, value: i64) -> Self {
        Self {
            label: label.into(),
            value,
            kind: LevelKind::Maximum,
        }
    }
}

impl Chart {
    /// Letter of a mark, in order: a, b, c.
    pub(super) fn letter(at: usize) -> char {
        u8::try_from(at).map_or('?', |at| char::from(b'a' + at % 26))
    }
}
