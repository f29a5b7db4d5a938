//! A rules file as a tree that knows where everything stands, whichever of its two forms it was written in.

mod json;
mod tree;
mod yaml;

use serde_json::Value;

pub use tree::{BYTES_MAX, Place};
pub(crate) use tree::{Fault, Member, Node, Written};

/// A text in YAML as JSON: one document without tags and aliases, of bounded depth and number of values, where no name is there
/// twice.
///
/// # Errors
/// What makes it unreadable, with line and column.
pub fn yaml_as_json(text: &str) -> Result<Value, String> {
    let read = read(text, Form::Yaml);
    read.map(|node| node.to_json())
        .map_err(|Fault { place, what }| format!("{what} (line {}, column {})", place.line, place.column))
}

/// The two forms of a rules file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Yaml,
}

/// Reads a text.
///
/// # Errors
/// What makes it unreadable, with its place: wrong grammar, a name that is there twice, too much of anything.
pub(crate) fn read(text: &str, form: Form) -> Result<Node, Fault> {
    match form {
        Form::Json => yaml::read(&json::as_yaml(text)?),
        Form::Yaml => yaml::read(text),
    }
}

#[cfg(test)]
mod tests {
    use super::tree::NODES_MAX;
    use super::*;

    #[track_caller]
    fn check(text: &str, form: Form, expected: Result<&str, (usize, usize, &str)>) {
        match (read(text, form), expected) {
            (Ok(node), Ok(json)) => assert_eq!(node.to_json().to_string(), json, "{text}"),
            (Err(fault), Err((line, column, what))) => {
                assert_eq!(fault.place, Place { line, column }, "{text}: {}", fault.what);
                assert!(fault.what.starts_with(what), "{text}: {}", fault.what);
            }
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        check(r#"{"a":[1,-2.5,true,null,"é\n😀"]}"#, Form::Json, Ok(r#"{"a":[1,-2.5,true,null,"é\n😀"]}"#));
        check(
            "a:\n- 1\n- -2.5\n- true\n- ~\n- \"é\\n\"\n",
            Form::Yaml,
            Ok(r#"{"a":[1,-2.5,true,null,"é\n"]}"#),
        );
        check(
            "a: 'true'\nb: no\nc: 1.0\nd: 0x1f\n",
            Form::Yaml,
            Ok(r#"{"a":"true","b":"no","c":1.0,"d":31}"#),
        );
        check("a: &x [p, q]\nb: 1\n", Form::Yaml, Ok(r#"{"a":["p","q"],"b":1}"#));
        check("{\"a\": \"\\u00e9\"}", Form::Yaml, Ok(r#"{"a":"é"}"#));
        check(r#"{"a":"\ud83d\ude00"}"#, Form::Json, Ok(r#"{"a":"😀"}"#));
        check(r#"{"a":"\\ud83d\\ude00\/\b"}"#, Form::Json, Ok(r#"{"a":"\\ud83d\\ude00/\b"}"#));
        check(
            "{\n\t\"a\" : [\n\t\t1,\t{\"b\":\t-1E2}\n\t]\r\n}",
            Form::Json,
            Ok(r#"{"a":[1,{"b":-100.0}]}"#),
        );
        check(
            "{\"a\"\n:\n\"# no: comment\",\"b\":[],\"c\":{}}",
            Form::Json,
            Ok(r##"{"a":"# no: comment","b":[],"c":{}}"##),
        );
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        check("", Form::Json, Err((1, 1, "the file is empty")));
        check(" \n", Form::Json, Err((1, 1, "the file is empty")));
        check("{\n  \"a\": 1,\n}", Form::Json, Err((3, 1, "key must be a string")));
        check("{\"a\": 1 // no\n}", Form::Json, Err((1, 9, "expected `,` or `}`")));
        check("{\"a\":1}\n{}", Form::Json, Err((2, 1, "trailing characters")));
        check("{\"a\":1,\n \"a\":2}", Form::Json, Err((2, 2, "`a` is there twice")));
        check("# only this\n", Form::Yaml, Err((1, 1, "the file is empty")));
        check("a: 1\na: 2\n", Form::Yaml, Err((2, 1, "`a` is there twice")));
        check("a: [1\n", Form::Yaml, Err((2, 1, "a list in `[ ]` is not closed")));
        check("a: {b: 1\n", Form::Yaml, Err((2, 1, "a table in `{ }` is not closed")));
        check("a: \"b\nc: d\n", Form::Yaml, Err((1, 4, "a text in quotes is not closed")));
        check("a: \"b", Form::Yaml, Err((1, 4, "a text in quotes is not closed")));
        check("a: \"\\d\"\n", Form::Yaml, Err((1, 4, "a `\\` in double quotes begins none")));
        check("a: [\"b\" \"c\"]\n", Form::Yaml, Err((1, 9, "something follows a text in quotes")));
        check("a:\n\tb: 1\n", Form::Yaml, Err((2, 2, "a tab stands where only spaces may")));
        check("// no\na: 1\n", Form::Yaml, Err((2, 2, "no `: ` may stand here")));
        check("a: b: c\n", Form::Yaml, Err((1, 5, "no `: ` may stand here")));
        check("a: 1\n- b\n", Form::Yaml, Err((2, 3, "a name must stand here")));
        check("a: *x\n", Form::Yaml, Err((1, 4, "")));
        check("a: &x [p, q]\nb: *x\n", Form::Yaml, Err((2, 4, "aliases are not read here")));
        check("a: 1\n---\nb: 2\n", Form::Yaml, Err((2, 1, "a second document begins here")));
        check("[1]: 2\n", Form::Yaml, Err((1, 1, "the name of a member must be text")));
        check("a: !!binary x\n", Form::Yaml, Err((1, 4, "tags are not read")));
        check("a: .inf\n", Form::Yaml, Err((1, 4, "this number")));
        check("a:\n  b: 1\n c: 2\n", Form::Yaml, Err((3, 2, "a name must stand here")));
    }

    #[test]
    fn bombs_have_an_end() {
        let deep = |open: &str, close: &str| format!("{}{}", open.repeat(5_000), close.repeat(5_000));
        for (text, form) in [
            (deep("[", "]"), Form::Json),
            (deep("[", "]"), Form::Yaml),
            (deep("{\"a\":", "}"), Form::Json),
            ("- ".repeat(5_000), Form::Yaml),
            (deep("{a: ", "}"), Form::Yaml),
        ] {
            let fault = read(&text, form).expect_err("too deep");
            assert!(fault.place.column > 60, "{fault:?}");
        }
        let wide = format!("[{}1]", "1,".repeat(NODES_MAX));
        check(&wide, Form::Json, Err((1, 40_002, "from here on there are more")));
    }
}
