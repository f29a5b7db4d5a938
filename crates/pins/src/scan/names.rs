//! Names that look like others', by the tables of Unicode's UTS 39.

use std::collections::{HashMap, HashSet};

use unicode_security::MixedScript;

use super::finding::{Finding, Severity};
use super::looks::looks;
use crate::item::What;

/// Shorter names resemble each other by chance, in characters.
const NEAR_CHARS_MIN: usize = 7;

/// Shorter names, and those of one word, stand in many texts without being meant, in characters.
const MENTIONED_CHARS_MIN: usize = 6;

/// Longest name that is compared letter by letter, in bytes.
const COMPARED_BYTES_MAX: usize = 128;

/// Words that tell a model what to do.
const DIRECTIVES: &str = "must always never instead before whenever should first replace overrides not when";

/// The tools of others.
pub(crate) struct Surroundings {
    /// Whose it is, by its name.
    owners: HashMap<String, String>,
    /// Names by what they look like.
    skeletons: HashMap<String, String>,
}

impl Surroundings {
    pub(super) fn new(neighbours: Vec<(String, String)>) -> Surroundings {
        let mut surroundings = Surroundings { owners: HashMap::new(), skeletons: HashMap::new() };
        for (owner, name) in neighbours {
            surroundings.skeletons.entry(looks(&name)).or_insert_with(|| name.clone());
            surroundings.owners.entry(name).or_insert(owner);
        }
        surroundings
    }

    /// Whether a name reads like another's.
    pub(super) fn shadowed(&self, what: What, name: &str) -> Option<Finding> {
        let finding = |severity, says: String| Some(Finding::new(severity, "shadowing", says, "name", name));
        if let Some(owner) = self.owners.get(name) {
            let says =
                format!("{owner} has a tool of the same name; a model may take one {what} for the other");
            return finding(Severity::Low, says);
        }
        if let Some(other) = self.skeletons.get(&looks(name)) {
            let owner = self.owners.get(other)?;
            return finding(
                Severity::High,
                format!("it looks like `{other}` of {owner}, and is another name"),
            );
        }
        if name.chars().count() < NEAR_CHARS_MIN || name.len() > COMPARED_BYTES_MAX {
            return None;
        }
        let is_near = |other: &&String| {
            name.len().abs_diff(other.len()) <= 1
                && !is_numbered(name, other)
                && strsim::osa_distance(name, other) == 1
        };
        let other = self.owners.keys().filter(is_near).min()?;
        let owner = self.owners.get(other)?;
        finding(Severity::Low, format!("it is one letter away from `{other}` of {owner}"))
    }

    /// Whether a text tells what to do with another's tool.
    pub(super) fn mentioned(&self, at: &str, text: &str, own: &str, findings: &mut Vec<Finding>) {
        if self.owners.is_empty() {
            return;
        }
        for sentence in text.split(['.', '\n', ';']) {
            let words = || sentence.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
            let is_meant =
                |word: &&str| word.len() >= MENTIONED_CHARS_MIN && word.contains(['_', '-']) && *word != own;
            let Some((word, owner)) =
                words().filter(is_meant).find_map(|word| Some((word, self.owners.get(word)?)))
            else {
                continue;
            };
            let said: HashSet<String> = words().map(str::to_lowercase).collect();
            let is_told = DIRECTIVES.split(' ').any(|directive| said.contains(directive));
            let severity = if is_told { Severity::Medium } else { Severity::Low };
            let says = match is_told {
                true => format!("it tells what to do with `{word}` of {owner}"),
                false => format!("it speaks of `{word}` of {owner}"),
            };
            findings.push(Finding::new(severity, "mention", says, at, sentence));
        }
    }
}

/// True for names that differ in a digit or in the plural, as those of one family do.
fn is_numbered(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 's').to_owned();
    bare(one) == bare(other)
}

/// Letters of several scripts in one word, one of them taken for Latin.
pub(super) fn mixed(at: &str, name: &str) -> Option<Finding> {
    if name.is_ascii() || name.chars().count() > COMPARED_BYTES_MAX {
        return None;
    }
    let looks = looks(name);
    let is_disguised = looks.is_ascii() && looks != name && name.chars().any(|c| c.is_ascii_alphabetic());
    if is_disguised {
        let says =
            format!("a name that looks like `{looks}` and is not: letters of another script are in it");
        return Some(Finding::new(Severity::High, "homoglyphs", says, at, &spelled(name)));
    }
    let words = name.split(|c: char| !c.is_alphanumeric());
    let is_mixed = words.into_iter().any(|word| !word.is_single_script());
    let says = "a name of letters of several scripts";
    is_mixed.then(|| Finding::new(Severity::Medium, "mixed-scripts", says, at, &spelled(name)))
}

/// A name with the letters that are not ASCII written out.
fn spelled(name: &str) -> String {
    let letter = |c: char| if c.is_ascii() { c.to_string() } else { format!("{c}<U+{:04X}>", u32::from(c)) };
    name.chars().map(letter).collect()
}
