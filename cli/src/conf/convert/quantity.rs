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

/// Whether the Fair Scheduler reads amounts or percentages of resources. Types beyond memory and
/// vcores depend on the cluster, so all are taken.
// As FairSchedulerConfiguration.parseResourceConfigValue.
pub(super) fn readable(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let percent = text.contains('%');
    let parts: Vec<&str> = text.trim_end_matches(',').split(',').collect();
    if text.contains('=') {
        return parts.iter().all(|part| match part.split_once('=') {
            Some((name, value)) if percent => !name.trim().is_empty() && share(value).is_some(),
            Some((name, value)) => {
                let amount = value.trim().parse::<i64>();
                !name.trim().is_empty() && amount.is_ok_and(|amount| amount >= 0)
            }
            None => false,
        });
    }
    let every = |wanted: [&str; 2], named: fn(&str) -> Option<&str>| {
        let names: Vec<&str> = parts.iter().filter_map(|part| named(part)).collect();
        wanted.iter().all(|wanted| {
            let mut names = names.iter();
            names.any(|name| name.starts_with(wanted))
        })
    };
    match (percent, parts.len()) {
        (true, 1) => share(parts[0]) == Some(""),
        (true, _) => every(["memory", "cpu"], share),
        (false, 1) => parts[0].contains("mb") && parts[0].contains("vcores"),
        (false, 2) => every(["mb", "vcores"], unit),
        (false, _) => false,
    }
}

/// What follows a number of at least 0.
fn unit(text: &str) -> Option<&str> {
    let text = text.trim();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - rest.len()];
    let whole = number.split('.').next()?;
    whole.parse::<i64>().ok()?;
    Some(rest.trim_start())
}

/// What follows a percentage of at least 0.
fn share(text: &str) -> Option<&str> {
    Some(unit(text)?.strip_prefix('%')?.trim_start())
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

    /// The verdicts are those of the class in Hadoop 3.4.2.
    #[test]
    fn the_reference_reads_what_is_called_readable() {
        for text in [
            "1024.5 mb, 2 vcores",
            "1024mb 2vcores",
            "50% cpu, 30% memory",
            "50%",
            "150%",
            "50.5 %",
            "vcores=2",
            "memory-mb=50%",
            "memory-mb=1024,",
            "memory-mb = 50%, vcores = 20%",
            "memory-mb=1024 ,vcores= 2",
            "vcores=+2,memory-mb=3",
            "1024 MB, 2 VCORES",
            "0mb,0vcores",
            "10 %memory, 3% cpu",
            "50% memory, 50% cpu, 3% gpu",
            "1024 mb, 2 vcores extra",
        ] {
            assert!(readable(text), "{text}");
        }
        for text in [
            "1024 mb",
            "50% memory",
            "50% cpu 30% memory",
            "50",
            "-5%",
            "-5% cpu, 3% memory",
            "vcores=2,memory-mb=-1",
            "2 vcores, 1024 mb, 3 gpus",
            "memory-mb=1g,vcores=2",
            "1 gb, 2 vcores",
            "x 1024 mb, 2 vcores",
            "1024 mb, 2vcores, 7 mb",
            ",",
            "",
            "1024 mb,vcores=3",
            "50%,50%",
            "memory-mb=1.5,vcores=2",
            "vcores=",
            "=3",
            "+5 mb, 2 vcores",
            "vcores=20%,memory-mb=1024",
            "99999999999999999999 mb, 2 vcores",
        ] {
            assert!(!readable(text), "{text}");
        }
    }
}
