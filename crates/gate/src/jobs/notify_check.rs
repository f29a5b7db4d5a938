//! Whether those who are told of the end of jobs can be told: found out without telling anything.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use sandbox::egress::{HostClient, Journal, WayOut};
use sandbox::{Client, may_be_asked};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::notify::{ANSWER_MAX, Notify, address};

impl Notify {
    /// What keeps them from being told, in sentences. The program is looked up and not run; the webhook is sent `OPTIONS`,
    /// and whatever it answers is good.
    pub async fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(program) = self.command.first().cloned() {
            let named = program.clone();
            if !spawn_blocking(move || may_be_asked(&named)).await.unwrap_or(false) {
                faults.push(format!("jobs.notify.command: there is no program `{program}` that may be run"));
            }
        }
        faults.extend(self.unreached().await.map(|why| format!("jobs.notify.webhook: {why}")));
        faults
    }

    /// Why the webhook does not answer. Its address may be a secret, so only its host is named.
    async fn unreached(&self) -> Option<String> {
        let (uri, rules) = self.webhook.as_deref().and_then(address)?;
        let host = uri.host().unwrap_or_default().to_owned();
        let way = Arc::new(WayOut { rules, company: self.company.clone(), judge: None });
        let client = HostClient::new(&Client::new(), way, Arc::new(Journal::new())).await;
        let request = Request::options(uri).body(Bytes::new()).ok()?;
        match timeout(ANSWER_MAX, client.send(request)).await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(format!("{host} cannot be reached: {error}")),
            Err(_) => Some(format!("{host} does not answer within {} s", ANSWER_MAX.as_secs())),
        }
    }
}
