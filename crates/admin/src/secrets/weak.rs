//! Values that make poor secrets: whoever sets one is told what will come of it.

use std::collections::BTreeSet;

/// Shorter values are not struck out: they stand in every text.
const STRUCK_CHARS_MIN: usize = 4;

/// Shorter values are likely to stand in ordinary text by chance.
const SHORT_CHARS: usize = 8;

/// A value of fewer different characters repeats itself.
const DIFFERENT_CHARS_MIN: usize = 5;

/// Words that are no secrets, in small letters; the first among lists of passwords, and what programs say all the time.
/// Shorter ones are poor by their length.
const COMMON: [&str; 15] = [
    "12345678",
    "123456789",
    "1234567890",
    "administrator",
    "changeme",
    "development",
    "disabled",
    "localhost",
    "password",
    "password1",
    "postgres",
    "production",
    "qwertyuiop",
    "undefined",
    "username",
];

/// Whether a value is long enough to be struck out.
pub fn is_struck_out(value: &str) -> bool {
    value.chars().count() >= STRUCK_CHARS_MIN
}

/// What is wrong with a value, as a sentence about it that does not show it; nothing if it is good enough.
pub fn weakness(value: &str) -> Option<String> {
    let characters = value.chars().count();
    let different = value.chars().collect::<BTreeSet<char>>().len();
    if !is_struck_out(value) {
        return Some(format!(
            "it has fewer than {STRUCK_CHARS_MIN} characters, so it is NOT struck out of results, errors, logs and records: \
             it would stand in every text"
        ));
    }
    let often = "wherever it stands by chance, it is struck out, too";
    if COMMON.contains(&value.to_ascii_lowercase().as_str()) {
        Some(format!("it is a common word; {often}"))
    } else if characters < SHORT_CHARS {
        Some(format!("it has fewer than {SHORT_CHARS} characters; {often}"))
    } else if different < DIFFERENT_CHARS_MIN {
        Some(format!("it has fewer than {DIFFERENT_CHARS_MIN} different characters; {often}"))
    } else if value.trim() != value {
        Some("it begins or ends with a blank or a line break; is that part of it?".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poor_secrets_are_told_apart() {
        for (value, expected) in [
            ("x", "fewer than 4"),
            ("abc", "fewer than 4"),
            ("test", "fewer than 8"),
            ("PassWord", "common word"),
            ("k3y!", "fewer than 8"),
            ("aaaaaaaaaaaa", "different"),
            ("s3cret-value ", "blank"),
        ] {
            let said = weakness(value).unwrap_or_default();
            assert!(said.contains(expected), "{value}: {said}");
            assert!(value == "x" || !said.contains(value), "{said}");
        }
        for good in ["s3cret-s3cret", "ghp_0123456789abcdef", "correct horse battery"] {
            assert_eq!(weakness(good), None, "{good}");
        }
        assert!(COMMON.is_sorted());
    }
}
