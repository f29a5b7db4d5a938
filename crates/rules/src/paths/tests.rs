//! Which paths a call names.
#![expect(clippy::disallowed_methods, reason = "the tests make the links that paths lead through")]

use serde_json::json;

use std::path::Path;

use super::named::OTHER_BYTES_MAX;
use super::*;

fn of_call(arguments: &Value, workspace: &Workspace) -> Result<Vec<String>, TooMany> {
    let mut paths = Paths::default();
    paths.add(arguments, workspace);
    paths.over.map_or(Ok(paths.forms), Err)
}

fn workspace() -> Workspace {
    Workspace::new(Path::new("/w/project"), &["/workspace".into(), "/as/written".into()])
}

#[track_caller]
fn check(arguments: Value, expected: &[&str]) {
    let forms = of_call(&arguments, &workspace()).expect("not too many");
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(forms, expected, "{arguments}");
}

/// The same for arguments of which there are more forms than these, since each may go on another one.
#[track_caller]
fn check_some(arguments: Value, expected: &[&str], unexpected: &[&str]) {
    let forms = of_call(&arguments, &workspace()).expect("not too many");
    let missing: Vec<_> = expected.iter().filter(|one| !forms.iter().any(|form| form == *one)).collect();
    let odd: Vec<_> = unexpected.iter().filter(|one| forms.iter().any(|form| form == *one)).collect();
    assert!(
        missing.is_empty() && odd.is_empty(),
        "{arguments}: without {missing:?}, with {odd:?}: {forms:?}"
    );
}

#[test]
fn a_path_is_known_in_every_form() {
    check(json!({"path": ".env"}), &[".env"]);
    check(json!({"path": "./a/../.env"}), &["./a/../.env", ".env"]);
    check(json!({"path": "/w/project/.env"}), &["/w/project/.env", ".env"]);
    check(json!({"path": "/w/project/../project/.env"}), &["/w/project/../project/.env", ".env"]);
    for (uri, expected) in [
        ("file:///w/project/a%2Fb/%2Eenv", &["a/b/.env", "a%2Fb/%2Eenv"][..]),
        ("files+file:///w/project/.env?x", &[".env", ".env?x"]),
        ("file:///w/project/a#b/../.env", &["a", ".env"]),
        ("file://a/.env", &["/.env", "a/.env"]),
        ("x://one/a.env", &["x:/one/a.env"]),
        ("x://../a.env", &["a.env"]),
    ] {
        check_some(json!({ "uri": uri }), &[&[uri], expected].concat(), &[]);
    }
    check(json!({"path": "../other/x"}), &["../other/x", "/w/other/x", "w/other/x"]);
    check(json!({"path": "infra/"}), &["infra", "infra/"]);
    for spelt in ["/workspace/a/b", "//workspace/a/b", "/workspace/./x/../a/b", "/as/written/a/b"] {
        let forms = of_call(&json!({ "path": spelt }), &workspace()).expect("few");
        assert!(forms.contains(&"a/b".to_owned()), "{spelt}: {forms:?}");
    }
}

#[test]
fn an_address_is_read_as_programs_do() {
    for spelt in [
        "up+file:///w/project\\a\\.env",
        "file:\\\\\\w\\project\\a\\.env",
        "up+file:///w/project/a/.e\tnv",
        "up+file:///w/project/a/.e\nnv",
        "file:///w/project/a/.env  ",
        "fi\tle:///w/project/a/.env",
    ] {
        for member in ["uri", "thing"] {
            let forms = of_call(&json!({ member: spelt }), &workspace()).expect("few");
            assert!(forms.contains(&"a/.env".to_owned()), "{member} {spelt:?}: {forms:?}");
        }
    }
}

#[test]
fn no_length_hides_a_path() {
    for (filler, name) in [("x/../", "path"), ("x\n/../", "path"), ("./", "uri"), ("x/../", "file")] {
        let spelt = format!("/w/project/./{}.env", filler.repeat(2_500));
        let forms = of_call(&json!({ name: spelt }), &workspace()).expect("few");
        assert!(forms.contains(&".env".to_owned()), "{filler:?}");
    }
    let content = "QUJD/".repeat(100_000);
    assert_eq!(of_call(&json!({ "file": content }), &workspace()), Ok(Vec::new()), "no system opens it");
}

#[test]
fn the_users_folder_is_known_by_its_names() {
    let workspace = workspace().with_home(Some("/w".into()));
    for spelt in
        ["~/project/.env", "$HOME/project/.env", "${HOME}/x/../project/.env", "file://$HOME/project/.env"]
    {
        for arguments in [
            json!({ "path": spelt }),
            json!({ "v": spelt }),
            json!({ "command": format!("cat {spelt}|sort") }),
        ] {
            let forms = of_call(&arguments, &workspace).expect("few");
            assert!(forms.contains(&".env".to_owned()), "{arguments}: {forms:?}");
            assert!(!are_unknown(&arguments, &workspace), "{arguments}");
        }
    }
    for (arguments, expected) in [
        (json!({ "path": "$DATA/x" }), true),
        (json!({ "files": ["a", "~bob/x"] }), true),
        (json!({ "path": "app/routes/$id.tsx" }), false),
        (json!({ "path": "costs $FIVE" }), false),
        (json!({ "text": "$DATA/x" }), false),
        (json!({ "command": "cat $DATA/x" }), false),
        (json!({ "url": "https://h/$DATA" }), false),
    ] {
        assert_eq!(are_unknown(&arguments, &workspace), expected, "{arguments}");
    }
}

