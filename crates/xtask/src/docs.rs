//! `cargo xtask docs`: the pages of `docs/` that the program itself can tell, so that they cannot drift.
//!
//! [`PAGES`] is the list of them. Each is made from what the release build prints; [`check`] compares, and
//! `write` puts them in place. Pages written by hand are not this file's business.

mod cli;
mod configuration;
mod schema;
mod tools;

use std::fs;

use anyhow::{Context as _, ensure};

pub(crate) use cli::commands;

use crate::checkout::Checkout;
use crate::program::Program;

/// A generated page: where it lies, and how it is made.
struct Page {
    file: &'static str,
    make: fn(&Program) -> anyhow::Result<String>,
}

const PAGES: &[Page] = &[
    Page { file: "docs/cli.md", make: cli::page },
    Page { file: "docs/configuration.md", make: configuration::page },
    Page { file: "docs/configuration.schema.json", make: configuration::schema },
    Page { file: "docs/manifest.schema.json", make: configuration::manifest_schema },
    Page { file: "docs/tools.md", make: tools::page },
];

/// Says so if a page is not what the program would tell today.
pub(crate) fn check(checkout: &Checkout) -> anyhow::Result<()> {
    let program = Program::built(checkout)?;
    let mut stale = Vec::new();
    for page in PAGES {
        let made = (page.make)(&program).with_context(|| format!("{} cannot be made", page.file))?;
        let found = fs::read_to_string(checkout.root.join(page.file)).unwrap_or_default();
        if let Some(difference) = difference(&found, &made) {
            stale.push(format!("{}:{difference}", page.file));
        }
    }
    ensure!(stale.is_empty(), "{}", stale.join("\n"));
    println!("{} pages say what the program says", PAGES.len());
    Ok(())
}

/// Writes every page.
pub(crate) fn write(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    let program = Program::built(checkout)?;
    for page in PAGES {
        let made = (page.make)(&program).with_context(|| format!("{} cannot be made", page.file))?;
        fs::write(checkout.root.join(page.file), made)
            .with_context(|| format!("{} cannot be written", page.file))?;
        println!("wrote {}", page.file);
    }
    Ok(())
}

/// The first line where a page is not what it should be.
pub(crate) fn difference(found: &str, made: &str) -> Option<String> {
    if found == made {
        return None;
    }
    let (mut old, mut new, mut number) = (found.lines(), made.lines(), 0);
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (Some(old), Some(new)) if old == new => {}
            (None, None) => return Some(format!("{number}: the ends of the lines differ")),
            (old, new) => {
                let show = |line: Option<&str>| line.map_or("nothing".to_owned(), |line| format!("`{line}`"));
                return Some(format!("{number}: has {}, should have {}", show(old), show(new)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: &str, made: &str, expected: Option<&str>) {
        assert_eq!(difference(found, made).as_deref(), expected);
    }

    #[test]
    fn a_stale_page_names_its_first_wrong_line() {
        check("a\nb\n", "a\nb\n", None);
        check("a\nb\n", "a\nc\n", Some("2: has `b`, should have `c`"));
        check("", "a\n", Some("1: has nothing, should have `a`"));
        check("a\nb\n", "a\n", Some("2: has `b`, should have nothing"));
        check("a", "a\n", Some("2: the ends of the lines differ"));
    }
}
