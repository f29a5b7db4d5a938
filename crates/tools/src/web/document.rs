//! The main content of HTML as text or Markdown: without what leads elsewhere on the site, and with whole addresses.
//!
//! It is somebody else's, so it may be anything: the parser keeps all of it in order in a tree, and what goes on from there,
//! step by step down the tree, gets one that is neither deep nor large.

mod addresses;
mod depth;
mod tables;
mod words;

use std::rc::Rc;

use htmd::{HtmlToMarkdown, Node};
use markup5ever_rcdom::NodeData;
use tool_api::ToolError;

use addresses::Addresses;
use words::{name, write_text};

/// What of a document is looked at, in bytes.
const HTML_BYTES_MAX: usize = 1024 * 1024;

/// Where in it its title is, in bytes.
const TITLE_WITHIN_BYTES: usize = 64 * 1024;

/// Tags of a document that are looked at.
const TAGS_MAX: usize = 50_000;

/// Elements that may be open at once while it is parsed: a parser looks through all of them again and again.
const OPEN_MAX: usize = 1_000;

/// How deep elements may lie in each other. A browser makes none deeper than 512.
const DEPTH_MAX: usize = 128;

/// Elements and pieces of text that are looked at.
const NODES_MAX: usize = 50_000;

/// What has less text than this, in bytes, is not the content of a page, whatever it is called.
const MAIN_BYTES_MIN: usize = 200;

/// Elements that are no content.
const LEFT_OUT: [&str; 20] = [
    "script", "style", "template", "svg", "canvas", "iframe", "object", "embed", "video", "audio", "link",
    "meta", "head", "nav", "footer", "button", "input", "select", "textarea", "dialog",
];

/// The same by their roles.
const ROLES_LEFT_OUT: [&str; 4] = ["navigation", "banner", "contentinfo", "search"];

/// Whether a document of this media type is HTML.
pub(super) fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml")
}

/// Text as HTML that shows it.
pub(super) fn as_html(text: &str) -> String {
    format!("<pre>{}</pre>", text.replace('&', "&amp;").replace('<', "&lt;"))
}

/// The main content, with headings, links, lists, tables and code.
pub(super) fn markdown(html: &str, base: &str) -> Result<String, ToolError> {
    let converter = converter();
    let tree = content(&converter, html, base)?;
    tables::flatten(&tree);
    Ok(converter.tree_to_markdown(&main(&tree)))
}

/// The main content, without all that.
pub(super) fn text(html: &str, base: &str) -> Result<String, ToolError> {
    let mut text = String::new();
    let tree = content(&converter(), html, base)?;
    write_text(&main(&tree), false, &mut text);
    Ok(text.trim().to_owned())
}

/// The title of a document, which stands at its beginning.
pub(super) fn title(html: &str) -> String {
    let html = &html[..html.floor_char_boundary(TITLE_WITHIN_BYTES)];
    let Ok(tree) = parse(&converter(), html) else { return String::new() };
    let mut text = String::new();
    if let Some(title) = find(&tree, &|node| name(node) == "title") {
        title.children.borrow().iter().for_each(|child| write_text(child, false, &mut text));
    }
    text.trim().to_owned()
}

fn converter() -> HtmlToMarkdown {
    // What is there for those without scripts is there for us.
    HtmlToMarkdown::builder().scripting_enabled(false).build()
}

/// All that is content.
fn content(converter: &HtmlToMarkdown, html: &str, base: &str) -> Result<Rc<Node>, ToolError> {
    let tree = parse(converter, html)?;
    prune(&tree, &mut Addresses::new(base));
    Ok(tree)
}

/// Its main part, which is only there as long as the whole is.
fn main(tree: &Rc<Node>) -> Rc<Node> {
    let is_main = |node: &Node| name(node) == "main" || attribute(node, "role").as_deref() == Some("main");
    let main = find(tree, &is_main).or_else(|| find(tree, &|node| name(node) == "article"));
    main.filter(|main| text_bytes(main) >= MAIN_BYTES_MIN).unwrap_or_else(|| tree.clone())
}

/// What of a document is looked at.
fn beginning(html: &str) -> &str {
    let html = &html[..html.floor_char_boundary(HTML_BYTES_MAX)];
    let is_tag = |at: &usize| html[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic());
    let mut tags = html.match_indices('<').map(|(at, _)| at).filter(is_tag);
    tags.nth(TAGS_MAX).map_or(html, |end| &html[..end])
}

/// Whether only the beginning of a document is looked at.
pub(super) fn is_cut(html: &str) -> bool {
    beginning(html).len() < html.len()
}

/// # Errors
/// It is not one that can be parsed in a short time.
fn parse(converter: &HtmlToMarkdown, html: &str) -> Result<Rc<Node>, ToolError> {
    let html = beginning(html);
    let too_deep = || {
        let why = format!(
            "the elements of the page lie more than {OPEN_MAX} deep in each other or never end; read it as html"
        );
        ToolError::new("not_a_page", why)
    };
    // Where that is text, and where a tag, depends on what lies around it.
    let is_plain = !html.contains("<![CDATA[");
    match is_plain && depth::is_within(html, OPEN_MAX) {
        true => converter.html_to_tree(html).map_err(|_| too_deep()),
        false => Err(too_deep()),
    }
}

/// Takes out what is no content, what lies too deep, and what is too much.
fn prune(tree: &Rc<Node>, addresses: &mut Addresses) {
    let (mut left, mut nodes) = (vec![(tree.clone(), 0)], 0);
    while let Some((node, depth)) = left.pop() {
        let mut children = node.children.borrow_mut();
        children.retain(|child| {
            nodes += 1;
            nodes <= NODES_MAX && depth < DEPTH_MAX && is_content(child)
        });
        for child in children.iter().rev() {
            whole_addresses(child, addresses);
            left.push((child.clone(), depth + 1));
        }
    }
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
fn whole_addresses(node: &Node, addresses: &mut Addresses) {
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

fn attribute(node: &Node, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    attrs.borrow().iter().find(|attr| &*attr.name.local == wanted).map(|attr| attr.value.to_string())
}

/// The first that is wanted, in the order of the document.
fn find(tree: &Rc<Node>, is_wanted: &dyn Fn(&Node) -> bool) -> Option<Rc<Node>> {
    let mut left = vec![tree.clone()];
    while let Some(node) = left.pop() {
        if is_wanted(&node) {
            return Some(node);
        }
        left.extend(node.children.borrow().iter().rev().cloned());
    }
    None
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
