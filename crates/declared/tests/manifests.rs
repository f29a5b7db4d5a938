//! What a manifest must be to be a tool, and what is said of one that is none.

use std::path::Path;

use declared::{Format, tool};
use tool_api::{Listing, Need, Origin};

/// A sound one, to be changed in one place by each case.
const SOUND: &str = r#"
id = "word_count"
name = "Word count"
description = "Counts words."
version = "1.0.0"
scopes = ["read"]
effect = "reads"
command = ["wc", "-w", "--", "{path}"]
inputs = { type = "object", properties = { path = { type = "string" } } }
"#;

fn problems(text: &str, format: Format) -> Vec<String> {
    tool(text, format, Path::new("/no-such-folder")).err().unwrap_or_default()
}

/// What is said once `line`, which begins with a key of the sound one, is there in its place.
#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let key = line.split_once(' ').expect("a key").0;
    let others = SOUND.lines().filter(|known| !known.starts_with(&format!("{key} ")));
    let text: String = others.chain([line]).collect::<Vec<_>>().join("\n");
    assert_eq!(problems(&text, Format::Toml), expected, "{text}");
}

#[test]
fn a_sound_one_is_a_tool() {
    let tool = tool(SOUND, Format::Toml, Path::new("/no-such-folder")).expect("it is sound");
    let definition = tool.definition();
    assert_eq!(definition.origin, Origin::Declared);
    assert_eq!(*definition.scopes, ["read_workspace".into()], "by the name that callers hold it by");
    let Listing::Declared(described) = &definition.listing else { panic!("{definition:?}") };
    assert_eq!(
        (&*described.title, &described.needs[..]),
        ("Word count 1.0.0", &[Need::Process, Need::Artifacts][..])
    );
    assert_eq!(
        (described.idempotent, definition.open_world, definition.timeout.as_secs()),
        (false, false, 60)
    );
}

#[test]
fn only_asking_for_what_is_there_sends_nothing() {
    let get = r#""http":{"url":"https://a.test/x"}"#;
    let post = r#""http":{"url":"https://a.test/x","method":"POST"}"#;
    for (effect, work, sends) in [
        ("reads", get, false),
        ("reads", post, true),
        ("writes", get, true),
        ("reads", r#""command":["x"]"#, true),
    ] {
        let json = format!(
            r#"{{"id":"x","name":"X","description":"d","scopes":["network"],"effect":"{effect}",{work},
            "hosts":["a.test"],"inputs":{{"type":"object"}}}}"#
        );
        let tool = tool(&json, Format::Json, Path::new("/no-such-folder")).expect("it is sound");
        assert_eq!(tool.definition().sends(), sends, "{effect} {work}");
    }
    assert!(!tool(SOUND, Format::Toml, Path::new("/")).expect("it is sound").definition().sends());
}

#[test]
fn json_says_the_same() {
    let json = r#"{"id":"x","name":"X","description":"d","scopes":["network"],"effect":"executes","command":["x"],
        "hosts":["a.test"],"inputs":{"type":"object"},"outputs":{"type":"object"}}"#;
    assert_eq!(problems(json, Format::Json), [""; 0]);
    let unknown = json.replacen("\"id\"", "\"dry_run\":true,\"id\"", 1);
    let said = problems(&unknown, Format::Json);
    assert!(said[0].starts_with("dry_run: unknown field `dry_run`, expected one of `id`"), "{said:?}");
    let marked = format!("\u{feff}{json}");
    assert_eq!(problems(&marked, Format::Json), [""; 0], "as some editors save it");
}

/// What is said first of a sound manifest in which something is exchanged, or of a text of its own.
#[track_caller]
fn check_mistake(format: Format, (from, to): (&str, &str), expected: &str) {
    let sound = match format {
        Format::Toml => SOUND.to_owned(),
        Format::Json | Format::Value => r#"{
  "id": "x", "name": "X", "description": "d", "scopes": ["read"], "effect": "reads",
  "inputs": {"type": "object"},
  "command": ["wc", "-l"]
}"#
        .to_owned(),
    };
    let text = if from.is_empty() { to.to_owned() } else { sound.replacen(from, to, 1) };
    assert_ne!(text, sound);
    let said = problems(&text, format);
    assert_eq!(said.first().map(String::as_str), Some(expected), "{text}");
}

