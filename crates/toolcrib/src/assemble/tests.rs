//! What tools are kept from, from one configuration to the next.

#![expect(clippy::disallowed_methods, reason = "the tests write the files that are guarded")]

use std::fs;

use sandbox::{Expect, FileError};

use super::*;
use crate::config::{Surroundings, Unfollowed, load};

/// Guards what `text` says as the configuration in `folder`.
fn guard(guarded: &Guarded, folder: &Path, text: &str) {
    let path = folder.join("my.toml");
    fs::write(&path, text).expect("written");
    let surroundings =
        Surroundings { current_dir: folder.to_owned(), variables: [].into(), ..Surroundings::default() };
    let settings = load(Some(&path), &surroundings, Unfollowed::IsWrong).expect("nothing is wrong").settings;
    guarded.guard(&settings, Vec::new());
}

/// What a tool may do with `name`: `r` if it may be read, `w` if it may be written.
fn allowed(files: &Root, name: &str) -> String {
    let path = files.locate(name).expect("a path");
    let is_kept = |error: &FileError| matches!(error, FileError::Secret { .. } | FileError::Protected { .. });
    let reads = !files.read(&path, 0, 1).is_err_and(|error| is_kept(&error));
    let nobodys = Expect::Sha256("0".repeat(64));
    let writes = !files.write(&path, b"", &nobodys).is_err_and(|error| is_kept(&error));
    format!("{}{}", if reads { "r" } else { "" }, if writes { "w" } else { "" })
}

#[test]
fn tools_are_kept_from_what_decides_and_from_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    fs::create_dir(folder.join("state")).expect("a folder");
    let names = [
        "state/secret.key",
        "server.py",
        "hooks.py",
        "key.txt",
        "inline.txt",
        "off.txt",
        "new.txt",
        "notes.md",
    ];
    names.iter().for_each(|name| fs::write(folder.join(name), "text").expect("written"));
    let files = Root::open(&folder, Access::ReadWrite).expect("a folder");
    let guarded = Guarded { files: files.clone(), ours: "/bin/true".into(), secrets: Arc::default() };
    let check = |expected: &[&str]| {
        let names = names.iter().chain(&["my.toml"]);
        let found: Vec<String> = names.map(|name| format!("{name} {}", allowed(&files, name))).collect();
        assert_eq!(found, expected);
    };
    let state = "[state]\ndir = \"state\"\n";
    let servers = r#"
[mcp.it]
command = "python3"
args = ["server.py", "--import=./hooks.py"]
cwd = "."
env = { A = { file = "key.txt" }, B = "x ${file:inline.txt}" }
[mcp.off]
command = "python3"
enabled = false
env = { A = { file = "off.txt" } }
"#;
    guard(&guarded, &folder, &format!("{state}{servers}"));
    check(&[
        "state/secret.key ",
        "server.py r",
        "hooks.py r",
        "key.txt ",
        "inline.txt ",
        "off.txt ",
        "new.txt rw",
        "notes.md rw",
        "my.toml ",
    ]);
    // What was a secret may still be one; what is one now is.
    let other = "[mcp.it]\ncommand = \"python3\"\nenv = { A = { file = \"new.txt\" } }\n";
    guard(&guarded, &folder, &format!("{state}{other}"));
    check(&[
        "state/secret.key ",
        "server.py rw",
        "hooks.py rw",
        "key.txt ",
        "inline.txt ",
        "off.txt ",
        "new.txt ",
        "notes.md rw",
        "my.toml ",
    ]);
}
