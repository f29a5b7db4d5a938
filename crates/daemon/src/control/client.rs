//! Asking the Toolcribs that are running.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use admin::{Answered, Refused};
use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::folder::Folder;
use super::line::Talk;
use super::words::{ANSWER_BYTES_MAX, Answer, Answers, RECONNECT_MAX, Request};

/// A process that is not stuck has said how it is doing by then.
const STATUS_MAX: Duration = Duration::from_secs(2);

/// It has done by then whatever else it is asked.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// A process that connects to a server anew answers when that is done.
const RECONNECTED_MAX: Duration = RECONNECT_MAX.saturating_add(ANSWER_MAX);

/// Has those end that serve all of a user's clients. Who serves by itself refuses.
pub async fn stop(state: &Path) -> Vec<Answered<()>> {
    ask(state, &Request::Stop).await
}

/// Asks every process, side by side. Sockets of dead ones are removed.
pub(super) async fn ask<T: DeserializeOwned>(state: &Path, request: &Request) -> Vec<Answered<T>> {
    // A folder that is not there, or not private, holds no process of ours.
    let Ok(folder) = Folder::open(state) else { return Vec::new() };
    let pids = folder.pids().unwrap_or_default();
    let asked = join_all(pids.into_iter().map(|pid| ask_one(&folder, pid, request))).await;
    asked.into_iter().flatten().flatten().collect()
}

/// Asks one process; nothing if it is dead.
async fn ask_one<T: DeserializeOwned>(
    folder: &Folder,
    pid: u32,
    request: &Request,
) -> Option<Vec<Answered<T>>> {
    let refused = |refused| Some(vec![Answered { pid, answer: Err(refused) }]);
    // One that is stuck must not be waited for as long as one that has something to do.
    if !matches!(request, Request::Status)
        && let Err(why) = exchange(folder, pid, &Request::Status).await?
    {
        return refused(why);
    }
    let answers = match exchange(folder, pid, request).await? {
        Ok(answers) => answers,
        Err(why) => return refused(why),
    };
    let read = |answer| match answer {
        Answer::Ok(value) => serde_json::from_value(value).map_err(|_| Refused::Because(STRANGE.to_owned())),
        Answer::Refused(why) => Err(why),
    };
    Some(answers.into_iter().map(|answer| Answered { pid, answer: read(answer) }).collect())
}

/// What a process answers; nothing if it is dead.
async fn exchange(folder: &Folder, pid: u32, request: &Request) -> Option<Result<Vec<Answer>, Refused>> {
    let patience = match request {
        Request::Status => STATUS_MAX,
        Request::Reload
        | Request::Learn
        | Request::Operate { .. }
        | Request::Trust { .. }
        | Request::Stderr { .. }
        | Request::Stop => ANSWER_MAX,
        Request::Reconnect { .. } => RECONNECTED_MAX,
    };
    let mut talk = match connect(folder, pid).await? {
        Ok(talk) => talk,
        Err(refused) => return Some(Err(refused)),
    };
    let answer = timeout(patience, async {
        // One that takes nobody in says so and hangs up, whatever it was to be asked.
        let _ = talk.say(request).await;
        talk.hear().await.ok()?
    });
    Some(match answer.await.ok().flatten().map(|line| serde_json::from_slice::<Answers>(&line)) {
        Some(Ok(answers)) => Ok(answers.into()),
        Some(Err(_)) => Err(Refused::Because(STRANGE.to_owned())),
        None => Err(Refused::Because(SILENT.to_owned())),
    })
}

const STRANGE: &str = "it answers what this version does not understand; is it another version?";
const SILENT: &str = "it does not answer; if it stays so, end the process and start it again";

/// A connection to a process; nothing if it is dead, and then its socket is removed.
async fn connect(folder: &Folder, pid: u32) -> Option<Result<Talk, Refused>> {
    match sandbox::connect_unix(&folder.socket(pid)).await {
        Ok(stream) => Some(Ok(Talk::new(stream, ANSWER_BYTES_MAX))),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            folder.remove_if_dead(pid).await;
            None
        }
        // It ended between the look and the call.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Err(Refused::Because(format!("it cannot be reached: {error}")))),
    }
}
