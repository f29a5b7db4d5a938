//! Judging what a call has given. Texts are shown one after the other; what is left of each comes back.

use std::borrow::Cow;
use std::sync::Arc;

use crate::encoded;
use crate::finding::{Finding, Stop};
use crate::in_force::InForce;
use crate::names::Declared;
use crate::rule::{Action, Mode};
use crate::strike;
use crate::token::{self, Kind, Marks, Token};
use crate::vocabulary::{Owner, Vocabulary};

/// The rules that a result is held against.
#[derive(Debug)]
pub struct OnResult {
    tool: Box<str>,
    rules: Vec<InForce>,
    /// Names that are no content.
    declared: Declared,
    vocabulary: Vocabulary,
    words: Words,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Words {
    /// Every rule that matched, for the record.
    pub findings: Vec<Finding>,
    /// Why the result is withheld, if it is.
    pub stop: Option<Stop>,
    /// How many places were struck out.
    pub struck: u32,
}

impl OnResult {
    pub(crate) fn new(
        tool: &str,
        rules: Vec<InForce>,
        declared: Declared,
        vocabulary: Vocabulary,
    ) -> OnResult {
        OnResult { tool: tool.into(), rules, declared, vocabulary, words: Words::default() }
    }

    /// The same rules for what is told beside the result, with nothing found yet.
    #[must_use]
    pub fn anew(&self) -> OnResult {
        OnResult::new(&self.tool, self.rules.clone(), self.declared.clone(), self.vocabulary.clone())
    }

    /// These rules and those of another judgement of the same call.
    #[must_use]
    pub fn and(mut self, other: OnResult) -> OnResult {
        for one in other.rules {
            if !self.rules.iter().any(|known| Arc::ptr_eq(&known.rule, &one.rule)) {
                self.rules.push(one);
            }
        }
        self
    }

    /// Why what was shown since the last time is withheld, if it is.
    pub fn stopped(&mut self) -> Option<Stop> {
        self.words.stop.take()
    }

    /// Holds a text against the rules. What is left of it, if that is not the same.
    pub fn text(&mut self, text: &str) -> Option<String> {
        self.look(&mut Token { text: Cow::Borrowed(text), kind: Kind::Text, marks: Marks::default() })
    }

    /// The same for bytes that may be a text, in whatever encoding. Of bytes that are none, and in which something is to be
    /// struck out, nothing is left.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut shown =
            |text: Cow<'_, str>, kind| self.look(&mut Token { text, kind, marks: Marks::default() });
        encoded::read(bytes, &mut shown).map(String::into_bytes)
    }

    /// The same for a tool's own JSON text. What comes out is JSON.
    pub fn structured(&mut self, json: &[u8]) -> Option<String> {
        self.json(json, Owner::Tool)
    }

    /// The same for JSON text in an object of the protocol's: a result, or what a client is asked.
    pub fn message(&mut self, json: &[u8]) -> Option<String> {
        let vocabulary = self.vocabulary.clone();
        self.json(json, Owner::Protocol(&vocabulary))
    }

    /// What came of it.
    pub fn end(self) -> Words {
        self.words
    }

    fn json(&mut self, json: &[u8], owner: Owner<'_>) -> Option<String> {
        let text = String::from_utf8_lossy(json);
        strike::json(&text, owner, |token| self.look(token))
    }

    fn look(&mut self, token: &mut Token<'_>) -> Option<String> {
        let mut left: Option<String> = None;
        for (nth, one) in self.rules.iter().enumerate() {
            let rule = &one.rule;
            let content = rule.matches.content.as_ref();
            let acts = rule.mode == Mode::Enforce;
            match &rule.action {
                Action::Redact { placeholder, .. } => {
                    let struck =
                        token::strike(content, placeholder, nth, &self.declared, token, left.as_deref());
                    let Some((struck, count)) = struck else { continue };
                    one.note(&self.tool, &mut self.words.findings);
                    if acts {
                        self.words.struck = self.words.struck.saturating_add(count);
                        left = Some(struck);
                    }
                }
                action => {
                    // Without a pattern it has been heard before the call ran.
                    if !content.is_some_and(|content| token.is_found(content, nth)) {
                        continue;
                    }
                    one.note(&self.tool, &mut self.words.findings);
                    if acts && *action == Action::Block {
                        let (rule, why) = (rule.id.clone(), rule.why().into());
                        self.words.stop.get_or_insert(Stop { rule, why });
                    }
                }
            }
        }
        left
    }
}
