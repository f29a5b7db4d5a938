//! What a look finds, where it ends early, and what is told of a change.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use super::*;

/// A workspace with these files; what ends with a slash is a folder.
fn workspace(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("there");
    add(&root, files);
    (folder, root)
}

fn add(root: &Path, files: &[&str]) {
    for file in files {
        let path = root.join(file);
        let above = if file.ends_with('/') { &*path } else { path.parent().expect("a folder") };
        fs::create_dir_all(above).expect("folders");
        if !file.ends_with('/') {
            fs::write(&path, "x").expect("a file");
        }
    }
}

fn look_at(root: &Path, names_max: usize, found_max: usize) -> Seen {
    look(root, &ProgramPaths::new(root, &Arc::default()), Reach { names_max, found_max })
}

/// What is found below so many names, and whether there was more.
#[track_caller]
fn check(files: &[&str], names_max: usize, expected: &[&str], is_cut: bool) {
    let (_folder, root) = workspace(files);
    let seen = look_at(&root, names_max, 100);
    let found: Vec<_> = seen.found.keys().map(|path| path.to_str().expect("UTF-8")).collect();
    assert_eq!((&*found, seen.is_cut()), (expected, is_cut), "{names_max}");
}

const MANY: [&str; 8] = ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8"];

#[test]
fn the_top_and_its_repository_come_first_and_what_is_near_before_what_is_far() {
    let first = ["AGENTS.md", ".git/HEAD", ".git/config", ".git/modules/m/config", ".git/worktrees/w/gitdir"];
    let found = [".git/config", ".git/modules/m/config", ".git/worktrees/w/gitdir", "AGENTS.md"];
    check(&[&MANY[..], &first].concat(), 6, &found, true);
    // The top is looked at whole.
    check(&["AGENTS.md", ".envrc", ".npmrc", "1", "2"], 1, &[".envrc", ".npmrc", "AGENTS.md"], false);
    check(&[&MANY[..], &[".github/workflows/ci.yml"]].concat(), 4, &[".github/workflows"], true);
    let near = ["b/1/2/3/4/5/6/CLAUDE.md", "c/CLAUDE.md"];
    check(&near, 4, &["c/CLAUDE.md"], true);
    check(&near, 10, &["b/1/2/3/4/5/6/CLAUDE.md", "c/CLAUDE.md"], false);
    check(&near, 9, &["c/CLAUDE.md"], true);
}

#[test]
fn it_ends_at_so_many_protected_files_and_says_so() {
    let (_folder, root) = workspace(&["a/.envrc", "b/.envrc", "c/.envrc"]);
    for (found_max, found, is_cut) in [(2, 2, true), (3, 3, false)] {
        let seen = look_at(&root, 100, found_max);
        assert_eq!((seen.found.len(), seen.is_cut()), (found, is_cut), "{found_max}");
    }
}

#[test]
fn every_way_to_a_repository_leads_to_what_decides_in_it() {
    let files =
        ["real/HEAD", "real/config", "real/hooks/pre-push", "real/modules/a/b/config", "store/c/config"];
    let (_folder, root) = workspace(&files);
    let bare = [
        "bare/HEAD",
        "bare/config",
        "bare/objects/",
        "bare/refs/",
        "bare/logs/HEAD",
        "docs/HEAD",
        "docs/config",
    ];
    add(&root, &bare);
    fs::write(root.join(".git"), "gitdir: real\n").expect("a file");
    fs::write(root.join("real/commondir"), "../store/c\n").expect("a file");
    fs::create_dir(root.join("sub")).expect("a folder");
    symlink("../named", root.join("sub/.git")).expect("a link");
    fs::write(root.join("named"), "gitdir: /etc\n").expect("a file");
    let seen = look_at(&root, 1000, 100);
    let found: Vec<_> = seen.found.keys().map(|path| path.to_str().expect("UTF-8")).collect();
    let expected = [
        ".git",
        "bare/config",
        "docs/HEAD",
        "named",
        "real/commondir",
        "real/config",
        "real/hooks",
        "real/modules/a/b/config",
        "store/c/config",
        "sub/.git",
    ];
    assert_eq!(found, expected);
    let rules = seen.rules(&root, &ProgramPaths::new(&root, &Arc::default()));
    let pinned = rules.iter().filter(|(_, rule)| *rule == Rule::Pinned);
    let pinned: Vec<_> = pinned.map(|(path, _)| path.to_str().expect("UTF-8")).collect();
    let expected = ["bare", "real", "real/modules", "real/modules/a", "real/modules/a/b", "store", "store/c"];
    assert_eq!(pinned, expected);
}

