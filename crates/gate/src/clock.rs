//! The time, as questions and counts of days go by it.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The time in milliseconds since 1970.
pub(crate) type Clock = fn() -> i64;

/// The time by the clock of the system.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A time in milliseconds since 1970 as people read it: in UTC, to the second, after RFC 3339.
pub fn time(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).and_then(|time| time.round(jiff::Unit::Second));
    time.map_or_else(|_| "at an unknown time".to_owned(), |time| time.to_string())
}
