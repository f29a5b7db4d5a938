//! How deep the elements of HTML lie in each other, found out in one pass, before it is parsed.

use std::cell::{Cell, RefCell};

use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Elements that hold nothing, but in drawings and formulas.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "wbr"];

/// Elements that end where the next of their kind begins, or what they lie in ends. Many leave them open on purpose.
const SHORT: [&str; 15] = [
    "body", "colgroup", "dd", "dt", "head", "html", "li", "option", "p", "tbody", "td", "tfoot", "th",
    "thead", "tr",
];

/// Most of these at once: a parser looks through all that is open.
const SHORT_MAX: usize = 5_000;

/// Elements that a parser opens again where what they lie in has ended.
const REOPENED: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Drawings and formulas, which have rules of their own.
const FOREIGN: [&str; 2] = ["svg", "math"];

/// What a parser may open again, in elements and attributes.
const REOPENED_MAX: usize = 500_000;

/// Whether no more than so many elements are open at once, as far as their tags tell.
pub(super) fn is_within(html: &str, most: usize) -> bool {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let counter =
        Counter { most, open: RefCell::default(), reopened: Cell::new(0), is_within: Cell::new(true) };
    let tokenizer = Tokenizer::new(counter, TokenizerOpts::default());
    // A script is only text here, and stops nothing: all is read at once.
    let _ = tokenizer.feed(&input);
    tokenizer.sink.is_within.get()
}

struct Counter {
    most: usize,
    open: RefCell<Open>,
    reopened: Cell<usize>,
    is_within: Cell<bool>,
}

/// An open element.
struct Element {
    name: LocalName,
    /// What it takes to open it again.
    reopening: usize,
    is_short: bool,
}

/// What is open. It may hold what a parser has closed, and never the other way round.
#[derive(Default)]
struct Open {
    elements: Vec<Element>,
    /// How many of them are short ones.
    short: usize,
    /// What it takes to open all of them again.
    reopening: usize,
    /// How many of them read what they hold in another way.
    others: usize,
    foreign: usize,
}

impl Open {
    fn begin(&mut self, name: LocalName, attributes: usize, is_short: bool) {
        if is_short && self.elements.last().is_some_and(|last| last.is_short && last.name == name) {
            return;
        }
        self.short += usize::from(is_short);
        let reopening = if REOPENED.contains(&&*name) { 1 + attributes } else { 0 };
        self.reopening += reopening;
        self.foreign += usize::from(FOREIGN.contains(&&*name));
        self.others += usize::from(is_other(&name));
        self.elements.push(Element { name, reopening, is_short });
    }

    /// Only the innermost ends, with the short ones in it: a tag that ends no such element may end none.
    fn end(&mut self, name: &str) {
        let is_meant = |open: &Element| *open.name == *name;
        let innermost = match self.elements.last().is_some_and(is_meant) {
            true => self.elements.len().checked_sub(1),
            false => self.elements.iter().rposition(|open| !open.is_short),
        };
        let Some(at) = innermost.filter(|at| is_meant(&self.elements[*at])) else { return };
        for Element { name, reopening, is_short } in self.elements.drain(at..) {
            self.short -= usize::from(is_short);
            self.reopening -= reopening;
            self.foreign -= usize::from(FOREIGN.contains(&&*name));
            self.others -= usize::from(is_other(&name));
        }
    }
}

fn is_other(name: &str) -> bool {
    FOREIGN.contains(&name) || name == "select"
}

impl TokenSink for Counter {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(Tag { kind, name, attrs, .. }) = token else {
            return TokenSinkResult::Continue;
        };
        let mut open = self.open.borrow_mut();
        self.reopened.set(self.reopened.get() + open.reopening);
        let is_in = |names: &[&str]| open.foreign == 0 && names.contains(&&*name);
        let (is_void, is_short) = (is_in(&VOID), is_in(&SHORT));
        match kind {
            TagKind::StartTag => {
                if let Some(raw) = raw(&name).filter(|_| open.others == 0) {
                    return TokenSinkResult::RawData(raw);
                }
                if !is_void {
                    open.begin(name, attrs.len(), is_short);
                }
            }
            TagKind::EndTag => open.end(&name),
        }
        let others = open.elements.len() - open.short;
        if others > self.most || open.short > SHORT_MAX || self.reopened.get() > REOPENED_MAX {
            self.is_within.set(false);
        }
        TokenSinkResult::Continue
    }
}

/// How an element is read that holds nothing but text.
fn raw(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        "textarea" | "title" => Some(RawKind::Rcdata),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_at_once_is_counted() {
        for (html, most, expected) in [
            ("<div><div></div></div>", 2, true),
            ("<div><div></div></div>", 1, false),
            (&"<div></div>".repeat(100), 1, true),
            (&"<p>a<li>b<br><img>".repeat(100), 0, true),
            (&"<div><p>a</div>".repeat(100), 1, true),
            ("<ul><li><ul><li>", 1, false),
            // Words in a script or a comment are none of the document.
            (
                "<script>'<div><div><div>'</script><style><b><b></style><!-- <b><b> --><title><b></title>",
                0,
                true,
            ),
            ("</div></div><b>", 1, true),
            ("<div", 0, true),
            (&"<li><dd>".repeat(SHORT_MAX / 2), 0, true),
            (&"<li><dd>".repeat(SHORT_MAX), 0, false),
            (&"<ul><li><p>x<li><p></ul>".repeat(SHORT_MAX), 1, true),
            // What ends nothing does not count.
            (&"<div></z>".repeat(100), 99, false),
            (&"<div><object></div></object>".repeat(100), 99, false),
            (&"<svg><td>".repeat(50), 99, false),
            ("<svg><style><b><b></style></svg>", 3, false),
            ("<select><textarea><b><b></textarea></select>", 3, false),
            // What is opened again and again.
            (&format!("{}{}", "<b>".repeat(90), "x<p>".repeat(10_000)), 99, false),
            (&format!("{}{}", "<b>".repeat(9), "x<p>".repeat(10_000)), 99, true),
        ] {
            assert_eq!(is_within(html, most), expected, "{html:.40}");
        }
    }
}
