//! Whether the services of a web search answer, each asked once. What a service does is no fault of this machine, so nothing here
//! makes it unsound.

use std::sync::Arc;

use bytes::Bytes;
use config::Settings;
use daemon::own_program::{SPAWNER, confinement};
use futures_util::future::BoxFuture;
use http::{Request, Response};
use sandbox::confine::{Confined, Confiner, Layer, Limits, Running};
use sandbox::egress::{HostClient, Journal, WayOut};
use sandbox::{Body, Client};
use serde_json::{Value, json};
use terminal::Trouble;
use tool_api::{Command, Ended, Net, Process, Processes, ToolError};
use tools::SearchTold;

/// What each is asked for: something that all of them have.
const QUERY: &str = "fetch";

/// How the services did.
pub(super) struct SearchReport(Vec<SearchTold>);

/// Reaches the hosts of the services, and no others.
struct Direct(HostClient);

impl Net for Direct {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, ToolError>> {
        Box::pin(async move {
            self.0.send(request).await.map_err(|error| ToolError::new("no_answer", error.to_string()))
        })
    }
}

/// Starts our own workers, which read pages of results, and nothing else.
struct Workers {
    confiner: Confiner,
    limits: Limits,
    waived: Vec<Layer>,
}

impl Processes for Workers {
    fn start(&self, mut command: Command) -> BoxFuture<'_, Result<Process<'_>, ToolError>> {
        Box::pin(async move {
            let not_run = |why: String| ToolError::new("program_not_run", why);
            let given = command.given();
            let worker = command.worker.ok_or_else(|| not_run("only our own workers run here".to_owned()))?;
            let words = std::iter::once(worker.word().into()).chain(command.args);
            let program = self.confiner.worker(words, self.limits);
            let program = Confined { waived: self.waived.clone(), ..program };
            let running = self.confiner.start(&program).await.map_err(|error| not_run(error.to_string()))?;
            let process = Process::new(running, given, Vec::new(), self);
            Ok(process.expect("it has just been started, and nobody has taken its streams"))
        })
    }

    fn ended(&self, _: &Ended) {}

    // Dropped, it ends; a worker writes no files.
    fn left(&self, _: Running, _: Vec<&'static str>) {}
}

impl SearchReport {
    pub(super) async fn new(settings: &Settings) -> Result<SearchReport, Trouble> {
        let (rules, company) = (settings.search.hosts().clone(), settings.sandbox.proxy.clone());
        let way = Arc::new(WayOut { rules, company, judge: None });
        let client = HostClient::new(&Client::new(), way, Arc::new(Journal::new())).await;
        let confiner = Confiner::new(confinement(SPAWNER)?).without_pool();
        let sandbox = &settings.sandbox;
        let workers = Workers { confiner, limits: sandbox.limits, waived: sandbox.waived.clone() };
        Ok(SearchReport(tools::probe_search(&settings.search, QUERY, &Direct(client), &workers).await))
    }

    pub(super) fn to_json(&self) -> Value {
        json!(self.0)
    }

    /// One line for each.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |told: &SearchTold| {
            let what = told.why.clone().unwrap_or_else(|| format!("answers, with {} found", told.pages));
            format!("{:<11} {what}", told.name)
        };
        self.0.iter().map(line).collect()
    }
}
