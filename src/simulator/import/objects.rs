//! JSON objects one after the other, as Hadoop's load simulator writes them: no array, no commas.
//!
//! An object is cut out by its braces and parsed alone, so that memory is bounded by the largest
//! object. `//` and `/* */` comments between and inside objects are skipped, because the examples
//! of the manual hold them.

use std::io::{BufRead, Bytes, Read};

use super::source::Source;
use crate::simulator::workload::{FileName, TraceError, TraceErrorKind, json_fault, member_fault};

/// Largest JSON object, in bytes. A line of a text trace has the smaller limit of 1 MiB; one
/// object of a job history is a whole job with all its attempts.
pub const MAX_OBJECT: usize = 64 << 20;

/// Objects of a stream.
pub(super) struct Objects {
    pub(super) file: FileName,
    bytes: Bytes<Box<dyn BufRead + Send>>,
    text: Vec<u8>,
    line: u64,
    /// Line on which the current object opens.
    pub(super) start: u64,
    ended: bool,
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Text,
    Escape,
    Slash,
    LineComment,
    Comment,
    CommentStar,
}

impl Objects {
    pub(super) fn new(source: Source) -> Self {
        let (file, read) = source.into_parts();
        Self {
            file,
            bytes: read.bytes(),
            text: Vec::new(),
            line: 1,
            start: 1,
            ended: false,
            limit: MAX_OBJECT,
        }
    }

    /// The next object as a value of type `T`; nothing at the end.
    pub(super) fn next_object<T>(&mut self) -> Result<Option<T>, TraceError>
    where
        T: serde::de::DeserializeOwned,
    {
        if self.ended || !self.cut()? {
            self.ended = true;
            return Ok(None);
        }
        serde_json::from_slice(&self.text)
            .map(Some)
            .map_err(|error| {
                let text = std::str::from_utf8(&self.text);
                let said = text.map_or_else(
                    |_| json_fault(&error),
                    |text| member_fault::<T>(text, &error),
                );
                let fault = (&error, &*said);
                TraceError::json(TraceErrorKind::BadRow, &self.file, self.start, fault)
            })
    }

    /// The line that the current object starts on.
    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    /// An error of the current object.
    pub(super) fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError::new(TraceErrorKind::BadRow, &self.file, self.start, message)
    }

    /// An error of the current object after which nothing can be read.
    pub(super) fn unusable(&mut self, message: impl Into<String>) -> TraceError {
        self.fatal(self.start, message)
    }

    fn fatal(&mut self, line: u64, message: impl Into<String>) -> TraceError {
        self.ended = true;
        TraceError::new(TraceErrorKind::BadFile, &self.file, line, message)
    }

    /// That another byte stands where an object should begin.
    fn no_object(&mut self, byte: u8) -> TraceError {
        let found = char::from(byte).escape_default();
        let hint = match byte {
            b'[' => "; of a JSON array take off brackets and commas",
            _ => "",
        };
        self.fatal(
            self.line,
            format!("expected an object, found `{found}`{hint}"),
        )
    }

    fn byte(&mut self) -> Result<Option<u8>, TraceError> {
        match self.bytes.next() {
            None => Ok(None),
            Some(Ok(byte)) => {
                self.line += u64::from(byte == b'\n');
                Ok(Some(byte))
            }
            Some(Err(error)) => {
                self.ended = true;
                Err(TraceError::io(&self.file, self.line, &error))
            }
        }
    }

    /// Copies the next object into `text`, its comments replaced; false at the end of the file.
    fn cut(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        let mut depth = 0_usize;
        let mut inside = Inside::Object;
        let mut comment = self.line;
        while let Some(byte) = self.byte()? {
            let before = inside;
            inside = step(before, byte);
            match (before, inside) {
                (Inside::Slash, Inside::LineComment | Inside::Comment) => {
                    comment = self.line;
                    self.text.pop();
                    continue;
                }
                (Inside::Slash, _) if depth == 0 => {
                    return Err(self.fatal(self.line, "expected an object, found `/`"));
                }
                (_, Inside::LineComment | Inside::Comment | Inside::CommentStar)
                | (Inside::LineComment | Inside::CommentStar, _) => {
                    if byte == b'\n' && depth > 0 {
                        self.text.push(byte);
                    }
                    continue;
                }
                _ => {}
            }
            if inside == Inside::Object && before != Inside::Text {
                match byte {
                    b'{' => {
                        if depth == 0 {
                            self.start = self.line;
                        }
                        depth += 1;
                    }
                    b'}' if depth == 1 => {
                        self.text.push(byte);
                        return Ok(true);
                    }
                    b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            if depth > 0 || inside == Inside::Slash {
                self.text.push(byte);
            } else if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf) {
                return Err(self.no_object(byte));
            }
            if self.text.len() > self.limit {
                let message = format!("the object is larger than {} bytes", self.limit);
                return Err(self.fatal(self.start, message));
            }
        }
        match inside {
            Inside::Comment | Inside::CommentStar => {
                return Err(self.fatal(comment, "the comment that opens here is not closed"));
            }
            Inside::Slash if depth == 0 => {
                return Err(self.fatal(self.line, "expected an object, found `/`"));
            }
            _ if depth == 0 => return Ok(false),
            _ => {}
        }
        Err(self.fatal(self.start, "the object that opens here is not closed"))
    }
}

