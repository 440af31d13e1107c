//! Lines of a text trace, each at most 1 MiB, and the fields of CSV records.

use std::io::{BufRead, Read};

use super::source::Source;
use crate::simulator::workload::{FileName, MappingReport, TraceError, TraceErrorKind};

/// Longest line, record or line of JSON, in bytes.
pub const MAX_LINE: usize = 1 << 20;

/// Lines without their ends (`\n` or `\r\n`) and without a byte order mark.
pub(super) struct Lines {
    pub(super) file: FileName,
    read: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    /// Number of the last line handed out.
    pub(super) line: u64,
    ended: bool,
}

impl Lines {
    pub(super) fn new(source: Source) -> Self {
        let (file, read) = source.into_parts();
        Self {
            file,
            read,
            buffer: Vec::new(),
            line: 0,
            ended: false,
        }
    }

    /// The next line; nothing at the end, and nothing more after an error of the file.
    pub(super) fn next_line(&mut self) -> Result<Option<&str>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        self.buffer.clear();
        let limit = u64::try_from(MAX_LINE + 2).expect("1 MiB fits in a u64");
        self.line += 1;
        let taken = (&mut self.read)
            .take(limit)
            .read_until(b'\n', &mut self.buffer);
        match taken {
            Ok(0) => {
                self.ended = true;
                return Ok(None);
            }
            Ok(_) => {}
            Err(error) => {
                self.ended = true;
                return Err(TraceError::io(&self.file, self.line, &error));
            }
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            if self.buffer.last() == Some(&b'\r') {
                self.buffer.pop();
            }
        }
        if self.buffer.len() > MAX_LINE {
            self.ended = true;
            let message = format!("the line is longer than {MAX_LINE} bytes");
            return Err(self.error(TraceErrorKind::BadFile, message));
        }
        let start = if self.line == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        self.checked(start)
    }

    fn checked(&self, start: usize) -> Result<Option<&str>, TraceError> {
        let bytes = &self.buffer[start..];
        let column = |at: usize| u64::try_from(at + 1).expect("a position in a line fits in a u64");
        if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
            let message = "the line holds a NUL byte";
            return Err(self
                .error(TraceErrorKind::BadRow, message)
                .at_column(column(at)));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let at = error.valid_up_to();
                let message = format!("the byte 0x{:02x} is not UTF-8", bytes[at]);
                Err(self
                    .error(TraceErrorKind::BadRow, message)
                    .at_column(column(at)))
            }
        }
    }

    /// An error at the current line.
    pub(super) fn error(&self, kind: TraceErrorKind, message: impl Into<String>) -> TraceError {
        TraceError::new(kind, &self.file, self.line, message)
    }

    /// An error of the current line, which holds JSON, and what it says.
    pub(super) fn json_error(&self, fault: (&serde_json::Error, &str)) -> TraceError {
        TraceError::json(TraceErrorKind::BadRow, &self.file, self.line, fault)
    }
}

/// The columns of a header, each once.
fn column_names(header: &str) -> Result<Vec<&str>, String> {
    let names: Vec<&str> = header.split(',').map(column_name).collect();
    if names.len() == 1 && header.contains([';', '\t']) {
        return Err("the fields of the header are not separated by commas".to_owned());
    }
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(format!("column `{name}` appears twice"));
        }
    }
    Ok(names)
}

/// The name of a column, without blanks and quotes around it.
pub(super) fn column_name(field: &str) -> &str {
    let name = field.trim();
    let unquoted = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    unquoted.map_or(name, str::trim)
}

/// Records with the places of their required and optional columns.
pub(super) type Located<const R: usize, const O: usize> = (Records, [usize; R], [Option<usize>; O]);

/// Records of a CSV file with a header, whose order decides where each column is.
pub(super) struct Records {
    lines: Lines,
    width: usize,
    /// First line of the current record.
    line: u64,
    text: String,
    /// End of each field within `text`.
    ends: Vec<usize>,
    /// Columns that nobody asked for.
    unused: Vec<String>,
}