#[test]
fn nothing_is_mounted_where_a_link_leads() {
    let (_folder, root) = workspace(&[".git/HEAD", "info/attributes", "parts/m/config"]);
    symlink("../info", root.join(".git/info")).expect("a link");
    symlink("../parts", root.join(".git/modules")).expect("a link");
    let seen = look_at(&root, 1000, 100);
    let rules = seen.rules(&root, &ProgramPaths::new(&root, &Arc::default()));
    let through = |path: &OsString| path.to_string_lossy().starts_with(".git/info") || path == ".git/modules";
    assert!(!rules.iter().any(|(path, _)| through(path)), "{rules:?}");
    assert!(rules.contains(&("info".into(), Rule::ReadOnly)), "{rules:?}");
}

/// What is told of a change of the workspace, if so many names are looked at.
#[track_caller]
fn check_told(files: &[&str], names_max: usize, change: impl FnOnce(&Path), expected: &[&str]) {
    let (_folder, root) = workspace(files);
    let before = look_at(&root, names_max, 100);
    change(&root);
    let told = before.changed(&look_at(&root, names_max, 100), &root);
    assert_eq!(told, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
}

#[test]
fn what_is_new_or_changed_or_gone_is_told() {
    let files = ["a/.envrc", ".git/HEAD", ".git/modules/m/x/config"];
    check_told(&files, 100, |_| (), &[]);
    check_told(&files, 100, |root| add(root, &["b/.envrc"]), &["b/.envrc"]);
    check_told(&files, 100, |root| fs::write(root.join("a/.envrc"), "longer").expect("ours"), &["a/.envrc"]);
    check_told(&files, 100, |root| fs::remove_file(root.join("a/.envrc")).expect("ours"), &["a/.envrc"]);
    check_told(&files, 100, |root| add(root, &[".git/commondir"]), &[".git/commondir"]);
    check_told(&files, 100, |root| add(root, &[".git/modules/n/hooks/x"]), &[".git/modules/n/hooks"]);
    check_told(&files, 100, |root| add(root, &["b/HEAD", "b/objects/", "b/refs/"]), &["b/HEAD"]);
    // What would not be looked at from now on.
    let hides = |root: &Path| add(root, &[".git/modules/m/HEAD"]);
    check_told(&files, 100, hides, &[".git/modules/m/x/config"]);
}

#[test]
fn where_the_look_ends_early_only_what_has_changed_is_told() {
    // What is left is not told as gone when others push it out.
    let pushed_out = |root: &Path| add(root, &["b/1", "b/2", "b/3", "b/4", "0", "1", "2", "3", "4", "5"]);
    check_told(&["c/.envrc", "b/"], 3, pushed_out, &[]);
    let (_folder, root) = workspace(&["c/.envrc", "d/.envrc"]);
    let mut before = look_at(&root, 100, 100);
    before.found.clear();
    let after = look_at(&root, 100, 100);
    before.is_cut = true;
    assert_eq!(before.changed(&after, &root).len(), 2, "made a moment ago");
    before.at += 60;
    assert_eq!(before.changed(&after, &root), Vec::<PathBuf>::new(), "there before");
}

#[test]
fn the_words_name_the_limits() {
    use crate::confine::layer::Layer;

    for number in ["200,000 names", "2,000 protected files"] {
        assert!(Layer::NOT_ALL_PROTECTED.contains(number), "{number}");
    }
    assert_eq!((REACH.names_max, REACH.found_max), (200_000, 2_000));
}
