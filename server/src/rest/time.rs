//! Times as YARN writes them.

/// Days from the beginning of 1970 to the first day of a month's era of 400 years, as civil calendars count.
const ERA_DAYS: i64 = 146_097;

/// Year, month and day of a number of days since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    // Years that begin in March, so that the leap day comes last.
    let from_march = days + 719_468;
    let era = from_march.div_euclid(ERA_DAYS);
    let day = from_march.rem_euclid(ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, of_month)
}

/// Days since 1970 of a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A time in ms since the Unix epoch as `2031-01-01T00:00:00.000+0000`.
// As Times.formatISO8601.
#[must_use]
pub(super) fn iso(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let (year, month, day) = date(ms / 86_400_000);
    let of_day = ms % 86_400_000;
    let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (seconds, thousandths) = (of_day / 1000 % 60, of_day % 1000);
    format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03}+0000"
    )
}

/// A time as `Thu Nov 26 00:39:38 UTC 2026`.
// As java.util.Date.toString in UTC.
#[must_use]
pub(super) fn java_date(ms: u64) -> String {
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let days = ms / 86_400_000;
    let (year, month, day) = date(days);
    let of_day = ms % 86_400_000;
    let weekday = usize::try_from(days.rem_euclid(7)).unwrap_or(0);
    let month = usize::try_from(month - 1).unwrap_or(0);
    format!(
        "{} {} {day:02} {:02}:{:02}:{:02} UTC {year}",
        WEEKDAYS[weekday],
        MONTHS[month],
        of_day / 3_600_000,
        of_day / 60_000 % 60,
        of_day / 1000 % 60
    )
}

/// Reads a time such as `2031-01-01T00:00:00.000+0000`; nothing when it is none.
// As Times.parseISO8601ToLocalTimeInMillis, which reads the pattern yyyy-MM-dd'T'HH:mm:ss.SSSZ.
#[must_use]
pub(super) fn parse_iso(text: &str) -> Option<u64> {
    let (date, clock) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>());
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let at = clock.find(['+', '-'])?;
    let (clock, zone) = clock.split_at(at);
    let (clock, thousandths) = clock.split_once('.')?;
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<i64>());
    let (hour, minute, second) = (
        clock.next()?.ok()?,
        clock.next()?.ok()?,
        clock.next()?.ok()?,
    );
    let thousandths = thousandths.parse::<i64>().ok()?;
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let zone = zone.get(1..)?.replace(':', "");
    let valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..1000).contains(&thousandths)
        && (1970..=9999).contains(&year)
        && zone.len() == 4;
    if !valid {
        return None;
    }
    let zone = zone.parse::<i64>().ok()?;
    let offset = sign * (zone / 100 * 60 + zone % 100);
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset;
    u64::try_from((minutes * 60 + second) * 1000 + thousandths).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read_back() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000+0000"),
            (951_782_400_123, "2000-02-29T00:00:00.123+0000"),
            (1_924_992_000_000, "2031-01-01T00:00:00.000+0000"),
        ] {
            assert_eq!(iso(ms), text);
            assert_eq!(parse_iso(text), Some(ms));
        }
        assert_eq!(parse_iso("1970-01-01T02:00:00.000+0200"), Some(0));
        assert_eq!(java_date(1_795_653_578_596), "Thu Nov 26 00:39:38 UTC 2026");
        for bad in [
            "",
            "yesterday",
            "2031-13-01T00:00:00.000+0000",
            "2031-01-01",
        ] {
            assert_eq!(parse_iso(bad), None, "{bad}");
        }
    }
}
