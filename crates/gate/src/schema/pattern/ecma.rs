//! Patterns as ECMAScript reads them without flags (ECMA-262, with its annex B for what the web has always let pass): a
//! brace, a bracket or a hyphen that cannot mean anything else means itself, `\d`, `\w` and `\b` are of ASCII.

use std::sync::Arc;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};

use super::classes;

/// Deepest nesting of groups.
const DEPTH_MAX: usize = 100;

/// A pattern, or a part of one.
#[derive(Debug)]
pub(super) enum Part {
    /// One character.
    Class(Arc<ClassUnicode>),
    Start,
    End,
    WordBoundary {
        negated: bool,
    },
    Concat(Vec<Part>),
    Either(Vec<Part>),
    Repeat {
        part: Box<Part>,
        min: u32,
        max: Option<u32>,
        greedy: bool,
    },
    Group {
        nth: usize,
        part: Box<Part>,
    },
    LookAround {
        part: Box<Part>,
        is_behind: bool,
        is_negative: bool,
    },
    /// What a group has matched.
    Back {
        nth: usize,
    },
}

impl Part {
    /// The same for an engine that reads each character once; nothing if it has look-around or references back.
    pub(super) fn linear(&self) -> Option<Hir> {
        let all = |parts: &[Part]| parts.iter().map(Part::linear).collect::<Option<Vec<Hir>>>();
        Some(match self {
            Part::Class(class) => Hir::class(Class::Unicode(ClassUnicode::clone(class))),
            Part::Start => Hir::look(Look::Start),
            Part::End => Hir::look(Look::End),
            Part::WordBoundary { negated: false } => Hir::look(Look::WordAscii),
            Part::WordBoundary { negated: true } => Hir::look(Look::WordAsciiNegate),
            Part::Concat(parts) => Hir::concat(all(parts)?),
            Part::Either(parts) => Hir::alternation(all(parts)?),
            Part::Repeat { part, min, max, .. } => {
                let sub = Box::new(part.linear()?);
                Hir::repetition(Repetition { min: *min, max: *max, greedy: true, sub })
            }
            Part::Group { part, .. } => part.linear()?,
            Part::LookAround { .. } | Part::Back { .. } => return None,
        })
    }
}

/// Reads a pattern.
///
/// # Errors
/// What is no pattern of ECMAScript, and why.
pub(super) fn read(pattern: &str) -> Result<Part, &'static str> {
    let mut reading = Reading { rest: pattern, groups: 0, depth: 0, names: Vec::new(), back: Vec::new() };
    let part = reading.either()?;
    if !reading.rest.is_empty() {
        return Err("a parenthesis is closed that is not open");
    }
    if reading.back.iter().any(|back| *back > reading.groups) {
        return Err("it refers to a group that it does not have");
    }
    Ok(part)
}

struct Reading<'p> {
    rest: &'p str,
    groups: usize,
    depth: usize,
    /// Of groups, by their number; those without one have an empty one.
    names: Vec<&'p str>,
    /// Numbers of groups that are referred to.
    back: Vec<usize>,
}

impl Reading<'_> {
    fn takes(&mut self, what: &str) -> bool {
        let after = self.rest.strip_prefix(what);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn either(&mut self) -> Result<Part, &'static str> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("its groups are nested too deep");
        }
        let mut branches = vec![self.concat()?];
        while self.takes("|") {
            branches.push(self.concat()?);
        }
        self.depth -= 1;
        Ok(if branches.len() == 1 { branches.remove(0) } else { Part::Either(branches) })
    }

    fn concat(&mut self) -> Result<Part, &'static str> {
        let mut parts = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let part = self.atom()?;
            parts.push(self.repeated(part)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Part::Concat(parts) })
    }

    fn atom(&mut self) -> Result<Part, &'static str> {
        if classes::quantifier(self.rest).is_some() {
            return Err("there is nothing to repeat");
        }
        let next = self.next().ok_or("it ends too early")?;
        Ok(match next {
            '^' => Part::Start,
            '$' => Part::End,
            '.' => Part::Class(classes::any_but_line_ends().into()),
            '(' => self.group()?,
            '[' => {
                let (class, rest) = classes::bracketed(self.rest)?;
                self.rest = rest;
                Part::Class(class.into())
            }
            '\\' => self.escape()?,
            own => literal(own),
        })
    }

    fn repeated(&mut self, part: Part) -> Result<Part, &'static str> {
        let Some((min, max, rest)) = classes::quantifier(self.rest) else { return Ok(part) };
        if max.is_some_and(|max| max < min) {
            return Err("the numbers in braces are out of order");
        }
        let greedy = !rest.starts_with('?');
        self.rest = rest.strip_prefix('?').unwrap_or(rest);
        Ok(Part::Repeat { part: Box::new(part), min, max, greedy })
    }

    fn group(&mut self) -> Result<Part, &'static str> {
        let look = [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)];
        let look = look.into_iter().find(|(sign, ..)| self.takes(sign));
        let is_plain = look.is_none() && self.takes("?:");
        let mut nth = None;
        if look.is_none() && !is_plain {
            let mut name = "";
            if self.takes("?<") {
                let (named, rest) = self.rest.split_once('>').ok_or("the name of a group has no end")?;
                (name, self.rest) = (named, rest);
            } else if self.rest.starts_with('?') {
                return Err("a group begins in a way that ECMAScript does not know");
            }
            self.groups += 1;
            self.names.push(name);
            nth = Some(self.groups);
        }
        let part = Box::new(self.either()?);
        if !self.takes(")") {
            return Err("a parenthesis is not closed");
        }
        Ok(match (look, nth) {
            (Some((_, is_behind, is_negative)), _) => Part::LookAround { part, is_behind, is_negative },
            (None, Some(nth)) => Part::Group { nth, part },
            (None, None) => *part,
        })
    }

    fn escape(&mut self) -> Result<Part, &'static str> {
        if self.takes("b") {
            return Ok(Part::WordBoundary { negated: false });
        }
        if self.takes("B") {
            return Ok(Part::WordBoundary { negated: true });
        }
        if self.takes("k<") {
            let (name, rest) = self.rest.split_once('>').ok_or("the name of a group has no end")?;
            self.rest = rest;
            let known = self.names.iter().position(|known| !name.is_empty() && *known == name);
            return Ok(Part::Back { nth: known.ok_or("it refers to a group that it does not have")? + 1 });
        }
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && !self.rest.starts_with('0') {
            let nth =
                self.rest[..digits].parse().map_err(|_| "it refers to a group that it does not have")?;
            self.rest = &self.rest[digits..];
            self.back.push(nth);
            return Ok(Part::Back { nth });
        }
        let (class, rest) = classes::escaped(self.rest)?;
        self.rest = rest;
        Ok(Part::Class(class.into()))
    }
}

fn literal(own: char) -> Part {
    Part::Class(ClassUnicode::new([ClassUnicodeRange::new(own, own)]).into())
}
