//! One strict pass over a JSON text: grammar, UTF-8, nesting, duplicate keys.
//!
//! Duplicate keys are refused at every level, since a broker that checks one value and forwards another
//! can be talked past. Depth is bounded, and so is the stack that it costs. The pass keeps nothing but the
//! keys of the objects that are open.

use std::borrow::Cow;
use std::collections::HashSet;

use smallvec::SmallVec;

use crate::DEPTH_MAX;
use crate::string::{self, StringFault};

/// Above this many keys an object's keys go into a hash set; below, comparing them in turn is faster.
const KEYS_COMPARED_MAX: usize = 24;

/// Keys of open objects that a check keeps without allocating. Nearly every message has fewer.
const KEYS_INLINE: usize = 32;

/// Why a text is not JSON that we accept. Positions are byte offsets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes are not UTF-8.
    #[error("the text is not UTF-8 (byte {0})")]
    Utf8(usize),
    /// The grammar of RFC 8259 is broken here.
    #[error("not JSON at byte {0}")]
    Grammar(usize),
    /// The text ended in the middle of a value.
    #[error("the JSON text ends too early")]
    Truncated,
    /// Arrays and objects are nested deeper than [`DEPTH_MAX`].
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// An object has the same key twice.
    #[error("the member \"{0}\" occurs twice in one object")]
    DuplicateKey(String),
}

impl Fault {
    /// True if the text is JSON by its grammar, but of a kind that we refuse.
    pub fn is_wellformed(&self) -> bool {
        match self {
            Fault::TooDeep | Fault::DuplicateKey(_) => true,
            Fault::Utf8(_) | Fault::Grammar(_) | Fault::Truncated => false,
        }
    }
}

/// Checks that `bytes` hold exactly one JSON value and returns the text.
pub fn check(bytes: &[u8]) -> Result<&str, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| Fault::Utf8(error.valid_up_to()))?;
    check_text(text)?;
    Ok(text)
}

