//! The small front: it hands its client over to the user's one process, starts that if it is not there, and stays to carry
//! the client's end and signals, and to show the log.

mod reach;

use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;

use config::{Loaded, Sections, Settings, Surroundings};
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use rustix::fs::{Mode, OFlags};
use terminal::signals::{Hangup, Hangups, Signals};
use terminal::{Ending, Trouble, log};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::time::timeout;
use wire::Lines;

use crate::control::{Reloader, json_line, next_line};
use crate::http_door::print_address;
use crate::resident::{Door, FromFront, LINE_BYTES_MAX, Place, ToFront, send};
pub use reach::Alone;
use reach::Starting;

/// How long the process may take to read the configuration and to answer. A keyring may ask its owner something meanwhile;
/// then the front serves by itself.
const READY_MAX: Duration = Duration::from_secs(10);

/// How often a process may go away before it has answered, or another one be there first.
const TRIES_MAX: usize = 4;

/// A front whose client is served elsewhere.
pub struct Front {
    stream: UnixStream,
    lines: Lines,
    /// Whether the address is told as JSON, on standard output.
    pub is_json: bool,
}

/// Whether the standard streams can be handed over.
pub fn can_hand_over() -> bool {
    server::stdio::is_stream(io::stdin()) && server::stdio::is_stream(io::stdout())
}

/// Hands the client over, or has the address opened, by this configuration. Once this is done the standard streams lead
/// nowhere.
///
/// # Errors
/// Why nobody serves it, to be told, or why the front is to do that itself.
pub async fn attach(
    loaded: &Loaded,
    named: Option<PathBuf>,
    door: Door,
) -> Result<Result<Front, Alone>, Trouble> {
    Wish::of(loaded, named, door).attach().await
}

/// What is wanted of the process.
struct Wish {
    starting: Starting,
    door: Door,
    /// The line that says it.
    line: Vec<u8>,
}

impl Wish {
    /// By this configuration.
    fn of(loaded: &Loaded, named: Option<PathBuf>, door: Door) -> Wish {
        Heir::of(loaded, named).wish(loaded.surroundings.clone(), &loaded.sections(), door)
    }

    /// As [`attach`].
    async fn attach(&self) -> Result<Result<Front, Alone>, Trouble> {
        let mut why = "it goes away each time".to_owned();
        for _ in 0..TRIES_MAX {
            let stream = match reach::reach(&self.starting).await {
                Ok(stream) => stream,
                Err(alone) => return Ok(Err(alone)),
            };
            let mut front = Front { stream, lines: Lines::new(LINE_BYTES_MAX), is_json: false };
            match timeout(READY_MAX, front.ask(&self.line, self.door)).await {
                Ok(Ok(Some(ToFront::Ready))) => match front.say(&FromFront::Go).await {
                    Ok(()) => return Ok(Ok(front.let_go(self.door)?)),
                    // It has not heard that it may, so nobody but us has the client.
                    Err(error) => why = error.to_string(),
                },
                Ok(Ok(Some(ToFront::Refused(said, code)))) => return Err(refused(said, code)),
                Ok(Ok(Some(ToFront::Unable(said)))) => return Ok(Err(Alone(said))),
                Ok(Ok(Some(_) | None)) => {}
                Ok(Err(error)) => why = error.to_string(),
                Err(_) => {
                    return Ok(Err(Alone(format!("it does not answer within {} s", READY_MAX.as_secs()))));
                }
            }
        }
        Ok(Err(Alone(why)))
    }
}

/// What is known from the start of whoever goes on with what a process leaves that serves by itself. Most leave nothing, so the
/// wish is made at the end.
pub struct Heir {
    named: Option<PathBuf>,
    state: PathBuf,
    workspace: PathBuf,
    /// What its servers inherit.
    inherit: Vec<String>,
}

impl Heir {
    /// By this configuration.
    pub fn of(loaded: &Loaded, named: Option<PathBuf>) -> Heir {
        let Settings { state, workspace, upstreams, .. } = &loaded.settings;
        let inherit = upstreams.iter().flat_map(upstream::Settings::inherit).cloned().collect();
        Heir { named, state: state.clone(), workspace: workspace.clone(), inherit }
    }

