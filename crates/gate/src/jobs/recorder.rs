//! What a running call tells, as events of its job. A tool never waits for it: what comes faster than it is written is
//! gathered, and what is too much is counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::jobs::{
    CHUNK_BYTES_MAX, EVENTS_BYTES_MAX, EVENTS_MAX, Event, MESSAGE_CHARS_MAX, Progress as JobProgress,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;
use tool_api::{Listener, Progress};

use super::change::number;
use super::live::Live;
use super::of_process::Jobs;

/// Events that wait to be written. A tool that is faster than the disk loses output, and is not held up.
const WAITING_MAX: usize = 1_000;

/// Progress is written no more often than this.
const PROGRESS_EVERY: Duration = Duration::from_millis(20);

/// Hears a call.
pub(super) struct Recorder {
    heard: Mutex<Heard>,
    news: Notify,
    /// Who hears it besides, until its request is over.
    next: Option<Arc<dyn Listener>>,
}

#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    progress: Option<JobProgress>,
    bytes: u64,
    count: u64,
    lost: u64,
}

impl Recorder {
    pub(super) fn passing_on(next: Option<Arc<dyn Listener>>) -> Recorder {
        Recorder { heard: Mutex::default(), news: Notify::new(), next }
    }

    fn hear(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        self.news.notify_one();
    }

    /// Writes what is heard until `running` is done, and what was heard last after it.
    pub(super) async fn beside<T>(&self, jobs: &Jobs, live: &Live, running: impl Future<Output = T>) -> T {
        let writing = async {
            loop {
                self.news.notified().await;
                self.write(jobs, live).await;
                sleep(PROGRESS_EVERY).await;
            }
        };
        let done = tokio::select! {
            biased;
            done = running => done,
            never = writing => never,
        };
        self.write(jobs, live).await;
        done
    }

    /// Writes what was heard since.
    async fn write(&self, jobs: &Jobs, live: &Live) {
        let Heard { mut events, progress, lost, .. } = {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            let (bytes, count) = (heard.bytes, heard.count);
            std::mem::replace(&mut *heard, Heard { bytes, count, ..Heard::default() })
        };
        if events.is_empty() && progress.is_none() && lost == 0 {
            return;
        }
        let mut row = live.row.lock().await;
        let job = &mut row.job;
        job.events_lost += lost;
        if let Some(progress) = progress {
            if job.last_event < EVENTS_MAX {
                let JobProgress { done, total, message } = progress.clone();
                events.push(Event::Progress { done, total, message });
            }
            job.progress = Some(progress);
        }
        let now_ms = jobs.now_ms();
        job.updated_at_ms = now_ms;
        let written = async {
            let key = jobs.key().await?;
            let events = number(job, events.into_iter(), now_ms, &key)?;
            jobs.store().append(live.id.as_str(), events, Some(job.about())).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, job = %live.id, "events of a job are lost");
        }
        drop(row);
        live.tell();
    }
}

impl Heard {
    fn output(&mut self, stream: &str, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (chunk, more) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES_MAX));
            rest = more;
            let is_too_much = self.events.len() >= WAITING_MAX
                || self.count >= EVENTS_MAX
                || self.bytes + chunk.len() as u64 > EVENTS_BYTES_MAX;
            if is_too_much {
                self.lost += 1;
            } else {
                (self.count, self.bytes) = (self.count + 1, self.bytes + chunk.len() as u64);
                self.events.push(Event::output(stream, chunk));
            }
        }
    }
}

impl Listener for Recorder {
    fn progress(&self, progress: Progress) {
        if let Some(step) = step(&progress) {
            self.hear(|heard| heard.progress = Some(step));
        }
        if let Some(next) = &self.next {
            next.progress(progress);
        }
    }

    fn log(&self, params: Bytes) {
        if let Some(text) = said(&params) {
            self.hear(|heard| heard.output("log", &text));
        }
        if let Some(next) = &self.next {
            next.log(params);
        }
    }
}

fn step(progress: &Progress) -> Option<JobProgress> {
    #[derive(Deserialize)]
    struct Relayed {
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    }
    let (done, total, message) = match progress {
        Progress::Step { done, total, message } => (*done, *total, message.clone()),
        Progress::Relayed(params) => {
            let Relayed { progress, total, message } = serde_json::from_slice(params).ok()?;
            (progress, total, message)
        }
    };
    let message = message.map(|message| message.chars().take(MESSAGE_CHARS_MAX).collect());
    Some(JobProgress { done, total, message })
}

/// What a log message says.
fn said(params: &Bytes) -> Option<String> {
    let mut params: Value = serde_json::from_slice(params).ok()?;
    Some(match params["data"].take() {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(recorder: &Recorder) -> Heard {
        std::mem::take(&mut recorder.heard.lock().expect("nothing panics"))
    }

    #[test]
    fn progress_is_gathered_and_output_is_cut_and_bounded() {
        let recorder = Recorder::passing_on(None);
        for done in [1.0, 2.0] {
            recorder.progress(Progress::Step { done, total: Some(3.0), message: None });
        }
        let relayed = r#"{"progressToken":1,"progress":5,"message":"m"}"#;
        recorder.progress(Progress::Relayed(Bytes::from_static(relayed.as_bytes())));
        let last = Some(JobProgress { done: 5.0, total: None, message: Some("m".to_owned()) });
        let told = heard(&recorder);
        assert_eq!((told.progress, told.events.len()), (last, 0));

        let log = |data: Value| Bytes::from(serde_json::json!({ "level": "info", "data": data }).to_string());
        recorder.log(log("x".repeat(CHUNK_BYTES_MAX + 1).into()));
        recorder.log(log(serde_json::json!({ "a": 1 })));
        recorder.log(Bytes::from_static(b"no JSON"));
        let told = heard(&recorder);
        assert_eq!(told.events.len(), 3);
        assert_eq!(told.events[2], Event::output("log", r#"{"a":1}"#));

        for _ in 0..WAITING_MAX + 7 {
            recorder.log(log("y".into()));
        }
        let told = heard(&recorder);
        assert_eq!((told.events.len(), told.lost), (WAITING_MAX, 7));
    }
}
