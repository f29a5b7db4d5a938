//! `Selector`: what is looked for.

/// A list of alternatives, of which an element fits one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// Each with its outermost step first. There is one at least, with one step at least, and 32 steps in all at most.
    pub alternatives: Vec<Vec<Step>>,
}

/// One element on the way to the one that is meant, which is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it lies.
    pub within: Within,
    /// What it is.
    pub compound: Compound,
}

/// Where an element lies in relation to the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Anywhere: it is the first step.
    Page,
    /// Somewhere in it.
    Ancestor,
    /// Directly in it.
    Parent,
}

/// What an element is: all of this at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compound {
    /// Its name, as it is written; nothing for any.
    pub name: Option<String>,
    /// What else.
    pub conditions: Vec<Condition>,
}

/// What an attribute of an element is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its name, as it is written.
    pub attribute: String,
    /// How it is compared.
    pub test: Test,
}

/// How the value of an attribute is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It is there.
    Exists,
    /// It is this.
    Equals(String),
    /// It begins with this, which is not nothing.
    Begins(String),
    /// It ends with this, which is not nothing.
    Ends(String),
    /// This stands in it, and is not nothing.
    Contains(String),
    /// This is one of its words.
    HasWord(String),
}

impl Test {
    /// Whether a value passes.
    pub fn passes(&self, value: &str) -> bool {
        match self {
            Test::Exists => true,
            Test::Equals(wanted) => value == wanted,
            Test::Begins(wanted) => !wanted.is_empty() && value.starts_with(wanted),
            Test::Ends(wanted) => !wanted.is_empty() && value.ends_with(wanted),
            Test::Contains(wanted) => !wanted.is_empty() && value.contains(wanted),
            Test::HasWord(wanted) => value.split_ascii_whitespace().any(|word| word == wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared() {
        for (test, passing, failing) in [
            (Test::Exists, &["", "a"][..], &[][..]),
            (Test::Equals("a".to_owned()), &["a"], &["", "A", "ab"]),
            (Test::Equals(String::new()), &[""], &["a"]),
            (Test::Begins("a".to_owned()), &["a", "ab"], &["", "ba"]),
            (Test::Ends("a".to_owned()), &["a", "ba"], &["", "ab"]),
            (Test::Contains("a".to_owned()), &["a", "bab"], &["", "b"]),
            (Test::HasWord("a".to_owned()), &["a", "b\ta", "\na b"], &["", "ab", "b-a", "b\u{a0}a"]),
            // What is nothing begins and ends with nothing, and is nowhere: so CSS says.
            (Test::Begins(String::new()), &[], &["", "a"]),
            (Test::Ends(String::new()), &[], &["", "a"]),
            (Test::Contains(String::new()), &[], &["", "a"]),
        ] {
            for (values, expected) in [(passing, true), (failing, false)] {
                for value in values {
                    assert_eq!(test.passes(value), expected, "{test:?} {value:?}");
                }
            }
        }
    }
}
