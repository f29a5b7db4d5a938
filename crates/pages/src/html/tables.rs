//! Tables as Markdown, each cell as wide as what it holds, and row by row what the page has: the library pads every cell to
//! the widest below it, and leaves out a cell that names its row.

use std::cell::RefCell;
use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, Node};
use markup5ever_rcdom::NodeData;

use super::words::{name, write_text};

/// Puts text in place of the tables that lie in others: Markdown has none of those.
pub(super) fn flatten(tree: &Rc<Node>) {
    let mut left = vec![(tree.clone(), false)];
    while let Some((node, is_in_table)) = left.pop() {
        let mut children = node.children.borrow_mut();
        for child in children.iter_mut() {
            let is_table = name(child) == "table";
            if is_table && is_in_table {
                *child = as_text(child);
                child.parent.set(Some(Rc::downgrade(&node)));
            }
            left.push((child.clone(), is_in_table || is_table));
        }
    }
}

fn as_text(node: &Rc<Node>) -> Rc<Node> {
    let mut text = String::new();
    write_text(node, false, &mut text);
    Node::new(NodeData::Text { contents: RefCell::new(text.as_str().into()) })
}

/// One row.
struct Row {
    cells: Vec<String>,
    /// Whether it tells what stands below it.
    is_head: bool,
}

/// A table whose cells have names; one without is a page's layout, and its cells stand as any text does.
pub(super) fn markdown(handlers: &dyn Handlers, table: Element) -> Option<HandlerResult> {
    if !has_names(table.node) {
        let content = handlers.walk_children(table.node).content;
        return Some(format!("\n\n{}\n\n", content.trim_matches('\n')).into());
    }
    let (captions, rows) = parts(handlers, table.node);
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let mut text = String::from("\n\n");
    captions.iter().for_each(|caption| text.extend([caption, "\n\n"]));
    let mut rows = rows.into_iter().peekable();
    let head = rows.next_if(|first| first.is_head).map(|first| first.cells).unwrap_or_default();
    write_row(&mut text, head.iter().map(String::as_str).chain(std::iter::repeat("")).take(columns));
    write_row(&mut text, std::iter::repeat_n("---", columns));
    // A row may have fewer cells than the first has.
    rows.for_each(|row| write_row(&mut text, row.cells.iter().map(String::as_str)));
    text.push('\n');
    Some(text.into())
}

/// Whether a cell names a row or a column.
fn has_names(table: &Rc<Node>) -> bool {
    let mut left = vec![(table.clone(), false)];
    while let Some((node, is_head)) = left.pop() {
        match name(&node) {
            "th" => return true,
            "td" if is_head => return true,
            "td" => {}
            kind => {
                let is_head = is_head || kind == "thead";
                left.extend(node.children.borrow().iter().map(|child| (child.clone(), is_head)));
            }
        }
    }
    false
}

/// The captions and the rows, in the order of the page.
fn parts(handlers: &dyn Handlers, table: &Rc<Node>) -> (Vec<String>, Vec<Row>) {
    let (mut captions, mut rows) = (Vec::new(), Vec::new());
    let mut left: Vec<(Rc<Node>, bool)> = vec![(table.clone(), false)];
    while let Some((node, is_head)) = left.pop() {
        match name(&node) {
            "caption" => captions.extend(handlers.handle(&node).map(|caption| one_line(&caption.content))),
            "tr" => rows.push(row(handlers, &node, is_head)),
            kind => {
                let is_head = is_head || kind == "thead";
                left.extend(node.children.borrow().iter().rev().map(|child| (child.clone(), is_head)));
            }
        }
    }
    rows.retain(|row: &Row| !row.cells.is_empty());
    (captions, rows)
}

fn row(handlers: &dyn Handlers, row: &Rc<Node>, is_head: bool) -> Row {
    let children = row.children.borrow();
    let of = |kind: &str| children.iter().filter(|child| name(child) == kind).count();
    let cells = children.iter().filter(|child| matches!(name(child), "td" | "th"));
    let content =
        |cell: &Rc<Node>| handlers.handle(cell).map_or_else(String::new, |cell| one_line(&cell.content));
    Row { cells: cells.map(content).collect(), is_head: is_head || (of("th") > 0 && of("td") == 0) }
}

/// What a cell can hold: no line's end, and no bar that is not escaped.
fn one_line(content: &str) -> String {
    let words: Vec<&str> = content.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

fn write_row<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>) {
    text.push('|');
    for cell in cells {
        text.extend([" ", cell, " |"]);
    }
    text.push('\n');
}
