//! `Browser`: a browser that runs, and works for one call at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use sandbox::confine::{Output, Running, RunningIo};
use sandbox::egress::{Journal, Judge};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

use crate::connection::Connection;
use crate::error::BrowserError;
use crate::key::Key;
use crate::opening::{Opening, read};
use crate::page::{Page, Visit, visit};
use crate::tab::{ANSWER_MAX, Tab};
use crate::turn::Turn;

/// The end of what it says on stderr, in bytes: enough to tell why it did not start.
const STDERR_BYTES: usize = 600;

/// A browser that runs. Dropping it ends it with all that it has started.
pub(crate) struct Browser {
    pub(crate) key: Key,
    pub(crate) running: Running,
    pub(crate) started: Instant,
    connection: Connection,
    /// The tab of the next call.
    next: Option<Opening>,
    turn: Arc<Turn>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl Browser {
    /// Nothing if its streams have been taken.
    pub(crate) fn new(key: Key, mut running: Running, turn: Arc<Turn>) -> Option<Browser> {
        let RunningIo { stdin, stdout: _, stderr, told } = running.take_io()?;
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        // Ends with the stream, which ends with the browser.
        tokio::spawn(keep_end(stderr, kept.clone()));
        let connection = Connection::new(told?, stdin);
        Some(Browser { key, running, started: Instant::now(), connection, next: None, turn, stderr: kept })
    }
}

/// What came of a visit.
pub(crate) struct Visited {
    pub(crate) result: Result<Page, BrowserError>,
    /// Whether the browser is good for another.
    pub(crate) is_good: bool,
    /// Whether it has done anything at all.
    pub(crate) is_begun: bool,
}

#[derive(Deserialize)]
struct Version {
    product: String,
}

async fn keep_end(mut stderr: Output, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut piece = [0; STDERR_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut piece).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(piece.iter().take(count));
        let more = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..more);
    }
}

impl Browser {
    /// Reads a page. The browser is not good for another call if more was granted to this one than its
    /// rules name, since connections may have stayed open.
    pub(crate) async fn visit(
        &mut self,
        asked: &Visit,
        place: OwnedSemaphorePermit,
        judge: Option<Arc<dyn Judge>>,
        journal: &Journal,
    ) -> Visited {
        let turn = self.turn.clone();
        let tab = match Tab::open(&mut self.connection, self.next.take(), &turn).await {
            Ok(tab) => tab,
            Err(error) => return Visited { result: Err(self.told(error)), is_good: false, is_begun: false },
        };
        // The page before is gone. What it tried after its call is no call's.
        Journal::new().take(self.running.journal());
        turn.begin(judge, place);
        let _noting = Noting { from: self.running.journal().clone(), to: journal };
        let (result, next) = visit(tab, asked).await;
        let has_granted = turn.end();
        self.next = next;
        let is_good = self.next.is_some() && !has_granted;
        Visited { result: result.map_err(|error| self.told(error)), is_good, is_begun: true }
    }

    /// Waits until the page of the last call is gone. Gives the browser back, unless it takes too long or fails at that.
    pub(crate) async fn rested(mut self) -> Option<Browser> {
        let next = self.next.as_mut()?;
        timeout(ANSWER_MAX, next.finish(&mut self.connection)).await.ok()?.ok()?;
        Some(self)
    }

    /// Which browser it is, in its own words.
    pub(crate) async fn version(&mut self) -> Result<String, BrowserError> {
        let mut tab = Tab::open(&mut self.connection, self.next.take(), &self.turn).await?;
        let Version { product } = read(&tab.command("Browser.getVersion", json!({})).await?)?;
        Ok(product)
    }

    /// An error; one that has ended tells why by the end of what it said.
    fn told(&self, error: BrowserError) -> BrowserError {
        if !matches!(error, BrowserError::Gone(_)) {
            return error;
        }
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        BrowserError::Gone(String::from_utf8_lossy(&bytes).trim().to_owned())
    }
}

impl Drop for Browser {
    /// Its place is free at once, however its call has ended.
    fn drop(&mut self) {
        self.turn.end();
    }
}

/// What a browser reached during a call is in the journal of the call afterwards, however the call ends.
struct Noting<'c> {
    from: Arc<Journal>,
    to: &'c Journal,
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.to.take(&self.from);
    }
}
