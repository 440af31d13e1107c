//! Text files that a command reads whole.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::output::Problem;

/// The text of a file of at most so many bytes.
///
/// # Errors
///
/// A [`Problem`] with its place where the file is too long or no UTF-8; otherwise why it cannot be read.
pub(crate) fn read(path: &Path, most: u64) -> Result<String> {
    let shown = path.display();
    // Before it is opened: nobody may ever write into a pipe.
    let data = std::fs::metadata(path).with_context(|| shown.to_string())?;
    if !data.is_file() {
        bail!("{shown}: not a regular file");
    }
    let file = File::open(path).with_context(|| shown.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.with_context(|| shown.to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > most) {
        return Err(Problem(format!("{shown}: the file is longer than {most} bytes")).into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let (line, column, byte) = place(error.as_bytes(), at);
        let why = format!("the byte 0x{byte:02x} is not UTF-8");
        Problem(format!("{shown}:{line}:{column}: {why}")).into()
    })
}

/// Line and column of a byte, from 1 and in bytes, and the byte.
fn place(bytes: &[u8], at: usize) -> (usize, usize, u8) {
    let before = &bytes[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n');
    (line, at - start.map_or(0, |end| end + 1) + 1, bytes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_placed_by_line_and_column() {
        for (bytes, found) in [
            (&b"\xff"[..], (1, 1, 0xff)),
            (b"ab\xfe", (1, 3, 0xfe)),
            (b"ab\n\xfdc", (2, 1, 0xfd)),
            (b"\n\ncd\xfc", (3, 3, 0xfc)),
        ] {
            let error = std::str::from_utf8(bytes).unwrap_err();
            assert_eq!(place(bytes, error.valid_up_to()), found);
        }
    }
}
