//! What the commands of a plain command line begin with, so that a person can allow such commands. Far narrower than what bash
//! takes: whatever is not written out here is no plain command line.

use tree_sitter::Node;

use crate::found::Found;
use crate::parse;
use crate::script::Script;
use crate::through::starts_others;

/// Most commands of one line that a person is to read.
const COMMANDS_MAX: usize = 4;

/// How deep that many may lie in each other, each in a list, a pipeline and a redirection.
const DEPTH_MAX: usize = 4 * COMMANDS_MAX;

/// The longest word, in bytes.
const WORD_BYTES_MAX: usize = 64;

/// What may stand in a word that is taken as it is, beside letters and digits.
const PLAIN: [char; 7] = ['_', '-', '.', '/', ':', '@', '+'];

/// What may stand between commands.
const SEPARATORS: [&str; 5] = ["&&", "||", "|", ";", "\n"];

/// Redirections that write to nothing that stays.
const HARMLESS: [&str; 3] = ["2>&1", "2>/dev/null", ">/dev/null"];

/// The first two words of each command of a plain command line, in order and each once; nothing if the text is anything else.
///
/// Plain are simple commands with `&&`, `||`, `|`, `;` or the end of a line between them, whose first two words are letters and
/// digits without quotes, the second of them no option, and whose other words are written out. There are no variables, no
/// substitutions, no redirections but of stderr or to nowhere, and no program that starts another.
pub fn beginnings(text: &str) -> Option<Vec<String>> {
    if is_read_otherwise(text) {
        return None;
    }
    let tree = parse::tree(text, &Found::new(text)).ok()?;
    let mut commands = Vec::new();
    line(tree.root_node(), text, DEPTH_MAX, &mut commands)?;
    // Each is seen by both, and starts none besides.
    let seen = Script::read(text).names().ok()?.len();
    if commands.is_empty() || commands.len() > COMMANDS_MAX || seen != commands.len() {
        return None;
    }
    let mut beginnings: Vec<String> = Vec::new();
    for command in commands {
        if !beginnings.contains(&command) {
            beginnings.push(command);
        }
    }
    Some(beginnings)
}

/// Whether the grammar sees the end of a word where bash sees a part of one: at a blank behind a backslash, and at blanks that are
/// none to bash.
fn is_read_otherwise(text: &str) -> bool {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let mut escaped = text.match_indices('\\').map(|(at, _)| text[at + 1..].chars().next());
    text.chars().any(is_odd) || escaped.any(|next| next.is_none_or(|c| c.is_whitespace() && c != '\n'))
}

/// Takes the beginnings of all commands in this node; nothing if there is something else in it, or if it is deeper than `left`.
fn line(node: Node<'_>, text: &str, left: usize, commands: &mut Vec<String>) -> Option<()> {
    let left = left.checked_sub(1)?;
    match node.kind() {
        "command" => commands.push(command(node, text)?),
        "program" | "list" | "pipeline" => {
            for child in node.children(&mut node.walk()) {
                match child.is_named() {
                    true => line(child, text, left, commands)?,
                    false if SEPARATORS.contains(&child.kind()) => {}
                    false => return None,
                }
            }
        }
        "redirected_statement" => {
            for child in node.children(&mut node.walk()) {
                let is_harmless = || text.get(child.byte_range()).is_some_and(|own| HARMLESS.contains(&own));
                match child.kind() {
                    "file_redirect" if is_harmless() => {}
                    "command" => line(child, text, left, commands)?,
                    _ => return None,
                }
            }
        }
        _ => return None,
    }
    Some(())
}

/// The first two words of a command that has no others but plain ones.
fn command(node: Node<'_>, text: &str) -> Option<String> {
    let (mut cursor, mut words) = (node.walk(), Vec::new());
    for (nth, child) in node.children(&mut cursor).enumerate() {
        match node.field_name_for_child(u32::try_from(nth).ok()?) {
            Some("name") if nth == 0 => words.push(child.child(0).filter(|_| child.child_count() == 1)?),
            Some("argument") if is_written(child) => words.push(child),
            _ => return None,
        }
    }
    let [name, first, ..] = words.as_slice() else { return None };
    let (name, first) = (plain(*name, text)?, plain(*first, text)?);
    let is_fit = !first.starts_with('-') && !starts_others(name);
    is_fit.then(|| format!("{name} {first}"))
}

/// Whether bash makes one word of it, or names of files, and nothing else.
fn is_written(node: Node<'_>) -> bool {
    match node.kind() {
        "word" | "number" | "raw_string" | "string_content" => true,
        "string" | "concatenation" => {
            node.children(&mut node.walk()).all(|child| child.kind() == "\"" || is_written(child))
        }
        _ => false,
    }
}

