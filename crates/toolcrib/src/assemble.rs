//! Puts the crates together: settings in, a gate with all its tools out. Nothing here touches the disk but
//! the workspace's folder, which is opened, and nothing waits.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use audit::Book;
use gate::{Catalog, Gate, Parts};
use sandbox::{Access, Launcher, Root};
use store::{SqliteStore, Store};

use crate::GUARD;
use crate::config::Settings;
use crate::upstreams::{Start, Upstreams};

/// Everything that serves, put together.
pub(crate) struct Crib {
    pub(crate) gate: Arc<Gate>,
    pub(crate) upstreams: Upstreams,
    book: Arc<Book>,
    store: Arc<dyn Store>,
}

/// Why the parts cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssembleError {
    /// The workspace cannot be opened.
    #[error("the workspace {path} cannot be opened: {source}; set workspace.root")]
    Workspace {
        /// Its folder.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Our own executable cannot be found.
    #[error("the program's own file cannot be found, so nothing could be started: {0}")]
    Ourselves(#[source] io::Error),
    /// Nothing can be sealed without it.
    #[error("the system gives no randomness: {0}")]
    Randomness(getrandom::Error),
}

/// Puts everything together. Must be called on the runtime, since each upstream gets a task there; `start`
/// says when they connect.
///
/// # Errors
/// If something is missing without which nothing can be served.
pub(crate) fn assemble(settings: Settings, start: Start) -> Result<Crib, AssembleError> {
    let world = world()?;
    let files = open_workspace(&settings.workspace)?.guarding(&own_files(&settings, &world));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::at(&settings.state));
    let book = Arc::new(Book::at(&settings.state, now_ms));
    let catalog = Catalog::new(tools::all(&settings.offer));
    let upstreams = Upstreams::start(settings.upstreams, &world, &catalog, &store, start);
    let (policy, rate) = (settings.policy, settings.rate);
    let parts = Parts { catalog, policy, rate, book: book.clone(), files };
    let gate = Arc::new(Gate::new(parts).map_err(AssembleError::Randomness)?);
    Ok(Crib { gate, upstreams, book, store })
}

fn open_workspace(path: &Path) -> Result<Root, AssembleError> {
    Root::open(path, Access::ReadWrite)
        .map_err(|source| AssembleError::Workspace { path: path.display().to_string(), source })
}

/// What decides about the tools, or runs with our rights, and is therefore not written by them: the
/// configuration, the state, and the programs we start, ourselves included.
fn own_files(settings: &Settings, world: &upstream::World) -> Vec<PathBuf> {
    let mut files = settings.files.clone();
    files.push(settings.state.clone());
    files.push(world.launcher.guard.clone());
    files.extend(settings.upstreams.iter().flat_map(upstream::Settings::own_files));
    files
}

/// What upstreams need of the outside world.
pub(crate) fn world() -> Result<upstream::World, AssembleError> {
    let guard = std::env::current_exe().map_err(AssembleError::Ourselves)?;
    let launcher = Launcher { guard, guard_args: vec![GUARD.to_owned()] };
    Ok(upstream::World { launcher, client: sandbox::Client::new(), ourselves: server::OURSELVES })
}

/// The time in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Crib {
    /// Ends the upstreams, then closes the book. The doors must be closed by now.
    pub(crate) async fn close(self) {
        self.upstreams.end().await;
        // Nothing else is left to run, so the disk may be waited for here.
        if let Err(error) = self.book.anchor(&*self.store) {
            tracing::error!(%error, "the audit book could not be closed");
        }
    }
}
