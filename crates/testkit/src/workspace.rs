//! `Workspace`: a temporary folder for one test, written from and shown as a few lines of text.

#![expect(clippy::disallowed_methods, reason = "builds and inspects the test's own temporary folder")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use tempfile::TempDir;
use tool_api::{Access, Root};

/// When everything in a new workspace was last changed, in seconds since 1970: 2026-01-02T03:04:05Z.
pub const TIME: i64 = 1_767_323_045;

/// Longer contents are shown by their size.
const SHOWN_BYTES_MAX: usize = 200;

/// A folder that lives as long as the test.
#[derive(Debug)]
pub struct Workspace {
    folder: TempDir,
    /// Where what is deleted goes.
    _trash: TempDir,
    root: Root,
}

impl Workspace {
    /// A workspace with what `description` says, one entry a line:
    ///
    /// ```text
    /// notes.md: first line\nsecond line\n
    /// empty/
    /// link -> notes.md
    /// ```
    ///
    /// In contents `\n`, `\r`, `\t`, `\0` and `\\` are what they are in Rust. Missing folders are made, and
    /// everything is from [`TIME`].
    pub fn new(description: &str) -> Workspace {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let trash = tempfile::tempdir().expect("a temporary folder");
        let root = Root::open(folder.path(), Access::ReadWrite).expect("the folder opens");
        let root = root.with_trash(trash.path());
        let workspace = Workspace { folder, _trash: trash, root };
        for line in description.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
            workspace.add(line);
        }
        workspace.settle();
        workspace
    }

    fn add(&self, line: &str) {
        if let Some((link, target)) = line.split_once(" -> ") {
            symlink(target, self.place(link)).expect("a link");
        } else if let Some((name, content)) = line.split_once(": ") {
            self.put(name, unescaped(content).as_bytes());
        } else if let Some(name) = line.strip_suffix(':') {
            self.put(name, b"");
        } else {
            let name =
                line.strip_suffix('/').expect("a line is `name: content`, `name/` or `name -> target`");
            fs::create_dir_all(self.place(name)).expect("a folder");
        }
    }

    /// Writes a file; for contents that no line can hold.
    pub fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.place(name), content).expect("a file");
    }

    /// Makes everything as old as it is meant to be. Called by `new`; call it again after `put`.
    pub fn settle(&self) {
        let time = Timespec { tv_sec: TIME, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        for path in self.paths() {
            let path = self.folder.path().join(path);
            utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("the time is set");
        }
    }

    /// The real path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Deletes the folder with all that is in it.
    pub fn delete(&self) {
        fs::remove_dir_all(self.folder.path()).expect("the folder is ours");
    }

    /// Makes another folder in its place, with nothing in it.
    pub fn make_anew(&self) {
        fs::create_dir(self.folder.path()).expect("the folder is gone");
    }

    /// A handle on the folder with at most `access`.
    pub fn root(&self, access: Access) -> Root {
        self.root.narrowed(access)
    }

    /// The content of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).expect(name)
    }

    /// The permission bits of a file.
    pub fn mode(&self, name: &str) -> u32 {
        let meta = fs::metadata(self.folder.path().join(name)).expect(name);
        meta.permissions().mode() & 0o7777
    }

    /// Sets the permission bits of a file or folder.
    pub fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.folder.path().join(name), Permissions::from_mode(mode)).expect(name);
    }

    /// What is there now, in the words of [`Workspace::new`].
    pub fn tree(&self) -> String {
        self.paths().iter().map(|path| self.line(path) + "\n").collect()
    }

    fn line(&self, path: &Path) -> String {
        let full = self.folder.path().join(path);
        let name = path.display();
        if let Ok(target) = fs::read_link(&full) {
            return format!("{name} -> {}", target.display());
        }
        if full.is_dir() {
            return format!("{name}/");
        }
        let content = fs::read(&full).expect("a file");
        match std::str::from_utf8(&content) {
            Ok(text) if text.len() <= SHOWN_BYTES_MAX => format!("{name}: {}", text.escape_debug()),
            _ => format!("{name}: [{} bytes]", content.len()),
        }
    }

    /// Everything below the folder, sorted; links are not followed.
    fn paths(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.folder.path().join(&folder)).expect("a folder") {
                let entry = entry.expect("an entry");
                let path = folder.join(entry.file_name());
                if entry.file_type().expect("a type").is_dir() {
                    folders.push(path.clone());
                }
                found.push(path);
            }
        }
        found.sort();
        found
    }

    /// Where `name` is, with the folders above it made.
    fn place(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
        path
    }
}

fn unescaped(content: &str) -> String {
    let mut text = String::new();
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next().expect("something follows a backslash") {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                '\\' => '\\',
                other => panic!("unknown escape \\{other}"),
            },
            plain => plain,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_description_and_its_tree_are_the_same() {
        let description = "a/b.txt: one\\ntwo\\r\\n\na/c/d.txt: \\\\\na/link -> ../gone\nempty:\nfolder/\n";
        let workspace = Workspace::new(description);
        let expected =
            "a/\na/b.txt: one\\ntwo\\r\\n\na/c/\na/c/d.txt: \\\\\na/link -> ../gone\nempty: \nfolder/\n";
        assert_eq!(workspace.tree(), expected);
        let modified = fs::symlink_metadata(workspace.path().join("a/link")).expect("there").modified();
        let expected: SystemTime = UNIX_EPOCH + Duration::from_secs(TIME.unsigned_abs());
        assert_eq!(modified.expect("a time"), expected);
    }
}
