//! What models are told of the configuration: what is missing that they might look for. No command and no address: what
//! is to be done about it is a person's to decide.

use crate::load::Loaded;

/// Of a folder's servers.
const HELD: &str = "Servers that the files of this folder declare are not available: the person has not agreed to them. \
                    Go on without them.";

/// Of file tools.
const TOO_WIDE: &str =
    "There are no file tools here: Toolcrib was started in a folder that holds more than a project.";

impl Loaded {
    /// Our own words for models, if there are any.
    pub fn instructions(&self) -> Option<String> {
        let is_held = self.held.iter().any(|held| held.declaration.server().is_some());
        let words = [(is_held, HELD), (self.settings.too_wide.is_some(), TOO_WIDE)];
        let words: Vec<&str> =
            words.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect();
        (!words.is_empty()).then(|| words.join("\n\n"))
    }
}