    /// Has the user's process run the jobs that this one leaves.
    ///
    /// # Errors
    /// As [`attach`].
    pub async fn take_over_jobs(self, reloader: &Reloader) -> Result<Result<Front, Alone>, Trouble> {
        let (surroundings, sections) = reloader.of_start();
        self.wish(surroundings.clone(), sections, Door::Jobs).attach().await
    }

    /// All that the process needs to read the same configuration, and no other variable.
    fn wish(self, surroundings: Surroundings, sections: &Sections, door: Door) -> Wish {
        let inherited = sandbox::InheritedNames::new(&self.inherit);
        let variables = surroundings.needed(|name: &str| inherited.has(name.as_ref()));
        // A folder that has been made anew is another one: who has the old one open finds nothing there any more.
        let root = rustix::fs::stat(&self.workspace).map(|found| (found.st_dev, found.st_ino));
        let start = format!("{root:?} {}", sections.of_start());
        let place = Place::of(&surroundings, self.named, variables, start);
        let line = json_line(&FromFront::Attach { door, place });
        Wish { starting: Starting::by(self.state, &surroundings), door, line }
    }
}

impl Front {
    /// What the process says next; nothing if it has gone.
    async fn hear(&mut self) -> io::Result<Option<ToFront>> {
        let Some(line) = next_line(&mut self.stream, &mut self.lines).await? else { return Ok(None) };
        serde_json::from_slice(&line).map(Some).map_err(io::Error::from)
    }

    async fn ask(&mut self, opening: &[u8], door: Door) -> io::Result<Option<ToFront>> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let ends = [stdin.as_fd(), stdout.as_fd()];
        let ends = if door == Door::Stdio { &ends[..] } else { &[] };
        let sent = send(&self.stream, opening, ends).await?;
        self.stream.write_all(&opening[sent..]).await?;
        self.hear().await
    }

    /// Lets go of the client, whom the process serves.
    fn let_go(self, door: Door) -> io::Result<Front> {
        if door == Door::Stdio {
            let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            rustix::stdio::dup2_stdin(&nothing)?;
            rustix::stdio::dup2_stdout(&nothing)?;
        }
        Ok(self)
    }

    async fn say(&mut self, said: &FromFront) -> io::Result<()> {
        self.stream.write_all(&json_line(said)).await
    }

    /// Stays until the client has been served. A first signal has that end, a second one ends this process at once. With
    /// `hangups` the process is told, too, to read the configuration again.
    ///
    /// # Errors
    /// The process died, or could not serve the client.
    pub async fn stay(mut self, signals: Signals, mut hangups: Option<Hangups>) -> Result<(), Trouble> {
        let mut stop = Box::pin(signals.stop().fuse());
        loop {
            let hangup = async {
                match &mut hangups {
                    Some(hangups) => hangups.next().await,
                    // A terminal that is gone ends a client's server by itself.
                    None => std::future::pending().await,
                }
            };
            let said = tokio::select! {
                heard = self.hear() => {
                    if show(heard.ok().flatten(), self.is_json)?.is_break() {
                        return Ok(());
                    }
                    continue;
                }
                () = &mut stop, if !stop.is_terminated() => FromFront::Stop,
                hangup = hangup => match hangup {
                    Hangup::Reload => FromFront::Reload,
                    Hangup::TerminalGone => FromFront::Stop,
                },
            };
            // One that has gone is seen at the next look.
            let _ = self.say(&said).await;
        }
    }
}

/// Shows what the process says to people; breaks once the client has been served.
///
/// # Errors
/// It died, or could not serve the client.
fn show(said: Option<ToFront>, is_json: bool) -> Result<ControlFlow<()>, Trouble> {
    match said {
        Some(ToFront::Log(line)) => log::to_stderr(&line),
        Some(ToFront::Serving { url, banner }) => print_address(is_json, &url, &banner),
        Some(ToFront::Done) => return Ok(ControlFlow::Break(())),
        Some(ToFront::Refused(said, code)) => return Err(refused(said, code)),
        Some(ToFront::Ready | ToFront::Elsewhere | ToFront::Unable(_)) | None => {
            let why = "the process that served this client has died; start the client's server again";
            return Err(Trouble::Failed(why.to_owned()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn refused(said: String, code: u8) -> Trouble {
    Trouble::Elsewhere { ending: Ending::of_code(code), said }
}
