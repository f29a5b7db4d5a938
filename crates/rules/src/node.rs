//! A rules file as a tree that knows where everything stands, whichever of its two forms it was written in.

mod json;
mod yaml;

use serde_json::{Number, Value};

/// Largest rules file, in bytes. A rule is some hundred bytes.
pub const BYTES_MAX: u64 = 1024 * 1024;

/// Deepest nesting: a rules file needs six levels, a value that is set in arguments some more.
const DEPTH_MAX: usize = 64;

/// Most values in one file, those behind aliases counted as often as they are used.
const NODES_MAX: usize = 20_000;

/// Where something stands in a text, counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// What makes a text no tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) what: String,
}

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) written: Written,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Member>),
}

/// A member of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) node: Node,
}

/// The two forms of a rules file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Yaml,
}

impl Node {
    /// Reads a text.
    ///
    /// # Errors
    /// What makes it unreadable, with its place: wrong grammar, a name that is there twice, too much of anything.
    pub(crate) fn read(text: &str, form: Form) -> Result<Node, Fault> {
        match form {
            Form::Json => json::read(text),
            Form::Yaml => yaml::read(text),
        }
    }

    /// What kind of value it is, for sentences.
    pub(crate) fn kind(&self) -> &'static str {
        match self.written {
            Written::Null => "null",
            Written::Bool(_) => "a boolean",
            Written::Number(_) => "a number",
            Written::Text(_) => "text",
            Written::List(_) => "a list",
            Written::Table(_) => "an object",
        }
    }

    /// The same without its places.
    pub(crate) fn to_json(&self) -> Value {
        match &self.written {
            Written::Null => Value::Null,
            Written::Bool(flag) => Value::Bool(*flag),
            Written::Number(number) => Value::Number(number.clone()),
            Written::Text(text) => Value::String(text.clone()),
            Written::List(items) => items.iter().map(Node::to_json).collect(),
            Written::Table(members) => {
                Value::Object(members.iter().map(|it| (it.name.clone(), it.node.to_json())).collect())
            }
        }
    }

    /// How many values it is, itself included.
    fn count(&self) -> usize {
        match &self.written {
            Written::List(items) => 1 + items.iter().map(Node::count).sum::<usize>(),
            Written::Table(members) => 1 + members.iter().map(|it| it.node.count()).sum::<usize>(),
            Written::Null | Written::Bool(_) | Written::Number(_) | Written::Text(_) => 1,
        }
    }

    /// How many levels it has, itself included. It has been built within [`DEPTH_MAX`].
    fn depth(&self) -> usize {
        match &self.written {
            Written::List(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Written::Table(members) => 1 + members.iter().map(|it| it.node.depth()).max().unwrap_or(0),
            Written::Null | Written::Bool(_) | Written::Number(_) | Written::Text(_) => 1,
        }
    }
}

/// A member that must not be there yet.
fn add(members: &mut Vec<Member>, place: Place, name: String, node: Node) -> Result<(), Fault> {
    if members.iter().any(|member| member.name == name) {
        return Err(Fault { place, what: format!("`{name}` is there twice; keep one of them") });
    }
    members.push(Member { place, name, node });
    Ok(())
}

fn too_deep(place: Place) -> Fault {
    Fault { place, what: format!("this is nested more than {DEPTH_MAX} levels deep") }
}

fn too_many(place: Place) -> Fault {
    Fault { place, what: format!("from here on there are more than {NODES_MAX} values in the file") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, form: Form, expected: Result<&str, (usize, usize, &str)>) {
        match (Node::read(text, form), expected) {
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
        check("a: &x [p, q]\nb: *x\n", Form::Yaml, Ok(r#"{"a":["p","q"],"b":["p","q"]}"#));
        check("{\"a\": \"\\u00e9\"}", Form::Yaml, Ok(r#"{"a":"é"}"#));
        check(r#"{"a":"\ud83d\ude00"}"#, Form::Json, Ok(r#"{"a":"😀"}"#));
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
        check("a: [1\n", Form::Yaml, Err((2, 1, "")));
        check("a: *x\n", Form::Yaml, Err((1, 4, "")));
        check("a: 1\n---\nb: 2\n", Form::Yaml, Err((2, 1, "a second document begins here")));
        check("[1]: 2\n", Form::Yaml, Err((1, 1, "the name of a member must be text")));
        check("a: !!binary x\n", Form::Yaml, Err((1, 4, "tags are not read")));
        check("a: .inf\n", Form::Yaml, Err((1, 4, "this number")));
        check("a:\n  b: 1\n c: 2\n", Form::Yaml, Err((3, 2, "")));
    }

    #[test]
    fn bombs_have_an_end() {
        let mut lol = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            lol.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(",")));
        }
        check(&lol, Form::Yaml, Err((4, 5, "from here on there are more than")));
        let deep = |open: &str, close: &str| format!("{}{}", open.repeat(5_000), close.repeat(5_000));
        for (text, form) in [
            (deep("[", "]"), Form::Json),
            (deep("[", "]"), Form::Yaml),
            (deep("{\"a\":", "}"), Form::Json),
            ("- ".repeat(5_000), Form::Yaml),
            (deep("{a: ", "}"), Form::Yaml),
        ] {
            let fault = Node::read(&text, form).expect_err("too deep");
            assert!(fault.place.column > 60, "{fault:?}");
        }
        let wide = format!("[{}1]", "1,".repeat(NODES_MAX));
        check(&wide, Form::Json, Err((1, 40_000, "from here on there are more")));
        // An alias carries the depth of what it stands for.
        let nested = format!(
            "a: &x {}{}\nb: {}*x{}\n",
            "[".repeat(40),
            "]".repeat(40),
            "[".repeat(40),
            "]".repeat(40)
        );
        check(&nested, Form::Yaml, Err((2, 44, "this is nested more than")));
    }
}
