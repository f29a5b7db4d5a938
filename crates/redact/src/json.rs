//! Striking out of JSON text: in strings, keys and numbers, however they are written; every other byte stays.
//!
//! Escapes are resolved first, in the whole text at once, so that a secret is found whatever escapes it is written with
//! and a rule sees the name and the value of a member together. What is found is then cut to the string or number it
//! lies in and taken back to the place in the text.

mod file;
mod words;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use memchr::{memchr, memchr2, memmem};

use crate::hits::{self, Hit, merge};
use crate::search::Search;
use crate::vocabulary::Vocabulary;

/// Shortest string of nothing but base64 digits that is taken for a picture or another file, in bytes. What looks like
/// a token in there is chance; a known secret is struck out of it all the same.
const FILE_BYTES_MIN: usize = 4 * 1024;

/// A string, without its quotes, or a number.
struct Token {
    /// Where it stands in the text.
    start: usize,
    end: usize,
    /// Where it stands in the text without escapes.
    plain_start: usize,
    plain_end: usize,
    is_string: bool,
}

/// The text without secrets, and how many places that were; nothing if there is none in it.
pub(crate) fn strike(json: &[u8], search: &Search, vocabulary: &Vocabulary) -> Option<(Vec<u8>, u32)> {
    if search.known.is_none() && search.filter.is_none() {
        return None;
    }
    let plain = plain(json);
    let has_known = search.known.as_ref().is_some_and(|known| known.are_in(&plain));
    let mut looks = Vec::new();
    search.patterns(&plain, &mut looks);
    if !has_known && looks.is_empty() {
        return None;
    }
    merge(&mut looks);
    let mut looks = looks.into_iter().peekable();
    let mut tokens = Tokens { json, at: 0, plain_at: 0, open: Vec::new() };
    let mut writing = Writing::of(json);
    // The name of a member, until its value has come.
    let mut name: Option<Token> = None;
    while let Some(token) = tokens.next() {
        let content = &plain[token.place()];
        let is_name = token.is_name(json);
        let named = name.take().filter(|name| name.is_before(&token, json)).map(|name| &plain[name.place()]);
        let mut hits = Vec::new();
        let least = match token.is_string {
            true if is_name => words::least_in_name(vocabulary, content),
            true => words::least_in_value(vocabulary, named, content),
            false => 0,
        };
        if let (true, Some(known)) = (has_known && least < usize::MAX, &search.known) {
            known.find(content, token.plain_start, &mut hits);
            hits.retain(|hit| hit.end - hit.start >= least);
        }
        while let Some(hit) = looks.peek().filter(|hit| hit.start < token.plain_end) {
            let (start, end) = (hit.start.max(token.plain_start), hit.end.min(token.plain_end));
            if start < end && !is_file(content) {
                hits.push(Hit { start, end, ..hit.clone() });
            }
            // It may go on in the next token.
            if hit.end > token.plain_end {
                break;
            }
            looks.next();
        }
        hits.retain(|hit| !search.is_struck(&plain, hit));
        merge(&mut hits);
        match file::decoded(vocabulary, named, content).filter(|_| !hits.is_empty() && token.is_string) {
            Some(decoded) => {
                hits.iter_mut().for_each(|hit| hit.shift_back(token.plain_start));
                let digits = file::strike(content, decoded, &hits, search);
                writing.replace(&token, &digits, hits.len());
            }
            None if is_name => writing.name(&token, &hits, tokens.open.last().copied()),
            None => writing.strike(&token, &hits),
        }
        name = is_name.then_some(token);
    }
    writing.end()
}

fn is_file(content: &[u8]) -> bool {
    content.len() >= FILE_BYTES_MIN
        && content.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

impl Token {
    /// Where it stands in the text without escapes.
    fn place(&self) -> Range<usize> {
        self.plain_start..self.plain_end
    }

    /// True if it names a member.
    fn is_name(&self, json: &[u8]) -> bool {
        let behind = json.get(self.end + 1..).unwrap_or_default();
        self.is_string && behind.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
    }

    /// True if it names the member whose value the string is.
    fn is_before(&self, value: &Token, json: &[u8]) -> bool {
        let between = json.get(self.end + 1..value.start.saturating_sub(1)).unwrap_or_default();
        value.is_string && between.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b':')
    }
}

