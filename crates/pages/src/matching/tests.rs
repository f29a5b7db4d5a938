//! Rows of selectors over one page, by the ids of what they find. The end-to-end case `selectors` asks Chromium the same.

use super::*;
use crate::html::{attribute, converter};

const PAGE: &str = include_str!("../../../../e2e/fixtures/selectors.html");

/// What a row says that finds nothing.
const NOTHING: &str = "nothing";

/// A selector, and what it finds.
const ROWS: &str = include_str!("../../../../e2e/fixtures/selectors.txt");

fn ids(html: &str, selector: &str, most: usize) -> String {
    let tree = converter().html_to_tree(html).expect("a tree");
    let found = matching(&tree, &Selector::parse(selector).expect(selector), most);
    found.iter().filter_map(|node| attribute(node, "id")).collect::<Vec<_>>().join(" ")
}

#[test]
fn selectors_find_what_a_browser_finds() {
    let rows: Vec<(&str, &str)> = ROWS.lines().filter_map(|row| row.split_once(" => ")).collect();
    assert_eq!(rows.len(), ROWS.lines().count());
    for (selector, expected) in rows {
        let found = ids(PAGE, selector, usize::MAX);
        assert_eq!(if found.is_empty() { NOTHING } else { &found }, expected, "{selector}");
    }
}

#[test]
fn as_many_are_found_as_are_wanted() {
    let html = "<p id=a><p id=b><p id=c>";
    assert_eq!(ids(html, "p", 2), "a b");
    assert_eq!(ids(html, "p, p", 9), "a b c");
}

#[test]
fn the_root_can_be_found_and_nothing_above_it_counts() {
    let tree = converter().html_to_tree("<div id=a><ul id=b><li id=c></ul></div>").expect("a tree");
    let list = matching(&tree, &Selector::parse("ul").expect("one"), 1).pop().expect("one");
    for (selector, expected) in [("ul", 1), ("ul > li", 1), ("div li", 0), ("div", 0), ("*", 2)] {
        assert_eq!(
            matching(&list, &Selector::parse(selector).expect("one"), 9).len(),
            expected,
            "{selector}"
        );
    }
}

#[test]
fn a_deep_page_and_a_long_selector_cost_one_walk() {
    let html = format!("{}<p id=x>", "<div>".repeat(3_000));
    let far = format!("{}p", "div ".repeat(31));
    assert_eq!(ids(&html, &far, 9), "x");
    assert_eq!(ids(&html, &format!("{}a", "div ".repeat(31)), 9), "");
}
