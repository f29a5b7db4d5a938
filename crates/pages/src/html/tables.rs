//! Tables that would be too large in Markdown, where each cell is as wide as the widest below it, are shown as text.

use std::cell::RefCell;
use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;

use super::words::{name, write_text};

/// The largest table, in bytes as Markdown may have it.
const TABLE_BYTES_MAX: usize = 1024 * 1024;

/// What Markdown may add to an element, in bytes.
const MARKUP_BYTES: usize = 16;

/// Puts text in place of the tables that are too large, and of those that lie in others.
pub(super) fn flatten(tree: &Rc<Node>) {
    let mut left = vec![(tree.clone(), false)];
    while let Some((node, is_in_table)) = left.pop() {
        let mut children = node.children.borrow_mut();
        for child in children.iter_mut() {
            let is_table = name(child) == "table";
            if is_table && (is_in_table || bytes(child) > TABLE_BYTES_MAX) {
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

/// How large a table is at most.
fn bytes(table: &Rc<Node>) -> usize {
    let (mut left, mut rows, mut columns, mut widest) = (vec![table.clone()], 1_usize, 0, 0);
    while let Some(node) = left.pop() {
        let children = node.children.borrow();
        let cells = || children.iter().filter(|child| matches!(name(child), "td" | "th"));
        rows += usize::from(cells().next().is_some());
        columns = cells().count().max(columns);
        for child in children.iter() {
            match name(child) {
                "td" | "th" => widest = width(child).max(widest),
                _ => left.push(child.clone()),
            }
        }
    }
    rows.saturating_mul(columns).saturating_mul(widest)
}

/// What a cell may take, in bytes: all that it holds.
fn width(cell: &Rc<Node>) -> usize {
    let (mut left, mut width) = (vec![cell.clone()], 0);
    while let Some(node) = left.pop() {
        width += match &node.data {
            NodeData::Text { contents } => contents.borrow().len(),
            NodeData::Element { attrs, .. } => {
                MARKUP_BYTES + attrs.borrow().iter().map(|attr| attr.value.len()).sum::<usize>()
            }
            _ => 0,
        };
        left.extend(node.children.borrow().iter().cloned());
    }
    width
}
