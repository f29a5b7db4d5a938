//! Times on the command line: as people write them, and as they are shown. Programs are told milliseconds since 1970, in
//! members whose names end in `_ms`.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use units::Span;

use crate::ending::Trouble;

/// The time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    ms(SystemTime::now())
}

/// Milliseconds since 1970; none for what was before.
pub fn ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A time in milliseconds since 1970 as people read it and may write it again: in UTC, to the second.
pub fn shown(ms: i64) -> String {
    gate::approvals::time(ms)
}

/// The same with the time of the clock on this person's wall, unless that goes by UTC.
pub fn shown_here(ms: i64) -> String {
    shown_in(ms, &TimeZone::system())
}

fn shown_in(ms: i64, here: &TimeZone) -> String {
    let Ok(time) = Timestamp::from_millisecond(ms) else { return shown(ms) };
    let local = time.to_zoned(here.clone());
    match local.offset().is_zero() {
        true => shown(ms),
        false => format!("{} ({} here)", shown(ms), local.strftime("%H:%M:%S")),
    }
}

/// A time as people write it, in milliseconds since 1970.
///
/// # Errors
/// It is none.
pub fn time_ms(option: &str, text: &str) -> Result<i64, Trouble> {
    parse_time(text, now_ms()).ok_or_else(|| {
        let what =
            "a time such as 2026-01-31T12:00:00Z, a date such as 2026-01-31, or how long ago, such as 2h";
        Trouble::Misused(format!("{option}: `{text}` is not {what}"))
    })
}

fn parse_time(text: &str, now_ms: i64) -> Option<i64> {
    if let Ok(Span(age)) = text.parse() {
        return now_ms.checked_sub(i64::try_from(age.as_millis()).ok()?);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let date: Date = text.parse().ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_by_the_clock_on_the_wall_too() {
        let ms = 1_700_000_000_000;
        for (zone, expected) in [
            (TimeZone::UTC, "2023-11-14T22:13:20Z"),
            (TimeZone::fixed(jiff::tz::offset(2)), "2023-11-14T22:13:20Z (00:13:20 here)"),
            (TimeZone::fixed(jiff::tz::offset(-5)), "2023-11-14T22:13:20Z (17:13:20 here)"),
        ] {
            assert_eq!(shown_in(ms, &zone), expected);
        }
    }

    #[test]
    fn times_as_people_write_them() {
        let day = 86_400_000;
        for (text, expected) in [
            ("2h", Some(10 * day - 7_200_000)),
            ("1970-01-03", Some(2 * day)),
            ("1970-01-03T00:00:01Z", Some(2 * day + 1_000)),
            ("1970-01-03T01:00:00+01:00", Some(2 * day)),
            ("yesterday", None),
            ("", None),
            ("99999999999999999999d", None),
        ] {
            assert_eq!(parse_time(text, 10 * day), expected, "{text}");
        }
        assert_eq!(shown(1_700_000_000_400), "2023-11-14T22:13:20Z");
        assert_eq!(parse_time(&shown(1_700_000_000_400), 0), Some(1_700_000_000_000));
        assert_eq!(shown(i64::MAX), "at an unknown time");
    }
}
