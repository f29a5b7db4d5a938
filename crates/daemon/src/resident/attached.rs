//! One front and its client, from the first line to the last.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use gate::Cancel;
use sandbox::{Machine, Process, Processes as _, peer};
use server::stdio::{self, HandedOver};
use terminal::{Ending, Trouble};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use wire::Lines;

use super::entering::{Entered, Resident, unusable};
use super::hand_over;
use super::listeners::{FRAMES_WAITING_MAX, in_workspace};
use super::words::{Door, FromFront, LINE_BYTES_MAX, Place, ToFront};
use crate::control::{is_ours, json_line, next_line};
use crate::http_door::HttpDoor;
use crate::upstreams::Start;

/// Where clients come in that were handed over, for those who ask.
const STDIO: &str = "stdio";

/// The same for who only leaves a job.
const JOBS: &str = "jobs";

/// A front says what it wants within this time, and goes once it may.
const SAY_MAX: Duration = Duration::from_secs(10);

/// Who does not take the last line within this time is not listening.
const LAST_MAX: Duration = Duration::from_secs(2);

/// A front.
struct Front {
    process: Process,
    reader: OwnedReadHalf,
    lines: Lines,
    frames: mpsc::Sender<ToFront>,
}

/// Serves the client of whoever has connected, if that is a front of the same user.
pub(super) async fn attached(resident: Arc<Resident>, stream: UnixStream) {
    let Some(process) = peer(&stream).filter(|_| is_ours(&stream)) else { return };
    let Ok(Ok((bytes, descriptors))) = timeout(SAY_MAX, hand_over::receive(&stream)).await else { return };
    let (reader, writer) = stream.into_split();
    let (frames, waiting) = mpsc::channel(FRAMES_WAITING_MAX);
    let mut lines = Lines::new(LINE_BYTES_MAX);
    lines.feed(&bytes);
    let mut front = Front { process, reader, lines, frames };
    let mut writing = JoinSet::new();
    writing.spawn(write(writer, waiting));
    let last = front.serve(&resident, descriptors).await;
    // What comes before it is written first. A front that has gone hears nothing.
    let _ = timeout(LAST_MAX, async {
        if let Some(last) = last {
            let _ = front.frames.send(last).await;
        }
        drop(front);
        while writing.join_next().await.is_some() {}
    })
    .await;
}

/// Writes what a front is told until nobody tells it more, or it has gone.
async fn write(mut writer: OwnedWriteHalf, mut waiting: mpsc::Receiver<ToFront>) {
    while let Some(frame) = waiting.recv().await {
        if writer.write_all(&json_line(&frame)).await.is_err() {
            return;
        }
    }
}

impl Front {
    /// What it says next; nothing once it has gone, or says what is none of these.
    async fn hear(&mut self) -> Option<FromFront> {
        let line = next_line(&mut self.reader, &mut self.lines).await.ok()??;
        serde_json::from_slice(&line).ok()
    }

    async fn hear_soon(&mut self) -> Option<FromFront> {
        timeout(SAY_MAX, self.hear()).await.ok()?
    }

    /// Does what it has come for. Gives the last word; nothing if it has gone.
    async fn serve(&mut self, resident: &Arc<Resident>, descriptors: Vec<OwnedFd>) -> Option<ToFront> {
        let FromFront::Attach { door, place } = self.hear_soon().await? else { return None };
        let served = match (door, <[OwnedFd; 2]>::try_from(descriptors)) {
            (Door::Stdio, Ok(ends)) => self.stdio(resident, place, ends).await,
            (Door::Stdio, Err(_)) => Err(ToFront::Unable("its standard streams did not come".to_owned())),
            (Door::Http, _) => self.http(resident, place).await,
            (Door::Jobs, _) => self.jobs(resident, place).await,
        };
        match served {
            Ok(is_there) => is_there.then_some(ToFront::Done),
            Err(last) => Some(last),
        }
    }

    /// Tells the front to go; false if it does not, and serves its client by itself.
    async fn goes(&mut self) -> bool {
        self.frames.send(ToFront::Ready).await.is_ok() && self.hear_soon().await == Some(FromFront::Go)
    }

