//! `STATE/run`: where the sockets of running processes lie. Only its owner may enter it.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};
use server::unix;

/// The folder's name within the state.
const NAME: &str = "run";

/// What a socket's name ends in, behind the number of its process.
const ENDING: &str = ".sock";

/// What the note ends in that a process's client is served by another one.
const FRONT_ENDING: &str = ".front";

/// More sockets than this are not looked at: nobody runs so many.
const SOCKETS_MAX: usize = 1_000;

/// The folder, open. It is reached by its descriptor: the path of a socket may have about a hundred bytes, and that of
/// a state folder may have more.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder below `state`, and makes it if it is missing.
    ///
    /// # Errors
    /// If it cannot be made, or others may enter it.
    pub fn make(state: &Path) -> io::Result<Folder> {
        store::create_private(&state.join(NAME))?;
        Folder::open(state)
    }

    /// Opens the folder below `state`.
    ///
    /// # Errors
    /// If it is not there, or others may enter it: whoever can put a socket there could answer in our name.
    pub fn open(state: &Path) -> io::Result<Folder> {
        let path = state.join(NAME);
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&folder)?;
        let is_private = stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o077 == 0;
        if !is_private {
            let path = path.display();
            return Err(io::Error::other(format!(
                "{path} must be yours, and nobody else may enter it; remove it, or run: chmod 700 {path}"
            )));
        }
        Ok(Folder(folder))
    }

    /// The path of a process's socket, good as long as this folder is open.
    pub(super) fn socket(&self, pid: u32) -> PathBuf {
        self.path(&format!("{pid}{ENDING}"))
    }

    /// The path of something that lies here, good as long as this folder is open.
    pub fn path(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(name)
    }

    /// A file that lies here, made if it is missing, for its owner only.
    ///
    /// # Errors
    /// It cannot be opened, or is a link.
    pub fn file(&self, name: &str, also: OFlags) -> io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | also;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?)
    }

    /// Notes that the client of this process is served by another one, which is to remove the note.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn note_front(&self, pid: u32) -> io::Result<()> {
        self.file(&format!("{pid}{FRONT_ENDING}"), OFlags::empty()).map(drop)
    }

    /// Removes that note.
    pub fn remove_note(&self, pid: u32) {
        // It is gone already, or somebody has taken the folder away.
        let _ = rustix::fs::unlinkat(&self.0, format!("{pid}{FRONT_ENDING}"), AtFlags::empty());
    }

    /// The processes that have a socket here, in the order of their numbers; some may be dead.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn pids(&self) -> io::Result<Vec<u32>> {
        self.numbers(ENDING)
    }

    /// The processes whose names with this ending lie here, in the order of their numbers.
    fn numbers(&self, ending: &str) -> io::Result<Vec<u32>> {
        let entries = Dir::read_from(&self.0)?.filter_map(Result::ok);
        let pid = |name: &[u8]| std::str::from_utf8(name).ok()?.strip_suffix(ending)?.parse().ok();
        let mut pids: Vec<u32> =
            entries.filter_map(|entry| pid(entry.file_name().to_bytes())).take(SOCKETS_MAX).collect();
        pids.sort_unstable();
        Ok(pids)
    }

    /// Removes the sockets that dead processes have left behind.
    pub(super) async fn sweep(&self) {
        for pid in self.pids().unwrap_or_default() {
            self.remove_if_dead(pid).await;
        }
        let fronts = self.numbers(FRONT_ENDING).unwrap_or_default();
        fronts.into_iter().filter(|pid| is_gone(*pid)).for_each(|pid| self.remove_note(pid));
    }

    /// Removes a process's socket if the process is gone and nobody listens there. One that lives may be about to
    /// listen: its socket is there a moment before.
    pub(super) async fn remove_if_dead(&self, pid: u32) {
        if !is_gone(pid) {
            return;
        }
        // Somebody listens, or somebody else has removed it.
        let _ = unix::make_way(&self.socket(pid)).await;
    }
}

fn is_gone(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    id.is_none_or(|id| test_kill_process(id) == Err(Errno::SRCH))
}

/// The processes that serve on this state folder, and those whose clients are served by one of them; some may be dead.
pub fn serving(state: &Path) -> Vec<u32> {
    let Ok(folder) = Folder::open(state) else { return Vec::new() };
    let numbers = |ending| folder.numbers(ending).unwrap_or_default();
    numbers(ENDING).into_iter().chain(numbers(FRONT_ENDING)).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make what stands in the folder")]

    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use tokio::net::UnixListener;

    /// More than the system gives to a process.
    const DEAD: u32 = 1 << 30;

    fn rights(path: &Path) -> u32 {
        path.metadata().expect("it is there").permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn only_sockets_without_a_listener_are_swept() {
        let state = tempfile::tempdir().expect("a folder");
        // Longer than any socket's path may be.
        let state = state.path().join("x".repeat(200));
        let folder = Folder::make(&state).expect("made");
        assert_eq!(rights(&state.join(NAME)), 0o700);
        let pids = [5, 7, 12, std::process::id(), DEAD];
        let listening = UnixListener::bind(folder.socket(pids[1])).expect("free");
        for pid in [pids[2], pids[3], DEAD] {
            drop(UnixListener::bind(folder.socket(pid)).expect("free"));
        }
        for name in ["5.sock", "notes.txt", "12.sock.bak", "-1.sock", "x.sock", "99999999999.sock"] {
            std::fs::write(state.join(NAME).join(name), "").expect("a file");
        }
        assert_eq!(folder.pids().expect("readable"), pids);
        folder.sweep().await;
        drop(listening);
        let left = folder.pids().expect("readable");
        assert!(!left.contains(&DEAD), "{left:?}");
        assert!(left.contains(&5), "a file that is no socket is not ours: {left:?}");
        assert!(left.contains(&7), "somebody listens: {left:?}");
        assert!(left.contains(&std::process::id()), "the process lives and may be about to listen: {left:?}");
    }

    #[test]
    fn a_folder_that_others_may_enter_is_not_used() {
        let state = tempfile::tempdir().expect("a folder");
        assert!(Folder::open(state.path()).is_err(), "not there");
        drop(Folder::make(state.path()).expect("made"));
        let path = state.path().join(NAME);
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("ours");
        let error = Folder::make(state.path()).expect_err("others may enter").to_string();
        assert!(error.contains("chmod 700"), "{error}");
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("ours");
        assert!(Folder::open(state.path()).is_ok());
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(elsewhere.path(), Permissions::from_mode(0o700)).expect("ours");
        symlink(&path, elsewhere.path().join(NAME)).expect("free");
        assert!(Folder::open(elsewhere.path()).is_err(), "a link");
    }
}