const fn step(inside: Inside, byte: u8) -> Inside {
    match (inside, byte) {
        (Inside::Object, b'"') => Inside::Text,
        (Inside::Text, b'\\') => Inside::Escape,
        (Inside::Text, b'"') => Inside::Object,
        (Inside::Text | Inside::Escape, _) => Inside::Text,
        (Inside::Object, b'/') => Inside::Slash,
        (Inside::Slash, b'/') => Inside::LineComment,
        (Inside::Slash, b'*') | (Inside::Comment, _) if byte == b'*' => {
            if matches!(inside, Inside::Slash) {
                Inside::Comment
            } else {
                Inside::CommentStar
            }
        }
        (Inside::LineComment, b'\n') | (Inside::CommentStar, b'/') => Inside::Object,
        (Inside::LineComment, _) => Inside::LineComment,
        (Inside::CommentStar, b'*') => Inside::CommentStar,
        (Inside::Comment | Inside::CommentStar, _) => Inside::Comment,
        (Inside::Object | Inside::Slash, _) => Inside::Object,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn all(text: &str) -> Vec<Result<String, String>> {
        let mut objects = Objects::new(Source::text("t", text));
        let mut out = Vec::new();
        loop {
            match objects.next_object::<Value>() {
                Ok(None) => return out,
                Ok(Some(value)) => out.push(Ok(format!("{}:{value}", objects.start))),
                Err(error) => out.push(Err(error.to_string())),
            }
        }
    }

    #[test]
    fn objects_follow_each_other_without_commas_and_comments_are_skipped() {
        let text = "\u{feff}{\"a\":1}{\"b\":{}}\n// no } object {\n/* nor * this { */ {\"c\": // x }\n\"}\\\"{//\"}\n";
        assert_eq!(
            all(text),
            [
                Ok("1:{\"a\":1}".to_owned()),
                Ok("1:{\"b\":{}}".to_owned()),
                Ok("3:{\"c\":\"}\\\"{//\"}".to_owned())
            ]
        );
        assert_eq!(all(" \n"), []);
    }

    #[test]
    fn a_bad_object_is_named_with_line_and_column_and_the_next_one_is_read() {
        let got = all("{\"a\":1}\n{\n \"b\": nope}\n{\"c\":1}");
        assert_eq!(got.len(), 3);
        assert!(got[1].as_ref().unwrap_err().starts_with("t:3:"), "{got:?}");
        assert!(got[2].is_ok());
    }

    #[test]
    fn what_is_no_object_ends_the_file() {
        assert_eq!(
            all("[{}]"),
            [Err(
                "t:1: expected an object, found `[`; of a JSON array take off brackets and commas"
                    .to_owned()
            )]
        );
        for (text, message) in [
            (
                "{}\n/* x {} \n{}",
                "t:2: the comment that opens here is not closed",
            ),
            (
                "{}\n/* x *",
                "t:2: the comment that opens here is not closed",
            ),
            (
                "{}\n{\"a\":1 /* }",
                "t:2: the comment that opens here is not closed",
            ),
            ("{}\n/", "t:2: expected an object, found `/`"),
        ] {
            assert_eq!(all(text), [Ok("1:{}".to_owned()), Err(message.to_owned())]);
        }
        assert_eq!(all("{} // no end").len(), 1);
        assert_eq!(
            all("{}\n{\"a\":"),
            [
                Ok("1:{}".to_owned()),
                Err("t:2: the object that opens here is not closed".to_owned())
            ]
        );
    }

    #[test]
    fn an_object_beyond_the_limit_is_refused() {
        let mut objects = Objects::new(Source::text("t", "{\"a\":\"xxxxxxxxxxxxxxxx\"}"));
        objects.limit = 10;
        let error = objects.next_object::<Value>().unwrap_err();
        assert!(error.to_string().contains("larger than 10 bytes"));
        assert_eq!(objects.next_object::<Value>().unwrap(), None);
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(9000), "]".repeat(9000));
        assert!(all(&deep)[0].is_err());
    }
}