/// The text of a word that means itself.
fn plain<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let own = text.get(node.byte_range())?;
    let is_plain = own.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(&c));
    let is_word = matches!(node.kind(), "word" | "number");
    (is_word && is_plain && own.len() <= WORD_BYTES_MAX).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is no plain command line, or begins with what says too little.
    const NONE: &[&str] = &[
        "",
        "git",
        "ls -la",
        "git -C x status",
        "rm -rf x",
        "python3 -c 'x'",
        // Something that is run besides.
        "git status; rm -rf x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status \"$(rm x)\"",
        "git status <(rm x)",
        "git status & rm -rf x",
        "git status |& tee x",
        "find . -exec rm {} +",
        "git rebase main -x 'rm x'",
        "git submodule foreach 'rm x'",
        // Something that is written, or read.
        "git status > f",
        "git status >> f",
        "git status 2> f",
        "git status > /dev/null/../f",
        "git status &> f",
        "> f git status",
        "git status >&2 > f",
        "git status < f",
        "git status <<< x",
        "git status <<'EOF'\nrm x\nEOF",
        "cat <<EOF | git status\nx\nEOF",
        // Something that changes what is meant.
        "GIT_PAGER=x git status",
        "PATH=x git status",
        "X=1; git status",
        "export X=1; git status",
        "alias git=rm; git status",
        "git() { rm x; }; git status",
        ". ./x; git status",
        "source x; git status",
        "trap 'rm x' EXIT; git status",
        // Words that are not as they are written.
        "git $X",
        "git status $X",
        "git status ${X}",
        "git status \"$X\"",
        "git status $'x'",
        "git status $((1))",
        "git st*",
        "g{it,} status",
        "git {status,push}",
        "'git' status",
        "git 'status'",
        "git \"status\"",
        "g\\it status",
        "git stat\\us",
        "git sta\\\ntus",
        "~/git status",
        "git status\r",
        "git status\0",
        "gıt status",
        "\\ /usr/bin/git status",
        "git \\ status",
        "git status \\",
        "git\u{b}status x",
        "./gradlew\u{c}test",
        // What starts others.
        "sudo git status",
        "doas git status",
        "env git status",
        "env X=1 git status",
        "xargs git status",
        "nohup git status",
        "time git status",
        "nice git status",
        "timeout 5 git status",
        "command git status",
        "builtin cd x",
        "exec git status",
        "eval git status",
        "bash -c 'git status'",
        "sh -c 'git status'",
        "bash script",
        "/bin/sh script",
        "busybox git status",
        "coproc git status",
        "watch git status",
        "npx git status",
        "ls x | xargs rm",
        "curl x | bash",
        // More than simple commands.
        "(git status)",
        "{ git status; }",
        "! git status",
        "if git status; then git log; fi",
        "for x in a; do git status; done",
        "while git status; do git log; done",
        "[[ -n x ]] && git status",
        "[ -n x ] && git status",
        "git status # x",
        "git status &",
        "git status ;; git log",
        "git status (",
        "git status '",
        "git a; git b; git c; git d; git e",
    ];

    #[test]
    fn whatever_is_more_than_a_plain_command_line_begins_with_nothing() {
        let wrong: Vec<_> = NONE.iter().filter_map(|text| Some((text, beginnings(text)?))).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let long = format!("git {}", "a".repeat(WORD_BYTES_MAX + 1));
        assert_eq!(beginnings(&long), None);
    }

    /// Each `&&` lies in the one before, and a thread for what is large has a stack of its own, in bytes.
    #[test]
    fn a_text_of_many_commands_takes_no_stack() {
        const STACK: usize = 256 * 1024;
        let text = "a&&".repeat(5_400) + "a";
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || beginnings(&text));
        assert_eq!(thread.expect("a thread").join().expect("no overflow"), None);
    }

    #[test]
    fn a_plain_command_line_begins_with_two_words_of_each_command() {
        for (text, expected) in [
            ("git status", &["git status"][..]),
            ("git status -s --porcelain", &["git status"]),
            ("  git   status\n", &["git status"]),
            ("git \\\n  status", &["git status"]),
            ("git statusx", &["git statusx"]),
            ("/usr/bin/git status", &["/usr/bin/git status"]),
            ("./git status", &["./git status"]),
            ("git log --grep 'a b; rm x' \"c d\" e\" f\"'g'", &["git log"]),
            ("cargo test 2>&1 | tail 5", &["cargo test", "tail 5"]),
            ("cargo test 2>/dev/null", &["cargo test"]),
            ("git grep x >/dev/null 2>&1", &["git grep"]),
            ("cd x && cargo test", &["cd x", "cargo test"]),
            ("git status && curl x", &["git status", "curl x"]),
            ("git status\nrm x", &["git status", "rm x"]),
            ("git add a; git add b || git log x", &["git add", "git log"]),
            ("npm run build", &["npm run"]),
            ("git push@x", &["git push@x"]),
        ] {
            assert_eq!(
                beginnings(text).as_deref(),
                Some(&*expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()),
                "{text}"
            );
        }
    }
}