/// The text as far as it is written.
struct Writing<'j> {
    json: &'j [u8],
    out: Vec<u8>,
    /// How much of the text is in `out`.
    kept: usize,
    count: u32,
    /// How often a name with a secret struck out of it came in an object, which is told by its place.
    names: HashMap<(usize, Vec<u8>), u32>,
}

impl Writing<'_> {
    fn of(json: &[u8]) -> Writing<'_> {
        Writing { json, out: Vec::with_capacity(json.len()), kept: 0, count: 0, names: HashMap::new() }
    }

    /// Writes the text with the places in this token struck out, up to the last of them.
    fn strike(&mut self, token: &Token, hits: &[Hit]) {
        let Some(first) = hits.first() else { return };
        self.count(hits.len());
        if !token.is_string {
            // What is left of a number would be another number.
            self.up_to(token.start);
            self.out.push(b'"');
            first.write(&mut self.out);
            self.out.push(b'"');
            self.kept = token.end;
            return;
        }
        let (mut at, mut plain_at) = (token.start, token.plain_start);
        for hit in hits {
            advance(self.json, &mut at, &mut plain_at, hit.start, false);
            self.up_to(at);
            hit.write(&mut self.out);
            advance(self.json, &mut at, &mut plain_at, hit.end, true);
            self.kept = at;
        }
    }

    /// The same for the name of a member of the object at `object`. One that was there before gets a number: who reads
    /// two members of one name loses one, or refuses both.
    fn name(&mut self, token: &Token, hits: &[Hit], object: Option<usize>) {
        let object = object.unwrap_or_default();
        let name = &self.json[token.start..token.end];
        let is_marked =
            [hits::MARK, hits::STARS].iter().any(|mark| memmem::find(name, mark.as_bytes()).is_some());
        if hits.is_empty() && !is_marked {
            return;
        }
        self.up_to(token.start);
        let begin = self.out.len();
        self.strike(token, hits);
        if hits.is_empty() {
            self.up_to(token.end);
        }
        // Before the bracket.
        let place = self.out.len() - usize::from(self.out.ends_with(b"]"));
        self.up_to(token.end);
        let base = self.out[begin..].to_owned();
        let mut nth = self.names.get(&(object, base.clone())).copied().unwrap_or(0);
        let mut name = base.clone();
        while nth > 0 {
            nth += 1;
            name.clone_from(&base);
            let number = format!("{}{nth}", hits::NUMBER);
            name.splice(place - begin..place - begin, number.into_bytes());
            if !self.names.contains_key(&(object, name.clone())) {
                break;
            }
        }
        self.out.truncate(begin);
        self.out.extend_from_slice(&name);
        self.names.insert((object, base), nth.max(1));
        self.names.entry((object, name)).or_insert(1);
    }

    /// Writes a string in place of another one in which so many places were struck out.
    fn replace(&mut self, token: &Token, content: &[u8], hits: usize) {
        self.count(hits);
        self.up_to(token.start);
        self.out.extend_from_slice(content);
        self.kept = token.end;
    }

    fn up_to(&mut self, at: usize) {
        self.out.extend_from_slice(&self.json[self.kept..at]);
        self.kept = at;
    }

    fn count(&mut self, hits: usize) {
        self.count = self.count.saturating_add(u32::try_from(hits).unwrap_or(u32::MAX));
    }

    fn end(mut self) -> Option<(Vec<u8>, u32)> {
        if self.count == 0 {
            return None;
        }
        self.up_to(self.json.len());
        Some((self.out, self.count))
    }
}

/// Goes on in a string to the place that is `plain_to` without escapes; to the beginning of a character in the middle
/// of which that is, or to its end.
fn advance(json: &[u8], at: &mut usize, plain_at: &mut usize, plain_to: usize, to_end: bool) {
    while *plain_at < plain_to {
        let (bytes, plain_bytes) = match json[*at] {
            b'\\' => {
                let (character, bytes) = escape(&json[*at..]);
                (bytes, character.len_utf8())
            }
            first => {
                let bytes = character_bytes(first).min(json.len() - *at);
                (bytes, bytes)
            }
        };
        if *plain_at + plain_bytes > plain_to && !to_end {
            return;
        }
        *at += bytes;
        *plain_at += plain_bytes;
    }
}

