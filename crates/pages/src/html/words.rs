//! The words of a tree of HTML, laid out in lines as a page lays them out.

use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;

/// Elements that begin a line of their own.
const BLOCKS: [&str; 29] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
];

/// Whether an element begins a line of its own.
pub(crate) fn is_block(node: &Node) -> bool {
    BLOCKS.contains(&name(node))
}

pub(crate) fn name(node: &Node) -> &str {
    match &node.data {
        NodeData::Element { name, .. } => &name.local,
        _ => "",
    }
}

pub(crate) fn attribute(node: &Node, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    attrs.borrow().iter().find(|attr| &*attr.name.local == wanted).map(|attr| attr.value.to_string())
}

/// What a reader sees: a tree that has been pruned is not deep.
pub(super) fn write_text(node: &Rc<Node>, is_pre: bool, text: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        push_text(&contents.borrow(), is_pre, text);
        return;
    }
    let name = name(node);
    if is_pre && name == "br" {
        // Code has empty lines.
        text.push('\n');
        return;
    }
    let is_block = BLOCKS.contains(&name);
    if is_block || matches!(name, "br" | "tr") {
        end_line(text);
    }
    for child in node.children.borrow().iter() {
        write_text(child, is_pre || name == "pre", text);
    }
    match name {
        "td" | "th" => text.push('\t'),
        "p" | "pre" | "table" | "ul" | "ol" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            end_line(text);
            text.push('\n');
        }
        _ if is_block => end_line(text),
        _ => {}
    }
}

fn push_text(piece: &str, is_pre: bool, text: &mut String) {
    if is_pre {
        text.push_str(piece);
        return;
    }
    for part in piece.split_inclusive(char::is_whitespace) {
        let word = part.trim();
        text.push_str(word);
        let is_between = part.len() > word.len() && !text.ends_with(char::is_whitespace) && !text.is_empty();
        if is_between {
            text.push(' ');
        }
    }
}

fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches([' ', '\t']).len());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