impl Records {
    /// Reads the header and finds the columns: the required ones first, then the optional ones.
    pub(super) fn new<const R: usize, const O: usize>(
        source: Source,
        required: [&str; R],
        optional: [&str; O],
    ) -> Result<Located<R, O>, TraceError> {
        let mut lines = Lines::new(source);
        let header = lines.next_line()?.unwrap_or_default().to_owned();
        let bad = |message: String| {
            TraceError::new(TraceErrorKind::BadFile, &lines.file, 1, message).with_value(&header)
        };
        let names = column_names(&header).map_err(bad)?;
        let find = |name: &str| names.iter().position(|known| *known == name);
        let mut places = [0; R];
        for (place, name) in places.iter_mut().zip(required) {
            match find(name) {
                Some(index) => *place = index,
                None => return Err(bad(format!("column `{name}` is missing"))),
            }
        }
        let width = names.len();
        let wanted = |name: &&&str| required.contains(*name) || optional.contains(*name);
        let unused = names.iter().filter(|name| !wanted(name));
        let unused = unused.map(|name| (*name).to_owned()).collect();
        let optional = optional.map(find);
        let records = Self {
            lines,
            width,
            line: 1,
            text: String::new(),
            ends: Vec::new(),
            unused,
        };
        Ok((records, places, optional))
    }

    /// Notes the columns that are not used.
    pub(super) fn note_unused(&self, account: &mut MappingReport) {
        for name in &self.unused {
            account.ignore(&format!("column {name}"));
        }
    }

