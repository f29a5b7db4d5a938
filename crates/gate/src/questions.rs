//! What agents ask a person whose client cannot: whoever watches at a terminal of their own. Question and answer lie in the
//! store, since the one who watches is another process.
//!
//! Nobody watches for a client at the client's own terminal, or below it: what a person says must not come from the one who
//! asks.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{Machine, Processes as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Cell, Change, Content, Kind, Query, Store, StoreError, remove, replace, wait};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::approvals::{Approvals, Asker, LOOK_EVERY, present};
use crate::clock::Clock;

/// How long a question stays open: what nobody has answered by then is not being looked at.
pub const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5 * 60);

/// Most questions that are open at once, of all callers.
const OPEN_MAX: u64 = 20;

/// Most of one caller: one that asks without end takes nobody else's room.
const OPEN_OF_CALLER_MAX: u64 = 5;

/// How long a terminal counts as watched without saying so again, in milliseconds. One whose process is gone does not.
const WATCHED_MS: i64 = 30 * 60 * 1_000;

/// A question, and what was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its name in the store.
    pub id: Arc<str>,
    /// Whose agent asks.
    pub caller: Arc<str>,
    /// The folder that it works in.
    pub workspace: String,
    /// The forms: an `inputRequests` object.
    pub requests: Value,
    /// The processes that it came from.
    pub askers: Vec<Asker>,
    /// When, in milliseconds since 1970.
    pub asked_at_ms: i64,
    /// The `inputResponses` object, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<Value>,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    Answered(Value),
    /// Nobody watches, or does so any more.
    Nobody,
    /// Somebody watches, and has said nothing.
    Late,
    /// As many are open as a person would look at.
    Full,
}

/// The questions of one store.
pub struct Questions {
    store: Arc<dyn Store>,
    clock: Clock,
}

impl Questions {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock) -> Questions {
        Questions { store, clock }
    }

    /// Those where these approvals are kept.
    pub fn beside(approvals: &Approvals) -> Questions {
        let (store, clock) = approvals.store();
        Questions { store, clock }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// Says that a person watches at this process. To be said again every few minutes. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn watch(&self) -> Result<(), StoreError> {
        let Some(own) = Machine.process(std::process::id()) else { return Ok(()) };
        let (key, value) = (own.pid.to_string(), text(&Asker::from(own)));
        let ends_at_ms = Some((self.clock)().saturating_add(WATCHED_MS));
        wait(async {
            self.store.remove_ended(Kind::Watcher, (self.clock)()).await?;
            let seen = self.store.cell(Kind::Watcher, &key).await?.map(|cell| cell.version);
            let content = Content { ends_at_ms, ..Content::from(value) };
            replace(&*self.store, Change::put(Kind::Watcher, &key, seen, content)).await.map(drop)
        })
    }

    /// Says that nobody watches at this process any more. Blocks on the disk.
    pub fn leave(&self) {
        // Its process ends soon, and with it what it has said.
        let _ = wait(remove(&*self.store, Kind::Watcher, &std::process::id().to_string()));
    }

    /// The questions that wait, the oldest first. Blocks on the disk.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn open(&self) -> Result<Vec<Question>, StoreError> {
        let cells = wait(self.store.cells(&self.unended(Kind::Question)))?;
        let open = cells.iter().filter_map(read::<Question>).filter(|question| question.responses.is_none());
        Ok(open.collect())
    }

    /// Gives an answer to the question of this id; nothing if it waits no longer. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn answer(&self, id: &str, responses: Value) -> Result<Option<Question>, StoreError> {
        wait(async {
            let Some(cell) = self.store.cell(Kind::Question, id).await? else { return Ok(None) };
            let Some(question) = read::<Question>(&cell).filter(|it| it.responses.is_none()) else {
                return Ok(None);
            };
            let answered = Question { responses: Some(responses), ..question };
            let change = Change::put(Kind::Question, id, Some(cell.version), self.content(&answered));
            Ok(replace(&*self.store, change).await?.map(|_| answered))
        })
    }

    /// Has a person answer, if one watches. The question ends with the wait.
    pub(crate) async fn ask(self: &Arc<Self>, question: Question) -> Result<Told, StoreError> {
        if !self.is_watched(&question.askers).await? {
            return Ok(Told::Nobody);
        }
        self.store.remove_ended(Kind::Question, (self.clock)()).await?;
        let all = Query::all(Kind::Question);
        let own = Query { owner: Some(question.caller.to_string()), ..all.clone() };
        if self.store.count(&own).await? >= OPEN_OF_CALLER_MAX || self.store.count(&all).await? >= OPEN_MAX {
            return Ok(Told::Full);
        }
        let open = Open { questions: self.clone(), id: question.id.clone() };
        let change = Change::put(Kind::Question, &question.id, None, self.content(&question));
        replace(&*self.store, change).await?;
        let until = Instant::now() + ANSWER_WAIT_MAX;
        loop {
            let found = self.store.cell(Kind::Question, &open.id).await?;
            match found.as_ref().and_then(read::<Question>).map(|question| question.responses) {
                Some(Some(responses)) => return Ok(Told::Answered(responses)),
                Some(None) => {}
                None => return Ok(Told::Late),
            }
            if Instant::now() >= until {
                return Ok(Told::Late);
            }
            if !self.is_watched(&question.askers).await? {
                return Ok(Told::Nobody);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Whether a person watches who is at none of these processes.
    async fn is_watched(&self, askers: &[Asker]) -> Result<bool, StoreError> {
        let cells = self.store.cells(&self.unended(Kind::Watcher)).await?;
        let watchers: Vec<Asker> = cells.iter().filter_map(read).collect();
        if watchers.is_empty() {
            return Ok(false);
        }
        let askers = askers.to_vec();
        // At the end of the program nobody watches for it.
        Ok(spawn_blocking(move || watchers.iter().any(|it| is_a_person(it, &askers))).await.unwrap_or(false))
    }

    fn unended(&self, kind: Kind) -> Query {
        Query { ends_after_ms: Some((self.clock)()), ..Query::all(kind) }
    }

    fn content(&self, question: &Question) -> Content {
        let lasts_ms = i64::try_from(ANSWER_WAIT_MAX.as_millis()).unwrap_or(i64::MAX);
        let ends_at_ms = Some(question.asked_at_ms.saturating_add(lasts_ms));
        Content { owner: question.caller.to_string(), ends_at_ms, ..Content::from(text(question)) }
    }
}

/// Whether the process of a watcher is still there, and a person's as far as this client is concerned.
fn is_a_person(watcher: &Asker, askers: &[Asker]) -> bool {
    let is_there = Machine.process(watcher.pid).is_some_and(|process| Asker::from(process) == *watcher);
    is_there && present(&Machine, watcher.pid, askers).is_ok()
}

/// A question that a call waits for. Dropping it takes it back: the call is over, however it ended.
struct Open {
    questions: Arc<Questions>,
    id: Arc<str>,
}

impl Drop for Open {
    fn drop(&mut self) {
        // Without a runtime the program is ending; what is left ends by itself.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (questions, id) = (self.questions.clone(), self.id.clone());
        runtime.spawn(async move {
            if let Err(error) = remove(&*questions.store, Kind::Question, &id).await {
                tracing::warn!(%error, "a question that nobody waits for is still there");
            }
        });
    }
}

fn text(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records are written without maps of other keys")
}

fn read<T: for<'de> Deserialize<'de>>(cell: &Cell) -> Option<T> {
    serde_json::from_slice(&cell.value).ok()
}