/// Checks that `text` holds exactly one JSON value.
pub fn check_text(text: &str) -> Result<(), Fault> {
    let mut scanner = Scanner { text, at: 0, keys: SmallVec::new(), twin: None };
    scanner.value(0)?;
    scanner.skip_blank();
    match (scanner.peek(), scanner.twin) {
        (Some(_), _) => Err(Fault::Grammar(scanner.at)),
        (None, Some(key)) => Err(Fault::DuplicateKey(key)),
        (None, None) => Ok(()),
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// The keys of the objects that are open.
    keys: SmallVec<[Cow<'t, str>; KEYS_INLINE]>,
    /// The first key that its object had already. The rest is looked at all the same: what is broken besides matters more.
    twin: Option<String>,
}

impl<'t> Scanner<'t> {
    /// A value within as many arrays and objects.
    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.next()? {
            b'{' | b'[' if depth == DEPTH_MAX => Err(Fault::TooDeep),
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            b'"' => self.string().map(drop),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(Fault::Grammar(self.at)),
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Fault> {
        let mut is_over = self.is_empty(b']')?;
        while !is_over {
            self.value(depth)?;
            is_over = self.is_end(b']')?;
        }
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Fault> {
        let (keys_from, mut many) = (self.keys.len(), None);
        let mut is_over = self.is_empty(b'}')?;
        while !is_over {
            let key = self.key()?;
            self.remember(key, keys_from, &mut many);
            self.value(depth)?;
            is_over = self.is_end(b'}')?;
        }
        self.keys.truncate(keys_from);
        Ok(())
    }

    /// Passes the bracket that opens, and the one that closes if there is nothing between them.
    fn is_empty(&mut self, end: u8) -> Result<bool, Fault> {
        self.at += 1;
        let is_empty = self.next()? == end;
        self.at += usize::from(is_empty);
        Ok(is_empty)
    }

    /// Passes the comma, or the bracket that closes.
    fn is_end(&mut self, end: u8) -> Result<bool, Fault> {
        let byte = self.next()?;
        if byte != b',' && byte != end {
            return Err(Fault::Grammar(self.at));
        }
        self.at += 1;
        Ok(byte == end)
    }

    /// The next byte that is no blank.
    fn next(&mut self) -> Result<u8, Fault> {
        self.skip_blank();
        self.peek().ok_or(Fault::Truncated)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Result<Cow<'t, str>, Fault> {
        if self.next()? != b'"' {
            return Err(Fault::Grammar(self.at));
        }
        let start = self.at;
        let key = match self.string()? {
            true => string::decode(&self.text[start..self.at]),
            false => Cow::Borrowed(&self.text[start + 1..self.at - 1]),
        };
        if self.next()? != b':' {
            return Err(Fault::Grammar(self.at));
        }
        self.at += 1;
        Ok(key)
    }

    /// Notes a key of an object, and whether it has it already. Its keys begin in the list, and go to `many` when they
    /// are many.
    fn remember(&mut self, key: Cow<'t, str>, keys_from: usize, many: &mut Option<HashSet<Cow<'t, str>>>) {
        if many.is_none() && self.keys.len() - keys_from >= KEYS_COMPARED_MAX {
            *many = Some(self.keys.drain(keys_from..).collect());
        }
        let fresh = match many {
            Some(set) => set.insert(key.clone()),
            None => !self.keys[keys_from..].contains(&key),
        };
        if !fresh {
            self.twin.get_or_insert_with(|| key.chars().take(100).collect());
        } else if many.is_none() {
            self.keys.push(key);
        }
    }

    /// Passes a string, and tells whether there are escapes in it.
    fn string(&mut self) -> Result<bool, Fault> {
        match string::end_and_escapes(self.text.as_bytes(), self.at) {
            Ok((end, has_escapes)) => {
                self.at = end;
                Ok(has_escapes)
            }
            Err(StringFault::Unterminated) => Err(Fault::Truncated),
            Err(StringFault::Bad(at)) => Err(Fault::Grammar(at)),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), Fault> {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else if word.as_bytes().starts_with(rest) {
            Err(Fault::Truncated)
        } else {
            Err(Fault::Grammar(self.at))
        }
    }

    /// RFC 8259 section 6: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        match self.peek() {
            _ if self.at > start => Ok(()),
            None => Err(Fault::Truncated),
            Some(_) => Err(Fault::Grammar(self.at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: Result<(), Fault>) {
        assert_eq!(check(text.as_bytes()).map(|_| ()), expected, "{text:.80}");
    }

    #[test]
    fn accepts_what_the_grammar_allows() {
        for text in [
            "{}",
            "[]",
            "0",
            "-0",
            "-0.5e-3",
            "1E9",
            "123456789012345678901234567890",
            r#""""#,
            "true",
            "false",
            "null",
            " [ 1 , { } ] ",
            r#"{"a":{"a":1},"b":[{"a":2},{"a":3}]}"#,
            r#""\u00e9\n\"\\/""#,
            r#""\ud800""#,
            "\"\u{7f}é漢\"",
        ] {
            check_text(text, Ok(()));
        }
    }

    #[test]
    fn names_the_fault_and_its_place() {
        let cases = [
            ("", Fault::Truncated),
            ("   ", Fault::Truncated),
            ("{", Fault::Truncated),
            (r#"{"a""#, Fault::Truncated),
            (r#"{"a":"#, Fault::Truncated),
            ("tru", Fault::Truncated),
            ("-", Fault::Truncated),
            ("1.", Fault::Truncated),
            ("\"abc", Fault::Truncated),
            ("trux", Fault::Grammar(0)),
            ("01", Fault::Grammar(1)),
            (".5", Fault::Grammar(0)),
            ("1.x", Fault::Grammar(2)),
            ("[1,]", Fault::Grammar(3)),
            ("{,}", Fault::Grammar(1)),
            (r#"{"a":1,}"#, Fault::Grammar(7)),
            (r#"{"a" 1}"#, Fault::Grammar(5)),
            ("{1:2}", Fault::Grammar(1)),
            ("[1}", Fault::Grammar(2)),
            ("1 2", Fault::Grammar(2)),
            ("\"a\nb\"", Fault::Grammar(2)),
            (r#""\x""#, Fault::Grammar(1)),
            (r#""\u12g4""#, Fault::Grammar(1)),
            ("\u{feff}{}", Fault::Grammar(0)),
            ("'a'", Fault::Grammar(0)),
        ];
        for (text, fault) in cases {
            check_text(text, Err(fault));
        }
        assert_eq!(check(b"\"\xff\""), Err(Fault::Utf8(1)));
    }

    #[test]
    fn refuses_the_same_key_twice_however_it_is_spelt() {
        let duplicate = |key: &str| Err(Fault::DuplicateKey(key.into()));
        check_text(r#"{"a":1,"a":2}"#, duplicate("a"));
        check_text(r#"{"x":[{"name":1,"n\u0061me":2}]}"#, duplicate("name"));
        check_text(r#"{"":1,"":2}"#, duplicate(""));
        let many: Vec<String> = (0..500).map(|n| format!("\"k{n}\":{n}")).collect();
        check_text(&format!("{{{}}}", many.join(",")), Ok(()));
        check_text(&format!("{{{},\"k3\":0}}", many.join(",")), duplicate("k3"));
        check_text(&format!("{{{},\"\\u006b499\":0}}", many.join(",")), duplicate("k499"));
    }

    #[test]
    fn depth_is_bounded_and_costs_no_stack() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check_text(&nested(DEPTH_MAX), Ok(()));
        check_text(&nested(DEPTH_MAX + 1), Err(Fault::TooDeep));
        check_text(&"[".repeat(100_000), Err(Fault::TooDeep));
        check_text(&r#"{"a":"#.repeat(100_000), Err(Fault::TooDeep));
    }

    proptest! {
        /// Agreement with an independent parser on arbitrary text near JSON.
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}:,"\\a0-9.eE+\- truefalsn]{0,24}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            match check(text.as_bytes()) {
                Ok(_) => prop_assert!(theirs.is_ok() || text.contains('e') || text.contains('E'), "{text}"),
                Err(Fault::DuplicateKey(_) | Fault::TooDeep) => {}
                Err(_) => prop_assert!(theirs.is_err(), "{text}"),
            }
        }
    }
}
