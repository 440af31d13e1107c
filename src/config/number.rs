//! Numbers and lists as the Java library reads them from text.
//!
//! The original hands configuration values to `Float.parseFloat`, `Integer.parseInt` and the
//! number readers of Hadoop's `Configuration`; what those accept is part of its verdicts.

/// Cuts leading and trailing characters up to U+0020, as `String.trim` does. Other white space,
/// such as a no-break space, stays.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

/// A Java float: white space around it, a suffix `f` or `d`, hexadecimal notation, `NaN` and
/// `Infinity` are part of the syntax.
pub(super) fn float(text: &str) -> Option<f32> {
    let text = trim(text);
    let (sign, body) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let magnitude = match body {
        "NaN" => return Some(f32::NAN),
        "Infinity" => f32::INFINITY,
        _ if body.starts_with("0x") || body.starts_with("0X") => hex_float(&body[2..])?,
        _ => decimal_float(body)?,
    };
    let negative = if sign.is_empty() { 1.0 } else { -1.0 };
    Some(magnitude.copysign(negative))
}

/// A Java double, read as [`float`] reads floats; hexadecimal ones with the precision of a float.
pub(super) fn double(text: &str) -> Option<f64> {
    let narrow = float(text)?;
    let body = trim(text);
    let body = body.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(body);
    Some(body.parse().unwrap_or_else(|_| f64::from(narrow)))
}

fn decimal_float(body: &str) -> Option<f32> {
    let body = body.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(body);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    body.parse().ok()
}

/// The part of a hexadecimal float after `0x`; the binary exponent is mandatory.
fn hex_float(body: &str) -> Option<f32> {
    let body = body.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(body);
    let at = body.find(['p', 'P'])?;
    let (mantissa, exponent) = (&body[..at], &body[at + 1..]);
    let exponent: i64 = exponent
        .strip_prefix('+')
        .unwrap_or(exponent)
        .parse()
        .map_or_else(|_| saturated_exponent(exponent), Some)?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let (mut value, mut scale, mut rest) = (0u64, 0i64, false);
    for (i, c) in whole.chars().chain(part.chars()).enumerate() {
        let digit = c.to_digit(16)?;
        let fraction = i >= whole.len();
        if value >> 59 == 0 {
            value = value << 4 | u64::from(digit);
            scale -= if fraction { 4 } else { 0 };
        } else {
            rest |= digit != 0;
            scale += if fraction { 0 } else { 4 };
        }
    }
    Some(compose(value, rest, exponent.saturating_add(scale)))
}

/// An exponent of more digits than an `i64` holds.
fn saturated_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(if negative { i64::MIN / 2 } else { i64::MAX / 2 })
}

/// The `f32` nearest to `value · 2^exponent`, ties to even; `rest` says that non-zero digits
/// below `value` were dropped.
fn compose(value: u64, rest: bool, exponent: i64) -> f32 {
    if value == 0 {
        return 0.0;
    }
    let length = 64 - i64::from(value.leading_zeros());
    let top = exponent.saturating_add(length - 1);
    if top > 127 {
        return f32::INFINITY;
    }
    let normal = top >= -126;
    let precision = if normal { 24 } else { 24 - (-126 - top) };
    if precision < 0 {
        return 0.0;
    }
    let shift = length - precision;
    let mantissa = if shift <= 0 {
        value << shift.unsigned_abs()
    } else {
        round_half_even(value, shift.unsigned_abs(), rest)
    };
    let base = if normal {
        u64::try_from(top + 127).expect("a normal exponent") << 23
    } else {
        0
    };
    let hidden = if normal { 1 << 23 } else { 0 };
    let bits = u32::try_from(base + mantissa - hidden).expect("at most the bits of infinity");
    f32::from_bits(bits)
}

fn round_half_even(value: u64, shift: u64, rest: bool) -> u64 {
    if shift > 64 {
        return 0;
    }
    let wide = u128::from(value);
    let kept = wide >> shift;
    let dropped = wide & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = dropped > half || (dropped == half && (rest || kept & 1 == 1));
    u64::try_from(kept + u128::from(up)).expect("shifted right")
}

/// `Integer.parseInt` and `Long.parseLong` in base ten: an optional sign and ASCII digits. The
/// original also takes other Unicode digits; those are refused here.
pub(super) fn decimal<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A text with every digit of another script as one of ASCII; nothing when it has none.
pub(super) fn ascii_digits(text: &str) -> Option<String> {
    let digit = |c: char| {
        if !c.is_ascii() && c.is_numeric() {
            '1'
        } else {
            c
        }
    };
    let plain: String = text.chars().map(digit).collect();
    (plain != text).then_some(plain)
}

