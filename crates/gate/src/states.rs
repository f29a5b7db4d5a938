//! What tools keep for their callers over the end of the process, and which callers are in plan mode.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use audit::Hash;
use futures_util::future::BoxFuture;
use policy::Caller;
use redact::Redactor;
use store::{Change, Content, Kind, Query, Store, StoreError, replace};
use tool_api::{Event, Noted, PLAN_MODE, PlanMode, STATE_SCHEME, State, ToolError, Turn};

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::reminders::Reminders;

/// How long what nobody changes is kept, in milliseconds.
const KEPT_MS: i64 = 90 * 24 * 60 * 60 * 1_000;

/// How often what is over is removed, in milliseconds.
const SWEEP_EVERY_MS: i64 = 60 * 60 * 1_000;

/// After this time it is looked again whether another process has entered plan mode, in milliseconds.
const PLANS_SEEN_MS: u64 = 1_000;

/// All of it.
pub(crate) struct States {
    store: Arc<dyn Store>,
    clock: Clock,
    /// When what is over was last removed.
    swept_at_ms: AtomicI64,
    looked: Mutex<Looked>,
    /// Where changes are told.
    catalog: Arc<Catalog>,
    reminders: Reminders,
    /// Of what is being changed: whose turn it is.
    turns: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

/// What is known of plan mode, of whichever caller.
#[derive(Default)]
struct Looked {
    /// Whether anybody is in it; nothing before the first look, and once this process has changed something.
    are_plans: Option<bool>,
    /// When it was last looked, or is being looked.
    at_ms: i64,
    /// How often this process has changed something.
    changes: u64,
}

impl States {
    /// Kept in `store`, by `clock`; what changes is told in `catalog`.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock, catalog: Arc<Catalog>) -> States {
        let (looked, reminders, turns) = (Mutex::default(), Reminders::default(), Mutex::default());
        States { store, clock, swept_at_ms: AtomicI64::new(0), looked, catalog, reminders, turns }
    }

    /// False if nobody is in plan mode, as far as this process has heard. Of what another one does it hears in passing: no
    /// call waits for that.
    pub(crate) fn may_be_plans(self: &Arc<States>) -> bool {
        let now_ms = (self.clock)();
        let mut looked = self.looked();
        let Some(are_plans) = looked.are_plans else { return true };
        if now_ms.abs_diff(looked.at_ms) >= PLANS_SEEN_MS {
            looked.at_ms = now_ms;
            let states = self.clone();
            tokio::spawn(async move {
                if let Err(error) = states.look().await {
                    tracing::warn!(%error, "whether another process is in plan mode cannot be looked up");
                }
            });
        }
        are_plans
    }

    /// The plan mode that this caller is in, if it is.
    ///
    /// # Errors
    /// Nobody can say.
    pub(crate) async fn plan_mode(
        &self,
        caller: &Caller,
        workspace: &str,
    ) -> Result<Option<PlanMode>, StoreError> {
        let known = self.looked().are_plans;
        if known.is_none() && !self.look().await? {
            return Ok(None);
        }
        let found = self.store.cell(Kind::State, &key(caller, workspace, PLAN_MODE)).await?;
        // One that cannot be read was written by a later version: that it is there is what counts.
        let unread = PlanMode { goal: None, since_ms: 0, plan_file: None };
        Ok(found.map(|cell| serde_json::from_slice(&cell.value).unwrap_or(unread)))
    }

    async fn look(&self) -> Result<bool, StoreError> {
        let before = self.looked().changes;
        let all = Query { topic: Some(PLAN_MODE.to_owned()), ..Query::all(Kind::State) };
        let are_plans = self.store.count(&all).await? > 0;
        let mut looked = self.looked();
        // What was changed meanwhile may not have been counted.
        if looked.changes == before {
            (looked.are_plans, looked.at_ms) = (Some(are_plans), (self.clock)());
        }
        Ok(are_plans)
    }

