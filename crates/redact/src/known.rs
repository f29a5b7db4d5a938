//! Values that are known to be secret, and where a text has one of them.
//!
//! A text is searched as it stands, and as it reads to who undoes its escapes, once and more often, and who joins digits
//! that something separates. So what is looked for stays small, and a value is found whichever of its characters are
//! escaped. Most texts have neither and are read once.

mod encoding;
mod entities;
mod escapes;
mod prefixes;
mod runs;
mod view;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};

use crate::hits::{Hit, merge};
use encoding::{Form, LEVELS_MAX, VALUE_CHARACTERS_MIN};
use escapes::Families;
use prefixes::{PREFIX_BYTES, Prefixes};
use view::Piece;

/// Of a longer value only the beginning is looked for, in bytes. No key is longer.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Places that are found before those that overlap are made one.
const HITS_MAX: usize = 16 * 1024;

/// Bytes that one of a value takes at most in the escapes that programs write, twice over: `\\\\u0041`, `&amp;#x00041;`.
const ESCAPED_BYTES_EACH: usize = 14;

/// Bytes that one of a value takes at most as digits with something between them: `0x41, `.
const DIGITS_BYTES_EACH: usize = 6;

/// Longest stretch of escapes in which families of them may be mixed layer by layer, in bytes: every order of three layers
/// is read, and that is dear.
const MIXED_BYTES_MAX: usize = 16 * 1024;

/// One secret: its name, which is shown, and its value, which is not.
#[derive(Clone)]
pub struct Known {
    /// What stands in its place: `[REDACTED:NAME]`, or `***` if it is empty.
    pub name: Arc<str>,
    /// The value.
    pub value: Arc<str>,
}

/// All encodings of all known values.
pub(crate) struct Values {
    /// In order.
    encodings: Box<[Box<[u8]>]>,
    prefixes: Prefixes,
    /// Built when a text has the beginning of an encoding, since it takes several times as much memory as they do.
    automaton: OnceLock<AhoCorasick>,
    owners: Box<[Owner]>,
    /// Fewest digits that encode one, in hexadecimal and in base64.
    hex_digits_min: usize,
    base64_digits_min: usize,
    /// The longest value, in bytes.
    value_bytes_max: usize,
}

/// Whose value an encoding is.
struct Owner {
    name: Arc<str>,
    form: Form,
}

