//! Texts as people write them, before and after.

use expect_test::{Expect, expect};

use super::*;
use crate::held::hold;

fn server() -> Server {
    let env = [("TOKEN", "${env:TOKEN}"), ("LEVEL", "say \"hi\"\n")];
    Server {
        command: Some("npx".to_owned()),
        args: vec!["-y".to_owned(), "server".to_owned()],
        env: env.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        ..Server::default()
    }
}

fn add_server(text: &str, name: &str, server: &Server) -> Result<String, String> {
    add_servers(text, &[(name, server)])
}

const PLAIN: &str = "\
# My crib.
[server]
bind = \"127.0.0.1:3000\" # here

# About git.
[mcp.git]
command = \"uvx\"
args = [
  # The server.
  \"mcp-server-git\",
]
# Inside.
timeout = 1

[mcp.git.env]
A = \"x\"

# About the log.

# Of the log.
[log]
level = \"info\"
# The end.
";

const DOTTED: &str = "# Dotted.\nmcp.git.command = \"uvx\"\nmcp.git.env.A = \"x\"\nmcp.web.url = \"http://a\"\nserver.bind = \"b\"\n";

const SUB_INLINE: &str = "[mcp]\ngit = { command = \"uvx\" } # git\nweb = { url = \"http://a\" }\n";

const INLINE: &str =
    "mcp = { git = { command = \"uvx\" }, web = { url = \"http://a\" } } # all\n[log]\nlevel = \"info\"\n";

#[track_caller]
fn check_added(text: &str, expected: Expect) {
    expected.assert_eq(&add_server(text, "new", &server()).unwrap_or_else(|error| error));
}

