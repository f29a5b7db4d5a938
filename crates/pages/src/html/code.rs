//! Code as Markdown, letter by letter as the page shows it: the library puts the marks of links and of bold words into it, and
//! fences only what is called `code`.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, Node};

use super::words::{attribute, name, write_text};

/// A fence is at least so long.
const FENCE_MIN: usize = 3;

/// How far above its code a page says the language: Sphinx wraps twice.
const WRAPPED_MAX: usize = 2;

/// What authors call a language that is none.
const NO_LANGUAGE: [&str; 3] = ["default", "none", "notranslate"];

/// A block, between fences longer than any within.
pub(super) fn block(_: &dyn Handlers, pre: Element) -> Option<HandlerResult> {
    let code = shown(pre.node);
    let code = code.trim_matches('\n');
    if code.trim().is_empty() {
        return Some(String::new().into());
    }
    let fence = "`".repeat(FENCE_MIN.max(longest_run(code) + 1));
    let language = language(pre.node).unwrap_or_default();
    Some(format!("\n\n{fence}{language}\n{code}\n{fence}\n\n").into())
}

/// Code in a line of text.
pub(super) fn inline(_: &dyn Handlers, code: Element) -> Option<HandlerResult> {
    let code = shown(code.node);
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    if code.is_empty() {
        return Some(code.into());
    }
    let fence = "`".repeat(longest_run(&code) + 1);
    let is_at_end = code.starts_with('`') || code.ends_with('`');
    let space = if is_at_end { " " } else { "" };
    Some(format!("{fence}{space}{code}{space}{fence}").into())
}

fn shown(node: &Rc<Node>) -> String {
    let mut text = String::new();
    node.children.borrow().iter().for_each(|child| write_text(child, true, &mut text));
    text
}

fn longest_run(code: &str) -> usize {
    code.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// Its language, by the class of the code in it, of itself, or of what it is wrapped in.
fn language(pre: &Rc<Node>) -> Option<String> {
    let code = pre.children.borrow().iter().find(|child| name(child) == "code").cloned();
    let named = code.iter().chain([pre]).find_map(|node| of_class(node, &["language-", "lang-"]));
    // rustdoc says no more than the word.
    let is_rust =
        || attribute(pre, "class").is_some_and(|class| class.split_whitespace().any(|word| word == "rust"));
    named.or_else(|| is_rust().then(|| "rust".to_owned())).or_else(|| of_wrapping(pre))
}

fn of_wrapping(pre: &Rc<Node>) -> Option<String> {
    let mut node = pre.clone();
    for _ in 0..WRAPPED_MAX {
        node = parent(&node)?;
        let named = of_class(&node, &["highlight-source-", "highlight-", "language-"]);
        if named.is_some() {
            return named;
        }
    }
    None
}

fn parent(node: &Node) -> Option<Rc<Node>> {
    let weak = node.parent.take();
    let parent = weak.as_ref().and_then(std::rc::Weak::upgrade);
    node.parent.set(weak);
    parent
}

/// What stands after the first of these beginnings that a class has. It goes behind a fence, where nothing but a name may stand.
fn of_class(node: &Node, beginnings: &[&str]) -> Option<String> {
    let class = attribute(node, "class")?;
    let named =
        |word: &str| beginnings.iter().find_map(|beginning| word.strip_prefix(beginning)).map(str::to_owned);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "+#-_.".contains(letter);
    class
        .split_whitespace()
        .filter_map(named)
        .find(|word| !word.is_empty() && word.chars().all(is_name) && !NO_LANGUAGE.contains(&&**word))
}