/// `Configuration.getInt` and `getLong`: trimmed, and hexadecimal after `0x`.
pub(super) fn integer<T>(text: &str) -> Option<T>
where
    T: std::str::FromStr + TryFrom<i128>,
{
    let text = trim(text);
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let Some(hex) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) else {
        return decimal(text);
    };
    if hex.is_empty() || hex.len() > 31 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = i128::from_str_radix(hex, 16).ok()?;
    T::try_from(if negative { -value } else { value }).ok()
}

/// `Configuration.getBoolean`: nothing when the text is neither word, so that the default counts.
pub(super) fn boolean(text: &str) -> Option<bool> {
    let text = trim(text);
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// `StringUtils.getTrimmedStrings`: split at commas and line feeds, trimmed, empty ones kept only
/// between others.
pub(super) fn trimmed_list(text: &str) -> Vec<&str> {
    let text = trim(text);
    if text.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<&str> = text.split([',', '\n']).map(str::trim).collect();
    while all.last().is_some_and(|last| last.is_empty()) {
        all.pop();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_take_what_java_takes() {
        for (text, value) in [
            ("50", 50.0),
            ("50f", 50.0),
            ("50D", 50.0),
            ("+50", 50.0),
            (" 50 ", 50.0),
            ("\n50\n", 50.0),
            ("5.", 5.0),
            (".5", 0.5),
            ("1e1", 10.0),
            ("-5", -5.0),
            ("070", 70.0),
            ("0x1.9p4", 25.0),
            ("0x1p1", 2.0),
            ("-0X.8P1f", -1.0),
            ("33.333", 33.333),
            ("1e400", f32::INFINITY),
            ("-Infinity", f32::NEG_INFINITY),
            ("1e-45", f32::from_bits(1)),
        ] {
            assert_eq!(
                float(text).map(f32::to_bits),
                Some(value.to_bits()),
                "{text:?}"
            );
        }
        assert!(float("NaN").unwrap().is_nan());
    }

    #[test]
    fn floats_refuse_what_java_refuses() {
        for text in [
            "", " ", "50%", "5_0", "0x10", "50,0", "５０", "nan", "inf", "infinity", "e5", "1e",
            "1e+", ".", "+", "--5", "50ff", "0x", "0xp1", "0x1p", "\u{a0}5", "1 0",
        ] {
            assert_eq!(float(text), None, "{text:?}");
        }
    }

    #[test]
    fn hexadecimal_floats_round_to_the_nearest() {
        let cases = [
            ("0x1.000001p0", 0x3f80_0000),
            ("0x1.000003p0", 0x3f80_0002),
            ("0x1.0000011p0", 0x3f80_0001),
            ("0x1.ffffffp0", 0x4000_0000),
            ("0x1p-149", 1),
            ("0x1p-150", 0),
            ("0x1.8p-150", 1),
            ("0x1p-126", 0x0080_0000),
            ("0x1p128", 0x7f80_0000),
            ("0x1p99999999999999999999", 0x7f80_0000),
            ("0x1p-99999999999999999999", 0),
            ("0x10000000000000000000000000p-100", 0x3f80_0000),
        ];
        for (text, bits) in cases {
            assert_eq!(float(text).map(f32::to_bits), Some(bits), "{text}");
        }
    }

    #[test]
    fn integers_are_trimmed_and_may_be_hexadecimal() {
        assert_eq!(integer::<i32>(" 010 "), Some(10));
        assert_eq!(integer::<i32>("-0x10"), Some(-16));
        assert_eq!(integer::<i32>("+7"), Some(7));
        assert_eq!(integer::<i64>("99999999999"), Some(99_999_999_999));
        for bad in [
            "",
            "5.0",
            "1e3",
            "2147483648",
            "0x",
            "0xg",
            "５",
            "--1",
            "0x80000000",
        ] {
            assert_eq!(integer::<i32>(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn booleans_fall_back_on_other_words() {
        assert_eq!(boolean(" TRUE "), Some(true));
        assert_eq!(boolean("False"), Some(false));
        assert_eq!(boolean("truee"), None);
        assert_eq!(boolean("yes"), None);
    }

    #[test]
    fn lists_split_at_commas_and_line_ends() {
        assert_eq!(trimmed_list(" a , b\n c,"), ["a", "b", "c"]);
        assert_eq!(trimmed_list("  "), [""; 0]);
    }
}
