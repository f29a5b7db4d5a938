//! What a try to connect leaves behind for the diagnosis: when each step was done, and what came that was no MCP.
//! Its source is the trace of the upstream, so nothing is asked twice.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::IgnoredAny;
use upstream::{Obstacle, Trace, Traced};

/// How much of a line that is no message is kept, in characters.
const LINE_CHARS_MAX: usize = 120;

/// Requests that are remembered; a list of the largest length has fewer pages.
const REQUESTS_MAX: usize = 5_000;

/// The lists a server may have, by the methods that ask for them.
const LISTS: [(&str, &[&str]); 3] = [
    ("tools", &["tools/list"]),
    ("prompts", &["prompts/list"]),
    ("resources", &["resources/list", "resources/templates/list"]),
];

/// Requests that begin a connection, and that no server sends.
const OF_CLIENTS: [&str; 2] = ["initialize", "server/discover"];

/// What has been seen. Times count from the beginning.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// When the server said something for the first time.
    pub(super) first_heard: Option<Duration>,
    /// How many messages of it were JSON-RPC.
    pub messages: usize,
    /// The first line or body of it that was no JSON.
    pub text: Option<String>,
    /// True if that came before any message.
    pub text_came_first: bool,
    /// The first JSON of it that was no JSON-RPC.
    pub(super) foreign: Option<String>,
    /// The head of its last answer over HTTP.
    pub(super) head: Option<Head>,
    /// What was in the way of the last request, if it got no answer over HTTP.
    pub(super) obstacle: Option<(Obstacle, String)>,
    /// True if a request of ours came back as if it were one of its own.
    pub(super) echoes: bool,
    requests: Vec<SentRequest>,
}

/// The head of an answer over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// The media type in small letters; empty if there is none.
    pub(super) media_type: String,
    /// Where a redirect leads.
    pub(super) location: Option<String>,
}

/// A request of ours.
#[derive(Debug, Clone)]
struct SentRequest {
    id: u64,
    method: String,
    at: Duration,
    answered: Option<Duration>,
}

/// One step of connecting and how long it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// As much of a message as tells which one it is.
#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<IgnoredAny>,
    id: Option<serde_json::Value>,
    method: Option<String>,
}

/// A trace that tells `seen`, and another one first. Times count from now on.
pub fn trace(seen: &Arc<Mutex<Seen>>, other: Option<Trace>) -> Trace {
    let (seen, begun) = (seen.clone(), Instant::now());
    Trace::new(move |traced| {
        let at = begun.elapsed();
        if let Some(other) = &other {
            other.tell(traced.clone());
        }
        seen.lock().expect("nothing panics while it holds the lock").take_in(traced, at);
    })
}

impl Seen {
    /// Takes in what happened `at` this time.
    pub(super) fn take_in(&mut self, traced: Traced, at: Duration) {
        match traced {
            Traced::Opened(_) | Traced::Request { .. } => {}
            Traced::Sent(message) => self.sent(&message, at),
            Traced::Received(message) => {
                self.first_heard.get_or_insert(at);
                self.received(&message, at);
            }
            Traced::Response { status, headers } => {
                self.first_heard.get_or_insert(at);
                self.obstacle = None;
                self.head = Some(head(status, &headers));
            }
            Traced::Unanswered { obstacle, said: message } => self.obstacle = Some((obstacle, message)),
        }
    }

    fn sent(&mut self, message: &str, at: Duration) {
        let Ok(Envelope { id, method: Some(method), .. }) = serde_json::from_str(message) else { return };
        if let Some(id) = id.and_then(|id| id.as_u64()).filter(|_| self.requests.len() < REQUESTS_MAX) {
            self.requests.push(SentRequest { id, method, at, answered: None });
        }
    }

