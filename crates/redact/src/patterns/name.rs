//! Names that tell that what they stand for opens nothing, although a word such as `token` or `key` is in them: places
//! in a list, hashes, and what files and rows are found by. Without them an agent could not go on to the next page.

/// How far a name may begin before its keyword, and end behind it, in bytes.
const NAME_BYTES_MAX: usize = 40;

/// Words that go with a place in a list, or with what every visitor of a page is given.
const PLACES: &[&str] = &[
    "backward",
    "bookmark",
    "checkpoint",
    "continuation",
    "continue",
    "csrf",
    "csrfmiddleware",
    "cursor",
    "delta",
    "forward",
    "iterator",
    "marker",
    "nextpage",
    "offset",
    "page",
    "pagination",
    "paging",
    "position",
    "resume",
    "scroll",
    "skip",
    "sync",
    "xsrf",
];

/// Words that make a place in a list of what begins with `next`, which programs also begin with.
const AFTER_NEXT: &[&str] = &["", "batch", "change", "link", "query", "results", "start", "token"];

/// Words that go with a key by which a thing is found.
const THINGS: &[&str] = &[
    "cache",
    "column",
    "component",
    "dedupe",
    "document",
    "evaluated",
    "file",
    "foreign",
    "group",
    "idempotency",
    "item",
    "node",
    "object",
    "partition",
    "primary",
    "public",
    "row",
    "sort",
    "style",
];

/// Words behind a keyword that make it something about the secret.
const ABOUT: &[&str] = &[
    "checksum",
    "commit",
    "digest",
    "etag",
    "fingerprint",
    "hash",
    "md5",
    "revision",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "version",
];

/// Words of secrets; with one of them a name is never harmless but for what it says about the secret.
const STRONG: &[&str] = &[
    "access",
    "api",
    "auth",
    "bearer",
    "credential",
    "credentials",
    "encryption",
    "master",
    "password",
    "private",
    "refresh",
    "secret",
    "session",
    "signing",
];

/// True if the name around the keyword from `start` to `end` is none of a secret.
pub(super) fn is_harmless(text: &[u8], start: usize, end: usize) -> bool {
    let mut from = word_before(text, start);
    // Between words that people write only the nearest belongs to it.
    if from > 0 && text[from - 1] == b' ' {
        from = word_before(text, from - 1);
    }
    let behind = text[end..text.len().min(end + NAME_BYTES_MAX)].iter();
    let to = end + behind.take_while(|byte| goes_on(**byte)).count();
    if words(&text[end..to]).any(|word| is_one_of(&word, ABOUT)) {
        return true;
    }
    let is_key = text[start..end].eq_ignore_ascii_case(b"key");
    let (mut is_harmless, mut is_next) = (false, false);
    for word in words(&text[from..to]) {
        if is_one_of(&word, STRONG) {
            return false;
        }
        let stem =
            ["tokens", "token", "keys", "key"].iter().find_map(|end| word.strip_suffix(end.as_bytes()));
        let stem = stem.unwrap_or(&word);
        is_harmless |= is_one_of(stem, PLACES) || (is_key && is_one_of(stem, THINGS));
        is_harmless |= is_next && (is_one_of(stem, AFTER_NEXT) || is_one_of(&word, AFTER_NEXT));
        // `nexttoken` is one word.
        is_harmless |= stem == b"next" && stem.len() < word.len();
        is_next = word == b"next";
    }
    is_harmless
}

/// Where the word begins that goes on to `end`.
fn word_before(text: &[u8], end: usize) -> usize {
    let before = text[end.saturating_sub(NAME_BYTES_MAX)..end].iter().rev();
    end - before.take_while(|byte| goes_on(**byte)).count()
}

fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words.binary_search_by(|known| known.as_bytes().cmp(word)).is_ok()
}

/// The words of a name, in small letters, whichever way they are joined: `nextPageToken`, `NEXT_PAGE_TOKEN`.
fn words(name: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let begin = rest.iter().position(u8::is_ascii_alphanumeric)?;
        rest = &rest[begin..];
        let ends = |pair: &[u8]| {
            !pair[1].is_ascii_alphanumeric() || (pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        };
        let length = rest.windows(2).position(ends).map_or(rest.len(), |last| last + 1);
        let (word, behind) = rest.split_at(length);
        rest = behind;
        Some(word.to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for list in [PLACES, AFTER_NEXT, THINGS, ABOUT, STRONG] {
            assert!(list.is_sorted());
        }
        for (keyword, name, expected) in [
            ("token", "next_page_token", true),
            ("Token", "nextPageToken", true),
            ("TOKEN", "NEXT_TOKEN", true),
            ("token", "nexttoken", true),
            ("token", "$skiptoken", true),
            ("token", "csrfmiddlewaretoken", true),
            ("token", "Next page token", true),
            ("Token", "continuationToken", true),
            ("Key", "fileKey", true),
            ("Key", "LastEvaluatedKey", true),
            ("api_key", "api_key_hash", true),
            ("key", "key-fingerprint", true),
            ("token", "token", false),
            ("token", "page_access_token", false),
            ("API_KEY", "NEXT_PUBLIC_API_KEY", false),
            ("KEY", "NEXT_STRIPE_KEY", false),
            ("key", "hmac_sha256_key", false),
            ("SECRET", "NEXTAUTH_SECRET", false),
            ("secret", "file_secret", false),
            ("token", "the page.token", false),
            ("token", "a page with token", false),
            ("token", "a file token", false),
        ] {
            let start = name.rfind(keyword).expect("it is there");
            assert_eq!(is_harmless(name.as_bytes(), start, start + keyword.len()), expected, "{name}");
        }
    }
}
