//! Reads selectors. What is not understood is refused with its place: a selector that meant something else than its writer
//! would find something else.

use crate::selector::{Compound, Condition, Selector, Step, Test, Within};

/// The longest selector, in bytes.
const SELECTOR_BYTES_MAX: usize = 1_000;

/// The most steps of a selector, those of all its alternatives together: as many as a number has bits, one for each.
const STEPS_MAX: usize = 32;

/// What stands in selectors, for those who wrote something else.
const KNOWN: &str = "a selector is made of names, *, #id, .class, [attribute], [attribute=value] (also ^=, $=, *=), of blanks and > between \
                     these, and of commas";

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: {why}")]
pub struct SelectorError {
    /// Where, in characters, from 1 on.
    pub at: usize,
    /// What is wrong there.
    pub why: String,
}

/// A text that is being read.
struct Parser<'t> {
    text: &'t str,
    /// Up to here it has been read, in bytes.
    read: usize,
    steps: usize,
}

impl Selector {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, has more than 1,000 bytes or more than 32 steps, or says what only more of CSS knows.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        parse(text)
    }
}

fn parse(text: &str) -> Result<Selector, SelectorError> {
    let mut parser = Parser { text, read: 0, steps: 0 };
    if text.len() > SELECTOR_BYTES_MAX {
        return parser.fail(&format!("a selector has at most {SELECTOR_BYTES_MAX} bytes"));
    }
    let mut alternatives = vec![parser.alternative()?];
    while parser.takes(',') {
        alternatives.push(parser.alternative()?);
    }
    if parser.next().is_some() {
        return parser.unknown();
    }
    Ok(Selector { alternatives })
}

impl Parser<'_> {
    /// Up to a comma, or to the end.
    fn alternative(&mut self) -> Result<Vec<Step>, SelectorError> {
        self.blanks();
        let (mut steps, mut within) = (Vec::new(), Within::Page);
        loop {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return self.fail(&format!("a selector has at most {STEPS_MAX} steps"));
            }
            steps.push(Step { within, compound: self.compound()? });
            let has_blanks = self.blanks();
            within = if self.takes('>') {
                self.blanks();
                Within::Parent
            } else if has_blanks && !matches!(self.next(), None | Some(',')) {
                Within::Ancestor
            } else {
                return Ok(steps);
            };
        }
    }

    fn compound(&mut self) -> Result<Compound, SelectorError> {
        let begin = self.read;
        let name = match self.next() {
            Some('*') => {
                self.takes('*');
                None
            }
            Some(first) if begins_name(first) => Some(self.name()?),
            Some(_) | None => None,
        };
        let mut conditions = Vec::new();
        loop {
            conditions.push(match self.next() {
                Some('#') => {
                    self.takes('#');
                    Condition { attribute: "id".to_owned(), test: Test::Equals(self.name()?) }
                }
                Some('.') => {
                    self.takes('.');
                    Condition { attribute: "class".to_owned(), test: Test::HasWord(self.name()?) }
                }
                Some('[') => self.attribute()?,
                Some(_) | None if self.read == begin => return self.unknown(),
                Some(_) | None => return Ok(Compound { name, conditions }),
            });
        }
    }

    /// `[name]`, or `[name=value]` with one of four signs.
    fn attribute(&mut self) -> Result<Condition, SelectorError> {
        self.takes('[');
        self.blanks();
        let attribute = self.name()?;
        self.blanks();
        let make = match self.next() {
            Some(']') => {
                self.takes(']');
                return Ok(Condition { attribute, test: Test::Exists });
            }
            Some('^') => Test::Begins,
            Some('$') => Test::Ends,
            Some('*') => Test::Contains,
            Some('=') => Test::Equals,
            Some(_) | None => return self.unknown(),
        };
        if let Some(sign @ ('^' | '$' | '*')) = self.next() {
            self.takes(sign);
        }
        if !self.takes('=') {
            return self.unknown();
        }
        self.blanks();
        let value = self.value()?;
        self.blanks();
        if self.takes(']') { Ok(Condition { attribute, test: make(value) }) } else { self.unknown() }
    }

    /// A name, or a text in quotes.
    fn value(&mut self) -> Result<String, SelectorError> {
        let Some(quote @ ('"' | '\'')) = self.next() else { return self.name() };
        self.takes(quote);
        let rest = &self.text[self.read..];
        let Some(end) = rest.find([quote, '\\']).filter(|end| rest[*end..].starts_with(quote)) else {
            return self.fail("this text has no end, or a \\ in it, which is not read");
        };
        if let Some(control) = rest[..end].find(char::is_control) {
            self.read += control;
            return self.unknown();
        }
        self.read += end + quote.len_utf8();
        Ok(rest[..end].to_owned())
    }

    fn name(&mut self) -> Result<String, SelectorError> {
        let rest = &self.text[self.read..];
        let end = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        // A digit, also one behind a `-`, or a `-` alone begins no name.
        let first = name.strip_prefix('-').unwrap_or(name).chars().next();
        if !first.is_some_and(begins_name) {
            return self.fail("a name is missing, which begins with a letter");
        }
        self.read += end;
        Ok(name.to_owned())
    }

    fn next(&self) -> Option<char> {
        self.text[self.read..].chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.next() == Some(wanted);
        self.read += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    /// Passes over blanks. Says whether there were any.
    fn blanks(&mut self) -> bool {
        let rest = &self.text[self.read..];
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        self.read += blanks;
        blanks > 0
    }

    fn unknown<T>(&self) -> Result<T, SelectorError> {
        match self.next() {
            Some(c) => self.fail(&format!("`{}` is not known here; {KNOWN}", c.escape_debug())),
            None => self.fail(&format!("something is missing; {KNOWN}")),
        }
    }

    fn fail<T>(&self, why: &str) -> Result<T, SelectorError> {
        let at = self.text[..self.read].chars().count() + 1;
        Err(SelectorError { at, why: why.to_owned() })
    }
}

/// As CSS has it, but without escapes.
fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '-') || (!c.is_ascii() && !c.is_control())
}

fn continues_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit()
}

#[cfg(test)]
mod tests;
