//! Arguments on their way to the audit log: as they came in memory, without secrets on the disk.

use std::fmt;
use std::sync::Arc;

use redact::Redactor;
use serde::de::IgnoredAny;

/// Larger arguments are kept as a hash and a size only.
pub const ARGUMENTS_BYTES_MAX: usize = 8 * 1024;

/// Arguments as they came. Neither shown nor written: only what `strike` leaves is.
pub struct Plain(Box<[u8]>);

impl Plain {
    /// A copy of these arguments, which lets go of the message they came in; `None` if they are larger than
    /// the audit log keeps.
    pub fn of(json: &[u8]) -> Option<Plain> {
        (json.len() <= ARGUMENTS_BYTES_MAX).then(|| Plain(json.into()))
    }

    /// How much memory they take.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The arguments without secrets; `None` for what is no JSON, in which nothing can be struck out, and for
    /// what became too large.
    pub(crate) fn strike(&self, redactor: &Redactor) -> Option<Arc<str>> {
        serde_json::from_slice::<IgnoredAny>(&self.0).ok()?;
        let struck = redactor.json(&self.0);
        let left = struck.as_ref().map_or(&*self.0, |struck| &struck.bytes);
        if left.len() > ARGUMENTS_BYTES_MAX {
            return None;
        }
        str::from_utf8(left).ok().map(Arc::from)
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").field("bytes", &self.0.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_of_a_bounded_size_is_kept() {
        let redactor = Redactor::new(&redact::Config::default());
        let kept = |json: &str| Plain::of(json.as_bytes()).and_then(|plain| plain.strike(&redactor));
        assert_eq!(kept(r#"{"path":"a"}"#).as_deref(), Some(r#"{"path":"a"}"#));
        let longest = format!("{:?}", "x".repeat(ARGUMENTS_BYTES_MAX - 2));
        assert_eq!(kept(&longest).as_deref(), Some(&*longest));
        for wrong in [&format!("{longest} "), "{", "{} {}", "", "\u{0}"] {
            assert_eq!(kept(wrong), None, "{} bytes", wrong.len());
        }
    }

    #[test]
    fn they_are_not_shown() {
        assert_eq!(format!("{:?}", Plain::of(b"{\"a\":\"secret\"}")), "Some(Plain { bytes: 14, .. })");
    }
}
