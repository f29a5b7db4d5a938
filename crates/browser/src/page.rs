//! `Page`: what an address has become in a browser.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::error::BrowserError;
use crate::opening::{Opening, read};
use crate::seen::{LED_ON_MAX, Seen};
use crate::tab::{TREE, Tab};

/// How long a server may take until a page begins.
const BEGIN_MAX: Duration = Duration::from_secs(30);

/// How long it may take from there until the document is there to its end.
const READ_MAX: Duration = Duration::from_secs(10);

/// How often a page is asked whether it works, where it refuses to say so in between.
const REFUSALS_MAX: usize = 3;

/// What a browser shows a PDF by.
const PDF: &str = "application/pdf";

/// What is to be read.
#[derive(Debug, Clone)]
pub struct Visit {
    /// A whole http or https address.
    pub url: String,
    /// How long to wait, once the document is there, until the page asks for nothing any more.
    pub wait: Duration,
}

/// What an address has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it is in the end.
    pub url: String,
    /// What its links are relative to.
    pub base: String,
    /// As a window would show it.
    pub title: String,
    /// What the server said, if it said something.
    pub status: Option<u16>,
    /// Of the document.
    pub media_type: String,
    /// Its body without what no reader sees.
    pub html: String,
    /// Whether not all of it was loaded, or is here.
    pub is_cut: bool,
    /// Whether it still asked for something, or worked, when it was read.
    pub is_unfinished: bool,
    /// Shadow roots whose content cannot be read, since they are closed.
    pub closed_roots: usize,
    /// Frames of other origins, which are not read.
    pub other_frames: usize,
    /// Where the first of these are, each once; the page says so.
    pub frame_addresses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Begun {
    error_text: Option<String>,
    #[serde(default)]
    is_download: bool,
}

/// Reads what an address becomes in a tab that has just been opened. Beside it comes the tab of the next visit; none if the
/// browser is not good for another.
pub(crate) async fn visit(mut tab: Tab<'_>, visit: &Visit) -> (Result<Page, BrowserError>, Option<Opening>) {
    let result = read_page(&mut tab, visit).await;
    let is_of_page = result.as_ref().err().is_none_or(BrowserError::is_of_page);
    let next = if is_of_page { tab.close().await.ok() } else { None };
    (result, next)
}

async fn read_page(tab: &mut Tab<'_>, visit: &Visit) -> Result<Page, BrowserError> {
    let id = tab.send("Page.navigate", json!({ "url": visit.url })).await?;
    let begun = tab.slow_answer("Page.navigate", id, BEGIN_MAX).await?;
    let begun: Begun = read(&begun.ok_or(BrowserError::TooSlow(BEGIN_MAX))?)?;
    not_a_page(tab, begun)?;
    tab.listen(Instant::now() + READ_MAX, |seen| seen.is_read || seen.is_stopped).await?;
    // Nothing is left to do but to wait.
    tab.open_next().await?;
    let is_quiet = quiet(tab, visit.wait).await?;
    let read = tab.reading().await?;
    Ok(Page {
        url: read.url,
        base: read.base,
        title: read.title,
        status: tab.seen.status,
        media_type: read.media_type,
        html: read.html,
        is_cut: read.is_cut || tab.seen.is_stopped,
        is_unfinished: !is_quiet,
        closed_roots: read.closed_roots,
        other_frames: read.other_frames,
        frame_addresses: read.frame_addresses,
    })
}

