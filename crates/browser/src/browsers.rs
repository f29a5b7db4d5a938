//! `Browsers`: those that run. One that has read a page waits a moment for the next, if nothing speaks against it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use sandbox::confine::{Confined, Confiner, Limits, Profile, Running};
use sandbox::egress::{Journal, Judge};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep};

use crate::error::BrowserError;
use crate::key::Key;
use crate::page::{Page, Visit};
use crate::program::program;
use crate::running::{Browser, Visited};
use crate::turn::Turn;

/// Browsers that work at once. Further calls wait.
const WORKING_MAX: usize = 3;

/// Calls that have a browser, or wait for one to work: those whose person is being asked as well. Each browser takes some hundred
/// MiB. Further calls wait.
const CALLS_MAX: usize = 8;

/// How long one waits for the next call of its caller.
const WAITS_MAX: Duration = Duration::from_secs(30);

/// How long one is used: what a page has done to it is over then.
const USED_MAX: Duration = Duration::from_secs(300);

/// How long one lasts at most: as long as it is used, and the longest call.
const LASTS_MAX: Duration = Duration::from_secs(600);

/// A browser that a call wants.
pub struct Wanted<'c> {
    /// For whom.
    pub key: Key,
    /// Who decides about hosts of pages that no rule names.
    pub judge: Option<Arc<dyn Judge>>,
    /// Takes what the call reaches.
    pub journal: &'c Journal,
    /// Hears what the call is given.
    pub given: &'c (dyn Fn(&Running) + Sync),
}

/// All that run. Dropping it ends the one that waits.
pub struct Browsers {
    confiner: Arc<Confiner>,
    calls: Semaphore,
    working: Arc<Semaphore>,
    waiting: Mutex<Option<Waiting>>,
}

/// A browser that waits for another call of its caller.
struct Waiting {
    key: Key,
    /// When the browser was started.
    started: Instant,
    /// When it began to wait.
    since: Instant,
    /// Gives it once the page of its last call is gone. Dropping this ends it.
    browser: JoinSet<Option<Browser>>,
}

impl Browsers {
    /// Starts none yet.
    pub fn new(confiner: Arc<Confiner>) -> Arc<Browsers> {
        let (calls, working) = (Semaphore::new(CALLS_MAX), Arc::new(Semaphore::new(WORKING_MAX)));
        Arc::new(Browsers { confiner, calls, working, waiting: Mutex::new(None) })
    }

    /// Opens an address in a browser, with nothing of earlier calls, and reads what it becomes.
    ///
    /// # Errors
    /// There is no browser, or it does not come to a page.
    pub async fn visit(self: &Arc<Self>, wanted: &Wanted<'_>, visit: &Visit) -> Result<Page, BrowserError> {
        // Nobody closes it.
        let _call = self.calls.acquire().await;
        let mut place = self.place().await;
        if let Some(browser) = self.take(&wanted.key).await {
            let visited = self.visit_by(browser, place, wanted, visit).await;
            // One that has ended while it waited: the call is made by another.
            if visited.is_begun {
                return visited.result;
            }
            place = self.place().await;
        }
        let browser = self.start(&wanted.key).await?;
        self.visit_by(browser, place, wanted, visit).await.result
    }

    /// A place among those that work.
    async fn place(&self) -> OwnedSemaphorePermit {
        self.working.clone().acquire_owned().await.expect("nobody closes it")
    }

    async fn visit_by(
        self: &Arc<Self>,
        mut browser: Browser,
        place: OwnedSemaphorePermit,
        wanted: &Wanted<'_>,
        visit: &Visit,
    ) -> Visited {
        (wanted.given)(&browser.running);
        let visited = browser.visit(visit, place, wanted.judge.clone(), wanted.journal).await;
        self.give_back(browser, visited.is_good);
        visited
    }

    /// Starts a browser for nobody's call, and says which it is. It reaches nothing, and ends.
    ///
    /// # Errors
    /// There is none, or it does not work.
    pub async fn version(&self, key: &Key) -> Result<String, BrowserError> {
        self.start(key).await?.version().await
    }

    async fn start(&self, key: &Key) -> Result<Browser, BrowserError> {
        let limits = key.profile.limits;
        let limits = Limits { time: LASTS_MAX, output_bytes: u64::MAX, ..limits };
        let profile = Profile { limits, ..key.profile };
        let turn = Arc::new(Turn::new(self.working.clone()));
        let Key { hosts, program: named, waived, company, surroundings, .. } = key.clone();
        // It looks at the disk.
        let program = spawn_blocking(move || program(named.as_deref(), profile)).await;
        let program = program.map_err(|_| BrowserError::Unreadable("it was not looked for"))??;
        let program = Confined { surroundings, company, waived, hosts, judge: Some(turn.clone()), ..program };
        let running = self.confiner.start(&program).await?;
        let browser = Browser::new(key.clone(), running, turn);
        Ok(browser.expect("it has just been started, and nobody has taken its streams"))
    }

    /// The one that waits, if it is for this. Another makes room.
    async fn take(&self, key: &Key) -> Option<Browser> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut waiting = waiting.filter(|waiting| waiting.key == *key)?;
        waiting.browser.join_next().await?.ok()?
    }

    fn give_back(self: &Arc<Self>, browser: Browser, is_good: bool) {
        if !is_good || browser.started.elapsed() > USED_MAX {
            return;
        }
        let (key, started, since) = (browser.key.clone(), browser.started, Instant::now());
        let mut resting = JoinSet::new();
        resting.spawn(browser.rested());
        let waiting = Waiting { key, started, since, browser: resting };
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        tokio::spawn(end_later(Arc::downgrade(self), started));
    }
}

/// Ends the browser that was started then, if it still waits after a while.
async fn end_later(browsers: Weak<Browsers>, started: Instant) {
    sleep(WAITS_MAX).await;
    if let Some(browsers) = browsers.upgrade() {
        let mut waiting = browsers.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.take_if(|waiting| waiting.started == started && waiting.since.elapsed() >= WAITS_MAX);
    }
}
