//! Whether something looks made by a machine, or like a password, or like something to be filled in.

use super::rule::Looks;

/// Where one character is followed by one of another sort at least this often of a hundred times, nobody thought of
/// a word.
const CHANGES_OF_HUNDRED_MIN: usize = 27;

/// Most letters of one sort in a row; words are longer.
const LETTERS_IN_ROW_MAX: usize = 8;

/// Least bits for a character of what a machine made, and of what a person thought of.
const RANDOM_ENTROPY_MIN: f32 = 3.0;
const PASSWORD_ENTROPY_MIN: f32 = 2.5;

/// Longest ending of the name of a file, in bytes.
const ENDING_BYTES_MAX: usize = 8;

/// Shortest password without a quote before it, in bytes: most that stands there unquoted is code.
const UNQUOTED_BYTES_MIN: usize = 8;

/// What people write where a secret belongs. Whole words of a text in small letters.
const PLACEHOLDERS: &str = "\
    password passwd pass pwd secret token key apikey redacted hidden masked none null undefined true \
    false string value user username foo bar test";

/// Parts of what people write where a secret belongs, in small letters.
const PLACEHOLDER_PARTS: &str = "\
    example placeholder changeme change_me change-me your_ your- yourpassword insert xxxx **** .... ---- \
    ____ 0000000000 1234567890abcdef abcdefghijklmnop redacted < dummy sample replace";

/// What code begins with that reads a secret from elsewhere.
const READ_FROM: &str = "\
    args. config. context. ctx. env. import.meta.env. options. os.environ. params. process.env. \
    process.env?. props. secrets. self. settings. this.";

/// True if what stands from `start` to `end` looks as the rule wants it.
pub(super) fn fits(looks: Looks, text: &[u8], start: usize, end: usize, is_quoted: bool) -> bool {
    let secret = &text[start..end];
    match looks {
        Looks::Shaped => true,
        Looks::FilledIn => is_filled_in(secret),
        Looks::Random => is_random(secret),
        Looks::RandomKey => is_random(secret) && !is_handle(secret),
        Looks::Password => is_password(secret, is_quoted),
    }
}

/// Bits for a character, by how often each stands in it.
pub(super) fn entropy(text: &[u8]) -> f32 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    #[expect(clippy::cast_precision_loss, reason = "an estimate of lengths far below 2^23")]
    let share = |count: u32| count as f32 / text.len() as f32;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| share(*count))
        .map(|share| -share * share.log2())
        .sum()
}

/// True for what no service gives out: one character over and over, or an example that says that it is one.
pub(super) fn is_placeholder(secret: &[u8]) -> bool {
    let is_one =
        secret.first().is_some_and(|first| secret.iter().all(|byte| byte.eq_ignore_ascii_case(first)));
    is_one
        || ends_with(secret, b"EXAMPLE")
        || holds_parts(secret, "abcdefghijklmnopqrstuvwxyz xxxxxxxx ********")
}

fn ends_with(secret: &[u8], end: &[u8]) -> bool {
    secret.len() >= end.len() && secret[secret.len() - end.len()..].eq_ignore_ascii_case(end)
}

fn holds_parts(secret: &[u8], parts: &str) -> bool {
    let small = secret.to_ascii_lowercase();
    parts.split(' ').any(|part| memchr::memmem::find(&small, part.as_bytes()).is_some())
}

fn is_filled_in(secret: &[u8]) -> bool {
    let small = secret.to_ascii_lowercase();
    let is_reference = matches!(secret.first(), Some(b'{' | b'%' | b'<' | b'[' | b'*'))
        || secret.starts_with(b"#{")
        || is_variable(secret);
    !is_reference
        && !is_read_from_elsewhere(secret)
        && !PLACEHOLDERS.split(' ').any(|word| word.as_bytes() == small)
        && !holds_parts(secret, PLACEHOLDER_PARTS)
}

/// True for `$PASSWORD`, `${PASSWORD}`, `$1` and what may be written behind one. A `$` that begins no name begins a
/// password, and so does a name behind which nobody goes on so.
fn is_variable(secret: &[u8]) -> bool {
    let Some(name) = secret.strip_prefix(b"$") else { return false };
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let behind = name.iter().find(|byte| !is_part(byte));
    match name.first() {
        Some(b'0'..=b'9') => name.iter().all(u8::is_ascii_digit),
        Some(first) if first.is_ascii_alphabetic() || *first == b'_' => {
            !matches!(behind, Some(b'!' | b'#' | b'^' | b'*' | b'~' | b'$'))
        }
        Some(b'{' | b'(') | None => true,
        Some(_) => false,
    }
}

