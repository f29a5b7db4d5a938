//! What looks like a secret: a set of rules as data, and where a text fits one.
//!
//! One pass finds the keywords of all rules. Only where one stands is anything else looked at, and an expression is
//! compiled when its keyword is found for the first time. Nothing of it is built before the first text that is long
//! enough to hold a secret.

mod assignment;
mod looks;
mod name;
mod rule;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input};

use crate::config::Filter;
use crate::hits::{Hit, Name};
use looks::fits;
use rule::{Form, Rule};

/// No secret with what tells it as such is shorter, in bytes.
const TEXT_BYTES_MIN: usize = 16;

/// A token goes on behind what a rule with a fixed length took of it at most this far, in bytes.
const TAIL_BYTES_MAX: usize = 512;

/// How far behind a keyword an expression may look, in bytes; the longest that one finds is a private key.
const REACH_BYTES_MAX: usize = 64 * 1024;

/// After this many tries in a row with nothing between them that ends a token, an expression sees only what is near.
/// Text has far fewer, minified data too, and made-up text must not cost the square of its length.
const TRIES_IN_RUN_MAX: u32 = 256;

/// How far an expression sees then, in bytes; most tokens are shorter.
const REACH_IN_RUN_BYTES: usize = 256;

/// After this many the rest of the run is passed over: no text goes on so.
const TRIES_IN_RUN_ALL_MAX: u32 = 4096;

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
        let mut keywords: Vec<&str> = rules.iter().flat_map(Rule::keywords).collect();
        keywords.sort_unstable();
        keywords.dedup();
        let mut by_keyword: Vec<Keyword> = keywords.iter().map(|_| Keyword::default()).collect();
        for (nth, rule) in rules.iter().enumerate() {
            for keyword in rule.keywords() {
                let place = keywords.binary_search(&keyword).expect("all keywords are in the list");
                match rule.form {
                    Form::Near => by_keyword[place].near.push(nth),
                    Form::Token { .. } => by_keyword[place].tokens.push(nth),
                }
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
        let mut run = Run::default();
        for found in self.automaton.find_overlapping_iter(text) {
            let keyword = &self.by_keyword[found.pattern().as_usize()];
            let Some(reach) = run.reach(text, found.start()) else { continue };
            for &nth in &keyword.tokens {
                if let Some((start, end)) = token(&self.rules[nth], text, found.start(), reach) {
                    self.add(nth, text, start, end, filter, hits);
                }
            }
            if keyword.near.is_empty() {
                continue;
            }
            let Some(value) = assignment::value_behind(text, found.end()) else { continue };
            for &nth in &keyword.near {
                let rule = &self.rules[nth];
                let found_there = rule.expression().search_anchored(text, value.start, reach);
                let Some((start, end)) = found_there else { continue };
                if rule.heeds_name && name::is_harmless(text, found.start(), found.end()) {
                    continue;
                }
                let is_whole = text.get(end).is_none_or(|next| !continues(*next));
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
            hits.push(Hit { start, end, rank: nth + 1, name: Name::Kind(rule.id.clone()) });
        }
    }
}

/// The place of the rule's token, where its keyword stands at `at`, if it is not longer than `reach`.
fn token(rule: &Rule, text: &[u8], at: usize, reach: usize) -> Option<(usize, usize)> {
    let Form::Token { back, bound } = rule.form else { return None };
    let from = at.checked_sub(back)?;
    if bound && !begins_word(text, from) {
        return None;
    }
    let (start, mut end) = rule.expression().search_anchored(text, from, reach)?;
    let tail = &text[end..text.len().min(end + TAIL_BYTES_MAX)];
    if end > 0 && continues(text[end - 1]) {
        end += tail.iter().take_while(|byte| continues(**byte)).count();
    }
    fits(rule.looks, text, start, end, true).then_some((start, end))
}

/// What a token is made of.
fn continues(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// True if a word may begin here. Behind an escape such as `\n`, which may be escaped once more, it may.
fn begins_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    if !(before.is_ascii_alphanumeric() || before == b'_') {
        return true;
    }
    matches!(before, b'n' | b'r' | b't') && at >= 2 && text[at - 2] == b'\\'
}

/// How often something was tried since the last byte that ends every token.
#[derive(Default)]
struct Run {
    tries: u32,
    last: usize,
}

impl Run {
    /// How far an expression may look from a keyword at `at`, in bytes; nothing if it may not.
    fn reach(&mut self, text: &[u8], at: usize) -> Option<usize> {
        if text[self.last.min(at)..at].iter().any(|byte| ENDS_TOKEN[usize::from(*byte)]) {
            self.tries = 0;
        }
        self.last = at;
        self.tries = self.tries.saturating_add(1);
        let reach = if self.tries > TRIES_IN_RUN_MAX { REACH_IN_RUN_BYTES } else { REACH_BYTES_MAX };
        (self.tries <= TRIES_IN_RUN_ALL_MAX).then_some(reach)
    }
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

impl rule::Expression {
    /// The place of the secret, if the expression fits at `at` within `reach` bytes: the first group that took part, or
    /// all of it.
    fn search_anchored(&self, text: &[u8], at: usize, reach: usize) -> Option<(usize, usize)> {
        let regex = self.regex();
        let end = text.len().min(at.saturating_add(reach));
        let input = Input::new(text).range(at..end).anchored(Anchored::Yes);
        if !regex.is_match(input.clone()) {
            return None;
        }
        let mut captures: Captures = regex.create_captures();
        regex.captures(input, &mut captures);
        let whole = captures.get_match()?.span();
        let group = captures.iter().skip(1).flatten().next();
        let place = group.unwrap_or(whole);
        Some((place.start, place.end))
    }
}
