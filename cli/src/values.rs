//! Values of arguments that several commands read the same way.

use std::ops::Range;

use capsched::api::ModeKind;

/// Most threads that can be asked for.
const MAX_THREADS: usize = 256;

/// A number of threads; 0 means one for each core.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let wanted: usize = text
        .parse()
        .map_err(|_| format!("`{}` is no number of threads", text.escape_debug()))?;
    match wanted {
        0 => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        1..=MAX_THREADS => Ok(wanted),
        _ => Err(format!("at most {MAX_THREADS} threads, not {wanted}")),
    }
}

/// A seed: decimal, or hexadecimal after `0x`.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| {
        let shown = text.escape_debug();
        format!("`{shown}` is no seed; seeds are 0 to {}", u64::MAX)
    })
}

/// Reads `A..B` or a single seed.
pub(crate) fn seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("`{text}` is not a seed"))
    };
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(text)?, number(text)?.saturating_add(1)),
    };
    if from >= to {
        return Err(format!("there is no seed in {from}..{to}"));
    }
    Ok(from..to)
}

/// A moment or a length of virtual time in ms: `1500`, `1500ms`, `90s`, `10.4 min`, `1h45min`.
pub(crate) fn virtual_ms(text: &str) -> Result<u64, String> {
    let shown = text.escape_debug();
    let bad = || format!("`{shown}` is no time such as 1500ms, 90s, 10.4min, 2h or 1h45min");
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| bad());
    }
    let (mut sum, mut rest) = (0_u64, text);
    loop {
        let (part, after) = part_ms(rest).ok_or_else(bad)?;
        sum = sum.checked_add(part).ok_or_else(bad)?;
        if after.is_empty() {
            return Ok(sum);
        }
        rest = after;
    }
}

/// The number and the unit in front of a text in ms, and what follows them.
fn part_ms(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (unit, after) = rest.split_at(letters);
    let unit: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let places = u32::try_from(fraction.len()).ok().filter(|n| *n <= 9)?;
    let fraction = fraction.parse::<u64>().ok()?.checked_mul(unit)? / 10_u64.pow(places);
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    Some((whole.checked_add(fraction)?, after.trim_start()))
}

/// A mode by its name or a short form of it.
pub(crate) fn mode(text: &str) -> Result<ModeKind, String> {
    match text {
        "heartbeat" => Ok(ModeKind::Heartbeat),
        "async" | "asynchronous" => Ok(ModeKind::Asynchronous),
        "global" => Ok(ModeKind::Global),
        _ => Err(format!(
            "`{}` is no mode; there are heartbeat, async, global",
            text.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_or_one_number() {
        assert_eq!(seeds("3..7"), Ok(3..7));
        assert_eq!(seeds("9"), Ok(9..10));
        assert!(seeds("7..3").is_err());
        assert!(seeds("-1..3").is_err());
        assert!(seeds("a..b").is_err());
    }

    #[test]
    fn seeds_are_decimal_or_hexadecimal() {
        assert_eq!((seed("7"), seed("0xff")), (Ok(7), Ok(255)));
        for bad in ["-1", "", "0x", "18446744073709551616", "7u"] {
            assert!(seed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_units_and_are_milliseconds_without_one() {
        let read = ["1500", "1500ms", "90s", "15min", "2h"].map(virtual_ms);
        assert_eq!(read, [1500, 1500, 90_000, 900_000, 7_200_000].map(Ok));
        let read = ["1h45min", "1.5h", "10.4 min", "1d 2h 3m", "0.25s"].map(virtual_ms);
        assert_eq!(
            read,
            [6_300_000, 5_400_000, 624_000, 93_780_000, 250].map(Ok)
        );
        for bad in [
            "",
            "s",
            "-1s",
            "1.s",
            ".5s",
            "1.2.3s",
            "1.5",
            "9y",
            "1h5",
            "1 500",
            "99999999999999999h",
        ] {
            assert!(virtual_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn threads_are_bounded_and_zero_counts_the_cores() {
        assert!(threads("0").is_ok_and(|n| n > 0));
        assert_eq!(threads("2"), Ok(2));
        for bad in ["-1", "abc", "1000000000", ""] {
            assert!(threads(bad).is_err(), "{bad}");
        }
    }
}
