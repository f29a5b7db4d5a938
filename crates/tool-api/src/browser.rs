//! The hand of tools that read pages of the web as a browser shows them. Which hosts they are of is not for a tool to say in a
//! call.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::failure::ToolError;

/// The code of a call that would need a browser, where there is none or none that starts.
pub const NO_BROWSER: &str = "no_browser";

/// The code of a call whose address is something else than a page, such as a file to download.
pub const NOT_A_PAGE: &str = "not_a_page";

/// What to say of a server that answers with this status of HTTP and sends no page; nothing for one that goes with a page.
#[must_use]
pub fn no_page(status: u16) -> Option<ToolError> {
    let why = match status {
        204 | 205 => "the server has nothing to show at this address",
        401 | 403 | 407 => {
            "it wants a signing in, and pages are read without one; ask your user for what is there"
        }
        404 | 410 => "there is nothing at this address; look for the right one",
        408 | 429 | 503 => "it wants to be left alone for a while; try again later",
        400..500 => "it does not take the request for this address",
        500.. => "it has failed, perhaps for a moment; try again",
        _ => return None,
    };
    Some(ToolError::new(
        "no_page",
        format!("the server answered with status {status} and sent no page: {why}"),
    ))
}

/// Reads pages for one call. A tool gets it if its `ABOUT` says that it needs a browser, and its caller may reach the network.
pub trait Browser: Send + Sync {
    /// Opens a whole http or https address, if the rules of the call allow its host, and reads the page that it becomes.
    fn visit<'a>(&'a self, url: &'a str, wait: Duration) -> BoxFuture<'a, Result<Page, ToolError>>;
}

/// A page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Where it is in the end.
    pub url: String,
    /// What its links are relative to.
    pub base: String,
    /// As a window would show it.
    pub title: String,
    /// What the server said, if it said something: the status of HTTP.
    pub status: Option<u16>,
    /// The media type of the document.
    pub media_type: String,
    /// Its body, as HTML.
    pub html: String,
    /// Whether not all of it was loaded, or is here.
    pub is_cut: bool,
    /// Whether it still loaded something when it was read.
    pub is_unfinished: bool,
    /// The hosts that it wanted something of and may not reach.
    pub blocked: Vec<String>,
    /// Shadow roots whose content cannot be read, since they are closed.
    pub closed_roots: usize,
    /// Frames of other origins, which are not read.
    pub other_frames: usize,
    /// Where the first of these are, each once.
    pub frame_addresses: Vec<String>,
}
