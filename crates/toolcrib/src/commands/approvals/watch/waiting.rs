//! What waits for a person: calls for leave to run, and agents for answers.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

use gate::Approvals;
use gate::approvals::{Approval, Asker, State, is_there};
use gate::questions::{Question, Questions};
use sandbox::Machine;
use serde_json::json;
use terminal::{Trouble, print};

use crate::commands::approvals::{question, shown};
use crate::commands::caller::caller;

/// What waits for a person.
#[derive(Clone)]
pub(super) enum Waiting {
    /// A call, for leave to run.
    Call(Box<Approval>),
    /// An agent, for an answer.
    Agent(Question),
}

impl Waiting {
    pub(super) fn id(&self) -> &Arc<str> {
        match self {
            Waiting::Call(approval) => &approval.id,
            Waiting::Agent(question) => &question.id,
        }
    }

    pub(super) fn askers(&self) -> &[Asker] {
        match self {
            Waiting::Call(approval) => &approval.askers,
            Waiting::Agent(question) => &question.askers,
        }
    }

    fn asked_at_ms(&self) -> i64 {
        match self {
            Waiting::Call(approval) => approval.asked_at_ms,
            Waiting::Agent(question) => question.asked_at_ms,
        }
    }

    /// What it is called, and who wants it.
    pub(super) fn sign(&self) -> (&'static str, String) {
        match self {
            Waiting::Call(approval) => {
                let Approval { tool, caller, id, .. } = &**approval;
                ("A call waits for you", format!("{tool} ({caller}), approval {id}"))
            }
            Waiting::Agent(Question { caller, id, .. }) => {
                ("An agent asks you", format!("{caller}, question {id}"))
            }
        }
    }
}

/// What waits whose client is still there, the newest first.
pub(super) fn living(kept: &Approvals, questions: &Questions) -> Result<Vec<Waiting>, Trouble> {
    let calls = kept.approvals(&caller()).map_err(Trouble::because)?;
    let calls = calls.into_iter().filter(|approval| approval.status(kept.now_ms()) == State::Pending);
    let agents = questions.open().map_err(Trouble::because)?;
    let calls = calls.map(|approval| Waiting::Call(Box::new(approval)));
    let all = calls.chain(agents.into_iter().map(Waiting::Agent));
    let mut all: Vec<_> = all.filter(|waiting| is_there(&Machine, waiting.askers())).collect();
    all.sort_by_key(|waiting| Reverse(waiting.asked_at_ms()));
    Ok(all)
}

/// Tells of what was not seen before: whole where nobody is asked, otherwise by a sign.
pub(super) fn tell(is_json: bool, asks: bool, kept: &Approvals, waiting: &Waiting) -> io::Result<()> {
    if asks {
        print::bell();
        let (title, text) = waiting.sign();
        sandbox::notify(title, &text);
        return Ok(());
    }
    let now_ms = kept.now_ms();
    match (waiting, is_json) {
        (Waiting::Call(approval), true) => print::line(&json!(approval.report(now_ms)).to_string()),
        (Waiting::Call(approval), false) => {
            print::foreign(&format!("{}\n", shown::whole(&approval.report(now_ms))))
        }
        (Waiting::Agent(question), true) => print::line(&json!({ "question": question }).to_string()),
        (Waiting::Agent(question), false) => print::foreign(&format!("{}\n", question::whole(question))),
    }
}
