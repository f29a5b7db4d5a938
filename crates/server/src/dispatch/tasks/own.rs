//! What is asked of a job of ours.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gate::jobs::{Cancelled, Filter, Job, Jobs, State};
use gate::{Action, Failure, Refusal};
use wire::tasks as shapes;
use wire::{Code, Id, WireError, paging};

use super::super::request::Request;
use super::asks::{Asks, unknown};
use crate::Server;
use crate::outgoing::{Now, Outbox, Reply};
use crate::partial_answers::Answered;
use crate::reply::{self, About, RequestFacts, Told};
use crate::rounds::Asker;
use crate::session::{InFlight, Session};
use crate::task_view::TaskView;

/// Most tasks of one page of a list.
const PAGE_TASKS_MAX: usize = 100;

/// How long a job is waited for in one go.
const WAIT: Duration = Duration::from_secs(60);

/// What is said of an update without answers.
const NEEDS_ANSWERS: &str = "Invalid params: tasks/update needs the object \"inputResponses\"";

/// One request about a job.
struct AboutJob {
    server: Arc<Server>,
    session: Arc<Session>,
    jobs: Arc<Jobs>,
    id: Id,
    facts: RequestFacts,
    job: String,
    /// What the client can do.
    capabilities: Bytes,
    /// What it answers to what the job asks.
    answers: Option<Bytes>,
    outbox: Option<Outbox>,
    in_flight: InFlight,
}

/// Answers a request about the job of this id.
pub(super) fn about(request: &mut Request<'_>, asks: Asks, job: String) -> Result<Now, WireError> {
    let answers = request.object().and_then(|params| params.object("inputResponses"));
    let answers = answers.map(|answers| Bytes::copy_from_slice(answers.text().as_bytes()));
    if asks == Asks::Update && answers.is_none() {
        return Err(WireError::new(Code::InvalidParams, NEEDS_ANSWERS));
    }
    let Some(jobs) = request.server.gate.jobs().cloned() else { return Err(unknown()) };
    let in_flight = request.begin()?;
    let (client, can_be_asked) = request.client();
    // What a job of 2025-11-25 asks, its client is asked while it waits for the result.
    let outbox = (asks == Asks::Result && can_be_asked).then(|| (request.outbox)()).flatten();
    let (revision, about) = (request.revision(), About::Task(asks.action(), job.clone()));
    let about = AboutJob {
        server: request.server.clone(),
        session: request.session.clone(),
        jobs,
        id: request.id.clone(),
        facts: RequestFacts { revision, about, has_state: false },
        job,
        capabilities: client.capabilities,
        answers,
        outbox,
        in_flight,
    };
    Ok(Now::Later(Box::pin(async move {
        let cancel = about.in_flight.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            answer = about.answer(asks) => Some(answer),
        }
    })))
}

impl AboutJob {
    async fn answer(&self, asks: Asks) -> Reply {
        let answered = match asks {
            Asks::Get => self.get().await,
            Asks::Update => self.update().await,
            Asks::Cancel => self.cancel().await,
            Asks::Result => return self.result().await,
        };
        match answered {
            Ok(result) => Reply::result(&self.id, &reply::finished(self.facts.revision, &result)),
            Err(error) => Reply::error(&self.id, &error),
        }
    }

    async fn get(&self) -> Result<String, WireError> {
        let job = self.found().await?;
        self.seen(&job).await
    }

    /// The job as the client's revision shows it.
    async fn seen(&self, job: &Job) -> Result<String, WireError> {
        self.view().seen(&self.facts, job).await.map(|(_, task)| task)
    }

