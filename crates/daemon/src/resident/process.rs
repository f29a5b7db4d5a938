//! The process itself: it takes in fronts until nobody has needed it for a while, it is asked to stop, or another build has
//! taken its place and its last client has left.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rustix::fs::{Mode, OFlags};
use server::unix::{self, BindError, Socket};
use terminal::signals::{Hangups, Signals, outlive_large_files};
use terminal::{Ending, Trouble, open_files, print, runtime};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::attached::attached;
use super::entering::{Greet, Resident};
use super::words::ToFront;
use crate::build::Build;
use crate::control::{Control, Desk, Folder, Opening, json_line};

/// Most fronts at once. Beyond it new ones wait in the system's queue, and serve by themselves in the end.
const FRONTS_MAX: usize = 1_000;

/// How long fronts may take to end once the process does; each of their doors has a shorter bound of its own.
const FRONTS_END_MAX: Duration = Duration::from_secs(5);

/// The pause before another try when nobody can be taken in.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The name of the socket at which the process of a build listens, in `STATE/run`.
pub fn socket_name(build: &Build) -> String {
    format!("build-{}.sock", build.name())
}

/// Runs the process to its end. Its standard input is the connection of the front that starts it, its standard output a
/// lock that others wait for who would start one, too.
pub fn main(mut words: impl Iterator<Item = OsString>, greet: Greet) -> ExitCode {
    let begun = words.next().map(PathBuf::from).ok_or_else(|| io::Error::other("no state folder was named"));
    let ran = begun.and_then(|state| Ok((state, take_streams()?))).map_err(Trouble::from);
    outlive_large_files();
    let ran = ran.and_then(|(state, streams)| runtime::run(run(state, streams, greet))?);
    match ran {
        Ok(()) => Ending::Good.into(),
        Err(trouble) => {
            print::remark(&trouble.to_string());
            trouble.ending().into()
        }
    }
}

/// Leaves the session of whoever started us, and takes what stands in place of the standard streams.
fn take_streams() -> io::Result<[OwnedFd; 2]> {
    rustix::process::setsid()?;
    let taken = [rustix::stdio::stdin(), rustix::stdio::stdout()];
    let taken =
        [rustix::io::fcntl_dupfd_cloexec(taken[0], 3)?, rustix::io::fcntl_dupfd_cloexec(taken[1], 3)?];
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(taken)
}

async fn run(state: PathBuf, [connection, lock]: [OwnedFd; 2], greet: Greet) -> Result<(), Trouble> {
    let connection = std::os::unix::net::UnixStream::from(connection);
    connection.set_nonblocking(true)?;
    let mut first = UnixStream::from_std(connection)?;
    let (build, folder) = (Build::own()?, Folder::make(&state)?);
    let socket = match unix::bind(&folder.path(&socket_name(&build))).await {
        Ok(socket) => socket,
        Err(BindError::InUse(_)) => return Ok(tell(&mut first, &ToFront::Elsewhere).await?),
        Err(other) => {
            let why = Trouble::because(other).to_string();
            return Ok(tell(&mut first, &ToFront::Unable(why)).await?);
        }
    };
    // Whoever waits finds us from now on.
    drop(lock);
    open_files::raise_limit();
    let (signals, mut hangups) = (Signals::listen()?, Hangups::listen()?);
    let resident = Arc::new(Resident::new(state, folder, greet));
    let (workspaces, stopping) = (resident.workspaces.clone(), resident.stopping.clone());
    let desk = Desk::of_many(move || workspaces.seats(), stopping.clone());
    let control = Control::open(&resident.state, desk, Opening::AtOnce).await;
    let stop = async {
        tokio::select! {
            () = signals.stop() => stopping.cancel(),
            () = stopping.cancelled() => {}
        }
    };
    let reload = async {
        loop {
            hangups.next().await;
            // How it went is in the log.
            join_all(resident.workspaces.seats().iter().map(|seat| seat.reloader.reload())).await;
        }
    };
    let mut fronts = JoinSet::new();
    fronts.spawn(attached(resident.clone(), first));
    tokio::select! {
        () = stop => {}
        () = reload => {}
        () = serve(&resident, &socket, &mut fronts, &build) => {}
    }
    // Who comes now starts another process.
    drop(socket);
    resident.stopping.cancel();
    let ended = async { while fronts.join_next().await.is_some() {} };
    let _ = timeout(FRONTS_END_MAX, ended).await;
    fronts.shutdown().await;
    resident.close().await;
    control.close().await;
    Ok(())
}

/// The only word to a front that is served elsewhere.
async fn tell(front: &mut UnixStream, last: &ToFront) -> io::Result<()> {
    front.write_all(&json_line(last)).await
}

/// Takes in fronts until nobody needs the process any more.
async fn serve(resident: &Arc<Resident>, socket: &Socket, fronts: &mut JoinSet<()>, build: &Build) {
    let mut closing = JoinSet::new();
    loop {
        let (idle, next) = resident.workspaces.take_idle();
        idle.into_iter().for_each(|one| drop(closing.spawn(async move { one.close().await })));
        let is_over = build.is_exchanged() && !resident.workspaces.are_busy();
        let is_left = fronts.is_empty() && (resident.workspaces.is_empty() || is_over);
        if is_left && closing.is_empty() {
            return;
        }
        tokio::select! {
            accepted = socket.accept(), if fronts.len() < FRONTS_MAX => match accepted {
                Ok(stream) => drop(fronts.spawn(attached(resident.clone(), stream))),
                // Out of descriptors, most likely: those that end free some.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = fronts.join_next(), if !fronts.is_empty() => {}
            Some(_) = closing.join_next(), if !closing.is_empty() => {}
            () = resident.workspaces.left() => {}
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
    }
}
