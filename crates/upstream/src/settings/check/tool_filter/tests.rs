//! What may be said about tools.

use expect_test::expect;

use super::super::tests::{check, settle};

#[test]
fn globs_are_told_by_their_place() {
    check(
        "command = \"a\"\ninclude = [\"read_*\", \"read_[\"]\nexclude = [\"\", \"{a\"]",
        expect![[r#"
        mcp.it.include[1]: "read_[" cannot be used: unclosed character class; missing ']'
        mcp.it.exclude[0]: is empty; write `*` for everything
        mcp.it.exclude[1]: "{a" cannot be used: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#]],
    );
    let many = format!("command = \"a\"\ninclude = {:?}", vec!["x"; 1_001]);
    check(&many, expect!["mcp.it.include[1000]: there are more than 1000 entries"]);
    let long = format!("command = \"a\"\nexclude = {:?}", ["x".repeat(1_001)]);
    check(&long, expect!["mcp.it.exclude[0]: is longer than 1000 bytes"]);
}

#[test]
fn tools_are_settled_without_the_values_of_arguments() {
    let table = r#"
        command = "a"
        [tool.read_file]
        name = "read"
        description = "Reads."
        arguments = { root = "/", key = "${env:TOKEN}", deep = [{ a = "x${env:TOKEN}" }] }
        defaults = { limit = 5, home = "{env:HOME}" }
        "#;
    expect![[r#"ToolFilter { include: None, exclude: None, tools: {"read_file": ToolOverride { name: Some("read"), description: Some("Reads."), sent: Some(Sent { fixed: ["deep", "key", "root"], defaults: ["home", "limit"] }), effect: None }} }"#]].assert_eq(&format!("{:?}", settle(table).expect("sound").shape));
    let settings =
        settle("command = \"a\"\ntool.t.arguments = { a = 1, b = { c = [true, \"{env:TOKEN}\"] } }");
    let shape = settings.expect("sound").shape;
    let sent = shape.tools["t"].sent.clone().expect("arguments");
    assert_eq!(sent.with("{}"), r#"{"b":{"c":[true,"s3cret-s3cret"]},"a":1}"#);
}

#[test]
fn what_is_wrong_about_a_tool_is_told() {
    check(
        r#"
        command = "a"
        [tool."a b"]
        name = "c d"
        arguments = { x = 1, "y z" = 2, f = "{file:none}", e = "{env:NONE}", u = "{env:" }
        defaults = { x = 1, "y z" = 2, g = "{file:none}" }
        [tool.empty]
        name = ""
        [tool.one]
        name = "same"
        [tool.two]
        name = "same"
        [tool.long]
        name = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
        "#,
        expect![[r#"
            mcp.it.tool.two.name: `tool.one` has this name already
            mcp.it.tool."a b".name: only letters a-z, digits, `_` and `-` may stand in a tool's name
            mcp.it.tool."a b".defaults.x: `arguments` fixes it, so it has no default; keep one
            mcp.it.tool."a b".defaults."y z": `arguments` fixes it, so it has no default; keep one
            mcp.it.tool."a b".arguments.e: the environment variable NONE is not set
            mcp.it.tool."a b".arguments.f: the file none cannot be read
            mcp.it.tool."a b".arguments.u: `{env:` has no `}` behind it
            mcp.it.tool."a b".defaults.g: what stands here is shown to callers, and what this refers to is secret; `arguments` are not shown
            mcp.it.tool.empty.name: must not be empty
            mcp.it.tool.long.name: longer than 64 characters"#]],
    );
}
