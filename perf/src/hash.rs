//! A stable hash of what was run and what was decided (FNV-1a, 64 bit).

/// A hash in the making; equal inputs in equal order give equal hashes on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Takes in bytes and their number, so that neighbouring texts do not run together.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.byte(byte);
        }
        self.number(bytes.len() as u64);
    }

    pub(crate) fn number(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.byte(byte);
        }
    }

    pub(crate) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }

    const fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_texts_do_not_run_together() {
        let of = |parts: [&str; 2]| {
            let mut hash = Hash::new();
            parts.iter().for_each(|part| hash.bytes(part.as_bytes()));
            hash.hex()
        };
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]), of(["ab", "c"]));
    }
}
