//! Patterns with look-around or references back: they are tried step by step, each of which is counted. What has been tried
//! in vain at a place of the text is not tried there again, as long as no reference back can make a difference, so that
//! only such references can take more than places of the pattern times places of the text.

use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::ecma::Part;
use crate::schema::meter;

/// Most steps of a pattern written out: `(a{50}){50}` has 2,500.
const PROGRAM_STEPS_MAX: usize = 20_000;

/// Most ways that are still to be tried at one time.
const WAYS_MAX: usize = 1_000_000;

/// Most pairs of a place in the pattern and one in the text that are remembered, one bit each.
const TRIED_MAX: usize = 64 * 1024 * 1024;

/// Pairs that are made room for in one step.
const TRIED_A_STEP: usize = 1024;

/// Where in the program.
type At = usize;

#[derive(Debug)]
enum Step {
    Class {
        class: Arc<ClassUnicode>,
        backward: bool,
    },
    Start,
    End,
    WordBoundary {
        negated: bool,
    },
    /// Goes on at both, first at the next one or at the other; the number is by what it is remembered.
    Either {
        nth: usize,
        next: At,
        other: At,
        next_first: bool,
    },
    Go(At),
    /// Notes the place in the text.
    Note(usize),
    /// Goes on only if the place is not the one that was noted.
    Moved(usize),
    /// What is to be looked for here begins at the next step; after it, the program goes on there.
    Look {
        negative: bool,
        after: At,
    },
    Back {
        nth: usize,
        backward: bool,
    },
    Found,
}

/// A pattern, ready to be run.
#[derive(Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// How many notes it makes: two for each group, one for each repetition.
    notes: usize,
    either: usize,
    /// It does not matter on which way a place was reached.
    remembers: bool,
}

