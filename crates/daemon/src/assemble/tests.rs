//! What tools are kept from, from one configuration to the next.

#![expect(clippy::disallowed_methods, reason = "the tests write the files that are guarded")]

use std::fs;

use config::{Surroundings, Unfollowed, load};
use sandbox::{Expect, FileError};

use super::*;

/// Guards what `text` says as the configuration in `folder`.
fn guard(guarded: &Guarded, folder: &Path, text: &str) {
    let path = folder.join("my.toml");
    fs::write(&path, text).expect("written");
    let surroundings =
        Surroundings { current_dir: folder.to_owned(), variables: [].into(), ..Surroundings::default() };
    let settings = load(Some(&path), &surroundings, Unfollowed::IsWrong).expect("nothing is wrong").settings;
    guarded.guard(&settings, ServerFiles::default());
}

/// What a tool may do with `name`: `r` if it may be read, `w` if it may be written.
fn allowed(files: &Root, name: &str) -> String {
    let path = files.locate(name).expect("a path");
    let is_kept = |error: &FileError| {
        use FileError::{Obeyed, OfServer, Protected, Secret};
        matches!(error, Secret { .. } | Protected { .. } | OfServer { .. } | Obeyed { .. })
    };
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
    let guarded = Guarded::new(files.clone(), "/bin/true".into());
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

#[test]
fn what_decides_in_one_workspace_is_kept_from_the_tools_of_every_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    fs::create_dir(folder.join("other")).expect("a folder");
    let [files, below] =
        [&folder, &folder.join("other")].map(|path| Root::open(path, Access::ReadWrite).expect("a folder"));
    let guarded = Guarded::new(files.clone(), "/bin/true".into());
    let state = "[state]\ndir = \"state\"\n";
    guard(&guarded, &folder, state);
    let beside = guarded.beside(below.clone());
    let found = || [allowed(&files, "other/rules.json"), allowed(&below, "rules.json")];
    assert_eq!(found(), ["rw", "rw"]);
    guard(&guarded, &folder, &format!("{state}[workspaces.a]\nrules = \"other/rules.json\"\nservers = []\n"));
    beside.renew();
    assert_eq!(found(), ["r", "r"]);
}

/// Which of these files a tool may write beside the servers that `tables` configure, in the folder of the configuration.
#[track_caller]
fn check_writes(tables: &str, names: &[&str], expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    fs::create_dir(folder.join("tools")).expect("a folder");
    let files = Root::open(&folder, Access::ReadWrite).expect("a folder");
    let guarded = Guarded::new(files.clone(), "/bin/true".into());
    let state = tempfile::tempdir().expect("a folder");
    let state = if tables.contains("[state]") {
        String::new()
    } else {
        format!("[state]\ndir = {:?}\n", state.path())
    };
    guard(&guarded, &folder, &format!("{state}{tables}"));
    let free: Vec<&str> = names.iter().filter(|name| allowed(&files, name).ends_with('w')).copied().collect();
    assert_eq!(free, expected, "{tables}");
}

/// What was written to run code as the person at the next start of a server.
const LAUNCHED: [&str; 16] = [
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmrc",
    "bunfig.toml",
    ".npmrc",
    "node_modules/some-server/index.js",
    "package.json",
    "pyproject.toml",
    "uv.toml",
    ".python-version",
    "evil.pth",
    "sitecustomize.py",
    "usercustomize.py",
    ".env",
    "http.py",
    "json/__init__.py",
];

/// Of those, what is free where no server starts and runs: others obey the rest.
const WORK: [&str; 11] = [
    "node_modules/some-server/index.js",
    "package.json",
    "pyproject.toml",
    "uv.toml",
    ".python-version",
    "evil.pth",
    "sitecustomize.py",
    "usercustomize.py",
    ".env",
    "http.py",
    "json/__init__.py",
];