impl Values {
    /// Of these secrets; nothing if none of them is long enough to be looked for.
    pub(crate) fn of<'k>(secrets: impl Iterator<Item = &'k Known>) -> Option<Values> {
        // If two secrets have one value, the name that comes first is shown.
        let mut secrets: Vec<&Known> = secrets.filter(|known| is_long_enough(&known.value)).collect();
        secrets.sort_by_key(|known| (Reverse(known.value.len()), known.name.clone()));
        let mut encoded: BTreeMap<Vec<u8>, Owner> = BTreeMap::new();
        let (mut hex_digits_min, mut base64_digits_min, mut value_bytes_max) = (usize::MAX, usize::MAX, 0);
        for known in secrets {
            let value = beginning(known.value.trim());
            value_bytes_max = value_bytes_max.max(value.len());
            for (bytes, form) in encoding::encodings(value) {
                match form {
                    Form::Hex => hex_digits_min = hex_digits_min.min(bytes.len()),
                    Form::Base64 { .. } => base64_digits_min = base64_digits_min.min(bytes.len()),
                    Form::Text => {}
                }
                encoded.entry(bytes).or_insert_with(|| Owner { name: known.name.clone(), form });
            }
        }
        if encoded.is_empty() {
            return None;
        }
        let (encodings, owners): (Vec<Box<[u8]>>, Vec<Owner>) =
            encoded.into_iter().map(|(encoding, owner)| (encoding.into(), owner)).unzip();
        let prefixes = Prefixes::of(&encodings);
        Some(Values {
            encodings: encodings.into(),
            prefixes,
            automaton: OnceLock::new(),
            owners: owners.into(),
            hex_digits_min,
            base64_digits_min,
            value_bytes_max,
        })
    }

    fn automaton(&self) -> &AhoCorasick {
        self.automaton.get_or_init(|| {
            AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                // Overlapping secrets must all be found, or the end of one would be left behind another.
                .match_kind(MatchKind::Standard)
                .start_kind(StartKind::Both)
                .build(&self.encodings)
                .expect("values are bounded, so there are far fewer than 2^31 states")
        })
    }

    /// True if there is one in `text`.
    pub(crate) fn are_in(&self, text: &[u8]) -> bool {
        let mut hits = Vec::new();
        self.stand_in(text) || {
            self.find(text, 0, &mut hits);
            !hits.is_empty()
        }
    }

    /// True if there is one in `text` as it stands.
    fn stand_in(&self, text: &[u8]) -> bool {
        let mut at = 0;
        while let Some(found) = self.prefixes.next(text, at) {
            if self.one_begins_as(&text[found..])
                && self.automaton().is_match(Input::new(text).range(found..).anchored(Anchored::Yes))
            {
                return true;
            }
            at = found + 1;
        }
        false
    }

    /// True if an encoding has the same beginning as this text.
    fn one_begins_as(&self, text: &[u8]) -> bool {
        let beginning = text.get(..PREFIX_BYTES).unwrap_or(text);
        let place = self.encodings.partition_point(|encoding| &**encoding < beginning);
        self.encodings.get(place).is_some_and(|encoding| encoding.starts_with(beginning))
    }

    /// How long the longest may be as it is written, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        let encoding = self.encodings.iter().map(|encoding| encoding.len()).max().unwrap_or(0);
        encoding.max(self.value_bytes_max * ESCAPED_BYTES_EACH)
    }

    /// Adds the places in `text` that hold one, which begins at `offset` in a longer text.
    pub(crate) fn find(&self, text: &[u8], offset: usize, hits: &mut Vec<Hit>) {
        let mut found = Vec::new();
        self.find_joined(text, &mut found);
        // Only around escapes does a text read otherwise than it stands.
        let reach = self.value_bytes_max.saturating_mul(DIGITS_BYTES_EACH);
        for island in escapes::islands(text, reach) {
            let from = found.len();
            self.find_escaped(&text[island.clone()], &mut found);
            for hit in &mut found[from..] {
                (hit.start, hit.end) = (hit.start + island.start, hit.end + island.start);
            }
        }
        merge(&mut found);
        for hit in &mut found {
            (hit.start, hit.end) = (hit.start + offset, hit.end + offset);
        }
        hits.append(&mut found);
    }

    /// Those in the text without its escapes.
    fn find_escaped(&self, text: &[u8], hits: &mut Vec<Hit>) {
        let families = escapes::families_in(text);
        let mixes = text.len() <= MIXED_BYTES_MAX;
        // One by one, since a sign of another family may belong to a value, or stand before it.
        families.each().for_each(|family| self.find_undone(text, (family, mixes), LEVELS_MAX, hits));
        if families.are_several() {
            self.find_undone(text, (Families::ALL, mixes), LEVELS_MAX, hits);
        }
    }

    /// Those in the text without escapes of these families, and without those that are left then: of others, too, if
    /// families may be mixed.
    fn find_undone(
        &self,
        text: &[u8],
        (families, mixes): (Families, bool),
        levels: usize,
        hits: &mut Vec<Hit>,
    ) {
        let pieces = || escapes::pieces(text, families);
        let view = view::read(text, pieces());
        if view.len() == text.len() {
            return;
        }
        let mut found = Vec::new();
        self.find_joined(&view, &mut found);
        if levels > 1 {
            self.find_undone(&view, (families, mixes), levels - 1, &mut found);
            let left = escapes::families_in(&view);
            if mixes && !families.holds(left) {
                // By itself as well: a sign that has come out only now may belong to a value.
                let others = left.each().filter(|family| !families.holds(*family));
                others.for_each(|family| self.find_undone(&view, (family, mixes), levels - 1, &mut found));
                if left.are_several() {
                    self.find_undone(&view, (Families::ALL, mixes), levels - 1, &mut found);
                }
            }
        }
        view::back(pieces(), &mut found);
        hits.append(&mut found);
    }

    /// Those that stand there, and those in digits with something between them.
    fn find_joined(&self, text: &[u8], hits: &mut Vec<Hit>) {
        self.find_standing(text, |_| true, hits);
        for run in runs::hex(text, self.hex_digits_min) {
            let pieces = || runs::hex_digits(text, run.clone());
            self.find_in_pieces(text, pieces, |form| form == Form::Hex, hits);
        }
        for run in runs::base64(text, self.base64_digits_min) {
            let pieces = || runs::base64_lines(text, run.clone());
            self.find_in_pieces(text, pieces, |form| matches!(form, Form::Base64 { .. }), hits);
        }
    }

    fn find_in_pieces<I: Iterator<Item = Piece>>(
        &self,
        text: &[u8],
        pieces: impl Fn() -> I,
        is_wanted: impl Fn(Form) -> bool,
        hits: &mut Vec<Hit>,
    ) {
        let mut found = Vec::new();
        self.find_standing(&view::read(text, pieces()), is_wanted, &mut found);
        if !found.is_empty() {
            view::back(pieces(), &mut found);
            hits.append(&mut found);
        }
    }

    /// Those in `text` as it stands whose form is wanted: where separators are left out, the numbers of a table may read
    /// as a value.
    fn find_standing(&self, text: &[u8], is_wanted: impl Fn(Form) -> bool, hits: &mut Vec<Hit>) {
        // Asking first whether there is one is faster than looking for all.
        if !self.stand_in(text) {
            return;
        }
        let from = hits.len();
        let mut most = HITS_MAX;
        for found in self.automaton().find_overlapping_iter(text) {
            let Owner { name, form } = &self.owners[found.pattern().as_usize()];
            if !is_wanted(*form) {
                continue;
            }
            let end = match form {
                Form::Base64 { has_rest: true } => end_of_base64(text, found.end()),
                Form::Base64 { has_rest: false } | Form::Hex | Form::Text => found.end(),
            };
            let hit = Hit { start: found.start(), end, rank: 0, name: name.clone() };
            // Encodings of one value that end at one place: the longest holds the others.
            match hits.last_mut().filter(|last| last.end == hit.end && last.start >= hit.start) {
                Some(last) => *last = hit,
                None => hits.push(hit),
            }
            // Of `0000` in a text of zeros there is one at every place.
            if hits.len() - from >= most {
                let mut new = hits.split_off(from);
                merge(&mut new);
                // Where most are apart they are merged more and more seldom.
                most = HITS_MAX.max(2 * new.len());
                hits.append(&mut new);
            }
        }
    }

    /// True if a secret of this name is known.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.owners.iter().any(|known| &*known.name == name)
    }
}

