//! What a JSON text, or arguments, are made of, and how a rule looks at each part.

use std::borrow::Cow;

use crate::assigned;
use crate::names::{Content, Declared, Fit};
use crate::vocabulary::Owner;

/// One value or name in a JSON text.
pub(crate) struct Token<'t> {
    /// What it says.
    pub(crate) text: Cow<'t, str>,
    pub(crate) kind: Kind,
    /// What was put here for the names that it stands below. What is put here for a name holds for all below it in a
    /// tool's own object, and in the protocol's for its own value.
    pub(crate) marks: Marks,
}

/// What rules have put to a name, a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Texts below it go.
    pub(crate) texts: u64,
    /// Numbers below it, too.
    pub(crate) numbers: u64,
}

impl Marks {
    /// What a rule puts to a name that fits. Of very many rules the last ones share a bit, and strike more.
    pub(crate) fn put(&mut self, nth: usize, fit: Fit) {
        let bit = 1 << nth.min(63);
        self.texts |= bit;
        self.numbers |= if fit == Fit::Whole { bit } else { 0 };
    }

    /// Whether all of a value goes by this rule.
    fn take(self, nth: usize, text: &str, kind: Kind) -> bool {
        let bit = 1 << nth.min(63);
        let is_number = match kind {
            Kind::Number => true,
            Kind::Text => is_numeral(text),
            Kind::Key | Kind::Label | Kind::Word | Kind::Coded | Kind::Encoded | Kind::Bytes => return false,
        };
        bit & if is_number { self.numbers } else { self.texts } != 0
    }

    /// These and others.
    pub(crate) fn and(self, other: Marks) -> Marks {
        Marks { texts: self.texts | other.texts, numbers: self.numbers | other.numbers }
    }
}

/// True for a number that is written as a text.
fn is_numeral(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The name of a member.
    Key,
    /// The same, of the protocol's own, which no rule strikes.
    Label,
    Text,
    /// One of the protocol's words, which no rule strikes.
    Word,
    /// Something of a given form, of which only what matches is struck: the name of a media type, or base64 as it stands.
    Coded,
    /// Text that is in the JSON as base64.
    Encoded,
    /// Bytes that are no text, in one of the ways to read them as such: what strikes anything strikes the whole.
    Bytes,
    Number,
}

impl Token<'_> {
    /// A name in somebody's object.
    pub(crate) fn of_name<'n>(name: &'n str, owner: Owner<'_>) -> Token<'n> {
        let kind = if owner.has(name) { Kind::Label } else { Kind::Key };
        Token { text: Cow::Borrowed(name), kind, marks: Marks::default() }
    }

    /// Of a name: what holds for its value. What the protocol counts is nobody's.
    pub(crate) fn marks_below(&self) -> Marks {
        let numbers = if self.kind == Kind::Label { 0 } else { self.marks.numbers };
        Marks { numbers, ..self.marks }
    }

    /// Whether it is what a rule looks for. Puts the rule's mark to a name that is.
    pub(crate) fn is_found(&mut self, content: &Content, nth: usize) -> bool {
        match self.kind {
            Kind::Label => false,
            Kind::Key => {
                let fit = content.of_name(&self.text);
                fit.iter().for_each(|fit| self.marks.put(nth, *fit));
                fit.is_some_and(Fit::is_struck)
            }
            kind => content.is_in(&self.text) || self.marks.take(nth, &self.text, kind),
        }
    }
}

/// What a redaction leaves of a token of which `left` is left by now, if that is not the same, and how many places it
/// strikes. Puts the rule's mark to a name that is what it looks for. Without `content` all goes but names.
pub(crate) fn strike(
    content: Option<&Content>,
    placeholder: &str,
    nth: usize,
    declared: &Declared,
    token: &mut Token<'_>,
    left: Option<&str>,
) -> Option<(String, u32)> {
    let whole = || Some((placeholder.to_owned(), 1));
    if let (Kind::Key | Kind::Label, Some(content)) = (token.kind, content) {
        let fit = content.of_name(&token.text)?;
        token.marks.put(nth, fit);
        let is_struck = token.kind == Kind::Key && fit.is_struck() && !declared.has(&token.text);
        return is_struck.then(|| content.strike(placeholder, left.unwrap_or(&token.text)));
    }
    let text = left.unwrap_or(&token.text);
    match (token.kind, content) {
        (Kind::Key | Kind::Label | Kind::Word, _) => None,
        _ if text.is_empty() => None,
        // Numbers and the like tell nothing of a file's content that its text does not.
        (Kind::Number | Kind::Coded, None) => None,
        (_, None) => whole().filter(|_| text != placeholder),
        // A name that fits is what the value is assigned to.
        (kind, Some(_)) if token.marks.take(nth, text, kind) => whole(),
        (Kind::Bytes, Some(content)) => whole().filter(|_| content.is_in(text)),
        (_, Some(content)) => assigned::strike(content.text(), placeholder, text),
    }
}
