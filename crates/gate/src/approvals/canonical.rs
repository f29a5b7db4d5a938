//! One spelling for all spellings of the same arguments, so that one call has one hash.
//!
//! As in RFC 8785 there are no blanks, members are sorted by their keys, and strings have one way of escaping. Numbers
//! differ: they stay as they were written, since a program behind an upstream may tell `1` from `1.0` and reads more
//! digits than a double holds. So the two are different calls, and a person is asked about each.

use std::borrow::Cow;

use audit::Hash;

/// Most members of a call's arguments that a standing permission can be bound to one by one.
const MEMBERS_MAX: usize = 64;

/// How deep such a member may lie.
const MEMBER_DEPTH_MAX: usize = 4;

/// A JSON value that remembers how its numbers are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Canonical<'t> {
    /// Sorted by key; one that comes twice stays twice.
    Object(Vec<(Cow<'t, str>, Canonical<'t>)>),
    /// In order.
    Array(Vec<Canonical<'t>>),
    /// A string.
    Text(Cow<'t, str>),
    /// A number or a word, as it is written.
    Word(&'t str),
}

impl<'t> Canonical<'t> {
    /// Reads a JSON text that was checked before, its depth included; nothing if it was not.
    pub(super) fn read(json: &'t str) -> Option<Canonical<'t>> {
        let mut reader = Reader { text: json, at: 0 };
        let value = reader.value()?;
        reader.skip_blanks();
        (reader.at == json.len()).then_some(value)
    }

    /// The one spelling.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// The hash of that.
    pub(super) fn hash(&self) -> Hash {
        Hash::of(self.text().as_bytes())
    }

    fn write(&self, out: &mut String) {
        match self {
            Canonical::Word(word) => out.push_str(word),
            Canonical::Text(text) => out.push_str(&quoted(text)),
            Canonical::Array(items) => {
                out.push('[');
                for (nth, item) in items.iter().enumerate() {
                    out.push_str(if nth > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Canonical::Object(members) => {
                out.push('{');
                for (nth, (key, value)) in members.iter().enumerate() {
                    out.push_str(if nth > 0 { "," } else { "" });
                    out.push_str(&quoted(key));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The same with every text and number that is longer than this cut to its beginning and its end, for people.
    pub(super) fn shortened(&self, bytes_max: usize) -> Canonical<'t> {
        match self {
            Canonical::Word(word) if word.len() > bytes_max => {
                Canonical::Text(Cow::Owned(ends(word, bytes_max)))
            }
            Canonical::Word(word) => Canonical::Word(word),
            Canonical::Text(text) => Canonical::Text(short(text, bytes_max)),
            Canonical::Array(items) => {
                Canonical::Array(items.iter().map(|item| item.shortened(bytes_max)).collect())
            }
            Canonical::Object(members) => {
                let short = |(key, value): &(Cow<'t, str>, Canonical<'t>)| {
                    (short(key, bytes_max), value.shortened(bytes_max))
                };
                Canonical::Object(members.iter().map(short).collect())
            }
        }
    }

    /// The members that a standing permission can be bound to: JSON Pointer (RFC 6901) and value, the outer ones first.
    pub(super) fn members(&self) -> Vec<(String, &Canonical<'t>)> {
        let mut found: Vec<(String, &Canonical<'t>)> = Vec::new();
        let mut level = vec![(String::new(), self)];
        for _ in 0..MEMBER_DEPTH_MAX {
            let mut below = Vec::new();
            for (pointer, value) in level {
                let Canonical::Object(members) = value else { continue };
                let named = members.iter().map(|(key, value)| {
                    (format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), value)
                });
                below.extend(named.take(MEMBERS_MAX - found.len() - below.len()));
            }
            found.extend(below.iter().cloned());
            level = below;
        }
        found
    }
}

fn short<'t>(text: &Cow<'t, str>, bytes_max: usize) -> Cow<'t, str> {
    if text.len() > bytes_max { Cow::Owned(ends(text, bytes_max)) } else { text.clone() }
}

/// The beginning of a text and its end, and how long it is.
fn ends(text: &str, bytes_max: usize) -> String {
    let half = bytes_max / 2;
    let (begin, end) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    format!("{} \u{2026} {} ({} bytes)", &text[..begin], &text[end..], text.len())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string can always be written")
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Steps over this byte, and blanks before it, if it is the next.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Option<Canonical<'t>> {
        self.skip_blanks();
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(Canonical::Text),
            _ => self.word(),
        }
    }

    fn object(&mut self) -> Option<Canonical<'t>> {
        self.at += 1;
        let mut members = Vec::new();
        while !self.takes(b'}') {
            if !members.is_empty() && !self.takes(b',') {
                return None;
            }
            self.skip_blanks();
            let key = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            members.push((key, self.value()?));
        }
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(Canonical::Object(members))
    }

    fn array(&mut self) -> Option<Canonical<'t>> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.takes(b']') {
            if !items.is_empty() && !self.takes(b',') {
                return None;
            }
            items.push(self.value()?);
        }
        Some(Canonical::Array(items))
    }

    fn string(&mut self) -> Option<Cow<'t, str>> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        let mut is_escaped = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    is_escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let written = self.text.get(start..self.at)?;
        match is_escaped {
            true => serde_json::from_str(written).ok().map(Cow::Owned),
            false => written.get(1..written.len() - 1).map(Cow::Borrowed),
        }
    }

    fn word(&mut self) -> Option<Canonical<'t>> {
        let rest = self.text.get(self.at..)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).filter(|word| !word.is_empty()).map(Canonical::Word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        assert_eq!(Canonical::read(json).map(|value| value.text()).as_deref(), expected, "{json}");
    }

    #[test]
    fn the_same_arguments_have_one_spelling() {
        check(" { } ", Some("{}"));
        check(r#"{"b" : [ 1 ,2], "a":{"z":null,"y":true}}"#, Some(r#"{"a":{"y":true,"z":null},"b":[1,2]}"#));
        check(r#"{"\u0061":"\u00e9\/\"\n"}"#, Some("{\"a\":\"\u{e9}/\\\"\\n\"}"));
        check(r#"{"a":"x","a":"y"}"#, Some(r#"{"a":"x","a":"y"}"#));
        // Numbers are what they are written as.
        for number in ["1", "1.0", "1e0", "-0", "18446744073709551617", "18446744073709551616"] {
            check(&format!("[ {number} ]"), Some(&format!("[{number}]")));
        }
    }

    #[test]
    fn what_is_no_json_is_not_read() {
        for json in ["", "{", "[", "\"", "{\"a\"}", "{\"a\":}", "[1 2]", "{} {}", "\"\\", "{1:2}", "[,1]"] {
            check(json, None);
        }
    }

    #[test]
    fn members_are_found_by_their_pointers() {
        let value = Canonical::read(r#"{"a/b":{"c~":[{"d":1}]},"e":"f"}"#).expect("a sample");
        let members: Vec<_> = value.members().into_iter().map(|(at, value)| (at, value.text())).collect();
        let expected = [("/a~1b", r#"{"c~":[{"d":1}]}"#), ("/e", r#""f""#), ("/a~1b/c~0", r#"[{"d":1}]"#)];
        assert_eq!(members, expected.map(|(at, text)| (at.to_owned(), text.to_owned())));
        let many: Vec<String> = (0..100).map(|nth| format!("\"k{nth:02}\":{{\"x\":{nth}}}")).collect();
        let many = format!("{{{}}}", many.join(","));
        assert_eq!(Canonical::read(&many).expect("a sample").members().len(), MEMBERS_MAX);
    }
}
