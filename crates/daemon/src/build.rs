//! Which build a process is: its socket bears the name, so that a front never speaks with another one's process.
#![expect(clippy::disallowed_methods, reason = "the program's own file is looked at, and not opened")]

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// The program that this process runs, wherever its file is by now.
const RUNNING: &str = "/proc/self/exe";

/// Bytes of the hash that make a name.
const NAME_BYTES: usize = 8;

/// The program of this process.
pub struct Build {
    path: PathBuf,
    identity: Identity,
}

/// What tells one file from another that has taken its place, or was written over it.
type Identity = (u64, u64, u64, i64, i64);

fn identity(path: &Path) -> io::Result<Identity> {
    let found: Metadata = std::fs::metadata(path)?;
    Ok((found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

impl Build {
    /// That of this process.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn own() -> io::Result<Build> {
        Ok(Build { path: std::env::current_exe()?, identity: identity(Path::new(RUNNING))? })
    }

    /// Where its file was when the process started.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What tells it from every other.
    pub fn name(&self) -> String {
        let (device, inode, bytes, seconds, nanoseconds) = self.identity;
        let facts = format!("{} {device} {inode} {bytes} {seconds} {nanoseconds}", env!("CARGO_PKG_VERSION"));
        HEXLOWER.encode(&Sha256::digest(facts)[..NAME_BYTES])
    }

    /// True once its file is gone, or is another one: new fronts do not come here any more.
    pub fn is_exchanged(&self) -> bool {
        identity(&self.path).ok() != Some(self.identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_another_build() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        let build = || Build { path: path.clone(), identity: identity(&path).expect("it is there") };
        std::fs::write(&path, "one").expect("a file");
        let first = build();
        assert_eq!((first.is_exchanged(), first.name()), (false, build().name()));
        let beside = folder.path().join("new");
        std::fs::write(&beside, "two").expect("a file");
        std::fs::rename(&beside, &path).expect("it takes the place");
        assert!(first.is_exchanged());
        assert_ne!(first.name(), build().name());
        std::fs::remove_file(&path).expect("it is there");
        assert!(first.is_exchanged());
        assert!(!Build::own().expect("this test").is_exchanged());
    }
}
