//! Lengths of time: `"90s"`, `"10m"`, `"1h 30m"`, `"7d"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SpanRelativeTo;
use jiff::fmt::friendly::SpanParser;
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::written::{self, NotWritten, Unit};

/// A length of time, such as `90s`, `1h 30m` or `7d`: numbers with their units, the largest first. A day has 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(inline)]
pub struct Span(#[schemars(with = "String", regex(pattern = Span::PATTERN))] pub Duration);

/// The units in which a length is written, in milliseconds. Everybody says 365 days, and nobody 52 weeks and a day.
const UNITS: [Unit; 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Span {
    /// What is wanted of somebody who writes one.
    pub const EXPECTED: &str = "a time such as \"90s\", \"1h 30m\" or \"7d\" (units: ms, s, m, h, d, w)";

    /// What a schema says of its text: the short form. The long one (`"5 days"`) is read as well.
    pub const PATTERN: &str =
        "^([0-9]+ *w *)?([0-9]+ *d *)?([0-9]+ *h *)?([0-9]+ *m *)?([0-9]+ *s *)?([0-9]+ *ms *)?$";
}

impl FromStr for Span {
    type Err = NotWritten;

    fn from_str(text: &str) -> Result<Span, NotWritten> {
        let read = || {
            // A sign says nothing of a length, and months have none.
            let is_length = text.starts_with(|c: char| c.is_ascii_digit());
            let read = SpanParser::new().parse_span(text).ok().filter(|_| is_length)?;
            let is_fixed = read.get_years() == 0 && read.get_months() == 0;
            let length = read.to_duration(SpanRelativeTo::days_are_24_hours()).ok().filter(|_| is_fixed)?;
            Duration::try_from(length).ok().map(Span)
        };
        read().ok_or(NotWritten(Span::EXPECTED))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        match written::whole(ms, &UNITS) {
            (0, _) => f.write_str("0s"),
            (number, name) => write!(f, "{number}{name}"),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        written::deserialize(deserializer, Span::EXPECTED)
    }
}

/// The written form, which the reference of the configuration shows as the default.
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_their_units() {
        for (text, ms) in [
            ("30s", Some(30_000)),
            ("5 m", Some(300_000)),
            ("900ms", Some(900)),
            ("1h 30m", Some(5_400_000)),
            ("1h30m", Some(5_400_000)),
            ("1d 12 h", Some(129_600_000)),
            ("7d", Some(604_800_000)),
            ("2w", Some(1_209_600_000)),
            ("0s", Some(0)),
            ("30m 1h", None),
            ("1h 1h", None),
            ("-1s", None),
            ("+1s", None),
            ("1.5d", None),
            ("10", None),
            ("1h 10", None),
            ("d", None),
            ("5 days", Some(432_000_000)),
            ("1 hour, 30 minutes", Some(5_400_000)),
            ("1 month", None),
            ("5S", None),
            ("1\u{e4}", None),
            (" 5s", None),
            ("", None),
            (" ", None),
            ("18446744073709551615d", None),
            ("99999999999999999999ms", None),
            ("soon", None),
        ] {
            let read = text.parse::<Span>().ok();
            assert_eq!(read, ms.map(|ms| Span(Duration::from_millis(ms))), "{text}");
        }
        let text = "soon".parse::<Span>().unwrap_err().to_string();
        assert_eq!(text, r#"write a time such as "90s", "1h 30m" or "7d" (units: ms, s, m, h, d, w)"#);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["365d", "36h", "90m", "1s", "1500ms", "0s", "14d"] {
            assert_eq!(text.parse::<Span>().expect("a span").to_string(), text);
        }
    }

    #[test]
    fn a_setting_says_what_it_wants() {
        assert_eq!(serde_json::from_str(r#""10m""#).ok(), Some(Span(Duration::from_secs(600))));
        let error = serde_json::from_str::<Span>(r#""soon""#).expect_err("no span").to_string();
        assert!(
            error.starts_with(r#"invalid value: string "soon", expected a time such as "90s""#),
            "{error}"
        );
        assert!(serde_json::from_str::<Span>("10").is_err());
    }
}
