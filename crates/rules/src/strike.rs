//! Striking what a rule matches out of the strings of JSON texts, which stay as they are otherwise.

use std::borrow::Cow;

use crate::encoded;
use crate::names::Taken;
use crate::shapes;
use crate::token::{Kind, Marks, Token};
use crate::vocabulary::Owner;

/// Shows every string, name and number of a JSON text to `visit`, and puts what it returns in their place. Names of one
/// object that become the same get numbers. Nothing if nothing was changed. The text must be JSON; of one that is not, some
/// part is not seen.
pub(crate) fn json(
    json: &str,
    owner: Owner<'_>,
    mut visit: impl FnMut(&mut Token<'_>) -> Option<String>,
) -> Option<String> {
    let bytes = json.as_bytes();
    let mut walk = Walk { levels: Vec::new(), owner };
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let begin = at;
        at = match bytes[at] {
            b'"' => end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => end_of_number(bytes, at),
            other => {
                walk.pass(other, at);
                at += 1;
                continue;
            }
        };
        let raw = &json[begin..at];
        let is_text = raw.starts_with('"');
        let text = if is_text { unquoted(raw) } else { Cow::Borrowed(raw) };
        let new = if is_text && walk.awaits_key() {
            let new = walk.named(&text, json, &mut visit);
            walk.key(text.into_owned());
            new
        } else {
            walk.shown(text, is_text, &mut visit)
        };
        if let Some(new) = new {
            out.push_str(&json[copied..begin]);
            out.push_str(&serde_json::to_string(&new).expect("text is JSON"));
            copied = at;
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&json[copied..]);
    Some(out)
}

/// Where in a JSON text one is.
struct Walk<'v> {
    levels: Vec<Level<'v>>,
    owner: Owner<'v>,
}

struct Level<'v> {
    is_object: bool,
    /// In an object: the member that is being read, once its name has been.
    key: Option<String>,
    /// For that member.
    marks: Marks,
    /// For all that is in here.
    inherited: Marks,
    owner: Owner<'v>,
    /// The byte at which it begins.
    begin: usize,
    /// Its names, once one of them is struck.
    taken: Option<Taken>,
}

impl<'v> Walk<'v> {
    /// Passes punctuation.
    fn pass(&mut self, byte: u8, at: usize) {
        match byte {
            b'{' | b'[' => {
                let owner = self.name().map_or(self.owner(), |name| self.owner().of(name));
                // The items of a list are known by the name of the list.
                let is_list = byte == b'[';
                let key = if is_list { self.name().map(str::to_owned) } else { None };
                let (marks, inherited) = match self.levels.last() {
                    None => (Marks::default(), Marks::default()),
                    Some(above) => {
                        let for_all =
                            if matches!(above.owner, Owner::Tool) { above.marks } else { Marks::default() };
                        let own = if is_list { above.marks } else { Marks::default() };
                        (own, above.inherited.and(for_all))
                    }
                };
                let is_object = !is_list;
                self.levels.push(Level { is_object, key, marks, inherited, owner, begin: at, taken: None });
            }
            b'}' | b']' => {
                self.levels.pop();
            }
            b',' => {
                if let Some(level) = self.levels.last_mut().filter(|level| level.is_object) {
                    level.key = None;
                    level.marks = Marks::default();
                }
            }
            _ => {}
        }
    }

    /// The member that is being read.
    fn name(&self) -> Option<&str> {
        self.levels.last().and_then(|level| level.key.as_deref())
    }

    /// What `visit` puts in the place of a value.
    fn shown(
        &self,
        text: Cow<'_, str>,
        is_text: bool,
        visit: &mut impl FnMut(&mut Token<'_>) -> Option<String>,
    ) -> Option<String> {
        let key = self.name();
        let marks = self.levels.last().map_or(Marks::default(), |level| level.marks.and(level.inherited));
        let mut shown = |text: Cow<'_, str>, kind: Kind| visit(&mut Token { text, kind, marks });
        let Some(name) = key.filter(|_| is_text) else {
            return shown(text, if is_text { Kind::Text } else { Kind::Number });
        };
        let (shape, is_protocols) = match self.owner() {
            Owner::Tool => (Kind::Text, false),
            Owner::Protocol(vocabulary) => (shapes::kind_of(vocabulary.holds(name), &text), true),
        };
        if shape != Kind::Text || !encoded::holds_bytes(name) {
            return shown(text, shape);
        }
        let Some(bytes) = encoded::decoded(&text) else { return shown(text, Kind::Text) };
        let is_text = || std::str::from_utf8(&bytes).is_ok() || bytes.contains(&0);
        if is_protocols {
            let new = encoded::read(&bytes, &mut shown);
            return new.map(|new| encoded::encoded(&new)).or_else(|| shown(text, Kind::Coded));
        }
        // What a tool calls so need not be any.
        shown(text, Kind::Text).or_else(|| {
            let new = if is_text() { encoded::read(&bytes, &mut shown) } else { None };
            new.map(|new| encoded::encoded(&new))
        })
    }

    fn owner(&self) -> Owner<'v> {
        self.levels.last().map_or(self.owner, |level| level.owner)
    }

