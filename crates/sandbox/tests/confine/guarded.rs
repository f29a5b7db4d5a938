//! What makes `git` run programs, and what others obey, is not written by a program: wherever in the workspace it lies, and
//! however the repository was made. Where that cannot be, it is told.

use std::path::Path;
use std::process::Command;

use sandbox::confine::{Confiner, Profile};

use super::{folder, run, shell, spawner};

/// Run outside, with the name of somebody who commits.
const GIT: &str = "set -e; git() { command git -c user.email=a@b -c user.name=a \"$@\"; }";

/// Run inside. Each file that could be written is printed.
const WRITE: &str = "write() { for file; do case $file in */*) mkdir -p \"${file%/*}\" 2>/dev/null;; esac; \
                     (echo evil >> \"$file\") 2>/dev/null && echo \"$file\"; done; }";

fn outside(work: &Path, script: &str) {
    let mut sh = Command::new("sh");
    sh.args(["-c", &format!("{GIT}; {script}")]).current_dir(work).env("HOME", work.join(".."));
    sh.env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(sh.output().is_ok_and(|output| output.status.success()), "{script}");
}

/// What is made outside, what is tried inside, which files that has written, and which of them are told.
async fn check(made: &str, tried: &str, written: &[&str], told: &[&str]) {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    outside(&work, made);
    let (printed, outcome) =
        run(&confiner, &shell(Profile::write(), &work, &format!("{WRITE}; {tried}"))).await;
    let mut found: Vec<_> = outcome.written.iter().map(|path| path.to_string_lossy()).collect();
    found.sort_unstable();
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(
        (lines, found.iter().map(|path| &**path).collect()),
        (written.to_vec(), told.to_vec()),
        "{tried}"
    );
}

const OBEYED: &str = "git init -q .; echo x > AGENTS.md; mkdir .claude; echo {} > .claude/settings.json";

#[tokio::test]
async fn a_folder_of_many_names_hides_nothing() {
    for deep in ["big", "a/big", "src/b/c/d/e/f/big"] {
        let made = format!("{OBEYED}; mkdir -p {deep}; cd {deep}; seq 10500 | xargs touch");
        check(&made, "write .git/config AGENTS.md .claude/settings.json", &[], &[]).await;
    }
}

#[tokio::test]
async fn what_lies_deep_is_protected_too() {
    let made = "mkdir -p a/b/c/d/e/f; cd a/b/c/d/e/f; git init -q .; echo x > CLAUDE.md; mkdir .claude; \
                echo {} > .claude/settings.json";
    let tried =
        "cd a/b/c/d/e/f; write .git/config .git/hooks/pre-push CLAUDE.md .claude/settings.json plain/file";
    check(made, tried, &["plain/file"], &[]).await;
}

#[tokio::test]
async fn linked_worktrees_are_protected() {
    let made = "git init -q .; git commit -qm one --allow-empty; git worktree add -q ../wt";
    let inside = "write .git/worktrees/wt/commondir .git/worktrees/wt/gitdir .git/worktrees/wt/config.worktree; \
                  mv .git/worktrees/wt .git/worktrees/other 2>/dev/null; mv .git/worktrees .git/x 2>/dev/null; true";
    check(made, inside, &[], &[]).await;
    // One that a program makes is told.
    let made = "git init -q .; git commit -qm one --allow-empty";
    let inside = "git worktree add -q wt 2>&1";
    check(made, inside, &[], &[".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir", "wt/.git"]).await;
}

#[tokio::test]
async fn a_repository_elsewhere_in_the_workspace_is_protected() {
    let write = "write real/config real/hooks/pre-push real/config.worktree real/info/attributes; \
                 mv real x 2>/dev/null; echo x > file; git add file; \
                 git -c user.name=a -c user.email=a@b commit -qm one && git checkout -qb other";
    check("git init -q --separate-git-dir=real .", write, &[], &[]).await;
    check("git init -q .; mv .git real; ln -s real .git", write, &[], &[]).await;
    let deep =
        "cd sub; write ../store/real/config ../store/real/hooks/pre-push; mv ../store ../x 2>/dev/null; true";
    check("mkdir store; git init -q --separate-git-dir=store/real sub", deep, &[], &[]).await;
    check("git init -q --bare x.git", "write x.git/config x.git/hooks/pre-push", &[], &[]).await;
}

#[tokio::test]
async fn hooks_that_are_a_link_are_protected() {
    let made = "git init -q .; rm -r .git/hooks; mkdir -p tools/hooks; echo x > tools/hooks/pre-push; \
                ln -s ../tools/hooks .git/hooks";
    check(made, "write tools/hooks/pre-push tools/hooks/pre-commit tools/other", &["tools/other"], &[]).await;
}

#[tokio::test]
async fn submodules_are_protected_before_they_are_repositories() {
    let made = "git init -q sub; git -C sub commit -qm one --allow-empty; git init -q main; cd main; \
                git -c protocol.file.allow=always submodule add -q ../sub deep/sub 2>/dev/null";
    let tried = "cd main; write .git/modules/deep/sub/config .git/modules/deep/sub/hooks/pre-push \
                 .git/modules/new/config .git/modules/new/hooks/pre-push";
    let written = [".git/modules/new/config", ".git/modules/new/hooks/pre-push"];
    let told = ["main/.git/modules/new/config", "main/.git/modules/new/hooks"];
    check(made, tried, &written, &told).await;
}

#[tokio::test]
async fn what_stands_where_git_looks_next_is_told() {
    let tried = "write toolcrib.toml .envrc .git/commondir a/.git/config";
    let written = ["toolcrib.toml", ".envrc", ".git/commondir", "a/.git/config"];
    check("git init -q .", tried, &written, &[".envrc", ".git/commondir", "a/.git", "toolcrib.toml"]).await;
}

#[tokio::test]
async fn what_a_killed_spawner_has_left_goes_with_the_next_run_and_nothing_else() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    outside(&work, "mkdir .vscode .idea");
    let running = confiner.start(&shell(Profile::write(), &work, "sleep 1000")).await.expect("started");
    let pid =
        confiner.spawner().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("it runs"), rustix::process::Signal::KILL).expect("ours");
    running.end().await;
    assert!(work.join(".claude").exists(), "it is left");
    outside(&work, "echo {} > .claude/settings.json");
    let next = Confiner::new(spawner());
    assert_eq!(
        run(&next, &shell(Profile::write(), &work, "true")).await.1.written,
        Vec::<std::path::PathBuf>::new()
    );
    let mut left: Vec<_> =
        std::fs::read_dir(&work).expect("there").flatten().map(|entry| entry.file_name()).collect();
    left.sort_unstable();
    assert_eq!(left, [".claude", ".idea", ".vscode"]);
}
