//! `approvals`: the calls that wait for a person, their answers, and standing permissions. Works on the store itself:
//! whoever types here is the owner of the state folder, and running processes see what has changed.

mod pin;
mod shown;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use gate::Approvals as Kept;
use gate::approvals::{
    Answer, AnswerFault, Approval, Code, LOOK_EVERY, NOTE_CHARS_MAX, Pattern, SIGN_EVERY, Scope, Through,
};
use serde_json::json;
use tokio::time::sleep;

use super::caller::caller;
use super::start::start_nobody;
use crate::cli::{Approvals, Cli};
use crate::ending::{Ending, Trouble};
use crate::nearest::nearest;
use crate::{person, print};

pub(super) fn run(cli: &Cli, command: Approvals) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let kept = Kept::new(loaded.settings.kept.store().clone());
    let here = Here { kept: &kept, state: &loaded.settings.state };
    match command {
        Approvals::List { all } => list(cli, &kept, all),
        Approvals::Show { id, full } => {
            let by = caller();
            let found = if full { kept.whole_approval(&id, &by) } else { kept.approval(&id, &by) };
            told(cli, &kept, found, shown::whole)
        }
        Approvals::Approve { id, session, always, only, any, note } => {
            let scope = match (session, always) {
                (true, _) => Scope::Session,
                (false, true) if any => Scope::Always(Pattern::Any),
                (false, true) if only.is_empty() => Scope::Always(Pattern::Same),
                (false, true) => Scope::Always(Pattern::Members(only)),
                (false, false) => Scope::Once,
            };
            answer(cli, &here, &id, &Answer::Approve { scope, note: checked("--note", note)? })
        }
        Approvals::Deny { id, reason } => {
            answer(cli, &here, &id, &Answer::Deny { reason: checked("--reason", reason)? })
        }
        Approvals::Grants => grants(cli, &kept),
        Approvals::Revoke { id } => match kept.revoke(&id, &caller()) {
            Ok(grant) => {
                let words = format!("revoked {}: `{}` asks again", grant.id, grant.tool);
                print::found(cli.json, &grant.to_json(), &words)
            }
            Err(fault) => refused(cli, &kept, fault),
        },
        Approvals::Watch => watch::run(cli, &here),
        Approvals::Pin { remove } => {
            person::present(&loaded.settings.state, &[])?;
            pin::run(&kept, remove)
        }
    }
}

/// What is answered here, and where.
pub(super) struct Here<'a> {
    pub(super) kept: &'a Kept,
    /// The state folder.
    pub(super) state: &'a Path,
}

impl Here<'_> {
    /// Sees to it that a person can be here who is not at the client that asked.
    fn is_for_a_person(&self, approval: &Approval) -> Result<Through, Trouble> {
        person::present(self.state, &approval.askers)
    }

    /// The code, if this answer takes one.
    fn code(&self, answer: &Answer) -> Result<Option<Code>, Trouble> {
        match answer {
            Answer::Approve { .. } => person::code(self.kept),
            Answer::Deny { .. } => Ok(None),
        }
    }
}

/// Asks the person at the terminal about a call; true if it was answered. Should this process be killed meanwhile, nobody
/// waits for the answer.
pub(super) fn ask_here(here: &Here<'_>, id: &str) -> Result<bool, Trouble> {
    let kept = here.kept;
    let Ok(approval) = kept.approval(id, &caller()) else { return Ok(false) };
    print::remark(&shown::whole(&approval, kept.now_ms()));
    let (done, is_done) = mpsc::sync_channel::<()>(0);
    let asked = thread::scope(|scope| {
        scope.spawn(move || {
            still_waits(kept, id);
            while is_done.recv_timeout(SIGN_EVERY) == Err(RecvTimeoutError::Timeout) {
                still_waits(kept, id);
            }
        });
        let asked = watch::answer(here, &approval);
        drop(done);
        asked
    });
    Ok(asked? == watch::Asked::Answered)
}

/// Resolves when a question is open no longer, answered or not. It ends soon after nobody polls this any more.
pub(super) async fn until_answered(kept: &Kept, id: &str) {
    let is_open = || kept.approval(id, &caller()).is_ok_and(|it| shown::is_open(&it, kept.now_ms()));
    let mut last_sign = None;
    while is_open() {
        if last_sign.is_none_or(|last: Instant| last.elapsed() >= SIGN_EVERY) {
            last_sign = Some(Instant::now());
            still_waits(kept, id);
        }
        sleep(LOOK_EVERY).await;
    }
}

fn still_waits(kept: &Kept, id: &str) {
    // What cannot be said just now can be in a moment.
    let _ = kept.still_waits(id);
}

