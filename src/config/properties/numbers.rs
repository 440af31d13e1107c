//! Values that are numbers, and what is noted where one is none.

use super::Look;
use crate::config::diagnostic::{Diagnostic, clip, clip_key};
use crate::config::number;
use crate::config::other_files::{RENDER, is_template};

/// What to write in place of a number with `%`.
fn without_sign(key: &str) -> &'static str {
    if key.ends_with("am-resource-percent") {
        "it is a fraction: 0.1 is ten percent"
    } else if key.ends_with("capacity") || key.ends_with("percent") {
        "write the percentage without `%`"
    } else {
        "this is no percentage; write a plain number"
    }
}

/// Whether a text is a whole number of any size.
fn is_whole(text: &str) -> bool {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Look<'_> {
    /// Notes that a value is no number.
    pub(in crate::config) fn no_number(&self, key: &str, value: &str) {
        self.no_number_of("not_a_number", key, value);
    }

    fn no_number_of(&self, code: &'static str, key: &str, value: &str) {
        let message = format!("`{}` is not a number, in `{}`", clip(value), clip_key(key));
        let mut finding = Diagnostic::error(code, message).at(self.base.span(key));
        if value.trim_end().ends_with('%') {
            finding = finding.help(without_sign(key));
        } else if is_template(value) {
            finding = finding.help(RENDER);
        } else if value.contains(',') && !value.contains('[') {
            finding = finding.help("the decimal sign is a point");
        } else if value.trim_start().starts_with('[') {
            finding = finding.help("an amount stands in brackets, as `[memory=1024,vcores=1]`");
        } else if is_whole(value) {
            finding = finding.help("the number is out of the range of this setting");
        }
        self.note(finding);
    }

    fn parsed<T>(&self, key: &str, default: T, parse: impl Fn(&str) -> Option<T>) -> T {
        let Some(text) = self.text(key) else {
            return default;
        };
        parse(&text).unwrap_or_else(|| {
            self.no_number(key, &text);
            default
        })
    }

    pub(in crate::config) fn float(&self, key: &str, default: f32) -> f32 {
        self.parsed(key, default, number::float)
    }

    fn whole<T>(&self, key: &str, default: T, parse: impl Fn(&str) -> Option<T>) -> T {
        let Some(text) = self.text(key) else {
            return default;
        };
        parse(&text).unwrap_or_else(|| {
            let other = number::ascii_digits(&text).is_some_and(|text| parse(&text).is_some());
            let code = if other { "E_DIGITS" } else { "not_a_number" };
            self.no_number_of(code, key, &text);
            default
        })
    }

    pub(in crate::config) fn int(&self, key: &str, default: i32) -> i32 {
        self.whole(key, default, number::integer)
    }

    pub(in crate::config) fn long(&self, key: &str, default: i64) -> i64 {
        self.whole(key, default, number::integer)
    }

    /// A number of queues that a parent may create.
    pub(in crate::config) fn queues(&self, key: &str, default: i32) -> i32 {
        let Some(text) = self.text(key) else {
            return default;
        };
        number::integer(&text).unwrap_or_else(|| {
            self.no_number_of("E_MAX_QUEUES", key, &text);
            default
        })
    }

    /// An integer by `Integer.parseInt` alone: not trimmed, never hexadecimal.
    pub(in crate::config) fn plain_int(&self, key: &str, default: i32) -> i32 {
        self.whole(key, default, number::decimal)
    }
}
