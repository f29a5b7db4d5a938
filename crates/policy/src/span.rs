//! Spans of time as people write them: `"90s"`, `"10m"`, `"1h 30m"`, `"7d"`.

use std::time::Duration;

/// The span that a text names; nothing if it is none, or before nothing.
pub fn parse_span(text: &str) -> Option<Duration> {
    // Days are no exact time for the library, and 24 hours for everybody who writes them here.
    if let Some(days) = text.strip_suffix('d').and_then(|days| days.trim().parse::<u32>().ok()) {
        return Some(Duration::from_secs(u64::from(days) * 24 * 60 * 60));
    }
    Duration::try_from(text.parse::<jiff::SignedDuration>().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("1h 30m", Some(5_400)),
            ("7d", Some(7 * 86_400)),
            ("0s", Some(0)),
            ("-1s", None),
            ("10", None),
            ("", None),
            ("4294967296d", None),
            ("soon", None),
        ] {
            assert_eq!(parse_span(text), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
