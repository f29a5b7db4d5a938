//! The files of every client, with Toolcrib written into them.

use expect_test::{Expect, expect};

use super::*;

/// Paths and arguments that must come back as they went.
fn ourselves() -> Server {
    let args = ["stdio", "--config", "/home/ada/My \"Crib\"/ümläut\\{x}.toml"];
    Server {
        command: Some("/opt/tool crib/toolcrib".to_owned()),
        args: args.map(str::to_owned).into(),
        ..Server::default()
    }
}

fn export(path: &str, text: Option<&str>, name: &str, server: &Server) -> Result<FileChange, String> {
    let (place, surroundings) = (place(path), surroundings());
    let client = client_of(Path::new(path), "").expect("a client's path");
    client.export(text, name, server, &Origin { place: &place, surroundings: &surroundings })
}

/// Whether `after` is `before` with something put in at one place.
fn is_insertion(before: &str, after: &str) -> bool {
    let alike = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    after.len() >= before.len() && after.ends_with(&before[before.ceil_char_boundary(alike)..])
}

#[test]
fn what_is_exported_is_read_again_and_nothing_else_changes() {
    for (path, text) in FILES {
        for name in ["crib", "my.own \"crib\""] {
            let ours = ourselves();
            let change = export(path, Some(text), name, &ours).expect("it can be written");
            assert!(!change.replaces, "{path}");
            let after = change.text.expect("it changes");
            assert!(is_insertion(text, &after), "{path}: {after}");
            let (mut found, notes) = read(path, &after);
            let at = found.iter().position(|found| found.name == name).expect("it is there");
            let crib = found.remove(at);
            assert_eq!((crib.server, crib.findings), (Ok(ours.clone()), Findings::default()), "{path}");
            let (before, notes_before) = read(path, text);
            assert_eq!(format!("{found:?} {notes:?}"), format!("{before:?} {notes_before:?}"), "{path}");
            let again = export(path, Some(&after), name, &ours).expect("it can be written");
            assert_eq!(again.text, None, "{path}");
        }
    }
}

