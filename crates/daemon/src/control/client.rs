//! Asking the Toolcribs that are running.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::folder::Folder;
use super::line::Talk;
use super::words::{ANSWER_BYTES_MAX, Answer, Answers, RECONNECT_MAX, Refused, Reloaded, Request, Running};

/// A process that is not stuck has said how it is doing by then.
const STATUS_MAX: Duration = Duration::from_secs(2);

/// It has done by then whatever else it is asked.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// A process that connects to a server anew answers when that is done.
const RECONNECTED_MAX: Duration = RECONNECT_MAX.saturating_add(ANSWER_MAX);

/// One process, and what it answered for one of the configurations that it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<T> {
    /// The process.
    pub pid: u32,
    /// What it said.
    pub answer: Result<T, Refused>,
}

/// Every Toolcrib that is running on this state folder.
pub async fn running(state: &Path) -> Vec<Asked<Running>> {
    ask(state, &Request::Status).await
}

/// Those that say how they are doing, and a sentence for each of the others.
pub fn told_apart(asked: Vec<Asked<Running>>) -> (Vec<Running>, Vec<String>) {
    let (mut running, mut silent) = (Vec::new(), Vec::new());
    for Asked { pid, answer } in asked {
        match answer {
            Ok(one) => running.push(one),
            Err(why) => {
                silent.push(format!("the Toolcrib of process {pid} does not say how it is doing: {why}"))
            }
        }
    }
    (running, silent)
}

/// Has each of them read its configuration again.
pub async fn reload(state: &Path) -> Vec<Asked<Reloaded>> {
    ask(state, &Request::Reload).await
}

/// Has those end that serve all of a user's clients. Who serves by itself refuses.
pub async fn stop(state: &Path) -> Vec<Asked<()>> {
    ask(state, &Request::Stop).await
}

/// Has each of them read again which secrets are kept.
pub(super) async fn learn(state: &Path) -> Vec<Asked<()>> {
    ask(state, &Request::Learn).await
}

/// Has each of them let go of an upstream and connect to it anew: how that one is doing then, as JSON. One that has no
/// upstream of this name refuses.
pub async fn reconnect(state: &Path, name: &str) -> Vec<Asked<Value>> {
    ask(state, &Request::Reconnect { name: name.to_owned() }).await
}

/// Has each of them take up what was decided about the definitions of an upstream: how that one is doing then, as JSON.
pub(super) async fn take_up_decisions(state: &Path, name: &str) -> Vec<Asked<Value>> {
    ask(state, &Request::Trust { name: name.to_owned() }).await
}

/// The end of what an upstream's program wrote on its stderr, from each of them.
pub async fn stderr(state: &Path, name: &str) -> Vec<Asked<String>> {
    ask(state, &Request::Stderr { name: name.to_owned() }).await
}

/// Asks every process, side by side. Sockets of dead ones are removed.
async fn ask<T: DeserializeOwned>(state: &Path, request: &Request) -> Vec<Asked<T>> {
    // A folder that is not there, or not private, holds no process of ours.
    let Ok(folder) = Folder::open(state) else { return Vec::new() };
    let pids = folder.pids().unwrap_or_default();
    let asked = join_all(pids.into_iter().map(|pid| ask_one(&folder, pid, request))).await;
    asked.into_iter().flatten().flatten().collect()
}

/// Asks one process; nothing if it is dead.
async fn ask_one<T: DeserializeOwned>(folder: &Folder, pid: u32, request: &Request) -> Option<Vec<Asked<T>>> {
    let refused = |refused| Some(vec![Asked { pid, answer: Err(refused) }]);
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
    Some(answers.into_iter().map(|answer| Asked { pid, answer: read(answer) }).collect())
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