/// True for `process.env.DB_PASSWORD_2!` and the like.
fn is_read_from_elsewhere(secret: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'?' | b'!');
    READ_FROM.split(' ').any(|start| secret.starts_with(start.as_bytes())) && secret.iter().all(is_name)
}

fn is_random(secret: &[u8]) -> bool {
    let (mut digits, mut letters, mut changes, mut row, mut longest_row) = (0, 0, 0, 0, 0);
    let mut last = Sort::Other;
    for byte in secret {
        let sort = Sort::of(*byte);
        match sort {
            Sort::Digit => digits += 1,
            Sort::Small | Sort::Capital => letters += 1,
            Sort::Other => {}
        }
        // A capital begins a word, so what follows it is no change.
        let goes_on = sort == last || (last == Sort::Capital && sort == Sort::Small);
        if !goes_on && sort != Sort::Other && last != Sort::Other {
            changes += 1;
        }
        row = if goes_on && matches!(sort, Sort::Small | Sort::Capital) { row + 1 } else { 1 };
        longest_row = longest_row.max(row);
        last = sort;
    }
    digits > 0
        && letters > 0
        && changes * 100 >= secret.len() * CHANGES_OF_HUNDRED_MIN
        && longest_row <= LETTERS_IN_ROW_MAX
        && entropy(secret) >= RANDOM_ENTROPY_MIN
        && is_filled_in(secret)
}

fn is_password(secret: &[u8], is_quoted: bool) -> bool {
    let has = |is: fn(&u8) -> bool| secret.iter().any(is);
    let has_letter = has(u8::is_ascii_alphabetic);
    let has_digit = has(u8::is_ascii_digit);
    let has_sign =
        has(|byte| matches!(byte, b'!' | b'@' | b'#' | b'^' | b'&' | b'*' | b'~' | b'?' | b'+' | b'%'));
    let is_mixed = match is_quoted {
        true => has_digit || has_sign,
        false => secret.len() >= UNQUOTED_BYTES_MIN && has_digit && (has_sign || has(u8::is_ascii_uppercase)),
    };
    // What a program says about a password: a path, a member of something, a constant.
    let is_name = secret.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && (has(|byte| *byte == b'_') || !has(u8::is_ascii_lowercase));
    let is_code = !has_sign && (has(|byte| matches!(byte, b'/' | b':' | b'.')) || (!is_quoted && is_name));
    has_letter && is_mixed && !is_code && entropy(secret) >= PASSWORD_ENTROPY_MIN && is_filled_in(secret)
}

/// True for a UUID and for hexadecimal digits in the number that a digest has.
pub(super) fn is_digest(secret: &[u8]) -> bool {
    let is_hex = secret.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    is_hex && matches!(secret.len(), 16 | 24 | 32 | 36 | 40 | 56 | 64 | 96 | 128)
}

/// True for what things are found by that are called a key: digests, ids as programs make them, names of files and of
/// what a build keeps.
fn is_handle(secret: &[u8]) -> bool {
    is_digest(secret) || is_id(secret) || is_file_name(secret) || is_labelled_digest(secret)
}

/// True for ids of the lengths and digits of ULID, KSUID and Nano ID.
fn is_id(secret: &[u8]) -> bool {
    let is_ulid = |byte: &u8| {
        byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !matches!(byte, b'I' | b'L' | b'O' | b'U'))
    };
    match (secret.len(), secret.first()) {
        (21, _) => secret.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')),
        (26, Some(b'0'..=b'7')) => secret.iter().all(is_ulid),
        (27, Some(b'0'..=b'3')) => secret.iter().all(u8::is_ascii_alphanumeric),
        _ => false,
    }
}

/// True for a path with a name that ends as those of files do.
fn is_file_name(secret: &[u8]) -> bool {
    let Some(point) = memchr::memrchr(b'.', secret).filter(|_| secret.contains(&b'/')) else { return false };
    let ending = &secret[point + 1..];
    let is_small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=ENDING_BYTES_MAX).contains(&ending.len()) && ending.iter().all(is_small)
}

/// True for two words and more with a digest behind them: `Linux-node-DIGEST`.
fn is_labelled_digest(secret: &[u8]) -> bool {
    let mut parts = secret.rsplit(|byte| *byte == b'-');
    let is_long = parts.next().is_some_and(|last| matches!(last.len(), 40 | 64) && is_digest(last));
    is_long && parts.clone().count() >= 2 && parts.all(|part| !part.is_empty() && !is_random(part))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Digit,
    Small,
    Capital,
    Other,
}

impl Sort {
    fn of(byte: u8) -> Sort {
        match byte {
            b'0'..=b'9' => Sort::Digit,
            b'a'..=b'z' => Sort::Small,
            b'A'..=b'Z' => Sort::Capital,
            _ => Sort::Other,
        }
    }
}
