//! References within texts.

use expect_test::expect;

use super::super::super::Endpoint;
use super::super::tests::{check, settle};

#[test]
fn references_are_followed_wherever_they_stand() {
    let table = r#"
        command = "${env:HOME}/bin/server"
        args = ["--token={env:TOKEN}", "$${env:TOKEN}", "${TOKEN}"]
        env = { A = "x ${env:TOKEN} y", B = "{file:key.pem}", C = "$TOKEN" }
        cwd = "{env:HOME}/work"
        "#;
    let Endpoint::Program(program) = settle(table).expect("sound").endpoint else { panic!("a program") };
    assert_eq!(program.command, "/home/somebody/bin/server");
    assert_eq!(program.args, ["--token=s3cret-s3cret", "${env:TOKEN}", "${TOKEN}"]);
    let env: Vec<_> = program.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=x s3cret-s3cret y", "B=-----BEGIN PRIVATE KEY-----\nMC4", "C=$TOKEN"]);
    assert_eq!(program.cwd.expect("a folder").to_str(), Some("/home/somebody/work"));

    let table = "url = \"https://host/${env:TOKEN}/mcp\"\nheaders = { A = \"Bearer ${env:TOKEN}\" }";
    let Endpoint::Address { url, headers, .. } = settle(table).expect("sound").endpoint else {
        panic!("an address")
    };
    assert_eq!(url.to_string(), "https://host/s3cret-s3cret/mcp");
    assert_eq!(headers["a"], "Bearer s3cret-s3cret");

    let Endpoint::Socket(path) = settle("socket = \"${env:HOME}/s\"").expect("sound").endpoint else {
        panic!("a socket")
    };
    assert_eq!(path.to_str(), Some("/home/somebody/s"));
}

#[test]
fn what_references_led_to_is_shown_to_nobody() {
    let of = |table: &str| settle(table).expect("sound");
    let said = "no s3cret-s3cret in /home/somebody";
    for table in [
        "command = \"a\"\nargs = [\"--token={env:TOKEN}\", \"{env:HOME}\"]",
        "command = \"a\"\nenv = { DSN = \"db://{env:TOKEN}@host\" }",
        "url = \"https://host/${env:TOKEN}/\"",
        "url = \"https://host/\"\noauth = { client_id = \"x\", client_secret = \"s3cret-s3cret\" }",
        "command = \"a\"\ntool.t.arguments.key = \"{env:TOKEN}\"",
    ] {
        let settings = of(table);
        assert_eq!(settings.masked(said), "no *** in /home/somebody", "{table}");
        assert!(!format!("{settings:?}").contains("s3cret"), "{settings:?}");
    }
}

