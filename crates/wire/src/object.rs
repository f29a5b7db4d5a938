//! The members of a JSON object as slices of the text they stand in.
//!
//! Works on text that [`crate::scan::check`] has accepted; finding a member is then a matter of skipping.

use std::borrow::Cow;

use crate::string;

/// A checked JSON object, read lazily.
#[derive(Debug, Clone, Copy)]
pub struct Object<'t> {
    text: &'t str,
}

/// One member: its key literal (quotes included) and the text of its value.
#[derive(Debug, Clone, Copy)]
pub struct Member<'t> {
    key: &'t str,
    /// The value's text, exactly as written.
    pub value: &'t str,
}

impl<'t> Member<'t> {
    /// The key as it reads.
    pub fn key(&self) -> Cow<'t, str> {
        string::decode(self.key)
    }

    /// True if the key reads `name`.
    pub fn is(&self, name: &str) -> bool {
        string::says(self.key, name)
    }

    /// The key as it was written, quotes included.
    pub fn key_literal(&self) -> &'t str {
        self.key
    }
}

impl<'t> Object<'t> {
    /// The object in `text`, or nothing if the value is of another kind. `text` must have been checked.
    pub fn parse(text: &'t str) -> Option<Object<'t>> {
        let text = text.trim_ascii();
        text.starts_with('{').then_some(Object { text })
    }

    /// All members in the order they are written.
    pub fn members(self) -> impl Iterator<Item = Member<'t>> {
        let mut cursor = Cursor { text: self.text, at: 1 };
        std::iter::from_fn(move || cursor.member())
    }

    /// The text of the value of `key`.
    pub fn get(self, key: &str) -> Option<&'t str> {
        self.members().find(|member| member.is(key)).map(|member| member.value)
    }

    /// The string at `key`; nothing if it is missing or no string.
    pub fn string(self, key: &str) -> Option<Cow<'t, str>> {
        self.get(key).filter(|value| value.starts_with('"')).map(string::decode)
    }

    /// The object at `key`; nothing if it is missing or no object.
    pub fn object(self, key: &str) -> Option<Object<'t>> {
        self.get(key).and_then(Object::parse)
    }

    /// The object's own text.
    pub fn text(self) -> &'t str {
        self.text
    }
}

/// The texts of the elements of a checked array; nothing if the value is of another kind.
pub fn elements(text: &str) -> Option<impl Iterator<Item = &str>> {
    let text = text.trim_ascii();
    let mut cursor = Cursor { text, at: 1 };
    text.starts_with('[').then(|| std::iter::from_fn(move || cursor.element()))
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn member(&mut self) -> Option<Member<'t>> {
        if !self.skip_to_item() {
            return None;
        }
        let key = self.value();
        self.skip_blank_and(b':');
        self.skip_blank_and(b' ');
        Some(Member { key, value: self.value() })
    }

    fn element(&mut self) -> Option<&'t str> {
        self.skip_to_item().then(|| self.value())
    }

    /// Moves to the next key or element; false at the closing bracket.
    fn skip_to_item(&mut self) -> bool {
        self.skip_blank_and(b',');
        !matches!(self.byte(), b']' | b'}')
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(b'}')
    }

    fn skip_blank_and(&mut self, also: u8) {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') && byte != also {
                return;
            }
            self.at += 1;
        }
    }

    fn value(&mut self) -> &'t str {
        let start = self.at;
        match self.byte() {
            b'"' => self.at = string::checked_end(self.text.as_bytes(), self.at),
            b'{' | b'[' => self.skip_nested(),
            _ => self.skip_scalar(),
        }
        &self.text[start..self.at]
    }

    fn skip_scalar(&mut self) {
        while !matches!(self.byte(), b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn skip_nested(&mut self) {
        let mut depth = 0usize;
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'"' => {
                    self.at = string::checked_end(self.text.as_bytes(), self.at);
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        crate::scan::check(text.as_bytes()).expect("a sample is sound");
        let object = Object::parse(text).expect("a sample is an object");
        object.members().map(|member| (member.key().into_owned(), member.value.to_owned())).collect()
    }

    #[test]
    fn members_keep_their_text() {
        let text = r#" { "a" : 1.0 ,"b\u0062":"x\"},{" , "c":[ {"d":"]"} ,2],"e":{},"f":-1e3 } "#;
        let expected =
            [("a", "1.0"), ("bb", r#""x\"},{""#), ("c", r#"[ {"d":"]"} ,2]"#), ("e", "{}"), ("f", "-1e3")];
        let read = read(text);
        assert_eq!(read, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert!(self::read("{ }").is_empty());
    }

    #[test]
    fn typed_access_refuses_other_kinds() {
        let object = Object::parse(r#"{"s":"t\n","o":{"x":null},"n":1}"#).expect("object");
        assert_eq!(object.string("s").as_deref(), Some("t\n"));
        assert_eq!(object.string("n"), None);
        assert_eq!(object.object("o").and_then(|inner| inner.get("x")), Some("null"));
        assert!(object.object("n").is_none() && object.get("missing").is_none());
        assert!(Object::parse("[1]").is_none());
    }

    #[test]
    fn elements_of_an_array() {
        let found: Vec<&str> = elements(r#"[ {"a":[1,2]} , "x,]" ,3]"#).expect("array").collect();
        assert_eq!(found, [r#"{"a":[1,2]}"#, r#""x,]""#, "3"]);
        assert_eq!(elements("[ ]").expect("array").count(), 0);
        assert!(elements("{}").is_none());
    }
}
