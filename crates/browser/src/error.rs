//! `BrowserError`: why a page was not read.

use std::time::Duration;

use sandbox::confine::ConfineError;

use crate::program::NoBrowser;

/// Why a page was not read.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// There is none on this machine.
    #[error(transparent)]
    None(#[from] NoBrowser),
    /// The sandbox did not start it.
    #[error(transparent)]
    NotStarted(#[from] ConfineError),
    /// It has ended, with the end of what it said on stderr.
    #[error("the browser has ended{}", after(.0))]
    Gone(String),
    /// It does not answer, or not in time.
    #[error("the browser did not answer within {} s: perhaps a script of the page works without end", .0.as_secs())]
    Silent(Duration),
    /// It says what we cannot read.
    #[error("the browser cannot be understood: {0}")]
    Unreadable(&'static str),
    /// It does not do what it is told.
    #[error("the browser refuses `{method}`: {why}")]
    Refused {
        /// What it was told.
        method: &'static str,
        /// What it says.
        why: String,
    },
    /// The page's process has crashed.
    #[error("the page crashed the browser")]
    Crashed,
    /// Nothing came of an address.
    #[error("the page could not be loaded: {why}")]
    NotLoaded {
        /// The one that was asked for, or to which it led on.
        url: String,
        /// In the browser's words, such as `net::ERR_CONNECTION_REFUSED`.
        why: String,
    },
    /// The server answered without a page.
    #[error("the server answered with status {status} and sent no page")]
    NoPage {
        /// The one that was asked for, or to which it led on.
        url: String,
        /// Of HTTP.
        status: u16,
    },
    /// It led on and on.
    #[error("the page leads on to others more than {0} times")]
    LedOn(usize),
    /// It is a file to download.
    #[error("the address is a file to download, and no page")]
    Download,
    /// It is a PDF.
    #[error("the address is a PDF, and no page")]
    Pdf,
    /// The server did not answer.
    #[error("no page came within {} s", .0.as_secs())]
    TooSlow(Duration),
}

fn after(stderr: &str) -> String {
    let said = stderr.trim();
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

impl BrowserError {
    /// Whether it tells of the page, and the browser is as good as before.
    pub(crate) fn is_of_page(&self) -> bool {
        match self {
            BrowserError::NotLoaded { .. }
            | BrowserError::NoPage { .. }
            | BrowserError::LedOn(_)
            | BrowserError::Download
            | BrowserError::Pdf
            | BrowserError::TooSlow(_) => true,
            BrowserError::None(_)
            | BrowserError::NotStarted(_)
            | BrowserError::Gone(_)
            | BrowserError::Silent(_)
            | BrowserError::Unreadable(_)
            | BrowserError::Refused { .. }
            | BrowserError::Crashed => false,
        }
    }
}
