//! `Page`: what an address has become in a browser.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::error::BrowserError;
use crate::opening::{Opening, read};
use crate::reading::Reading;
use crate::seen::{LED_ON_MAX, Seen};
use crate::tab::{TREE, Tab};

/// How long a server may take until a page begins.
const BEGIN_MAX: Duration = Duration::from_secs(30);

/// How long it may take from there until the document is there to its end.
const READ_MAX: Duration = Duration::from_secs(10);

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
    /// Whether it still asked for something when it was read.
    pub is_unfinished: bool,
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
    let Reading { url, base, title, media_type, html, is_cut } = tab.reading().await?;
    let (status, is_cut) = (tab.seen.status, is_cut || tab.seen.is_stopped);
    Ok(Page { url, base, title, status, media_type, html, is_cut, is_unfinished: !is_quiet })
}

/// Waits until the page is quiet. Says whether it is.
async fn quiet(tab: &mut Tab<'_>, most: Duration) -> Result<bool, BrowserError> {
    let until = Instant::now() + most;
    while tab.listen(until, Seen::is_quiet).await? {
        // A script that works asks for nothing until it is done. The page answers this when it is, and by then has told what it
        // asked for.
        match tab.ask(TREE, json!({})).await {
            Ok(_) if tab.seen.is_quiet() => return Ok(true),
            // It leads on just now.
            Ok(_) | Err(BrowserError::Refused { .. }) => {}
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
        Some(why) => Err(BrowserError::NotLoaded { url: tab.seen.leads_to.clone(), why }),
        None => Ok(()),
    }
}