fn character_bytes(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// The strings and numbers of a JSON text.
struct Tokens<'j> {
    json: &'j [u8],
    at: usize,
    plain_at: usize,
    /// Where the objects and lists begin in which this is.
    open: Vec<usize>,
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<Token> {
        loop {
            let byte = *self.json.get(self.at)?;
            match byte {
                b'"' => {
                    self.step(1, 1);
                    let token = self.string();
                    self.step(1, 1);
                    return Some(token);
                }
                b'-' | b'0'..=b'9' => return Some(self.number()),
                // Only in what is no JSON.
                b'\\' => self.step_over_escape(),
                _ => {
                    match byte {
                        b'{' | b'[' => self.open.push(self.at),
                        b'}' | b']' => drop(self.open.pop()),
                        _ => {}
                    }
                    self.step(1, 1);
                }
            }
        }
    }

    fn step(&mut self, bytes: usize, plain_bytes: usize) {
        self.at += bytes;
        self.plain_at += plain_bytes;
    }

    fn step_over_escape(&mut self) {
        let (character, bytes) = escape(&self.json[self.at..]);
        self.step(bytes, character.len_utf8());
    }

    fn string(&mut self) -> Token {
        let (start, plain_start) = (self.at, self.plain_at);
        loop {
            let rest = &self.json[self.at..];
            let run = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            self.step(run, run);
            match self.json.get(self.at) {
                Some(b'\\') => self.step_over_escape(),
                Some(_) | None => break,
            }
        }
        Token { start, end: self.at, plain_start, plain_end: self.plain_at, is_string: true }
    }

    fn number(&mut self) -> Token {
        let (start, plain_start) = (self.at, self.plain_at);
        let is_digit =
            |byte: &&u8| byte.is_ascii_digit() || matches!(**byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let bytes = self.json[self.at..].iter().take_while(is_digit).count();
        self.step(bytes, bytes);
        Token { start, end: self.at, plain_start, plain_end: self.plain_at, is_string: false }
    }
}

/// The text with every escape resolved.
fn plain(json: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut run) = memchr(b'\\', json) else { return Cow::Borrowed(json) };
    let (mut plain, mut at) = (Vec::with_capacity(json.len()), 0);
    loop {
        plain.extend_from_slice(&json[at..at + run]);
        at += run;
        let (character, bytes) = escape(&json[at..]);
        plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        at += bytes;
        match memchr(b'\\', &json[at..]) {
            Some(next) => run = next,
            None => break,
        }
    }
    plain.extend_from_slice(&json[at..]);
    Cow::Owned(plain)
}

/// The character that the escape at the beginning of `text` stands for, and how many bytes spell it. Half of a pair
/// stands for U+FFFD, and so does what is no escape.
fn escape(text: &[u8]) -> (char, usize) {
    let simple = |character| (character, 2);
    match text.get(1) {
        Some(b'n') => simple('\n'),
        Some(b'r') => simple('\r'),
        Some(b't') => simple('\t'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'u') => escape_unit(text),
        Some(other) if other.is_ascii() => simple(char::from(*other)),
        Some(_) | None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn escape_unit(text: &[u8]) -> (char, usize) {
    let Some(first) = unit(text.get(2..6)) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(character) = char::from_u32(u32::from(first)) {
        return (character, 6);
    }
    let second = text.get(6..8).filter(|escape| *escape == b"\\u").and_then(|_| unit(text.get(8..12)));
    match second.map(|second| char::decode_utf16([first, second]).next()) {
        Some(Some(Ok(character))) => (character, 12),
        Some(_) | None => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn unit(hex: Option<&[u8]>) -> Option<u16> {
    hex?.iter()
        .try_fold(0, |unit, digit| Some(unit << 4 | u16::try_from(char::from(*digit).to_digit(16)?).ok()?))
}
