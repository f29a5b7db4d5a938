//! Which files a command line leads to.

#![expect(clippy::disallowed_methods, reason = "scripts to be found")]

use std::time::Duration;

use super::*;
use crate::config::Config;

/// What lies in the folder `ROOT`.
const FILES: [&str; 6] = ["server.py", "hooks.mjs", "plain", "pkg/__main__.py", "data.txt", "deep/tool"];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a folder"));
        for name in FILES {
            let path = place.0.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        place
    }

    fn settings(&self, table: &str) -> Settings {
        let table: Config = toml::from_str(&table.replace("ROOT", &self.root())).expect("a table");
        let settled = table.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        settled.expect("sound").starting_in(self.0.path().join("state/servers/it"))
    }

    fn root(&self) -> String {
        self.0.path().canonicalize().expect("there").display().to_string()
    }

    fn shown(&self, paths: &[PathBuf]) -> String {
        let short = |path: &PathBuf| {
            let text = path.display().to_string().replace(&format!("{}/", self.root()), "");
            text.replace("state/servers/it", "OWN").replace(&self.root(), "ROOT")
        };
        let mut paths: Vec<String> = paths.iter().map(short).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.join(" ")
    }
}

/// What a table leads to: what is named, where code is, and where it starts, if that is not its own folder.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let place = Place::new();
    for (table, expected) in cases {
        let ServerFiles { named, code, starts } = place.settings(table).server_files();
        let shown = [&named, &code, &starts].map(|paths| place.shown(paths)).join(" | ");
        assert_eq!(shown, *expected, "{table}");
    }
}

#[test]
fn a_server_without_a_folder_has_nothing_but_its_own() {
    check(&[
        ("command = 'npx'\nargs = ['-y', 'some-server', '.']", " |  | OWN"),
        ("command = 'python3'\nargs = ['-m', 'http.server']", " | OWN | OWN"),
        ("command = 'some-server'\nargs = ['--dir', 'ROOT', 'ROOT/data.txt']", "data.txt |  | OWN"),
        ("command = 'node'\nargs = ['/opt/x/index.js', 'ROOT']", "/opt/x/index.js | /opt/x OWN | OWN"),
    ]);
}

#[test]
fn scripts_are_named_whether_they_are_there_or_not() {
    check(&[
        ("command = 'python3'\nargs = ['-u', 'ROOT/server.py']", "server.py | OWN ROOT | OWN"),
        ("command = 'python3'\nargs = ['ROOT/new/later.py']", "new/later.py | OWN new | OWN"),
        (
            "command = 'npx'\ncwd = 'ROOT'\nargs = ['x', '--import=./hooks.mjs', '-r', './later.cjs']",
            "hooks.mjs later.cjs | ROOT | ROOT",
        ),
        (
            "command = 'sh'\nargs = ['-c', \"cd / && python3 'ROOT/server.py' --x\"]",
            "server.py | OWN ROOT | OWN",
        ),
        (
            "command = 'npx'\nargs = ['x']\nenv = { NODE_OPTIONS = '--import=file://ROOT/hooks.mjs' }",
            "hooks.mjs | ROOT | OWN",
        ),
        ("command = 'ROOT/deep/tool'", "deep/tool | deep | OWN"),
    ]);
}

#[test]
fn what_runs_code_runs_that_of_its_folder() {
    check(&[
        ("command = 'python3.12'\nargs = ['-m', 'http.server']\ncwd = 'ROOT'", " | ROOT | ROOT"),
        ("command = 'npx'\nargs = ['-y', 'some-server', '.']\ncwd = 'ROOT'", " |  | ROOT"),
        ("command = 'python'\nargs = ['ROOT/pkg', 'ROOT/deep']", " | OWN pkg | OWN pkg"),
        ("command = 'python'\nargs = ['ROOT/plain']", "plain | OWN ROOT | OWN"),
        (
            "command = 'uv'\nargs = ['--directory', 'ROOT/pkg', 'run', 'it', '--project', 'ROOT']",
            " | OWN pkg | OWN pkg",
        ),
        ("command = 'npm'\nargs = ['--prefix=ROOT/pkg', 'run', 'start']", " | OWN pkg | OWN pkg"),
        (
            "command = 'x'\nenv = { PYTHONPATH = 'ROOT/pkg:ROOT/deep', PATH = 'ROOT/deep:/bin' }",
            "/bin deep | deep pkg | OWN",
        ),
    ]);
}

#[test]
fn words_that_were_meant_from_elsewhere_are_found() {
    let place = Place::new();
    let misplaced = |table: &str| place.settings(table).misplaced_words(place.0.path()).join(" ");
    for (table, expected) in [
        ("command = \"python3\"\nargs = [\"-u\", \"server.py\", \".\", \"missing.py\"]", "server.py ."),
        ("command = \"./deep/tool\"\nargs = [\"--file=data.txt\", \"a=data.txt\"]", "./deep/tool data.txt"),
        ("command = \"plain\"\nargs = [\"ROOT/server.py\", \"-y\", \"@scope/x\"]", ""),
        ("command = \"python3\"\nargs = [\"server.py\"]\ncwd = \"/\"", ""),
        ("url = \"https://a.example/\"", ""),
    ] {
        assert_eq!(misplaced(table), expected, "{table}");
    }
    let own = place.0.path().join("state/servers/it");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(own.join("server.py"), "").expect("written");
    assert_eq!(misplaced("command = \"python3\"\nargs = [\"server.py\"]"), "");
}

#[test]
fn a_folder_of_its_own_makes_no_other_server() {
    let place = Place::new();
    for table in [
        "command = \"npx\"\nargs = [\"x\", \".\", \"ROOT/data.txt\"]",
        "command = \"x\"\ncwd = \"ROOT\"\nargs = [\"server.py\"]",
    ] {
        let before = place.settings(table);
        let after = before.clone().starting_in("/elsewhere".into());
        assert_eq!(
            (before.fingerprint(), before.trust_key()),
            (after.fingerprint(), after.trust_key()),
            "{table}"
        );
    }
    let named = |table: &str| place.shown(&place.settings(table).named_files());
    assert_eq!(named("command = \"x\"\nargs = [\"server.py\", \"ROOT/data.txt\", \"ROOT\"]"), "data.txt");
    assert_eq!(named("command = \"x\"\nargs = [\"server.py\", \"no.py\"]\ncwd = \"ROOT\""), "server.py");
}

#[test]
fn folders_have_names_that_lead_nowhere_else() {
    let name = |name: &str| {
        let table: Config = toml::from_str("command = \"x\"").expect("a table");
        let settled = table.settle(name, Duration::from_secs(1), &|_| unreachable!("no reference"));
        settled.expect("sound").folder_name()
    };
    assert_eq!(name("my-server_1"), "my-server_1");
    let odd = ["../a", "a/../..", ".a", "a b", "a", "..a", "/a", "\u{e4}a"];
    for (nth, one) in odd.iter().enumerate() {
        let folder = name(one);
        assert!(
            folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'),
            "{folder}"
        );
        assert!(odd[..nth].iter().all(|other| name(other) != folder), "{one}");
    }
}
