//! The one place that opens the store. Who serves and who types a command gets it handed.

use std::path::Path;
use std::sync::Arc;

use store::SqliteStore;

/// What survives the process, in the folder `state`. Nothing touches the disk until something is asked or kept.
pub(crate) fn open(state: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::at(state))
}
