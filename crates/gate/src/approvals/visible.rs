//! Text as whoever answers may see it.

use sandbox::is_hidden;

/// Canonical JSON with what drives terminals or hides in a text made visible. It stands in strings only, so what comes
/// out is JSON of the same meaning.
pub(super) fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) {
            let mut units = [0u16; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// The same of a text of many lines: line breaks and tabs lay it out.
pub(super) fn visible_lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// As many whole lines of a text as fit, and how many more there are.
pub(super) fn beginning(text: &str, bytes_max: usize) -> (&str, usize) {
    if text.len() <= bytes_max {
        return (text, 0);
    }
    let whole = text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default();
    let (shown, rest) = text.split_at(whole.rfind('\n').map_or(0, |at| at + 1));
    (shown, rest.lines().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_from_whoever_answers() {
        for (json, expected) in [
            ("{\"a\":\"\u{202e}x\u{200b}\"}", r#"{"a":"\u202ex\u200b"}"#),
            ("\"\u{e0041}\u{7f}\u{9b}\"", r#""\udb40\udc41\u007f\u009b""#),
            ("\"gr\u{fc}n \u{1f600}\"", "\"gr\u{fc}n \u{1f600}\""),
        ] {
            assert_eq!(visible(json), expected);
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&visible(json)).ok(),
                serde_json::from_str(json).ok()
            );
        }
    }
}
