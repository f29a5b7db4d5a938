//! Programs whose writes lie aside: what they would change is told, and nothing changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use sandbox::confine::{Aside, Changes, Confined, Confiner, Profile};

use super::{folder, run, shell, spawner};

/// A workspace with a little of everything.
fn fill(workspace: &Path) {
    for (path, text) in
        [("a.txt", "one\ntwo\nthree\n"), ("b.txt", "same\n"), ("dir/c.txt", "c\n"), ("dir/d.txt", "d\n")]
    {
        let path = workspace.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    fs::write(workspace.join("bytes"), [0, 1, 2]).expect("a file");
    symlink("a.txt", workspace.join("link")).expect("a link");
    // Whoever the tests run as, the program is somebody else as root.
    fs::set_permissions(workspace, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Every file with what is in it.
fn seen(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.symlink_metadata().expect("there") {
            meta if meta.is_dir() => all.extend(seen(&path)),
            meta if meta.is_file() => {
                let text = fs::read(&path).expect("a file");
                all.push(format!("{} {:o} {text:?}", path.display(), meta.permissions().mode()));
            }
            _ => all.push(format!("{} {:?}", path.display(), fs::read_link(&path))),
        }
    }
    all.sort();
    all
}

async fn changes(script: &str) -> Changes {
    let (folder, workspace) = folder();
    fill(&workspace);
    let before = seen(&workspace);
    let within = folder.path().join("state");
    fs::create_dir(&within).expect("a folder");
    let aside = Arc::new(Aside::new(&within).expect("a folder"));
    let confiner = Confiner::new(spawner());
    let program = Confined { aside: Some(aside.clone()), ..shell(Profile::write(), &workspace, script) };
    let (printed, outcome) = run(&confiner, &program).await;
    assert_eq!(printed, "", "{script}: {outcome:?}");
    assert_eq!(outcome.written, Vec::<std::path::PathBuf>::new());
    assert_eq!(seen(&workspace), before, "{script}");
    let changes = aside.changes(&workspace).expect("readable");
    drop((program, aside));
    assert_eq!(fs::read_dir(&within).expect("there").count(), 0, "nothing is left of {script}");
    changes
}

#[tokio::test]
async fn what_would_change_is_told_and_nothing_changes() {
    for (script, expected) in [
        ("cat a.txt >/dev/null", &[][..]),
        ("echo new > new.txt", &["added new.txt"]),
        ("sed -i s/two/2/ a.txt", &["changed a.txt"]),
        ("cat a.txt > t && cat t > a.txt && rm t", &[]),
        ("rm b.txt", &["removed b.txt"]),
        ("chmod +x b.txt", &["changed b.txt"]),
        ("rm -r dir", &["removed dir/c.txt", "removed dir/d.txt"]),
        ("rm -r dir && mkdir dir && echo e > dir/c.txt", &["changed dir/c.txt", "removed dir/d.txt"]),
        ("rm -r dir && echo now > dir", &["added dir", "removed dir/c.txt", "removed dir/d.txt"]),
        ("rm a.txt && mkdir a.txt && echo x > a.txt/x", &["removed a.txt", "added a.txt/x"]),
        (
            "mv dir other",
            &["removed dir/c.txt", "removed dir/d.txt", "added other/c.txt", "added other/d.txt"],
        ),
        ("ln -sf b.txt link", &["changed link"]),
        ("mkdir -p deep/er", &[]),
        ("mkfifo p && chmod 000 p", &["added p"]),
        ("mkdir shut && echo x > shut/x && chmod 000 shut", &["added shut/x"]),
    ] {
        let found = changes(script).await;
        let told: Vec<_> = found
            .all
            .iter()
            .map(|change| format!("{} {}", change.what.as_str(), change.path.display()))
            .collect();
        assert_eq!(told, expected, "{script}");
        assert!(!found.is_cut, "{script}");
    }
}

#[tokio::test]
async fn changes_are_shown_as_git_shows_them() {
    for (script, expected) in [
        (
            "sed -i s/two/2/ a.txt",
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        ),
        (
            "printf x > new; chmod +x b.txt",
            "diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\ndiff --git a/new b/new\nnew file mode 100644\n\
             --- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
        ),
        (
            "rm b.txt; printf '\\000' > bytes",
            "diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-same\n\
             diff --git a/bytes b/bytes\nBinary files a/bytes and b/bytes differ\n",
        ),
    ] {
        assert_eq!(changes(script).await.to_string(), expected, "{script}");
    }
}

#[tokio::test]
async fn more_than_anybody_reads_is_cut() {
    let found = changes("i=0; while [ $i -lt 1100 ]; do : > n$i; i=$((i+1)); done").await;
    assert_eq!((found.all.len(), found.is_cut), (1000, true));
    assert!(found.to_string().ends_with("the rest is not shown\n"));
}
