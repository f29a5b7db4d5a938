//! Whether the services of a web search answer, each asked once. What a service does is no fault of this machine, so nothing here
//! makes it unsound.

use std::sync::Arc;

use bytes::Bytes;
use config::Settings;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use sandbox::egress::{HostClient, Journal, WayOut};
use sandbox::{Body, Client};
use serde_json::{Value, json};
use tool_api::{Net, ToolError};
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

impl SearchReport {
    pub(super) async fn new(settings: &Settings) -> SearchReport {
        let (rules, company) = (settings.search.hosts().clone(), settings.sandbox.proxy.clone());
        let way = Arc::new(WayOut { rules, company, judge: None });
        let client = HostClient::new(&Client::new(), way, Arc::new(Journal::new())).await;
        SearchReport(tools::probe_search(&settings.search, QUERY, &Direct(client)).await)
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
