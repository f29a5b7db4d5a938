//! What a person types about a call that waits, and what comes of it.

use admin::{Operation as _, Person, approvals as operations};
use gate::approvals::{Answer, Approval, Lasts, Pattern, Scope, begin_with, is_wish};
use terminal::{Trouble, print};

use crate::commands::approvals::here::Here;
use crate::commands::approvals::shown;
use crate::commands::mcp::ask;

/// What can be typed about a call or what is acted on, or about what a run wants, whose kind is then said.
fn question(kind: Option<&str>) -> String {
    let always =
        kind.filter(|kind| is_wish(kind)).map_or("these arguments".to_owned(), |kind| format!("this {kind}"));
    format!("[y] once, [s] this session, [a] always {always}, [n] deny, [Enter] later:")
}

pub(super) fn question_of(approval: &Approval) -> String {
    let question = question_without_words(approval);
    match approval.offered_beginnings() {
        [] => question,
        beginnings => {
            let words = format!("[ws] this session or [wa] always {}, [n] deny", begin_with(beginnings));
            question.replace("[n] deny", &words)
        }
    }
}

fn question_without_words(approval: &Approval) -> String {
    match (approval.is_for_once(), approval.can_hold_for_good()) {
        (true, _) => "[y] once, [n] deny, [Enter] later:".to_owned(),
        (false, false) => "[y] once, [s] this session, [n] deny, [Enter] later:".to_owned(),
        (false, true) => question(approval.target.as_ref().map(|target| &*target.kind)),
    }
}

/// What a person types.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Answer(Answer),
    /// Somebody else may, or nobody.
    Later,
    /// It means nothing.
    Unclear,
}

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::approvals) enum Asked {
    /// There is an answer, by this person or by somebody who was faster.
    Answered,
    /// They would rather not.
    Later,
    /// There are no more answers.
    End,
}

/// Asks the person at the terminal.
pub(in crate::commands::approvals) fn answer(
    here: &Here<'_>,
    approval: &Approval,
    person: &Person,
) -> Result<Asked, Trouble> {
    loop {
        let Some(line) = ask::ask(&question_of(approval))? else { return Ok(Asked::End) };
        if let Some(asked) = take(here, approval, person, &line)? {
            return Ok(asked);
        }
    }
}

/// Takes what a person has typed; nothing if they are to be asked again.
pub(super) fn take(
    here: &Here<'_>,
    approval: &Approval,
    person: &Person,
    line: &str,
) -> Result<Option<Asked>, Trouble> {
    let answer = match typed(line, !approval.offered_beginnings().is_empty()) {
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

fn typed(line: &str, has_words: bool) -> Typed {
    let approve = |scope| Typed::Answer(Answer::Approve { scope, note: None });
    match line.to_lowercase().as_str() {
        "ws" if has_words => approve(Scope::Beginnings(Lasts::Session)),
        "wa" if has_words => approve(Scope::Beginnings(Lasts::Always)),
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
            assert_eq!(typed(line, false), expected, "{line:?}");
        }
        for (line, lasts) in [("ws", Lasts::Session), ("WA", Lasts::Always)] {
            assert_eq!(typed(line, true), approve(Scope::Beginnings(lasts)), "{line:?}");
            assert_eq!(typed(line, false), Typed::Unclear, "{line:?}");
        }
    }
}
