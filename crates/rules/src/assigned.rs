//! Striking what a rule matches out of texts, with what is assigned to it.

use regex::Regex;

/// The text with everything that `content` matches struck out, and how many places that were; nothing if there were
/// none. What is assigned to a match goes with it: of `API_KEY=abc` a pattern for `API_KEY` strikes the whole.
pub(crate) fn strike(content: &Regex, placeholder: &str, text: &str) -> Option<(String, u32)> {
    let mut found = content.find_iter(text).peekable();
    found.peek()?;
    let (mut out, mut copied, mut count) = (String::with_capacity(text.len()), 0, 0u32);
    for one in found {
        if one.start() < copied || one.is_empty() {
            continue;
        }
        out.push_str(&text[copied..one.start()]);
        out.push_str(placeholder);
        copied = end_of_assigned(text, one.end());
        count = count.saturating_add(1);
    }
    out.push_str(&text[copied..]);
    (count > 0).then_some((out, count))
}

/// Where what is assigned to the name that ends, or goes on, at `end` ends itself; `end` if nothing is assigned.
fn end_of_assigned(text: &str, end: usize) -> usize {
    let rest = &text[end..];
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let after = line.trim_start_matches(|c: char| c.is_alphanumeric() || "_-.".contains(c));
    let after = after.trim_start_matches(['"', '\'', '\\', '`', ']']).trim_start();
    let is_assigned = (after.starts_with(['=', ':']) && !after.starts_with("://"))
        && !after.trim_matches(['=', ':', '>', ' ', '\t']).is_empty();
    if is_assigned { end + line.len() } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(pattern: &str, text: &str, expected: Option<(&str, u32)>) {
        let regex = Regex::new(pattern).expect("a pattern");
        let struck = strike(&regex, "#", text);
        assert_eq!(struck.as_ref().map(|(text, count)| (text.as_str(), *count)), expected, "{text}");
    }

    #[test]
    fn what_matches_goes_with_what_is_assigned_to_it() {
        let words = "(?i)(api_key|secret|password|token)";
        check_text(words, "nothing here", None);
        check_text(words, "API_KEY=abc\nPORT=1\n", Some(("#\nPORT=1\n", 1)));
        check_text(words, "MY_API_KEY_ID = abc", Some(("MY_#", 1)));
        check_text(words, "password: \"a b\"\r\nuser: c", Some(("#\r\nuser: c", 1)));
        check_text(words, "{\"password\": \"x\"}", Some(("{\"#", 1)));
        check_text(words, "a secret of mine, and a token", Some(("a # of mine, and a #", 2)));
        check_text(words, "see token://x", Some(("see #://x", 1)));
        check_text(words, "password:\n  next", Some(("#:\n  next", 1)));
        check_text(words, "token token=a", Some(("# #", 2)));
        check_text("sk-[a-z]+", "use sk-abc, then", Some(("use #, then", 1)));
    }
}
