//! `approvals watch`: each call that begins to wait, and at a terminal the question what to answer, of the newest whose
//! client is still there.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use admin::{Operation as _, Person, approvals as operations};
use gate::approvals::{Answer, Approval, LOOK_EVERY, Pattern, Scope, is_there, is_wish};
use sandbox::Machine;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::{Here, caller, shown};
use crate::cli::Cli;
use crate::commands::mcp::ask;

/// What can be typed about a call or what is acted on, or about what a run wants, whose kind is then said.
fn question(kind: Option<&str>) -> String {
    let always =
        kind.filter(|kind| is_wish(kind)).map_or("these arguments".to_owned(), |kind| format!("this {kind}"));
    format!("[y] once, [s] this session, [a] always {always}, [n] deny, [Enter] later:")
}

fn question_of(approval: &Approval) -> String {
    match approval.is_for_once() {
        true => "[y] once, [n] deny, [Enter] later:".to_owned(),
        false => question(approval.target.as_ref().map(|target| &*target.kind)),
    }
}

/// A line that comes so soon after a question was shown was typed for another one, or for none.
const READ_MIN: Duration = Duration::from_millis(700);

/// What a person types.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Answer(Answer),
    /// Somebody else may, or nobody.
    Later,
    /// It means nothing.
    Unclear,
}

/// Shows what waits, and then what begins to wait, until it is interrupted or there are no more answers.
pub(super) fn run(cli: &Cli, here: &Here<'_>) -> Result<Ending, Trouble> {
    let (asks, mut known, mut settled) = (!cli.json && ask::is_possible(), HashSet::new(), HashSet::new());
    let (mut typing, mut asked) = (Typing::default(), None::<Shown>);
    loop {
        let living = living(here)?;
        for approval in living.iter().rev().filter(|approval| known.insert(approval.id.clone())) {
            tell(cli.json, asks, here, approval)?;
        }
        // What is over for good is not asked about again.
        known.retain(|id| living.iter().any(|approval| approval.id == *id));
        settled.retain(|id| known.contains(id));
        if !asks {
            thread::sleep(LOOK_EVERY);
            continue;
        }
        let next = living.into_iter().find(|approval| !settled.contains(&approval.id));
        if next.as_ref().map(|next| &next.id) != asked.as_ref().map(|asked| &asked.approval.id) {
            asked = next.and_then(|next| Shown::now(here, next, &mut settled));
        }
        let Some(shown) = &asked else {
            thread::sleep(LOOK_EVERY);
            continue;
        };
        let Some(line) = typing.line() else { continue };
        let Some(line) = line? else { return Ok(Ending::Good) };
        if shown.since.elapsed() < READ_MIN {
            print::remark("this question has only just come; answer it once you have read it");
            print::question(&question_of(&shown.approval));
        } else if take(here, &shown.approval, &shown.person, &line)?.is_some() {
            settled.insert(shown.approval.id.clone());
        } else {
            print::question(&question_of(&shown.approval));
        }
    }
}

/// A question that a person is looking at.
struct Shown {
    approval: Approval,
    person: Person,
    since: Instant,
}

impl Shown {
    /// Asks it, unless this is not the place to answer it.
    fn now(here: &Here<'_>, approval: Approval, settled: &mut HashSet<Arc<str>>) -> Option<Shown> {
        match here.person(&approval) {
            Ok(person) => {
                print::foreign(&format!("{}\n", shown::whole(&approval.report(here.kept.now_ms())))).ok()?;
                print::question(&question_of(&approval));
                Some(Shown { approval, person, since: Instant::now() })
            }
            Err(why) => {
                print::remark(&format!("approval {}: {why}", approval.id));
                settled.insert(approval.id);
                None
            }
        }
    }
}

/// The open questions whose clients are still there, the newest first.
fn living(here: &Here<'_>) -> Result<Vec<Approval>, Trouble> {
    let mut all = here.kept.approvals(&caller()).map_err(Trouble::because)?;
    all.retain(|approval| here.is_open(approval) && is_there(&Machine, &approval.askers));
    all.reverse();
    Ok(all)
}

