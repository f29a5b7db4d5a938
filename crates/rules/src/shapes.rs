//! The shapes of what the protocol itself says in its objects: words, times and names that a message cannot do without.
//! Whatever else stands in their places is content.

use crate::encoded;
use crate::token::Kind;

/// Members whose words are no content, and the words that they may be: striking those would break the message.
const WORDS: [(&str, &[&str]); 11] = [
    (
        "type",
        &[
            "text",
            "image",
            "audio",
            "resource",
            "resource_link",
            "tool_use",
            "tool_result",
            "object",
            "string",
            "number",
            "integer",
            "boolean",
            "array",
            "ref/prompt",
            "ref/resource",
        ],
    ),
    ("role", &["user", "assistant"]),
    ("method", &["elicitation/create", "sampling/createMessage", "roots/list"]),
    ("action", &["accept", "decline", "cancel"]),
    ("resultType", &["complete", "input_required", "task"]),
    ("status", &["working", "input_required", "completed", "failed", "cancelled"]),
    ("level", &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
    ("cacheScope", &["public", "private"]),
    ("stopReason", &["endTurn", "stopSequence", "maxTokens", "toolUse"]),
    ("mode", &["form", "url", "auto", "required", "none"]),
    ("format", &["email", "uri", "date", "date-time"]),
];

/// The member that holds the name of a media type.
const MEDIA: &str = "mimeType";

/// Members that hold a time.
const TIMES: [&str; 3] = ["createdAt", "lastUpdatedAt", "lastModified"];

/// Members that hold a name which somebody gave to something, to find it again.
const NAMES: [&str; 6] =
    ["taskId", "toolUseId", "elicitationId", "requestState", "nextCursor", "progressToken"];

/// Longest such name that is left, in bytes. In longer ones there is room for a file.
const NAME_BYTES_MAX: usize = 128;

/// Longest time, in bytes.
const TIME_BYTES_MAX: usize = 40;

/// What the text of one of the protocol's members is.
pub(crate) fn kind_of(member: &str, text: &str) -> Kind {
    if WORDS.iter().any(|(name, words)| *name == member && words.contains(&text)) {
        return Kind::Word;
    }
    let is_formed = match member {
        MEDIA => encoded::is_media_type(text),
        _ if TIMES.contains(&member) => is_time(text),
        _ if NAMES.contains(&member) => is_name(text),
        _ => false,
    };
    if is_formed { Kind::Coded } else { Kind::Text }
}

/// True for what may be a time after RFC 3339.
fn is_time(text: &str) -> bool {
    text.len() <= TIME_BYTES_MAX
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZtz ".contains(&byte))
}

fn is_name(text: &str) -> bool {
    text.len() <= NAME_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shaped_so_is_content() {
        for (member, text, expected) in [
            ("status", "completed", Kind::Word),
            ("status", "the key is 5", Kind::Text),
            ("resultType", "task", Kind::Word),
            ("text", "task", Kind::Text),
            ("createdAt", "2026-11-22T06:10:00.5+01:00", Kind::Coded),
            ("createdAt", "6 o'clock", Kind::Text),
            ("taskId", "786512e2-9e0d-44bd-8f29-789f320fe840", Kind::Coded),
            ("taskId", "all of a file", Kind::Text),
            ("mimeType", "text/plain; charset=utf-8", Kind::Coded),
            ("mimeType", "text", Kind::Text),
        ] {
            assert_eq!(kind_of(member, text), expected, "{member} {text}");
        }
        assert_eq!(kind_of("taskId", &"x".repeat(NAME_BYTES_MAX + 1)), Kind::Text);
    }
}
