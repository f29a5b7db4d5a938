//! What a running process does when it is asked.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::line::Talk;
use super::reload::Reloader;
use super::words::{Answer, Request, Running};
use crate::upstreams::Upstreams;

/// A server that is connected to anew is waited for so long; what it is doing then is the answer.
pub(super) const RECONNECT_MAX: Duration = Duration::from_secs(60);

/// Answers for this process.
pub(crate) struct Desk {
    door: String,
    upstreams: Arc<Upstreams>,
    reloader: Arc<Reloader>,
}

impl Desk {
    /// For a process whose clients come in at `door`.
    pub(crate) fn new(door: &str, upstreams: Arc<Upstreams>, reloader: Arc<Reloader>) -> Arc<Desk> {
        Arc::new(Desk { door: door.to_owned(), upstreams, reloader })
    }

    /// Takes up what was changed before anybody could ask.
    pub(super) async fn catch_up(&self) {
        self.reloader.catch_up().await;
    }

    /// Does what is asked. A watcher's first answer is that to a status. What it says is without secrets.
    pub(super) async fn answer(&self, request: Request) -> Answer {
        self.clean(self.answer_to(request).await)
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
            Answer::Error(why) => Answer::Error(text(why)),
            Answer::Problems(problems) => Answer::Problems(problems.into_iter().map(text).collect()),
        }
    }

    async fn answer_to(&self, request: Request) -> Answer {
        match request {
            Request::Status | Request::Watch => self.running(),
            Request::Reload => match self.reloader.reload().await {
                Ok(reloaded) => ok(&reloaded),
                Err(refused) => refused.into(),
            },
            Request::Learn => match self.reloader.learn().await {
                Ok(()) => Answer::Ok(Value::Null),
                Err(refused) => refused.into(),
            },
            Request::Reconnect { name } => match self.upstreams.reconnect(&name, RECONNECT_MAX).await {
                Ok(report) => ok(&report),
                Err(why) => Answer::Error(why),
            },
            Request::Trust { name } => match self.upstreams.get(&name) {
                Some(upstream) => {
                    upstream.take_up_decisions().await;
                    ok(&upstream.status())
                }
                None => Answer::Error(format!("it has no server `{name}`")),
            },
            Request::Stderr { name } => match self.upstreams.get(&name) {
                Some(upstream) => Answer::Ok(Value::String(upstream.last_stderr())),
                None => Answer::Error(format!("it has no server `{name}`")),
            },
        }
    }

    /// Says how everything is, and then every change, until the client goes away.
    pub(super) async fn watch(&self, mut talk: Talk) -> io::Result<()> {
        let mut news = self.upstreams.statuses();
        talk.say(&self.clean(self.running())).await?;
        loop {
            let said = tokio::select! {
                heard = talk.hear() => match heard? {
                    // It has nothing more to ask.
                    Some(_) => continue,
                    None => return Ok(()),
                },
                one = news.recv() => match one {
                    Ok(one) => Answer::Ok(one.to_json()),
                    // What was missed is in the whole.
                    Err(RecvError::Lagged(_)) => self.running(),
                    Err(RecvError::Closed) => return Ok(()),
                },
            };
            talk.say(&self.clean(said)).await?;
        }
    }

    fn running(&self) -> Answer {
        ok(&Running {
            pid: std::process::id(),
            door: self.door.clone(),
            configuration: self.reloader.files().iter().map(|file| file.display().to_string()).collect(),
            upstreams: self.upstreams.iter().map(|upstream| json!(upstream.status())).collect(),
        })
    }
}

fn ok(said: &impl Serialize) -> Answer {
    Answer::Ok(json!(said))
}
