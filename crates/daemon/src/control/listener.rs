//! The listening side: taking in whoever asks, a few at a time, and never in the way of serving.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use admin::Refused;
use rustix::process::geteuid;
use server::unix::{self, BindError, Socket};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::desk::Desk;
use super::folder::Folder;
use super::line::Talk;
use super::words::{Answer, REQUEST_BYTES_MAX};

/// Who asks at once; more are told to come again.
const CLIENTS_MAX: usize = 32;

/// Whoever connects says what they want within this time.
const REQUEST_MAX: Duration = Duration::from_secs(2);

/// The pause before another try when nobody can be taken in.
const ACCEPT_PAUSE: Duration = Duration::from_secs(5);

/// A client that starts a disposable process and ends it has its answers by then: it must not pay for a socket.
const DISPOSABLE: Duration = Duration::from_millis(100);

/// What is said to one too many.
const BUSY: &[u8] = b"{\"error\":\"too many others ask at the same time; try again\"}\n";

/// Listens as long as it lives.
pub struct Control {
    tasks: JoinSet<()>,
}

/// When a process begins to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Before anything else happens.
    AtOnce,
    /// A moment later.
    Later,
}

impl Control {
    /// Begins to listen below the state folder. That it cannot is a warning: the process serves all the same.
    pub async fn open(state: &Path, desk: Arc<Desk>, opening: Opening) -> Control {
        let mut tasks = JoinSet::new();
        match opening {
            Opening::AtOnce => {
                if let Some(bound) = Bound::at(state).await {
                    tasks.spawn(bound.serve(desk));
                }
            }
            Opening::Later => {
                let state = state.to_owned();
                tasks.spawn(async move {
                    sleep(DISPOSABLE).await;
                    if let Some(bound) = Bound::at(&state).await {
                        bound.serve(desk).await;
                    }
                });
            }
        }
        Control { tasks }
    }

    /// Stops listening, and removes the socket.
    pub async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

/// A socket, and the folder that its path goes through. The socket comes first: it is removed by that path.
struct Bound {
    socket: Socket,
    folder: Folder,
}

impl Bound {
    async fn at(state: &Path) -> Option<Bound> {
        let bind = async {
            let folder = Folder::make(state).map_err(|error| error.to_string())?;
            match unix::bind(&folder.socket(std::process::id())).await {
                Ok(socket) => Ok(Bound { socket, folder }),
                Err(BindError::Other(_, error)) => Err(error.to_string()),
                Err(BindError::InUse(_) | BindError::NoSocket(_)) => {
                    Err("something else has taken its socket".to_owned())
                }
            }
        };
        let warn = |why: &String| {
            tracing::warn!(
                why,
                "other commands cannot reach this process: `mcp status` and `mcp reload` will not see it"
            );
        };
        bind.await.inspect_err(warn).ok()
    }

    /// Answers whoever asks, until it is dropped.
    async fn serve(self, desk: Arc<Desk>) {
        // Whoever changed something since the start could not reach us.
        desk.catch_up().await;
        self.folder.sweep().await;
        let mut clients = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                Some(_) = clients.join_next(), if !clients.is_empty() => continue,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok(stream) if !is_ours(&stream) => {}
                Ok(stream) if clients.len() >= CLIENTS_MAX => {
                    // Whether it is heard or not, the client sees the end.
                    let _ = stream.try_write(BUSY);
                }
                Ok(stream) => {
                    let talk = Talk::new(stream, REQUEST_BYTES_MAX);
                    clients.spawn(client(talk, desk.clone()));
                }
                // Out of descriptors, most likely: the doors need those that come free more than we do.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

/// The folder keeps everybody else out; this is the second lock.
pub fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Hears what one client wants and answers. Whatever is no request ends the connection without a trace.
async fn client(mut talk: Talk, desk: Arc<Desk>) {
    let Ok(Ok(Some(line))) = timeout(REQUEST_MAX, talk.hear()).await else { return };
    let answer = match serde_json::from_slice(&line) {
        Ok(request) => desk.answer(request).await,
        Err(_) => {
            let why = "this is none of the questions that it knows";
            vec![Answer::Refused(Refused::Because(why.to_owned()))]
        }
    };
    // If the client has gone away, that is its business.
    let _ = talk.say(&answer).await;
}
