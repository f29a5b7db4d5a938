//! The main content of HTML as text or Markdown: without what leads elsewhere on the site, and with whole addresses.
//!
//! It is somebody else's, so it may be anything: the parser keeps all of it in order in a tree, and what goes on from there,
//! step by step down the tree, gets one that is not deep.

pub(crate) mod addresses;
mod code;
mod frames;
mod tables;
pub(crate) mod words;

use std::rc::Rc;

use htmd::{HtmlToMarkdown, Node};
use markup5ever_rcdom::NodeData;

use crate::fault::Fault;
use crate::read::{Frames, Read};
use addresses::Addresses;
pub(crate) use words::attribute;
use words::{name, write_text};

/// How deep elements may lie in each other. A browser makes none deeper than 512.
const DEPTH_MAX: usize = 128;

/// What has less text than this, in bytes, is not the content of a page, whatever it is called.
const MAIN_BYTES_MIN: usize = 200;

/// Elements that are no content.
const LEFT_OUT: [&str; 21] = [
    "script", "style", "template", "svg", "canvas", "iframe", "frame", "object", "embed", "video", "audio",
    "link", "meta", "head", "nav", "footer", "button", "input", "select", "textarea", "dialog",
];

/// The same by their roles.
const ROLES_LEFT_OUT: [&str; 4] = ["navigation", "banner", "contentinfo", "search"];

/// The main content, with headings, links, lists, tables and code.
pub(crate) fn markdown(html: &str, base: &str) -> Result<Read, Fault> {
    let converter = converter();
    let Content { title, tree, frames } = content(&converter, html, base)?;
    tables::flatten(&tree);
    let parts: Vec<String> = main(&tree).iter().map(|part| converter.tree_to_markdown(part)).collect();
    Ok(Read { title, content: parts.join("\n\n"), frames })
}

/// The main content, without all that.
pub(crate) fn text(html: &str, base: &str) -> Result<Read, Fault> {
    let mut text = String::new();
    let Content { title, tree, frames } = content(&converter(), html, base)?;
    main(&tree).iter().for_each(|part| write_text(part, false, &mut text));
    Ok(Read { title, content: text.trim().to_owned(), frames })
}

pub(crate) fn converter() -> HtmlToMarkdown {
    // What is there for those without scripts is there for us.
    HtmlToMarkdown::builder()
        .scripting_enabled(false)
        .add_handler(vec!["table"], tables::markdown)
        .add_handler(vec!["pre"], code::block)
        .add_handler(vec!["code"], code::inline)
        .build()
}

/// All that is content, and what is told beside it.
struct Content {
    title: String,
    tree: Rc<Node>,
    frames: Frames,
}

fn content(converter: &HtmlToMarkdown, html: &str, base: &str) -> Result<Content, Fault> {
    let tree = converter.html_to_tree(html).map_err(|_| Fault::Html)?;
    let title = title(&tree);
    let frames = prune(&tree, &Addresses::new(base));
    Ok(Content { title, tree, frames })
}

fn title(tree: &Rc<Node>) -> String {
    let mut text = String::new();
    if let Some(title) = find(tree, &|node| name(node) == "title") {
        title.children.borrow().iter().for_each(|child| write_text(child, false, &mut text));
    }
    text
}

/// Its main parts, which are only there as long as the whole is.
fn main(tree: &Rc<Node>) -> Vec<Rc<Node>> {
    let is_main = |node: &Node| name(node) == "main" || attribute(node, "role").as_deref() == Some("main");
    let main = find(tree, &is_main).map_or_else(|| articles(tree), |main| vec![main]);
    if main.iter().map(text_bytes).sum::<usize>() >= MAIN_BYTES_MIN { main } else { vec![tree.clone()] }
}

/// The article; or all of them, if they are most of what the page says, as in a list of posts. Else they stand beside what the
/// page itself says, or beside what it says of others.
fn articles(tree: &Rc<Node>) -> Vec<Rc<Node>> {
    let articles: Vec<_> = find_all(tree, &|node| name(node) == "article").collect();
    let bytes = || articles.iter().map(text_bytes).sum::<usize>();
    if articles.len() < 2 || bytes() * 2 > text_bytes(tree) { articles } else { Vec::new() }
}

/// Takes out what is no content, and what lies too deep. Says which frames are among it.
fn prune(tree: &Rc<Node>, addresses: &Addresses) -> Frames {
    let mut frames = Frames::default();
    let mut left = vec![(tree.clone(), 0)];
    while let Some((node, depth)) = left.pop() {
        let mut children = node.children.borrow_mut();
        children.iter().for_each(|child| frames.see(child, addresses));
        children.retain(|child| depth < DEPTH_MAX && is_content(child));
        for child in children.iter() {
            whole_addresses(child, addresses);
            left.push((child.clone(), depth + 1));
        }
    }
    frames
}

fn is_content(node: &Node) -> bool {
    match &node.data {
        NodeData::Document | NodeData::Text { .. } => true,
        NodeData::Doctype { .. } | NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. } => false,
        NodeData::Element { name, .. } => {
            let is_role = |role: String| ROLES_LEFT_OUT.contains(&&*role);
            !LEFT_OUT.contains(&&*name.local)
                && attribute(node, "hidden").is_none()
                && attribute(node, "aria-hidden").as_deref() != Some("true")
                && !attribute(node, "role").is_some_and(is_role)
        }
    }
}

/// Makes the addresses of links and pictures whole; what leads to no page has none.
fn whole_addresses(node: &Node, addresses: &Addresses) {
    let NodeData::Element { attrs, .. } = &node.data else { return };
    attrs.borrow_mut().retain_mut(|attr| {
        if !matches!(&*attr.name.local, "href" | "src") {
            return true;
        }
        let whole = addresses.whole(&attr.value);
        let is_there = whole.is_some();
        attr.value = whole.unwrap_or_default().into();
        is_there
    });
}

/// The first that is wanted, in the order of the document.
fn find(tree: &Rc<Node>, is_wanted: &dyn Fn(&Node) -> bool) -> Option<Rc<Node>> {
    find_all(tree, is_wanted).next()
}

/// All that are wanted, in the order of the document, but none in another. Goes as far as it is asked.
fn find_all(tree: &Rc<Node>, is_wanted: &dyn Fn(&Node) -> bool) -> impl Iterator<Item = Rc<Node>> {
    let mut left = vec![tree.clone()];
    std::iter::from_fn(move || {
        while let Some(node) = left.pop() {
            if is_wanted(&node) {
                return Some(node);
            }
            left.extend(node.children.borrow().iter().rev().cloned());
        }
        None
    })
}

fn text_bytes(tree: &Rc<Node>) -> usize {
    let (mut left, mut bytes) = (vec![tree.clone()], 0);
    while let Some(node) = left.pop() {
        if let NodeData::Text { contents } = &node.data {
            bytes += contents.borrow().trim().len();
        }
        left.extend(node.children.borrow().iter().cloned());
    }
    bytes
}

#[cfg(test)]
mod tests;
