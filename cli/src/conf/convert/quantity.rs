//! Amounts of resources as the Fair Scheduler and YuniKorn write them.

/// MiB and vcores of `1024 mb, 2 vcores` or `memory-mb=1024, vcores=2`; nothing for percentages and
/// what cannot be read.
// As FairSchedulerConfiguration.parseResourceConfigValue.
pub(super) fn fair(text: &str) -> Option<[i64; 2]> {
    let mut amounts = [None, None];
    for part in text.split(',') {
        let part = part.trim().to_ascii_lowercase();
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim().to_owned(), value.trim().to_owned()),
            None => {
                let digits = part.bytes().take_while(u8::is_ascii_digit).count();
                (part[digits..].trim().to_owned(), part[..digits].to_owned())
            }
        };
        let index = match name.as_str() {
            "mb" | "memory-mb" => 0,
            "vcores" => 1,
            _ => return None,
        };
        amounts[index] = Some(value.parse().ok()?);
    }
    Some([amounts[0]?, amounts[1]?])
}

/// Bytes of a quantity such as `10Gi`, `500M` or `1024`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let factor: u64 = match text[digits..].trim() {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(factor)
}

/// Thousandths of a core of a quantity such as `4` or `500m`.
pub(super) fn millicores(text: &str) -> Option<u64> {
    match text.strip_suffix('m') {
        Some(milli) => milli.trim().parse().ok(),
        None => text.trim().parse::<u64>().ok()?.checked_mul(1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_in_both_forms() {
        assert_eq!(fair("1024 mb, 2 vcores"), Some([1024, 2]));
        assert_eq!(fair("2 vcores,1024mb"), Some([1024, 2]));
        assert_eq!(fair("memory-mb=4096, vcores=8"), Some([4096, 8]));
        for other in ["50%", "50% memory, 3% cpu", "x", "1024 mb"] {
            assert_eq!(fair(other), None, "{other}");
        }
        assert_eq!(bytes("2Gi"), Some(2 << 30));
        assert_eq!(bytes("500M"), Some(500_000_000));
        assert_eq!(bytes("1x"), None);
        assert_eq!(
            (millicores("4"), millicores("500m")),
            (Some(4000), Some(500))
        );
    }
}
