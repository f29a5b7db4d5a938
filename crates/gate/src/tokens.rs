//! Names for other people's tasks: what a caller gets in place of a source's own id.
//!
//! A token says whose task it is, which source runs it and which tool began it, under a keyed hash that nobody else can make. It
//! is the same each time, so that a client recognises its task in notifications, and good for its caller
//! only. The key is kept with the secrets and never changes, so that another process knows the task by the same name.
//!
//! What a task was begun with is kept here, in memory, as far as there is room: rules about paths concern the task as
//! well. It may hold secrets and is not written down; another process does not know it, and judges by that.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use store::Secrets;

use crate::key_ring::KeyRing;

/// Under which name the key is kept.
const RING: &str = "seal/task";

/// Longest token that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// Length of the hash in a token, in bytes.
const TAG_BYTES: usize = 32;

/// Longest arguments that are kept for a task, in bytes.
const BEGUN_BYTES_MAX: usize = 64 * 1024;

/// Most bytes that are kept for all tasks together; the oldest go first.
const BEGUN_IN_ALL_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Whose task it is, and what it goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Who runs it.
    pub source: Arc<str>,
    /// Its source's own id for it.
    pub id: Arc<str>,
    /// The call that it goes on with.
    pub origin: Origin,
}

/// The call that a task goes on with, by which rules know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The tool that was called.
    pub tool: Arc<str>,
    /// Its arguments as JSON text; nothing if they are not known any more.
    pub arguments: Option<Arc<str>>,
}

/// Makes and opens tokens.
pub struct Tokens {
    ring: KeyRing,
    begun: Mutex<Begun>,
}

/// The arguments that tasks were begun with, by their tokens.
#[derive(Default)]
struct Begun {
    kept: HashMap<Arc<str>, Arc<str>>,
    /// The oldest first.
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

impl Begun {
    fn keep(&mut self, token: &str, arguments: &str) {
        let token: Arc<str> = token.into();
        self.bytes += token.len() + arguments.len();
        match self.kept.insert(token.clone(), arguments.into()) {
            // A source that gives one name to two tasks.
            Some(before) => self.bytes -= token.len() + before.len(),
            None => self.order.push_back(token),
        }
        while self.bytes > BEGUN_IN_ALL_BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let arguments = self.kept.remove(&oldest).map_or(0, |arguments| arguments.len());
            self.bytes -= oldest.len() + arguments;
        }
    }
}

impl Tokens {
    /// With a key of this process alone.
    #[expect(clippy::new_without_default, reason = "each has a key of its own, which is no default")]
    pub fn new() -> Tokens {
        Tokens { ring: KeyRing::own(RING, None), begun: Mutex::default() }
    }

    /// The same with the key that all processes share which have these secrets.
    pub fn keyed_by(self, secrets: Arc<Secrets>) -> Tokens {
        Tokens { ring: self.ring.kept_in(secrets), ..self }
    }

    /// The key; nothing if it cannot be had, which the log then says.
    async fn key(&self) -> Option<hmac::Key> {
        let key = self.ring.newest(0).await;
        let key = key.inspect_err(|error| tracing::error!(%error, "no task can be named")).ok()?;
        Some(hmac::Key::new(hmac::HMAC_SHA256, &key.bytes))
    }

    /// The token for a task; nothing if no key can be had.
    pub async fn seal(&self, caller: &str, task: &Task) -> Option<String> {
        let named = [&lengthened(&task.source), &lengthened(&task.origin.tool), task.id.as_bytes()].concat();
        let mut body = hmac::sign(&self.key().await?, &signed(caller, &named)).as_ref().to_vec();
        body.extend_from_slice(&named);
        Some(URL_SAFE_NO_PAD.encode(body))
    }

    /// Keeps what the task of a token was begun with, as JSON text. What is too long for that is unknown from then on.
    pub fn keep(&self, token: &str, arguments: &str) {
        if arguments.len() <= BEGUN_BYTES_MAX {
            self.begun().keep(token, arguments);
        }
    }

