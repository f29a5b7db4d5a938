//! `Opening`: an empty tab in a browser context of its own, while it is being opened: which command follows which answer. It is
//! begun beside the visit before, since a process for it takes a browser a tenth of a second.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::error::BrowserError;
use crate::message::Message;

/// What a browser keeps of answers for those who ask for them; we do not.
const KEPT_BYTES: u64 = 1024;

const CONTEXT: &str = "Target.createBrowserContext";
const TARGET: &str = "Target.createTarget";
const SESSION: &str = "Target.attachToTarget";

/// A tab that is being opened.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// What has been sent and is not answered yet.
    unanswered: Vec<(u64, &'static str)>,
    /// Why there will be none.
    failed: Option<BrowserError>,
    made: Made,
}

/// The names of what has been made, each empty until then.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) context: String,
    pub(crate) page: String,
    pub(crate) session: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    browser_context_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    target_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: String,
}

impl Opening {
    /// Begins it.
    ///
    /// # Errors
    /// The browser has ended, or does not listen.
    pub(crate) async fn begin(connection: &mut Connection) -> Result<Opening, BrowserError> {
        let mut opening = Opening::default();
        opening.send(connection, CONTEXT, json!({ "disposeOnDetach": true })).await?;
        Ok(opening)
    }

    /// Has the context of the tab before closed with all that its page has left behind. There is no new tab before that is done.
    ///
    /// # Errors
    /// The browser has ended, or does not listen.
    pub(crate) async fn close(
        &mut self,
        connection: &mut Connection,
        context: &str,
    ) -> Result<(), BrowserError> {
        let context = json!({ "browserContextId": context });
        self.send(connection, "Target.disposeBrowserContext", context).await
    }

    /// Hears the browser until all has been answered: then the tab before is gone, and this is ready.
    ///
    /// # Errors
    /// The browser has ended, or refuses something.
    pub(crate) async fn finish(&mut self, connection: &mut Connection) -> Result<(), BrowserError> {
        while !self.is_ready()? {
            // Events are of the page before.
            if let Message::Answer { id, result } = connection.next().await? {
                self.take(connection, id, &result).await?;
            }
        }
        Ok(())
    }

    /// Takes an answer in, if it is one to this, and sends what follows it. Says whether it was one.
    ///
    /// # Errors
    /// The browser has ended, or does not listen.
    pub(crate) async fn take(
        &mut self,
        connection: &mut Connection,
        id: u64,
        result: &Result<Box<RawValue>, String>,
    ) -> Result<bool, BrowserError> {
        let Some(nth) = self.unanswered.iter().position(|(sent, _)| *sent == id) else { return Ok(false) };
        let (_, method) = self.unanswered.swap_remove(nth);
        let followed = match result {
            Ok(answer) => self.follow(method, answer),
            Err(why) => Err(BrowserError::Refused { method, why: why.clone() }),
        };
        match followed {
            Ok(commands) => {
                for (method, params) in commands {
                    self.send(connection, method, params).await?;
                }
            }
            Err(error) => self.failed = Some(error),
        }
        Ok(true)
    }

    /// Whether all has been answered.
    ///
    /// # Errors
    /// The browser has refused something, which is handed out once.
    pub(crate) fn is_ready(&mut self) -> Result<bool, BrowserError> {
        self.failed.take().map_or(Ok(self.unanswered.is_empty()), Err)
    }

    /// What has been made.
    pub(crate) fn made(self) -> Made {
        self.made
    }

    /// What is sent after this has been answered.
    fn follow(
        &mut self,
        method: &'static str,
        answer: &RawValue,
    ) -> Result<Vec<(&'static str, Value)>, BrowserError> {
        match method {
            CONTEXT => {
                let Context { browser_context_id: context } = read(answer)?;
                let tab = json!({ "url": "about:blank", "browserContextId": context });
                let denied =
                    json!({ "behavior": "deny", "browserContextId": context, "eventsEnabled": true });
                self.made.context = context;
                Ok(vec![
                    (TARGET, tab),
                    ("Browser.setDownloadBehavior", denied),
                    ("Target.setDiscoverTargets", json!({ "discover": true })),
                ])
            }
            TARGET => {
                let Created { target_id: page } = read(answer)?;
                let attached = json!({ "targetId": page, "flatten": true });
                self.made.page = page;
                Ok(vec![(SESSION, attached)])
            }
            SESSION => {
                let Attached { session_id: session } = read(answer)?;
                self.made.session = session;
                let kept = json!({ "maxTotalBufferSize": KEPT_BYTES, "maxResourceBufferSize": KEPT_BYTES });
                let documents = json!({ "patterns": [{ "resourceType": "Document" }] });
                Ok(vec![
                    ("Page.enable", json!({})),
                    ("Inspector.enable", json!({})),
                    ("Network.enable", kept),
                    ("Fetch.enable", documents),
                ])
            }
            // What needs nothing after it.
            _ => Ok(Vec::new()),
        }
    }