    /// Moves to the next record that is not blank; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, TraceError> {
        loop {
            self.text.clear();
            self.ends.clear();
            match self.lines.next_line()? {
                None => return Ok(false),
                Some(line) => self.text.push_str(line),
            }
            self.line = self.lines.line;
            if !self.text.is_empty() {
                break;
            }
        }
        if self.text.contains('"') {
            self.read_quoted()?;
        } else {
            let commas = self
                .text
                .bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b',');
            self.ends.extend(commas.map(|(at, _)| at));
            self.ends.push(self.text.len());
            self.text.push(',');
        }
        if self.ends.len() == self.width {
            return Ok(true);
        }
        let message = format!(
            "the record has {} fields where the header has {}",
            self.ends.len(),
            self.width
        );
        Err(self.error(message).with_value(&self.text))
    }

    /// Joins the lines of a record whose quoted fields hold line breaks, within the limit.
    fn read_quoted(&mut self) -> Result<(), TraceError> {
        while !self.text.matches('"').count().is_multiple_of(2) {
            self.text.push('\n');
            match self.lines.next_line()? {
                Some(line) if self.text.len() + line.len() <= MAX_LINE => self.text.push_str(line),
                _ => {
                    self.lines.ended = true;
                    let message = "the quote that opens in this record is not closed";
                    return Err(TraceError::new(
                        TraceErrorKind::BadFile,
                        &self.lines.file,
                        self.line,
                        message,
                    ));
                }
            }
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .buffer_capacity(self.text.len().max(64))
            .from_reader(self.text.as_bytes());
        let mut record = csv::StringRecord::new();
        reader
            .read_record(&mut record)
            .map_err(|error| self.error(error.to_string()))?;
        self.text.clear();
        for field in &record {
            self.text.push_str(field);
            self.ends.push(self.text.len());
            self.text.push(',');
        }
        Ok(())
    }

    /// A field of the current record, without the white space around it.
    pub(super) fn field(&self, index: usize) -> &str {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends[before] + 1,
            None => 0,
        };
        self.text[start..self.ends[index]].trim()
    }

    /// Line of the current record.
    pub(super) const fn line(&self) -> u64 {
        self.line
    }

    /// An error of the current record.
    pub(super) fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError::new(TraceErrorKind::BadRow, &self.lines.file, self.line, message)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::simulator::import::source::MAX_INFLATED;

    fn bytes(bytes: &[u8]) -> Source {
        Source::of("t", Box::new(Cursor::new(bytes.to_vec())), MAX_INFLATED).unwrap()
    }

    fn lines(text: &[u8]) -> Vec<Result<String, String>> {
        let mut lines = Lines::new(bytes(text));
        let mut out = Vec::new();
        loop {
            match lines.next_line() {
                Ok(None) => return out,
                Ok(Some(line)) => out.push(Ok(line.to_owned())),
                Err(error) => out.push(Err(error.to_string())),
            }
        }
    }

    #[test]
    fn line_ends_marks_and_a_missing_last_end_are_taken() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(
            lines(b"\xef\xbb\xbfa\r\nb\n\nc"),
            [ok("a"), ok("b"), ok(""), ok("c")]
        );
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn nul_and_latin_1_bytes_are_refused_with_their_place() {
        let got = lines(b"ab\0\nok\ncaf\xe9\n");
        assert_eq!(got[0], Err("t:1:3: the line holds a NUL byte".to_owned()));
        assert_eq!(got[1], Ok("ok".to_owned()));
        assert_eq!(got[2], Err("t:3:4: the byte 0xe9 is not UTF-8".to_owned()));
    }

    #[test]
    fn a_line_beyond_the_limit_ends_the_file() {
        let mut text = vec![b'x'; MAX_LINE];
        assert_eq!(lines(&text).len(), 1);
        text.extend(b"yz\nok\n");
        let got = lines(&text);
        assert_eq!(got.len(), 1);
        assert!(got[0].as_ref().unwrap_err().contains("longer than"));
    }

    #[test]
    fn a_cut_gzip_file_gives_its_whole_lines_and_then_an_error() {
        use std::io::Write;
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        out.write_all(b"first\nsecond\nthird\n").unwrap();
        let packed = out.finish().unwrap();
        let got = lines(&packed[..packed.len() - 14]);
        assert_eq!(got[0], Ok("first".to_owned()));
        let last = got.last().unwrap().as_ref().unwrap_err();
        assert!(last.contains("end early"), "{last}");
    }

    #[test]
    fn the_header_decides_the_order_and_quotes_may_hold_line_breaks() {
        let text = "b, a,\"c\"\n1,2,3\n\n\"x,\n\"\"y\",=cmd(),z\n";
        let (mut records, [a, b], [c, d]) =
            Records::new(Source::text("t", text), ["a", "b"], ["c", "d"]).unwrap();
        assert_eq!((a, b, c, d), (1, 0, Some(2), None));
        assert!(records.advance().unwrap());
        assert_eq!((records.field(a), records.field(b)), ("2", "1"));
        assert!(records.advance().unwrap());
        assert_eq!(records.line(), 4);
        assert_eq!(records.field(b), "x,\n\"y");
        assert_eq!(records.field(a), "=cmd()");
        assert!(!records.advance().unwrap());
    }

    #[test]
    fn bad_headers_and_records_are_refused_with_their_line() {
        let header = |text| {
            Records::new(Source::text("t", text), ["a", "b"], [])
                .err()
                .unwrap()
                .to_string()
        };
        assert_eq!(header("a,c\n"), "t:1: column `b` is missing: `a,c`");
        assert!(header("a;b\n").contains("not separated by commas"));
        assert!(header("a,b,a\n").contains("appears twice"));
        assert!(header("").contains("`a` is missing"));
        let (mut records, _, _) = Records::new(
            Source::text("t", "a,b\n1\n1,2\n\"x,2\n3,4\n"),
            ["a", "b"],
            [],
        )
        .unwrap();
        let error = records.advance().unwrap_err();
        assert!(error.is_one_row() && error.line == 2, "{error}");
        assert!(records.advance().unwrap());
        let error = records.advance().unwrap_err();
        assert_eq!(
            error.to_string(),
            "t:4: the quote that opens in this record is not closed"
        );
        assert!(!records.advance().unwrap());
    }
}
