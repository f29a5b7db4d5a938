//! `FolderWatch`: tells when something in a folder has changed, also of one that does not exist yet. Costs nothing while nothing
//! happens.
#![expect(clippy::disallowed_methods, reason = "looks whether a folder of the configuration is there")]

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Room for some hundred events at once; each is 16 bytes and a name.
const EVENTS_BYTES: usize = 8 * 1024;

/// What changes a folder as its readers see it.
const OF_FOLDER: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// What may bring a folder about that does not exist.
const OF_ANCESTOR: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// Watches one folder.
#[derive(Debug)]
pub struct FolderWatch {
    events: AsyncFd<OwnedFd>,
    folder: PathBuf,
    /// What is watched now: the folder, or the nearest that exists above it.
    watched: i32,
}

impl FolderWatch {
    /// Watches a folder that need not exist. Must be called on a runtime.
    ///
    /// # Errors
    /// The system watches nothing more for this user, or may not look there.
    pub fn new(folder: &Path) -> io::Result<FolderWatch> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        // SAFETY: the descriptor is open, and nobody else closes or replaces it: it is handed over, and only lent from then on.
        #[expect(unsafe_code, reason = "the runtime cannot know that the descriptor stays what it is")]
        let events = unsafe { AsyncFd::register_with_interest(inotify, Interest::READABLE) }?;
        let watched = nearest(events.get_ref(), folder)?;
        Ok(FolderWatch { events, folder: folder.to_owned(), watched })
    }

    /// Resolves once something may have changed since the watch was made or this last resolved. May be dropped and called
    /// again.
    ///
    /// # Errors
    /// Nothing can be watched any more.
    pub async fn changed(&mut self) -> io::Result<()> {
        let mut ready = self.events.readable().await?;
        let mut buffer = [0; EVENTS_BYTES];
        loop {
            match rustix::io::read(self.events.get_ref(), &mut buffer) {
                Ok(1..) | Err(Errno::INTR) => {}
                Ok(_) | Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        ready.clear_ready();
        // The folder may be there now, or another one in its place.
        let watched = nearest(self.events.get_ref(), &self.folder)?;
        if watched != self.watched {
            // It is gone by itself with what it watched.
            let _ = inotify::remove_watch(self.events.get_ref(), self.watched);
            self.watched = watched;
        }
        Ok(())
    }
}

/// Watches the folder, or the nearest that exists above it.
fn nearest(inotify: &OwnedFd, folder: &Path) -> io::Result<i32> {
    let mut below = None;
    for path in folder.ancestors() {
        let flags = if path == folder { OF_FOLDER } else { OF_ANCESTOR };
        match inotify::add_watch(inotify, path, flags) {
            // One that has come into being before this was watched makes no event.
            Ok(watched) if below.is_none_or(|below: &Path| !below.is_dir()) => return Ok(watched),
            Ok(_) => return nearest(inotify, folder),
            Err(Errno::NOENT | Errno::NOTDIR) => below = Some(path),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::NOENT.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A test that waits this long has failed.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn every_way_in_which_a_folder_changes_is_told() {
        let root = tempfile::tempdir().expect("a folder");
        let (above, folder) = (root.path().join("a"), root.path().join("a/b/tools"));
        let moved = root.path().join("moved");
        let mut watch = FolderWatch::new(&folder).expect("a watch");
        let acts: [(&str, &dyn Fn() -> io::Result<()>); 9] = [
            ("made", &|| fs::create_dir_all(&folder)),
            ("a file made", &|| fs::write(folder.join("x.toml"), "1")),
            ("a file written", &|| fs::write(folder.join("x.toml"), "2")),
            ("a file renamed", &|| fs::rename(folder.join("x.toml"), folder.join("y.toml"))),
            ("a file removed", &|| fs::remove_file(folder.join("y.toml"))),
            ("moved away", &|| fs::rename(&folder, &moved)),
            ("moved back", &|| fs::rename(&moved, &folder)),
            ("removed", &|| fs::remove_dir_all(&above)),
            ("made again", &|| fs::create_dir_all(&folder)),
        ];
        for (what, act) in acts {
            act().expect(what);
            timeout(PATIENCE, watch.changed()).await.expect(what).expect(what);
            // What came besides, such as a second event of the same act.
            while timeout(Duration::from_millis(20), watch.changed()).await.is_ok() {}
        }
    }
}
