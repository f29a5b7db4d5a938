//! The hands of a running tool. There is no other way from a tool to the world.

use std::sync::Arc;

use bytes::Bytes;
use sandbox::Root;
use tokio_util::sync::CancellationToken;

use crate::failure::ToolError;
use crate::permit::Permit;

/// Heard by every wait of a call; a clone hears the same.
///
/// The library's token takes a lock to be cloned, for a family tree that calls do not have.
#[derive(Clone, Default)]
pub struct Cancel(Arc<CancellationToken>);

impl Cancel {
    /// Not cancelled.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Gives the call up, for good.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether the call was given up.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves once the call is given up.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

/// How far a call has come.
#[derive(Debug, Clone)]
pub enum Progress {
    /// Said by a tool of ours.
    Step {
        /// How much is done; grows with every report.
        done: f64,
        /// How much there is, if known.
        total: Option<f64>,
        /// What is happening.
        message: Option<String>,
    },
    /// Said by an upstream: the JSON text of its progress parameters, to be passed on under our token.
    Relayed(Bytes),
}

/// Where progress goes. Must return at once.
pub trait ProgressSink: Send + Sync {
    /// Passes a report on, or drops it if the listener is slow.
    fn report(&self, progress: Progress);
}

/// What one admitted call may touch.
pub struct Context {
    permit: Permit,
    files: Root,
    cancel: Cancel,
    progress: Option<Arc<dyn ProgressSink>>,
    meta: Option<Bytes>,
}

impl Context {
    /// Hands for the call that `permit` admits. `files` must already be narrowed to the tool's effect.
    pub fn new(
        permit: Permit,
        files: Root,
        cancel: Cancel,
        progress: Option<Arc<dyn ProgressSink>>,
    ) -> Context {
        Context { permit, files, cancel, progress, meta: None }
    }

    /// The same hands, with what the caller said beside the arguments (JSON text).
    #[must_use]
    pub fn with_meta(self, meta: Option<Bytes>) -> Context {
        Context { meta, ..self }
    }

    /// What the caller said beside the arguments: for passing on, not for acting on.
    pub fn meta(&self) -> Option<&str> {
        self.meta.as_deref().and_then(|text| std::str::from_utf8(text).ok())
    }

    /// The proof of admission; names the call.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// The workspace, as far as this tool may use it.
    pub fn files(&self) -> &Root {
        &self.files
    }

    /// Set when nobody waits for the result any more.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// True if somebody listens to progress.
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Reports progress, if somebody listens.
    pub fn report(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink.report(progress);
        }
    }

    /// Runs work that blocks (disk, long loops) where it holds up nobody else. The work should look at the
    /// cancel token now and then; once cancelled its result is dropped.
    pub async fn blocking<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, ToolError> + Send + 'static,
    {
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                // The gate's guard turns it into a failure of this call alone.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled()),
            },
        }
    }
}