#[test]
fn what_a_server_would_load_is_not_written() {
    let all = [&LAUNCHED[..], &["README.md", "data.txt"]].concat();
    let free = [&WORK[..], &["README.md", "data.txt"]].concat();
    // A server that starts in its own folder loads nothing from here.
    check_writes("", &all, &free);
    check_writes("[mcp.it]\ncommand = \"npx\"\nargs = [\"-y\", \"some-server\", \".\"]\n", &all, &free);
    check_writes("[mcp.it]\ncommand = \"python3\"\nargs = [\"-m\", \"http.server\"]\n", &all, &free);
    // Launchers look upwards from the state folder, too.
    let inside = "[state]\ndir = \"state\"\n[mcp.it]\ncommand = \"npx\"\n";
    check_writes(inside, &["package.json", "main.py", "state/servers/it/x.py"], &["main.py"]);
    // What launchers read, but no other code.
    let code =
        ["sitecustomize.py", "usercustomize.py", "http.py", "json/__init__.py", "README.md", "data.txt"];
    let here = "[mcp.it]\ncommand = \"npx\"\nargs = [\"-y\", \"some-server\"]\ncwd = \".\"\n";
    check_writes(here, &all, &code[2..]);
    check_writes(&here.replace("\".\"", "\"tools\""), &all, &code[2..]);
    // The code of a module, too.
    let module = "[mcp.it]\ncommand = \"python3\"\nargs = [\"-m\", \"http.server\"]\ncwd = \".\"\n";
    check_writes(module, &all, &code[4..]);
}

#[test]
fn what_lies_beside_a_script_is_not_written() {
    let names = ["tools/later.py", "tools/json.py", "tools/json/__init__.py", "tools/README.md", "json.py"];
    let script = "[mcp.it]\ncommand = \"python3\"\nargs = [\"tools/later.py\"]\n";
    check_writes(&format!("{script}cwd = \"tools/..\"\n"), &names[..4], &["tools/README.md"]);
    let hook = "[mcp.it]\ncommand = \"npx\"\nargs = [\"x\", \"--import=./tools/x.mjs\"]\ncwd = \".\"\n";
    check_writes(
        hook,
        &["tools/x.mjs", "tools/y.mjs", "tools/README.md", "main.mjs"],
        &["tools/README.md", "main.mjs"],
    );
    // Without a `cwd` the words lead to nothing here.
    check_writes(script, &names, &names);
}

#[test]
fn what_others_obey_is_written_where_it_is_set_free() {
    let names = [".mcp.json", "CLAUDE.md", ".github/workflows/ci.yml", "notes.md"];
    check_writes("", &names, &["notes.md"]);
    let writable = "[workspace]\nwritable = [\"CLAUDE.md\", \".github/**\"]\n";
    check_writes(writable, &names, &["CLAUDE.md", ".github/workflows/ci.yml", "notes.md"]);
    let all = "[workspace]\nwritable = [\"**\"]\n";
    let all = format!("[state]\ndir = \"state\"\n{all}");
    check_writes(&all, &["toolcrib.toml", "state/x", ".git/config", ".mcp.json"], &[".mcp.json"]);
}

#[test]
fn a_skill_of_the_user_is_not_written_through_a_link_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().canonicalize().expect("a folder");
    let skills = base.join("home/.claude/skills");
    let work = base.join("work");
    fs::create_dir_all(&skills).expect("a folder");
    for name in ["linked", "free"] {
        fs::create_dir_all(work.join(name)).expect("a folder");
        fs::write(work.join(name).join("SKILL.md"), "text").expect("written");
    }
    for (name, target) in [("linked", "../../../work/linked"), ("later", "../../../work/later")] {
        std::os::unix::fs::symlink(target, skills.join(name)).expect("a link");
    }
    let variables = [("HOME".into(), base.join("home").into())].into();
    let surroundings = Surroundings { current_dir: work.clone(), variables, ..Surroundings::default() };
    let settings = load(None, &surroundings, Unfollowed::IsWrong).expect("nothing is wrong").settings;
    let files = Root::open(&work, Access::ReadWrite).expect("a folder");
    Guarded::new(files.clone(), "/bin/true".into()).guard(&settings, ServerFiles::default());
    for (name, expected) in [("linked", "r"), ("later", "r"), ("free", "rw")] {
        assert_eq!(allowed(&files, &format!("{name}/SKILL.md")), expected, "{name}");
    }
}
