//! Which tools a few words mean: BM25 over what a tool says of itself, and people of ours, where a word of its name counts more than one of its
//! description. A library for this would bring a language's stop words and stems; names and arguments of tools have none.

use std::collections::HashMap;

use serde_json::Value;
use tool_api::{Definition, Origin};

use super::search_words::search_words;

/// How much a word counts that stands in the name, in the description, or as an argument: most tools take a path or a file.
const NAME: f64 = 3.0;
/// One by which people look for a tool of ours.
const SEARCHED_BY: f64 = 2.0;
const DESCRIPTION: f64 = 1.0;
const ARGUMENT: f64 = 0.5;

/// The usual constants of BM25: how soon repeating a word counts no more, and how much length counts against a tool.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How much of a description is read, in bytes: some servers write a book.
const READ_BYTES_MAX: usize = 4 * 1024;

/// The tools that have to do with the words, the best first; those that are as good in the order given.
pub(super) fn ranked<'d>(tools: &'d [Definition], query: &str) -> Vec<&'d Definition> {
    let documents: Vec<Document> = tools.iter().map(Document::of).collect();
    let mean = documents.iter().map(|document| document.length).sum::<f64>() / tools.len().max(1) as f64;
    let words: Vec<(String, f64)> = words(query)
        .map(|word| {
            let has = documents.iter().filter(|document| document.weights.contains_key(&word)).count() as f64;
            let rarity = (1.0 + (tools.len() as f64 - has + 0.5) / (has + 0.5)).ln();
            (word, rarity)
        })
        .collect();
    let score = |document: &Document| {
        let damping = K1 * (1.0 - B + B * document.length / mean);
        let of_word = |(word, rarity): &(String, f64)| {
            let count = document.weights.get(word).copied().unwrap_or(0.0);
            rarity * count * (K1 + 1.0) / (count + damping)
        };
        words.iter().map(of_word).sum::<f64>()
    };
    let mut scored: Vec<_> = tools.iter().zip(documents.iter().map(score)).collect();
    scored.retain(|(_, score)| *score > 0.0);
    scored.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    scored.into_iter().map(|(tool, _)| tool).collect()
}

/// The words of a tool.
struct Document {
    /// How much each counts.
    weights: HashMap<String, f64>,
    /// All that it says of itself. What it is searched by besides counts against no tool.
    length: f64,
}

impl Document {
    fn of(tool: &Definition) -> Document {
        let mut weights: HashMap<String, f64> = HashMap::new();
        let mut add = |text: &str, weight| {
            words(text).for_each(|word| *weights.entry(word).or_insert(0.0) += weight);
        };
        add(tool.name.as_str(), NAME);
        add(beginning(&tool.description), DESCRIPTION);
        arguments(tool).iter().for_each(|(name, _)| add(name, ARGUMENT));
        let length = weights.values().sum::<f64>();
        if tool.origin == Origin::BuiltIn {
            let by = words(search_words(tool.name.as_str()));
            by.for_each(|word| *weights.entry(word).or_insert(0.0) += SEARCHED_BY);
        }
        Document { weights, length }
    }
}

/// The names of its arguments, and whether each must be given.
pub(super) fn arguments(tool: &Definition) -> Vec<(String, bool)> {
    let schema: Value = serde_json::from_slice(&tool.input_schema).unwrap_or_default();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
    names.map(|name| (name.clone(), required.iter().any(|one| one == name))).collect()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(READ_BYTES_MAX)]
}

/// The words of a text of two letters and more, in small letters and without their endings; `readFile` and `read_file` are two
/// words.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.into_iter().filter(|word| word.chars().nth(1).is_some()).map(|word| stem(&word).to_owned())
}

/// `creates`, `created`, `creating` and `create` are one word.
fn stem(word: &str) -> &str {
    let without = |word, ending| str::strip_suffix(word, ending).filter(|stem| stem.chars().count() >= 3);
    let stem = ["ing", "ed", "es", "s"].into_iter().find_map(|ending| without(word, ending)).unwrap_or(word);
    without(stem, "e").unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_names_of_every_spelling() {
        for (text, expected) in [
            ("readFile", &["read", "fil"][..]),
            ("git_list-branches", &["git", "list", "branch"]),
            ("creates Created creating: create", &["creat"; 4]),
            ("issues issue", &["issu"; 2]),
            ("a red bus is", &["red", "bus", "is"]),
            ("Größe", &["größ"]),
            (" -- ", &[]),
        ] {
            assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
