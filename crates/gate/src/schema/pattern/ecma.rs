//! Patterns as ECMAScript reads them without flags (ECMA-262, with its annex B for what the web has always let pass): a
//! brace, a bracket or a hyphen that cannot mean anything else means itself, `\d`, `\w` and `\b` are of ASCII. Look-around and
//! references back are not run: no engine does so in linear time.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};

use super::classes;

/// Deepest nesting of groups.
const DEPTH_MAX: usize = 100;

/// What a pattern is refused for that another engine could run.
const NOT_LINEAR: &str = "it looks around, or refers back, which takes more than linear time";

/// Reads a pattern.
///
/// # Errors
/// What is no pattern of ECMAScript, or none that is run here, and why.
pub(super) fn read(pattern: &str) -> Result<Hir, &'static str> {
    let mut reading = Reading { rest: pattern, depth: 0 };
    let hir = reading.either()?;
    if !reading.rest.is_empty() {
        return Err("a parenthesis is closed that is not open");
    }
    Ok(hir)
}

struct Reading<'p> {
    rest: &'p str,
    depth: usize,
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

    fn either(&mut self) -> Result<Hir, &'static str> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("its groups are nested too deep");
        }
        let mut branches = vec![self.concat()?];
        while self.takes("|") {
            branches.push(self.concat()?);
        }
        self.depth -= 1;
        Ok(Hir::alternation(branches))
    }

    fn concat(&mut self) -> Result<Hir, &'static str> {
        let mut parts = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let part = self.atom()?;
            parts.push(self.repeated(part)?);
        }
        Ok(Hir::concat(parts))
    }

    fn atom(&mut self) -> Result<Hir, &'static str> {
        if classes::quantifier(self.rest).is_some() {
            return Err("there is nothing to repeat");
        }
        let next = self.next().ok_or("it ends too early")?;
        Ok(match next {
            '^' => Hir::look(Look::Start),
            '$' => Hir::look(Look::End),
            '.' => Hir::class(Class::Unicode(classes::any_but_line_ends())),
            '(' => self.group()?,
            '[' => {
                let (class, rest) = classes::bracketed(self.rest)?;
                self.rest = rest;
                Hir::class(Class::Unicode(class))
            }
            '\\' => self.escape()?,
            own => literal(own),
        })
    }

    fn repeated(&mut self, part: Hir) -> Result<Hir, &'static str> {
        let Some((min, max, rest)) = classes::quantifier(self.rest) else { return Ok(part) };
        if max.is_some_and(|max| max < min) {
            return Err("the numbers in braces are out of order");
        }
        self.rest = rest.strip_prefix('?').unwrap_or(rest);
        // Which way is tried first does not matter for whether there is a match.
        Ok(Hir::repetition(Repetition { min, max, greedy: true, sub: Box::new(part) }))
    }

    fn group(&mut self) -> Result<Hir, &'static str> {
        if ["?=", "?!", "?<=", "?<!"].iter().any(|sign| self.rest.starts_with(sign)) {
            return Err(NOT_LINEAR);
        }
        if self.takes("?<") {
            let (_, rest) = self.rest.split_once('>').ok_or("the name of a group has no end")?;
            self.rest = rest;
        } else if !self.takes("?:") && self.rest.starts_with('?') {
            return Err("a group begins in a way that ECMAScript does not know");
        }
        let part = self.either()?;
        if self.takes(")") { Ok(part) } else { Err("a parenthesis is not closed") }
    }

    fn escape(&mut self) -> Result<Hir, &'static str> {
        if self.takes("b") {
            return Ok(Hir::look(Look::WordAscii));
        }
        if self.takes("B") {
            return Ok(Hir::look(Look::WordAsciiNegate));
        }
        if self.rest.starts_with("k<") || self.rest.starts_with(|c: char| ('1'..='9').contains(&c)) {
            return Err(NOT_LINEAR);
        }
        let (class, rest) = classes::escaped(self.rest)?;
        self.rest = rest;
        Ok(Hir::class(Class::Unicode(class)))
    }
}

fn literal(own: char) -> Hir {
    Hir::class(Class::Unicode(ClassUnicode::new([ClassUnicodeRange::new(own, own)])))
}