    fn received(&mut self, message: &str, at: Duration) {
        match serde_json::from_str::<Envelope>(message) {
            Ok(Envelope { jsonrpc: Some(_), id, method }) => {
                self.messages += 1;
                self.echoes |= method.as_deref().is_some_and(|method| OF_CLIENTS.contains(&method));
                let id = id.and_then(|id| id.as_u64()).filter(|_| method.is_none());
                // Ids begin anew with every process, so the latest one of this id is meant.
                let request = self.requests.iter_mut().rev().find(|request| Some(request.id) == id);
                if let Some(request) = request {
                    request.answered.get_or_insert(at);
                }
            }
            Ok(_) => drop(self.foreign.get_or_insert_with(|| beginning(message))),
            Err(_) if serde_json::from_str::<IgnoredAny>(message).is_ok() => {
                self.foreign.get_or_insert_with(|| beginning(message));
            }
            Err(_) if message.trim().is_empty() => {}
            Err(_) if self.text.is_none() => {
                self.text = Some(beginning(message));
                self.text_came_first = self.messages == 0;
            }
            Err(_) => {}
        }
    }

    /// The steps that were done, in their order; `ended` is when the last of them was.
    pub fn steps(&self, ended: Duration) -> Vec<Step> {
        let Some(first) = self.first_heard else { return Vec::new() };
        let lists = LISTS.iter().filter_map(|(name, methods)| {
            let request =
                || self.requests.iter().filter(|request| methods.contains(&request.method.as_str()));
            let (begun, done) = (
                request().map(|request| request.at).min()?,
                request().map(|request| request.answered).max()?,
            );
            Some((*name, begun, done))
        });
        let lists: Vec<_> = lists.collect();
        let met = lists.iter().map(|(_, begun, _)| *begun).min().unwrap_or(ended);
        let start = Step { name: "start", took: first };
        let handshake = Step { name: "handshake", took: met.saturating_sub(first) };
        let lists = lists.into_iter().map(|(name, begun, done)| {
            let took = done.unwrap_or(ended).saturating_sub(begun);
            Step { name, took }
        });
        [start, handshake].into_iter().chain(lists).collect()
    }
}

fn head(status: u16, headers: &[(String, String)]) -> Head {
    let value = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let media_type = value("content-type").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Head { status, media_type, location: value("location") }
}

/// The first line of a text, as much as fits into a sentence.
fn beginning(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let shown: String = line.chars().filter(|c| !c.is_control()).take(LINE_CHARS_MAX).collect();
    if line.chars().count() > LINE_CHARS_MAX { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(events: &[(u64, Traced)]) -> Seen {
        let mut seen = Seen::default();
        for (at_ms, traced) in events {
            seen.take_in(traced.clone(), Duration::from_millis(*at_ms));
        }
        seen
    }

    fn sent(id: u64, method: &str) -> Traced {
        Traced::Sent(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#))
    }

    fn answered(id: u64) -> Traced {
        Traced::Received(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
    }

    #[test]
    fn steps_are_as_long_as_they_took() {
        let seen = seen(&[
            (0, Traced::Opened("x".to_owned())),
            (1, sent(0, "server/discover")),
            // It exited at that, and another one is met.
            (100, sent(0, "initialize")),
            (300, answered(0)),
            (310, sent(1, "tools/list")),
            (311, sent(2, "resources/list")),
            (311, sent(3, "resources/templates/list")),
            (350, answered(2)),
            (360, answered(1)),
            (365, sent(4, "tools/list")),
            (380, answered(3)),
            (400, answered(4)),
        ]);
        let steps: Vec<_> =
            seen.steps(Duration::from_millis(401)).iter().map(|it| (it.name, it.took.as_millis())).collect();
        assert_eq!(steps, [("start", 300), ("handshake", 10), ("tools", 90), ("resources", 69)]);
        assert_eq!(Seen::default().steps(Duration::from_secs(1)), []);
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let received = |text: &str| Traced::Received(text.to_owned());
        let banner =
            seen(&[(1, received("\u{1b}[1mHello\u{1b}[0m\nworld")), (2, answered(0)), (3, received("x"))]);
        assert_eq!((banner.text.as_deref(), banner.text_came_first), (Some("[1mHello[0m"), true));
        let late = seen(&[(1, answered(0)), (2, received("x"))]);
        assert_eq!((late.text.as_deref(), late.text_came_first, late.messages), (Some("x"), false, 1));
        for json in [r#"{"hello":1}"#, "7", r#"["a"]"#] {
            let foreign = seen(&[(1, received(json))]);
            assert_eq!((foreign.foreign.as_deref(), foreign.messages, foreign.text), (Some(json), 0, None));
        }
    }
}