#[test]
fn a_new_file_is_what_its_client_expects() {
    let mut said = String::new();
    for client in &CLIENTS {
        let server = Server {
            command: Some("/bin/toolcrib".to_owned()),
            args: vec!["stdio".to_owned()],
            ..Server::default()
        };
        let surroundings = surroundings();
        let path = client.target(&surroundings).expect("a home");
        let place = ClientFile::users(path);
        for text in [None, Some(" \n")] {
            let origin = Origin { place: &place, surroundings: &surroundings };
            let change = client.export(text, "toolcrib", &server, &origin).expect("it can be written");
            let text = change.text.expect("it is new");
            if !said.contains(&text) {
                said += &format!("{}\n{}", place.path.display(), text);
            }
        }
    }
    expect![[r#"
        /home/ada/.claude.json
        {
          "mcpServers": {
            "toolcrib": {
              "type": "stdio",
              "command": "/bin/toolcrib",
              "args": ["stdio"]
            }
          }
        }
        /home/ada/.config/Claude/claude_desktop_config.json
        {
          "mcpServers": {
            "toolcrib": {
              "command": "/bin/toolcrib",
              "args": ["stdio"]
            }
          }
        }
        /home/ada/.config/Code/User/mcp.json
        {
          "servers": {
            "toolcrib": {
              "type": "stdio",
              "command": "/bin/toolcrib",
              "args": ["stdio"]
            }
          }
        }
        /home/ada/.config/opencode/opencode.json
        {
          "$schema": "https://opencode.ai/config.json",
          "mcp": {
            "toolcrib": {
              "type": "local",
              "command": ["/bin/toolcrib", "stdio"],
              "enabled": true
            }
          }
        }
        /home/ada/.codex/config.toml
        [mcp_servers.toolcrib]
        command = "/bin/toolcrib"
        args = ["stdio"]
        /home/ada/.scorpiox/mcp_servers.json
        {
          "toolcrib": {
            "command": "/bin/toolcrib",
            "args": ["stdio"]
          }
        }
    "#]]
    .assert_eq(&said);
}

#[test]
fn an_older_entry_is_replaced_in_its_place() {
    let text = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // a\n    \"crib\": {\"command\": \"old\", \"env\": {\"T\": \"hunter2\"}}, // crib\n    \"b\": {\"command\": \"b\"},\n  },\n}\n";
    let change =
        export("/home/ada/.claude.json", Some(text), "crib", &ourselves()).expect("it can be written");
    assert!(change.replaces);
    expect![[r#"
        "crib": {
          "type": "stdio",
          "command": "/opt/tool crib/toolcrib",
          "args": ["stdio", "--config", "/home/ada/My \"Crib\"/ümläut\\{x}.toml"]
        }
        {
          // mine
          "mcpServers": {
            "a": {"command": "a"}, // a
            "crib": {
              "type": "stdio",
              "command": "/opt/tool crib/toolcrib",
              "args": ["stdio", "--config", "/home/ada/My \"Crib\"/ümläut\\{x}.toml"]
            }, // crib
            "b": {"command": "b"},
          },
        }
    "#]]
    .assert_eq(&format!("{}{}", change.shown, change.text.expect("it changes")));
    let text = "[mcp_servers]\n# crib\n[mcp_servers.crib] # here\ncommand = 'old'\n[mcp_servers.crib.env]\nT = 'hunter2'\n# b\n[mcp_servers.b]\ncommand='b'\n";
    let change =
        export("/home/ada/.codex/config.toml", Some(text), "crib", &ourselves()).expect("it can be written");
    assert!(change.replaces);
    expect![[r#"
        [mcp_servers.crib]
        command = "/opt/tool crib/toolcrib"
        args = ["stdio", "--config", '/home/ada/My "Crib"/ümläut\{x}.toml']
        [mcp_servers]
        # crib
        [mcp_servers.crib] # here
        command = "/opt/tool crib/toolcrib"
        args = ["stdio", "--config", '/home/ada/My "Crib"/ümläut\{x}.toml']
        # b
        [mcp_servers.b]
        command='b'
    "#]]
    .assert_eq(&format!("{}{}", change.shown, change.text.expect("it changes")));
}

#[test]
fn other_line_ends_and_marks_stay() {
    for (path, text) in [FILES[3], FILES[7]] {
        let text = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let after = export(path, Some(&text), "crib", &ourselves())
            .expect("it can be written")
            .text
            .expect("it changes");
        assert!(after.starts_with('\u{feff}'), "{path}: {after:?}");
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{path}: {after:?}");
    }
}

#[track_caller]
fn check_refused(path: &str, text: &str, expected: Expect) {
    expected.assert_eq(&export(path, Some(text), "crib", &ourselves()).err().expect("it cannot be written"));
}

#[test]
fn a_broken_file_is_not_touched() {
    let json = "/home/ada/.claude.json";
    check_refused(
        json,
        "{\n  \"mcpServers\": {\n    \"a\" {}\n  }\n}",
        expect![
            "line 3, column 9: this is no JSON: expected colon after the string or word in object property"
        ],
    );
    check_refused(json, "{\"a\": 1 \"b\": 2}", expect!["line 1, column 8: this is no JSON: expected comma"]);
    check_refused(
        json,
        "{\"a\": 'x'}",
        expect!["line 1, column 7: this is no JSON: single-quoted strings are not allowed"],
    );
    check_refused(json, "{\"a\": 1", expect!["line 1, column 1: this is no JSON: unterminated object"]);
    check_refused(json, "[]", expect!["it holds something else than a JSON object"]);
    check_refused(json, "{\"mcpServers\": []}", expect!["`mcpServers` in it is no object"]);
    check_refused(
        "/home/ada/.codex/config.toml",
        "a = 1\nb = = 2\n",
        expect!["line 2, column 5: this is no TOML: extra `=`, expected nothing"],
    );
    check_refused(
        "/home/ada/.codex/config.toml",
        "mcp_servers = 3",
        expect!["`mcp_servers` in it is no table"],
    );
    let deep = "[".repeat(1_000_000);
    let error = export(json, Some(&deep), "crib", &ourselves()).err().expect("it is too deep");
    assert!(error.len() < 200, "{error}");
}

#[test]
fn what_is_taken_out_is_gone_and_nothing_else_changes() {
    for (path, text) in FILES {
        let client = client_of(Path::new(path), text).expect("a client's file");
        let (before, notes) = read(path, text);
        for taken in &before {
            let after = client.without(text, &taken.table, &taken.name).expect("it can be changed");
            let after = after.unwrap_or_else(|| panic!("{path}: {} is there", taken.name));
            let (left, notes_after) = read(path, &after);
            let expected: Vec<String> = before
                .iter()
                .filter(|found| (&found.name, &found.table) != (&taken.name, &taken.table))
                .map(|found| format!("{found:?}"))
                .collect();
            let left: Vec<String> = left.iter().map(|found| format!("{found:?}")).collect();
            assert_eq!((left, notes_after), (expected, notes.clone()), "{path}: {}", taken.name);
            // In TOML comments stay between what goes.
            let mut lines = text.lines();
            let is_same = is_insertion(&after, text) || after.lines().all(|line| lines.any(|of| of == line));
            assert!(is_same, "{path}: {after}");
        }
    }
}
