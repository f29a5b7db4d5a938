//! How deep the elements of HTML lie in each other, found out in one pass, before it is parsed.

use std::cell::Cell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Elements that are never open for long: they hold nothing, or end where the next of their kind begins.
const SHORT: [&str; 31] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html", "img",
    "input", "li", "link", "meta", "optgroup", "option", "p", "param", "rp", "rt", "source", "tbody", "td",
    "tfoot", "th", "thead", "tr", "wbr",
];

/// Whether no more than so many elements are open at once, as far as their tags tell.
pub(super) fn is_within(html: &str, most: usize) -> bool {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(
        Counter { open: Cell::new(0), most, is_within: Cell::new(true) },
        TokenizerOpts::default(),
    );
    // A script is only text here, and stops nothing: all is read at once.
    let _ = tokenizer.feed(&input);
    tokenizer.sink.is_within.get()
}

struct Counter {
    open: Cell<usize>,
    most: usize,
    is_within: Cell<bool>,
}

impl TokenSink for Counter {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(Tag { kind, name, self_closing: _, .. }) = token else {
            return TokenSinkResult::Continue;
        };
        let name = &*name;
        match kind {
            TagKind::StartTag => match name {
                "script" => return TokenSinkResult::RawData(RawKind::ScriptData),
                "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
                    return TokenSinkResult::RawData(RawKind::Rawtext);
                }
                "textarea" | "title" => return TokenSinkResult::RawData(RawKind::Rcdata),
                _ if SHORT.contains(&name) => {}
                _ => {
                    self.open.set(self.open.get() + 1);
                    if self.open.get() > self.most {
                        self.is_within.set(false);
                    }
                }
            },
            TagKind::EndTag if SHORT.contains(&name) => {}
            TagKind::EndTag => self.open.set(self.open.get().saturating_sub(1)),
        }
        TokenSinkResult::Continue
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
            ("<ul><li><ul><li>", 1, false),
            // Words in a script or a comment are none of the document.
            (
                "<script>'<div><div><div>'</script><style><b><b></style><!-- <b><b> --><title><b></title>",
                0,
                true,
            ),
            ("</div></div><b>", 1, true),
            ("<div", 0, true),
        ] {
            assert_eq!(is_within(html, most), expected, "{html:.40}");
        }
    }
}