    async fn send(
        &mut self,
        connection: &mut Connection,
        method: &'static str,
        params: Value,
    ) -> Result<(), BrowserError> {
        // Nothing of the page is sent before there is a session.
        let is_of_page = !method.starts_with("Target.") && !method.starts_with("Browser.");
        let session = is_of_page.then_some(&*self.made.session);
        let id = connection.send(session, method, &params).await?;
        self.unanswered.push((id, method));
        Ok(())
    }
}

/// What the browser says of what it did.
///
/// # Errors
/// It says something else.
pub(crate) fn read<T: DeserializeOwned>(answer: &RawValue) -> Result<T, BrowserError> {
    let unreadable = |_| BrowserError::Unreadable("an answer is not what was asked for");
    serde_json::from_str(answer.get()).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};

    use super::*;

    /// A connection, and what a browser reads of it.
    fn connection() -> (Connection, DuplexStream) {
        let (ours, theirs) = duplex(64 * 1024);
        let (from, to) = split(ours);
        (Connection::new(from, to), theirs)
    }

    /// The commands that have been sent since, as their ids and methods, with the session if they have one.
    async fn sent(theirs: &mut DuplexStream) -> String {
        let mut bytes = vec![0; 64 * 1024];
        let count = theirs.read(&mut bytes).await.expect("some");
        let commands = bytes[..count].split(|byte| *byte == 0).filter(|command| !command.is_empty());
        let shown = commands.map(|command| {
            let command: Value = serde_json::from_slice(command).expect("JSON");
            let session = command["sessionId"].as_str().map(|session| format!("@{session}"));
            format!(
                "{}:{}{}",
                command["id"],
                command["method"].as_str().expect("one"),
                session.unwrap_or_default()
            )
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn answer(result: Value) -> Result<Box<RawValue>, String> {
        Ok(RawValue::from_string(result.to_string()).expect("JSON"))
    }

    #[tokio::test]
    async fn one_command_follows_the_other_and_the_last_tab_goes_first() {
        let (mut connection, mut theirs) = connection();
        let mut opening = Opening::begin(&mut connection).await.expect("begun");
        assert_eq!(sent(&mut theirs).await, "1:Target.createBrowserContext");
        for (id, result, then) in [
            (
                1,
                json!({ "browserContextId": "c" }),
                "2:Target.createTarget 3:Browser.setDownloadBehavior 4:Target.setDiscoverTargets",
            ),
            (2, json!({ "targetId": "p" }), "5:Target.attachToTarget"),
            (
                5,
                json!({ "sessionId": "s" }),
                "6:Page.enable@s 7:Inspector.enable@s 8:Network.enable@s 9:Fetch.enable@s",
            ),
        ] {
            assert!(!opening.is_ready().expect("nothing failed"));
            assert!(opening.take(&mut connection, id, &answer(result)).await.expect("taken"));
            assert_eq!(sent(&mut theirs).await, then);
        }
        opening.close(&mut connection, "old").await.expect("sent");
        assert_eq!(sent(&mut theirs).await, "10:Target.disposeBrowserContext");
        for id in [9, 8, 7, 6, 3, 4, 10] {
            assert!(!opening.is_ready().expect("nothing failed"), "{id} is not answered");
            assert!(!opening.take(&mut connection, 99, &answer(json!({}))).await.expect("another's"));
            assert!(opening.take(&mut connection, id, &answer(json!({}))).await.expect("taken"));
        }
        assert!(opening.is_ready().expect("nothing failed"));
        let Made { context, page, session } = opening.made();
        assert_eq!((&*context, &*page, &*session), ("c", "p", "s"));
    }

    #[tokio::test]
    async fn it_is_finished_once_the_last_tab_is_gone() {
        let (mut connection, mut theirs) = connection();
        let mut opening = Opening::begin(&mut connection).await.expect("begun");
        opening.close(&mut connection, "old").await.expect("sent");
        let made = r#""browserContextId":"c","targetId":"p","sessionId":"s""#;
        let said = |id: u64| format!("{{\"id\":{id},\"result\":{{{made}}}}}\0");
        let event = "{\"method\":\"Page.loadEventFired\",\"params\":{}}\0".to_owned();
        let all_but_that = [1, 3, 6, 4, 5, 7, 8, 9, 10].map(said).concat();
        theirs.write_all((event + &all_but_that).as_bytes()).await.expect("written");
        let mut finished = std::pin::pin!(opening.finish(&mut connection));
        assert!(futures_util::poll!(&mut finished).is_pending(), "it is not gone");
        theirs.write_all(said(2).as_bytes()).await.expect("written");
        finished.await.expect("finished");
    }

    #[tokio::test]
    async fn what_is_refused_or_cannot_be_read_is_no_tab() {
        for (result, why) in [
            (Err("no".to_owned()), "the browser refuses `Target.createBrowserContext`: no"),
            (answer(json!({})), "the browser cannot be understood: an answer is not what was asked for"),
        ] {
            let (mut connection, _theirs) = connection();
            let mut opening = Opening::begin(&mut connection).await.expect("begun");
            opening.take(&mut connection, 1, &result).await.expect("taken");
            assert_eq!(opening.is_ready().expect_err("failed").to_string(), why);
        }
    }
}
