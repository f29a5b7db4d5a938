//! Where calls wait until the note that they are about to run would survive a power cut. A thread of its own
//! writes what has gathered and syncs it once for all of them, so nobody who answers requests waits for a
//! disk.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
};

use crate::{
    audit_log::Shared,
    error::AuditError,
    journal::{Intent, JournalMark, Until},
};

/// Calls that wait for the journal at most; more than a machine runs at once.
const WAITING_MAX: usize = 16_384;

/// It calls nothing deep.
const STACK_BYTES: usize = 256 * 1024;

/// What the callers and the thread share.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<(Intent, Arc<Answer>)>,
    /// Marks of calls that were given up before they ran.
    returned: Vec<JournalMark>,
    is_started: bool,
    is_stopping: bool,
    /// The thread sleeps until somebody rings.
    is_idle: bool,
}

/// What has gathered.
struct Orders {
    waiting: Vec<(Intent, Arc<Answer>)>,
    returned: Vec<JournalMark>,
}

/// What the thread tells one caller.
#[derive(Default)]
struct Answer(Mutex<Stage>);

#[derive(Default)]
enum Stage {
    /// Nothing yet, and nobody has asked.
    #[default]
    New,
    /// Nothing yet; wake the one who asked.
    Asked(Waker),
    /// This.
    Told(Result<JournalMark, AuditError>),
    /// The caller has it, or went away.
    Over,
}

/// Resolves once the intent is on the disk. Dropped before, the intent is taken back.
pub(crate) struct Noting<'s> {
    shared: &'s Shared,
    answer: Arc<Answer>,
}

impl Shared {
    /// Hands an intent to the thread, which is started if need be.
    pub(crate) fn note(self: &Arc<Self>, intent: Intent) -> Result<Noting<'_>, AuditError> {
        let answer = Arc::<Answer>::default();
        let mut state = self.desk.lock();
        if state.waiting.len() >= WAITING_MAX {
            return Err(AuditError::Full);
        }
        if !state.is_started {
            start(Arc::clone(self)).map_err(AuditError::journal)?;
            state.is_started = true;
        }
        state.waiting.push((intent, Arc::clone(&answer)));
        self.desk.ring(state);
        Ok(Noting { shared: self, answer })
    }
}

impl Future for Noting<'_> {
    type Output = Result<JournalMark, AuditError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.answer.lock();
        match std::mem::replace(&mut *stage, Stage::Over) {
            Stage::Told(told) => Poll::Ready(told),
            Stage::New | Stage::Asked(_) => {
                *stage = Stage::Asked(cx.waker().clone());
                Poll::Pending
            }
            Stage::Over => unreachable!("a future that is over is not asked again"),
        }
    }
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut *self.answer.lock(), Stage::Over);
        if let Stage::Told(Ok(mark)) = stage {
            self.shared.desk.take_back(mark);
        }
    }
}

impl Answer {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the caller; the mark comes back if it went away.
    fn tell(&self, told: Result<JournalMark, AuditError>) -> Option<JournalMark> {
        let mut stage = self.lock();
        let waker = match std::mem::replace(&mut *stage, Stage::Over) {
            Stage::Over => return told.ok(),
            Stage::Asked(waker) => Some(waker),
            Stage::New | Stage::Told(_) => None,
        };
        *stage = Stage::Told(told);
        drop(stage);
        waker.into_iter().for_each(Waker::wake);
        None
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::take(&mut state.is_idle) {
            drop(state);
            self.bell.notify_one();
        }
    }

    fn take_back(&self, mark: JournalMark) {
        let mut state = self.lock();
        state.returned.push(mark);
        self.ring(state);
    }

    /// Tells the thread to end.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopping = true;
        self.ring(state);
    }

    /// What is to be done; `None` means that it is time to end.
    fn take(&self) -> Option<Orders> {
        let mut state = self.lock();
        while state.waiting.is_empty() && state.returned.is_empty() {
            if state.is_stopping {
                return None;
            }
            state.is_idle = true;
            state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_idle = false;
        let (waiting, returned) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.returned));
        Some(Orders { waiting, returned })
    }
}

fn start(shared: Arc<Shared>) -> io::Result<()> {
    let builder = thread::Builder::new().name("audit-journal".to_owned()).stack_size(STACK_BYTES);
    builder.spawn(move || run(&shared))?;
    Ok(())
}

fn run(shared: &Shared) {
    while let Some(Orders { waiting, returned }) = shared.desk.take() {
        let mut journal = shared.journal();
        journal.close_calls(&returned, &*shared.pen);
        if waiting.is_empty() {
            continue;
        }
        let (intents, answers): (Vec<Intent>, Vec<Unanswered>) =
            waiting.into_iter().map(|(intent, answer)| (intent, Unanswered(Some(answer)))).unzip();
        let told = journal.open_calls(intents.into_iter(), Until::Synced, &*shared.pen);
        drop(journal);
        shared.tell_of_journal(told.as_ref().err());
        let gone: Vec<JournalMark> = match told {
            Ok(marks) => {
                answers.into_iter().zip(marks).filter_map(|(answer, mark)| answer.tell(Ok(mark))).collect()
            }
            Err(error) => answers.into_iter().filter_map(|answer| answer.tell(Err(error.clone()))).collect(),
        };
        if !gone.is_empty() {
            shared.journal().close_calls(&gone, &*shared.pen);
        }
    }
}

/// An answer that is given even if the thread ends by a defect of ours: nobody waits for ever.
struct Unanswered(Option<Arc<Answer>>);

impl Unanswered {
    fn tell(mut self, told: Result<JournalMark, AuditError>) -> Option<JournalMark> {
        self.0.take().and_then(|answer| answer.tell(told))
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(answer) = self.0.take() {
            answer.tell(Err(AuditError::Stopped));
        }
    }
}
