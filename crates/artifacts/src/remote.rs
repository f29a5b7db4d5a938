//! `Remote`: the objects of a bucket, for threads that may wait. One thread of its own, with a runtime, asks the store; it
//! starts with the first question, and ends with this.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::{Method, StatusCode};
use rusty_s3::S3Action as _;
use sandbox::Client;
use store::wait;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::bucket::Bucket;
use crate::draft::Whole;
use crate::error::ArtifactError;
use crate::objects::Objects;
use crate::request::{Answer, Asked, SIGNED_FOR, unavailable};
use crate::upload;

/// Uploads at once, each of which holds one part in memory.
const UPLOADS_AT_ONCE: usize = 4;

/// How long an upload waits for its turn.
const TURN_MAX: Duration = Duration::from_secs(60);

/// The objects of one bucket.
pub(crate) struct Remote {
    objects: Arc<Objects>,
    /// Whose turn it is to upload.
    turns: Arc<Semaphore>,
    thread: OnceLock<Thread>,
}

struct Thread {
    runtime: Handle,
    /// The thread ends when this is dropped.
    _ends: oneshot::Sender<()>,
}

impl Thread {
    fn start() -> io::Result<Thread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel();
        // It is only ever dropped, which is an error to whoever waits.
        let run = move || drop(runtime.block_on(ended) as Result<(), _>);
        thread::Builder::new().name("toolcrib-bucket".to_owned()).spawn(run)?;
        Ok(Thread { runtime: handle, _ends: ends })
    }
}

impl Remote {
    pub(crate) fn new(at: Bucket) -> Remote {
        let objects = Arc::new(Objects { client: Client::new(), at });
        Remote { objects, turns: Arc::new(Semaphore::new(UPLOADS_AT_ONCE)), thread: OnceLock::new() }
    }

    /// Keeps a content under its hash.
    pub(crate) fn put(&self, whole: &Whole) -> Result<(), ArtifactError> {
        let (whole, turns) = (whole.clone(), self.turns.clone());
        self.asking(async move |objects| {
            let busy = |_| unavailable("it is busy with other uploads".to_owned());
            let _turn = timeout(TURN_MAX, turns.acquire()).await.map_err(busy)?;
            upload::put(&objects, &whole).await
        })
    }

    /// Whether there is this content, of so many bytes.
    pub(crate) fn has(&self, sha256: &str, bytes: u64) -> Result<bool, ArtifactError> {
        let key = self.objects.at.key_of(sha256);
        self.asking(async move |objects| {
            let url = objects.at.bucket.head_object(Some(objects.keys()?), &key).sign(SIGNED_FOR);
            let answer = Asked::of(Method::HEAD, url).by(&objects.client).await?;
            if answer.status == StatusCode::NOT_FOUND {
                return Ok(false);
            }
            let answer = answer.good()?;
            let length = answer.headers.get(CONTENT_LENGTH).and_then(|text| text.to_str().ok());
            Ok(length.and_then(|text| text.parse().ok()) == Some(bytes))
        })
    }

    /// The bytes from one to before another.
    pub(crate) fn read(&self, sha256: &str, from: u64, to: u64) -> Result<Answer, ArtifactError> {
        let key = self.objects.at.key_of(sha256);
        self.asking(async move |objects| {
            let url = objects.at.bucket.get_object(Some(objects.keys()?), &key).sign(SIGNED_FOR);
            let answer = Asked::of(Method::GET, url).part(from, to).by(&objects.client).await?.good()?;
            match answer.body.len() as u64 == to - from {
                true => Ok(answer),
                false => Err(unavailable("it gives another range than it was asked for".to_owned())),
            }
        })
    }

    /// Removes a content. What is not there is removed.
    pub(crate) fn remove(&self, sha256: &str) -> Result<(), ArtifactError> {
        let key = self.objects.at.key_of(sha256);
        self.asking(async move |objects| {
            let url = objects.at.bucket.delete_object(Some(objects.keys()?), &key).sign(SIGNED_FOR);
            let answer = Asked::of(Method::DELETE, url).by(&objects.client).await?;
            if answer.status == StatusCode::NOT_FOUND { Ok(()) } else { answer.good().map(drop) }
        })
    }

    /// Has the thread do it, and waits.
    fn asking<T: Send + 'static, F: Future<Output = Result<T, ArtifactError>> + Send + 'static>(
        &self,
        ask: impl FnOnce(Arc<Objects>) -> F,
    ) -> Result<T, ArtifactError> {
        let thread = match self.thread.get() {
            Some(thread) => thread,
            None => {
                let started = Thread::start()?;
                self.thread.get_or_init(|| started)
            }
        };
        let asked = thread.runtime.spawn(ask(self.objects.clone()));
        wait(asked).unwrap_or_else(|_| Err(unavailable("this program ends".to_owned())))
    }
}
