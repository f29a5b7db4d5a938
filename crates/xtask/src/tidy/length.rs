//! How long a file or a function may be before there are two ideas in it. Tests are not counted.

use super::tree::{Finding, Source, Tree};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 80;

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs").filter(|file| !file.is_test()) {
        let lines: Vec<&str> = file.lines_before_tests().map(|(_, line)| line).collect();
        if lines.len() > FILE_LINES_MAX {
            findings.push(file.at(0, format!("{} lines, of {FILE_LINES_MAX} at most", lines.len())));
        }
        add_functions(file, &lines, &mut findings);
    }
    findings
}

/// Finds functions by their layout, which rustfmt makes sure of: the last line stands under the first.
fn add_functions(file: &Source, lines: &[&str], findings: &mut Vec<Finding>) {
    for (first, line) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
        let indent = line.len() - line.trim_start().len();
        let ends = |line: &&str| line.len() - line.trim_start().len() == indent && !line.trim().is_empty();
        // A signature over several lines closes with `) {` under the first; its body closes after that.
        let is_last = |line: &str| line.trim_start().starts_with('}') || line.trim_end().ends_with(';');
        let is_whole = line.ends_with('}') || line.ends_with(';');
        let rest = lines[first + 1..].iter().position(|line| ends(line) && is_last(line));
        let length = if is_whole { 1 } else { rest.map_or(lines.len() - first, |more| more + 2) };
        if length > FUNCTION_LINES_MAX {
            findings.push(
                file.at(first + 1, format!("a function of {length} lines, of {FUNCTION_LINES_MAX} at most")),
            );
        }
    }
}

fn begins_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        matches!(*word, "async" | "const" | "unsafe" | "extern" | "\"C\"") || word.starts_with("pub")
    });
    words.next() == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn function(head: &str, lines: usize, foot: &str) -> String {
        format!("{head}\n{}{foot}\n", "        let a = 1;\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_found_where_it_begins() {
        assert!(found(look, &[("a.rs", &function("fn a() {", 80, "}"))]).is_empty());
        let long = format!("//! Head.\n{}", function("pub(crate) async fn a() {", 81, "}"));
        assert_eq!(found(look, &[("a.rs", &long)]), ["a.rs:2: a function of 81 lines, of 80 at most"]);
        let method = function("    fn a(\n        &self,\n    ) -> u8 {", 80, "    }");
        assert_eq!(found(look, &[("a.rs", &method)]), ["a.rs:1: a function of 82 lines, of 80 at most"]);
    }

    #[test]
    fn a_declaration_has_no_length() {
        let short = format!(
            "    fn a(&self);\n    fn b(\n        &self,\n    ) -> u8;\n{}",
            "    // Why.\n".repeat(90)
        );
        assert!(found(look, &[("a.rs", &short)]).is_empty());
        let empty = format!("fn a() {{}}\n{}}}\n", "// Why.\n".repeat(90));
        assert!(found(look, &[("a.rs", &empty)]).is_empty());
    }

    #[test]
    fn a_long_file_is_found_and_tests_are_not_counted() {
        assert!(found(look, &[("a.rs", &"//\n".repeat(500))]).is_empty());
        assert_eq!(found(look, &[("a.rs", &"//\n".repeat(501))]), ["a.rs: 501 lines, of 500 at most"]);
        let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(400), "//\n".repeat(400));
        assert!(found(look, &[("a.rs", &tested)]).is_empty());
        assert!(found(look, &[("a/tests/b.rs", &"//\n".repeat(501))]).is_empty());
    }
}
