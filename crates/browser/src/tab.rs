//! `Tab`: a page of its own in a browser context of its own, as long as one call takes.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::connection::Connection;
use crate::error::BrowserError;
use crate::message::Message;
use crate::seen::{Reaction, Seen};
use crate::turn::Turn;

/// How long the browser may take for what does not depend on the page.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The same for the first that it does, while it starts.
const START_MAX: Duration = Duration::from_secs(30);

/// What a browser keeps of answers for those who ask for them; we do not.
const KEPT_BYTES: u64 = 1024;

/// One tab.
pub(crate) struct Tab<'b> {
    connection: &'b mut Connection,
    turn: &'b Turn,
    context: String,
    session: String,
    pub(crate) seen: Seen,
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

impl<'b> Tab<'b> {
    /// Opens one, empty.
    pub(crate) async fn open(
        connection: &'b mut Connection,
        turn: &'b Turn,
    ) -> Result<Tab<'b>, BrowserError> {
        // Nothing is known of the page yet, and nothing comes of it.
        let mut tab = Tab {
            connection,
            turn,
            context: String::new(),
            session: String::new(),
            seen: Seen::new(String::new()),
        };
        tab.connection.begin();
        let id = tab
            .connection
            .send(None, "Target.createBrowserContext", &json!({ "disposeOnDetach": true }))
            .await?;
        let most = if tab.connection.is_new() { START_MAX } else { ANSWER_MAX };
        let made = tab.answer("Target.createBrowserContext", id, most).await?;
        let Context { browser_context_id: context } = read(&made)?;
        let made = json!({ "url": "about:blank", "browserContextId": context });
        let made = tab.command("Target.createTarget", made).await?;
        let Created { target_id: page } = read(&made)?;
        let attached = json!({ "targetId": page, "flatten": true });
        let attached = tab.command("Target.attachToTarget", attached).await?;
        let Attached { session_id: session } = read(&attached)?;
        (tab.context, tab.session, tab.seen) = (context, session, Seen::new(page));
        tab.prepare().await?;
        Ok(tab)
    }

    async fn prepare(&mut self) -> Result<(), BrowserError> {
        let denied = json!({ "behavior": "deny", "browserContextId": self.context, "eventsEnabled": true });
        self.command("Browser.setDownloadBehavior", denied).await?;
        self.command("Target.setDiscoverTargets", json!({ "discover": true })).await?;
        let kept = json!({ "maxTotalBufferSize": KEPT_BYTES, "maxResourceBufferSize": KEPT_BYTES });
        let documents = json!({ "patterns": [{ "resourceType": "Document" }] });
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Inspector.enable", json!({})),
            ("Network.enable", kept),
            ("Fetch.enable", documents),
        ] {
            self.ask(method, params).await?;
        }
        Ok(())
    }

    /// Has the browser do something.
    pub(crate) async fn command(
        &mut self,
        method: &'static str,
        params: Value,
    ) -> Result<Box<RawValue>, BrowserError> {
        let id = self.connection.send(None, method, &params).await?;
        self.answer(method, id, ANSWER_MAX).await
    }

    /// Has the page do something.
    pub(crate) async fn ask(
        &mut self,
        method: &'static str,
        params: Value,
    ) -> Result<Box<RawValue>, BrowserError> {
        let id = self.send(method, params).await?;
        self.answer(method, id, ANSWER_MAX).await
    }

    /// Tells the page something, which is answered later.
    pub(crate) async fn send(&mut self, method: &'static str, params: Value) -> Result<u64, BrowserError> {
        self.connection.send(Some(&self.session), method, &params).await
    }

    async fn answer(
        &mut self,
        method: &'static str,
        id: u64,
        most: Duration,
    ) -> Result<Box<RawValue>, BrowserError> {
        let until = Instant::now() + most;
        loop {
            match before(until, self.hear()).await.ok_or(BrowserError::Silent(most))?? {
                Some((answered, result)) if answered == id => {
                    return result.map_err(|why| BrowserError::Refused { method, why });
                }
                // What answers a reaction says nothing.
                Some(_) | None => {}
            }
        }
    }

    /// Takes in what comes next, and does what has to be done about it.
    async fn hear(&mut self) -> Result<Option<(u64, Result<Box<RawValue>, String>)>, BrowserError> {
        let (method, params) = match self.connection.next().await? {
            Message::Answer { id, result } => return Ok(Some((id, result))),
            Message::Event { method, session, params } => {
                if session.is_some_and(|session| session != self.session) {
                    return Ok(None);
                }
                (method, params)
            }
        };
        let reaction = self.seen.take(&method, &params);
        if self.seen.has_crashed {
            return Err(BrowserError::Crashed);
        }
        if let Some(Reaction { method, params, is_of_page, leads_to }) = reaction {
            if let Some(url) = leads_to {
                self.turn.leads_to(&url);
            }
            let session = is_of_page.then_some(&*self.session);
            self.connection.send(session, method, &params).await?;
        }
        Ok(None)
    }

    /// What comes of a command that depends on the page. The time in which a person is asked about its host does not count.
    pub(crate) async fn slow_answer(
        &mut self,
        method: &'static str,
        id: u64,
        most: Duration,
    ) -> Result<Option<Box<RawValue>>, BrowserError> {
        let mut until = Instant::now() + most;
        loop {
            match before(until, self.hear()).await {
                Some(heard) => match heard? {
                    Some((answered, result)) if answered == id => {
                        return result.map(Some).map_err(|why| BrowserError::Refused { method, why });
                    }
                    Some(_) | None => {}
                },
                None if self.turn.is_asking() => until = Instant::now() + most,
                None => return Ok(None),
            }
        }
    }

    /// Listens until `is_enough`, or until then.
    pub(crate) async fn listen(
        &mut self,
        until: Instant,
        is_enough: impl Fn(&Seen) -> bool,
    ) -> Result<bool, BrowserError> {
        while !is_enough(&self.seen) {
            // A page that always has something to tell is not heard for ever.
            if Instant::now() >= until {
                return Ok(false);
            }
            let quiet = self.seen.quiet_at().unwrap_or(until).min(until);
            tokio::select! {
                biased;
                heard = self.hear() => { heard?; }
                () = sleep_until(quiet) => {}
            }
        }
        Ok(true)
    }

    /// Closes it with all that the page has left behind.
    pub(crate) async fn close(mut self) -> Result<(), BrowserError> {
        let context = json!({ "browserContextId": self.context });
        self.command("Target.disposeBrowserContext", context).await.map(|_| ())
    }
}

/// What comes before then; nothing from then on, even if it is there already.
async fn before<T>(until: Instant, coming: impl Future<Output = T>) -> Option<T> {
    if Instant::now() >= until {
        return None;
    }
    timeout_at(until, coming).await.ok()
}

/// What the browser says of what it did.
pub(crate) fn read<T: DeserializeOwned>(answer: &RawValue) -> Result<T, BrowserError> {
    let unreadable = |_| BrowserError::Unreadable("an answer is not what was asked for");
    serde_json::from_str(answer.get()).map_err(unreadable)
}
