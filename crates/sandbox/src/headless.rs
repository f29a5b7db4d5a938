//! Finds a browser that shows pages to programs.

use std::path::{Path, PathBuf};

use crate::process::{find_in, variable};

/// Where Debian, Fedora, Alpine and Google put the program itself. In front of it they have scripts, each of which takes a
/// moment and adds words of its own.
const USUAL: [&str; 5] = [
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/chromium.org/chromium/chromium",
];

/// What it is called in a PATH.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// The program of Chromium or Chrome: the one that a person has named, or else the first that is there. Blocks.
pub fn headless_browser(named: Option<&Path>) -> Option<PathBuf> {
    let is_there = |path: &Path| find_in(None, &path.to_string_lossy());
    match named {
        Some(named) => is_there(named),
        None => USUAL
            .into_iter()
            .find_map(|usual| is_there(Path::new(usual)))
            .or_else(|| NAMES.into_iter().find_map(|name| find_in(variable("PATH"), name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_is_named_is_taken_or_none() {
        assert_eq!(headless_browser(Some(Path::new("/bin/sh"))), Some(PathBuf::from("/bin/sh")));
        assert_eq!(headless_browser(Some(Path::new("/no/such/browser"))), None);
    }
}
