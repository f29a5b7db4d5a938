//! Socket files that somebody on the machine serves at this moment. A mount keeps nobody from connecting to one that lies in
//! a folder that a program sees, so each is hidden there.
//!
//! They are read from the kernel's list, since no folder says which of its sockets are alive, and a dead one is its owner's
//! to make anew. Not in it are those that were bound by a path that does not begin at the root, or in another network
//! namespace, as in a container.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The kernel's list: some ten thousand sockets.
const LIST_BYTES_MAX: u64 = 2 << 20;

/// Files that are looked at. Each takes some microseconds.
const FILES_MAX: usize = 4_096;

/// What stands before a path in the list.
const COLUMNS: usize = 7;

/// All of them, without links, but for those that a program is meant to use.
pub(super) fn live_sockets(used: &[PathBuf]) -> Vec<PathBuf> {
    let mut list = Vec::new();
    let read = File::open("/proc/net/unix").and_then(|file| file.take(LIST_BYTES_MAX).read_to_end(&mut list));
    // A kernel without such sockets has no list of them.
    if read.is_err() {
        return Vec::new();
    }
    let used: Vec<PathBuf> = used.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut paths = bound(&list);
    paths.retain(|path| !used.contains(path));
    paths.into_iter().collect()
}

/// The files in the list that are there.
fn bound(list: &[u8]) -> BTreeSet<PathBuf> {
    let paths = list.split(|byte| *byte == b'\n').filter_map(path).take(FILES_MAX);
    paths.filter_map(|path| socket(path).ok().flatten()).collect()
}

/// Where a line's socket is bound, if that is a file. The path may hold blanks.
fn path(line: &[u8]) -> Option<&Path> {
    let mut rest = line;
    for _ in 0..COLUMNS {
        rest = rest.trim_ascii_start();
        rest = &rest[rest.iter().position(|byte| *byte == b' ')?..];
    }
    let path = rest.get(1..)?;
    path.starts_with(b"/").then(|| Path::new(OsStr::from_bytes(path)))
}

/// Another file may lie there by now.
fn socket(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = path.canonicalize()?;
    Ok(fs::symlink_metadata(&path)?.file_type().is_socket().then_some(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn those_that_somebody_serves_are_found_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path().canonicalize().expect("there");
        let at = |name: &str| here.join(name);
        let _stream = UnixListener::bind(at("a stream")).expect("a socket");
        let _datagram = UnixDatagram::bind(at("datagram")).expect("a socket");
        let _used = UnixListener::bind(at("used")).expect("a socket");
        drop(UnixListener::bind(at("dead")).expect("a socket"));
        let replaced = UnixListener::bind(at("replaced")).expect("a socket");
        fs::remove_file(at("replaced")).and_then(|()| fs::write(at("replaced"), "")).expect("a file");
        let mut found = live_sockets(&[at("used")]);
        drop(replaced);
        found.retain(|path| path.starts_with(&here));
        assert_eq!(found, [at("a stream"), at("datagram")]);
    }

    #[test]
    fn a_line_that_names_no_file_names_nothing() {
        for line in [
            "",
            "Num       RefCount Protocol Flags    Type St Inode Path",
            "000000002c7618d6: 00000003 00000000 00000000 0005 03 11791918",
            "00000000a2c7ee06: 00000003 00000000 00000000 0001 03  1520",
            "00000000a2c7ee06: 00000003 00000000 00010000 0001 01  1520 @/abstract",
            "00000000a2c7ee06: 00000003 00000000 00010000 0001 01  1520 relative",
        ] {
            assert_eq!(path(line.as_bytes()), None, "{line}");
        }
        let line = b"00000000a2c7ee06: 00000003 00000000 00010000 0001 01  1520 /a b/c";
        assert_eq!(path(line), Some(Path::new("/a b/c")));
    }
}
