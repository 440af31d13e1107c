//! Encodings that a file may declare, as long as every byte of it is ASCII.

/// Numbers of code pages below which ASCII stands as it is.
const CODE_PAGES: &[u16] = &[
    367, 437, 737, 775, 813, 819, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 865, 866, 868,
    869, 874, 912, 913, 914, 915, 916, 920, 921, 922, 923, 932, 948, 950, 964, 970, 1006, 1046,
    1089, 1098, 1124, 1129, 1252, 1381, 1383,
];

/// Endings of names that start with `windows-`, `ms` or `ms-`.
const WINDOWS: &[&str] = &[
    "1250",
    "1251",
    "1252",
    "1253",
    "1254",
    "1255",
    "1256",
    "1257",
    "1258",
    "31j",
    "437",
    "874",
    "932",
    "936",
    "949",
    "950",
    "1361",
    "iso2022jp",
];

/// Endings of names that start with `iso-8859-`, in any spelling.
const ISO_8859: &[&str] = &[
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "11", "13", "15", "16",
];

/// All other names, in lower case.
const OTHERS: &[&str] = &[
    "utf-8",
    "utf8",
    "utf_8",
    "unicode-1-1-utf-8",
    "cesu-8",
    "cesu8",
    "us-ascii",
    "ascii",
    "ascii7",
    "us_ascii",
    "us",
    "646",
    "iso646-us",
    "ansi_x3.4-1968",
    "ansi_x3.4-1986",
    "csascii",
    "default",
    "latin1",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin9",
    "latin10",
    "latin0",
    "latin-9",
    "iso-latin-1",
    "csisolatin1",
    "l1",
    "l2",
    "l3",
    "l4",
    "l5",
    "l9",
    "l10",
    "arabic",
    "cyrillic",
    "greek",
    "greek8",
    "hebrew",
    "ecma-114",
    "ecma-118",
    "elot_928",
    "asmo-708",
    "big5",
    "csbig5",
    "big5-hkscs",
    "big5_hkscs",
    "big5hkscs",
    "big5hk",
    "gbk",
    "gb2312",
    "gb2312-80",
    "gb2312-1980",
    "csgb2312",
    "gb18030",
    "gb18030-2022",
    "euc-cn",
    "euc_cn",
    "euccn",
    "euc-jp",
    "euc_jp",
    "eucjp",
    "eucjis",
    "euc-kr",
    "euc_kr",
    "euckr",
    "cseuckr",
    "ksc5601",
    "ksc_5601",
    "ks_c_5601-1987",
    "ksc5601-1987",
    "euc-tw",
    "euc_tw",
    "euctw",
    "cns11643",
    "johab",
    "shift_jis",
    "shift-jis",
    "sjis",
    "ms_kanji",
    "csshiftjis",
    "pck",
    "koi8",
    "koi8-r",
    "koi8_r",
    "koi8-u",
    "koi8_u",
    "tis-620",
    "tis620",
    "iso-2022-jp",
    "iso2022jp",
    "csiso2022jp",
    "jis",
    "iso-2022-kr",
    "iso2022kr",
    "csiso2022kr",
    "iso-2022-cn",
    "iso2022cn",
    "ansi-1251",
    "cp-1252",
    "macroman",
    "maccyrillic",
    "maccentraleurope",
    "macgreek",
    "macturkish",
    "macthai",
    "macarabic",
    "machebrew",
    "maciceland",
    "maccroatian",
    "macromania",
    "macukraine",
];

/// Whether the declared encoding exists and reads every ASCII byte as that character.
///
/// Names in the form `cp1251` are not known by the reference's reader, other than `cp1252`.
// As Woodstox with the charsets of Java 17: each name was asked.
pub(super) fn reads_ascii(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = name.strip_prefix("x-").unwrap_or(&name);
    let after = |starts: &[&str], ends: &[&str]| {
        let mut rests = starts.iter().filter_map(|start| plain.strip_prefix(start));
        rests.any(|rest| ends.contains(&rest))
    };
    let pages = ["ibm-", "ibm", "cp", ""];
    let mut numbers = pages
        .iter()
        .filter_map(|start| plain.strip_prefix(start)?.parse().ok());
    OTHERS.contains(&plain)
        || after(&["windows-", "windows", "ms-", "ms_", "ms"], WINDOWS)
        || after(
            &[
                "iso-8859-",
                "iso8859-",
                "iso8859_",
                "iso_8859-",
                "iso_8859_",
                "8859_",
            ],
            ISO_8859,
        )
        || numbers.any(|number: u16| CODE_PAGES.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_that_hold_ascii_are_known_in_any_case() {
        for name in [
            "GB2312",
            "gbk",
            "GB18030",
            "Big5",
            "Shift_JIS",
            "EUC-JP",
            "KOI8-R",
            "windows-1251",
            "ISO-8859-15",
            "ISO8859_1",
            "IBM850",
            "cp1252",
            "x-windows-949",
            "Latin1",
            "MacRoman",
            "TIS-620",
            "x-IBM950",
            "Utf-8",
        ] {
            assert!(reads_ascii(name), "{name}");
        }
    }

    #[test]
    fn others_are_not() {
        for name in [
            "EBCDIC",
            "IBM037",
            "cp037",
            "IBM1047",
            "UTF-16",
            "UTF-16LE",
            "UTF-32",
            "foo",
            "",
            "x-",
            "cp1251",
            "utf-7",
            "binary",
            "ANSI",
            "ibm930",
            "iso-8859-12",
        ] {
            assert!(!reads_ascii(name), "{name}");
        }
    }
}
