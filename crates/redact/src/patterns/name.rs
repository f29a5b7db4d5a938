//! Names that tell that what they stand for opens nothing, although a word such as `token` or `key` is in them: places
//! in a list, hashes, and what files and rows are found by. Without them an agent could not go on to the next page.

use std::ops::Range;

use super::looks::is_digest;

/// How far a name may begin before its keyword, and end behind it, in bytes.
const NAME_BYTES_MAX: usize = 40;

/// Words that go with a place in a list, or with what every visitor of a page is given.
const PLACES: &str = "\
    backward bookmark cancel cancellation change checkpoint confirmation continuation continue csrf \
    csrfmiddleware cursor delta edit forward iterator lock marker nextpage offset opaquelock page \
    pagination paging position request resume revision scroll skip state sync task upload xsrf";

/// Words that make a place in a list of what begins with `next`, which programs also begin with.
const AFTER_NEXT: &str = "batch change link query results start token";

/// Words that go with a key by which a thing is found.
const THINGS: &str = "\
    blob cache column component dedup dedupe deduplication doc document evaluated file foreign group \
    idempotency image issue item message node object partition primary project public record resource \
    row sort style view";

/// Words that make a place in a list where nothing else stands before the keyword.
const BOUNDS: &str = "after before end exclusive from inclusive last start starting";

/// Words that go with a token by which a document of an office is found, if that is no longer than such.
const DOCUMENTS: &str = "doc document docx folder node obj sheet wiki";

/// Longest such token, in bytes; a node that joins a cluster shows a longer one.
const DOCUMENT_BYTES_MAX: usize = 32;

/// Names as a whole of what tells that two requests are one. In small letters it would be a client's secret.
const ONCE: &[&[u8]] = &[b"ClientToken", b"clientToken"];

/// How far before a keyword the name of a resource may begin, in bytes.
const RESOURCE_BYTES_MAX: usize = 256;

/// Words behind a keyword, with blanks between, that say that its value follows.
const SAYS: &str = "are for is of value was";

/// Words behind a keyword that make it something about the secret.
const ABOUT: &str = "\
    arn checksum commit digest etag fingerprint hash id md5 name revision sha sha1 sha256 sha512 version";

/// Words of secrets; with one of them a name is never harmless but for what it says about the secret.
const STRONG: &str = "\
    access api auth bearer credential credentials encryption master password private refresh secret \
    session signing";

/// True if the name around `keyword`, which ends at `name_end` with the words behind it, is none of a secret such as
/// this one.
pub(super) fn is_harmless(text: &[u8], keyword: Range<usize>, name_end: usize, secret: &[u8]) -> bool {
    let Range { start, end } = keyword;
    let nearest = word_before(text, start);
    let mut from = nearest;
    // Between words that people write only the nearest belongs to it.
    if from > 0 && text[from - 1] == b' ' {
        from = word_before(text, from - 1);
    }
    let behind = text[end..text.len().min(end + NAME_BYTES_MAX)].iter();
    let to = end + behind.take_while(|byte| goes_on(**byte)).count();
    let after = text.get(to..name_end).unwrap_or_default();
    // What an application proves itself with is called so.
    let is_about = |word: &[u8]| {
        is_one_of(word, ABOUT) && !(word == b"id" && text[start..end].eq_ignore_ascii_case(b"secret"))
    };
    if words(&text[end..to]).chain(words(after).take(1)).any(|word| is_about(&word)) {
        return true;
    }
    let is_key = text[start..end].eq_ignore_ascii_case(b"key");
    let is_document = secret.len() <= DOCUMENT_BYTES_MAX && text[start..end].eq_ignore_ascii_case(b"token");
    let (mut is_harmless, mut is_next) = (false, false);
    for word in words(&text[from..to]) {
        if is_one_of(&word, STRONG) {
            return is_of_resource(text, start);
        }
        let stem = stem(&word);
        is_harmless |= is_one_of(stem, PLACES) || (is_key && is_one_of(stem, THINGS));
        is_harmless |= is_document && is_one_of(stem, DOCUMENTS);
        is_harmless |=
            is_next && (stem.is_empty() || is_one_of(stem, AFTER_NEXT) || is_one_of(&word, AFTER_NEXT));
        // `nexttoken` is one word.
        is_harmless |= stem == b"next" && stem.len() < word.len();
        is_next = word == b"next";
    }
    is_harmless
        || is_bound(&text[nearest..end])
        || ONCE.contains(&&text[nearest..to])
        || (is_prose(after) && is_digest(secret))
}

/// True for `startKey`, `after_key` and the like.
fn is_bound(name: &[u8]) -> bool {
    let mut before = words(name).map(|word| stem(&word).to_vec()).filter(|stem| !stem.is_empty()).peekable();
    before.peek().is_some() && before.all(|word| is_one_of(&word, BOUNDS))
}

/// True if the keyword at `start` is a part of `arn:aws:secretsmanager:…:secret:…`.
fn is_of_resource(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(RESOURCE_BYTES_MAX)..start];
    let begin = before.iter().rposition(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''));
    let name = &before[begin.map_or(0, |begin| begin + 1)..];
    memchr::memmem::find(name, b"arn:aws").is_some()
}

/// True if what stands between a keyword and the sign are other words than those that lead to its value.
fn is_prose(after: &[u8]) -> bool {
    words(after).next().is_some_and(|word| !is_one_of(&word, SAYS))
}

/// A word without the keyword that it ends with.
fn stem(word: &[u8]) -> &[u8] {
    let keyword = ["tokens", "token", "keys", "key"].iter().find_map(|end| word.strip_suffix(end.as_bytes()));
    keyword.unwrap_or(word)
}

/// Where the word begins that goes on to `end`.
fn word_before(text: &[u8], end: usize) -> usize {
    let before = text[end.saturating_sub(NAME_BYTES_MAX)..end].iter().rev();
    end - before.take_while(|byte| goes_on(**byte)).count()
}

fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_one_of(word: &[u8], words: &str) -> bool {
    words.split(' ').any(|known| known.as_bytes() == word)
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
            ("Key", "ExclusiveStartKey", true),
            ("Key", "startAfterKey", true),
            ("key", "startkey_docid", true),
            ("token", "--starting-token", true),
            ("Token", "ClientRequestToken", true),
            ("Token", "clientToken", true),
            ("token", "opaquelocktoken", true),
            ("token", "sheet_token", true),
            ("key", "resourcekey", true),
            ("accessKey", "accessKeyId", true),
            ("key", "key fingerprint is SHA256", true),
            ("secret", "secretName", true),
            ("secret", "arn:aws:secretsmanager:eu-1:1:secret", true),
            ("token", "token", false),
            ("token", "client_token", false),
            ("token", "front_end_token", false),
            ("token", "end user token", false),
            ("secret", "secret_id", false),
            ("secret", "start_secret", false),
            ("key", "key is", false),
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
            let keyword = start..start + keyword.len();
            assert_eq!(is_harmless(name.as_bytes(), keyword, name.len(), b"value"), expected, "{name}");
        }
    }
}
