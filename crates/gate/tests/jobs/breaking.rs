//! A store of jobs that can be broken and mended, as when the disk is full or the database is gone, and that can be slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use store::{
    Body, Enqueued, EventRow, JobChange, JobQuery, JobRow, JobStore, Kept, NewJob, Reply, Room, SqliteJobs,
    StoreError,
};
use tokio::sync::Mutex;

pub(crate) struct Breaking {
    pub(crate) jobs: SqliteJobs,
    pub(crate) is_broken: Arc<AtomicBool>,
    /// How often it could not be used.
    pub(crate) failures: Arc<AtomicU32>,
    /// The next use of the function of this name fails so.
    pub(crate) fails_next: Arc<std::sync::Mutex<Option<(&'static str, StoreError)>>>,
    /// Who holds it has what is done be heard of later.
    pub(crate) is_slow: Arc<Mutex<()>>,
}

macro_rules! unless_broken {
    ($(fn $name:ident($($arg:ident: $kind:ty),*) -> $gives:ty;)*) => {
        impl JobStore for Breaking {
            fn may_have_jobs(&self) -> bool {
                self.jobs.may_have_jobs()
            }

            fn losses(&self) -> u64 {
                self.jobs.losses()
            }

            $(fn $name(&self, $($arg: $kind),*) -> Reply<'_, $gives> {
                if self.is_broken.load(Ordering::SeqCst) {
                    self.failures.fetch_add(1, Ordering::SeqCst);
                    return Box::pin(async { Err(StoreError::NoSpace) });
                }
                let fails = self.fails_next.lock().unwrap().take_if(|(name, _)| *name == stringify!($name));
                if let Some((_, error)) = fails {
                    self.failures.fetch_add(1, Ordering::SeqCst);
                    return Box::pin(async { Err(error) });
                }
                let done = self.jobs.$name($($arg),*);
                if stringify!($name) != "enqueue" {
                    return done;
                }
                Box::pin(async move {
                    let done = done.await;
                    drop(self.is_slow.lock().await);
                    done
                })
            })*
        }
    };
}

unless_broken! {
    fn enqueue(job: NewJob, room: Room) -> Enqueued;
    fn change(change: JobChange) -> Option<u64>;
    fn append(id: &str, events: Vec<EventRow>, about: Option<Vec<u8>>) -> ();
    fn wish(id: &str, wish: Option<&str>) -> bool;
    fn wishes() -> Vec<(String, String)>;
    fn job(id: &str) -> Option<JobRow>;
    fn jobs(query: &JobQuery) -> Vec<JobRow>;
    fn tally() -> Vec<(String, u64)>;
    fn body(id: &str, body: Body) -> Option<Vec<u8>>;
    fn events(id: &str, after: u64, limit: usize) -> Vec<EventRow>;
    fn release_ended() -> u64;
    fn lease(place: &str, states: &[&str], limit: usize) -> Vec<JobRow>;
    fn expire(by_ms: i64, kept: Kept) -> u64;
    fn forget(id: &str) -> bool;
}
