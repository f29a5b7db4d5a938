//! Takes a tree apart and notes what does not fit.

use std::str::FromStr;

use strum::VariantNames;

use crate::node::{Member, Node, Place, Written};
use crate::workspace::Workspace;

/// Most patterns in one list of a rule.
pub(super) const PATTERNS_MAX: usize = 200;

/// Longest pattern, name or placeholder, in bytes.
pub(super) const PATTERN_BYTES_MAX: usize = 1_000;

/// More than this many problems are one problem: the wrong file.
const PROBLEMS_MAX: usize = 100;

/// Below this likeness (1 is the same) a guess would puzzle more than it helps.
const LIKENESS_MIN: f64 = 0.6;

/// One thing that is wrong with a rules file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands; none if the file itself is at fault.
    pub place: Option<Place>,
    /// What is wrong and what to try, in a sentence without a full stop.
    pub what: String,
}

/// What has been found wrong so far.
pub(super) struct Reader {
    /// What paths are held against.
    pub(super) workspace: Workspace,
    pub(super) problems: Vec<Problem>,
}

/// The members of an object.
pub(super) struct Table<'n>(&'n [Member]);

impl<'n> Table<'n> {
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        self.0.iter().find(|member| member.name == name).map(|member| &member.node)
    }

    pub(super) fn members(&self) -> &'n [Member] {
        self.0
    }
}

impl Reader {
    pub(super) fn report(&mut self, place: Place, what: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { place: Some(place), what });
        }
    }

    /// An object; members that are not `known` are reported.
    pub(super) fn table<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Table<'n>> {
        let table = self.any_table(node, what)?;
        for member in table.0.iter().filter(|member| !known.contains(&member.name.as_str())) {
            let likeness = |word: &&&str| strsim::normalized_damerau_levenshtein(&member.name, word);
            let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            let hint = match nearest.filter(|word| likeness(word) >= LIKENESS_MIN) {
                Some(word) => format!("; did you mean `{word}`?"),
                None => format!("; it knows {}", known.join(", ")),
            };
            self.report(member.place, format!("{what} knows no `{}`{hint}", shown(&member.name)));
        }
        Some(table)
    }

    /// An object with whatever members.
    pub(super) fn any_table<'n>(&mut self, node: &'n Node, what: &str) -> Option<Table<'n>> {
        match &node.written {
            Written::Table(members) => Some(Table(members)),
            _ => self.wrong(node, what, "an object,"),
        }
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str, items_max: usize) -> Option<&'n [Node]> {
        match &node.written {
            Written::List(items) if items.len() <= items_max => Some(items),
            Written::List(items) => {
                self.report(
                    node.place,
                    format!("{what} has {} items; at most {items_max} can be held", items.len()),
                );
                None
            }
            _ => self.wrong(node, what, "a list,"),
        }
    }

    pub(super) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.written {
            Written::Text(text) if text.len() <= PATTERN_BYTES_MAX => Some(text),
            Written::Text(_) => {
                self.report(node.place, format!("{what} is longer than {PATTERN_BYTES_MAX} bytes"));
                None
            }
            Written::Number(_) | Written::Bool(_) | Written::Null => {
                self.wrong(node, what, "text in quotes,")
            }
            Written::List(_) | Written::Table(_) => self.wrong(node, what, "text,"),
        }
    }

    /// A list of texts, of which none is empty and at least one is there.
    pub(super) fn texts<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        items_max: usize,
    ) -> Option<Vec<(Place, &'n str)>> {
        let items = self.list(node, what, items_max)?;
        if items.is_empty() {
            self.report(node.place, format!("{what} is empty; leave it out, or name something"));
        }
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match self.text(item, &format!("each of {what}")) {
                Some(text) if text.trim().is_empty() => {
                    self.report(item.place, format!("each of {what} must be some text"));
                }
                Some(text) => texts.push((item.place, text)),
                None => {}
            }
        }
        Some(texts)
    }

    /// One of the words of an enum.
    pub(super) fn word<T: FromStr + VariantNames>(&mut self, node: &Node, what: &str) -> Option<T> {
        let text = self.text(node, what)?;
        let word = text.parse().ok();
        if word.is_none() {
            self.not_one_of(node, what, T::VARIANTS, text);
        }
        word
    }

    pub(super) fn not_one_of(&mut self, node: &Node, what: &str, words: &[&str], text: &str) {
        self.report(node.place, format!("{what} is one of {}, not {:?}", words.join(", "), shown(text)));
    }

    fn wrong<T>(&mut self, node: &Node, what: &str, wanted: &str) -> Option<T> {
        self.report(node.place, format!("{what} must be {wanted} not {}", node.kind()));
        None
    }
}

/// A name from the file, cut to what fits a line.
fn shown(name: &str) -> String {
    name.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
