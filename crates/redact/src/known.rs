//! Values that are known to be secret, and where a text has one of them.

mod prefixes;
mod spelling;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};

use crate::hits::{Hit, Name, merge};
use crate::redactor::Known;
use prefixes::{PREFIX_BYTES, Prefixes};

/// Shorter values are not looked for, in characters: they would strike out half of every text.
const VALUE_CHARACTERS_MIN: usize = 4;

/// Of a longer value only the beginning is looked for, in bytes. No key is longer.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Places that are found before those that overlap are made one.
const HITS_MAX: usize = 16 * 1024;

/// All spellings of all known values.
pub(crate) struct Values {
    /// In order.
    spellings: Box<[Box<[u8]>]>,
    prefixes: Prefixes,
    /// Built when a text has the beginning of a spelling, since it takes several times as much memory as they do.
    automaton: OnceLock<AhoCorasick>,
    /// Whose value a spelling is.
    names: Box<[Arc<str>]>,
}

impl Values {
    /// Of these secrets; nothing if none of them is long enough to be looked for.
    pub(crate) fn of<'k>(secrets: impl Iterator<Item = &'k Known>) -> Option<Values> {
        // If two secrets have one value, the name that comes first is shown.
        let mut secrets: Vec<&Known> = secrets.filter(|known| is_long_enough(&known.value)).collect();
        secrets.sort_by_key(|known| (Reverse(known.value.len()), known.name.clone()));
        let mut spelt: BTreeMap<Vec<u8>, &Arc<str>> = BTreeMap::new();
        for known in secrets {
            for spelling in spelling::spellings(beginning(known.value.trim())) {
                spelt.entry(spelling).or_insert(&known.name);
            }
        }
        if spelt.is_empty() {
            return None;
        }
        let (spellings, names): (Vec<Box<[u8]>>, Vec<Arc<str>>) =
            spelt.into_iter().map(|(spelling, name)| (spelling.into(), Arc::clone(name))).unzip();
        let prefixes = Prefixes::of(&spellings);
        Some(Values {
            spellings: spellings.into(),
            prefixes,
            automaton: OnceLock::new(),
            names: names.into(),
        })
    }

    fn automaton(&self) -> &AhoCorasick {
        self.automaton.get_or_init(|| {
            AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                // Overlapping secrets must all be found, or the end of one would be left behind another.
                .match_kind(MatchKind::Standard)
                .start_kind(StartKind::Both)
                .build(&self.spellings)
                .expect("values are bounded, so there are far fewer than 2^31 states")
        })
    }

    /// True if there is one in `text`.
    pub(crate) fn are_in(&self, text: &[u8]) -> bool {
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

    /// True if a spelling has the same beginning as this text.
    fn one_begins_as(&self, text: &[u8]) -> bool {
        let beginning = text.get(..PREFIX_BYTES).unwrap_or(text);
        let place = self.spellings.partition_point(|spelling| &**spelling < beginning);
        self.spellings.get(place).is_some_and(|spelling| spelling.starts_with(beginning))
    }

    /// The length of the longest, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.spellings.iter().map(|spelling| spelling.len()).max().unwrap_or(0)
    }

    /// Adds the places in `text` that hold one, which begins at `offset` in a longer text.
    pub(crate) fn find(&self, text: &[u8], offset: usize, hits: &mut Vec<Hit>) {
        let from = hits.len();
        let mut most = HITS_MAX;
        for found in self.automaton().find_overlapping_iter(text) {
            let name = Name::Known(self.names[found.pattern().as_usize()].clone());
            let hit = Hit { start: offset + found.start(), end: offset + found.end(), rank: 0, name };
            // Spellings of one value that end at one place: the longest holds the others.
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
        self.names.iter().any(|known| &**known == name)
    }
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
