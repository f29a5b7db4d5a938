//! Lists with entries that nest too deeply: such an answer is read without them, so that one of them does not take all
//! others away.

use std::fmt::Write as _;

use bytes::Bytes;

use crate::DEPTH_MAX;
use crate::object::{self, Object};
use crate::scan;

/// What an entry has that stands in place of one that nests too deeply. Whoever writes it only hides an entry of its own.
pub const TOO_DEEP: &str = "toolcrib/tooDeep";

/// The lists that entries are left out of, as members of a result.
const LISTS: [&str; 4] = ["tools", "prompts", "resources", "resourceTemplates"];

/// What an entry is known by.
const NAMES: [&str; 3] = ["name", "uri", "uriTemplate"];

/// How deep the elements of a list lie: in a message, its result, and the list.
const ENTRY_DEPTH: usize = 3;

/// The answer in `frame` with names in place of entries that nest too deeply; nothing if that is not all that is wrong
/// with it.
pub fn without_deep_entries(frame: &[u8]) -> Option<Bytes> {
    let text = std::str::from_utf8(frame).ok().filter(|text| scan::is_sound_but_for_depth(text))?;
    let result = Object::parse(text)?.object("result")?;
    let lists = result.members().filter(|member| LISTS.iter().any(|list| member.is(list)));
    let entries = lists.filter_map(|list| object::elements(list.value)).flatten();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for entry in entries.filter(|entry| ENTRY_DEPTH + depth(entry) > DEPTH_MAX) {
        let start = entry.as_ptr().addr() - text.as_ptr().addr();
        out.push_str(&text[copied..start]);
        stub(entry, &mut out);
        copied = start + entry.len();
    }
    out.push_str(&text[copied..]);
    Some(Bytes::from(out)).filter(|_| copied > 0)
}

fn stub(entry: &str, out: &mut String) {
    let _ = write!(out, "{{\"{TOO_DEEP}\":true,\"inputSchema\":{{}}");
    let entry = Object::parse(entry);
    for name in NAMES {
        let known_by = entry.and_then(|entry| entry.get(name)).filter(|value| value.starts_with('"'));
        if let Some(value) = known_by {
            let _ = write!(out, ",\"{name}\":{value}");
        }
    }
    out.push('}');
}

/// How deep a checked text nests.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at = crate::string::checked_end(text.as_bytes(), at);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Frame;

    fn nested(levels: usize) -> String {
        format!("{}\"]]\"{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[track_caller]
    fn check(frame: &str, expected: Option<&str>) {
        let shallow = without_deep_entries(frame.as_bytes());
        let shallow = shallow.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"));
        assert_eq!(shallow.as_deref(), expected);
        if let Some(shallow) = shallow {
            assert!(Frame::parse(shallow.into()).is_ok());
        }
    }

    #[test]
    fn one_deep_entry_leaves_the_others() {
        let answer = |tools: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]}}}}"#);
        let deep = |levels| format!(r#"{{ "name": "d\"eep", "inputSchema": {{"x":{}}}}}"#, nested(levels));
        let (a, b) = (r#"{"name":"a","inputSchema":{ }}"#, r#"{"name":"b"}"#);
        let stub = r#"{"toolcrib/tooDeep":true,"inputSchema":{},"name":"d\"eep"}"#;
        check(&answer(&format!("{a}, {} ,{b}", deep(200))), Some(&answer(&format!("{a}, {stub} ,{b}"))));
        // The message, its result, the list, the tool, and its schema are five levels.
        check(&answer(&deep(DEPTH_MAX - 4)), Some(&answer(stub)));
        check(&answer(&deep(DEPTH_MAX - 5)), None);
        check(
            &answer(&format!("{},{a}", nested(200))),
            Some(&answer(&format!(r#"{{"toolcrib/tooDeep":true,"inputSchema":{{}}}},{a}"#))),
        );
        // Anything else that is wrong stays so.
        check(&answer(&format!("{},{{\"a\":1,\"a\":2}}", deep(200))), None);
        check(&answer(&format!("{},", deep(200))), None);
        check(&answer(&deep(scan::LENIENT_DEPTH_MAX)), None);
        check(&format!(r#"{{"id":1,"result":{{"content":[{}]}}}}"#, nested(200)), None);
        check("", None);
    }
}
