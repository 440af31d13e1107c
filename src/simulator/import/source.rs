//! Bytes of a trace: a file, a pipe or memory, plain or compressed with gzip or zstd.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::simulator::workload::{FileName, TraceError};

/// Most bytes that one compressed source may expand to, by default: 64 GiB.
pub const MAX_INFLATED: u64 = 64 << 30;

/// Bytes that [`Source::head`] looks at.
const HEAD: usize = 64 << 10;

/// A readable trace and the name that errors call it by.
///
/// It is read once from start to end and never held in memory as a whole, so pipes serve.
pub struct Source {
    pub(super) name: FileName,
    read: Box<dyn BufRead + Send>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({})", self.name)
    }
}

impl Source {
    /// Opens a file, or standard input as `-`. The content decides whether it is compressed.
    ///
    /// # Errors
    ///
    /// When the path is missing, a directory or unreadable, or a compressed header is broken.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Self::of("standard input", Box::new(io::stdin()), MAX_INFLATED);
        }
        let name: FileName = path.to_string_lossy().into();
        let fail = |error: io::Error| TraceError::io(&name, 0, &error);
        let file = File::open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.is_dir() {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        Self::of(&name, Box::new(file), MAX_INFLATED)
    }

    /// Any bytes, under a name for messages. Compressed ones may expand to `max_inflated` bytes.
    ///
    /// # Errors
    ///
    /// When the first bytes cannot be read, or a compressed header is broken.
    pub fn of(
        name: &str,
        read: Box<dyn Read + Send>,
        max_inflated: u64,
    ) -> Result<Self, TraceError> {
        let name: FileName = name.into();
        let fail = |error: io::Error| TraceError::io(&name, 0, &error);
        let mut start = Vec::with_capacity(4);
        let mut read = read;
        read.by_ref()
            .take(4)
            .read_to_end(&mut start)
            .map_err(fail)?;
        let kind = Compression::of(&start);
        let whole = BufReader::with_capacity(HEAD, io::Cursor::new(start).chain(read));
        let read: Box<dyn BufRead + Send> = match kind {
            Compression::None => Box::new(whole),
            Compression::Gzip => {
                let plain = flate2::bufread::MultiGzDecoder::new(whole);
                Box::new(buffered(plain, max_inflated))
            }
            Compression::Zstd => {
                let plain = zstd::stream::read::Decoder::with_buffer(whole).map_err(fail)?;
                Box::new(buffered(plain, max_inflated))
            }
        };
        Ok(Self { name, read })
    }

    /// Text in memory.
    #[must_use]
    pub fn text(name: &str, text: &str) -> Self {
        Self {
            name: name.into(),
            read: Box::new(io::Cursor::new(text.as_bytes().to_vec())),
        }
    }

    /// The first bytes (at most 64 KiB, fewer at the end) without taking them out.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn head(&mut self) -> Result<&[u8], TraceError> {
        let mut head = Vec::with_capacity(HEAD);
        let mut read = std::mem::replace(&mut self.read, Box::new(io::empty()));
        read.by_ref()
            .take(u64::try_from(HEAD).expect("64 KiB fits in a u64"))
            .read_to_end(&mut head)
            .map_err(|error| TraceError::io(&self.name, 0, &error))?;
        self.read = Box::new(BufReader::with_capacity(
            HEAD,
            io::Cursor::new(head).chain(read),
        ));
        self.read
            .fill_buf()
            .map_err(|error| TraceError::io(&self.name, 0, &error))
    }

    pub(super) fn into_parts(self) -> (FileName, Box<dyn BufRead + Send>) {
        (self.name, self.read)
    }
}

enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd,
            _ => Self::None,
        }
    }
}

fn buffered(plain: impl Read, max: u64) -> BufReader<Limited<impl Read>> {
    BufReader::with_capacity(
        HEAD,
        Limited {
            plain,
            max,
            left: max,
        },
    )
}

/// Ends with an error once more than `max` bytes came out, against small files that expand for ever.
struct Limited<R> {
    plain: R,
    max: u64,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.plain.read(into)?;
        let taken = u64::try_from(n).expect("a buffer's length fits in a u64");
        self.left = self.left.checked_sub(taken).ok_or_else(|| {
            io::Error::other(format!("the data expand to more than {} bytes", self.max))
        })?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn all(bytes: Vec<u8>, max: u64) -> io::Result<String> {
        let (_, mut read) = Source::of("t", Box::new(io::Cursor::new(bytes)), max)
            .unwrap()
            .into_parts();
        let mut text = String::new();
        read.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn compression_is_seen_in_the_content() {
        assert_eq!(all(b"plain".to_vec(), 9).unwrap(), "plain");
        assert_eq!(all(b"".to_vec(), 9).unwrap(), "");
        assert_eq!(all(gzip(b"packed"), 9).unwrap(), "packed");
        let packed = zstd::encode_all(&b"frames"[..], 1).unwrap();
        assert_eq!(all(packed, 9).unwrap(), "frames");
    }

    #[test]
    fn two_gzip_members_are_one_text() {
        let mut bytes = gzip(b"a\n");
        bytes.extend(gzip(b"b\n"));
        assert_eq!(all(bytes, 9).unwrap(), "a\nb\n");
    }

    #[test]
    fn data_that_expand_beyond_the_limit_are_refused() {
        let error = all(gzip(&[b'x'; 5000]), 4999).unwrap_err();
        assert!(error.to_string().contains("more than 4999 bytes"));
    }

    #[test]
    fn directories_and_missing_files_are_named() {
        let error = Source::open(Path::new("src")).unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
        let error = Source::open(Path::new("no/such/file")).unwrap_err();
        assert_eq!(error.to_string(), "no/such/file: no such file");
    }

    #[test]
    fn looking_at_the_head_takes_nothing_away() {
        let mut source = Source::text("t", "one\ntwo\n");
        assert_eq!(source.head().unwrap(), b"one\ntwo\n");
        let (_, mut read) = source.into_parts();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }
}
