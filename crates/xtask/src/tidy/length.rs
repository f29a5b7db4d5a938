//! How long a file or a function may be before there are two ideas in it, and how long most of them are. Tests are not
//! counted.

use std::fmt;

use super::tree::{Finding, Source, Tree};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 80;
/// Of the sources of one crate and all others, without blank lines and comments: half the files are shorter than the
/// first, nine of ten than the second, and of a hundred functions all but one than the third.
const FILE_MEDIAN_MAX: usize = 110;
const FILE_NINETIETH_MAX: usize = 260;
const FUNCTION_NINETY_NINTH_MAX: usize = 45;

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

/// How long the sources are, without tests, blank lines and comments.
#[derive(Default)]
pub(super) struct Sizes {
    /// Of each file, the shortest first.
    files: Vec<usize>,
    /// Of each function, the shortest first.
    functions: Vec<usize>,
}

impl Sizes {
    pub(super) fn of(tree: &Tree) -> Sizes {
        let mut sizes = Sizes::default();
        for file in tree.ending(".rs").filter(|file| file.is_shipped()) {
            let lines: Vec<&str> = file.lines_before_tests().map(|(_, line)| line).collect();
            sizes.files.push(code(&lines));
            let lengths = functions(&lines).map(|(first, length)| code(&lines[first..first + length]));
            sizes.functions.extend(lengths);
        }
        sizes.files.sort_unstable();
        sizes.functions.sort_unstable();
        sizes
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} lines of code in {} files, median {}, nine of ten at most {}; functions, 99 of 100 at most {}",
            self.files.iter().sum::<usize>(),
            self.files.len(),
            at(&self.files, 50),
            at(&self.files, 90),
            at(&self.functions, 99)
        )
    }
}

/// Holds how long files and functions are for the most part.
pub(super) fn look_at_most(tree: &Tree) -> Vec<Finding> {
    let sizes = Sizes::of(tree);
    [
        ("files: the median", at(&sizes.files, 50), FILE_MEDIAN_MAX),
        ("files: nine of ten", at(&sizes.files, 90), FILE_NINETIETH_MAX),
        ("functions: 99 of 100", at(&sizes.functions, 99), FUNCTION_NINETY_NINTH_MAX),
    ]
    .into_iter()
    .filter(|(_, lines, max)| lines > max)
    .map(|(what, lines, max)| Finding::of_all(format!("{what} has {lines} lines of code, of {max} at most")))
    .collect()
}

/// The length that so many of a hundred do not exceed.
fn at(sorted: &[usize], hundredth: usize) -> usize {
    sorted.get(sorted.len() * hundredth / 100).copied().unwrap_or(0)
}

fn code(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn add_functions(file: &Source, lines: &[&str], findings: &mut Vec<Finding>) {
    for (first, length) in functions(lines).filter(|(_, length)| *length > FUNCTION_LINES_MAX) {
        findings.push(
            file.at(first + 1, format!("a function of {length} lines, of {FUNCTION_LINES_MAX} at most")),
        );
    }
}

/// Where each function begins, from 0, and how many lines it has. They are found by their layout, which rustfmt makes
/// sure of: the last line stands under the first.
fn functions<'a>(lines: &'a [&str]) -> impl Iterator<Item = (usize, usize)> + 'a {
    lines.iter().enumerate().filter(|(_, line)| begins_function(line)).map(|(first, line)| {
        let indent = line.len() - line.trim_start().len();
        let ends = |line: &&str| line.len() - line.trim_start().len() == indent && !line.trim().is_empty();
        // A signature over several lines closes with `) {` under the first; its body closes after that.
        let is_last = |line: &str| line.trim_start().starts_with('}') || line.trim_end().ends_with(';');
        let is_whole = line.ends_with('}') || line.ends_with(';');
        let rest = lines[first + 1..].iter().position(|line| ends(line) && is_last(line));
        (first, if is_whole { 1 } else { rest.map_or(lines.len() - first, |more| more + 2) })
    })
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
    fn what_most_have_is_held() {
        let function = |lines: usize| format!("fn a() {{\n{}}}\n", "    let a = 1;\n".repeat(lines - 2));
        let texts = |lengths: &[usize]| lengths.iter().map(|lines| function(*lines)).collect::<Vec<_>>();
        let check = |lengths: &[usize], expected: &[&str]| {
            let texts = texts(lengths);
            let files: Vec<_> = texts.iter().map(|text| ("crates/a/src/b.rs", text.as_str())).collect();
            assert_eq!(found(look_at_most, &files), expected);
        };
        check(&[45, 45, 45], &[]);
        check(&[46], &["functions: 99 of 100 has 46 lines of code, of 45 at most"]);
        let short = "static A: u8 = 1;\n// Why.\n\n".repeat(110);
        assert!(found(look_at_most, &[("crates/a/src/b.rs", &short)]).is_empty());
        let long = "static A: u8 = 1;\n".repeat(261);
        let both = [
            "files: the median has 261 lines of code, of 110 at most",
            "files: nine of ten has 261 lines of code, of 260 at most",
        ];
        assert_eq!(found(look_at_most, &[("crates/a/src/b.rs", &long)]), both);
        assert!(
            found(look_at_most, &[("crates/a/tests/b.rs", &long), ("crates/a/src/b/tests.rs", &long)])
                .is_empty()
        );
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