#[test]
fn what_people_mistype_is_told_with_what_to_try() {
    let json = |from: &str, to: &str, expected: &str| check_mistake(Format::Json, (from, to), expected);
    json("", "{", "the file ends within a table; close it with `}` (line 1, column 1)");
    json("\n}", "", "the file ends within a table; close it with `}` (line 4, column 25)");
    json("]\n}", "", "command: the file ends within a list; close it with `]` (line 4, column 24)");
    json("-l\"]\n}", "-l", "command[1]: the file ends within a text; close it with `\"` (line 4, column 23)");
    json(
        "-l\"",
        "-l",
        "command[1]: a text is not closed on its line; close it with `\"`, and write a new line in it as `\\n` (line 4, column 25)",
    );
    json(
        ", \"-l\"",
        " \"-l\"",
        "command: a comma is missing before this value, or the `]` that ends the list (line 4, column 20)",
    );
    json("]\n", "],\n", "no comma may stand before `]` or `}`; take it out (line 5, column 1)");
    json(
        "  \"command\"",
        "  // it\n  \"command\"",
        "a name in double quotes must stand here; JSON has no comments (line 4, column 3)",
    );
    json(
        "\"d\"",
        "'d'",
        "description: no value begins so: a text stands in double quotes, a list in `[ ]`, a table in `{ }`; the others are numbers, true, false and null (line 2, column 42)",
    );
    json("\"d\"", "7", "description: it must be a text, and is the number `7` (line 2, column 42)");
    json("\"d\"", "null", "description: it must be a text, and is null (line 2, column 45)");
    json(
        "[\"wc\", \"-l\"]",
        "\"wc -l\"",
        "command: it must be a list, and is the text \"wc -l\" (line 4, column 20)",
    );
    json("[\"wc\", \"-l\"]", "{}", "command: it must be a list, and is a table (line 4, column 13)");
    let twice = "{\"type\": \"object\", \"type\": \"array\"}";
    json("{\"type\": \"object\"}", twice, "`type` is there twice; keep one of them (line 3, column 37)");
    json("\"id\"", "\"id\": \"y\", \"id\"", "`id` is there twice; keep one of them (line 2, column 17)");
    json(
        "\n}",
        "\n} {}",
        "the manifest has ended before this; take it out, or move it within the outermost `{ }` (line 5, column 3)",
    );
    json("", "[1]", "a manifest is one table: names with their values");
    json("", " \n", "the file is empty; `toolcrib manifest new` writes one to begin with");
    let half = "the file ends within a table; close it with `}` (line 1, column 8)";
    assert_eq!(declared::json("{\"a\": 1\n").expect_err("half of it"), half);
    check_mistake(Format::Value, ("\"d\"", "7"), "description: it must be a text, and is the number `7`");
    let toml = |from: &str, to: &str, expected: &str| check_mistake(Format::Toml, (from, to), expected);
    toml("", "\n", "the file is empty; `toolcrib manifest new` writes one to begin with");
    toml(
        "",
        "id = \"x\nname = \"y\"",
        "a text is not closed on its line; close it with `\"` (line 1, column 8)",
    );
    toml(
        "",
        "id = null",
        "no value begins so: a text stands in quotes, and TOML has no null (line 1, column 6)",
    );
    toml("", "id = x", "a text must stand in quotes (line 1, column 6)");
    toml(
        "",
        "a = [\"b\" \"c\"]",
        "a comma is missing before this value, or the `]` that ends the list (line 1, column 10)",
    );
    toml("", "a = [1", "a list is not closed; close it with `]` (line 1, column 7)");
    toml("", "a = {b = 1", "a table is not closed; close it with `}` (line 1, column 11)");
    toml("", "id", "a name without a value; write `name = value` (line 1, column 3)");
    toml("", "id = \"x\"\nid = \"y\"", "this name is there twice; keep one of them (line 2, column 1)");
}

#[test]
fn what_is_no_manifest_says_where() {
    let expected = "expected one of `id`, `name`, `description`, `version`, `inputs`, `outputs`, `scopes`, `effect`, \
                    `idempotent`, `retries`, `dry_run_supported`, `timeout_seconds`, `example_invocations`, `http`, `mcp`, `command`, `options_from`, `hosts`, `sandbox`";
    check("shell = \"x\"", &[&format!("shell: unknown field `shell`, {expected} (line 10, column 1)")]);
    let said = "sandbox.root: unknown field `root`, expected one of `workspace`, `memory`, `processes`, `open_files` \
                (line 10, column 13)";
    check("sandbox = { root = \"/\" }", &[said]);
    let list = |key: &str, place: &str| {
        format!("{key}: it must be a table, whose members have names, and is a list{place}")
    };
    for (key, members) in
        [("sandbox", "[\"none\"]"), ("mcp", "[\"x\"]"), ("http", "[\"GET\", \"https://a.test/x\"]")]
    {
        let column = key.len() + 4;
        check(&format!("{key} = {members}"), &[&list(key, &format!(" (line 10, column {column})"))]);
        let json = format!(
            r#"{{"id":"x","name":"X","description":"d","scopes":["read"],"effect":"reads","command":["x"],"inputs":{{"type":"object"}},"{key}":{members}}}"#
        );
        let said = problems(&json, Format::Json);
        assert!(said[0].starts_with(&list(key, " (line 1")), "{said:?}");
    }
    let said = "effect: unknown variant `looks`, expected one of `reads`, `writes`, `destroys`, `executes` (line 9, \
                column 10)";
    check("effect = \"looks\"", &[said]);
    let said = problems("id = \"x\"", Format::Toml);
    let first = "missing field `name` (line 1, column 1)".to_owned();
    let rest = ["description", "inputs", "scopes", "effect"].map(|key| format!("missing field `{key}`"));
    assert_eq!(said, [&[first], &rest[..]].concat());
    assert_eq!(problems("id = ", Format::Toml).len(), 1);
}

