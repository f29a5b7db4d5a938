//! All mounts inside: the root and those of the plan, with what is mounted below them, and no other.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::{plan, refuse};
use crate::confine::init::given::Init;
use crate::confine::mount::about;
use crate::confine::plan::{Access, Entry, Plan, What};

pub(in crate::confine::init) fn are_as_planned(init: &Init) -> io::Result<()> {
    let mounts = std::fs::read("/proc/self/mountinfo").map_err(about("mounts"))?;
    check(plan(init)?, &mounts)
}

fn check(plan: &Plan, mounts: &[u8]) -> io::Result<()> {
    for line in mounts.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Some((at, options)) = read(line) else { return refuse("the list of mounts cannot be read") };
        let wanted =
            wanted(plan, &at).ok_or_else(|| about(&at)(io::Error::other("nobody ordered this mount")))?;
        let has = |option: &&&str| options.split(',').any(|found| found == **option);
        if let Some(missing) = wanted.iter().find(|option| !has(option)) {
            return Err(about(&at)(io::Error::other(format!("the mount is not {missing}"))));
        }
    }
    Ok(())
}

/// Where the mount is and its options: the fifth and the sixth word (proc_pid_mountinfo(5)).
fn read(line: &[u8]) -> Option<(PathBuf, String)> {
    let mut words = line.split(|byte| *byte == b' ').skip(4);
    let (at, options) = (words.next()?, words.next()?);
    Some((OsString::from_vec(unescaped(at)).into(), String::from_utf8_lossy(options).into_owned()))
}

/// Blanks and their like are written as a backslash and three octal digits.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left = word;
    while let Some((first, rest)) = left.split_first() {
        let digits =
            rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        left = if byte.is_some() { &rest[3..] } else { rest };
    }
    bytes
}

/// The options that a mount there must have; nothing if there may be none.
fn wanted(plan: &Plan, at: &Path) -> Option<&'static [&'static str]> {
    if at == Path::new("/") {
        return Some(&["ro", "nosuid", "nodev"]);
    }
    // The innermost is the last.
    let around = plan.entries.iter().rev().filter(|entry| at.starts_with(&entry.at));
    let mounted = around.filter_map(|entry| Some((entry, options(entry)?)));
    let (entry, options) = mounted.max_by_key(|(entry, _)| entry.at.components().count())?;
    (entry.at == at || may_hold_mounts(entry)).then_some(options)
}

/// Those of the machine come with what is mounted below them; `bwrap` covers parts of `/proc`.
fn may_hold_mounts(entry: &Entry) -> bool {
    matches!(entry.what, What::Shown { .. } | What::Proc)
}

/// Nothing if it is no mount.
fn options(entry: &Entry) -> Option<&'static [&'static str]> {
    Some(match &entry.what {
        What::Shown { access: Access::Read, .. } => &["ro", "nosuid", "nodev"],
        What::EmptyFolder | What::EmptyFile => &["ro", "nosuid", "nodev"],
        What::Shown { access: Access::Write, .. } | What::Scratch(_) => &["nosuid", "nodev"],
        What::Shown { access: Access::Device, .. } => &["nosuid"],
        What::Proc => &["nosuid", "nodev", "noexec"],
        What::Link(_) | What::Written(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::layer::Layer;

    fn plan() -> Plan {
        let shown = |access| What::Shown { from: "x".into(), access, identity: (0, 0) };
        let entries = [
            ("/usr", shown(Access::Read)),
            ("/dev/null", shown(Access::Device)),
            ("/etc/hosts", What::Written(String::new())),
            ("/tmp", What::Scratch(Some(1))),
            ("/proc", What::Proc),
            ("/a b", shown(Access::Write)),
            ("/a b/.git", shown(Access::Read)),
            ("/a b/key", What::EmptyFile),
        ];
        let entries = entries.map(|(at, what)| Entry { layer: Layer::Root, at: at.into(), what });
        Plan { entries: entries.into(), outside: Vec::new() }
    }

    #[test]
    fn no_mount_but_those_of_the_plan_may_be_there() {
        for (at, options, expected) in [
            ("/", "ro,nosuid,nodev,relatime", ""),
            ("/", "rw,nosuid,nodev", "the mount is not ro"),
            ("/usr", "ro,nosuid,nodev", ""),
            ("/usr/below", "ro,nosuid,nodev", ""),
            ("/usr/below", "rw,nosuid,nodev", "the mount is not ro"),
            ("/usrs", "ro,nosuid,nodev", "nobody ordered this mount"),
            ("/dev/null", "rw,nosuid", ""),
            ("/dev/null", "rw", "the mount is not nosuid"),
            ("/etc/hosts", "ro,nosuid,nodev", "nobody ordered this mount"),
            ("/tmp", "rw,nosuid,nodev", ""),
            ("/tmp/old", "ro,nosuid,nodev", "nobody ordered this mount"),
            ("/proc/sys", "ro,nosuid,nodev,noexec", ""),
            ("/proc", "rw,nosuid,nodev", "the mount is not noexec"),
            ("/a\\040b", "rw,nosuid,nodev", ""),
            ("/a\\040b", "rw,nosuid", "the mount is not nodev"),
            ("/a\\040b/c", "rw,nosuid,nodev", ""),
            ("/a\\040b/.git", "rw,nosuid,nodev", "the mount is not ro"),
            ("/a\\040b/.git/c", "rw,nosuid,nodev", "the mount is not ro"),
            ("/a\\040b/key/c", "ro,nosuid,nodev", "nobody ordered this mount"),
            ("/oldroot", "ro,nosuid,nodev", "nobody ordered this mount"),
        ] {
            let line = format!("45 79 0:45 /newroot {at} {options} - tmpfs tmpfs rw\n");
            let said =
                check(&plan(), line.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(said.ends_with(expected) && said.is_empty() == expected.is_empty(), "{line} {said}");
        }
        assert!(check(&plan(), b"45 79\n").is_err());
    }
}
