//! The files a rule looks at, and what it says about them.

use std::fmt;

use anyhow::Context as _;

use crate::checkout::Checkout;
use crate::step;

/// A file of the checkout that is text.
pub(super) struct Source {
    /// From the root, with `/` between folders.
    pub(super) path: String,
    pub(super) text: String,
}

/// Every text file that git has or would take.
pub(super) struct Tree {
    pub(super) files: Vec<Source>,
}

/// A place that breaks a rule.
pub(super) struct Finding {
    path: String,
    /// From 1; 0 for the whole file.
    line: usize,
    says: String,
}

impl Tree {
    pub(super) fn read(checkout: &Checkout) -> anyhow::Result<Self> {
        let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let list = step::capture(&mut checkout.command("git", &words))?;
        let mut files = Vec::new();
        for path in list.split_terminator('\0') {
            let path = path.to_owned();
            match std::fs::read(checkout.root.join(&path)) {
                Ok(bytes) => {
                    // Pictures and other bytes have no rules.
                    if let Ok(text) = String::from_utf8(bytes) {
                        files.push(Source { path, text });
                    }
                }
                // Deleted since git last saw it, or a link to a folder.
                Err(_) if !checkout.root.join(&path).is_file() => {}
                Err(error) => return Err(error).context(path),
            }
        }
        Ok(Self { files })
    }

    /// The files whose names end so.
    pub(super) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a Source> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    /// Each of our crates' manifests, with the folder's name.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.files.iter().filter_map(|file| {
            let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some((name, file))
        })
    }
}

impl Source {
    #[cfg(test)]
    pub(super) fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    pub(super) fn at(&self, line: usize, says: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, says: says.into() }
    }

    /// Whether the file is a test or a sample, where a bad thing may be written on purpose.
    pub(super) fn is_test(&self) -> bool {
        self.path.split('/').any(|folder| folder == "tests" || folder == "fixtures")
    }

    /// Whether it is a source of ours beside the tests, the samples and what only builds and checks.
    pub(super) fn is_shipped(&self) -> bool {
        let is_development =
            ["crates/xtask/", "crates/testkit/"].iter().any(|place| self.path.starts_with(place));
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.starts_with("crates/")
            && self.path.contains("/src/")
            && !is_development
            && !self.is_test()
            && name != "tests.rs"
            && !name.ends_with("_tests.rs")
    }

    /// The lines with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The lines before the tests that end a file, with their numbers.
    pub(super) fn lines_before_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        // What lifts a lint for them may stand between.
        let is_theirs = |line: &&&str| !line.starts_with("#[");
        let begins = |at: usize| {
            let next = lines[at + 1..].iter().find(is_theirs);
            lines[at] == "#[cfg(test)]"
                && next.is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
        };
        let end = (0..lines.len()).find(|at| begins(*at)).unwrap_or(lines.len());
        self.lines().take(end)
    }
}

impl Finding {
    /// Something about the checkout as a whole.
    pub(super) fn of_all(says: String) -> Finding {
        Finding { path: String::new(), line: 0, says }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 if self.path.is_empty() => write!(out, "{}", self.says),
            0 => write!(out, "{}: {}", self.path, self.says),
            line => write!(out, "{}:{line}: {}", self.path, self.says),
        }
    }
}

/// What a rule says of files that exist only here.
#[cfg(test)]
pub(super) fn found(look: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let source = |(path, text): &(&str, &str)| Source::new(path, text);
    let tree = Tree { files: files.iter().map(source).collect() };
    look(&tree).iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_end_what_is_measured_and_a_test_import_does_not() {
        let text = "#[cfg(test)]\nuse a;\nfn b() {}\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        let source = Source { path: "a.rs".into(), text: text.into() };
        assert_eq!(source.lines_before_tests().map(|(number, _)| number).collect::<Vec<_>>(), [1, 2, 3]);
        let text = "fn b() {}\n#[cfg(test)]\n#[expect(dead_code, reason = \"so\")]\nmod tests {\n}\n";
        assert_eq!(Source::new("a.rs", text).lines_before_tests().count(), 1);
    }
}
