//! `InFront`: what a person is looking at, and the lines that they type at it.

use std::io;
use std::time::{Duration, Instant};

use admin::Person;
use terminal::{Trouble, print};

use super::answers::{self, question_of};
use super::waiting::Waiting;
use crate::commands::approvals::here::Here;
use crate::commands::approvals::job_questions::{JobQuestions, LATER};
use crate::commands::approvals::question;
use crate::commands::forms::Forms;

/// A line that comes so soon after a question was shown was typed for another one, or for none.
const READ_MIN: Duration = Duration::from_millis(700);

/// What a person is looking at.
pub(super) struct InFront {
    pub(super) waiting: Waiting,
    person: Person,
    /// Since when.
    pub(super) since: Instant,
    /// Those of a question.
    forms: Option<Forms>,
    /// Whether a line of them is filled in.
    pub(super) is_begun: bool,
}

/// What came of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// There is more to be typed.
    Asks,
    /// Nobody is to be asked about it again.
    Settled,
}

impl InFront {
    /// Shows it and asks what is to be answered.
    pub(super) fn put(waiting: Waiting, person: Person, now_ms: i64) -> io::Result<InFront> {
        print::foreign(&format!("{}\n", waiting.head(now_ms)))?;
        // It asks for its first value.
        let forms = waiting.forms().map(Forms::begin);
        let shown = InFront { waiting, person, since: Instant::now(), forms, is_begun: false };
        if !shown.is_form() {
            shown.ask();
        }
        Ok(shown)
    }

    pub(super) fn is_form(&self) -> bool {
        self.forms.is_some()
    }

    /// Whether nobody can have read it yet.
    pub(super) fn is_too_new(&self) -> bool {
        self.since.elapsed() < READ_MIN && !self.is_begun
    }

    /// Asks again.
    pub(super) fn ask(&self) {
        match (&self.forms, &self.waiting) {
            (Some(forms), _) => forms.ask(),
            (None, Waiting::Call(approval)) => print::question(&question_of(approval)),
            (None, Waiting::Agent(_) | Waiting::Job(_)) => {}
        }
    }

    /// Takes a line that is meant for it.
    pub(super) fn take(
        &mut self,
        here: &Here<'_>,
        jobs: &JobQuestions<'_>,
        line: &str,
    ) -> Result<Taken, Trouble> {
        match &self.waiting {
            Waiting::Call(approval) => {
                if answers::take(here, approval, &self.person, line)?.is_some() {
                    return Ok(Taken::Settled);
                }
                self.ask();
                return Ok(Taken::Asks);
            }
            Waiting::Job(question) if line == LATER && !self.is_begun => {
                print::remark(&format!("left: `toolcrib jobs answer {}` answers it", question.job.id));
                return Ok(Taken::Settled);
            }
            Waiting::Agent(_) | Waiting::Job(_) => {}
        }
        let Some(forms) = &mut self.forms else { return Ok(Taken::Settled) };
        forms.take(Some(line));
        self.is_begun = true;
        let Some(responses) = forms.done() else { return Ok(Taken::Asks) };
        match &self.waiting {
            Waiting::Call(_) => {}
            Waiting::Agent(question) => question::answer(here.kept, question, responses, &self.person),
            Waiting::Job(question) => jobs.answer(question, responses),
        }
        Ok(Taken::Settled)
    }
}
