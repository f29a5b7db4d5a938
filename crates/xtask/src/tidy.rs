//! `cargo xtask tidy`: the house rules that no compiler holds.
//!
//! [`RULES`] is the list of them. A rule looks at the whole tree and returns what it found; its test proves that
//! it finds a bad sample and leaves a good one alone. What rustc or clippy can hold is theirs, not a rule here.

mod arrows;
mod arrows_inside;
mod circles;
mod layout;
mod length;
mod manifests;
mod modules;
mod names;
mod pins;
mod tree;
mod words;

use anyhow::bail;

use crate::checkout::Checkout;
use tree::{Finding, Tree};

/// One rule: its name, and the function that looks for what breaks it.
struct Rule {
    name: &'static str,
    look: fn(&Tree) -> Vec<Finding>,
}

const RULES: &[Rule] = &[
    Rule { name: "arrows", look: arrows::look },
    Rule { name: "circles", look: circles::look },
    Rule { name: "heads", look: layout::heads },
    Rule { name: "layout", look: layout::look },
    Rule { name: "length", look: length::look },
    Rule { name: "lengths", look: length::look_at_most },
    Rule { name: "manifests", look: manifests::look },
    Rule { name: "names", look: names::look },
    Rule { name: "pins", look: pins::look },
    Rule { name: "words", look: words::look },
];

pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    check(checkout)
}

/// Fails with every place that breaks a rule.
pub(crate) fn check(checkout: &Checkout) -> anyhow::Result<()> {
    let tree = Tree::read(checkout)?;
    let mut lines = Vec::new();
    for rule in RULES {
        lines.extend((rule.look)(&tree).iter().map(|finding| format!("{finding} ({})", rule.name)));
    }
    if !lines.is_empty() {
        bail!("{}", lines.join("\n"));
    }
    println!("{} files keep {} rules; {}", tree.files.len(), RULES.len(), length::Sizes::of(&tree));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rule, in the checkout as it stands: the same as the command, where a test run looks first.
    #[test]
    fn the_checkout_keeps_every_rule() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        if let Err(error) = check(&checkout) {
            panic!("{error}");
        }
    }
}
