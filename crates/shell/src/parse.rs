//! From a text to its commands, by tree-sitter's grammar of bash. What that leaves out or takes otherwise than bash makes all
//! of it unclear.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::found::{Found, Place};
use crate::names::changes_names;
use crate::through::run;
use crate::unclear::{BYTES_MAX, Unclear};
use crate::unseen::{Above, ends_unseen, is_of_bash, starts_unseen};
use crate::word::{Word, word};

/// Reads a text that stands at `place` into `found`.
pub(crate) fn read(text: &str, place: Place, found: &mut Found) {
    let tree = match tree(text, found) {
        Ok(tree) => tree,
        Err(why) => return found.doubt(why),
    };
    let (mut cursor, mut above) = (tree.walk(), vec![Above::default()]);
    loop {
        let here = above.last().copied().unwrap_or_default();
        node(cursor.node(), here, text, place, found);
        let below = here.with(cursor.node(), text);
        if cursor.goto_first_child() {
            above.push(below);
            continue;
        }
        while !cursor.goto_next_sibling() {
            above.pop();
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The tree of a text that is bash throughout.
pub(crate) fn tree(text: &str, found: &Found) -> Result<Tree, Unclear> {
    if text.len() > BYTES_MAX {
        return Err(Unclear::Long);
    }
    if text.contains(['\0', '\r']) || joins_words(text) {
        return Err(Unclear::Syntax);
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Unclear::Syntax)?;
    let mut has_error = false;
    // Guessing on behind a mistake is what takes long, and what comes of it is not believed.
    let mut goes_on = |state: &ParseState| {
        has_error |= state.has_error();
        if has_error || found.is_late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut goes_on);
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    let tree = tree.ok_or(if has_error { Unclear::Syntax } else { Unclear::Slow })?;
    if tree.root_node().has_error() { Err(Unclear::Syntax) } else { Ok(tree) }
}

/// Bash takes a backslash and the end of a line away and so makes one word of two, where the grammar sees two; or two words of
/// an assignment.
fn joins_words(text: &str) -> bool {
    text.match_indices("\\\n").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + 2..].chars().next();
        let is_apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
        !is_apart(before) && !is_apart(after) || matches!(before, Some('\\' | '='))
    })
}

fn node(node: Node<'_>, above: Above, text: &str, place: Place, found: &mut Found) {
    if starts_unseen(node, above, text)
        || ends_unseen(node, text)
        || !place.is_for_bash && is_of_bash(node, text)
    {
        return found.doubt(Unclear::Syntax);
    }
    match node.kind() {
        "command" => command(node, text, place, found),
        "variable_assignment" => {
            let name = node.child_by_field_name("name").and_then(|name| text.get(name.byte_range()));
            if name.is_none_or(changes_names) {
                found.doubt(Unclear::Names);
            }
        }
        // What stands behind the file is an argument of the command.
        "file_redirect" if many(node, "destination") => found.doubt(Unclear::Syntax),
        "heredoc_redirect" if is_odd_heredoc(node, text) => found.doubt(Unclear::Syntax),
        _ => {}
    }
}

fn many(node: Node<'_>, field: &str) -> bool {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).nth(1).is_some()
}

/// One whose text starts programs, which the grammar does not always see, or that has arguments of its command behind it.
fn is_odd_heredoc(node: Node<'_>, text: &str) -> bool {
    let mut cursor = node.walk();
    let of_kind = |kind: &str| {
        node.children(&mut node.walk()).find(|child| child.kind() == kind).map(|child| child.byte_range())
    };
    let start = of_kind("heredoc_start").and_then(|range| text.get(range)).unwrap_or_default();
    let body = of_kind("heredoc_body").map_or(0, |range| range.start);
    let rest = text.get(body..node.end_byte()).unwrap_or_default();
    let is_live = !start.contains(['\'', '"', '\\']) && (rest.contains("$(") || rest.contains('`'));
    let has_arguments = node.children_by_field_name("argument", &mut cursor).next().is_some();
    is_live || has_arguments
}

fn command(node: Node<'_>, text: &str, place: Place, found: &mut Found) {
    let (mut words, mut at) = (Vec::new(), node.start_byte());
    let mut cursor = node.walk();
    for (nth, child) in node.children(&mut cursor).enumerate() {
        // What is between its parts is nothing to bash, too.
        let between = text.get(at..child.start_byte()).unwrap_or("?");
        if !between.chars().all(|c| c.is_whitespace() || c == '\\') {
            return found.doubt(Unclear::Syntax);
        }
        at = child.end_byte();
        let field = node.field_name_for_child(u32::try_from(nth).unwrap_or(u32::MAX));
        match field {
            Some("name" | "argument") => words.push(word(child, text)),
            _ if matches!(child.kind(), "variable_assignment" | "file_redirect" | "herestring_redirect") => {}
            _ => words.push(Word::Unknown),
        }
    }
    run(words, place, found);
}
