//! What a table may say, and what is answered if it says something else.

use std::time::Duration;

use expect_test::{Expect, expect};

use super::*;

fn settle(table: &str) -> Result<Settings, Vec<String>> {
    settle_as("it", table)
}

fn settle_as(name: &str, table: &str) -> Result<Settings, Vec<String>> {
    let config: Config = toml::from_str(table).expect("a table by its form");
    config.settle(name, Duration::from_secs(30), &|reference| match reference {
        Reference::Env(name) if name == "TOKEN" => Ok("s3cret".to_owned()),
        Reference::Env(name) => Err(format!("the environment variable {name} is not set")),
        Reference::File(path) => Err(format!("{path} cannot be read")),
    })
}

#[track_caller]
fn check(table: &str, expected: Expect) {
    let shown = match settle(table) {
        Ok(settings) => format!("{settings:?}"),
        Err(problems) => problems.join("\n"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_program_is_settled() {
    check(
        r#"
        command = "npx"
        args = ["-y", "server"]
        env = { KEY = "k3y", TOKEN = { env = "TOKEN" } }
        cwd = "/srv"
        timeout = "2m"
        prefix = ""
        "#,
        expect![[
            r#"Settings { name: "it", enabled: true, timeout: 120s, prefix: "", endpoint: Program { command: "npx", args: ["-y", "server"], env: ["KEY", "TOKEN"], cwd: Some("/srv") } }"#
        ]],
    );
}

#[test]
fn an_address_is_settled() {
    check(
        "url = \"https://host:8443/mcp?key=s3cret\"\nheaders = { Authorization = { env = \"TOKEN\" } }",
        expect![[
            r#"Settings { name: "it", enabled: true, timeout: 30s, prefix: "it", endpoint: Address { url: "https://host:8443/mcp", dialect: Any, headers: ["authorization"] } }"#
        ]],
    );
}

#[test]
fn what_is_spoken_at_an_address_may_be_fixed() {
    let dialect = |transport: &str| match settle(&format!("url = \"http://a/\"\ntransport = {transport:?}")) {
        Ok(Settings { endpoint: Endpoint::Address { dialect, .. }, .. }) => dialect,
        other => panic!("{other:?}"),
    };
    let all = ["auto", "http", "sse"].map(dialect);
    assert_eq!(all, [Dialect::Any, Dialect::Streamable, Dialect::Sse]);
    check(
        "command = \"a\"\ntransport = \"sse\"",
        expect![[r#"mcp.it.transport: "sse" needs `url`, but the table has `command`"#]],
    );
}

#[test]
fn a_socket_is_settled() {
    check(
        "socket = \"/run/it.sock\"",
        expect![[
            r#"Settings { name: "it", enabled: true, timeout: 30s, prefix: "it", endpoint: Socket("/run/it.sock") }"#
        ]],
    );
    check(
        "socket = \"it.sock\"\nargs = [\"a\"]\nheaders = { A = \"b\" }\ntransport = \"http\"",
        expect![[r#"
            mcp.it.transport: "http" needs `url`, but the table has `socket`
            mcp.it.args: only a server with `command` gets it
            mcp.it.headers: only a server with `url` gets headers
            mcp.it.socket: must be a path that begins with `/`, of at most 107 bytes"#]],
    );
}

#[test]
fn every_problem_is_found_at_once() {
    check(
        r#"
        command = " "
        args = ["a\u0000"]
        env = { "A=B" = "x", C = { env = "MISSING" }, D = "\u0000" }
        headers = { X = "y" }
        timeout = 0
        prefix = "a.b"
        transport = "http"
        "#,
        expect![[r#"
            mcp.it.prefix: only letters a-z, digits, `_` and `-` may stand in a tool's name
            mcp.it.timeout: a call's time is between 1 ms and 24 h
            mcp.it.transport: "http" needs `url`, but the table has `command`
            mcp.it.headers: only a server with `url` gets headers
            mcp.it.command: must be a program's name or path
            mcp.it.args[0]: must not contain NUL
            mcp.it.env."A=B": is no name for an environment variable
            mcp.it.env.C: the environment variable MISSING is not set
            mcp.it.env.D: the value must not contain NUL"#]],
    );
    check(
        r#"
        url = "ftp://host/"
        args = ["x"]
        env = { A = "b" }
        cwd = "/"
        headers = { "a b" = "c", Host = "d", Mcp-Param-A = "p", X = "e\nf", y = "1", Y = "2", Z = { file = "/no" } }
        timeout = "25h"
        prefix = "ppppppppppppppppppppppppppppppppppppppppp"
        transport = "stdio"
        "#,
        expect![[r#"
            mcp.it.prefix: longer than 40 characters
            mcp.it.timeout: a call's time is between 1 ms and 24 h
            mcp.it.transport: "stdio" needs `command`, but the table has `url`
            mcp.it.args: only a server with `command` gets it
            mcp.it.env: only a server with `command` gets it
            mcp.it.cwd: only a server with `command` gets it
            mcp.it.headers.Z: /no cannot be read
            mcp.it.headers.Host: is set by the transport itself
            mcp.it.headers.Mcp-Param-A: is set by the transport itself
            mcp.it.headers.X: the value must be printable ASCII without line ends
            mcp.it.headers."a b": is no name for a header
            mcp.it.headers.y: is there twice; case does not tell headers apart
            mcp.it.url: must begin with http:// or https:// and a host"#]],
    );
}

#[test]
fn there_is_one_place_and_it_is_an_address() {
    check("", expect!["mcp.it: needs `command`, `url` or `socket`"]);
    check("command = \"a\"\nurl = \"http://b\"", expect!["mcp.it: has `command` and `url`; keep one"]);
    check("url = \"http://b\"\nsocket = \"/s\"", expect!["mcp.it: has `url` and `socket`; keep one"]);
    check(
        "url = \"not an address\"",
        expect![[r#"mcp.it.url: is no address; it looks like "http://localhost:8080/mcp""#]],
    );
    check("url = \"/mcp\"", expect!["mcp.it.url: must begin with http:// or https:// and a host"]);
    check(
        "url = \"https://me:s3cret@host/\"",
        expect!["mcp.it.url: must not hold a user or password; send them with `headers`"],
    );
}

#[test]
fn a_name_must_be_able_to_stand_before_a_tool() {
    let problem = |name: &str| settle_as(name, "command = \"a\"").expect_err("a bad name").join("\n");
    assert_eq!(problem("…"), "mcp.\"…\": the name needs at least one letter a-z or digit");
    assert_eq!(problem(&"n".repeat(65)).split(": ").nth(1), Some("the name is longer than 64 characters"));
    assert_eq!(settle_as("my server", "command = \"a\"").expect("sound").prefix, "my_server");
}

#[test]
fn a_disabled_table_may_refer_to_what_is_not_there() {
    let settings = settle("command = \"a\"\nenabled = false\nenv = { A = { env = \"MISSING\" } }");
    assert!(!settings.expect("sound").is_enabled());
}

#[test]
fn a_fingerprint_names_the_server_and_nothing_else() {
    let of = |table: &str| settle(table).expect("sound").fingerprint();
    let plain = of("command = \"a\"\nargs = [\"b\", \"c\"]");
    assert_eq!(plain.len(), 64);
    assert_eq!(plain, of("command = \"a\"\nargs = [\"b\", \"c\"]\ntimeout = 5\nprefix = \"p\""));
    let others = [
        "command = \"a\"\nargs = [\"bc\"]",
        "command = \"a\"\nargs = [\"b\"]\nenv = { c = \"\" }",
        "command = \"a\"\nargs = [\"b\", \"c\"]\nenv = { A = \"x\" }",
        "command = \"a\"\nargs = [\"b\", \"c\"]\nenv = { A = { env = \"TOKEN\" } }",
        "command = \"a\"\nargs = [\"b\", \"c\"]\ncwd = \"/\"",
        "url = \"http://a/\"",
        "url = \"http://a/?b\"",
        "url = \"http://a/\"\nheaders = { A = \"x\" }",
        "socket = \"/a\"",
    ];
    let mut all: Vec<String> = others.iter().map(|table| of(table)).collect();
    all.push(plain);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), others.len() + 1);
}
