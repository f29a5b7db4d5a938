//! The rules of `.gitignore` and `.ignore` files, for leaving out what is built or fetched.
//!
//! Rules count from their folder downwards; the deepest rule that says something decides, and `.ignore` is
//! read after `.gitignore`. The files are read through the folder being walked, so a link to elsewhere is no
//! rule file. Rules outside the workspace and a user's own are not known here.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tool_api::{Folder, Inside, Root};

/// In the order of their weight, lightest first.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// What is read of one rule file; compiling much more would take noticeable time and memory.
const RULES_BYTES_MAX: usize = 64 * 1024;

/// The rules from the workspace down to the folder being listed.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    levels: Vec<Level>,
}

/// The rules of one folder.
#[derive(Debug)]
struct Level {
    /// Paths below begin with so many bytes that belong to the folder.
    prefix_bytes: usize,
    rules: Gitignore,
}

impl IgnoreRules {
    /// The rules of all folders above `start`. Folders that cannot be read have none.
    pub(super) fn above(start: &Inside, files: &Root) -> IgnoreRules {
        let mut rules = IgnoreRules::default();
        if start.is_root() {
            return rules;
        }
        let mut above = Inside::root();
        for name in start.as_str().split('/') {
            if let Ok(folder) = files.folder(&above) {
                rules.enter(&folder);
            }
            match above.child(name) {
                Ok(deeper) => above = deeper,
                Err(_) => break,
            }
        }
        rules
    }

    /// Adds the rules of a folder that the walk goes into.
    pub(super) fn enter(&mut self, folder: &Folder) {
        let prefix_bytes = if folder.path().is_root() { 0 } else { folder.path().as_str().len() + 1 };
        // "." means that paths are given relative to the folder.
        let mut builder = GitignoreBuilder::new(".");
        for name in RULE_FILES {
            add_lines(&mut builder, folder, name);
        }
        let rules = builder.build().unwrap_or_else(|_| Gitignore::empty());
        self.levels.push(Level { prefix_bytes, rules });
    }

    /// Forgets the rules of the folder entered last.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether the rules leave out the entry at `path`, given that nothing above it is left out.
    pub(super) fn leaves_out(&self, path: &str, is_folder: bool) -> bool {
        for level in self.levels.iter().rev() {
            match level.rules.matched(&path[level.prefix_bytes..], is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

/// Lines that are no rules are skipped, as git does; so is the rest of an overlong file.
fn add_lines(builder: &mut GitignoreBuilder, folder: &Folder, name: &str) {
    let Ok(file) = folder.read(name, RULES_BYTES_MAX) else {
        return;
    };
    let text = String::from_utf8_lossy(&file.bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_cut = file.total_bytes > RULES_BYTES_MAX as u64;
    let whole = if is_cut { text.rfind('\n').unwrap_or(0) } else { text.len() };
    for line in text[..whole].lines() {
        let _ = builder.add_line(None, line);
    }
}
