//! Page cursors: opaque to the client, "after this name" to us.
//!
//! A cursor names the last item seen instead of a position, so it stays good when the list changes
//! between two pages.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Marks the form of the cursor, so that a later form can be told apart.
const PREFIX: &str = "after:";

/// Longest cursor looked at, in bytes.
const CURSOR_BYTES_MAX: usize = 512;

/// The cursor for the page that follows the item `name`.
pub fn after(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{PREFIX}{name}"))
}

/// The name in a cursor; nothing if we never made this cursor.
pub fn parse(cursor: &str) -> Option<String> {
    if cursor.len() > CURSOR_BYTES_MAX {
        return None;
    }
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix(PREFIX).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_and_refuses_foreign_ones() {
        assert_eq!(parse(&after("git_status")).as_deref(), Some("git_status"));
        for foreign in ["", "5", "!!!", "YWJj", &"A".repeat(1000)] {
            assert_eq!(parse(foreign), None, "{foreign}");
        }
    }
}
