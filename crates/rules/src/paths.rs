//! The paths that a call names: members that are paths by their name, in every form in which a rule may speak of them.

use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::workspace::{LOOKS_MAX, TooMany, Workspace, without_dots};

/// Most paths of one call that are looked at; a call with more cannot be judged, and does not run.
pub(crate) const PATHS_MAX: usize = 1_000;

/// Longest text that is taken for a path, in bytes: what systems take, with every byte escaped as in an address.
const PATH_BYTES_MAX: usize = 3 * 4_096 + 64;

/// Names of members that are paths, in small letters and without `_` and `-`; or the ends of such names.
const PATH_NAMES: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "uri",
    "uris",
    "dir",
    "dirs",
    "directory",
    "folder",
    "folders",
    "directories",
];

/// The same, but only as whole names.
const PATH_WORDS: [&str; 11] =
    ["cwd", "root", "source", "destination", "src", "dst", "dest", "from", "to", "target", "url"];

/// Names of members whose words may be paths.
const COMMAND_WORDS: [&str; 6] = ["command", "cmd", "args", "argv", "arguments", "script"];

/// Most words of commands that are looked at. A program can name a path in ways that nobody sees from outside, so the rest
/// is not worth a refusal.
const WORDS_MAX: usize = 200;

/// Ends of the names of members that a relative path may begin at, beside the workspace.
const FOLDERS: [&str; 13] = [
    "cwd",
    "dir",
    "directory",
    "folder",
    "root",
    "base",
    "repo",
    "repository",
    "repopath",
    "rootpath",
    "basepath",
    "projectpath",
    "workspace",
];

/// Most folders of one call that relative paths are joined to.
const FOLDERS_MAX: usize = 8;

/// Longest text that may be a path without being called one, in bytes: what systems take.
const OTHER_BYTES_MAX: usize = 4_096;

/// Most such texts of one call that are looked at.
const OTHERS_MAX: usize = 10_000;

/// True for a member whose text is a path by its name.
pub(crate) fn is_path_name(name: &str) -> bool {
    let plain = plain(name);
    PATH_WORDS.contains(&plain.as_str()) || PATH_NAMES.iter().any(|end| plain.ends_with(end))
}