    /// The task, if the token was made for this caller.
    pub async fn open(&self, caller: &str, token: &str) -> Option<Task> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let body = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (tag, named) = body.split_at_checked(TAG_BYTES)?;
        hmac::verify(&self.key().await?, &signed(caller, named), tag).ok()?;
        let (source, rest) = first(named)?;
        let (tool, id) = first(rest)?;
        let arguments = self.begun().kept.get(token).cloned();
        let origin = Origin { tool: tool.into(), arguments };
        Some(Task { source: source.into(), id: std::str::from_utf8(id).ok()?.into(), origin })
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts, each so that it cannot run into the next.
fn signed(caller: &str, named: &[u8]) -> Vec<u8> {
    [&lengthened(caller), named].concat()
}

/// The text behind the length that `named` begins with, and the rest.
fn first(named: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = named.split_at_checked(size_of::<u16>())?;
    let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// A text behind its length. Names of callers, sources and tools are short.
fn lengthened(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str) -> Task {
        let origin = Origin { tool: "files_pack".into(), arguments: None };
        Task { source: "files".into(), id: id.into(), origin }
    }

    #[tokio::test]
    async fn what_a_task_was_begun_with_is_kept_as_far_as_there_is_room() {
        let tokens = Tokens::new();
        let arguments = async |token: &str| tokens.open("ann", token).await.expect("hers").origin.arguments;
        let seal = async |id: &str| tokens.seal("ann", &task(id)).await.expect("a key");
        let first = seal("0").await;
        assert_eq!(arguments(&first).await, None);
        tokens.keep(&first, "{}");
        tokens.keep(&first, r#"{"path":"a"}"#);
        assert_eq!(arguments(&first).await.as_deref(), Some(r#"{"path":"a"}"#));
        let opened = tokens.open("ann", &first).await.expect("hers");
        assert_eq!(tokens.seal("ann", &opened).await.as_ref(), Some(&first), "the same each time");
        let long = "x".repeat(BEGUN_BYTES_MAX);
        let many = BEGUN_IN_ALL_BYTES_MAX / BEGUN_BYTES_MAX;
        for nth in 1..=many {
            tokens.keep(&seal(&nth.to_string()).await, &long);
        }
        for (nth, is_kept) in [(0, false), (1, false), (2, true), (many, true)] {
            assert_eq!(arguments(&seal(&nth.to_string()).await).await.is_some(), is_kept, "{nth}");
        }
        assert!(tokens.begun().bytes <= BEGUN_IN_ALL_BYTES_MAX);
        let last = seal("last").await;
        tokens.keep(&last, &format!("{long}x"));
        assert_eq!(arguments(&last).await, None, "too long");
    }

    #[tokio::test]
    async fn a_token_opens_for_its_caller_only_and_cannot_be_made_elsewhere() {
        let tokens = Tokens::new();
        let task = task("task-1");
        let token = tokens.seal("ann", &task).await.expect("a key");
        assert_eq!(Some(&token), tokens.seal("ann", &task).await.as_ref(), "the same each time");
        assert_eq!(tokens.open("ann", &token).await, Some(task));
        assert_eq!(tokens.open("bob", &token).await, None);
        assert_eq!(Tokens::new().open("ann", &token).await, None, "another key");
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            // The last character may hold bits that mean nothing; a decoder that accepts them gives the same bytes.
            if URL_SAFE_NO_PAD.decode(&changed).ok() != URL_SAFE_NO_PAD.decode(&token).ok() {
                assert_eq!(tokens.open("ann", &changed).await, None, "byte {at}");
            }
        }
        for bad in ["", "x", "task-1", &"A".repeat(TOKEN_BYTES_MAX + 1)] {
            assert_eq!(tokens.open("ann", bad).await, None);
        }
    }
}
