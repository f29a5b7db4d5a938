//! What a running call tells, as events of its job: progress, output, artifacts. A tool never waits for it: what comes faster
//! than it is written is gathered, and what is too much is counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::jobs::{
    CHUNK_BYTES_MAX, EVENTS_BYTES_MAX, EVENTS_MAX, Event, Job, MESSAGE_CHARS_MAX, Progress as JobProgress,
};
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio::time::sleep;
use tool_api::{Artifact, Listener, Progress};

use super::change::number;
use super::live::Live;
use super::of_process::Jobs;
use super::said::said;

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
    /// Output of the job by now, however often it began; the most that there may be once some was left out.
    bytes: u64,
    /// Events of the job by now.
    count: u64,
    lost: u64,
}

impl Recorder {
    /// Of a job that begins, perhaps not for the first time.
    pub(super) fn of_job(job: &Job) -> Recorder {
        let heard = Heard { bytes: job.output_bytes, count: job.last_event, ..Heard::default() };
        Recorder { heard: Mutex::new(heard), news: Notify::new(), next: None }
    }

    /// Of a call that may become one.
    pub(super) fn of_call(next: Option<Arc<dyn Listener>>) -> Recorder {
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
        let Heard { mut events, progress, lost, bytes, .. } = {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            let (bytes, count) = (heard.bytes, heard.count);
            std::mem::replace(&mut *heard, Heard { bytes, count, ..Heard::default() })
        };
        if events.is_empty() && progress.is_none() && lost == 0 {
            return;
        }
        let mut row = live.row.lock().await;
        let job = &mut row.job;
        (job.output_bytes, job.events_lost) = (bytes, job.events_lost + lost);
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
        let count = job.last_event;
        drop(row);
        self.count_events(count);
        live.tell();
    }

    /// Notes how many events there are, with those that wait.
    fn count_events(&self, written: u64) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.count = written + heard.events.len() as u64;
    }
}

impl Heard {
    fn output(&mut self, stream: &str, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (chunk, more) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES_MAX));
            rest = more;
            let bytes = self.bytes + chunk.len() as u64;
            if self.bytes >= EVENTS_BYTES_MAX || self.events.len() >= WAITING_MAX {
                self.lost += 1;
            } else if self.count >= EVENTS_MAX || bytes > EVENTS_BYTES_MAX {
                (self.lost, self.bytes) = (self.lost + 1, EVENTS_BYTES_MAX);
                self.push(Event::OutputCut {});
            } else {
                self.bytes = bytes;
                self.push(Event::output(stream, chunk));
            }
        }
    }

    fn push(&mut self, event: Event) {
        self.count += 1;
        self.events.push(event);
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
        if let Some((stream, text)) = said(&params) {
            self.hear(|heard| heard.output(stream, &text));
        }
        if let Some(next) = &self.next {
            next.log(params);
        }
    }

    fn artifact(&self, artifact: &Artifact) {
        let Artifact { id, name, media_type, bytes, lines: _, sha256 } = artifact.clone();
        self.hear(|heard| heard.push(Event::Artifact { id, name, media_type, bytes, sha256 }));
        if let Some(next) = &self.next {
            next.artifact(artifact);
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn heard(recorder: &Recorder) -> Heard {
        std::mem::take(&mut recorder.heard.lock().expect("nothing panics"))
    }

    #[test]
    fn progress_is_gathered_and_output_is_cut_and_bounded() {
        let recorder = Recorder::of_call(None);
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
        let stderr = r#"{"level":"debug","logger":"t.stderr","data":"why"}"#;
        recorder.log(Bytes::from_static(stderr.as_bytes()));
        assert_eq!(heard(&recorder).events, [Event::output("stderr", "why")]);
    }

    #[test]
    fn once_output_is_left_out_one_event_says_so_and_no_more_is_kept() {
        let artifact = Artifact {
            id: "i".to_owned(),
            name: "n".to_owned(),
            media_type: "text/plain".to_owned(),
            bytes: 3,
            lines: 1,
            sha256: "s".to_owned(),
        };
        for (bytes, count) in [(EVENTS_BYTES_MAX - 1, 0), (0, EVENTS_MAX)] {
            let mut heard = Heard { bytes, count, ..Heard::default() };
            heard.output("log", "xy");
            heard.output("log", "x");
            assert_eq!((&heard.events[..], heard.lost), (&[Event::OutputCut {}][..], 2));
            // So it stays when the job begins anew.
            let mut again = Heard { bytes: heard.bytes, count: heard.count, ..Heard::default() };
            again.output("log", "x");
            assert_eq!((again.events.len(), again.lost), (0, 1));
            // What it makes is told all the same.
            let recorder = Recorder { heard: Mutex::new(again), news: Notify::new(), next: None };
            recorder.artifact(&artifact);
            let told = self::heard(&recorder).events;
            assert!(matches!(&told[..], [Event::Artifact { bytes: 3, .. }]), "{told:?}");
        }
    }
}