impl Program {
    /// Writes out a pattern.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn compile(part: &Part) -> Result<Program, String> {
        let remembers = !refers_back(part);
        let mut program = Program { steps: Vec::new(), notes: 2 * (1 + groups(part)), either: 0, remembers };
        program.write(part, false)?;
        program.push(Step::Found)?;
        Ok(program)
    }

    fn push(&mut self, step: Step) -> Result<At, String> {
        if self.steps.len() >= PROGRAM_STEPS_MAX {
            return Err(format!("it has more than {PROGRAM_STEPS_MAX} places"));
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    /// One that goes on at the next step, and at where it will be landed.
    fn push_either(&mut self, next_first: bool) -> Result<At, String> {
        self.either += 1;
        let next = self.steps.len() + 1;
        self.push(Step::Either { nth: self.either - 1, next, other: 0, next_first })
    }

    /// Lets one that was pushed lead to what comes next.
    fn land(&mut self, at: At) {
        let here = self.steps.len();
        match &mut self.steps[at] {
            Step::Either { other: to, .. } | Step::Go(to) | Step::Look { after: to, .. } => *to = here,
            _ => {}
        }
    }

    fn write(&mut self, part: &Part, backward: bool) -> Result<(), String> {
        match part {
            Part::Class(class) => drop(self.push(Step::Class { class: Arc::clone(class), backward })?),
            Part::Start => drop(self.push(Step::Start)?),
            Part::End => drop(self.push(Step::End)?),
            Part::WordBoundary { negated } => drop(self.push(Step::WordBoundary { negated: *negated })?),
            Part::Concat(parts) if backward => {
                parts.iter().rev().try_for_each(|part| self.write(part, backward))?;
            }
            Part::Concat(parts) => parts.iter().try_for_each(|part| self.write(part, backward))?,
            Part::Either(parts) => self.write_either(parts, backward)?,
            Part::Repeat { part, min, max, greedy } => {
                // Only for what a group has matched it matters which way is taken first; otherwise the sooner it ends, the
                // sooner something is found.
                self.write_repeat(part, (*min, *max), *greedy && !self.remembers, backward)?;
            }
            Part::Group { nth, part } => {
                let (first, last) = if backward { (2 * nth + 1, 2 * nth) } else { (2 * nth, 2 * nth + 1) };
                self.push(Step::Note(first))?;
                self.write(part, backward)?;
                self.push(Step::Note(last))?;
            }
            Part::LookAround { part, is_behind, is_negative } => {
                let look = self.push(Step::Look { negative: *is_negative, after: 0 })?;
                self.write(part, *is_behind)?;
                self.push(Step::Found)?;
                self.land(look);
            }
            Part::Back { nth } => drop(self.push(Step::Back { nth: *nth, backward })?),
        }
        Ok(())
    }

    fn write_either(&mut self, parts: &[Part], backward: bool) -> Result<(), String> {
        let Some((last, others)) = parts.split_last() else { return Ok(()) };
        let mut ends = Vec::new();
        for part in others {
            let either = self.push_either(true)?;
            self.write(part, backward)?;
            ends.push(self.push(Step::Go(0))?);
            self.land(either);
        }
        self.write(last, backward)?;
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    fn write_repeat(
        &mut self,
        part: &Part,
        (min, max): (u32, Option<u32>),
        again_first: bool,
        backward: bool,
    ) -> Result<(), String> {
        for _ in 0..min {
            let before = self.steps.len();
            self.write(part, backward)?;
            if self.steps.len() == before {
                break;
            }
        }
        match max {
            Some(max) => {
                let mut ends = Vec::new();
                for _ in min..max {
                    let before = self.steps.len();
                    ends.push(self.push_either(again_first)?);
                    self.write(part, backward)?;
                    if self.steps.len() == before + 1 {
                        break;
                    }
                }
                ends.into_iter().for_each(|end| self.land(end));
            }
            None => {
                let again = self.push_either(again_first)?;
                // Round and round without reading anything would not end; where places are remembered, it does.
                let note = (!self.remembers).then_some(self.notes);
                if let Some(note) = note {
                    self.notes += 1;
                    self.push(Step::Note(note))?;
                }
                self.write(part, backward)?;
                if let Some(note) = note {
                    self.push(Step::Moved(note))?;
                }
                self.push(Step::Go(again))?;
                self.land(again);
            }
        }
        Ok(())
    }

    /// The memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.steps.len() * size_of::<Step>()
    }

    /// True if it matches somewhere in a text; false, too, if the steps do not suffice.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let tried = if self.remembers { self.either.saturating_mul(text.len() + 1) } else { 0 };
        if tried > TRIED_MAX || !meter::take(1 + (tried / TRIED_A_STEP) as u64) {
            meter::take(u64::MAX);
            return false;
        }
        let mut run = Run {
            program: self,
            text,
            notes: vec![None; self.notes],
            tried: vec![0; tried.div_ceil(64)],
            looked: Vec::new(),
            looks: 0,
            ways: Vec::new(),
        };
        let is_anchored = matches!(self.steps.first(), Some(Step::Start));
        let mut begins = text.char_indices().map(|(begin, _)| begin).chain([text.len()]);
        begins.by_ref().take(if is_anchored { 1 } else { usize::MAX }).any(|begin| run.matches(0, begin))
    }
}

fn within(part: &Part) -> &[Part] {
    match part {
        Part::Concat(parts) | Part::Either(parts) => parts,
        Part::Repeat { part, .. } | Part::Group { part, .. } | Part::LookAround { part, .. } => {
            std::slice::from_ref(part)
        }
        Part::Class(_) | Part::Start | Part::End | Part::WordBoundary { .. } | Part::Back { .. } => &[],
    }
}

fn refers_back(part: &Part) -> bool {
    matches!(part, Part::Back { .. }) || within(part).iter().any(refers_back)
}

/// The largest number of a group.
fn groups(part: &Part) -> usize {
    let own = if let Part::Group { nth, .. } = part { *nth } else { 0 };
    within(part).iter().map(groups).fold(own, usize::max)
}

/// What is to be done when a way has led nowhere.
#[derive(Debug, Clone, Copy)]
enum Way {
    Try { at: At, place: usize },
    Restore { note: usize, place: Option<usize> },
}

/// One text being matched.
struct Run<'r> {
    program: &'r Program,
    text: &'r str,
    notes: Vec<Option<usize>>,
    tried: Vec<u64>,
    /// What has been tried while looking around: it is forgotten when something was found, for not all of it was in vain.
    looked: Vec<usize>,
    looks: usize,
    ways: Vec<Way>,
}

