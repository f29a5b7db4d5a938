//! `SamplePins`: a folder of its own that accepted definitions are kept in.

use std::sync::{Arc, Mutex, PoisonError};

use store::{CellStore, Kind, SqliteStore};
use tempfile::{NamedTempFile, TempDir};

/// Cells in a folder of their own.
pub struct SamplePins {
    /// Removed with this.
    _folder: TempDir,
    cells: Arc<SqliteStore>,
    /// A file where the folder of the cells should be, so that nothing can be read or kept.
    obstacle: Mutex<Option<NamedTempFile>>,
}

impl SamplePins {
    /// Cells that work.
    pub fn sound() -> SamplePins {
        let folder = tempfile::tempdir().expect("a folder");
        let cells = Arc::new(SqliteStore::at(folder.path()));
        SamplePins { _folder: folder, cells, obstacle: Mutex::default() }
    }

    /// Cells that fail until [`SamplePins::repair`].
    pub fn broken() -> SamplePins {
        let folder = tempfile::tempdir().expect("a folder");
        let obstacle = NamedTempFile::new_in(&folder).expect("a file");
        let cells = Arc::new(SqliteStore::at(obstacle.path()));
        SamplePins { _folder: folder, cells, obstacle: Mutex::new(Some(obstacle)) }
    }

    /// They work from now on.
    pub fn repair(&self) {
        drop(self.obstacle.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The cells.
    pub fn cells(&self) -> Arc<dyn CellStore> {
        self.cells.clone()
    }

    /// The record under a key.
    pub async fn record(&self, key: &str) -> String {
        let cell = self.cells.cell(Kind::Pin, key).await.expect("a store").expect("a record");
        String::from_utf8(cell.value).expect("a text")
    }

    /// Puts another record in its place.
    pub async fn overwrite(&self, key: &str, record: impl Into<Vec<u8>>) {
        self.cells.overwrite(Kind::Pin, key, record.into()).await.expect("a store");
    }
}