/// What is said of an id that there is none of: the one that may have been meant, too.
fn with_nearest(fault: &AnswerFault, kept: &Kept) -> String {
    let said = fault.to_string();
    let (wrong, ids): (_, Vec<Arc<str>>) = match fault {
        AnswerFault::Unknown(wrong) => {
            let open = kept.approvals(&caller()).unwrap_or_default();
            (wrong, open.into_iter().filter(|it| shown::is_open(it, kept.now_ms())).map(|it| it.id).collect())
        }
        AnswerFault::UnknownGrant(wrong) => {
            (wrong, kept.grants(&caller()).unwrap_or_default().into_iter().map(|it| it.id).collect())
        }
        _ => return said,
    };
    let begun = || ids.iter().map(|id| &**id).find(|id| !wrong.is_empty() && id.starts_with(&**wrong));
    match nearest(wrong, ids.iter().map(|id| &**id)).or_else(begun) {
        Some(near) => format!("{said}; did you mean {near}?"),
        None => said,
    }
}

fn checked(option: &str, text: Option<String>) -> Result<Option<String>, Trouble> {
    match text {
        Some(text) if text.chars().count() > NOTE_CHARS_MAX => {
            Err(Trouble::Misused(format!("{option} may have at most {NOTE_CHARS_MAX} characters")))
        }
        text => Ok(text),
    }
}

fn list(cli: &Cli, kept: &Kept, all: bool) -> Result<Ending, Trouble> {
    let now_ms = kept.now_ms();
    let mut found = kept.approvals(&caller()).map_err(Trouble::because)?;
    found.retain(|approval| all || shown::is_open(approval, now_ms));
    let facts: Vec<_> = found.iter().map(|approval| approval.to_json(now_ms)).collect();
    let rows: Vec<_> = found.iter().map(|approval| shown::row(approval, now_ms)).collect();
    let facts = json!({ "approvals": facts });
    print::list(cli.json, &facts, shown::TITLES, &rows, "no call waits for a person")
}

fn grants(cli: &Cli, kept: &Kept) -> Result<Ending, Trouble> {
    let found = kept.grants(&caller()).map_err(Trouble::because)?;
    let facts = json!({ "grants": found.iter().map(|grant| grant.to_json()).collect::<Vec<_>>() });
    let rows: Vec<_> = found.iter().map(shown::grant_row).collect();
    print::list(cli.json, &facts, shown::GRANT_TITLES, &rows, "nothing is allowed without asking again")
}

fn answer(cli: &Cli, here: &Here<'_>, id: &str, answer: &Answer) -> Result<Ending, Trouble> {
    let kept = here.kept;
    let approval = match kept.approval(id, &caller()) {
        Ok(approval) => approval,
        Err(fault) => return refused(cli, kept, fault),
    };
    here.is_for_a_person(&approval)?;
    // Nobody types a code for what nobody can answer any more.
    let code = if shown::is_open(&approval, kept.now_ms()) { here.code(answer)? } else { None };
    told(cli, kept, kept.answer(id, answer, &caller(), code.as_ref()), shown::answered)
}

/// Prints what was found or done, or why not.
fn told(
    cli: &Cli,
    kept: &Kept,
    found: Result<Approval, AnswerFault>,
    words: fn(&Approval, i64) -> String,
) -> Result<Ending, Trouble> {
    match found {
        Ok(approval) => {
            let now_ms = kept.now_ms();
            print::found(cli.json, &approval.to_json(now_ms), &words(&approval, now_ms))
        }
        Err(fault) => refused(cli, kept, fault),
    }
}

fn refused(cli: &Cli, kept: &Kept, fault: AnswerFault) -> Result<Ending, Trouble> {
    match fault {
        AnswerFault::Unknown(_) | AnswerFault::UnknownGrant(_) => {
            Err(Trouble::Unknown { code: fault.code(), said: with_nearest(&fault, kept) })
        }
        AnswerFault::NoMember { .. } => Err(Trouble::Misused(fault.to_string())),
        AnswerFault::Store(error) => Err(Trouble::because(error)),
        AnswerFault::WrongRole { .. }
        | AnswerFault::OwnQuestion(_)
        | AnswerFault::Nobody(_)
        | AnswerFault::NotAPerson(_)
        | AnswerFault::Code(_)
        | AnswerFault::Answered { .. }
        | AnswerFault::Expired { .. }
        | AnswerFault::TooManyGrants(_) => {
            let said = fault.to_string();
            match cli.json {
                true => print::json(&json!({ "error": { "code": fault.code(), "message": said } }))?,
                false => print::remark(&said),
            }
            Ok(Ending::Refused)
        }
    }
}