impl Run<'_> {
    /// True if the program from here on matches the text from there on. Calls itself once for each look-around within
    /// another.
    fn matches(&mut self, at: At, place: usize) -> bool {
        let (ways, looked) = (self.ways.len(), self.looked.len());
        let mut next = Some((at, place));
        while let Some((at, place)) = next {
            if !meter::look() || self.ways.len() > WAYS_MAX {
                // It is all over, so nothing needs to be put back.
                meter::take(u64::MAX);
                return false;
            }
            if matches!(self.program.steps[at], Step::Found) {
                // Other ways to the same are not tried; what is noted can still be put back.
                let notes =
                    self.ways.split_off(ways).into_iter().filter(|way| matches!(way, Way::Restore { .. }));
                self.ways.extend(notes);
                for tried in self.looked.drain(looked..) {
                    self.tried[tried / 64] &= !(1 << (tried % 64));
                }
                return true;
            }
            next = self.step(at, place).or_else(|| self.go_back(ways));
        }
        false
    }

    /// The next way to be tried of those that have come up since.
    fn go_back(&mut self, ways: usize) -> Option<(At, usize)> {
        while self.ways.len() > ways {
            match self.ways.pop()? {
                Way::Try { at, place } => return Some((at, place)),
                Way::Restore { note, place } => self.notes[note] = place,
            }
        }
        None
    }

    /// Does one step; tells where to go on, or nothing if this way ends here.
    fn step(&mut self, at: At, place: usize) -> Option<(At, usize)> {
        let program = self.program;
        let on = |goes_on: bool| goes_on.then_some((at + 1, place));
        match &program.steps[at] {
            Step::Class { class, backward } => {
                let read = self.character(place, *backward).filter(|read| contains(class, *read))?;
                let bytes = read.len_utf8();
                Some((at + 1, if *backward { place - bytes } else { place + bytes }))
            }
            Step::Start => on(place == 0),
            Step::End => on(place == self.text.len()),
            Step::WordBoundary { negated } => {
                let is_word =
                    |read: Option<char>| read.is_some_and(|read| read.is_ascii_alphanumeric() || read == '_');
                let is_boundary =
                    is_word(self.character(place, true)) != is_word(self.character(place, false));
                on(is_boundary != *negated)
            }
            Step::Either { nth, next, other, next_first } => {
                if program.remembers && !self.tries(*nth, place) {
                    return None;
                }
                let (first, second) = if *next_first { (*next, *other) } else { (*other, *next) };
                self.ways.push(Way::Try { at: second, place });
                Some((first, place))
            }
            Step::Go(to) => Some((*to, place)),
            Step::Note(note) => {
                let before = self.notes[*note].replace(place);
                if !program.remembers {
                    self.ways.push(Way::Restore { note: *note, place: before });
                }
                on(true)
            }
            Step::Moved(note) => on(self.notes[*note] != Some(place)),
            Step::Look { negative, after } => {
                let ways = self.ways.len();
                self.looks += 1;
                let is_found = self.matches(at + 1, place);
                self.looks -= 1;
                if *negative {
                    // Nothing that was noted in there counts.
                    self.go_back(ways);
                }
                (is_found != *negative).then_some((*after, place))
            }
            Step::Back { nth, backward } => self.back(*nth, place, *backward).map(|place| (at + 1, place)),
            // The loop ends before it is done.
            Step::Found => None,
        }
    }

    fn character(&self, place: usize, backward: bool) -> Option<char> {
        if backward { self.text[..place].chars().next_back() } else { self.text[place..].chars().next() }
    }

    /// False if this has been tried at that place.
    fn tries(&mut self, nth: usize, place: usize) -> bool {
        let tried = nth * (self.text.len() + 1) + place;
        let (word, bit) = (&mut self.tried[tried / 64], 1 << (tried % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        if is_new && self.looks > 0 {
            self.looked.push(tried);
        }
        is_new
    }

    /// Where a text leads that was matched before. A group that has not matched is matched by nothing.
    fn back(&self, nth: usize, place: usize, backward: bool) -> Option<usize> {
        let (Some(first), Some(last)) = (self.notes[2 * nth], self.notes[2 * nth + 1]) else {
            return Some(place);
        };
        // Within its own group, the end is an older one.
        let matched = self.text.get(first..last).unwrap_or_default();
        meter::take((matched.len() / TRIED_A_STEP) as u64);
        if backward {
            self.text[..place].ends_with(matched).then(|| place - matched.len())
        } else {
            self.text[place..].starts_with(matched).then(|| place + matched.len())
        }
    }
}

fn contains(class: &ClassUnicode, read: char) -> bool {
    let ranges = class.ranges();
    let after = ranges.partition_point(|range| range.end() < read);
    ranges.get(after).is_some_and(|range| range.start() <= read)
}
