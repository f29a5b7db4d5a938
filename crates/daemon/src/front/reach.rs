//! Finding the user's one process, or starting it: one of several who would, while the others wait.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use config::Surroundings;
use rustix::fs::OFlags;
use sandbox::{InheritedNames, Lasting, connect_unix, start_lasting};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use crate::build::Build;
use crate::control::{Folder, is_ours};
use crate::own_program::RESIDENT;
use crate::resident::socket_name;

/// The lock of whoever starts a process.
const LOCK: &str = "start.lock";

/// How long somebody else may take to start it.
const LOCK_MAX: Duration = Duration::from_secs(5);

/// How often it is looked whether they have.
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// What libraries read that the process needs besides what every program inherits: certificates of the machine, the bus on
/// which a keyring is, and how much it logs.
const ALSO_GIVEN: [&str; 4] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "DBUS_SESSION_BUS_ADDRESS", "TOOLCRIB_LOG"];

/// Why a front is to serve by itself, in a sentence.
#[derive(Debug)]
pub struct Alone(pub String);

/// What a process is started with.
pub(super) struct Starting {
    state: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Starting {
    /// By the configuration of whoever comes first.
    pub(super) fn by(state: PathBuf, surroundings: &Surroundings) -> Starting {
        let also = ALSO_GIVEN.map(str::to_owned);
        let environment = InheritedNames::new(&also).of(&surroundings.variables);
        Starting { state, environment }
    }
}

/// Connects to the process of this build, or starts it.
///
/// # Errors
/// Why neither can be done.
pub(super) async fn reach(starting: &Starting) -> Result<UnixStream, Alone> {
    let alone = |what: &'static str| move |error: io::Error| Alone(format!("{what}: {error}"));
    let folder = Folder::make(&starting.state).map_err(alone("the state folder cannot be used"))?;
    let build = Build::own().map_err(alone("the program's own file cannot be found"))?;
    let name = socket_name(&build);
    if let Some(stream) = connect(&folder, &name).await? {
        return Ok(stream);
    }
    let lock =
        folder.file(LOCK, OFlags::empty()).map_err(alone("no file can be made in the state folder"))?;
    let lock = locked(File::from(lock)).await?;
    if let Some(stream) = connect(&folder, &name).await? {
        return Ok(stream);
    }
    start(starting, &folder, &build, lock).map_err(alone("it cannot be started"))
}

/// A connection, if somebody listens who is us.
async fn connect(folder: &Folder, name: &str) -> Result<Option<UnixStream>, Alone> {
    match connect_unix(&folder.path(name)).await {
        Ok(stream) if is_ours(&stream) => Ok(Some(stream)),
        Ok(_) => Err(Alone("its socket belongs to another user".to_owned())),
        Err(error) => match error.kind() {
            // The last one: it died with us among those who waited to be taken in.
            ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Ok(None),
            _ => Err(Alone(format!("its socket cannot be reached: {error}"))),
        },
    }
}

async fn locked(lock: File) -> Result<File, Alone> {
    let until = Instant::now() + LOCK_MAX;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // Some file systems know no locks: two may start one then, and the second finds the first.
            Err(TryLockError::Error(_)) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(Alone(format!(
                    "somebody else takes more than {} s to start it",
                    LOCK_MAX.as_secs()
                )));
            }
            Err(TryLockError::WouldBlock) => sleep(LOCK_RETRY).await,
        }
    }
}

/// Starts the process. It holds the lock until it listens, even if we are gone by then.
fn start(starting: &Starting, folder: &Folder, build: &Build, lock: File) -> io::Result<UnixStream> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let log = folder.file(&format!("build-{}.log", build.name()), OFlags::TRUNC)?;
    let streams: [OwnedFd; 3] = [theirs.into(), lock.into(), log];
    let (executable, environment) = (build.path(), &starting.environment);
    let args = [OsStr::new(RESIDENT), starting.state.as_os_str()];
    start_lasting(Lasting { executable, args: &args, environment, streams })?;
    UnixStream::from_std(ours)
}