    async fn stdio(
        &mut self,
        resident: &Arc<Resident>,
        place: Place,
        [stdin, stdout]: [OwnedFd; 2],
    ) -> Result<bool, ToFront> {
        let loaded = resident.read(&place).await?;
        let Entered { workspace, greeting } = resident.enter(place, loaded, STDIO, Start::WhenWanted).await?;
        let noted = Note::of(resident, self.process.pid)?;
        if !self.goes().await {
            return Ok(false);
        }
        let _listening = resident.listeners.add(Some(workspace.number), self.frames.clone());
        let parent = Machine.process(self.process.parent);
        let from = [self.process].into_iter().chain(parent).collect();
        let (client, stopping) = (HandedOver { stdin, stdout, from }, Cancel::new());
        let serving = stdio::serve_handed_over(&workspace.server, client, greeting, stopping.clone());
        let serving = in_workspace(workspace.number, serving);
        let served = tokio::select! {
            served = serving => served,
            never = self.carry(resident, &workspace.reloader, &stopping) => match never {},
        };
        drop(noted);
        served.map_err(failed).map(|()| true)
    }

    async fn http(&mut self, resident: &Arc<Resident>, place: Place) -> Result<bool, ToFront> {
        let loaded = resident.read(&place).await?;
        let unusable = |trouble: Trouble| unusable(&trouble);
        let door = HttpDoor::bind(&loaded.settings).await.map_err(unusable)?;
        let announcement = door.announcement(&loaded).await.map_err(unusable)?;
        let entered = resident.enter(place, loaded, &announcement.url, Start::AtOnce).await?;
        if !self.goes().await {
            return Ok(false);
        }
        let _listening = resident.listeners.add(None, self.frames.clone());
        let frames = self.frames.clone();
        announcement.say(|url, text| {
            drop(frames.try_send(ToFront::Serving { url: url.to_owned(), banner: text.to_owned() }));
        });
        let (workspace, stopping) = (&entered.workspace, Cancel::new());
        let serving = in_workspace(workspace.number, door.serve(&workspace.reloader, &stopping));
        tokio::select! {
            () = serving => {}
            never = self.carry(resident, &workspace.reloader, &stopping) => match never {},
        }
        Ok(true)
    }

    /// Has the jobs run that wait in its folder. The workspace is in use as long as there are some.
    async fn jobs(&mut self, resident: &Arc<Resident>, place: Place) -> Result<bool, ToFront> {
        let loaded = resident.read(&place).await?;
        let Entered { workspace, .. } = resident.enter(place, loaded, JOBS, Start::WhenWanted).await?;
        workspace.reloader.crib().shared.jobs.look().await;
        Ok(self.goes().await)
    }

    /// Carries what the front says to its client's door, and that the process is to end, for as long as it is asked to.
    async fn carry(
        &mut self,
        resident: &Resident,
        reloader: &crate::control::Reloader,
        stopping: &Cancel,
    ) -> std::convert::Infallible {
        loop {
            let said = tokio::select! {
                said = self.hear() => said,
                () = resident.stopping.cancelled() => None,
            };
            match said {
                // How it went is in the log.
                Some(FromFront::Reload) => drop(reloader.reload().await),
                Some(FromFront::Attach { .. } | FromFront::Go) => {}
                Some(FromFront::Stop) | None => {
                    stopping.cancel();
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

fn failed(error: io::Error) -> ToFront {
    ToFront::Refused(format!("standard input or output failed: {error}"), Ending::Failed.code())
}

/// Others know by it whose client is served here. Removed when it is dropped.
struct Note<'a> {
    resident: &'a Resident,
    pid: u32,
}

impl Note<'_> {
    fn of(resident: &Resident, pid: u32) -> Result<Note<'_>, ToFront> {
        match resident.folder.note_front(pid) {
            Ok(()) => Ok(Note { resident, pid }),
            // A person could not be told from a tool of this client.
            Err(error) => Err(ToFront::Unable(format!("it cannot be noted in the state folder: {error}"))),
        }
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        self.resident.folder.remove_note(self.pid);
    }
}
