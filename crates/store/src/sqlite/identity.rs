//! Which files a database that is open has, and what becomes of them once they are not all in their places.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::busy::lock;
use crate::error::StoreError;
use crate::folder::found;

/// Where the files of a database are.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    /// Its name in the state folder, which may be a link.
    named: PathBuf,
    /// The file itself.
    pub(super) database: PathBuf,
    /// What was committed last, which is there as long as anybody has the database open.
    pub(super) log: PathBuf,
    /// The memory that processes share.
    pub(super) memory: PathBuf,
}

impl Paths {
    /// Those of the database that has this name. SQLite puts the others beside the file that a link leads to.
    pub(super) fn of(named: &Path) -> io::Result<Paths> {
        let database = named.canonicalize()?;
        let [log, memory] = beside(&database);
        Ok(Paths { named: named.to_owned(), database, log, memory })
    }
}

/// What SQLite puts beside a database: its log and its memory.
pub(super) fn beside(database: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|end| {
        let mut path = database.as_os_str().to_owned();
        path.push(end);
        path.into()
    })
}

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    device: u64,
    number: u64,
}

impl Node {
    pub(super) fn of(path: &Path) -> io::Result<Node> {
        fs::metadata(path).map(|found| Node { device: found.dev(), number: found.ino() })
    }

    /// Whether it has this name. One that cannot be looked at is not gone.
    fn is_at(self, path: &Path) -> io::Result<bool> {
        Ok(found(Node::of(path))? == Some(self))
    }
}

/// The files of a database that is open.
#[derive(Debug)]
pub(super) struct Identity {
    paths: Paths,
    database: Node,
    log: Node,
    memory: Node,
}

impl Identity {
    /// Those of a database that was this file before it was opened: so one that was replaced since is noticed, too.
    pub(super) fn of(paths: Paths, database: Node) -> io::Result<Identity> {
        let (log, memory) = (Node::of(&paths.log)?, Node::of(&paths.memory)?);
        Ok(Identity { paths, database, log, memory })
    }

    /// Whether all of them still have their names. Three questions to the system.
    ///
    /// # Errors
    /// They cannot be looked at, so nobody knows.
    pub(super) fn is_in_place(&self) -> io::Result<bool> {
        let Paths { named, log, memory, .. } = &self.paths;
        Ok(self.database.is_at(named)? && self.log.is_at(log)? && self.memory.is_at(memory)?)
    }

    /// Does what is to be done before a database is closed of which something is not in its place. Once it has another
    /// name, what was committed last goes with it: whatever has the name by now must not be taken for what that belongs to.
    ///
    /// # Errors
    /// Others have it at this moment, or the files cannot be removed: then the new database is not to be opened.
    pub(super) fn leave(&self, connection: &Connection) -> Result<(), StoreError> {
        let Paths { named, log, memory, .. } = &self.paths;
        let failed = StoreError::folder(log.parent().unwrap_or(log));
        if !self.log.is_at(log).map_err(failed)? {
            return Ok(());
        }
        if self.database.is_at(named).map_err(failed)? {
            // Others may have written there with another memory: what this one knows of the log is not all of it.
            return Ok(connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
                .map(drop)?);
        }
        let _locked = lock(log.parent().unwrap_or(log))?;
        let has_memory = self.memory.is_at(memory).map_err(failed)?;
        if has_memory {
            empty_log(connection)?;
        }
        for (node, path) in [(self.log, log), (self.memory, memory)] {
            if node.is_at(path).map_err(failed)? {
                found(fs::remove_file(path)).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Writes what is in the log into the database that it belongs to.
fn empty_log(connection: &Connection) -> Result<(), StoreError> {
    match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)) {
        Ok(0) => Ok(()),
        Ok(_) => Err(StoreError::Busy),
        Err(error) => {
            // Where that has gone there may be no room for it, or no way to write.
            tracing::error!(%error, "what was committed last is not in the state database that was moved away");
            Ok(())
        }
    }
}
