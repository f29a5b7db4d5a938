//! Judging what a call has given. Texts are shown one after the other; what is left of each comes back.

use std::borrow::Cow;
use std::sync::Arc;

use crate::encoded;
use crate::judge::{Finding, InForce, Stop};
use crate::rule::{Action, Mode};
use crate::strike::{self, Kind, Owner, Token};

/// The rules that a result is held against.
#[derive(Debug)]
pub struct OnResult {
    tool: Box<str>,
    rules: Vec<InForce>,
    findings: Vec<Finding>,
    stop: Option<Stop>,
    struck: u32,
}

/// What came of it.
#[derive(Debug)]
pub struct Words {
    /// Every rule that matched, for the record.
    pub findings: Vec<Finding>,
    /// Why the result is withheld, if it is.
    pub stop: Option<Stop>,
    /// How many places were struck out.
    pub struck: u32,
}

impl OnResult {
    pub(crate) fn new(tool: &str, rules: Vec<InForce>) -> OnResult {
        OnResult { tool: tool.into(), rules, findings: Vec::new(), stop: None, struck: 0 }
    }

    /// The same rules for what is told beside the result, with nothing found yet.
    #[must_use]
    pub fn anew(&self) -> OnResult {
        OnResult::new(&self.tool, self.rules.clone())
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
        self.stop.take()
    }

    /// Holds a text against the rules. What is left of it, if that is not the same.
    pub fn text(&mut self, text: &str) -> Option<String> {
        self.look(&mut Token { text: Cow::Borrowed(text), kind: Kind::Text, marks: 0 })
    }

    /// The same for bytes that may be a text, in whatever encoding. Of bytes that are none, and in which something is to be
    /// struck out, nothing is left.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut shown = |text: Cow<'_, str>, kind| self.look(&mut Token { text, kind, marks: 0 });
        encoded::read(bytes, &mut shown).map(String::into_bytes)
    }

    /// The same for a tool's own JSON text. What comes out is JSON.
    pub fn structured(&mut self, json: &[u8]) -> Option<String> {
        self.json(json, Owner::Tool)
    }

    /// The same for JSON text in an object of the protocol's: a result, or what a client is asked.
    pub fn message(&mut self, json: &[u8]) -> Option<String> {
        self.json(json, Owner::Protocol)
    }

    /// What came of it.
    pub fn end(self) -> Words {
        Words { findings: self.findings, stop: self.stop, struck: self.struck }
    }

    fn json(&mut self, json: &[u8], owner: Owner) -> Option<String> {
        let text = String::from_utf8_lossy(json);
        strike::json(&text, owner, |token| self.look(token))
    }

    fn look(&mut self, token: &mut Token<'_>) -> Option<String> {
        let mut left: Option<String> = None;
        for (nth, one) in self.rules.iter().enumerate() {
            let rule = &one.rule;
            let text = left.as_deref().unwrap_or(&token.text);
            let content = rule.matches.content.as_ref();
            let acts = rule.mode == Mode::Enforce;
            match &rule.action {
                Action::Redact { placeholder, .. } => {
                    let mark = mark(nth);
                    if token.kind == Kind::Key && content.is_some_and(|content| content.is_match(&token.text))
                    {
                        token.marks |= mark;
                    }
                    if matches!(token.kind, Kind::Key | Kind::Word) || text.is_empty() {
                        continue;
                    }
                    let whole = || Some(((**placeholder).to_owned(), 1));
                    let struck = match content {
                        // Numbers and the like tell nothing of a file's content that its text does not.
                        None if matches!(token.kind, Kind::Number | Kind::Coded)
                            || text == &**placeholder =>
                        {
                            None
                        }
                        None => whole(),
                        // A name that matches is what the text is assigned to. A number stays: it may be a count.
                        Some(_) if token.kind == Kind::Text && token.marks & mark != 0 => whole(),
                        Some(content) if token.kind == Kind::Bytes => {
                            if content.is_match(text) {
                                whole()
                            } else {
                                None
                            }
                        }
                        Some(content) => strike::matches(content, placeholder, text),
                    };
                    let Some((struck, count)) = struck else { continue };
                    one.note(&self.tool, &mut self.findings);
                    if acts {
                        self.struck = self.struck.saturating_add(count);
                        left = Some(struck);
                    }
                }
                action => {
                    // Without a pattern it has been heard before the call ran.
                    if !content.is_some_and(|content| content.is_match(&token.text)) {
                        continue;
                    }
                    one.note(&self.tool, &mut self.findings);
                    if acts && *action == Action::Block {
                        let (rule, why) = (rule.id.clone(), rule.why().into());
                        self.stop.get_or_insert(Stop { rule, why });
                    }
                }
            }
        }
        left
    }
}

/// What a rule puts to names that it matches. Of very many rules the last ones share one, and strike more.
fn mark(nth: usize) -> u64 {
    1 << nth.min(63)
}
