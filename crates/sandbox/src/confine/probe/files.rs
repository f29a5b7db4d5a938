//! Attempts on files.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use super::scene::{CONTENT, Targets};

/// How often a race is run.
const RACES: usize = 500;

/// Good only if what is read is what lies outside: a program may find a file of the same name inside.
fn reads(path: impl AsRef<Path>) -> io::Result<()> {
    if fs::read_to_string(path)?.contains(CONTENT) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

fn appends(path: impl AsRef<Path>) -> io::Result<()> {
    fs::File::options().append(true).open(path)?.write_all(b"escaped\n")
}

/// A path of the outside below another root.
fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

pub(super) fn read_outside(targets: &Targets) -> io::Result<()> {
    reads(&targets.outside)
}

pub(super) fn read_prefix_twin(targets: &Targets) -> io::Result<()> {
    reads(targets.twin.join("file"))
}

pub(super) fn read_through_link(targets: &Targets) -> io::Result<()> {
    reads(targets.workspace.join("link"))
}

pub(super) fn read_through_proc_root(targets: &Targets) -> io::Result<()> {
    reads(below("/proc/self/root", &targets.outside))
}

pub(super) fn read_through_parents_root(targets: &Targets) -> io::Result<()> {
    let parent = rustix::process::getppid().map_or(1, rustix::process::Pid::as_raw_pid);
    reads(below(&format!("/proc/{parent}/root"), &targets.outside))
}

/// One thread has a name lead in and out by turns; the other reads through it.
pub(super) fn read_by_race(targets: &Targets) -> io::Result<()> {
    let name = targets.workspace.join("raced");
    let outside = targets.outside.clone();
    let raced = name.clone();
    let swapper = thread::spawn(move || {
        for nth in 0..RACES {
            let next = raced.with_extension("next");
            let _ = if nth % 2 == 0 { symlink(&outside, &next) } else { fs::write(&next, "inside") };
            let _ = fs::rename(&next, &raced);
        }
    });
    let mut result = Err(io::ErrorKind::NotFound.into());
    while result.is_err() && !swapper.is_finished() {
        result = reads(&name);
    }
    let _ = swapper.join();
    // On one processor the two may never have met.
    let last = name.with_extension("last");
    result.or_else(|_| symlink(&targets.outside, &last).and_then(|()| reads(&last)))
}

pub(super) fn read_machines_users(_: &Targets) -> io::Result<()> {
    let users = fs::read_to_string("/etc/passwd")?;
    if users.lines().any(|user| user.starts_with("root:")) {
        Ok(())
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

pub(super) fn read_secret(targets: &Targets) -> io::Result<()> {
    reads(targets.workspace.join("state/key"))
}

pub(super) fn list_beside_workspace(targets: &Targets) -> io::Result<()> {
    let parent = targets.workspace.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut names = fs::read_dir(parent)?.flatten();
    let is_seen = names.any(|entry| entry.path() == targets.twin);
    if is_seen { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

pub(super) fn list_run(_: &Targets) -> io::Result<()> {
    fs::read_dir("/run").map(drop)
}

pub(super) fn list_devices(_: &Targets) -> io::Result<()> {
    fs::read_dir("/sys/class").map(drop)
}

pub(super) fn stat_outside(targets: &Targets) -> io::Result<()> {
    fs::symlink_metadata(&targets.outside).map(drop)
}

pub(super) fn chdir_outside(targets: &Targets) -> io::Result<()> {
    std::env::set_current_dir(&targets.twin)
}

pub(super) fn write_outside(targets: &Targets) -> io::Result<()> {
    appends(&targets.outside)
}

pub(super) fn write_prefix_twin(targets: &Targets) -> io::Result<()> {
    appends(targets.twin.join("file"))
}

pub(super) fn write_through_link(targets: &Targets) -> io::Result<()> {
    appends(targets.workspace.join("link"))
}

/// Inside there is a folder of this name, but what is made there does not get out.
pub(super) fn create_beside_workspace(targets: &Targets) -> io::Result<()> {
    fs::write(targets.twin.join("new"), "escaped")
}

pub(super) fn chmod_outside(targets: &Targets) -> io::Result<()> {
    fs::set_permissions(&targets.outside, PermissionsExt::from_mode(0o666))
}

pub(super) fn rename_outside(targets: &Targets) -> io::Result<()> {
    fs::rename(targets.twin.join("movable"), targets.workspace.join("moved"))
}

pub(super) fn hard_link_in(targets: &Targets) -> io::Result<()> {
    fs::hard_link(&targets.outside, targets.workspace.join("hard"))
}

pub(super) fn write_git_config(targets: &Targets) -> io::Result<()> {
    appends(targets.workspace.join(".git/config"))
}

pub(super) fn replace_git_config(targets: &Targets) -> io::Result<()> {
    let config = targets.workspace.join(".git/config");
    fs::write(config.with_extension("lock"), CONTENT)?;
    fs::rename(config.with_extension("lock"), config)
}

pub(super) fn plant_git_hook(targets: &Targets) -> io::Result<()> {
    let hooks = targets.workspace.join(".git/hooks");
    fs::create_dir_all(&hooks)?;
    fs::write(hooks.join("pre-commit"), "#!/bin/sh\n")
}

pub(super) fn plant_git_alternates(targets: &Targets) -> io::Result<()> {
    fs::write(targets.workspace.join(".git/objects/info/alternates"), "/elsewhere\n")
}

pub(super) fn plant_git_attributes(targets: &Targets) -> io::Result<()> {
    fs::write(targets.workspace.join(".git/info/attributes"), "* filter=x\n")
}

pub(super) fn move_git_away(targets: &Targets) -> io::Result<()> {
    let (git, away) = (targets.workspace.join(".git"), targets.workspace.join("away"));
    fs::rename(&git, &away)?;
    // The next attempt finds it where it was.
    fs::rename(away, git)
}

pub(super) fn write_configuration(targets: &Targets) -> io::Result<()> {
    appends(targets.workspace.join("toolcrib.toml"))
}

pub(super) fn write_instructions(targets: &Targets) -> io::Result<()> {
    appends(targets.workspace.join("deep/er/AGENTS.md"))
}

pub(super) fn replace_instructions(targets: &Targets) -> io::Result<()> {
    let next = targets.workspace.join("next");
    fs::write(&next, CONTENT)?;
    fs::rename(next, targets.workspace.join("deep/er/AGENTS.md"))
}

pub(super) fn remove_instructions(targets: &Targets) -> io::Result<()> {
    let instructions = targets.workspace.join("deep/er/CLAUDE.md");
    fs::remove_file(instructions)
}

pub(super) fn write_instructions_by_hard_link(targets: &Targets) -> io::Result<()> {
    let link = targets.workspace.join("other-name");
    fs::hard_link(targets.workspace.join("deep/er/AGENTS.md"), &link)?;
    appends(link)
}

pub(super) fn plant_agent_settings(targets: &Targets) -> io::Result<()> {
    let folder = targets.workspace.join(".claude");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("settings.json"), "{}")
}

pub(super) fn move_workflows_away(targets: &Targets) -> io::Result<()> {
    let (github, away) = (targets.workspace.join(".github"), targets.workspace.join("github"));
    fs::rename(&github, &away)?;
    fs::rename(away, github)
}
