//! What jobs ask whoever watches: read now and then, and answered as `jobs answer` does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::jobs::{self as operations, JobsPart};
use admin::{By, Operation as _};
use gate::jobs::{Job, State};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use terminal::times::shown_here;
use terminal::{Trouble, print};

use crate::cli::Cli;
use crate::commands::{forms, jobs};

/// How often it is looked what jobs ask. They wait for days, and each look writes down which processes have ended.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The line by which a person leaves a question of a job for another time.
pub(super) const LATER: &str = "later";

/// A question of a job.
#[derive(Clone)]
pub(super) struct JobQuestion {
    /// The job's id with the number: another question of it is another one.
    pub(super) id: Arc<str>,
    pub(super) job: Job,
    pub(super) number: u64,
    /// An `inputRequests` object.
    pub(super) requests: Map<String, Value>,
}

/// The questions of jobs.
pub(super) struct JobQuestions<'a> {
    cli: &'a Cli,
    part: JobsPart,
    /// As they were at the last look.
    open: Vec<JobQuestion>,
    looked_at: Option<Instant>,
}

impl<'a> JobQuestions<'a> {
    pub(super) fn new(cli: &'a Cli, part: JobsPart) -> JobQuestions<'a> {
        JobQuestions { cli, part, open: Vec::new(), looked_at: None }
    }

    /// Those that a person can answer, all of them forms: what a program is asked is for `jobs answer`.
    pub(super) fn open(&mut self) -> Result<impl Iterator<Item = &JobQuestion>, Trouble> {
        if self.looked_at.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            self.look()?;
            self.looked_at = Some(Instant::now());
        }
        let is_for_people =
            |question: &&JobQuestion| !question.requests.is_empty() && forms::are_all(&question.requests);
        Ok(self.open.iter().filter(is_for_people))
    }

    fn look(&mut self) -> Result<(), Trouble> {
        let asking = operations::List { states: vec![State::InputRequired], ..operations::List::default() };
        let asking = asking.perform(&self.part, &By::owner())?.jobs;
        let had = std::mem::take(&mut self.open);
        let same =
            |job: &Job| had.iter().find(|it| it.job.id == job.id && it.number == job.last_event).cloned();
        self.open = asking.into_iter().filter_map(|job| same(&job).or_else(|| self.read(job))).collect();
        Ok(())
    }

    /// What a job asks; nothing if it has been answered meanwhile, or cannot be opened here.
    fn read(&self, job: Job) -> Option<JobQuestion> {
        let asked = operations::Asked { id: job.id.to_string() }.perform(&self.part, &By::owner()).ok()?;
        let operations::JobQuestion { number, requests } = asked;
        Some(JobQuestion { id: format!("{}/{number}", job.id).into(), job, number, requests })
    }

    /// Has the job go on with the person's answer, and says what came of it.
    pub(super) fn answer(&self, question: &JobQuestion, responses: Map<String, Value>) {
        let JobQuestion { job, number, .. } = question;
        let responses = to_raw_value(&responses).expect("answers have text for keys");
        let answer = operations::Answer { id: job.id.to_string(), number: Some(*number), responses };
        let answered = match answer.perform(&self.part, &By::owner()) {
            Ok(job) => job,
            Err(fault) => return print::remark(&fault.to_string()),
        };
        print::remark(&format!("answered: job {} goes on", answered.id));
        if let Err(trouble) = jobs::wake(self.cli, &answered) {
            print::remark(&trouble.to_string());
        }
    }
}

/// Which job asks, for whom and where; what is asked the form says.
pub(super) fn head(question: &JobQuestion) -> String {
    let Job { id, tool, caller, workspace, updated_at_ms, .. } = &question.job;
    let asked = shown_here(*updated_at_ms);
    format!(
        "job          {id}\ntool         {tool}\ncaller       {caller}\nworkspace    {workspace}\nasked        {asked}\n\
         another time type `{LATER}`"
    )
}
