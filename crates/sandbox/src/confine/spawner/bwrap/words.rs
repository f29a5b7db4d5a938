//! A plan as the words that `bwrap` understands. It is told them in a file, since a command line shows them to everybody.

use std::ffi::{OsStr, OsString};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::confine::init::given::USER;
use crate::confine::plan::{Access, Entry, Plan, What};

/// For everything but its files. A control group's namespace is left out where there is none; init looks.
const ALWAYS: [&str; 11] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--as-pid-1",
    "--die-with-parent",
    "--hostname",
    "sandbox",
    "--clearenv",
];

/// A setuid one may not do that: it is there because the machine forbids them to everybody else anyway.
const NO_NAMESPACES: &str = "--disable-userns";

/// The file, and those that it names by their numbers.
pub(super) fn written(plan: &Plan, is_setuid: bool) -> io::Result<(OwnedFd, Vec<OwnedFd>)> {
    let user = USER.to_string();
    let mut words: Vec<OsString> = ALWAYS.map(Into::into).into();
    words.extend((!is_setuid).then(|| NO_NAMESPACES.into()));
    words.extend(["--uid", &user, "--gid", &user].map(Into::into));
    let mut files = Vec::new();
    for entry in &plan.entries {
        words.extend(of(entry, &mut files)?);
    }
    words.extend(["--remount-ro", "/"].map(Into::into));
    let mut text = Vec::new();
    for word in words {
        text.extend(word.as_bytes());
        text.push(0);
    }
    Ok((file(&text)?, files))
}

fn of(entry: &Entry, files: &mut Vec<OwnedFd>) -> io::Result<Vec<OsString>> {
    let at = entry.at.as_os_str();
    let mut file = |text: &str| -> io::Result<OsString> {
        let file = file(text.as_bytes())?;
        let number = file.as_raw_fd().to_string().into();
        files.push(file);
        Ok(number)
    };
    Ok(match &entry.what {
        What::Shown { from, access, .. } => {
            let word = match access {
                Access::Read => "--ro-bind",
                Access::Write => "--bind",
                Access::Device => "--dev-bind",
            };
            all([word.as_ref(), from, at])
        }
        What::Link(to) => all(["--symlink".as_ref(), to, at]),
        What::Written(text) => {
            let file = file(text)?;
            all(["--perms".as_ref(), "0444".as_ref(), "--file".as_ref(), &file, at])
        }
        What::Scratch(bytes) => {
            let mut words: Vec<OsString> = ["--perms", "0700"].map(Into::into).into();
            words.extend(bytes.iter().flat_map(|bytes| ["--size".into(), bytes.to_string().into()]));
            words.extend(all(["--tmpfs".as_ref(), at]));
            words
        }
        What::EmptyFolder => {
            let mut words = all(["--perms", "0755", "--tmpfs"].map(OsStr::new));
            words.extend(all([at, "--remount-ro".as_ref(), at]));
            words
        }
        What::EmptyFile => {
            let file = file("")?;
            all(["--perms".as_ref(), "0444".as_ref(), "--ro-bind-data".as_ref(), &file, at])
        }
        What::Proc => all(["--proc".as_ref(), at]),
    })
}

fn all<const N: usize>(words: [&OsStr; N]) -> Vec<OsString> {
    words.map(OsStr::to_owned).into()
}

fn file(text: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("words", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}
