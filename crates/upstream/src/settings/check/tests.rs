//! What a table may say, and what is answered if it says something else.

use std::time::Duration;

use expect_test::{Expect, expect};

use super::super::endpoint::{Dialect, Endpoint};
use super::*;

pub(super) fn settle(table: &str) -> Result<Settings, Vec<String>> {
    settle_as("it", table)
}

fn settle_as(name: &str, table: &str) -> Result<Settings, Vec<String>> {
    let config: Config = toml::from_str(table).expect("a table by its form");
    config.settle(name, Duration::from_secs(30), &|reference| match reference {
        Reference::Env(name) if name == "TOKEN" => Ok("s3cret-s3cret".to_owned()),
        Reference::Env(name) if name == "HOME" => Ok("/home/somebody".to_owned()),
        Reference::Env(name) if name == "PLAIN" => Ok("plain".to_owned()),
        Reference::Env(name) if name == "UNNAMED" => Ok("pg-Pass-Word-5519".to_owned()),
        Reference::Env(name) => {
            Err(NotFollowed::Wrong(format!("the environment variable {name} is not set")))
        }
        Reference::Store(name) if name == "KEPT" => Ok("kept-s3cret".to_owned()),
        Reference::Store(name) if name == "LATER" => {
            Err(NotFollowed::Missing("no secret LATER is kept".to_owned()))
        }
        Reference::Store(name) => Err(NotFollowed::Wrong(format!("no secret {name} is kept"))),
        Reference::File(path) if path == "key.pem" => Ok("-----BEGIN PRIVATE KEY-----\nMC4".to_owned()),
        Reference::File(path) => Err(NotFollowed::Wrong(format!("the file {path} cannot be read"))),
    })
}

#[track_caller]
pub(super) fn check(table: &str, expected: Expect) {
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
            r#"Settings { name: "it", enabled: true, limits: Limits { start: 30s, list: 30s, call: 120s, call_max: 3600s, concurrency: None, processes: 8 }, life: Life { on_demand: false, idle: None, restart: Always, isolation: Shared }, shape: ToolFilter { include: None, exclude: None, tools: {} }, prefix: "", endpoint: Program { command: "npx", args: ["-y", "server"], env: ["KEY", "TOKEN"], cwd: Some("/srv") }, inherit: [] }"#
        ]],
    );
}

