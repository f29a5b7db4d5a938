//! `SelfTest`: has the sandbox tried by attempts to escape when a program is first confined after a boot, an upgrade or a
//! change of user. The outcome is remembered in the state folder and noted in the audit log, once for all processes.
//!
//! The first program does not wait for it. It runs on a thread of its own, a moment later. If an attempt succeeds, nothing is
//! started confined any more by any process of the folder; a process that finds such an outcome tries again first. A test
//! that could not be made, or only in part, is not remembered, and keeps nothing from running.

mod noted;
mod remembered;

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, thread};

use audit::AuditLog;
use futures_util::future::BoxFuture;
use gate::Cancel;
use sandbox::confine::{ConfineError, Confiner, Layer, Profile, Tested, Trial, Unavailable, self_test};
use store::{Store, StoreError};
use terminal::times::now_ms;
use terminal::{Trouble, runtime};
use tokio::sync::{OnceCell, oneshot};
use tokio::time::sleep;

use crate::own_program::{PROBE, SPAWNER, confinement};

use remembered::remember;
pub use remembered::{HoldsFor, Remembered, recall};

/// A server that has just been started wants the processor for itself.
const PAUSE: Duration = Duration::from_secs(1);

/// What one process at a time has while it tries.
const LEASE: &str = "sandbox-self-test";

/// A test takes a tenth of this on a busy machine. Whoever dies in the middle holds the others up no longer.
const LEASE_MS: i64 = 30_000;

/// How often, and how many times, a process looks whether another one has made the test: until its lease has ended, and more.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOKS_MAX: u32 = 40;

/// Makes all attempts.
type Try = Box<dyn Fn() -> BoxFuture<'static, Result<Tested, ConfineError>> + Send + Sync>;

/// Has the sandbox tried for one process. Copies share it.
#[derive(Clone)]
pub struct SelfTest(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    audit_log: Arc<AuditLog>,
    waived: Vec<Layer>,
    attempt: Try,
    pause: Duration,
    /// Whether a test that holds for here and now is known, once the first program was to start.
    is_known: OnceCell<bool>,
    /// Why nothing starts any more.
    distrust: OnceLock<Unavailable>,
    is_begun: AtomicBool,
    ending: Cancel,
    /// Of a test under way.
    under_way: Mutex<Option<oneshot::Receiver<bool>>>,
}

impl SelfTest {
    /// Nothing is tried before a program was started.
    ///
    /// # Errors
    /// Our own program cannot be found.
    pub fn new(
        store: Arc<dyn Store>,
        audit_log: Arc<AuditLog>,
        waived: Vec<Layer>,
    ) -> Result<SelfTest, Trouble> {
        let (spawner, probe, layers) = (confinement(SPAWNER)?, confinement(PROBE)?, waived.clone());
        let attempt: Try = Box::new(move || {
            let (confiner, probe, layers) =
                (Confiner::new(spawner.clone()).without_pool(), probe.clone(), layers.clone());
            Box::pin(async move {
                let tested = self_test(&confiner, &probe, Profile::write(), &layers).await;
                confiner.end();
                tested
            })
        });
        Ok(SelfTest::with(store, audit_log, waived, attempt, PAUSE))
    }

    fn with(
        store: Arc<dyn Store>,
        audit_log: Arc<AuditLog>,
        waived: Vec<Layer>,
        attempt: Try,
        pause: Duration,
    ) -> SelfTest {
        SelfTest(Arc::new(Inner {
            store,
            audit_log,
            waived,
            attempt,
            pause,
            is_known: OnceCell::new(),
            distrust: OnceLock::new(),
            is_begun: AtomicBool::new(false),
            ending: Cancel::new(),
            under_way: Mutex::default(),
        }))
    }

    /// What starts programs confined, and has the sandbox tried by this.
    ///
    /// # Errors
    /// Our own program cannot be found.
    pub fn confiner(&self) -> Result<Confiner, Trouble> {
        Ok(Confiner::new(confinement(SPAWNER)?).tried_by(Arc::new(self.clone())))
    }

    /// Gives up a test under way, and waits until nothing is left of it. None begins any more.
    pub async fn end(&self) {
        self.0.is_begun.store(true, Ordering::Relaxed);
        self.0.ending.cancel();
        self.made().await;
    }

    /// Waits until a test under way is made.
    pub async fn made(&self) {
        let under_way = self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(under_way) = under_way {
            // What came of it is known elsewhere.
            let _ = under_way.await;
        }
    }

    /// Before the first start: whether the last test is good for here and now. What had got out then is tried again before
    /// anything runs.
    async fn look(&self) -> bool {
        match self.0.recalled().await {
            Ok(Some(test)) if test.escaped.is_empty() => true,
            Ok(Some(test)) => {
                let is_held = self.begin(Duration::ZERO, Some(test.clone())).await;
                if is_held != Ok(true) {
                    self.0.take(&test);
                }
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(%error, "what is remembered of the last test of the sandbox cannot be read");
                false
            }
        }
    }

