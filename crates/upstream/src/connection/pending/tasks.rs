//! What tasks of 2025-11-25 ask. Each such question names its task, so it is known whose it is, whatever else is under
//! way. One that comes before anybody waits for the task's result is kept until somebody does.

use std::sync::Arc;

use wire::WireError;

use super::super::asked::Question;
use super::super::caller::Caller;
use super::questions::{HELD_MAX, unknown};
use super::{OfTask, Pending, QUESTIONS_BYTES_MAX, Table, Via};
use crate::fault::Fault;

impl Pending {
    /// Opens a request for the result of `task`, which hears what the task asks.
    pub(crate) fn open_for_task(&self, caller: Caller, task: &Arc<str>) -> Result<u64, Fault> {
        self.with(|table| {
            let id = table.open(Some(caller))?;
            if let Some(entry) = table.open.get_mut(&id) {
                entry.task = Some(task.clone());
            }
            table.settle_tasks();
            Ok(id)
        })
    }

    /// Keeps what `task` asks from now on until somebody waits for its result. Counted.
    pub(crate) fn claim_task(&self, task: &Arc<str>) {
        self.with(|table| *table.claimed.entry(task.clone()).or_default() += 1);
    }

    /// Once less; what the task still asks then is refused.
    pub(crate) fn disclaim_task(&self, task: &Arc<str>) {
        self.with(|table| {
            let left = table.claimed.get_mut(task).map(|claims| {
                *claims -= 1;
                *claims
            });
            if left == Some(0) {
                table.claimed.remove(task);
            }
            table.settle_tasks();
        });
    }

    /// True if `task` has asked something that nobody has heard yet.
    pub(crate) fn has_question_of(&self, task: &str) -> bool {
        self.table().of_tasks.iter().any(|held| *held.task == *task)
    }
}

impl Table {
    /// Takes a question in hand that comes from a task; gives it back if it comes from none that is known.
    ///
    /// # Errors
    /// What the server is told instead.
    pub(super) fn ask_of_task(
        &mut self,
        via: Via,
        task: Option<&str>,
        question: Question,
    ) -> Result<Option<Question>, WireError> {
        if let Some(request) = self.request_for(via, task) {
            // As certain as if it had come on a stream of its own.
            return self.put(request, Via::Request(request), question).map(|()| None);
        }
        let Some(task) = task else { return Ok(Some(question)) };
        let calls = self.calls_that_may_begin();
        if calls.is_empty() && !self.claimed.contains_key(task) {
            return Ok(Some(question));
        }
        let is_full = self.held.len() + self.of_tasks.len() >= HELD_MAX
            || self.questions_bytes + question.bytes() > QUESTIONS_BYTES_MAX;
        if is_full {
            return Err(unknown(question.kind));
        }
        self.questions_bytes += question.bytes();
        self.of_tasks.push(OfTask { task: task.into(), question, calls });
        Ok(None)
    }

    /// Puts those questions for which somebody waits now, and refuses those of tasks that turn out to be nobody's.
    pub(super) fn settle_tasks(&mut self) {
        for held in std::mem::take(&mut self.of_tasks) {
            let request = self.request_for(Via::Shared, Some(&held.task));
            let may_come = self.claimed.contains_key(&held.task)
                || held.calls.iter().any(|id| self.open.contains_key(id));
            if request.is_none() && may_come {
                self.of_tasks.push(held);
                continue;
            }
            let (id, kind) = (held.question.id.clone(), held.question.kind);
            self.questions_bytes -= held.question.bytes();
            let told = match request {
                Some(request) => self.put(request, Via::Request(request), held.question),
                None => Err(unknown(kind)),
            };
            self.refused.extend(told.err().map(|error| (id, error)));
        }
    }

    /// The request for the result of the task that asks.
    fn request_for(&self, via: Via, task: Option<&str>) -> Option<u64> {
        let mut open = self.open.iter().filter(|(_, entry)| entry.answer.is_none() && entry.task.is_some());
        let is_meant = |id: u64, of: Option<&str>| via == Via::Request(id) || task.is_some() && of == task;
        open.find(|(id, entry)| is_meant(**id, entry.task.as_deref())).map(|(id, _)| *id)
    }

