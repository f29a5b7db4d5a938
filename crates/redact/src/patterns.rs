//! What looks like a secret: a set of rules as data, and where a text fits one.
//!
//! One pass finds the keywords of all rules. Only where one stands is anything else looked at, and an expression is
//! compiled when its keyword is found for the first time. Nothing of it is built before the first text that is long
//! enough to hold a secret.

mod assignment;
mod filter;
mod looks;
mod name;
mod rule;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input};

use crate::hits::Hit;
pub(crate) use filter::Filter;
use looks::fits;
use rule::{Compiled, Looks, Rule};

/// No secret with what tells it as such is shorter, in bytes.
const TEXT_BYTES_MIN: usize = 16;

/// A token goes on behind what a rule with a fixed length took of it at most this far, in bytes.
const TAIL_BYTES_MAX: usize = 512;

/// How far behind a keyword an expression may look, in bytes; the longest that one finds is a private key.
pub(crate) const REACH_BYTES_MAX: usize = 64 * 1024;

/// After this many tries in a row with nothing between them that ends a token, an expression sees only what is near, and
/// more of it where that fits. Text has far fewer, minified data too, and made-up text must not cost the square of its
/// length.
const TRIES_IN_RUN_MAX: u32 = 256;

/// How far an expression sees then, in bytes; one that fits no more than [`BOUNDED_BYTES_MAX`] sees all of that.
const REACH_IN_RUN_BYTES: usize = 512;

/// Most bytes that an expression fits whose cost is as good as none.
const BOUNDED_BYTES_MAX: usize = 1024;

/// How often all that was seen after so many tries may be as long as the text, but for what fits no more than
/// [`BOUNDED_BYTES_MAX`]. Text that is not made up for it has each byte in one or two secrets.
const SEEN_SHARE: usize = 32;

/// How far any expression sees behind that, in bytes. Most tokens are shorter, so no text switches them off.
const REACH_AT_LAST_BYTES: usize = 64;

/// How much more it costs to find a group of an expression than where it ends.
const GROUP_COST: usize = 64;

/// Shortest keyword that tells a token by itself, in bytes, if it ends with a sign: `ghp_`, `glpat-`.
const TELLING_BYTES_MIN: usize = 4;

/// What is looked at of a name that goes over into a token, in bytes, and how many there must be.
const NAME_BYTES_MAX: usize = 12;
const NAME_BYTES_MIN: usize = 4;

static PATTERNS: LazyLock<Patterns> = LazyLock::new(Patterns::build);

/// All rules, and one automaton over their keywords.
struct Patterns {
    rules: Vec<Rule>,
    automaton: AhoCorasick,
    /// The rules of each keyword: those that look for a value behind it, and those that look for a token around it.
    by_keyword: Vec<Keyword>,
}

#[derive(Default)]
struct Keyword {
    near: Vec<usize>,
    tokens: Vec<usize>,
}

/// Adds the places in `text` that look like a secret.
pub(crate) fn find(text: &[u8], filter: &Filter, hits: &mut Vec<Hit>) {
    if text.len() >= TEXT_BYTES_MIN {
        PATTERNS.find(text, filter, hits);
    }
}

/// The ids of all rules, in their order.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    PATTERNS.rules.iter().map(|rule| &*rule.id)
}

