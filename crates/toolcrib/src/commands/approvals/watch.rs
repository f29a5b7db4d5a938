//! `approvals watch`: each call that begins to wait and each question of an agent, and at a terminal the question what to answer,
//! to the newest whose client is still there.

mod typing;
mod waiting;

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use admin::{Operation as _, Person, approvals as operations};
use daemon::person;
use gate::approvals::{Answer, Approval, LOOK_EVERY, Pattern, Scope, is_wish};
use gate::questions::Questions;
use terminal::{Ending, Trouble, print};

use super::{Here, question, shown};
use crate::cli::Cli;
use crate::commands::forms::Forms;
use crate::commands::mcp::ask;
use typing::Typing;
use waiting::{Waiting, living, tell};

/// What can be typed about a call or what is acted on, or about what a run wants, whose kind is then said.
fn question(kind: Option<&str>) -> String {
    let always =
        kind.filter(|kind| is_wish(kind)).map_or("these arguments".to_owned(), |kind| format!("this {kind}"));
    format!("[y] once, [s] this session, [a] always {always}, [n] deny, [Enter] later:")
}

fn question_of(approval: &Approval) -> String {
    match (approval.is_for_once(), approval.can_hold_for_good()) {
        (true, _) => "[y] once, [n] deny, [Enter] later:".to_owned(),
        (false, false) => "[y] once, [s] this session, [n] deny, [Enter] later:".to_owned(),
        (false, true) => question(approval.target.as_ref().map(|target| &*target.kind)),
    }
}

/// A line that comes so soon after a question was shown was typed for another one, or for none.
const READ_MIN: Duration = Duration::from_millis(700);

/// What is said where something else takes the place of a form: nobody needs its answer, or it comes again.
const GONE: &str = "\nnobody waits for this answer any more";
/// See [`GONE`].
const WAITS: &str = "\nsomething newer waits for you; this question comes again";

/// What a person types.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Answer(Answer),
    /// Somebody else may, or nobody.
    Later,
    /// It means nothing.
    Unclear,
}

/// How often it is said again that somebody watches here.
const WATCH_AGAIN: Duration = Duration::from_secs(10 * 60);

/// Shows what waits, and then what begins to wait, until it is interrupted or there are no more answers.
pub(super) fn run(cli: &Cli, here: &Here<'_>) -> Result<Ending, Trouble> {
    let asks = !cli.json && ask::is_possible();
    let questions = Questions::beside(here.kept);
    let ending = watch(cli, here, &questions, asks);
    if asks {
        questions.leave();
    }
    ending
}

fn watch(cli: &Cli, here: &Here<'_>, questions: &Questions, asks: bool) -> Result<Ending, Trouble> {
    let (mut known, mut settled, mut said) = (HashSet::new(), HashSet::new(), None::<Instant>);
    let (mut typing, mut asked) = (Typing::default(), None::<Shown>);
    // Whether the next line may be meant for a form that is no longer there: what comes in its place must not get it.
    let mut is_for_a_form = false;
    loop {
        if asks && said.is_none_or(|said| said.elapsed() >= WATCH_AGAIN) {
            say_so(here, questions)?;
            said = Some(Instant::now());
        }
        let living = living(here.kept, questions)?;
        for waiting in living.iter().rev().filter(|waiting| known.insert(waiting.id().clone())) {
            tell(cli.json, asks, here.kept, waiting)?;
        }
        // What is over for good is not asked about again.
        known.retain(|id| living.iter().any(|waiting| waiting.id() == id));
        settled.retain(|id| known.contains(id));
        if !asks {
            thread::sleep(LOOK_EVERY);
            continue;
        }
        let is_open = |shown: &Shown| living.iter().any(|waiting| waiting.id() == shown.waiting.id());
        // A form that somebody is filling in is not put away for what came later.
        if !asked.as_ref().is_some_and(|shown| shown.is_begun && is_open(shown)) {
            let next = living.iter().find(|waiting| !settled.contains(waiting.id()));
            if next.map(Waiting::id) != asked.as_ref().map(|asked| asked.waiting.id()) {
                if let Some(form) = asked.take().filter(|shown| shown.forms.is_some()) {
                    is_for_a_form = true;
                    print::remark(if is_open(&form) { WAITS } else { GONE });
                }
                asked = next.and_then(|next| Shown::now(here, next.clone(), &mut settled));
            }
        }
        let Some(shown) = &mut asked else {
            thread::sleep(LOOK_EVERY);
            continue;
        };
        let Some(line) = typing.line() else { continue };
        let Some(line) = line? else { return Ok(Ending::Good) };
        let is_too_early = shown.since.elapsed() < READ_MIN && !shown.is_begun;
        if is_for_a_form || is_too_early {
            if mem::take(&mut is_for_a_form) {
                // More lines may come at once.
                shown.since = Instant::now();
            }
            print::remark("this question has only just come; answer it once you have read it");
            shown.ask();
        } else if shown.take(here, &line)? {
            settled.insert(shown.waiting.id().clone());
            asked = None;
        } else if shown.forms.is_none() {
            shown.ask();
        }
    }
}

/// Says that a person watches here, unless no client's question could be answered here.
fn say_so(here: &Here<'_>, questions: &Questions) -> Result<(), Trouble> {
    match person::present(here.state, &[]) {
        Ok(_) => questions.watch().map_err(Trouble::because),
        Err(_) => Ok(()),
    }
}

/// What a person is looking at.
struct Shown {
    waiting: Waiting,
    person: Person,
    since: Instant,
    /// The forms of an agent's question.
    forms: Option<Forms>,
    /// Whether a line of them is filled in.
    is_begun: bool,
}

impl Shown {
    /// Asks it, unless this is not the place to answer it.
    fn now(here: &Here<'_>, waiting: Waiting, settled: &mut HashSet<Arc<str>>) -> Option<Shown> {
        let person = match person::present(here.state, waiting.askers()) {
            Ok(person) => person,
            Err(why) => {
                print::remark(&format!("{}: {why}", waiting.sign().1));
                settled.insert(waiting.id().clone());
                return None;
            }
        };
        let text = match &waiting {
            Waiting::Call(approval) => shown::whole(&approval.report(here.kept.now_ms())),
            Waiting::Agent(question) => question::head(question),
        };
        print::foreign(&format!("{text}\n")).ok()?;
        let forms = match &waiting {
            Waiting::Call(approval) => {
                print::question(&question_of(approval));
                None
            }
            Waiting::Agent(question) => Some(Forms::begin(question.requests.as_object()?)),
        };
        Some(Shown { waiting, person, since: Instant::now(), forms, is_begun: false })
    }

    fn ask(&self) {
        match (&self.waiting, &self.forms) {
            (Waiting::Call(approval), _) => print::question(&question_of(approval)),
            (Waiting::Agent(_), Some(forms)) => forms.ask(),
            (Waiting::Agent(_), None) => {}
        }
    }

    /// Takes a line; true if nobody is to be asked about it again.
    fn take(&mut self, here: &Here<'_>, line: &str) -> Result<bool, Trouble> {
        let question = match &self.waiting {
            Waiting::Call(approval) => return Ok(take(here, approval, &self.person, line)?.is_some()),
            Waiting::Agent(question) => question,
        };
        let Some(forms) = &mut self.forms else { return Ok(true) };
        forms.take(Some(line));
        self.is_begun = true;
        let Some(responses) = forms.done() else { return Ok(false) };
        question::answer(here.kept, question, responses, &self.person);
        Ok(true)
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