#[test]
fn paths_are_found_by_the_names_of_members() {
    check_some(
        json!({"filePath": "a", "old_path": "b", "targetFile": "c", "text": "d", "profile": "e"}),
        &["a", "b", "c", "d", "e"],
        &[],
    );
    // A member that is called otherwise may be one as well, but for prose and lines.
    check_some(
        json!({"text": "some words.md", "body": "a\nb/c", "at": [{"v": "a b/c"}], "n": "x\n/../.env"}),
        &[".env", "a b/c", "x\n/../.env"],
        &["some words.md", "a\nb/c"],
    );
    check(json!({"text": "a".repeat(OTHER_BYTES_MAX + 1)}), &[]);
    check_some(
        json!({"edits": [{"file": "a"}, {"file": "b"}], "paths": ["c", ["d"]]}),
        &["a", "b", "c", "d", "a/c"],
        &["c/d"],
    );
    check(json!({"files": {"x/y.yml": "text"}}), &["text", "x/y.yml"]);
    check(json!({"command": "cat ./.env>out"}), &["./.env", ".env", "cat", "cat ./.env>out", "out"]);
    check(json!({"args": ["--config=config/a.yml"]}), &["--config", "--config=config/a.yml", "config/a.yml"]);
    check(json!({"cwd": "config", "file": "a.yml"}), &["a.yml", "a.yml/config", "config", "config/a.yml"]);
    check_some(
        json!({"repo_path": "/w/project/sub", "rel": "a.yml"}),
        &["/w/project/sub", "a.yml", "sub", "sub/a.yml"],
        &[],
    );
    check_some(json!({"a": "b/", "c": "d", "e": "/f"}), &["b/d", "b/f", "d/b/", "d/b", "b/d/f"], &["b/b"]);
    check(json!({"path": 5, "file": null}), &[]);
}

#[test]
fn a_path_of_many_names_is_looked_for_once() {
    let long = format!("{}x", "a/".repeat(2_000));
    let many: Vec<String> = (0..1_000).map(|nth| format!("{nth}/{long}")).collect();
    assert!(of_call(&json!({ "paths": many }), &workspace()).is_ok());
    let words = format!("cat {}", "word ".repeat(100_000));
    let forms = of_call(&json!({ "command": words, "path": ".env" }), &workspace());
    assert!(forms.expect("words are not too many").contains(&".env".to_owned()));
}

#[test]
fn links_do_not_hide_a_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it is there");
    std::os::unix::fs::symlink(".env", root.join("link")).expect("a link");
    std::fs::create_dir(root.join(".env")).expect("a folder");
    std::fs::create_dir(root.join(".env/deep")).expect("a folder");
    std::os::unix::fs::symlink(".env/deep", root.join("deep")).expect("a link");
    std::os::unix::fs::symlink("nowhere", root.join("broken")).expect("a link");
    for (path, expected) in [
        ("link", &[".env", "link"][..]),
        ("link/a/b", &[".env/a/b", "link/a/b"]),
        ("deep/../a", &[".env/a", "a", "deep/../a"]),
        ("broken/a", &["broken/a", "nowhere/a"]),
    ] {
        assert_eq!(of_call(&json!({ "path": path }), &Workspace::new(&root, &[])).expect("few"), expected);
    }
}

#[test]
fn more_paths_than_are_looked_at_are_an_error() {
    let many: Vec<String> = (0..=PATHS_MAX).map(|nth| format!("f{nth}")).collect();
    assert_eq!(of_call(&json!({ "paths": many }), &workspace()), Err(TooMany::Paths));
    assert!(of_call(&json!({ "paths": many[1..] }), &workspace()).is_ok());
    let folders = |count: usize| -> serde_json::Map<String, Value> {
        (0..count).map(|nth| (format!("d{nth}_dir"), json!(format!("d{nth}")))).collect()
    };
    assert_eq!(of_call(&Value::Object(folders(FOLDERS_MAX + 1)), &workspace()), Err(TooMany::Folders));
    assert!(of_call(&Value::Object(folders(FOLDERS_MAX)), &workspace()).is_ok());
    let mut joined = folders(FOLDERS_MAX);
    let texts: Vec<String> = (0..=JOINS_MAX / FOLDERS_MAX).map(|nth| format!("t{nth}")).collect();
    joined.insert("texts".to_owned(), json!(texts));
    assert_eq!(of_call(&Value::Object(joined), &workspace()), Err(TooMany::Joins));
}
