//! What a page of results says, in lines: for each result its title, its address and what is shown of it. A page says nothing of
//! the kind by itself: before it come five lines, with a selector for each result and those for its parts.

use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;
use selectors::Selector;

use crate::fault::Fault;
use crate::html::addresses::Addresses;
use crate::html::words::{is_block, name};
use crate::html::{attribute, converter};
use crate::matching::matching;
use crate::read::Read;

/// Results that are told: as many as a search asks a service for.
const RESULTS_MAX: usize = 10;

/// Elements that are looked at for that: some pages have pictures and offers between their results.
const LOOKED_AT_MAX: usize = 50;

/// The longest text of a part, in bytes: many times what is shown of one.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// What no reader sees.
const UNSEEN: [&str; 3] = ["script", "style", "template"];

/// What is looked for.
struct Wanted<'p> {
    items: Selector,
    title: Selector,
    link: Selector,
    /// The attribute of what `link` finds that is the address.
    attribute: &'p str,
    snippet: Selector,
}

/// The results on a page behind its five lines. Its addresses are relative to `base`, or to what it says itself.
pub(crate) fn results(page: &str, base: &str) -> Result<Read, Fault> {
    let (wanted, html) = Wanted::of(page).ok_or(Fault::Selectors)?;
    let tree = converter().html_to_tree(html).map_err(|_| Fault::Html)?;
    let addresses = addresses(&tree, base);
    let items = matching(&tree, &wanted.items, LOOKED_AT_MAX);
    let told: Vec<String> =
        items.iter().filter_map(|item| wanted.told(item, &addresses)).take(RESULTS_MAX).collect();
    Ok(Read { content: told.concat(), ..Read::default() })
}

impl<'p> Wanted<'p> {
    fn of(page: &'p str) -> Option<(Wanted<'p>, &'p str)> {
        let mut lines = page.splitn(6, '\n');
        let mut line = || lines.next();
        let (items, title, link, attribute, snippet) = (line()?, line()?, line()?, line()?, line()?);
        let [items, title, link, snippet] =
            [items, title, link, snippet].map(|text| Selector::parse(text).ok());
        let wanted = Wanted { items: items?, title: title?, link: link?, attribute, snippet: snippet? };
        Some((wanted, line()?))
    }

    /// A result in three lines; nothing for one that leads nowhere.
    fn told(&self, item: &Rc<Node>, addresses: &Addresses) -> Option<String> {
        let link = first(item, &self.link).and_then(|link| attribute(&link, self.attribute))?;
        let address = addresses.whole(link.trim()).filter(|address| !address.contains('\n'))?;
        let part = |selector| first(item, selector).map(|part| text(&part)).unwrap_or_default();
        Some(format!("{}\n{address}\n{}\n", part(&self.title), part(&self.snippet)))
    }
}

fn first(item: &Rc<Node>, selector: &Selector) -> Option<Rc<Node>> {
    matching(item, selector, 1).pop()
}

/// A page may say itself what its addresses are relative to.
fn addresses(tree: &Rc<Node>, base: &str) -> Addresses {
    let outer = Addresses::new(base);
    let own = Selector::parse("base[href]").ok().and_then(|own| first(tree, &own));
    let own = own.and_then(|own| attribute(&own, "href")).and_then(|own| outer.whole(own.trim()));
    own.map_or(outer, |own| Addresses::new(&own))
}

/// What a reader sees of an element, on one line.
fn text(element: &Rc<Node>) -> String {
    let (mut left, mut text) = (vec![element.clone()], String::new());
    while let Some(node) = left.pop() {
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&contents.borrow());
        }
        if text.len() > TEXT_BYTES_MAX {
            break;
        }
        if is_block(&node) || matches!(name(&node), "br" | "td" | "th" | "tr") {
            text.push(' ');
        }
        if !UNSEEN.contains(&name(&node)) {
            left.extend(node.children.borrow().iter().rev().cloned());
        }
    }
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "li.hit\nh2\na[href]\nhref\np";

    #[track_caller]
    fn check(wanted: &str, html: &str, expected: &[&str]) {
        let read = results(&format!("{wanted}\n{html}"), "https://a.test/find?q=x").expect("read");
        assert_eq!(read.content.lines().collect::<Vec<_>>(), expected, "{html:.200}");
    }

    #[test]
    fn each_result_has_a_title_an_address_and_a_text() {
        let html = "<!doctype html><ul><li class='hit x'><h2>One\n <b>1</b></h2><a href='/1'>to</a><p>First<br>text<script>no</script></p>\
                    <li class=other><h2>No</h2><a href=/no>to</a><li class=hit><h2>Two</h2><a>no</a><a href='2?a=1&amp;b=2'>to</a></ul>";
        let two = ["One 1", "https://a.test/1", "First text", "Two", "https://a.test/2?a=1&b=2", ""];
        check(WANTED, html, &two);
        check(
            WANTED,
            &format!("<base href=/b/>{html}"),
            &["One 1", "https://a.test/1", "First text", "Two", "https://a.test/b/2?a=1&b=2", ""],
        );
        check("a\na\na\nhref\ni", "<a href=x>A <i>b</i></a>", &["A b", "https://a.test/x", "b"]);
        check("li\nh2\nli\ndata-to\np", "<li data-to='//b.test/'><h2>T</h2>", &["T", "https://b.test/", ""]);
        check(WANTED, "<li class=hit><h2>T</h2><a href='javascript:x()'>to</a>", &[]);
        check(WANTED, "<li class=hit><h2>T</h2>", &[]);
        check(WANTED, "", &[]);
    }

    #[test]
    fn there_is_an_end_to_results_and_to_texts() {
        let item =
            |n: usize| format!("<li class=hit><h2>T</h2><a href=/{n}>to</a><p>{}", "ä ".repeat(10_000));
        let html: String = (0..40).map(item).collect();
        let read = results(&format!("{WANTED}\n{html}"), "https://a.test/").expect("read").content;
        assert_eq!(read.lines().count(), 3 * RESULTS_MAX);
        assert!(read.lines().all(|line| line.len() <= TEXT_BYTES_MAX));
        // What leads nowhere takes its part of what is looked at.
        let html = "<li class=hit>".repeat(LOOKED_AT_MAX) + "<li class=hit><a href=x>to</a>";
        check(WANTED, &html, &[]);
    }

    /// What takes too long has an end by the process.
    #[test]
    fn hostile_pages_are_read_like_others() {
        let deep = "<div>".repeat(2_000);
        let one = ["T", "https://a.test/x", ""];
        check(WANTED, &format!("{deep}<li class=hit><h2>T</h2><a href=x>"), &one);
        check(WANTED, &format!("<li class=hit><h2>T</h2>{deep}<a href=x>"), &one);
        let many: String = (0..2_000).map(|n| format!("a{n} ")).collect();
        check(WANTED, &format!("<li class=hit {many}><h2>T</h2><a {many} href=x>"), &one);
        check(WANTED, "<li class=hit><h2>T</h2><a href=x", &[]);
        check(WANTED, "<li class='hit'><table><h2>T</h2><tr></p></li></div><a href=x><b><i></a></b>", &one);
        check(WANTED, "\0<li class=hit>\0<h2>T\0</h2><a href=x>", &one);
    }

    #[test]
    fn without_what_is_looked_for_there_is_nothing() {
        for page in ["", "a\na\na\nhref", "a\na\na\nhref\na", "a\na\n:x\nhref\na\n<a>"] {
            assert_eq!(results(page, ""), Err(Fault::Selectors), "{page}");
        }
    }
}
