//! Texts as people and clients write them, before and after.

use expect_test::{Expect, expect};

use super::*;

/// What becomes of the text without `git`, or why it cannot be changed.
#[track_caller]
fn check(form: Form, text: &str, keys: &[&str], expected: Expect) {
    let after = form.without(text, keys, "git").map(|after| after.unwrap_or_else(|| "nothing".to_owned()));
    expected.assert_eq(&after.unwrap_or_else(|why| why));
}

const SERVERS: &[&str] = &["mcpServers"];

#[test]
fn json_keeps_everything_else() {
    check(
        Form::Json,
        "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"git\": {\n      \"command\": \"uvx\"\n    },\n    \"web\": { \"url\":  \"http://a\" }\n  },\n  \"tips\": [ 1,2 ]\n}",
        SERVERS,
        expect![[r#"
            {
              "numStartups": 7,
              "mcpServers": {
                "web": { "url":  "http://a" }
              },
              "tips": [ 1,2 ]
            }"#]],
    );
    // The last one: the comma before it goes, too.
    check(
        Form::Json,
        "{\n\t\"mcpServers\": {\n\t\t\"web\": {},\n\t\t\"git\": {}\n\t}\n}\n",
        SERVERS,
        expect![[r#"
            {
            	"mcpServers": {
            		"web": {}
            	}
            }
        "#]],
    );
    check(
        Form::Json,
        r#"{"mcpServers":{"git":{},"web":{}},"a":1}"#,
        SERVERS,
        expect![[r#"{"mcpServers":{"web":{}},"a":1}"#]],
    );
    check(
        Form::Json,
        "{\"mcpServers\": {\"git\": {}}}\n",
        SERVERS,
        expect![[r#"
        {"mcpServers": {}}
    "#]],
    );
    check(
        Form::Json,
        r#"{"projects": {"/p": {"mcpServers": {"git": {}, "b": {}}}}, "mcpServers": {"git": {}}}"#,
        &["projects", "/p", "mcpServers"],
        expect![[r#"{"projects": {"/p": {"mcpServers": { "b": {}}}}, "mcpServers": {"git": {}}}"#]],
    );
    check(
        Form::Json,
        r#"{"git": {"command": "a"}, "b": {"command": "b"}}"#,
        &[],
        expect![[r#"{ "b": {"command": "b"}}"#]],
    );
}

#[test]
fn comments_of_others_stay() {
    check(
        Form::Json,
        "\u{feff}// Mine.\n{\n  \"mcpServers\": {\n    // All of them.\n    \"a\": {}, // a\n    // About git.\n    \"git\": {\n      /* inside */ \"command\": \"x\",\n    }, // git\n    /* b */ \"b\": {}, // b\n  }, // end\n}\n// The end.\n",
        SERVERS,
        expect![[r#"
            ﻿// Mine.
            {
              "mcpServers": {
                // All of them.
                "a": {}, // a
                // About git.
                /* b */ "b": {}, // b
              }, // end
            }
            // The end.
        "#]],
    );
    check(
        Form::Toml,
        "# Mine.\nmodel = \"x\" # here\n\n# About git.\n[mcp_servers.git]\ncommand = \"uvx\" # git\n\n[mcp_servers.git.env]\nA = \"x\"\n\n# About b.\n[mcp_servers.b]\ncommand = \"b\"\n",
        &["mcp_servers"],
        expect![[r#"
            # Mine.
            model = "x" # here

            # About git.

            # About b.
            [mcp_servers.b]
            command = "b"
        "#]],
    );
}

#[test]
fn toml_in_each_of_its_ways() {
    for (text, expected) in [
        ("[mcp_servers.git]\ncommand = \"x\"\n", ""),
        (
            "[mcp_servers]\ngit = { command = \"x\" }\nb = { command = \"b\" }\n",
            "[mcp_servers]\nb = { command = \"b\" }\n",
        ),
        ("[mcp_servers]\ngit = { command = \"x\" }\n", "[mcp_servers]\n"),
        (
            "mcp_servers.git.command = \"x\"\r\nmcp_servers.b.command = \"b\"\r\n",
            "mcp_servers.b.command = \"b\"\r\n",
        ),
        ("mcp_servers = { git = { command = \"x\" }, b = { command = \"b\" } }\n", BY_HAND),
        ("mcp_servers = 3\n", "its `mcp_servers` is no table"),
        ("[mcp_servers.b]\n", "nothing"),
        ("[mcp_servers\n", "line 1, column 13: this is no TOML: unclosed table, expected `]`"),
    ] {
        let after = Form::Toml.without(text, &["mcp_servers"], "git");
        let after = after.map(|after| after.unwrap_or_else(|| "nothing".to_owned()));
        assert_eq!(after.unwrap_or_else(|why| why), expected, "{text}");
    }
}

const BY_HAND: &str = "it is written in a way that this command cannot change; change it by hand";

#[test]
fn what_cannot_be_taken_out_is_said() {
    check(Form::Json, r#"{"mcpServers": {"a": {}}}"#, SERVERS, expect!["nothing"]);
    check(Form::Json, r#"{"mcpServers": 3}"#, SERVERS, expect!["nothing"]);
    check(Form::Json, "", SERVERS, expect!["nothing"]);
    check(
        Form::Json,
        "{\n  \"a\" 1\n",
        SERVERS,
        expect![
            "line 2, column 7: this is no JSON: expected colon after the string or word in object property"
        ],
    );
    // A reader takes the second, and the first would still be there.
    assert_eq!(
        Form::Json.without(r#"{"mcpServers": {"git": {}, "git": {"a": 1}}}"#, SERVERS, "git"),
        Err(BY_HAND.to_owned())
    );
}
