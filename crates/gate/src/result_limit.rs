//! `ResultLimit`: how much of a result one answer holds, in bytes or in tokens.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::Size;

use crate::result::RESULT_BYTES_MAX;

/// So many bytes of text are taken for one token. Models differ, and by language; English text and code have three to five.
pub const TOKEN_BYTES: usize = 4;

/// Some 25,000 tokens: what clients take of one result.
const DEFAULT_BYTES: u64 = 100 * 1024;

/// Less than a mark and a few lines is of no use.
const BYTES_MIN: u64 = 1024;

/// How tokens are written.
const TOKENS: &str = "tokens";

/// How many tokens so many bytes are taken for.
pub(crate) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(TOKEN_BYTES)
}

/// How much of a result one answer holds, such as `100 KiB` or `25000 tokens`; a token counts as 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(inline)]
pub struct ResultLimit(#[schemars(with = "String", regex(pattern = "^[0-9]+ *(KiB|MiB|tokens)$"))] u64);

/// A text is no limit of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a size such as \"100 KiB\" (units: KiB, MiB, GiB) or \"25000 tokens\"")]
pub struct NoLimit;

impl Default for ResultLimit {
    fn default() -> ResultLimit {
        ResultLimit(DEFAULT_BYTES)
    }
}

impl ResultLimit {
    /// In bytes.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// What is wrong with it; nothing if it can be used.
    pub fn fault(self) -> Option<String> {
        let most = RESULT_BYTES_MAX as u64;
        let is_usable = (BYTES_MIN..=most).contains(&self.0);
        (!is_usable).then(|| format!("must be between {} and {}", Size(BYTES_MIN), Size(most)))
    }
}

impl FromStr for ResultLimit {
    type Err = NoLimit;

    fn from_str(text: &str) -> Result<ResultLimit, NoLimit> {
        let bytes = match text.strip_suffix(TOKENS) {
            Some(number) => {
                let number = number.trim_end().parse::<u64>().ok();
                number.and_then(|number| number.checked_mul(TOKEN_BYTES as u64))
            }
            None => text.parse::<Size>().ok().map(|size| size.0),
        };
        bytes.map(ResultLimit).ok_or(NoLimit)
    }
}

impl fmt::Display for ResultLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_multiple_of(1024) {
            true => Size(self.0).fmt(f),
            false => write!(f, "{} {TOKENS}", self.0 / TOKEN_BYTES as u64),
        }
    }
}

impl<'de> Deserialize<'de> for ResultLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ResultLimit, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The written form, which the reference of the configuration shows as the default.
impl Serialize for ResultLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes: Option<usize>) {
        let read = text.parse::<ResultLimit>().ok();
        assert_eq!(read.map(ResultLimit::bytes), bytes, "{text}");
    }

    #[test]
    fn bytes_and_tokens_are_read() {
        check("100 KiB", Some(100 * 1024));
        check("1 MiB", Some(1024 * 1024));
        check("25000 tokens", Some(100_000));
        check("25000tokens", Some(100_000));
        for wrong in ["25000", "", "tokens", "-1 tokens", "1.5 tokens", "18446744073709551615 tokens"] {
            check(wrong, None);
        }
        assert_eq!(ResultLimit(100_000).to_string(), "25000 tokens");
    }

    #[test]
    fn what_is_of_no_use_is_told() {
        let fault = |text: &str| text.parse::<ResultLimit>().expect("a limit").fault();
        assert_eq!(fault("1 KiB"), None);
        assert_eq!(fault("32 MiB"), None);
        assert_eq!(fault("10 tokens").as_deref(), Some("must be between 1 KiB and 32 MiB"));
        assert_eq!(fault("33 MiB").as_deref(), Some("must be between 1 KiB and 32 MiB"));
    }
}