    /// Makes a test on a thread of its own. True comes back if all was held; nothing if it could not be made.
    fn begin(&self, pause: Duration, before: Option<Remembered>) -> oneshot::Receiver<bool> {
        let (inner, (made, under_way)) = (self.0.clone(), oneshot::channel());
        let work = move || {
            let trying = async {
                tokio::select! {
                    biased;
                    () = inner.ending.cancelled() => false,
                    is_held = inner.settle(pause, before.as_ref()) => is_held,
                }
            };
            match runtime::run(trying) {
                // Nobody waits for it, as a rule.
                Ok(is_held) => _ = made.send(is_held),
                Err(error) => tracing::warn!(%error, "the sandbox could not be tried"),
            }
        };
        if let Err(error) = thread::Builder::new().name("self-test".to_owned()).spawn(work) {
            tracing::warn!(%error, "the sandbox could not be tried");
        }
        under_way
    }
}

impl Trial for SelfTest {
    fn admit(&self) -> Pin<Box<dyn Future<Output = Result<(), Unavailable>> + Send + '_>> {
        Box::pin(async {
            self.0.is_known.get_or_init(|| self.look()).await;
            self.0.distrust.get().map_or(Ok(()), |distrust| Err(distrust.clone()))
        })
    }

    fn started(&self) {
        if self.0.is_known.get() == Some(&false) && !self.0.is_begun.swap(true, Ordering::Relaxed) {
            let under_way = self.begin(self.0.pause, None);
            *self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner) = Some(under_way);
        }
    }
}

impl fmt::Debug for SelfTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelfTest").field("distrust", &self.0.distrust).finish_non_exhaustive()
    }
}

impl Inner {
    /// What is remembered, if it holds for here and now.
    async fn recalled(&self) -> Result<Option<Remembered>, StoreError> {
        let (test, here) = (recall(&*self.store).await?, HoldsFor::here(&self.waived));
        Ok(test.filter(|test| here.as_ref() == Some(&test.at)))
    }

    /// Waits for what another process finds out, or finds it out. True if all was held.
    async fn settle(&self, pause: Duration, before: Option<&Remembered>) -> bool {
        sleep(pause).await;
        let holder = format!("{} {}", std::process::id(), now_ms());
        for _ in 0..LOOKS_MAX {
            match self.found(&holder, before).await {
                Ok(Some(is_held)) => return is_held,
                Ok(None) => sleep(LOOK_EVERY).await,
                Err(error) => {
                    tracing::warn!(%error, "the sandbox was not tried, since nothing can be remembered of it");
                    return false;
                }
            }
        }
        tracing::warn!("the sandbox was not tried: other processes have been about to do it for too long");
        false
    }

    /// Nothing while another process tries.
    async fn found(&self, holder: &str, before: Option<&Remembered>) -> Result<Option<bool>, StoreError> {
        if let Some(test) = self.news(before).await? {
            return Ok(Some(self.take(&test)));
        }
        let now_ms = now_ms();
        if !self.store.acquire(LEASE, holder, now_ms, now_ms + LEASE_MS).await? {
            return Ok(None);
        }
        // Whoever had it may have ended since we looked.
        let is_held = match self.news(before).await? {
            Some(test) => self.take(&test),
            None => self.make().await,
        };
        self.store.release(LEASE, holder).await?;
        Ok(Some(is_held))
    }

    /// What is remembered, unless it is the test that is made again.
    async fn news(&self, before: Option<&Remembered>) -> Result<Option<Remembered>, StoreError> {
        Ok(self.recalled().await?.filter(|test| Some(test) != before))
    }

    async fn make(&self) -> bool {
        let made_at_ms = now_ms();
        let tested = match (self.attempt)().await {
            Ok(tested) => tested,
            Err(error) => {
                tracing::warn!(%error, "the sandbox could not be tried");
                return false;
            }
        };
        let (escaped, untried) = (tested.escaped(), tested.untried());
        if escaped.is_empty() && !untried.is_empty() {
            tracing::warn!(?untried, "the sandbox could not be tried as a whole");
            return false;
        }
        let Some(at) = HoldsFor::here(&self.waived) else { return false };
        let event = noted::event(made_at_ms, &at, &tested);
        if let Err(error) = self.audit_log.note(event) {
            tracing::warn!(%error, "that the sandbox was tried could not be noted in the audit log");
        }
        let escaped = escaped.into_iter().map(str::to_owned).collect();
        let test = Remembered { at, made_at_ms, attempts: tested.attempts.len(), escaped };
        if let Err(error) = remember(&*self.store, &test).await {
            tracing::warn!(%error, "that the sandbox was tried could not be remembered");
        }
        self.take(&test)
    }

    /// Goes by a test from now on. True if all was held.
    fn take(&self, test: &Remembered) -> bool {
        if test.escaped.is_empty() {
            return true;
        }
        let why = format!("when it was tried, a program got out by {}", test.escaped.join(", "));
        tracing::error!("{why}: {}", Layer::SelfTest.fix());
        // Whoever was first says the same.
        let _ = self.distrust.set(Unavailable { layer: Layer::SelfTest, why });
        false
    }
}