#[test]
fn everything_that_makes_no_sense_is_told() {
    check("id = \"a b\"", &["id: \"a b\" is no name: 1 to 64 of `A-Z a-z 0-9 _ -`"]);
    check("id = \"a.b\"", &["id: \"a.b\" is no name: 1 to 64 of `A-Z a-z 0-9 _ -`"]);
    check("name = \"\"", &["name: it must be one line of 1 to 80 bytes"]);
    check("name = \"a\\nb\"", &["name: it must be one line of 1 to 80 bytes"]);
    check("description = \"\\u001b[31m\"", &["description: it must be a text of 1 to 2000 bytes"]);
    let unknown = "scopes[0]: unknown scope \"read_workspac\"; did you mean \"read_workspace\"";
    check("scopes = [\"read_workspac\"]", &[unknown]);
    check("scopes = []", &["scopes: it names none; a tool that looks needs \"read_workspace\""]);
    check("timeout_seconds = 0", &["timeout_seconds: it must be 1 to 3600"]);
    check("timeout_seconds = 3601", &["timeout_seconds: it must be 1 to 3600"]);
    let twice = "retries: only what changes nothing by being done twice (idempotent = true)";
    check("retries = 1", &[twice]);
    check("retries = 4", &["retries: at most 3 can be", twice]);
    let dry = "inputs: `dry_run` must be a boolean for `dry_run_supported`";
    let text = format!("{}dry_run_supported = true", SOUND.replacen("path = {", "dry_run = {}, path = {", 1));
    assert_eq!(problems(&text, Format::Toml), [dry]);
    let both = "command: one of `command`, `http` and `mcp` does the work; leave the others out";
    check("mcp = { tool = \"x\" }", &[both]);
    let mcp = SOUND.replacen(
        "command = [\"wc\", \"-w\", \"--\", \"{path}\"]",
        "mcp = { tool = \"x\", arguments = { n = 1 } }",
        1,
    );
    let closed = mcp.replacen("} } }", "} }, additionalProperties = false }", 1);
    assert_eq!(problems(&closed, Format::Toml), [""; 0]);
    let open = "inputs: `additionalProperties` must be false: what they do not name would be sent on";
    assert_eq!(problems(&mcp, Format::Toml), [open]);
    for (more, why) in [
        (
            "retries = 1\nidempotent = true",
            "retries: that is for the tool to say which does the work; leave it out",
        ),
        (
            "outputs = { type = \"object\" }",
            "outputs: that is for the tool to say which does the work; leave it out",
        ),
    ] {
        assert_eq!(problems(&format!("{closed}{more}"), Format::Toml), [why]);
    }
    let twice = closed.replacen("n = 1", "path = 1", 1);
    assert_eq!(
        problems(&twice, Format::Toml),
        ["mcp.arguments: `path` is in `inputs`, too; one of them says it"]
    );
    let itself = closed.replacen("\"x\"", "\"word_count\"", 1);
    assert_eq!(problems(&itself, Format::Toml), ["mcp.tool: it cannot stand for itself"]);
    check("outputs = { type = \"array\" }", &["outputs: its `type` must be \"object\""]);
    let pathless = "command[3]: {path} names no argument of `inputs`";
    check("inputs = { type = \"string\" }", &[pathless, "inputs: its `type` must be \"object\""]);
    check(
        "hosts = [\"a.test\"]",
        &["hosts: a tool that reaches some needs the scope \"network\" in `scopes`"],
    );
    check("sandbox = { processes = 0 }", &["sandbox.processes: at least 1 is needed"]);
    check("sandbox = { memory = \"1 KiB\" }", &["sandbox.memory: at least 16 MiB is needed"]);
    check("sandbox = { memory = \"16 MiB\" }", &[]);
    let both = SOUND.replacen("[\"read\"]", "[\"read\", \"network\"]", 1);
    let text = format!("{both}hosts = [\"https://a.test\"]\nsandbox = {{ workspace = \"none\" }}");
    let said = problems(&text, Format::Toml);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("hosts: what computes with what it is sent"), "{said:?}");
}
