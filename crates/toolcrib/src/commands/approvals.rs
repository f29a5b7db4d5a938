//! `approvals`: the calls that wait for a person, their answers, and standing permissions.

mod here;
mod job_questions;
mod pin;
mod question;
mod shown;
mod watch;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use admin::{By, Operation as _, approvals as operations};
use daemon::control::Neighbours;
use daemon::{administration, person};
use gate::Approvals as Kept;
use gate::approvals::{Answer, LOOK_EVERY, Lasts, Pattern, SIGN_EVERY, Scope, State};
use terminal::{Ending, Trouble, print};
use tokio::time::sleep;

use super::caller::caller;
use super::start::start_nobody;
use crate::cli::{Approvals, Cli};
pub(super) use here::Here;

pub(super) fn run(cli: &Cli, command: Approvals) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let kept = Kept::new(loaded.settings.kept.store().clone());
    let here = Here { kept: &kept, state: &loaded.settings.state };
    let by = By::owner();
    match command {
        Approvals::List { all } => {
            let part = administration::trust(&loaded, Neighbours::on(&loaded.settings.state));
            let found = operations::List { all }.perform(&part, &by)?;
            let table = shown::table(&found.approvals);
            let ending = print::list(cli.json, &found, &table, "no call waits for a person")?;
            shown::definitions(&found.definitions).iter().for_each(|line| print::remark(line));
            Ok(ending)
        }
        Approvals::Show { id, full } => {
            let found = operations::Show { id, full }.perform(&kept, &by)?;
            print::found(cli.json, &found, &shown::whole(&found))
        }
        Approvals::Approve { id, session, always, words, only, any, note } => {
            let scope = match (session, always) {
                (true, _) if words => Scope::Beginnings(Lasts::Session),
                (_, true) if words => Scope::Beginnings(Lasts::Always),
                (true, _) => Scope::Session,
                (false, true) if any => Scope::Always(Pattern::Any),
                (false, true) if only.is_empty() => Scope::Always(Pattern::Same),
                (false, true) => Scope::Always(Pattern::Members(only)),
                (false, false) => Scope::Once,
            };
            answer(cli, &here, id, Answer::Approve { scope, note })
        }
        Approvals::Deny { id, reason } => answer(cli, &here, id, Answer::Deny { reason }),
        Approvals::Grants { id: Some(id) } => {
            let grant = operations::ShowGrant { id }.perform(&kept, &by)?;
            print::found(cli.json, &grant, &shown::grants(std::slice::from_ref(&grant)))
        }
        Approvals::Grants { id: None } => {
            let found = operations::Grants {}.perform(&kept, &by)?;
            let table = shown::grants(&found.grants);
            print::list(cli.json, &found, &table, "nothing is allowed without asking again")
        }
        Approvals::Revoke { id } => {
            let grant = operations::Revoke { id }.perform(&kept, &by)?;
            let words = format!("revoked {}: `{}` asks again", grant.id, grant.tool);
            print::found(cli.json, &grant, &words)
        }
        Approvals::Reset { id } => {
            let by = By::person(person::present(&loaded.settings.state, &[])?);
            let reset = operations::Reset { id }.perform(&kept, &by)?;
            print::found(cli.json, &reset, &shown::reset(&reset.approvals))
        }
        Approvals::Watch => watch::run(cli, &here, administration::jobs(&loaded.settings)),
        Approvals::Pin { remove } => {
            person::present(&loaded.settings.state, &[])?;
            pin::run(&kept, remove)
        }
    }
}

/// Asks the person at the terminal about a call; true if it was answered. Should this process be killed meanwhile, nobody
/// waits for the answer.
pub(super) fn ask_here(here: &Here<'_>, id: &str) -> Result<bool, Trouble> {
    let kept = here.kept;
    let Ok(approval) = kept.approval(id, &caller()) else { return Ok(false) };
    print::remark(&shown::whole(&approval.report(kept.now_ms())));
    let (done, is_done) = mpsc::sync_channel::<()>(0);
    let asked = thread::scope(|scope| {
        scope.spawn(move || {
            still_waits(kept, id);
            while is_done.recv_timeout(SIGN_EVERY) == Err(RecvTimeoutError::Timeout) {
                still_waits(kept, id);
            }
        });
        let asked = here.person(&approval).and_then(|person| watch::answer(here, &approval, &person));
        drop(done);
        asked
    });
    Ok(asked? == watch::Asked::Answered)
}

/// Resolves when a question is open no longer, answered or not. It ends soon after nobody polls this any more.
pub(super) async fn until_answered(kept: &Kept, id: &str) {
    let is_open = || kept.approval(id, &caller()).is_ok_and(|it| it.status(kept.now_ms()) == State::Pending);
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

fn answer(cli: &Cli, here: &Here<'_>, id: String, answer: Answer) -> Result<Ending, Trouble> {
    let by = match here.kept.approval(&id, &caller()) {
        Ok(approval) => {
            let person = here.person(&approval)?;
            // Nobody types a code for what nobody can answer any more.
            if here.is_open(&approval) { here.with_code(person, &answer)? } else { By::person(person) }
        }
        // The operation says why.
        Err(_) => By::owner(),
    };
    let answered = operations::Answer { id, answer }.perform(here.kept, &by)?;
    print::found(cli.json, &answered, &shown::answered(&answered))
}
