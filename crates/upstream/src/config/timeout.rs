//! A time limit as people write it: milliseconds, or a number with its unit.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use units::Span;

/// A time limit. Whether it is sensible is checked where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Written")]
#[schemars(inline)]
pub struct Timeout(pub Duration);

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be milliseconds, or a time such as \"90s\", \"1h 30m\" or \"7d\" (units: ms, s, m, h, d, w)"
)]
#[schemars(inline)]
enum Written {
    /// Milliseconds.
    Ms(#[schemars(range(min = 1))] u64),
    Length(Span),
}

impl From<Written> for Timeout {
    fn from(written: Written) -> Timeout {
        match written {
            Written::Ms(ms) => Timeout(Duration::from_millis(ms)),
            Written::Length(Span(length)) => Timeout(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected_ms: Option<u64>) {
        let read = serde_json::from_str::<Timeout>(json).ok().map(|it| it.0);
        assert_eq!(read, expected_ms.map(Duration::from_millis), "{json}");
    }

    #[test]
    fn a_time_or_milliseconds() {
        check(r#""30s""#, Some(30_000));
        check(r#""1m 30s""#, Some(90_000));
        check("250", Some(250));
        for json in ["-1", "1.5", r#""30""#, r#""-1s""#, r#""soon""#, "true"] {
            check(json, None);
        }
    }
}
