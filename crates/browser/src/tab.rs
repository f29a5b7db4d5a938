//! `Tab`: a page of its own in a browser context of its own, as long as one call takes.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::connection::Connection;
use crate::error::BrowserError;
use crate::message::Message;
use crate::opening::{Made, Opening};
use crate::seen::{Reaction, Seen};
use crate::turn::Turn;

/// How long the browser may take for what does not depend on the page.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The same for the first that it does, while it starts.
const START_MAX: Duration = Duration::from_secs(30);

/// What any page answers as soon as it is free to.
pub(crate) const TREE: &str = "Page.getFrameTree";

/// One tab.
pub(crate) struct Tab<'b> {
    connection: &'b mut Connection,
    turn: &'b Turn,
    made: Made,
    /// The one of the next call.
    next: Option<Opening>,
    pub(crate) seen: Seen,
}

impl<'b> Tab<'b> {
    /// Opens one, empty: the one that has been begun, if there is one.
    pub(crate) async fn open(
        connection: &'b mut Connection,
        begun: Option<Opening>,
        turn: &'b Turn,
    ) -> Result<Tab<'b>, BrowserError> {
        connection.begin();
        let next = match begun {
            Some(begun) => begun,
            None => Opening::begin(connection).await?,
        };
        let most = if connection.is_new() { START_MAX } else { ANSWER_MAX };
        // Nothing is known of the page yet, and nothing comes of it.
        let (made, seen) = (Made::default(), Seen::new(String::new()));
        let mut tab = Tab { connection, turn, made, next: Some(next), seen };
        let until = Instant::now() + most;
        while !tab.is_next_ready()? {
            before(until, tab.hear()).await.ok_or(BrowserError::Silent(most))??;
        }
        tab.made = tab.next.take().map(Opening::made).unwrap_or_default();
        tab.seen = Seen::new(tab.made.page.clone());
        // It may have been ready for a while, and the browser may have ended since.
        tab.ask(TREE, json!({})).await?;
        Ok(tab)
    }

    fn is_next_ready(&mut self) -> Result<bool, BrowserError> {
        self.next.as_mut().map_or(Ok(true), Opening::is_ready)
    }

    /// Begins to open the tab of the next call.
    pub(crate) async fn open_next(&mut self) -> Result<(), BrowserError> {
        if self.next.is_none() {
            self.next = Some(Opening::begin(self.connection).await?);
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
        self.connection.send(Some(&self.made.session), method, &params).await
    }

    async fn answer(
        &mut self,
        method: &'static str,
        id: u64,
        most: Duration,
    ) -> Result<Box<RawValue>, BrowserError> {
        let answer = self.answer_by(Instant::now() + most, method, id).await?;
        answer.ok_or(BrowserError::Silent(most))
    }

    /// What comes of a command by then; nothing if it is not answered.
    pub(crate) async fn answer_by(
        &mut self,
        until: Instant,
        method: &'static str,
        id: u64,
    ) -> Result<Option<Box<RawValue>>, BrowserError> {
        loop {
            match before(until, self.hear()).await.transpose()? {
                Some(Some((answered, result))) if answered == id => {
                    return result.map(Some).map_err(|why| BrowserError::Refused { method, why });
                }
                // What answers a reaction says nothing.
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Takes in what comes next, and does what has to be done about it.
    async fn hear(&mut self) -> Result<Option<(u64, Result<Box<RawValue>, String>)>, BrowserError> {
        let (method, params) = match self.connection.next().await? {
            Message::Answer { id, result } => {
                let is_of_next = match &mut self.next {
                    Some(next) => next.take(self.connection, id, &result).await?,
                    None => false,
                };
                return Ok((!is_of_next).then_some((id, result)));
            }
            Message::Event { method, session, params } => {
                if session.is_some_and(|session| session != self.made.session) {
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
            let session = is_of_page.then_some(&*self.made.session);
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
        loop {
            match self.answer_by(Instant::now() + most, method, id).await? {
                None if self.turn.is_asking() => {}
                answer => return Ok(answer),
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

    /// Closes it with all that the page has left behind, and gives the one of the next call, which waits for that.
    pub(crate) async fn close(mut self) -> Result<Opening, BrowserError> {
        self.open_next().await?;
        let mut next = self.next.take().unwrap_or_default();
        next.close(self.connection, &self.made.context).await?;
        Ok(next)
    }
}

/// What comes before then; nothing from then on, even if it is there already.
async fn before<T>(until: Instant, coming: impl Future<Output = T>) -> Option<T> {
    if Instant::now() >= until {
        return None;
    }
    timeout_at(until, coming).await.ok()
}
