//! Searching definitions for what hides in them: characters that nobody sees, names that look like others', and words
//! that are meant for a model and not for a person. Nothing is asked of anybody; how long it takes grows with the text
//! alone.
//!
//! What is found is a sign and no proof, and a clean definition proves nothing: what a tool does is not in it.

mod characters;
mod finding;
mod folded;
mod looks;
mod names;
mod patterns;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::item::What;

use finding::Text;
pub use finding::{Finding, Severity};
use folded::Folded;
pub(crate) use names::Surroundings;
pub(crate) use patterns::Patterns;

/// Most findings in one definition.
const FINDINGS_MAX: usize = 50;

/// Longer descriptions crowd a conversation, in characters.
const DESCRIPTION_LONG: usize = 6_000;

/// In this much text anything can be hidden, in characters.
const DESCRIPTION_HUGE: usize = 30_000;

/// Searches definitions. Costly to make, so it is made when there is something to search and let go after that.
pub struct Scanner {
    patterns: Arc<Patterns>,
    surroundings: Surroundings,
}

impl Scanner {
    /// Beside these others: whose they are, and the names of their tools.
    pub fn new(neighbours: Vec<(String, String)>) -> Scanner {
        Scanner::with(Arc::new(Patterns::compile()), neighbours)
    }

    /// The same beside others, which costs little.
    pub fn beside(&self, neighbours: Vec<(String, String)>) -> Scanner {
        Scanner::with(self.patterns.clone(), neighbours)
    }

    pub(crate) fn with(patterns: Arc<Patterns>, neighbours: Vec<(String, String)>) -> Scanner {
        Scanner { patterns, surroundings: Surroundings::new(neighbours) }
    }

    /// What is found in a definition, worst first. `text` is JSON.
    pub fn search(&self, what: What, key: &str, text: &str) -> Vec<Finding> {
        let Ok(definition) = serde_json::from_str::<Value>(text) else { return Vec::new() };
        let mut findings = Vec::new();
        let mut texts = Vec::new();
        collect(&definition, String::new(), &mut texts);
        for text in &texts {
            findings.extend(characters::search(text));
            let Folded { plain, latin } = Folded::of(text.said);
            self.patterns.search(&text.at, &plain, &mut findings);
            if let Some(latin) = latin {
                self.patterns.search(&text.at, &latin, &mut findings);
            }
            if text.is_name {
                findings.extend(names::mixed(&text.at, text.said));
            } else {
                self.surroundings.mentioned(&text.at, &plain, key, &mut findings);
                findings.extend(length(text));
            }
        }
        if matches!(what, What::Tool | What::Prompt) {
            findings.extend(self.surroundings.shadowed(what, key));
        }
        // One of each kind in each text: both of its forms may have it.
        let mut seen = HashSet::new();
        findings.retain(|finding| seen.insert((finding.id.clone(), finding.at.clone(), finding.severity)));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings.truncate(FINDINGS_MAX);
        findings
    }
}

/// The texts of a definition, names of members included. Pictures are none.
fn collect<'t>(value: &'t Value, at: String, texts: &mut Vec<Text<'t>>) {
    match value {
        Value::String(said) => {
            let is_name = at == "name";
            let at = if at.is_empty() { "text".to_owned() } else { at };
            texts.push(Text { at, said, is_name });
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                collect(element, format!("{at}/{index}"), texts);
            }
        }
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| *key != "icons") {
                let below = if at.is_empty() { key.clone() } else { format!("{at}/{key}") };
                texts.push(Text { at: below.clone(), said: key, is_name: true });
                collect(value, below, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn length(text: &Text<'_>) -> Option<Finding> {
    // Bytes first: nearly all are short.
    let chars = Some(text.said).filter(|said| said.len() > DESCRIPTION_LONG)?.chars().count();
    let severity = if chars > DESCRIPTION_HUGE { Severity::Medium } else { Severity::Low };
    let says = format!("a text of {chars} characters, in which much can be hidden");
    (chars > DESCRIPTION_LONG).then(|| Finding::new(severity, "long", says, &text.at, text.said))
}

#[cfg(test)]
mod tests;
