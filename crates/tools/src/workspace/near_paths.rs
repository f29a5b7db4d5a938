//! What somebody may have meant who names a file that is not there: names like it in the same folder, and the same name
//! elsewhere. Only names that a listing would show are looked at, and no file's content.

use std::cmp::Reverse;
use std::sync::Arc;

use tool_api::{Cancel, Context, Folder, Inside, Kind, PathRules, Root, ToolError, near_names};

use super::file_error::refused;
use super::listing::{ItemKind, OnOneLine};
use super::name_filter::NameFilter;
use super::walk::{Wanted, walk};

/// Entries of the whole workspace that are looked at for the same name: some 25 ms.
const LOOKED_AT_MAX: usize = 20_000;

/// Most paths that are told.
const TOLD_MAX: usize = 5;

/// What came of work on this path, where a refusal since nothing is there tells of the nearest paths as well.
pub(super) async fn or_nearest<T>(
    came: Result<T, ToolError>,
    path: &Inside,
    cx: &Context,
) -> Result<T, ToolError> {
    match came {
        Ok(done) => Ok(done),
        Err(refusal) => Err(with_nearest(refusal, path, cx).await),
    }
}

async fn with_nearest(refusal: ToolError, path: &Inside, cx: &Context) -> ToolError {
    if refusal.code() != "not_found" {
        return refusal;
    }
    let (files, rules, cancel) = (cx.files.clone(), cx.path_rules.clone(), cx.cancel.clone());
    let at = path.clone();
    let near = cx.blocking(move || {
        // A folder that is gone has nothing in it.
        files.check_present().map_err(refused)?;
        Ok(nearest(&at, &files, rules.as_ref(), &cancel))
    });
    match near.await {
        Ok(near) if near.is_empty() => refusal,
        Ok(near) => ToolError::new("not_found", format!("{refusal}; the nearest are {}", near.join(", "))),
        Err(error) => error,
    }
}

/// Those in the same folder first, and then those whose paths begin most alike.
fn nearest(path: &Inside, files: &Root, rules: Option<&Arc<dyn PathRules>>, cancel: &Cancel) -> Vec<String> {
    let mut found = like_it(path, files);
    let mut elsewhere = same_name(path, files, cancel);
    let alike = |other: &String| path.as_str().bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    elsewhere.sort_by_key(|other| Reverse(alike(other)));
    for other in elsewhere {
        if !found.contains(&other) {
            found.push(other);
        }
    }
    found.retain(|other| !rules.is_some_and(|rules| rules.concern(other.trim_end_matches('/'))));
    found.truncate(TOLD_MAX);
    found.into_iter().map(|other| OnOneLine(&other).to_string()).collect()
}

/// What is called much like the first name of the path that is not there, or the same but for its ending.
fn like_it(path: &Inside, files: &Root) -> Vec<String> {
    let mut above = Inside::root();
    let mut names = path.as_str().split('/').peekable();
    while let Some(name) = names.next() {
        let is_folder = names.peek().is_some();
        match above.child(name) {
            Ok(next) if is_folder && files.folder(&next).is_ok() => above = next,
            _ => {
                return files
                    .folder(&above)
                    .map_or_else(|_| Vec::new(), |above| like_name(&above, name, is_folder));
            }
        }
    }
    Vec::new()
}

fn like_name(above: &Folder, name: &str, is_folder: bool) -> Vec<String> {
    let mut entries = above.entries().unwrap_or_default();
    entries.retain(|entry| !is_folder || entry.kind == Kind::Folder);
    let names = || entries.iter().map(|entry| entry.name.as_str());
    let mut near = near_names(name, names());
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_lowercase();
    let others: Vec<&str> =
        names().filter(|other| stem(other) == stem(name) && !near.contains(other)).collect();
    near.extend(others);
    let ending = if is_folder { "/" } else { "" };
    near.into_iter()
        .filter_map(|name| above.path().child(name).ok())
        .map(|path| format!("{path}{ending}"))
        .collect()
}

/// Files of the same name, whatever their case, where ignore rules do not leave them out.
fn same_name(path: &Inside, files: &Root, cancel: &Cancel) -> Vec<String> {
    let Some(name) = path.name().map(str::to_lowercase) else { return Vec::new() };
    let wanted = Wanted {
        recursive: true,
        filter: NameFilter::All,
        hidden: true,
        ignored: false,
        meta: false,
        entries_max: LOOKED_AT_MAX,
        paths_bytes_max: usize::MAX,
        looked_at_max: LOOKED_AT_MAX,
        after: None,
    };
    let Ok(listing) = walk(files, &Inside::root(), &wanted, cancel) else { return Vec::new() };
    let is_it = |path: &str| path.rsplit('/').next().is_some_and(|last| last.to_lowercase() == name);
    let found = listing.entries.into_iter().filter(|item| item.kind != ItemKind::Folder);
    found.map(|item| item.path).filter(|path| is_it(path)).collect()
}

#[cfg(test)]
mod tests {
    use testkit::Workspace;
    use tool_api::Access;

    use super::*;

    struct Concerned(&'static str);

    impl PathRules for Concerned {
        fn concern(&self, path: &str) -> bool {
            path == self.0
        }
    }

    const TREE: &str = "
        .gitignore: out\n
        README.md: x
        it.rs: x
        notes.txt: x
        out/config.toml: x
        scra: x
        src/api/config.toml: x
        src/main.rs: x
        src/util/Config.toml: x
        tests/config.toml: x
    ";

    #[track_caller]
    fn check(path: &str, rules: Option<&'static str>, expected: &[&str]) {
        let workspace = Workspace::new(TREE);
        let files = workspace.root(Access::Read);
        let rules = rules.map(|rule| Arc::new(Concerned(rule)) as Arc<dyn PathRules>);
        let path = files.locate(path).expect("a path");
        assert_eq!(nearest(&path, &files, rules.as_ref(), &Cancel::new()), expected, "{path}");
    }

    #[test]
    fn what_is_near_is_in_the_same_folder_or_has_the_same_name() {
        check("readme.md", None, &["README.md"]);
        check("READEM.md", None, &["README.md"]);
        check("notes.py", None, &["notes.txt"]);
        check("it.md", None, &["it.rs"]);
        check("main.rs", None, &["src/main.rs"]);
        check("src/main.py", None, &["src/main.rs"]);
        check("scr/main.rs", None, &["src/", "src/main.rs"]);
        // Not what is ignored; what begins most alike is first.
        check("src/config.toml", None, &["src/api/config.toml", "src/util/Config.toml", "tests/config.toml"]);
        check(
            "tests/x/config.toml",
            None,
            &["tests/config.toml", "src/api/config.toml", "src/util/Config.toml"],
        );
        check("zzz.bin", None, &[]);
        check("src/zzz/y/z.bin", None, &[]);
    }

    #[test]
    fn what_a_rule_is_about_is_not_named() {
        check("src/config.toml", Some("tests/config.toml"), &["src/api/config.toml", "src/util/Config.toml"]);
        check("scr/x.rs", Some("src"), &[]);
    }

    #[test]
    fn five_are_named_and_none_has_lines_of_its_own() {
        let files: String = (0..9).map(|n| format!("{n}/same.txt: x\n")).collect();
        let workspace = Workspace::new(&files);
        workspace.put("sam\ne.txt", b"x");
        let files = workspace.root(Access::Read);
        let told = nearest(&files.locate("same.txt").expect("a path"), &files, None, &Cancel::new());
        assert_eq!(told, ["\"sam\\ne.txt\"", "0/same.txt", "1/same.txt", "2/same.txt", "3/same.txt"]);
    }
}