    fn looked(&self) -> MutexGuard<'_, Looked> {
        // What it guards is sound between any two statements.
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What whoever changes this cell locks meanwhile; forgotten once nobody does.
    fn turn(&self, key: String) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = turns.get(&key).and_then(Weak::upgrade).unwrap_or_default();
        turns.insert(key, Arc::downgrade(&turn));
        turn
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        let now_ms = (self.clock)();
        if (now_ms - self.swept_at_ms.swap(now_ms, Ordering::Relaxed)).abs() < SWEEP_EVERY_MS {
            return Ok(());
        }
        self.store.remove_ended(Kind::State, now_ms).await.map(drop)
    }

    async fn put(&self, name: &str, change: Change) -> Result<bool, StoreError> {
        self.sweep().await?;
        let put = replace(&*self.store, change).await?.is_some();
        if name == PLAN_MODE {
            let mut looked = self.looked();
            (looked.are_plans, looked.changes) = (None, looked.changes + 1);
        }
        Ok(put)
    }
}

/// The hand of one call.
pub(crate) struct OfCaller {
    pub(crate) states: Arc<States>,
    pub(crate) caller: Caller,
    pub(crate) workspace: String,
    /// Nothing is kept that has a secret in it.
    pub(crate) redactor: Redactor,
}

impl State for OfCaller {
    fn read<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Result<Option<Noted>, ToolError>> {
        Box::pin(async move {
            let key = key(&self.caller, &self.workspace, name);
            let found =
                self.states.store.cell(Kind::State, &key).await.map_err(|error| unavailable(&error))?;
            Ok(found.map(|cell| Noted { version: cell.version, value: cell.value }))
        })
    }

    fn replace<'a>(
        &'a self,
        name: &'static str,
        seen: Option<u64>,
        value: Option<Vec<u8>>,
    ) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move {
            let key = key(&self.caller, &self.workspace, name);
            let change = match (value, seen) {
                (Some(value), seen) => Change::put(Kind::State, &key, seen, self.content(name, value)?),
                (None, Some(seen)) => Change::remove(Kind::State, &key, seen),
                (None, None) => return Ok(true),
            };
            let put = self.states.put(name, change).await.map_err(|error| unavailable(&error))?;
            if put {
                self.states.catalog.announce(self.news(name));
            }
            Ok(put)
        })
    }

    fn turn<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Turn> {
        let turn = self.states.turn(key(&self.caller, &self.workspace, name));
        Box::pin(async move { Turn::of(turn.lock_owned().await) })
    }

    fn now_ms(&self) -> i64 {
        (self.states.clock)()
    }

    fn remind(&self, name: &'static str, at_ms: Vec<i64>) {
        let now_ms = self.now_ms();
        let delays_ms = at_ms.into_iter().map(|at_ms| at_ms - now_ms).collect();
        let (catalog, news) = (self.states.catalog.clone(), self.news(name));
        let tell = Arc::new(move || catalog.announce(news.clone()));
        self.states.reminders.set(key(&self.caller, &self.workspace, name), delays_ms, tell);
    }

    fn later(&self, ms: i64) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms.unsigned_abs())))
    }
}

impl OfCaller {
    /// What is kept under this name has changed.
    fn news(&self, name: &str) -> Event {
        let uri = format!("{STATE_SCHEME}{name}").into();
        Event::ResourceUpdated { uri, caller: Some(self.caller.id().clone()) }
    }

    fn content(&self, name: &str, value: Vec<u8>) -> Result<Content, ToolError> {
        let value = match self.redactor.json(&value) {
            Some(struck) => struck.bytes.to_vec(),
            None => value,
        };
        if value.len() > Kind::State.bytes_max() {
            let most = Kind::State.bytes_max() / 1024;
            let why = format!("what is kept here would be longer than {most} KiB; take something out first");
            return Err(ToolError::new("state_full", why));
        }
        let ends_at_ms = Some((self.states.clock)().saturating_add(KEPT_MS));
        let (owner, topic) = (self.caller.id().to_string(), name.to_owned());
        Ok(Content { value, owner, topic, ends_at_ms, ..Content::default() })
    }
}

fn key(caller: &Caller, workspace: &str, name: &str) -> String {
    Hash::of_parts([caller.id().as_bytes(), workspace.as_bytes(), name.as_bytes()]).to_string()
}

fn unavailable(error: &StoreError) -> ToolError {
    ToolError::new(
        "state_unavailable",
        format!("what is kept for you cannot be read or changed now: {error}"),
    )
}
