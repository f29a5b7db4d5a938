//! What the grammar does not see in a text, though bash does: programs in what it takes for plain words, and ends of commands.

use tree_sitter::Node;

/// What begins something that bash looks into.
const BEGINS: [&str; 5] = ["`", "$(", "${", "<(", ">("];

/// Texts that are read elsewhere, or in which the grammar sees all there is.
const SEEN: [&str; 5] = ["comment", "heredoc_body", "heredoc_content", "heredoc_start", "heredoc_end"];

/// In these, quotes that keep bash from looking into a text elsewhere may not.
const LOOKED_INTO: [&str; 7] = [
    "expansion",
    "subscript",
    "arithmetic_expansion",
    "c_style_for_statement",
    "test_command",
    "declaration_command",
    "unset_command",
];

/// The parts of these stand on one line, unless its end is behind a backslash.
const ON_ONE_LINE: [&str; 9] = [
    "command",
    "concatenation",
    "declaration_command",
    "file_redirect",
    "herestring_redirect",
    "redirected_statement",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
];

/// What the nodes above say of quotes in a text: whether bash looks into it all the same.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Above {
    /// There is a string above, whose own text is seen.
    string: bool,
    /// There is another such node.
    other: bool,
}

impl Above {
    /// The same for what is below `node`.
    pub(crate) fn with(self, node: Node<'_>, text: &str) -> Above {
        let own = text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            // A text of its own begins.
            "command_substitution" if own.starts_with("$(") => Above::default(),
            "process_substitution" => Above::default(),
            "string" => Above { string: true, ..self },
            "compound_statement" => Above { other: self.other || own.starts_with("(("), ..self },
            "file_redirect" => Above { other: self.other || is_to_descriptor(own), ..self },
            kind => Above { other: self.other || LOOKED_INTO.contains(&kind), ..self },
        }
    }
}

/// `>&` and `<&`.
fn is_to_descriptor(redirect: &str) -> bool {
    let operator = redirect.trim_start_matches(|c: char| c.is_ascii_digit());
    [">&", "<&"].iter().any(|begins| operator.starts_with(begins))
}

/// Whether there may be a program in this node that the grammar has no node for.
pub(crate) fn starts_unseen(node: Node<'_>, above: Above, text: &str) -> bool {
    let own = text.get(node.byte_range()).unwrap_or("`");
    match node.kind() {
        // What a backslash means depends on what it stands in.
        "command_substitution" => own.starts_with('`') && own.contains('\\'),
        // Bash reads what is in the variable as it reads a prompt.
        "expansion" => own.ends_with("@P}"),
        "string_content" => above.other && is_begun(&own.replace('\\', "")),
        "raw_string" | "ansi_c_string" => (above.string || above.other) && is_begun(&own.replace('\\', "")),
        kind if SEEN.contains(&kind) || !node.is_named() || node.child_count() > 0 => false,
        _ => is_begun(&unescaped(own)) || above.other && is_begun(&own.replace('\\', "")),
    }
}

fn is_begun(text: &str) -> bool {
    BEGINS.iter().any(|begins| text.contains(begins))
}

/// Without what is behind a backslash.
fn unescaped(text: &str) -> String {
    let (mut whole, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => _ = rest.next(),
            c => whole.push(c),
        }
    }
    whole
}

/// Whether a command ends within this node, where the grammar goes on.
pub(crate) fn ends_unseen(node: Node<'_>, text: &str) -> bool {
    if node.kind() == "word" {
        return text.get(node.byte_range()).is_none_or(has_line_end);
    }
    if !ON_ONE_LINE.contains(&node.kind()) {
        return false;
    }
    let (mut at, mut cursor) = (node.start_byte(), node.walk());
    node.children(&mut cursor).any(|child| {
        let between = text.get(at..child.start_byte());
        at = child.end_byte();
        between.is_none_or(has_line_end)
    })
}

/// Whether a line ends in it and is not continued.
fn has_line_end(text: &str) -> bool {
    text.match_indices('\n').any(|(at, _)| !text[..at].ends_with('\\'))
}

/// Whether this is syntax in bash and plain words, or other syntax, in other shells.
pub(crate) fn is_of_bash(node: Node<'_>, text: &str) -> bool {
    let begins = |with: &str| text.get(node.byte_range()).is_none_or(|own| own.starts_with(with));
    match node.kind() {
        "compound_statement" => begins("(("),
        "test_command" => begins("[["),
        "arithmetic_expansion" => begins("$["),
        "ansi_c_string" | "translated_string" | "c_style_for_statement" | "process_substitution" => true,
        _ => false,
    }
}
