//! What commands run, for `runs` and `commands`: each text is read once for a decision, and few texts are.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use shell::{Script, Unclear};

use crate::facts::{Facts, ToolOrigin};

/// The functions that ask for it. If they fail, what a text runs cannot be told.
pub(super) const FUNCTIONS: [&str; 2] = ["runs", "commands"];

/// The most words that `runs` takes.
pub(super) const WORDS_MAX: usize = 4;

/// Texts of one decision; each may take some milliseconds.
const TEXTS_MAX: usize = 4;

/// The tool whose command is typed to a task of before, if there is this argument.
const TYPES: (&str, &str) = ("BackgroundBash", "task_id");

/// Those that were read.
#[derive(Default)]
pub(crate) struct Scripts {
    read: Mutex<Vec<(String, Arc<Script>)>>,
    /// Whether another program than bash may read them, so that nobody can tell.
    is_typed: bool,
}

impl Scripts {
    /// Those of a call.
    pub(super) fn of_call(facts: &Facts<'_>, arguments: Option<&Value>) -> Scripts {
        let types = facts.origin == ToolOrigin::BuiltIn && facts.tool == TYPES.0;
        let is_typed = types && arguments.is_some_and(|arguments| arguments.get(TYPES.1).is_some());
        Scripts { is_typed, ..Scripts::default() }
    }

    /// What a text runs.
    pub(super) fn of(&self, text: &str) -> Result<Arc<Script>, Unclear> {
        if self.is_typed {
            return Err(Unclear::Typed);
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, script)) = read.iter().find(|(known, _)| known == text) {
            return Ok(script.clone());
        }
        if read.len() == TEXTS_MAX {
            return Err(Unclear::Much);
        }
        let script = Arc::new(Script::read(text));
        read.push((text.to_owned(), script.clone()));
        Ok(script)
    }
}

/// Why a word of `runs` cannot be one; nothing if it can.
pub(super) fn odd_word(word: &str) -> Option<&'static str> {
    let is_odd = word.is_empty() || word.contains(|c: char| c.is_whitespace() || c == '/');
    if word.starts_with('-') {
        return Some(
            "`runs` passes over options: leave them out, and ask for the program and its sub-commands",
        );
    }
    is_odd
        .then_some("a word of `runs` is the name of a program or a sub-command of it, such as 'git', 'push'")
}
