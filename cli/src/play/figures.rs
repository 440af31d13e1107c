//! Figures as people read them: grouped digits, shares, rates, times with units.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]

/// A number with commas.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Thousandths as a percentage.
pub(super) fn percent(permille: u32) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

/// A rate without a fraction, or with one below ten.
pub(crate) fn rate(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        grouped(value.round().clamp(0.0, 1e18) as u64)
    }
}

/// Wall time in seconds.
pub(super) fn seconds(ns: u64) -> String {
    format!("{:.2} s", ns as f64 / 1e9)
}

/// Wall time of one step.
pub(crate) fn time(ns: u64) -> String {
    let ns_f = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns_f / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns_f / 1e6),
        _ => format!("{:.2} s", ns_f / 1e9),
    }
}

/// Virtual time.
pub(crate) fn virtual_time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..600_000 => format!("{:.1} s", ms as f64 / 1e3),
        600_000..7_200_000 => format!("{:.1} min", ms as f64 / 6e4),
        _ => format!("{:.1} h", ms as f64 / 3.6e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_times_have_units() {
        assert_eq!((grouped(7), grouped(8152)), ("7".into(), "8,152".into()));
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(time(999), "999 ns");
        assert_eq!(
            (time(1500), time(2_500_000)),
            ("1.5 us".into(), "2.5 ms".into())
        );
        assert_eq!(virtual_time(1500), "1.5 s");
        assert_eq!(virtual_time(7_200_000), "2.0 h");
        assert_eq!(percent(65), "6.5 %");
        assert_eq!((rate(0.25), rate(1234.6)), ("0.2".into(), "1,235".into()));
    }
}
