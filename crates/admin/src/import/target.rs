//! `Target`: where new servers go.

use std::path::Path;

use clients::Server;

use crate::fault::Fault;

/// The file that servers go into.
pub trait Target: Send + Sync {
    /// Where it lies.
    fn path(&self) -> &Path;

    /// What stands in it; nothing if it is not there yet. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be read.
    fn text(&self) -> Result<String, Fault>;

    /// The text with these servers more, and what is wrong with them, a sentence each.
    ///
    /// # Errors
    /// The text does not bear another server, whatever it is.
    fn check(&self, text: &str, new: &[(&str, &Server)]) -> Result<(String, Vec<String>), Fault>;
}
