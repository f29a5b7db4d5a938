//! `Page`: what an address has become in a browser.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::error::BrowserError;
use crate::reading::Reading;
use crate::seen::LED_ON_MAX;
use crate::tab::{Tab, read};
use crate::turn::Turn;

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

/// What came of a visit.
pub(crate) struct Visited {
    pub(crate) result: Result<Page, BrowserError>,
    /// Whether the browser is good for another.
    pub(crate) is_good: bool,
    /// Whether it has done anything at all.
    pub(crate) is_begun: bool,
}

/// Opens an address in a tab of its own and reads what it becomes.
pub(crate) async fn visit(connection: &mut Connection, turn: &Turn, visit: &Visit) -> Visited {
    let mut tab = match Tab::open(connection, turn).await {
        Ok(tab) => tab,
        Err(error) => return Visited { result: Err(error), is_good: false, is_begun: false },
    };
    let result = read_page(&mut tab, visit).await;
    let is_of_page = result.as_ref().err().is_none_or(BrowserError::is_of_page);
    let is_good = is_of_page && tab.close().await.is_ok();
    Visited { result, is_good, is_begun: true }
}

async fn read_page(tab: &mut Tab<'_>, visit: &Visit) -> Result<Page, BrowserError> {
    let id = tab.send("Page.navigate", json!({ "url": visit.url })).await?;
    let begun = tab.slow_answer("Page.navigate", id, BEGIN_MAX).await?;
    let begun: Begun = read(&begun.ok_or(BrowserError::TooSlow(BEGIN_MAX))?)?;
    not_a_page(tab, begun)?;
    tab.listen(Instant::now() + READ_MAX, |seen| seen.is_read || seen.is_stopped).await?;
    let is_quiet = tab
        .listen(Instant::now() + visit.wait, |seen| {
            seen.is_stopped || seen.quiet_at().is_some_and(|at| at <= Instant::now())
        })
        .await?;
    let Reading { url, base, title, media_type, html, is_cut } = tab.reading().await?;
    let (status, is_cut) = (tab.seen.status, is_cut || tab.seen.is_stopped);
    Ok(Page { url, base, title, status, media_type, html, is_cut, is_unfinished: !is_quiet })
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
