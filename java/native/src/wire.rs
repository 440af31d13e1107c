//! The bytes between Java and the engine: big-endian numbers as `DataOutputStream` writes them.
//!
//! A text is its length in bytes as an `int` and its UTF-8. A list is its length as an `int` and its items. A flag is
//! one byte. A missing value is the flag 0, a present one the flag 1 and the value.

use std::fmt;

/// Longest text or list, in bytes or items.
const LONGEST: usize = 64 << 20;

/// A request that is not made of what its call expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in bytes at which reading ended.
    at: usize,
    what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the request: {}", self.at, self.what)
    }
}

impl std::error::Error for Malformed {}

/// Reads a request from front to end.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// At the front of a request.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// An error at the present place.
    pub fn fault(&self, what: impl Into<String>) -> Malformed {
        Malformed {
            at: self.at,
            what: what.into(),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..count) else {
            return Err(self.fault(format!("{count} bytes expected, {} are left", rest.len())));
        };
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| self.fault("too short"))
    }

    /// An `int`.
    ///
    /// # Errors
    ///
    /// When the request is too short.
    pub fn int(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// An `int` that is not negative.
    ///
    /// # Errors
    ///
    /// When the request is too short or the number negative.
    pub fn count(&mut self) -> Result<u32, Malformed> {
        let number = self.int()?;
        u32::try_from(number).map_err(|_| self.fault(format!("{number} is negative")))
    }

    /// A `long`.
    ///
    /// # Errors
    ///
    /// When the request is too short.
    pub fn long(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A `long` that is not negative.
    ///
    /// # Errors
    ///
    /// When the request is too short or the number negative.
    pub fn natural(&mut self) -> Result<u64, Malformed> {
        let number = self.long()?;
        u64::try_from(number).map_err(|_| self.fault(format!("{number} is negative")))
    }

    /// A flag.
    ///
    /// # Errors
    ///
    /// When the request is too short or the byte neither 0 nor 1.
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.fault(format!("{other} is no flag"))),
        }
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        let length = self.count()? as usize;
        if length > LONGEST {
            return Err(self.fault(format!("a length of {length}, at most {LONGEST}")));
        }
        Ok(length)
    }

    /// Bytes with their length.
    ///
    /// # Errors
    ///
    /// When the request is too short.
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    /// A text.
    ///
    /// # Errors
    ///
    /// When the request is too short or the text no UTF-8.
    pub fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.bytes()?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.fault("a text that is no UTF-8"))?;
        Ok(text.to_owned())
    }

    /// A list of what `item` reads.
    ///
    /// # Errors
    ///
    /// As that of the items.
    pub fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = self.length()?;
        // Every item takes a byte at least, so that a wrong length reserves no memory.
        let left = self.bytes.len().saturating_sub(self.at);
        let mut items = Vec::with_capacity(length.min(left));
        for _ in 0..length {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A value that may be missing.
    ///
    /// # Errors
    ///
    /// As that of the value.
    pub fn optional<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.flag()? {
            value(self).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Ends the request.
    ///
    /// # Errors
    ///
    /// When something is left.
    pub fn end(&self) -> Result<(), Malformed> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => Err(self.fault(format!("{left} bytes too many"))),
        }
    }
}

/// Writes an answer.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// The bytes written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// One byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// An `int`. Numbers of containers and applications are below 2^31 in YARN.
    pub fn int(&mut self, number: u32) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// An `int` with a sign.
    pub fn signed(&mut self, number: i32) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// A `long`.
    pub fn long(&mut self, number: i64) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// A `long` that is not negative.
    pub fn natural(&mut self, number: u64) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// A `float`.
    pub fn fraction(&mut self, number: f32) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// A flag.
    pub fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    fn length(&mut self, length: usize) {
        self.int(u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes.extend(text.as_bytes());
    }

    /// A list of what `item` writes.
    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        for one in items {
            item(self, one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.signed(-5);
        writer.text("k\u{e4}se");
        writer.list(&[1_i64, -2], |writer, number| writer.long(*number));
        writer.flag(true);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.int(), Ok(-5));
        assert_eq!(reader.text().as_deref(), Ok("k\u{e4}se"));
        assert_eq!(reader.list(Reader::long), Ok(vec![1, -2]));
        assert_eq!(reader.flag(), Ok(true));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn wrong_lengths_are_refused_with_their_place() {
        let huge = [0x7f, 0xff, 0xff, 0xff];
        assert!(Reader::new(&huge).list(Reader::flag).is_err());
        assert!(Reader::new(&[0xff; 4]).text().is_err());
        let error = Reader::new(&[0, 0, 0, 9, 1]).text().unwrap_err();
        assert_eq!(
            error.to_string(),
            "byte 4 of the request: 9 bytes expected, 1 are left"
        );
        assert!(Reader::new(&[2]).flag().is_err());
        assert!(Reader::new(&[0, 0]).end().is_err());
    }
}
