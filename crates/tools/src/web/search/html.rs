//! What services say in HTML, as plain text: tags go, references become what they stand for. For snippets; pages take a parser.

/// The longest tag: what has no end within it is text.
const TAG_BYTES_MAX: usize = 1_000;

/// The longest reference, such as `&hellip;`.
const REFERENCE_BYTES_MAX: usize = 10;

/// The references that snippets have.
const NAMED: [(&str, &str); 12] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("hellip", "…"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
];

/// The text of a piece of HTML.
pub(super) fn text(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = tag(rest).map(|end| (String::new(), end)).or_else(|| reference(rest));
        let (stands_for, end) = taken.unwrap_or_else(|| (rest[..1].to_owned(), 1));
        text.push_str(&stands_for);
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

/// Where the tag ends that begins here.
fn tag(rest: &str) -> Option<usize> {
    let first = *rest.strip_prefix('<')?.as_bytes().first()?;
    let begins = first.is_ascii_alphabetic() || matches!(first, b'/' | b'!' | b'?');
    if !begins {
        return None;
    }
    let end = rest.bytes().take(TAG_BYTES_MAX).position(|byte| byte == b'>')?;
    Some(end + 1)
}

/// What the reference that begins here stands for, and where it ends.
fn reference(rest: &str) -> Option<(String, usize)> {
    let end = rest.bytes().take(REFERENCE_BYTES_MAX).position(|byte| byte == b';')?;
    let name = rest.get(1..end)?;
    let number = name.strip_prefix('#').and_then(|number| match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    });
    let character = number.and_then(char::from_u32).map(String::from);
    let named = || NAMED.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    Some((character.or_else(named)?, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_and_references_are_read() {
        for (html, expected) in [
            ("plain", "plain"),
            ("a <span class=\"searchmatch\">b</span> c", "a b c"),
            ("Tom &amp; Jerry&#39;s &#x201C;x&#x201d; &lt;b&gt;", "Tom & Jerry's “x” <b>"),
            ("1 < 2 && 3 > 2; a<b", "1 < 2 && 3 > 2; a<b"),
            ("<!-- x --><script>y", "y"),
            ("&unknown; &#xD800; &#; & &amp", "&unknown; &#xD800; &#; & &amp"),
            ("ä<b>ö</b>&é;", "äö&é;"),
            ("<<<<b>x", "<<<x"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }
}
