//! `approvals watch`: each call that begins to wait, and at a terminal the question what to answer.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

use admin::{Operation as _, Person, approvals as operations};
use gate::approvals::{Answer, Approval, LOOK_EVERY, Pattern, Scope};
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::{Here, caller, shown};
use crate::cli::Cli;
use crate::commands::mcp::ask;

/// What can be typed.
const QUESTION: &str = "[y] once, [s] this session, [a] always these arguments, [n] deny, [Enter] later:";

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
    let (kept, asks) = (here.kept, !cli.json && ask::is_possible());
    let mut known: HashSet<Arc<str>> = HashSet::new();
    loop {
        let now_ms = kept.now_ms();
        let all = kept.approvals(&caller()).map_err(Trouble::because)?;
        for approval in all.iter().filter(|approval| here.is_open(approval)) {
            if !known.insert(approval.id.clone()) {
                continue;
            }
            match cli.json {
                true => print::line(&json!(approval.report(now_ms)).to_string())?,
                false => print::foreign(&format!("{}\n", shown::whole(&approval.report(now_ms))))?,
            }
            if !asks {
                continue;
            }
            match here.person(approval) {
                Err(why) => print::remark(&why.to_string()),
                Ok(person) => {
                    if answer(here, approval, &person)? == Asked::End {
                        return Ok(Ending::Good);
                    }
                }
            }
        }
        // What is kept no longer is not asked about again.
        known.retain(|id| all.iter().any(|approval| approval.id == *id));
        thread::sleep(LOOK_EVERY);
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
        let Some(line) = ask::ask(QUESTION)? else { return Ok(Asked::End) };
        match typed(&line) {
            Typed::Later => return Ok(Asked::Later),
            Typed::Unclear => print::remark("that is none of the answers"),
            Typed::Answer(answer) => {
                let by = here.with_code(person.clone(), &answer)?;
                match (operations::Answer { id: approval.id.to_string(), answer }).perform(here.kept, &by) {
                    Ok(approval) => print::remark(&shown::answered(&approval)),
                    Err(fault) => {
                        print::remark(&fault.to_string());
                        // With another code it can still be answered.
                        if matches!(fault.code.as_str(), "code_required" | "wrong_code" | "too_many_codes") {
                            continue;
                        }
                    }
                }
                return Ok(Asked::Answered);
            }
        }
    }
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