/// True for a text that may be a path, or the address of a file: one line, and of no other scheme.
pub(crate) fn looks_like_path(text: &str) -> bool {
    text.len() <= PATH_BYTES_MAX
        && !text.contains(['\n', '\r', '\0'])
        && (file_of_uri(text).is_some() || !text.contains("://"))
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Every form of every path that the arguments may name: as it is written; from the workspace's folder on, without `.` and
/// `..`, if it lies in there, and in full otherwise; and the same of what links lead to. What a member is called says
/// little of what a server does with it, so any text that could be a path is taken for one.
///
/// # Errors
/// There are too many.
pub(crate) fn of_call(arguments: &Value, workspace: &Workspace) -> Result<Vec<String>, TooMany> {
    let mut named = Named::default();
    named.look(arguments, None);
    let is_over =
        named.texts.len() > PATHS_MAX || named.others.len() > OTHERS_MAX || named.folders.len() > FOLDERS_MAX;
    if is_over {
        return Err(TooMany);
    }
    let folders: Vec<(&str, PathBuf)> = named
        .folders
        .iter()
        .map(|folder| (*folder, PathBuf::from(file_of_uri(folder).unwrap_or_else(|| (*folder).to_owned()))))
        .collect();
    let mut forms =
        Forms { found: Vec::with_capacity(named.texts.len() * 2), workspace, folders, looks: LOOKS_MAX };
    for text in named.texts.into_iter().chain(named.words).chain(named.others) {
        forms.add(text)?;
    }
    let mut found = forms.found;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[derive(Default)]
struct Named<'a> {
    folders: Vec<&'a str>,
    texts: Vec<&'a str>,
    words: Vec<&'a str>,
    others: Vec<&'a str>,
}

impl<'a> Named<'a> {
    fn look(&mut self, value: &'a Value, name: Option<&str>) {
        match value {
            Value::Object(members) => {
                let is_table = name.is_some_and(is_path_name);
                for (name, value) in members {
                    // Some tools take a table of contents by their paths.
                    if is_table || name.contains(['/', '.']) {
                        self.add(name);
                    }
                    self.look(value, Some(name));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.look(item, name)),
            Value::String(text) => self.text(text, name.unwrap_or_default()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &'a str, name: &str) {
        let plain = plain(name);
        let is_folder = FOLDERS.iter().any(|end| plain.ends_with(end));
        if is_folder && self.folders.len() <= FOLDERS_MAX && !self.folders.contains(&text) {
            self.folders.push(text);
        }
        if is_path_name(name) {
            return self.add(text);
        }
        if COMMAND_WORDS.contains(&plain.as_str()) {
            let ends = |c: char| c.is_whitespace() || "\"'`=;|&<>(){},:".contains(c);
            let left = WORDS_MAX - self.words.len();
            self.words.extend(text.split(ends).filter(|word| !word.is_empty()).take(left));
        }
        if may_be_path(text) && self.others.len() <= OTHERS_MAX && !self.others.ends_with(&[text]) {
            self.others.push(text);
        }
    }

    fn add(&mut self, text: &'a str) {
        // One more than is looked at tells that there are too many.
        if self.texts.len() <= PATHS_MAX && !self.texts.ends_with(&[text]) {
            self.texts.push(text);
        }
    }
}

/// True for a text that may be a path though nothing says so. Words with blanks between them are prose, and lines are
/// content, unless they end as a path once the dots are out.
fn may_be_path(text: &str) -> bool {
    if text.is_empty() || text.len() > OTHER_BYTES_MAX {
        return false;
    }
    if file_of_address(text).is_some() {
        return true;
    }
    if text.contains(['\n', '\r']) {
        return text.contains("..")
            && !without_dots(Path::new(text)).to_string_lossy().contains(['\n', '\r']);
    }
    text.contains('/') || !text.trim().contains(char::is_whitespace)
}

/// Collects the forms of paths.
struct Forms<'a> {
    found: Vec<String>,
    workspace: &'a Workspace,
    /// As they are written, and as they are read.
    folders: Vec<(&'a str, PathBuf)>,
    /// How often the file system may still be asked.
    looks: usize,
}

impl Forms<'_> {
    fn add(&mut self, text: &str) -> Result<(), TooMany> {
        if text.len() <= PATH_BYTES_MAX {
            self.found.push(text.to_owned());
        }
        let readings = [file_of_uri(text), file_of_address(text)];
        if readings.iter().all(Option::is_none) && !text.contains("://") {
            self.path(text, Path::new(text))?;
        }
        for reading in readings.into_iter().flatten() {
            self.path(text, Path::new(&reading))?;
        }
        Ok(())
    }

    /// Adds a path as it is meant from each folder.
    fn path(&mut self, text: &str, path: &Path) -> Result<(), TooMany> {
        let workspace = self.workspace;
        self.place(&workspace.folder().join(path))?;
        for inside in workspace.below(path) {
            self.place(&workspace.folder().join(inside))?;
        }
        if path.is_absolute() {
            return Ok(());
        }
        for nth in 0..self.folders.len() {
            let (written, folder) = &self.folders[nth];
            if *written == text {
                continue;
            }
            let joined = folder.join(path);
            self.place(&workspace.folder().join(&joined))?;
            for inside in workspace.below(&joined) {
                self.place(&workspace.folder().join(inside))?;
            }
        }
        Ok(())
    }

    /// Adds every place that an absolute path means, to programs that take dots out before they open it, and to the
    /// system, which follows links first.
    fn place(&mut self, path: &Path) -> Result<(), TooMany> {
        let mut places = Vec::new();
        let plain = without_dots(path);
        // What is longer without its dots is opened by no system; with them, some programs make a short path of it.
        if plain.as_os_str().len() <= PATH_BYTES_MAX {
            self.workspace.follow(&plain, &mut self.looks, &mut places)?;
        }
        if path.components().any(|component| component == Component::ParentDir) {
            self.workspace.follow(path, &mut self.looks, &mut places)?;
        }
        for place in places.iter().filter(|place| place.as_os_str().len() <= PATH_BYTES_MAX) {
            add_below(&mut self.found, place, self.workspace);
        }
        Ok(())
    }
}

/// The path from the workspace's folder on, or in full, once with and once without its first slash.
fn add_below(forms: &mut Vec<String>, path: &Path, workspace: &Workspace) {
    match path.strip_prefix(workspace.folder()) {
        Ok(inside) => forms.push(inside.to_string_lossy().into_owned()),
        Err(_) => {
            let whole = path.to_string_lossy().into_owned();
            forms.push(whole.trim_start_matches('/').to_owned());
            forms.push(whole);
        }
    }
}

/// The path of a `file:` address, also of one that bears an upstream's prefix (`PREFIX+file:///…`).
fn file_of_uri(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.rsplit('+').next().unwrap_or(scheme);
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = match rest.strip_prefix("//") {
        // What stands before the next slash is a machine.
        Some(rest) => &rest[rest.find('/').unwrap_or(rest.len())..],
        None => rest,
    };
    Some(percent_decode_str(path).decode_utf8_lossy().into_owned())
}

/// The same as browsers and `node` read it (the URL standard of WHATWG): tabs and ends of lines are nowhere, blanks at the
/// ends neither, and a backslash is a slash. Nothing if that is not another one.
fn file_of_address(text: &str) -> Option<String> {
    let is_odd = |c: char| c <= ' ' || c == '\\';
    if !text.contains(is_odd) || !text.contains(':') {
        return None;
    }
    let is_blank = |c: char| c <= ' ';
    let plain = text.trim_matches(is_blank).replace(['\t', '\n', '\r'], "").replace('\\', "/");
    file_of_uri(&plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

    #[test]
    fn a_path_is_known_in_every_form() {
        check(json!({"path": ".env"}), &[".env"]);
        check(json!({"path": "./a/../.env"}), &["./a/../.env", ".env"]);
        check(json!({"path": "/w/project/.env"}), &["/w/project/.env", ".env"]);
        check(json!({"path": "/w/project/../project/.env"}), &["/w/project/../project/.env", ".env"]);
        check(
            json!({"uri": "file:///w/project/a%2Fb/%2Eenv"}),
            &["a/b/.env", "file:///w/project/a%2Fb/%2Eenv"],
        );
        check(json!({"uri": "files+file:///w/project/.env?x"}), &[".env", "files+file:///w/project/.env?x"]);
        check(json!({"uri": "x://one/a.env"}), &["x://one/a.env"]);
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
    fn paths_are_found_by_the_names_of_members() {
        check(
            json!({"filePath": "a", "old_path": "b", "targetFile": "c", "text": "d", "profile": "e"}),
            &["a", "b", "c", "d", "e"],
        );
        // A member that is called otherwise may be one as well, but for prose and lines.
        check(
            json!({"text": "some words.md", "body": "a\nb/c", "at": [{"v": "a b/c"}], "n": "x\n/../.env"}),
            &[".env", "a b/c", "x\n/../.env"],
        );
        check(json!({"text": "a".repeat(OTHER_BYTES_MAX + 1)}), &[]);
        check(json!({"edits": [{"file": "a"}, {"file": "b"}], "paths": ["c", ["d"]]}), &["a", "b", "c", "d"]);
        check(json!({"files": {"x/y.yml": "text"}}), &["text", "x/y.yml"]);
        check(json!({"command": "cat ./.env>out"}), &["./.env", ".env", "cat", "cat ./.env>out", "out"]);
        check(
            json!({"args": ["--config=config/a.yml"]}),
            &["--config", "--config=config/a.yml", "config/a.yml"],
        );
        check(json!({"cwd": "config", "file": "a.yml"}), &["a.yml", "config", "config/a.yml"]);
        check(
            json!({"repo_path": "/w/project/sub", "rel": "a.yml"}),
            &["/w/project/sub", "a.yml", "sub", "sub/a.yml"],
        );
        check(json!({"path": 5, "file": null}), &[]);
    }

    #[test]
    fn a_path_of_many_names_is_looked_for_once() {
        let long = format!("{}x", "a/".repeat(2_000));
        let many: Vec<String> = (0..PATHS_MAX).map(|nth| format!("{nth}/{long}")).collect();
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
            assert_eq!(
                of_call(&json!({ "path": path }), &Workspace::new(&root, &[])).expect("few"),
                expected
            );
        }
    }

    #[test]
    fn more_paths_than_are_looked_at_are_an_error() {
        let many: Vec<String> = (0..=PATHS_MAX).map(|nth| format!("f{nth}")).collect();
        assert_eq!(of_call(&json!({ "paths": many }), &workspace()), Err(TooMany));
        assert!(of_call(&json!({ "paths": many[1..] }), &workspace()).is_ok());
        let folders =
            |count| (0..count).map(|nth| (format!("d{nth}_dir"), json!(format!("d{nth}")))).collect();
        assert_eq!(of_call(&Value::Object(folders(FOLDERS_MAX + 1)), &workspace()), Err(TooMany));
        assert!(of_call(&Value::Object(folders(FOLDERS_MAX)), &workspace()).is_ok());
    }
}
