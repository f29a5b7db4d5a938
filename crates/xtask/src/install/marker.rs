//! Filling a folder once: again only when what it should hold has changed, or the last attempt was interrupted.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Context as _;

/// Written last, so that a folder without it is known to be unfinished.
const MARKER: &str = ".installed";

/// Makes sure that `folder` holds what `contents` says, calling `fill` on an empty folder if it does not. `what` is
/// what a developer is told that waits for it.
///
/// Two commands at once take turns. Moving the checkout counts as a change, since installed scripts name paths.
pub(super) fn once(
    folder: &Path,
    what: &str,
    contents: &str,
    fill: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let parent = folder.parent().context("an installation folder lies below the cache folder")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let turn = File::create(folder.with_extension("lock"))?;
    turn.lock().context("cannot wait for another installation")?;

    let wanted = format!("{}\n{contents}\n", folder.display());
    if fs::read_to_string(folder.join(MARKER)).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("installing {what}");
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fill()?;
    fs::write(folder.join(MARKER), wanted).context("cannot mark the installation as finished")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for `contents`; says whether the folder was filled, and had been emptied first.
    fn fills(folder: &Path, contents: &str) -> bool {
        let mut filled = false;
        once(folder, "it", contents, || {
            assert_eq!(fs::read_dir(folder)?.count(), 0, "filled from empty");
            fs::write(folder.join("thing"), "")?;
            filled = true;
            Ok(())
        })
        .expect("nothing is in the way");
        filled
    }

    #[test]
    fn a_folder_is_filled_once_for_each_list() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let folder = cache.path().join("deep").join("npm");
        assert!(fills(&folder, "a@1"));
        assert!(!fills(&folder, "a@1"));
        assert!(fills(&folder, "a@2"));
        assert!(!fills(&folder, "a@2"));
    }

    #[test]
    fn an_interrupted_installation_is_done_again() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let folder = cache.path().join("npm");
        let interrupted = once(&folder, "it", "a@1", || {
            fs::write(folder.join("half"), "")?;
            anyhow::bail!("the network went away")
        });
        assert_eq!(interrupted.expect_err("it failed").to_string(), "the network went away");
        assert!(fills(&folder, "a@1"));
    }

    #[test]
    fn a_moved_checkout_installs_again() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        assert!(fills(&cache.path().join("old"), "a@1"));
        fs::rename(cache.path().join("old"), cache.path().join("new")).expect("a rename");
        assert!(fills(&cache.path().join("new"), "a@1"));
    }
}