    /// What `visit` puts in the place of a name.
    fn named(
        &mut self,
        name: &str,
        json: &str,
        visit: &mut impl FnMut(&mut Token<'_>) -> Option<String>,
    ) -> Option<String> {
        let mut token = Token::of_name(name, self.owner());
        let new = visit(&mut token);
        let level = self.levels.last_mut()?;
        level.marks = token.marks_below();
        let new = new.filter(|_| token.kind == Kind::Key)?;
        let taken = level.taken.get_or_insert_with(|| names_of(json, level.begin));
        Some(taken.give(new))
    }

    fn key(&mut self, key: String) {
        if let Some(level) = self.levels.last_mut() {
            level.key = Some(key);
        }
    }

    fn awaits_key(&self) -> bool {
        self.levels.last().is_some_and(|level| level.is_object && level.key.is_none())
    }
}

/// The names of the object that begins at `at`.
fn names_of(json: &str, mut at: usize) -> Taken {
    let bytes = json.as_bytes();
    let (mut depth, mut is_name, mut names) = (0_usize, false, Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => {
                depth += 1;
                is_name = depth == 1;
            }
            b'}' | b']' if depth == 1 => break,
            b'}' | b']' => depth -= 1,
            b',' => is_name = depth == 1,
            b'"' => {
                let end = end_of_string(bytes, at);
                if std::mem::take(&mut is_name) {
                    names.push(unquoted(&json[at..end]));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Taken::of(names.iter().map(|name| &**name))
}

/// The byte after a string that begins at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    at + bytes[at..].iter().take_while(|byte| is_part(byte)).count()
}

fn unquoted(raw: &str) -> Cow<'_, str> {
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        // Half a character cannot be decoded; the text as it is written is searched instead.
        _ => serde_json::from_str(raw).map_or(Cow::Borrowed(raw), Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_json(owner: Owner<'_>, text: &str, expected: Option<&str>) {
        let mut seen = Vec::new();
        let struck = json(text, owner, |token| {
            seen.push(format!("{:?} {:?}", token.kind, token.text));
            let is_kept = matches!(token.kind, Kind::Label | Kind::Word);
            let is_hit = !is_kept && (token.text.contains('é') || token.text.contains("42"));
            is_hit.then(|| token.text.replace('é', "#").replace("42", "#"))
        });
        assert_eq!(struck.as_deref(), expected, "{seen:#?}");
        if let Some(struck) = struck {
            serde_json::from_str::<serde_json::Value>(&struck).expect("JSON stays JSON");
        }
    }

    #[test]
    fn strings_of_json_are_struck_and_the_rest_stays() {
        use Owner::Tool;
        let vocabulary = crate::vocabulary::sample();
        check_json(Tool, r#"{"a":"x"}"#, None);
        check_json(Tool, r#"{ "a" : "\u00e9\n\"" , "n":1.50}"#, Some(r##"{ "a" : "#\n\"" , "n":1.50}"##));
        check_json(
            Tool,
            r#"[["é"],{"é":[42, 9007199254740993]}]"#,
            Some(r##"[["#"],{"#":["#", 9007199254740993]}]"##),
        );
        // Members stay apart, whatever stands between them.
        check_json(
            Tool,
            r###"{"é":{"#":0},"#":1,"\u00e9":2,"x":[{"é":3},"é"],"##3":4,"é":5}"###,
            Some(r###"{"##2":{"#":0},"#":1,"##4":2,"x":[{"#":3},"#"],"##3":4,"##5":5}"###),
        );
        check_json(Tool, r#"{"type":"é"}"#, Some(r##"{"type":"#"}"##));
        check_json(
            Owner::Protocol(&vocabulary),
            r#"{"content":[{"type":"text","text":"é"}]}"#,
            Some(r##"{"content":[{"type":"text","text":"#"}]}"##),
        );
        let structured = r#"{"structuredContent":{"type":"é"},"x":{"role":"é"}}"#;
        check_json(
            Owner::Protocol(&vocabulary),
            structured,
            Some(r##"{"structuredContent":{"type":"#"},"x":{"role":"#"}}"##),
        );
        check_json(
            Owner::Protocol(&vocabulary),
            r#"{"mimeType":"text/42"}"#,
            Some(r##"{"mimeType":"text/#"}"##),
        );
        check_json(
            Owner::Protocol(&vocabulary),
            r#"{"contents":[{"blob":"w6k="}]}"#,
            Some(r#"{"contents":[{"blob":"Iw=="}]}"#),
        );
        check_json(Owner::Protocol(&vocabulary), r#"{"contents":[{"blob":"/w=="}]}"#, None);
        for blob in ["w6k", "w\\n6k=", "w6l=", "/zQy", "_zQy"] {
            let text = format!(r#"{{"contents":[{{"blob":"{blob}"}}]}}"#);
            assert!(
                json(&text, Owner::Protocol(&vocabulary), |token| {
                    (token.kind != Kind::Key && (token.text.contains('é') || token.text.contains("42")))
                        .then(String::new)
                })
                .is_some(),
                "{blob}"
            );
        }
        check_json(Tool, r#"{"a":"\ud800é"}"#, Some(r##"{"a":"\"\\ud800#\""}"##));
        check_json(Tool, r#""é"#, Some(r##""\"#""##));
    }
}