/// Waits until the page is quiet. Says whether it is.
async fn quiet(tab: &mut Tab<'_>, most: Duration) -> Result<bool, BrowserError> {
    let until = Instant::now() + most;
    let mut refusals = 0;
    while tab.listen(until, Seen::is_quiet).await? {
        // A script that works asks for nothing until it is done. The page answers this when it is, and by then has told what it
        // asked for.
        let id = tab.send(TREE, json!({})).await?;
        match tab.answer_by(until, TREE, id).await {
            Ok(Some(_)) if tab.seen.is_quiet() => return Ok(true),
            Ok(Some(_)) => {}
            // It still works. What reads it waits for it a moment more.
            Ok(None) => return Ok(false),
            // It leads on just now.
            Err(BrowserError::Refused { .. }) if refusals + 1 < REFUSALS_MAX => refusals += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn not_a_page(tab: &Tab<'_>, begun: Begun) -> Result<(), BrowserError> {
    match begun.error_text {
        _ if tab.seen.media_type == PDF => Err(BrowserError::Pdf),
        _ if tab.seen.is_download || begun.is_download => Err(BrowserError::Download),
        Some(_) if tab.seen.has_led_on => Err(BrowserError::LedOn(LED_ON_MAX)),
        Some(why) => Err(nothing_came(tab.seen.leads_to.clone(), tab.seen.status, why)),
        None => Ok(()),
    }
}

/// The browser tells of some statuses in words of its own, as it has no page to show.
fn nothing_came(url: String, status: Option<u16>, why: String) -> BrowserError {
    match status {
        Some(status @ (204 | 205 | 400..)) => BrowserError::NoPage { url, status },
        Some(_) | None => BrowserError::NotLoaded { url, why },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
    use tokio::sync::Semaphore;
    use tokio::time::sleep;

    use super::*;
    use crate::connection::Connection;
    use crate::turn::Turn;

    /// Does what it is told, but for what it is asked of the page once there is one.
    async fn browser(mut theirs: DuplexStream, says: Option<Duration>) {
        let (mut heard, mut asked) = (Vec::new(), 0);
        while theirs.read_buf(&mut heard).await.is_ok_and(|count| count > 0) {
            while let Some(end) = heard.iter().position(|byte| *byte == 0) {
                let command: Vec<u8> = heard.drain(..=end).collect();
                let command: Value = serde_json::from_slice(&command[..end]).expect("JSON");
                let is_of_page = command["method"] == TREE;
                asked += usize::from(is_of_page);
                let result = json!({ "browserContextId": "c", "targetId": "p", "sessionId": "s" });
                let mut answer = json!({ "id": command["id"], "result": result });
                match says {
                    // The first asks whether the tab is there.
                    _ if !is_of_page || asked == 1 => {}
                    Some(after) => sleep(after).await,
                    None => answer = json!({ "id": command["id"], "error": { "code": 1, "message": "no" } }),
                }
                // Nobody may be listening any more.
                let _gone = theirs.write_all(format!("{answer}\0").as_bytes()).await;
            }
        }
    }

    /// What comes of waiting for a page that is there, and after how many milliseconds.
    async fn check(says: Option<Duration>, most: Duration, expected: (&str, u128)) {
        let (ours, theirs) = duplex(64 * 1024);
        tokio::spawn(browser(theirs, says));
        let (from, to) = split(ours);
        let mut connection = Connection::new(from, to);
        let turn = Turn::new(Arc::new(Semaphore::new(1)));
        let mut tab = Tab::open(&mut connection, None, &turn).await.expect("a tab");
        tab.seen.is_read = true;
        let begun = Instant::now();
        let said = match quiet(&mut tab, most).await {
            Ok(is_quiet) => is_quiet.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!((&*said, begun.elapsed().as_millis() / 1_000), expected, "{says:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_works_is_waited_for_as_long_as_was_asked_for() {
        let seconds = Duration::from_secs;
        check(Some(seconds(0)), seconds(3), ("true", 0)).await;
        check(Some(seconds(8)), seconds(30), ("true", 8)).await;
        check(Some(seconds(8)), seconds(3), ("false", 3)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_refuses_to_answer_is_not_asked_for_ever() {
        let refused = "the browser refuses `Page.getFrameTree`: no";
        check(None, Duration::from_secs(30), (refused, 0)).await;
    }
}
