//! The hand of tools that read pages of the web as a browser shows them. Which hosts they are of is not for a tool to say in a
//! call.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::failure::ToolError;

/// The code of a call that would need a browser, where there is none or none that starts.
pub const NO_BROWSER: &str = "no_browser";

/// The code of a call whose address is something else than a page, such as a file to download.
pub const NOT_A_PAGE: &str = "not_a_page";

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
}
