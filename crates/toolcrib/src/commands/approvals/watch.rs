//! `approvals watch`: each call that begins to wait, and each question of an agent or of a job; at a terminal with the question
//! what to answer. What waits is found by `looker`, what the person looks at is `in_front`, and what their words mean is in
//! `answers`.

mod answers;
mod in_front;
mod looker;
mod typing;
mod waiting;

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use std::{io, mem};

use admin::jobs::JobsPart;
use daemon::person;
use gate::approvals::LOOK_EVERY;
use gate::questions::Questions;
use terminal::{Ending, Trouble, print};

use super::here::Here;
use super::job_questions::JobQuestions;
use crate::cli::Cli;
use crate::commands::mcp::ask;
pub(super) use answers::{Asked, answer};
use in_front::{InFront, Taken};
use looker::Looker;
use typing::Typing;
use waiting::Waiting;

/// What is said where something else takes the place of a form: nobody needs its answer, or it comes again.
const GONE: &str = "\nnobody waits for this answer any more";
/// See [`GONE`].
const WAITS: &str = "\nsomething newer waits for you; this question comes again";

/// How often it is said again that somebody watches here.
const WATCH_AGAIN: Duration = Duration::from_secs(10 * 60);

/// Shows what waits, and then what begins to wait, until it is interrupted or there are no more answers.
pub(super) fn run(cli: &Cli, here: &Here<'_>, jobs: JobsPart) -> Result<Ending, Trouble> {
    let questions = Questions::beside(here.kept);
    let looker = Looker::new(here.kept, &questions, JobQuestions::new(cli, jobs));
    if cli.json || !ask::is_possible() {
        return tell(cli.json, here, looker);
    }
    let ending = Watch::new(here, &questions, looker).run();
    questions.leave();
    ending
}

/// Tells of everything, where nobody can be asked.
fn tell(is_json: bool, here: &Here<'_>, mut looker: Looker<'_>) -> Result<Ending, Trouble> {
    loop {
        let living = looker.living()?;
        for waiting in looker.new_among(&living) {
            let now_ms = here.kept.now_ms();
            match is_json {
                true => print::line(&waiting.json(now_ms).to_string())?,
                false => print::foreign(&format!("{}\n", waiting.whole(now_ms)))?,
            }
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Rings for a person, who sees the rest when it is its turn.
fn announce(waiting: &Waiting) {
    print::bell();
    let (title, text) = waiting.sign();
    sandbox::notify(title, &text);
}

/// A person who watches.
struct Watch<'a> {
    here: &'a Here<'a>,
    /// Where it is said that somebody watches.
    questions: &'a Questions,
    looker: Looker<'a>,
    typing: Typing,
    in_front: Option<InFront>,
    /// What the person is not to be asked about again.
    settled: HashSet<Arc<str>>,
    /// Whether the next line may be meant for a form that is no longer there: what comes in its place must not get it.
    is_for_a_form: bool,
    /// When it was last said that somebody watches.
    said_at: Option<Instant>,
}

impl<'a> Watch<'a> {
    fn new(here: &'a Here<'a>, questions: &'a Questions, looker: Looker<'a>) -> Watch<'a> {
        let (typing, settled) = (Typing::default(), HashSet::new());
        Watch {
            here,
            questions,
            looker,
            typing,
            in_front: None,
            settled,
            is_for_a_form: false,
            said_at: None,
        }
    }

    fn run(mut self) -> Result<Ending, Trouble> {
        loop {
            self.say_so()?;
            let living = self.looker.living()?;
            self.looker.new_among(&living).into_iter().for_each(announce);
            // What is over for good is not asked about again.
            self.settled.retain(|id| is_among(&living, id));
            self.choose(&living)?;
            if self.in_front.is_none() {
                thread::sleep(LOOK_EVERY);
                continue;
            }
            match self.typing.line().transpose()? {
                Some(Some(line)) => self.take(&line)?,
                Some(None) => return Ok(Ending::Good),
                None => {}
            }
        }
    }

    /// Says now and then that a person watches here, unless no client's question could be answered here.
    fn say_so(&mut self) -> Result<(), Trouble> {
        if self.said_at.is_some_and(|at| at.elapsed() < WATCH_AGAIN) {
            return Ok(());
        }
        self.said_at = Some(Instant::now());
        match person::present(self.here.state, &[]) {
            Ok(_) => self.questions.watch().map_err(Trouble::because),
            Err(_) => Ok(()),
        }
    }

    /// Puts what is to be answered next in front of the person. A form that they are filling in is not put away for it.
    fn choose(&mut self, living: &[Waiting]) -> io::Result<()> {
        if let Some(shown) = &self.in_front
            && shown.is_begun
            && is_among(living, shown.waiting.id())
        {
            return Ok(());
        }
        let next = living.iter().find(|waiting| !self.settled.contains(waiting.id()));
        if next.map(Waiting::id) == self.in_front.as_ref().map(|shown| shown.waiting.id()) {
            return Ok(());
        }
        self.put_away(living);
        match next {
            Some(next) => self.put_in_front(next),
            None => Ok(()),
        }
    }

    fn put_away(&mut self, living: &[Waiting]) {
        if let Some(shown) = self.in_front.take()
            && shown.is_form()
        {
            self.is_for_a_form = true;
            print::remark(if is_among(living, shown.waiting.id()) { WAITS } else { GONE });
        }
    }

    /// Shows it, unless this is not the place to answer it.
    fn put_in_front(&mut self, waiting: &Waiting) -> io::Result<()> {
        match person::present(self.here.state, waiting.askers()) {
            Ok(person) => {
                self.in_front = Some(InFront::put(waiting.clone(), person, self.here.kept.now_ms())?);
            }
            Err(why) => {
                print::remark(&format!("{}: {why}", waiting.sign().1));
                self.settled.insert(waiting.id().clone());
            }
        }
        Ok(())
    }

    /// Takes a line for what is in front, unless it was typed for something else.
    fn take(&mut self, line: &str) -> Result<(), Trouble> {
        let Some(shown) = &mut self.in_front else { return Ok(()) };
        let was_for_a_form = mem::take(&mut self.is_for_a_form);
        if was_for_a_form || shown.is_too_new() {
            if was_for_a_form {
                // More lines may come at once.
                shown.since = Instant::now();
            }
            print::remark("this question has only just come; answer it once you have read it");
            shown.ask();
        } else if shown.take(self.here, &self.looker.jobs, line)? == Taken::Settled {
            self.settled.insert(shown.waiting.id().clone());
            self.in_front = None;
        }
        Ok(())
    }
}

fn is_among(living: &[Waiting], id: &str) -> bool {
    living.iter().any(|waiting| **waiting.id() == *id)
}