impl Patterns {
    fn build() -> Patterns {
        let rules = rule::all();
        let mut keywords: Vec<&str> =
            rules.iter().flat_map(|rule| &rule.keywords).map(String::as_str).collect();
        keywords.sort_unstable();
        keywords.dedup();
        let mut by_keyword: Vec<Keyword> = keywords.iter().map(|_| Keyword::default()).collect();
        for (nth, rule) in rules.iter().enumerate() {
            for keyword in &rule.keywords {
                let place = keywords.binary_search(&keyword.as_str()).expect("all keywords are in the list");
                let Keyword { near, tokens } = &mut by_keyword[place];
                if rule.is_near { near.push(nth) } else { tokens.push(nth) }
            }
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(&keywords)
            .expect("a few hundred keywords make a small automaton");
        Patterns { rules, automaton, by_keyword }
    }

    fn find(&self, text: &[u8], filter: &Filter, hits: &mut Vec<Hit>) {
        let mut run = Run::over(text);
        for found in self.automaton.find_overlapping_iter(text) {
            let keyword = &self.by_keyword[found.pattern().as_usize()];
            run.try_at(found.start());
            for &nth in &keyword.tokens {
                if let Some((start, end)) = token(&self.rules[nth], &mut run, found.range()) {
                    self.add(nth, text, start, end, filter, hits);
                }
            }
            if keyword.near.is_empty() {
                continue;
            }
            let Some(value) = assignment::value_behind(text, found.end()) else { continue };
            for &nth in &keyword.near {
                let rule = &self.rules[nth];
                let Some((start, end)) = run.search(rule, value.start) else { continue };
                if rule.heeds_name
                    && name::is_harmless(text, found.range(), value.name_end, &text[start..end])
                {
                    continue;
                }
                let is_whole = text.get(end).is_none_or(|next| !goes_on(rule, *next));
                if is_whole && fits(rule.looks, text, start, end, value.is_quoted) {
                    self.add(nth, text, start, end, filter, hits);
                }
            }
        }
    }

    /// Adds what a rule found, if nothing else speaks against it.
    fn add(&self, nth: usize, text: &[u8], start: usize, end: usize, filter: &Filter, hits: &mut Vec<Hit>) {
        let rule = &self.rules[nth];
        let secret = &text[start..end];
        let is_random_enough = rule.entropy == 0.0 || looks::entropy(secret) >= rule.entropy;
        if is_random_enough && !looks::is_placeholder(secret) && !filter.lets_stand(&rule.id, secret) {
            hits.push(Hit { start, end, rank: nth + 1, name: rule.id.clone() });
        }
    }
}

/// The place of the rule's token, where its keyword stands at `keyword`.
fn token(rule: &Rule, run: &mut Run<'_>, keyword: Range<usize>) -> Option<(usize, usize)> {
    let text = run.text;
    let from = keyword.start.checked_sub(rule.back)?;
    let is_inside = !rule.begins_inside && !begins_word(text, from);
    if is_inside && (rule.back > 0 || !may_begin_inside(text, &keyword)) {
        return None;
    }
    let (start, mut end) = run.search(rule, from)?;
    let tail = &text[end..text.len().min(end + run.tail_bytes())];
    if end > 0 && continues(text[end - 1]) {
        end += tail.iter().take_while(|byte| continues(**byte)).count();
    }
    run.pay(end - start);
    // A name may go on with what looks like the beginning of a token.
    let is_token = !is_inside || fits(Looks::Random, text, start, end, true);
    (is_token && fits(rule.looks, text, start, end, true)).then_some((start, end))
}

/// True if a token may begin with this keyword in the middle of a word: behind a name, or the end of one, and with what
/// is in no word.
fn may_begin_inside(text: &[u8], keyword: &Range<usize>) -> bool {
    let is_telling = keyword.len() >= TELLING_BYTES_MIN && matches!(text[keyword.end - 1], b'_' | b'-');
    if !is_telling && text[keyword.start - 1] != b'_' {
        return false;
    }
    let before = &text[keyword.start.saturating_sub(NAME_BYTES_MAX)..keyword.start];
    let begin = before.iter().rposition(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    let name = &before[begin.map_or(0, |begin| begin + 1)..];
    let is_all = |is: fn(&u8) -> bool| name.iter().all(|byte| *byte == b'_' || is(byte));
    // Chance has no four letters in one case there.
    name.len() >= NAME_BYTES_MIN && (is_all(u8::is_ascii_lowercase) || is_all(u8::is_ascii_uppercase))
}

/// What a token is made of.
fn continues(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// True if a value goes on with this byte behind what the rule took of it.
fn goes_on(rule: &Rule, next: u8) -> bool {
    continues(next) || (rule.compiled().is_base64 && matches!(next, b'/' | b'+' | b'='))
}

/// True if a word may begin here. Behind an escape such as `\n`, which may be escaped once more, it may, and behind one
/// such as `%3D`.
fn begins_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    if !(before.is_ascii_alphanumeric() || before == b'_') {
        return true;
    }
    let is_escaped = matches!(before, b'n' | b'r' | b't') && at >= 2 && text[at - 2] == b'\\';
    let is_in_address = at >= 3 && text[at - 3] == b'%' && text[at - 2..at].iter().all(u8::is_ascii_hexdigit);
    is_escaped || is_in_address
}

/// How often something was tried since the last byte that ends every token, and what that may still cost.
struct Run<'t> {
    text: &'t [u8],
    tries: u32,
    last: usize,
    /// How many bytes may still be seen after too many tries.
    bytes_left: usize,
}

impl<'t> Run<'t> {
    fn over(text: &'t [u8]) -> Run<'t> {
        Run { text, tries: 0, last: 0, bytes_left: text.len().saturating_mul(SEEN_SHARE) }
    }

    /// Counts a keyword at `at`.
    fn try_at(&mut self, at: usize) {
        if self.text[self.last.min(at)..at].iter().any(|byte| ENDS_TOKEN[usize::from(*byte)]) {
            self.tries = 0;
        }
        self.last = at;
        self.tries = self.tries.saturating_add(1);
    }

    /// The place of the rule's secret, if its expression fits at `at`.
    fn search(&mut self, rule: &Rule, at: usize) -> Option<(usize, usize)> {
        let compiled = rule.compiled();
        let bounded = compiled.bytes_max.filter(|bytes| *bytes <= BOUNDED_BYTES_MAX);
        if self.tries <= TRIES_IN_RUN_MAX {
            let found = compiled.search_anchored(self.text, at, bounded.unwrap_or(REACH_BYTES_MAX));
            return found.map(|found| found.place);
        }
        let reach = match self.bytes_left {
            0 => REACH_AT_LAST_BYTES,
            _ => bounded.unwrap_or(REACH_IN_RUN_BYTES),
        };
        let near = compiled.search_anchored(self.text, at, reach);
        self.pay(match &near {
            // Of those there is a bound for each keyword.
            Some(_) if bounded.is_some() && !compiled.has_groups => 0,
            Some(near) => near.cost,
            // Without a bound it may have seen all of that.
            None if bounded.is_none() => reach,
            None => 0,
        });
        let near = near?;
        if bounded.is_some() || near.end < at + reach || self.bytes_left == 0 {
            return Some(near.place);
        }
        let far = compiled.search_anchored(self.text, at, REACH_BYTES_MAX)?;
        self.pay(far.cost);
        Some(far.place)
    }

    /// How far behind the end of what was found its token may go on, in bytes.
    fn tail_bytes(&self) -> usize {
        if self.bytes_left == 0 { REACH_AT_LAST_BYTES } else { TAIL_BYTES_MAX }
    }

    /// Counts what was looked at.
    fn pay(&mut self, bytes: usize) {
        if self.tries > TRIES_IN_RUN_MAX {
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
        }
    }
}

/// Where an expression fits.
struct Found {
    /// The secret: the first group that took part, or all of it.
    place: (usize, usize),
    end: usize,
    /// What it cost to find it, in bytes that were seen.
    cost: usize,
}

/// What no expression goes on behind that has no end of its own: blanks, quotes, brackets, and what stands between the
/// members of data and the parts of a query.
static ENDS_TOKEN: [bool; 256] = {
    let (ends, mut is_end, mut nth) = (b" \t\r\n\"'`,;&|(){}[]<>", [false; 256], 0);
    while nth < ends.len() {
        is_end[ends[nth] as usize] = true;
        nth += 1;
    }
    is_end
};

impl Compiled {
    /// What the expression fits at `at` within `reach` bytes.
    fn search_anchored(&self, text: &[u8], at: usize, reach: usize) -> Option<Found> {
        let end = text.len().min(at.saturating_add(reach));
        let input = Input::new(text).range(at..end).anchored(Anchored::Yes);
        let whole_end = self.regex.search_half(&input)?.offset();
        if !self.has_groups {
            return Some(Found { place: (at, whole_end), end: whole_end, cost: whole_end - at });
        }
        let mut captures: Captures = self.regex.create_captures();
        self.regex.captures(input.range(at..whole_end), &mut captures);
        let whole = captures.get_match()?.span();
        let group = captures.iter().skip(1).flatten().next();
        let place = group.unwrap_or(whole);
        let cost = (whole_end - at).saturating_mul(GROUP_COST);
        Some(Found { place: (place.start, place.end), end: whole_end, cost })
    }
}
