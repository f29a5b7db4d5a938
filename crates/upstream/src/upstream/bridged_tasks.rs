//! The tasks of 2025-11-25 of one server that modern clients were given, by our names for them, and how long each is kept.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tool_api::{Client, Hold};
use wire::message::Text;

use crate::connection::{Connection, TaskClaim};

/// How long a task is kept whose server sets no earlier end, from its beginning. Its connection stays open for it.
pub(crate) const KEPT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a task is kept after its client has seen its end, in case the answer was lost.
pub(crate) const ENDED_KEPT: Duration = Duration::from_secs(5 * 60);

/// Most tasks of one server. Beyond it a call is followed to its end instead.
pub(crate) const TASKS_MAX: usize = 1_000;

/// Random bytes in our name of a task. Sessions may give the same id to different tasks; of these none comes twice.
const KEY_BYTES: usize = 16;

/// The tasks by our names for them.
#[derive(Default)]
pub(crate) struct BridgedTasks(Mutex<HashMap<Arc<str>, Arc<Bridged>>>);

/// One task.
pub(crate) struct Bridged {
    /// The name by which the gate knows it.
    pub(crate) key: Arc<str>,
    pub(crate) connection: Arc<Connection>,
    pub(crate) claim: TaskClaim,
    /// Who began it, and is asked.
    pub(crate) client: Client,
    /// The task as its server told of it last.
    pub(crate) seen: Mutex<Text>,
    pub(crate) input: Mutex<Input>,
    pub(crate) changed: Notify,
    /// Waits for the result, to hear what the task asks.
    pub(crate) waits: Mutex<JoinSet<()>>,
    /// True once its session is known to have ended. It then stays so, whatever the server says later.
    pub(crate) is_lost: AtomicBool,
    /// When it is forgotten.
    pub(crate) due: watch::Sender<Instant>,
    /// The task that waits for that time; ends with this.
    _watch: JoinSet<()>,
}

/// What a task asks of its client.
pub(crate) enum Input {
    Nothing,
    /// Its result is waited for.
    Awaited,
    Asked {
        /// An `inputRequests` object.
        requests: Bytes,
        /// Names the request for the result, which waits for the answers.
        state: Arc<str>,
        /// Gives that request up when dropped.
        hold: Option<Hold>,
    },
}

impl BridgedTasks {
    /// Keeps a task that `client` has begun and its server calls `id`, and gives our name for it; nothing if there is no
    /// room.
    pub(crate) fn begin(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        id: Arc<str>,
        task: Text,
        client: Client,
    ) -> Option<Arc<str>> {
        let mut random = [0; KEY_BYTES];
        getrandom::fill(&mut random).ok()?;
        let key: Arc<str> = HEXLOWER.encode(&random).into();
        let mut table = lock(&self.0);
        if table.len() >= TASKS_MAX {
            return None;
        }
        let due = watch::Sender::new(Instant::now() + kept(&task));
        let mut watch = JoinSet::new();
        watch.spawn(forget_when_due(Arc::downgrade(self), key.clone(), due.subscribe()));
        let bridged = Bridged {
            key: key.clone(),
            connection: connection.clone(),
            claim: connection.exchange().claim_task(id),
            client,
            seen: Mutex::new(task),
            input: Mutex::new(Input::Nothing),
            changed: Notify::new(),
            waits: Mutex::default(),
            is_lost: AtomicBool::new(false),
            due,
            _watch: watch,
        };
        table.insert(key.clone(), Arc::new(bridged));
        Some(key)
    }

    /// The task of this name.
    pub(crate) fn get(&self, key: &str) -> Option<Arc<Bridged>> {
        lock(&self.0).get(key).cloned()
    }

    pub(crate) fn forget(&self, key: &str) {
        let forgotten = lock(&self.0).remove(key);
        // Outside the lock, since it gives requests up.
        drop(forgotten);
    }
}

impl Bridged {
    /// Its end has been told.
    pub(crate) fn ended(&self) {
        self.due.send_modify(|due| *due = (*due).min(Instant::now() + ENDED_KEPT));
    }
}

/// How long a task is kept from its beginning.
fn kept(task: &Text) -> Duration {
    let ttl = task.object().and_then(|task| task.get("ttl")?.parse().ok());
    ttl.map_or(KEPT_MAX, |ttl| Duration::from_millis(ttl).min(KEPT_MAX))
}

async fn forget_when_due(tasks: Weak<BridgedTasks>, key: Arc<str>, mut due: watch::Receiver<Instant>) {
    loop {
        let at = *due.borrow_and_update();
        match timeout_at(at, due.changed()).await {
            // It may be forgotten sooner than was thought.
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => break,
        }
    }
    if let Some(tasks) = tasks.upgrade() {
        tasks.forget(&key);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it holds the lock")
}
