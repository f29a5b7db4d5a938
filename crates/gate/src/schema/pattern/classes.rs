//! What a pattern says of one character: escapes, and what stands in brackets. And how often it says so.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// What `\s` is in ECMAScript: white space, line ends, and the mark of byte order.
const SPACES: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];
const DIGITS: [(char, char); 1] = [('0', '9')];
const WORD: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
const LINE_ENDS: [(char, char); 3] = [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

fn class(ranges: &[(char, char)], is_negated: bool) -> ClassUnicode {
    let mut class =
        ClassUnicode::new(ranges.iter().map(|(first, last)| ClassUnicodeRange::new(*first, *last)));
    if is_negated {
        class.negate();
    }
    class
}

/// What `.` is.
pub(super) fn any_but_line_ends() -> ClassUnicode {
    class(&LINE_ENDS, true)
}

/// The quantifier with which a text begins, and what is after it.
pub(super) fn quantifier(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let sign = text.chars().next()?;
    let rest = &text[sign.len_utf8()..];
    match sign {
        '*' => Some((0, None, rest)),
        '+' => Some((1, None, rest)),
        '?' => Some((0, Some(1), rest)),
        '{' => {
            let (numbers, rest) = rest.split_once('}')?;
            let (min, max) = numbers.split_once(',').unwrap_or((numbers, numbers));
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = |text: &str| is_number(text).then(|| text.parse().unwrap_or(u32::MAX));
            // Without a first number it is no quantifier, and the brace means itself.
            let max = if max.is_empty() { None } else { Some(number(max)?) };
            Some((number(min)?, max, rest))
        }
        _ => None,
    }
}

/// What may stand after a backslash, and what is after it.
pub(super) fn escaped(text: &str) -> Result<(ClassUnicode, &str), &'static str> {
    let next = text.chars().next().ok_or("it ends with a backslash")?;
    let rest = &text[next.len_utf8()..];
    let set = match next {
        'd' | 'D' => class(&DIGITS, next == 'D'),
        'w' | 'W' => class(&WORD, next == 'W'),
        's' | 'S' => class(&SPACES, next == 'S'),
        'p' | 'P' => return property(text),
        _ => {
            let (one, rest) = escaped_character(next, rest)?;
            return Ok((class(&[(one, one)], false), rest));
        }
    };
    Ok((set, rest))
}

fn escaped_character(next: char, rest: &str) -> Result<(char, &str), &'static str> {
    let one = match next {
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0' if !rest.starts_with(|after: char| after.is_ascii_digit()) => '\0',
        'c' => {
            let letter = rest.bytes().next().filter(u8::is_ascii_alphabetic).ok_or("`\\c` needs a letter")?;
            return Ok((char::from(letter % 32), &rest[1..]));
        }
        'x' => return hexadecimal(rest, 2).and_then(|(code, rest)| Ok((character(code)?, rest))),
        'u' => return code_point(rest),
        // There are others elsewhere, `\A` or `\Q`: what is meant by them is not known here.
        own if own.is_alphanumeric() => return Err("it has an escape that ECMAScript does not know"),
        own => own,
    };
    Ok((one, rest))
}

fn hexadecimal(text: &str, digits: usize) -> Result<(u32, &str), &'static str> {
    let (number, rest) = text.split_at_checked(digits).ok_or("an escape ends too early")?;
    if !number.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("an escape has digits that are not hexadecimal");
    }
    u32::from_str_radix(number, 16).map(|number| (number, rest)).map_err(|_| "an escape has no digits")
}

fn character(code: u32) -> Result<char, &'static str> {
    char::from_u32(code).ok_or("an escape is no character")
}

/// `\uXXXX`, twice for what needs a pair, or `\u{X…}`.
fn code_point(text: &str) -> Result<(char, &str), &'static str> {
    if let Some(braced) = text.strip_prefix('{') {
        let (number, rest) = braced.split_once('}').ok_or("an escape ends too early")?;
        let (code, _) = hexadecimal(number, number.len())?;
        return Ok((character(code)?, rest));
    }
    let (first, rest) = hexadecimal(text, 4)?;
    if let Some(pair) = rest.strip_prefix("\\u").filter(|_| (0xD800..0xDC00).contains(&first)) {
        let (second, rest) = hexadecimal(pair, 4)?;
        let low = second.checked_sub(0xDC00).ok_or("an escape is half a character")?;
        return Ok((character(0x10000 + ((first - 0xD800) << 10) + low)?, rest));
    }
    Ok((character(first)?, rest))
}

/// `\p{…}`: its tables are those of the regex library.
fn property(text: &str) -> Result<(ClassUnicode, &str), &'static str> {
    let end = if text[1..].starts_with('{') { text.find('}') } else { None };
    let end = end.ok_or("`\\p` needs a name in braces")?;
    let (name, rest) = text.split_at(end + 1);
    let hir =
        regex_syntax::parse(&format!("\\{name}")).map_err(|_| "it names a property that is not known")?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Ok((class, rest)),
        _ => Err("it names a property that is not known"),
    }
}

/// What stands in brackets, the opening one having been read, and what is after it.
pub(super) fn bracketed(text: &str) -> Result<(ClassUnicode, &str), &'static str> {
    let is_negated = text.starts_with('^');
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    // Put in order once, for there may be many.
    let mut all: Vec<ClassUnicodeRange> = Vec::new();
    loop {
        if let Some(rest) = rest.strip_prefix(']') {
            let mut class = ClassUnicode::new(all);
            if is_negated {
                class.negate();
            }
            return Ok((class, rest));
        }
        let (first, after) = item(rest)?;
        rest = after;
        if let Some(after) = rest.strip_prefix('-').filter(|after| !after.starts_with(']')) {
            let (last, after) = item(after)?;
            rest = after;
            if let (Some(from), Some(to)) = (single(&first), single(&last)) {
                if from > to {
                    return Err("a range in brackets is out of order");
                }
                all.push(ClassUnicodeRange::new(from, to));
                continue;
            }
            // `\w-.`: no range can begin or end with a whole set, so the hyphen means itself.
            all.push(ClassUnicodeRange::new('-', '-'));
            all.extend(last.ranges());
        }
        all.extend(first.ranges());
    }
}

/// One item in brackets.
fn item(text: &str) -> Result<(ClassUnicode, &str), &'static str> {
    let next = text.chars().next().ok_or("a bracket is not closed")?;
    let rest = &text[next.len_utf8()..];
    match next {
        '\\' if rest.starts_with('b') => Ok((class(&[('\x08', '\x08')], false), &rest[1..])),
        '\\' => escaped(rest),
        own => Ok((class(&[(own, own)], false), rest)),
    }
}

/// The only character of a class.
fn single(class: &ClassUnicode) -> Option<char> {
    let [range] = class.ranges() else { return None };
    (range.start() == range.end()).then_some(range.start())
}
