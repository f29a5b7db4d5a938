//! What a running call tells on its way, held against the AI rules that its result is held against.
//!
//! A message that a rule blocks is dropped, and the call goes on: what it gives in the end is judged by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use rules::{OnResult, Rules};
use serde_json::Value;
use tool_api::{Listener, Progress};

use super::result_rules::Findings;
use super::rules_check::{begun_with, task_call};
use crate::tokens::Origin;

/// The rules for one call's messages; nothing if it concerns none.
pub(crate) type OnMessages = Option<Arc<Mutex<OnResult>>>;

/// The rules for the messages of a call whose result is held against these.
pub(crate) fn on_messages(on_result: Option<&OnResult>) -> OnMessages {
    on_result.map(|rules| Arc::new(Mutex::new(rules.anew())))
}

/// Tells the listener what the rules leave.
pub(crate) fn listener(rules: &OnMessages, next: Arc<dyn Listener>) -> Arc<dyn Listener> {
    match rules {
        Some(rules) => Arc::new(Judged { rules: rules.clone(), next }),
        None => next,
    }
}

/// What the rules found in the messages so far.
pub(crate) fn findings(rules: &OnMessages) -> Findings {
    let Some(rules) = rules else { return Findings::default() };
    let mut rules = lock(rules);
    let fresh = rules.anew();
    // A message that a rule stopped is gone already.
    Findings::of(std::mem::replace(&mut *rules, fresh).end()).0
}

/// What a source tells of a task unasked, as far as the rules for `tool` leave it, and for the paths that the call named
/// that the task goes on with.
pub(crate) fn judge_news(
    rules: &Rules,
    tool: &str,
    origin: Option<&Origin>,
    upstream: &str,
    task: Bytes,
) -> Option<Bytes> {
    let (arguments, begun) = (Value::Object(serde_json::Map::new()), origin.map(begun_with));
    let judgement = rules.judge(&task_call(tool, (Some(upstream), true), &arguments, begun.as_ref()));
    if judgement.stop.is_some() {
        return None;
    }
    let Some(mut on_result) = judgement.on_result else { return Some(task) };
    let left = on_result.message(&task).map_or(task, Bytes::from);
    on_result.stopped().is_none().then_some(left)
}

/// Passes on what the rules leave.
struct Judged {
    rules: Arc<Mutex<OnResult>>,
    next: Arc<dyn Listener>,
}

impl Judged {
    fn json(&self, text: Bytes) -> Option<Bytes> {
        let mut rules = lock(&self.rules);
        let left = rules.message(&text).map_or(text, Bytes::from);
        rules.stopped().is_none().then_some(left)
    }

    fn text(&self, text: String) -> Option<String> {
        let mut rules = lock(&self.rules);
        let left = rules.text(&text).unwrap_or(text);
        rules.stopped().is_none().then_some(left)
    }
}

impl Listener for Judged {
    fn progress(&self, progress: Progress) {
        let left = match progress {
            // How far it is says nothing; its words do.
            Progress::Step { done, total, message } => {
                Some(Progress::Step { done, total, message: message.and_then(|text| self.text(text)) })
            }
            Progress::Relayed(params) => self.json(params).map(Progress::Relayed),
        };
        if let Some(progress) = left {
            self.next.progress(progress);
        }
    }

    fn log(&self, params: Bytes) {
        if let Some(params) = self.json(params) {
            self.next.log(params);
        }
    }
}

fn lock(rules: &Mutex<OnResult>) -> MutexGuard<'_, OnResult> {
    rules.lock().unwrap_or_else(PoisonError::into_inner)
}