    fn view(&self) -> TaskView<'_> {
        TaskView {
            server: &self.server,
            caller: &self.session.caller,
            revision: self.facts.revision,
            capabilities: &self.capabilities,
        }
    }

    async fn update(&self) -> Result<String, WireError> {
        let job = self.found().await?;
        let told = self.view().told(&job).await.map_err(|refusal| self.refused(refusal))?;
        if let (Told::Asks(requests), Some(answers)) = (told, &self.answers) {
            let (requests, answers) = (String::from_utf8_lossy(&requests), String::from_utf8_lossy(answers));
            let answers = shapes::of_number(&answers, job.last_event);
            let added = self.server.partial.add(&job.id, job.last_event, &requests, &answers);
            if let Answered::All(all) = added {
                self.go_on(&job, &all).await?;
            }
        }
        Ok("{}".to_owned())
    }

    /// Has the job go on with these answers to what it asked as it was `asking`. One that asks no more, or something else, has
    /// been answered by somebody else.
    async fn go_on(&self, asking: &Job, answers: &Bytes) -> Result<(), WireError> {
        match self.jobs.answer(&self.session.caller, &self.job, asking.last_event, answers).await {
            Ok(_) | Err(Refusal::JobState { .. }) => Ok(()),
            Err(refusal) => Err(self.refused(refusal)),
        }
    }

    async fn cancel(&self) -> Result<String, WireError> {
        let (caller, is_modern) = (&self.session.caller, self.facts.revision.is_modern());
        let cancelled = self.server.gate.cancel_job(caller, caller.into(), &self.job).await;
        let Cancelled { job, was_over } = cancelled.map_err(|refusal| self.refused(refusal))?;
        if was_over && !is_modern {
            let why = format!("Invalid params: the task is over already: it is {}", job.state);
            return Err(WireError::new(Code::InvalidParams, why));
        }
        self.server.partial.forget(&job.id);
        if is_modern { Ok("{}".to_owned()) } else { self.seen(&job).await }
    }

    /// What the call would have been answered with, once the job is over. Its client is asked meanwhile what the job asks.
    async fn result(&self) -> Reply {
        let mut rounds = 0;
        loop {
            let job = match self.jobs.wait(&self.session.caller, &self.job, WAIT).await {
                Ok(job) => job,
                Err(refusal) => return Reply::error(&self.id, &self.refused(refusal)),
            };
            if job.state.is_final() {
                let kept = self.jobs.result(&self.session.caller, &self.job).await;
                return match kept {
                    Ok(kept) => reply::payload(self.facts.revision, &self.id, &job, kept),
                    Err(refusal) => Reply::error(&self.id, &self.refused(refusal)),
                };
            }
            if job.state == State::InputRequired {
                rounds += 1;
                if let Err(error) = self.ask(&job, rounds).await {
                    return Reply::error(&self.id, &error);
                }
            }
        }
    }

    /// Asks the client what the job asks.
    async fn ask(&self, job: &Job, round: u32) -> Result<(), WireError> {
        let told = self.view().told(job).await.map_err(|refusal| self.refused(refusal))?;
        let Told::Asks(requests) = told else { return Ok(()) };
        let asker = Asker {
            session: &self.session,
            redactor: self.server.gate.redactor(),
            capabilities: &self.capabilities,
            revision: self.facts.revision,
            outbox: self.outbox.as_ref(),
            cancel: &self.in_flight.cancel,
            related: Some(&self.job),
        };
        let answers = asker.ask(Some(&requests), round).await;
        let answers = answers.map_err(|failure| reply::protocol_error(&self.facts, &failure))?;
        self.go_on(job, &answers.unwrap_or_default()).await
    }

    async fn found(&self) -> Result<Job, WireError> {
        let found = self.jobs.get(&self.session.caller, &self.job).await;
        found.map_err(|refusal| self.refused(refusal))
    }

    fn refused(&self, refusal: Refusal) -> WireError {
        // The same words as for the task of a source.
        let refusal = match refusal {
            Refusal::UnknownJob => Refusal::UnknownTask,
            other => other,
        };
        reply::protocol_error(&self.facts, &Failure::Refused(refusal))
    }
}

/// Answers `tasks/list` of 2025-11-25: the jobs of the caller, the newest first.
pub(in crate::dispatch) fn list(request: &mut Request<'_>) -> Result<Now, WireError> {
    let cursor = paging::list_cursor(request.params.as_ref())?;
    let Some(jobs) = request.server.gate.jobs().cloned() else { return Err(unknown()) };
    let (session, in_flight) = (request.session.clone(), request.begin()?);
    let (id, revision, server) = (request.id.clone(), request.revision(), request.server.clone());
    Ok(Now::Later(Box::pin(async move {
        let cancel = in_flight.cancel.clone();
        let capabilities = Bytes::new();
        let view =
            TaskView { server: &server, caller: &session.caller, revision, capabilities: &capabilities };
        let page = page(&jobs, &view, cursor);
        let page = tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            page = page => page,
        };
        Some(match page {
            Ok(page) => Reply::result(&id, &page),
            Err(refusal) => {
                let facts = RequestFacts {
                    revision,
                    about: About::Task(Action::GetTask, String::new()),
                    has_state: false,
                };
                Reply::error(&id, &reply::protocol_error(&facts, &Failure::Refused(refusal)))
            }
        })
    })))
}

async fn page(jobs: &Jobs, view: &TaskView<'_>, cursor: Option<String>) -> Result<Vec<u8>, Refusal> {
    let filter = Filter { cursor, limit: PAGE_TASKS_MAX, ..Filter::default() };
    let page = jobs.list(view.caller, &filter).await?;
    let mut tasks = Vec::with_capacity(page.jobs.len());
    for job in &page.jobs {
        let told = view.told(job).await?;
        tasks.push(reply::task(view.revision, job, &told, None).1);
    }
    Ok(shapes::write_list(&tasks, page.cursor.as_deref()))
}
