//! Which tools a workspace shows.

use upstream::Globs;

/// Which tools a workspace offers, by the names under which they are offered; all by default.
#[derive(Debug, Clone, Default)]
pub struct ShownTools {
    pub(super) include: Option<Globs>,
    pub(super) exclude: Option<Globs>,
}

impl ShownTools {
    /// Whether the tool of this name is there.
    pub fn admits(&self, name: &str) -> bool {
        let is_in = |globs: &Option<Globs>| globs.as_ref().map(|globs| globs.is_match(name));
        is_in(&self.include).unwrap_or(true) && !is_in(&self.exclude).unwrap_or(false)
    }
}