#[test]
fn a_server_is_added_at_the_end_and_nothing_else_changes() {
    check_added(
        "",
        expect![[r#"
            [mcp.new]
            command = "npx"
            args = ["-y", "server"]
            env = { LEVEL = "say \"hi\"\n", TOKEN = "${env:TOKEN}" }
        "#]],
    );
    check_added(
        "# Only a remark, without a line end",
        expect![[r##"
            # Only a remark, without a line end

            [mcp.new]
            command = "npx"
            args = ["-y", "server"]
            env = { LEVEL = "say \"hi\"\n", TOKEN = "${env:TOKEN}" }
        "##]],
    );
    check_added(
        DOTTED,
        expect![[r##"
            # Dotted.
            mcp.git.command = "uvx"
            mcp.git.env.A = "x"
            mcp.web.url = "http://a"
            server.bind = "b"

            [mcp.new]
            command = "npx"
            args = ["-y", "server"]
            env = { LEVEL = "say \"hi\"\n", TOKEN = "${env:TOKEN}" }
        "##]],
    );
    for text in [PLAIN, DOTTED, SUB_INLINE] {
        let after = add_server(text, "new", &server()).expect("it can be added");
        assert!(after.starts_with(text), "{after}");
        assert_eq!(remove_server(&after, "new"), Ok(Some(text.to_owned())));
    }
}

#[test]
fn line_ends_stay_as_they_are() {
    for text in [PLAIN, DOTTED, SUB_INLINE] {
        let text = text.replace('\n', "\r\n");
        let after = add_server(&text, "new", &server()).expect("it can be added");
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
        let after = remove_server(&text, "git").expect("it can be removed").expect("it is there");
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
    }
    let after = add_server("\u{feff}", "new", &server()).expect("it can be added");
    assert!(after.starts_with("\u{feff}[mcp.new]"), "{after:?}");
}

#[track_caller]
fn check_removed(text: &str, expected: Expect) {
    let after = remove_server(text, "git").map(|after| after.unwrap_or_else(|| "nothing".to_owned()));
    expected.assert_eq(&after.unwrap_or_else(|error| error));
}

#[test]
fn a_server_is_removed_with_what_is_said_of_it() {
    check_removed(
        PLAIN,
        expect![[r##"
        # My crib.
        [server]
        bind = "127.0.0.1:3000" # here

        # About the log.

        # Of the log.
        [log]
        level = "info"
        # The end.
    "##]],
    );
    check_removed(
        DOTTED,
        expect![[r##"
        # Dotted.
        mcp.web.url = "http://a"
        server.bind = "b"
    "##]],
    );
    check_removed(
        SUB_INLINE,
        expect![[r#"
        [mcp]
        web = { url = "http://a" }
    "#]],
    );
    check_removed(
        INLINE,
        expect!["it is written in a way that this command cannot change; change it by hand"],
    );
    check_removed("[log]\nlevel = \"info\"\n", expect!["nothing"]);
}

#[test]
fn many_variables_get_a_table_of_their_own() {
    let mut server = server();
    server.env.insert("THIRD".to_owned(), "3".to_owned());
    let after = add_server(PLAIN, "new", &server).expect("it can be added");
    let added = after.strip_prefix(PLAIN).expect("nothing else changes");
    expect![[r#"

        [mcp.new]
        command = "npx"
        args = ["-y", "server"]

        [mcp.new.env]
        LEVEL = "say \"hi\"\n"
        THIRD = "3"
        TOKEN = "${env:TOKEN}"
    "#]]
    .assert_eq(added);
    assert_eq!(remove_server(&after, "new"), Ok(Some(PLAIN.to_owned())));
}

#[test]
fn names_are_quoted_where_they_must() {
    let after = add_server("", "my \"own\".server", &server()).expect("it can be added");
    assert!(after.starts_with("[mcp.'my \"own\".server']\n"), "{after}");
    assert_eq!(remove_server(&after, "my \"own\".server"), Ok(Some(String::new())));
}

#[track_caller]
fn check_refused(text: &str, expected: Expect) {
    expected.assert_eq(&add_server(text, "git", &server()).expect_err("it cannot be added"));
}

#[test]
fn what_cannot_be_changed_is_said() {
    check_refused(
        "[log]\nlevel = = 1\n",
        expect!["line 2, column 9: this is no TOML: extra `=`, expected nothing"],
    );
    check_refused("[log\n", expect!["line 1, column 5: this is no TOML: unclosed table, expected `]`"]);
    let closed = add_server(INLINE, "new", &server()).expect_err("it cannot be added");
    assert_eq!(closed, "it is written in a way that this command cannot change; change it by hand");
    check_refused("mcp = 3", expect!["its `mcp` is no table"]);
    check_refused("[[mcp]]\n", expect!["its `mcp` is no table"]);
    check_refused(PLAIN, expect![[r#"it has a server "git" already"#]]);
    check_refused(DOTTED, expect![[r#"it has a server "git" already"#]]);
}

#[test]
fn the_file_to_change_is_the_nearest() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let variables = [("HOME".into(), root.join("home").into())].into();
    let mut surroundings =
        Surroundings { current_dir: root.join("project/deep"), variables, ..Surroundings::default() };
    let user = root.join("home/.config/toolcrib/toolcrib.toml");
    assert_eq!(target(None, &surroundings), Ok(user));
    let project = hold(&root.join("project/toolcrib.toml")).expect("free");
    project.write("").expect("it can be written");
    assert_eq!(target(None, &surroundings), Ok(root.join("project/toolcrib.toml")));
    surroundings.variables.insert("TOOLCRIB_CONFIG".into(), "own.toml".into());
    assert_eq!(target(None, &surroundings), Ok(root.join("project/deep/own.toml")));
    let named = Path::new("/named.toml");
    assert_eq!(target(Some(named), &surroundings), Ok(named.to_owned()));
    surroundings = Surroundings { current_dir: "/".into(), ..Surroundings::default() };
    let error = target(None, &surroundings).expect_err("there is no home");
    assert_eq!(error, "there is no home folder to keep the configuration in; use --config FILE");
}

/// What becomes of a text when a key of the server `a` is set to 1.
#[track_caller]
fn check_set(before: &str, key: &str, expected: &str) {
    let after = set_keys(before, "a", &[(key, 1.into())]);
    assert_eq!(after.as_deref().unwrap_or_else(|why| why), expected, "{before:?} {key}");
}

#[test]
fn a_key_of_a_table_in_a_servers_is_set_wherever_that_table_stands() {
    let key = "sandbox.network";
    // There is none yet.
    check_set("[mcp.a]\nx = 0\n", key, "[mcp.a]\nsandbox.network = 1\nx = 0\n");
    check_set("[mcp.a] # it", key, "[mcp.a] # it\nsandbox.network = 1\n");
    check_set("mcp.a = { x = 0 }\n", key, "mcp.a = { x = 0, sandbox.network = 1 }\n");
    // It stands by itself, with and without the key.
    check_set(
        "[mcp.a]\nx = 0\n[mcp.a.sandbox]\ny = 0\n[z]\n",
        key,
        "[mcp.a]\nx = 0\n[mcp.a.sandbox]\nnetwork = 1\ny = 0\n[z]\n",
    );
    check_set("[mcp.a.sandbox]\nnetwork = [\n  0, # it\n]\n", key, "[mcp.a.sandbox]\nnetwork = 1\n");
    // It is a value.
    check_set("[mcp.a]\nsandbox = { y = 0 }\n", key, "[mcp.a]\nsandbox = { y = 0, network = 1 }\n");
    check_set("[mcp.a]\nsandbox = {}\n", key, "[mcp.a]\nsandbox = { network = 1 }\n");
    check_set("[mcp.a]\nsandbox = { network = 0 }\n", key, "[mcp.a]\nsandbox = { network = 1 }\n");
    check_set(
        "mcp.a = { x = 0, sandbox = { y = 0 } }\n",
        key,
        "mcp.a = { x = 0, sandbox = { y = 0, network = 1 } }\n",
    );
    // Its keys stand in the server's.
    check_set("[mcp.a]\nsandbox.y = 0\n", key, "[mcp.a]\nsandbox.network = 1\nsandbox.y = 0\n");
    check_set("[mcp.a]\nsandbox.network = 0\n", key, "[mcp.a]\nsandbox.network = 1\n");
    check_set("mcp.a = { sandbox.y = 0 }\n", key, "mcp.a = { sandbox.y = 0, sandbox.network = 1 }\n");
    check_set("mcp.a = { sandbox.network = 0 }\n", key, "mcp.a = { sandbox.network = 1 }\n");
}

#[test]
fn what_is_no_table_gets_no_key() {
    for text in ["[mcp.a]\nsandbox = 5\n", "[mcp.a]\nsandbox = []\n", "[[mcp.a.sandbox]]\n"] {
        check_set(text, "sandbox.network", "its `sandbox` is no table");
    }
}