/// Where base64 ends that has its last bits in the digit at `at`: behind that, and behind the padding.
fn end_of_base64(text: &[u8], at: usize) -> usize {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let rest = at + usize::from(text.get(at).is_some_and(is_digit));
    runs::end_of_padding(text, rest)
}

fn is_long_enough(value: &str) -> bool {
    value.trim().chars().nth(VALUE_CHARACTERS_MIN - 1).is_some()
}

fn beginning(value: &str) -> &str {
    &value[..value.floor_char_boundary(VALUE_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_overlap_take_no_more_room_than_their_text() {
        let known = |name: &str, value: &str| Known { name: name.into(), value: value.into() };
        let secrets = [known("FOUR", "0000"), known("EIGHT", "00000000")];
        let values = Values::of(secrets.iter()).expect("two secrets");
        let mut hits = Vec::new();
        values.find("0".repeat(200_000).as_bytes(), 0, &mut hits);
        assert!(hits.capacity() <= 4 * HITS_MAX, "{}", hits.capacity());
        merge(&mut hits);
        assert_eq!(hits.iter().map(|hit| (hit.start, hit.end)).collect::<Vec<_>>(), [(0, 200_000)]);
        // Those that are apart stay so.
        let mut hits = Vec::new();
        values.find("0000 ".repeat(50_000).as_bytes(), 0, &mut hits);
        merge(&mut hits);
        assert_eq!(hits.len(), 50_000);
    }
}