#[test]
fn an_address_is_settled() {
    check(
        "url = \"https://host:8443/mcp?key=s3cret\"\nheaders = { Authorization = { env = \"TOKEN\" } }",
        expect![[
            r#"Settings { name: "it", enabled: true, limits: Limits { start: 30s, list: 30s, call: 30s, call_max: 3600s, concurrency: None, processes: 8 }, life: Life { on_demand: false, idle: None, restart: Always, isolation: Shared }, shape: ToolFilter { include: None, exclude: None, tools: {} }, prefix: "it", endpoint: Address { url: "https://host:8443/mcp", dialect: Any, sign_in: None, headers: ["authorization"] }, inherit: [] }"#
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
            r#"Settings { name: "it", enabled: true, limits: Limits { start: 30s, list: 30s, call: 30s, call_max: 3600s, concurrency: None, processes: 8 }, life: Life { on_demand: false, idle: None, restart: Always, isolation: Shared }, shape: ToolFilter { include: None, exclude: None, tools: {} }, prefix: "it", endpoint: Socket("/run/it.sock"), inherit: [] }"#
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
            mcp.it.headers.Z: the file /no cannot be read
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
    assert!(!settings.expect("sound").enabled);
}

#[test]
fn a_fingerprint_names_the_server_and_nothing_else() {
    let of = |table: &str| settle(table).expect("sound").fingerprint();
    let plain = of("command = \"a\"\nargs = [\"b\", \"c\"]");
    assert_eq!(plain.len(), 64);
    let same = "timeout = 5\nprefix = \"p\"\nexclude = [\"x\"]\ntool.y.arguments.z = 1";
    assert_eq!(plain, of(&format!("command = \"a\"\nargs = [\"b\", \"c\"]\n{same}")));
    // Secrets change; whom they speak for does not.
    let signed_in = |secret: &str| {
        of(&format!("url = \"http://a/\"\noauth = {{ client_id = \"x\", client_secret = \"{secret}\" }}"))
    };
    assert_eq!(signed_in("a"), signed_in("b"));
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
        "command = \"a\"\nargs = [\"b\", \"c\"]\ninherit = [\"X\"]",
        "url = \"http://a/\"\noauth = { client_id = \"x\" }",
        "url = \"http://a/\"\noauth = { client_id = \"y\" }",
        "url = \"http://a/\"\noauth = { client_id = \"x\", issuer = \"https://i\" }",
        "url = \"http://a/\"\noauth = { client_metadata_url = \"https://a/x\" }",
    ];
    let mut all: Vec<String> = others.iter().map(|table| of(table)).collect();
    all.push(plain);
    for (at, print) in all.iter().enumerate() {
        let first = all.iter().position(|it| it == print);
        assert_eq!(first, Some(at), "{:?}", others.get(at));
    }
}

#[test]
fn times_have_their_bounds() {
    let limits = |table: &str| {
        let Limits { start, list, call, call_max, .. } =
            settle(&format!("command = \"a\"\n{table}")).expect("sound").limits;
        [start, list, call, call_max].map(|time| time.as_secs())
    };
    assert_eq!(limits(""), [30, 30, 30, 3600]);
    assert_eq!(limits("start_timeout = \"2m\"\nlist_timeout = 5000\ntimeout = \"1s\""), [120, 5, 1, 3600]);
    assert_eq!(limits("timeout = \"2h\""), [30, 30, 7200, 7200]);
    assert_eq!(limits("timeout = \"1m\"\nmax_timeout = \"1m\""), [30, 30, 60, 60]);
    // Alone it bounds what no key says.
    assert_eq!(limits("max_timeout = \"10s\""), [30, 30, 10, 10]);
    check(
        r#"
        command = "a"
        start_timeout = 0
        list_timeout = "25h"
        timeout = "2m"
        max_timeout = "1m"
        idle_timeout = "900ms"
        concurrency = 0
        processes = 0
        "#,
        expect![[r#"
            mcp.it.max_timeout: must not be shorter than `timeout`, which is 120s
            mcp.it.concurrency: must be between 1 and 10000
            mcp.it.processes: must be between 1 and 16
            mcp.it.start_timeout: must be between 1 ms and 24 h
            mcp.it.list_timeout: must be between 1 ms and 24 h
            mcp.it.idle_timeout: must be between 1 s and 24 h"#]],
    );
    check(
        "command = \"a\"\nmax_timeout = 0\nidle_timeout = \"25h\"\nconcurrency = 10001\nprocesses = 17",
        expect![[r#"
        mcp.it.max_timeout: must be between 1 ms and 24 h
        mcp.it.concurrency: must be between 1 and 10000
        mcp.it.processes: must be between 1 and 16
        mcp.it.idle_timeout: must be between 1 s and 24 h"#]],
    );
}

#[test]
fn how_a_server_lives_is_taken_over() {
    let table = r#"
        socket = "/s"
        on_demand = true
        idle_timeout = "1s"
        restart = "on-failure"
        isolation = "session"
        concurrency = 10000
        processes = 16
        "#;
    let settings = settle(table).expect("sound");
    let idle = Some(Duration::from_secs(1));
    let (restart, isolation) = (crate::config::Restart::OnFailure, crate::config::Isolation::Session);
    assert_eq!(settings.life, Life { on_demand: true, idle, restart, isolation });
    assert_eq!((settings.limits.concurrency, settings.limits.processes), (Some(10_000), 16));
}

#[test]
fn what_a_program_inherits_is_named_by_globs() {
    check(
        "command = \"a\"\ninherit = [\"HTTPS_PROXY\", \"AWS_*\"]",
        expect![[
            r#"Settings { name: "it", enabled: true, limits: Limits { start: 30s, list: 30s, call: 30s, call_max: 3600s, concurrency: None, processes: 8 }, life: Life { on_demand: false, idle: None, restart: Always, isolation: Shared }, shape: ToolFilter { include: None, exclude: None, tools: {} }, prefix: "it", endpoint: Program { command: "a", args: [], env: [], cwd: None }, inherit: ["HTTPS_PROXY", "AWS_*"] }"#
        ]],
    );
    check(
        "command = \"a\"\ninherit = [\"A_*\", \"A_[\", \"\"]",
        expect![[r#"
        mcp.it.inherit[1]: "A_[" cannot be used: unclosed character class; missing ']'
        mcp.it.inherit[2]: is empty; write `*` for everything"#]],
    );
    check(
        "url = \"http://a/\"\ninherit = [\"A\"]",
        expect!["mcp.it.inherit: only a server with `command` gets it"],
    );
}

#[test]
fn the_same_settings_are_the_same_whatever_others_there_are() {
    let of = |table: &str| settle(table).expect("sound");
    let table = "command = \"a\"\ninclude = [\"a\"]";
    let known = of(table).knowing(&[settle_as("other", "command = \"b\"").expect("sound")]);
    assert_eq!(known.foreign.load().len(), 1);
    assert!(known.same_as(&of(table)));
    for other in [
        "command = \"b\"\ninclude = [\"a\"]",
        "command = \"a\"",
        "command = \"a\"\ninclude = [\"b\"]",
        "command = \"a\"\ninclude = [\"a\"]\ntool.x.name = \"y\"",
        "command = \"a\"\ninclude = [\"a\"]\ntimeout = 5",
        "command = \"a\"\ninclude = [\"a\"]\non_demand = true",
        "command = \"a\"\ninclude = [\"a\"]\nprefix = \"\"",
        "command = \"a\"\ninclude = [\"a\"]\nenabled = false",
        "command = \"a\"\ninclude = [\"a\"]\ninherit = [\"X\"]",
    ] {
        assert!(!known.same_as(&of(other)), "{other}");
    }
    let secret = |secret: &str| {
        of(&format!("url = \"http://a/\"\noauth = {{ client_id = \"x\", client_secret = \"{secret}\" }}"))
    };
    assert!(secret("a").same_as(&secret("a")) && !secret("a").same_as(&secret("b")));
}