#[test]
fn what_cannot_be_followed_is_told_with_its_key() {
    check(
        r#"
        command = "{file:key.pem}"
        args = ["a", "${file:key.pem}", "${env:NONE}", "${store:KEPT}"]
        env = { A = "x${env:NONE}y", B = "${file:none}", C = "${env:", D = { store = "NONE" } }
        cwd = "${file:key.pem}"
        "#,
        expect![[r#"
            mcp.it.command: what stands here is visible in the machine's list of processes, and what this refers to is secret; put it into `env`
            mcp.it.args[1]: what stands here is visible in the machine's list of processes, and what this refers to is secret; put it into `env`
            mcp.it.args[2]: the environment variable NONE is not set
            mcp.it.args[3]: what stands here is visible in the machine's list of processes, and what this refers to is secret; put it into `env`
            mcp.it.env.A: the environment variable NONE is not set
            mcp.it.env.B: the file none cannot be read
            mcp.it.env.C: `{env:` has no `}` behind it
            mcp.it.env.D: no secret NONE is kept
            mcp.it.cwd: what stands here is visible in the machine's list of processes, and what this refers to is secret; put it into `env`"#]],
    );
    check(
        "url = \"https://${env:NONE}/\"\nheaders = { A = \"${env:}\" }",
        expect![[r#"
        mcp.it.headers.A: `{env:}` names nothing
        mcp.it.url: the environment variable NONE is not set"#]],
    );
    check(
        "socket = \"${file:key.pem}\"",
        expect!["mcp.it.socket: a path holds no secret; use `${env:NAME}`"],
    );
    // What a reference says is held to the same rules.
    check("url = \"${env:TOKEN}\"", expect!["mcp.it.url: must begin with http:// or https:// and a host"]);
}

#[test]
fn a_disabled_table_may_refer_to_anything() {
    for table in [
        "command = \"${env:NONE}\"\nargs = [\"{env:NONE}\"]",
        "url = \"${env:NONE}\"\nheaders = { A = \"{env:NONE}\" }",
        "socket = \"{env:NONE}\"",
        "url = \"http://a/\"\noauth = { client_id = \"x\", client_secret = \"{env:NONE}\", issuer = \"{env:NONE}\" }",
    ] {
        assert!(!settle(&format!("enabled = false\n{table}")).expect("sound").enabled, "{table}");
    }
}

#[test]
fn what_nobody_may_see_is_noted_by_name() {
    let of = |table: &str| {
        let settings = settle(table).expect("sound");
        settings.secrets().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join(" ")
    };
    for (table, expected) in [
        // Alone it is meant as a secret; within a text it is one if it sounds so, or was kept as one.
        ("command = \"a\"\nenv = { MODE = { env = \"TOKEN\" } }", "TOKEN=s3cret-s3cret"),
        ("command = \"a\"\nenv = { MODE = \"x${env:PLAIN}\" }", ""),
        ("command = \"a\"\nenv = { MODE = { env = \"PLAIN\" } }", ""),
        ("command = \"a\"\nenv = { MODE = { env = \"UNNAMED\" } }", "UNNAMED=pg-Pass-Word-5519"),
        ("command = \"a\"\nenv = { MODE = \"${env:UNNAMED}\" }", "UNNAMED=pg-Pass-Word-5519"),
        ("command = \"a\"\nenv = { A = \"x-${env:UNNAMED}-y\" }", "UNNAMED=pg-Pass-Word-5519"),
        ("command = \"a\"\nenv = { DB = \"pg://u:${env:UNNAMED}@h/d\" }", "UNNAMED=pg-Pass-Word-5519"),
        ("command = \"a\"\nenv = { DB = \"pg://u:${env:PLAIN}@h/d\" }", "DB=plain"),
        ("command = \"a\"\nenv = { USE_AUTH = \"true\" }", ""),
        ("url = \"https://h/mcp?token=query-Tok-3344&v=1\"", "url=query-Tok-3344"),
        ("command = \"a\"\nenv = { MODE = \"x${store:KEPT}\" }", "KEPT=kept-s3cret"),
        ("command = \"a\"\nenv = { API_KEY = \"x${env:PLAIN}\" }", "PLAIN=plain API_KEY=xplain"),
        ("command = \"a\"\nargs = [\"--as={env:TOKEN}\", \"{env:PLAIN}\"]", "TOKEN=s3cret-s3cret"),
        (
            "command = \"a\"\nenv = { KEY_FILE = \"/run/key\", MODE = \"test\", HOME = { env = \"HOME\" } }",
            "",
        ),
        ("url = \"https://h/\"\nheaders = { Authorization = \"Bearer abc-def\" }", "Authorization=abc-def"),
        (
            "url = \"https://h/\"\nheaders = { Authorization = \"Bearer ${env:TOKEN}\" }",
            "TOKEN=s3cret-s3cret",
        ),
        ("url = \"https://h/\"\nheaders = { X-Mode = { store = \"KEPT\" } }", "KEPT=kept-s3cret"),
        (
            "url = \"https://h/\"\noauth = { client_id = \"x\", client_secret = \"s3cret-s3cret\" }",
            "client_secret=s3cret-s3cret",
        ),
    ] {
        assert_eq!(of(table), expected, "{table}");
    }
}

#[test]
fn variables_that_say_nothing_secret_are_told_apart() {
    let settings = settle(
        "command = \"a\"\nenv = { A = { env = \"PLAIN\" }, B = \"${env:PLAIN}\", C = { env = \"UNNAMED\" }, D = \"x${env:PLAIN}\", HOME = { env = \"HOME\" } }",
    );
    assert_eq!(settings.expect("sound").ordinary_variables().collect::<Vec<_>>(), ["PLAIN"]);
}

#[test]
fn what_is_inherited_is_secret_if_it_sounds_so() {
    let settings = settle("command = \"a\"\ninherit = [\"AWS_*\"]").expect("sound");
    for (name, text, expected) in [
        ("AWS_SESSION_TOKEN", "abc-def", true),
        ("AWS_PROFILE", "abc-def", false),
        ("AWS_TOKEN_FILE", "/run/token", false),
        ("GITHUB_TOKEN", "abc-def", false),
    ] {
        assert_eq!(settings.inherits_secret(name, text), expected, "{name}");
    }
    assert!(!settle("url = \"https://h/\"").expect("sound").inherits_secret("AWS_SESSION_TOKEN", "x"));
}
