//! What is written, whatever it comes to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sandbox::text_file;

use crate::consent::Consent;
use crate::problem::Problems;
use crate::surroundings::Surroundings;
use crate::{find, read};

/// What another process must be told to have this configuration wherever it is started: the file that was named and
/// stands alone. The user's own is found without a word.
pub fn named(named: Option<&Path>, surroundings: &Surroundings) -> Option<PathBuf> {
    find::named(named, surroundings).map(|path| surroundings.absolute(path))
}

/// The servers that are configured, as they are written; their references are not followed.
///
/// # Errors
/// Everything that is wrong with the files.
pub fn servers(
    named: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<BTreeMap<String, upstream::Config>, Problems> {
    if self::named(named, surroundings).is_some_and(|path| !text_file::exists(&path)) {
        return Ok(BTreeMap::new());
    }
    let found = find::find(named, surroundings).map_err(|problem| Problems::new(&[], vec![problem]))?;
    let sources = found.sources;
    // Whatever a person has agreed to: nothing is started by what is written.
    let read = read::tree(&sources, surroundings, &Consent::ForThisRun);
    let read = read.map_err(|problems| Problems::new(&sources, problems))?;
    let (file, problems) = read::file(&read.tree);
    if problems.is_empty() { Ok(file.mcp) } else { Err(Problems::new(&sources, problems)) }
}