/// Tells of a question that was not seen before: whole where nobody is asked, otherwise by a sign.
fn tell(is_json: bool, asks: bool, here: &Here<'_>, approval: &Approval) -> io::Result<()> {
    let report = approval.report(here.kept.now_ms());
    if is_json {
        return print::line(&json!(report).to_string());
    }
    if !asks {
        return print::foreign(&format!("{}\n", shown::whole(&report)));
    }
    print::bell();
    let text = format!("{} ({}), approval {}", approval.tool, approval.caller, approval.id);
    sandbox::notify("A call waits for you", &text);
    Ok(())
}

/// The line that the person is typing.
#[derive(Default)]
struct Typing(Option<Receiver<io::Result<Option<String>>>>);

impl Typing {
    /// The line once it is whole, waited for a moment; in it nothing if there are no more.
    fn line(&mut self) -> Option<io::Result<Option<String>>> {
        let coming = self.0.get_or_insert_with(|| {
            let (typed, coming) = mpsc::sync_channel(1);
            // It waits at the terminal as long as the program runs.
            thread::spawn(move || typed.send(ask::line()));
            coming
        });
        let line = match coming.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) => return None,
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        };
        self.0 = None;
        Some(line)
    }
}

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// There is an answer, by this person or by somebody who was faster.
    Answered,
    /// They would rather not.
    Later,
    /// There are no more answers.
    End,
}

/// Asks the person at the terminal.
pub(super) fn answer(here: &Here<'_>, approval: &Approval, person: &Person) -> Result<Asked, Trouble> {
    loop {
        let Some(line) = ask::ask(&question_of(approval))? else { return Ok(Asked::End) };
        if let Some(asked) = take(here, approval, person, &line)? {
            return Ok(asked);
        }
    }
}

/// Takes what a person has typed; nothing if they are to be asked again.
fn take(here: &Here<'_>, approval: &Approval, person: &Person, line: &str) -> Result<Option<Asked>, Trouble> {
    let answer = match typed(line) {
        Typed::Later => return Ok(Some(Asked::Later)),
        Typed::Unclear => {
            print::remark("that is none of the answers");
            return Ok(None);
        }
        Typed::Answer(answer) => answer,
    };
    let by = here.with_code(person.clone(), &answer)?;
    match (operations::Answer { id: approval.id.to_string(), answer }).perform(here.kept, &by) {
        Ok(approval) => print::remark(&shown::answered(&approval)),
        Err(fault) => {
            print::remark(&fault.to_string());
            // With another code it can still be answered.
            if matches!(fault.code.as_str(), "code_required" | "wrong_code" | "too_many_codes") {
                return Ok(None);
            }
        }
    }
    Ok(Some(Asked::Answered))
}

fn typed(line: &str) -> Typed {
    let approve = |scope| Typed::Answer(Answer::Approve { scope, note: None });
    match line.to_lowercase().as_str() {
        "" => Typed::Later,
        "y" | "yes" => approve(Scope::Once),
        "s" | "session" => approve(Scope::Session),
        "a" | "always" => approve(Scope::Always(Pattern::Same)),
        "n" | "no" | "d" | "deny" => Typed::Answer(Answer::Deny { reason: None }),
        _ => Typed::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_always_allowed_is_named() {
        for (kind, expected) in [
            (None, "these arguments"),
            (Some("resource"), "these arguments"),
            (Some("host"), "this host"),
            (Some("folder to write"), "this folder to write"),
        ] {
            let question = question(kind);
            assert!(question.contains(&format!("[a] always {expected},")), "{question}");
        }
    }

    #[test]
    fn only_a_clear_word_is_an_answer() {
        let approve = |scope| Typed::Answer(Answer::Approve { scope, note: None });
        for (line, expected) in [
            ("y", approve(Scope::Once)),
            ("YES", approve(Scope::Once)),
            ("s", approve(Scope::Session)),
            ("a", approve(Scope::Always(Pattern::Same))),
            ("n", Typed::Answer(Answer::Deny { reason: None })),
            ("", Typed::Later),
            ("yep", Typed::Unclear),
            ("\u{1b}[A", Typed::Unclear),
        ] {
            assert_eq!(typed(line), expected, "{line:?}");
        }
    }
}
