//! Whether a program may stand in for us: nobody but root can have put it there.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, Stat, fstat};

use crate::confine::mount::{self, about};

/// What a trusted program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::confine) struct Trusted {
    /// It runs as root, whoever starts it.
    pub(in crate::confine) is_setuid: bool,
}

/// The program and each folder on the way to it are root's, and nobody else may replace them.
pub(in crate::confine) fn trusted(path: &Path) -> io::Result<Trusted> {
    let mut is_setuid = false;
    for (nth, above) in path.ancestors().enumerate() {
        // A link on the way would lead to what nobody has looked at.
        let stat = fstat(mount::place(None, above).map_err(about(above))?)?;
        is_setuid |= nth == 0 && Mode::from_raw_mode(stat.st_mode).contains(Mode::SUID);
        let untrusted = if nth == 0 { untrusted_program(&stat) } else { untrusted_folder(&stat) };
        if let Some(why) = untrusted {
            return Err(about(above)(io::Error::other(why)));
        }
    }
    Ok(Trusted { is_setuid })
}

fn untrusted_program(stat: &Stat) -> Option<&'static str> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !mode.contains(Mode::XOTH) {
        return Some("it is no program that everybody may run");
    }
    foreign(stat).or(mode.intersects(Mode::WGRP | Mode::WOTH).then_some("others than root may write it"))
}

/// In a sticky folder nobody replaces what is root's.
fn untrusted_folder(stat: &Stat) -> Option<&'static str> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let is_open = mode.intersects(Mode::WGRP | Mode::WOTH) && !mode.contains(Mode::SVTX);
    foreign(stat).or(is_open.then_some("others than root may write it"))
}

fn foreign(stat: &Stat) -> Option<&'static str> {
    (stat.st_uid != 0).then_some("it is not root's")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn check(path: &Path, expected: &str) {
        let said = trusted(path).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            said.ends_with(expected) && said.is_empty() == expected.is_empty(),
            "{}: {said}",
            path.display()
        );
    }

    #[test]
    fn only_what_root_alone_can_replace_is_trusted() {
        check(Path::new("/usr/bin/env"), "");
        check(Path::new("/usr/bin"), "it is no program that everybody may run");
        check(Path::new("usr/bin/env"), "No such file or directory (os error 2)");
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        let program = root.join("bwrap");
        fs::write(&program, "").expect("a file");
        let mode =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        mode(&program, 0o755);
        if !rustix::process::getuid().is_root() {
            return check(&program, "it is not root's");
        }
        check(&program, "");
        for (program_mode, folder_mode, expected) in [
            (0o4755, 0o755, ""),
            (0o755, 0o1777, ""),
            (0o775, 0o755, "others than root may write it"),
            (0o757, 0o755, "others than root may write it"),
            (0o754, 0o755, "it is no program that everybody may run"),
            (0o755, 0o775, "others than root may write it"),
            (0o755, 0o777, "others than root may write it"),
        ] {
            mode(&program, program_mode);
            mode(&root, folder_mode);
            check(&program, expected);
            let is_setuid = trusted(&program).is_ok_and(|trusted| trusted.is_setuid);
            assert_eq!(is_setuid, program_mode == 0o4755);
        }
        mode(&root, 0o755);
        symlink(&program, root.join("link")).expect("a link");
        check(&root.join("link"), "(os error 40)");
        chown(&root, Some(4242), None).expect("chown");
        check(&program, "it is not root's");
        chown(&root, Some(0), None).expect("chown");
        chown(&program, Some(4242), None).expect("chown");
        check(&program, "it is not root's");
    }
}
