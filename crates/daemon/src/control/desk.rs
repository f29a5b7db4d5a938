//! What a running process does when it is asked.

use std::sync::Arc;

use admin::servers::ServerReport;
use admin::{Health, JobCounts, Refused, Toolcrib};
use futures_util::future::join_all;
use gate::{Caller, Cancel, Via};
use serde::Serialize;
use serde_json::json;
use server::OURSELVES;
use upstream::{Report, Upstream};

use super::reload::Reloader;
use super::words::{Answer, RECONNECT_MAX, Request};

/// One configuration of this process that is served.
pub struct Seat {
    /// Where its clients come in.
    pub door: String,
    /// Reads its configuration again.
    pub reloader: Arc<Reloader>,
}

type Seats = Box<dyn Fn() -> Vec<Seat> + Send + Sync>;

/// Answers for this process.
pub struct Desk {
    seats: Seats,
    /// Cancelled to end the process, if that is for others to ask.
    stopping: Option<Cancel>,
}

impl Desk {
    /// For a process whose clients come in at `door`, all with one configuration.
    pub fn new(door: &str, reloader: Arc<Reloader>) -> Arc<Desk> {
        let door = door.to_owned();
        let seats: Seats = Box::new(move || vec![Seat { door: door.clone(), reloader: reloader.clone() }]);
        Arc::new(Desk { seats, stopping: None })
    }

    /// For a process that serves several, and ends when it is asked to: `stopping` is cancelled then.
    pub fn of_many(seats: impl Fn() -> Vec<Seat> + Send + Sync + 'static, stopping: Cancel) -> Arc<Desk> {
        Arc::new(Desk { seats: Box::new(seats), stopping: Some(stopping) })
    }

    /// Takes up what was changed before anybody could ask.
    pub(super) async fn catch_up(&self) {
        join_all((self.seats)().iter().map(|seat| seat.reloader.catch_up())).await;
    }

    /// Does what is asked, in each configuration. What it says is without secrets, but for a key that was just created.
    pub(super) async fn answer(&self, request: Request) -> Vec<Answer> {
        if request == Request::Stop {
            return vec![self.stop()];
        }
        let mut seats = (self.seats)();
        if matches!(request, Request::Operate { .. }) {
            // A key is created once, however many workspaces there are.
            seats.truncate(1);
        }
        join_all(seats.iter().map(|seat| seat.answer(request.clone()))).await
    }

    fn stop(&self) -> Answer {
        match &self.stopping {
            Some(stopping) => {
                tracing::info!("asked to stop");
                stopping.cancel();
                ok(&())
            }
            None => {
                let why = "it serves by itself and ends with whoever started it";
                Answer::Refused(Refused::Because(why.to_owned()))
            }
        }
    }
}

impl Seat {
    async fn answer(&self, request: Request) -> Answer {
        let reveals = matches!(&request, Request::Operate { operation, .. } if admin::reveals(operation));
        let answer = self.answer_to(request).await;
        if reveals { answer } else { self.clean(answer) }
    }

    fn clean(&self, answer: Answer) -> Answer {
        let redactor = self.reloader.redactor();
        let text = |text: String| redactor.text(&text).into_owned();
        match answer {
            Answer::Ok(value) => Answer::Ok(match redactor.json(value.to_string().as_bytes()) {
                // What is struck out leaves JSON behind.
                Some(struck) => serde_json::from_slice(&struck.bytes).unwrap_or_default(),
                None => value,
            }),
            Answer::Refused(Refused::Because(why)) => Answer::Refused(Refused::Because(text(why))),
            Answer::Refused(Refused::Problems(problems)) => {
                Answer::Refused(Refused::Problems(problems.into_iter().map(text).collect()))
            }
        }
    }

    async fn answer_to(&self, request: Request) -> Answer {
        match request {
            Request::Status => self.running(),
            // It is not for one of several to do.
            Request::Stop => ok(&()),
            Request::Reload => answered(self.reloader.reload().await),
            Request::Operate { operation, input } => answered(self.reloader.operate(operation, input).await),
            Request::Learn => answered(self.reloader.learn().await),
            Request::Reconnect { name } => {
                let report = self.reloader.upstreams().reconnect(&name, RECONNECT_MAX).await;
                answered(report.map_err(Refused::Because))
            }
            Request::Trust { name } => answered(self.take_up_decisions(&name).await),
            Request::Stderr { name } => answered(self.upstream(&name).map(|upstream| upstream.last_stderr())),
        }
    }

    /// In every workspace: what runs for one of them by `${workspace}` is the same server to whoever decides.
    async fn take_up_decisions(&self, name: &str) -> Result<Report, Refused> {
        let all = self.reloader.every_upstream().into_iter().map(|(_, upstream)| upstream);
        let all: Vec<_> = all.filter(|upstream| upstream.name() == name).collect();
        let first = all.first().ok_or_else(|| missing(name))?;
        join_all(all.iter().map(|upstream| upstream.take_up_decisions())).await;
        Ok(first.status())
    }

    fn upstream(&self, name: &str) -> Result<Arc<Upstream>, Refused> {
        self.reloader.upstreams().get(name).ok_or_else(|| missing(name))
    }

    fn running(&self) -> Answer {
        ok(&Toolcrib {
            pid: std::process::id(),
            door: self.door.clone(),
            configuration: self.reloader.files().iter().map(|file| file.display().to_string()).collect(),
            upstreams: self.reloader.every_upstream().iter().map(reported).collect(),
            health: Some(self.health()),
        })
    }

    fn health(&self) -> Health {
        let gate = &self.reloader.crib().gate;
        let (offer, owner) = (gate.catalog().offer(), Caller::local_user(Via::CommandLine));
        let jobs = gate.jobs().map(|jobs| jobs.figures()).unwrap_or_default();
        let condition = gate.condition();
        Health {
            status: condition.word().to_owned(),
            problem: condition.problem().map(str::to_owned),
            version: OURSELVES.version.to_owned(),
            uptime_s: self.reloader.crib().shared.since.elapsed().as_secs(),
            tools: offer.tools.iter().filter(|tool| gate.may_see(&owner, tool)).count() as u64,
            jobs: JobCounts { queued: jobs.queued, running: jobs.running, waiting: jobs.waiting },
        }
    }
}

/// How a server is doing, and in which workspace if it has a name.
fn reported((workspace, upstream): &(Option<String>, Arc<Upstream>)) -> ServerReport {
    let mut report = ServerReport::of(json!(upstream.status()));
    report.facts.workspace.clone_from(workspace);
    report
}

fn missing(name: &str) -> Refused {
    Refused::Because(format!("it has no server `{name}`"))
}

fn answered(result: Result<impl Serialize, Refused>) -> Answer {
    result.map_or_else(Answer::Refused, |value| ok(&value))
}

fn ok(said: &impl Serialize) -> Answer {
    Answer::Ok(json!(said))
}