    /// The calls of which one may be about to be answered with a task; also one whose answer nobody has taken yet.
    fn calls_that_may_begin(&self) -> Vec<u64> {
        let begins = |caller: &Caller| caller.may_be_asked;
        let calls = self.open.iter().filter(|(_, entry)| entry.task.is_none());
        calls.filter(|(_, entry)| entry.caller.as_ref().is_some_and(begins)).map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context as Task, Poll, Waker};

    use bytes::Bytes;
    use wire::Id;
    use wire::message::Text;

    use super::super::super::asked::Kind;
    use super::super::super::exchange::{Exchange, Waiting};
    use super::super::{Happening, Next};
    use super::*;

    fn caller(conversation: u64) -> Caller {
        let client = tool_api::Client {
            capabilities: Bytes::from_static(br#"{"roots":{}}"#),
            conversation,
            ..tool_api::Client::default()
        };
        Caller { may_be_asked: true, ..Caller::of_task(&client) }
    }

    /// What comes of these steps, one word and a name each: a call of a conversation, a claim on a task or its end, a
    /// request for the result of a task, a question of one, an answer to the request of a number.
    #[track_caller]
    fn check(steps: &[&str], expected: &str) {
        let exchange = Exchange::untraced();
        let (mut waiting, mut claims): (Vec<Waiting>, Vec<_>) = (Vec::new(), Vec::new());
        let mut came = Vec::new();
        let mut refused = |told: Vec<String>| came.extend(told);
        for step in steps {
            let (word, name) = step.split_once(' ').expect("a word and a name");
            match word {
                "call" => {
                    let caller = caller(name.parse().expect("a number"));
                    waiting.push(exchange.begin(Some(caller)).expect("open"));
                }
                "claim" => claims.push(exchange.claim_task(name.into())),
                "disclaim" => claims.retain(|claim| *claim.task != *name),
                "result" => {
                    let client = Caller { may_be_asked: false, ..caller(0) };
                    waiting.push(exchange.begin_for_task(client, &name.into()).expect("open"));
                }
                "ask" => {
                    let meta = format!(
                        r#"{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{name}"}}}}}}"#
                    );
                    let params = Some(Text::check(meta.into()).expect("JSON"));
                    let question = Question { id: Id::number(7), kind: Kind::Roots, params, of: None };
                    refused(
                        exchange
                            .pending
                            .ask(Via::Shared, question)
                            .err()
                            .iter()
                            .map(|_| "refused".to_owned())
                            .collect(),
                    );
                }
                "answer" => {
                    let text = Text::check(Bytes::from_static(b"{}")).expect("JSON");
                    exchange.pending.answer(name.parse().expect("a number"), Ok(Ok(text)));
                }
                _ => panic!("no step: {step}"),
            }
        }
        refused(exchange.pending.take_refused().iter().map(|_| "refused".to_owned()).collect());
        for waiting in &mut waiting {
            let (id, task) = (waiting.id, &mut Task::from_waker(Waker::noop()));
            while let Poll::Ready(Next::Happened(Happening::Asked(question))) = waiting.poll(task) {
                assert_eq!(question.of, None, "it is certain whose it is");
                came.push(format!("{id} asked"));
            }
        }
        assert_eq!(came.join(", "), expected, "{steps:?}");
    }

    #[test]
    fn a_question_that_names_its_task_reaches_whoever_waits_for_its_result() {
        check(&["result a", "ask a"], "1 asked");
        check(&["call 1", "call 2", "result a", "result b", "ask b"], "4 asked");
        // It waits until somebody does.
        check(&["claim a", "ask a"], "");
        check(&["claim a", "ask a", "result a"], "1 asked");
        check(&["claim a", "call 1", "call 2", "ask a", "result a"], "3 asked");
        check(&["claim a", "claim b", "ask a", "result b"], "");
        // Nobody will.
        check(&["ask a"], "refused");
        check(&["claim a", "ask a", "disclaim a"], "refused");
        check(&["claim a", "claim a", "ask a", "disclaim b"], "");
        check(&["result a", "answer 1", "ask a"], "refused");
    }

    #[test]
    fn a_question_may_come_before_the_answer_that_begins_its_task() {
        check(&["call 1", "ask a"], "");
        check(&["call 1", "ask a", "answer 1", "claim a", "result a"], "2 asked");
        check(&["call 1", "call 2", "ask a", "claim a", "answer 1", "result a"], "3 asked");
    }
}
