//! One visit of a browser, or of anybody else on this machine, to the place where we wait.
//!
//! A tiny reader instead of a server: all that is of use stands in the first line of one request.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::page::Page;
use super::response::{Expected, Verdict};
use crate::error::Failure;

/// A browser's request with many cookies of other programs on this machine.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// A visitor is on this machine; whoever needs longer wants to hold us up, or is a connection that a browser has opened
/// in advance and can open again.
pub(super) const HEAD_TIME_MAX: Duration = Duration::from_secs(3);

/// From the beginning of a visit to its end.
const VISIT_TIME_MAX: Duration = Duration::from_secs(10);

/// What a visitor must ask for, and what is told to whom.
pub(super) struct Door<'a> {
    pub(super) path: &'a str,
    pub(super) expected: &'a Expected,
    /// What people call the server that is signed in to.
    pub(super) name: &'a str,
}

impl Door<'_> {
    /// Reads a request and answers it: the query of the address that the browser came back with, the end of the
    /// sign-in, or nothing if this visit was not it. A visitor that has said nothing yet may be sent away.
    pub(super) async fn receive(
        &self,
        mut stream: TcpStream,
        sent_away: oneshot::Receiver<()>,
    ) -> Option<Result<String, Failure>> {
        let visit = async {
            let head = tokio::select! {
                biased;
                head = timeout(HEAD_TIME_MAX, read_head(&mut stream)) => head.ok()?,
                _ = sent_away => return None,
            };
            let (page, outcome) = self.judge(head.as_deref());
            // Whoever hung up sees no page; what it brought counts all the same.
            let _ = stream.write_all(&page.response()).await;
            let _ = stream.shutdown().await;
            outcome
        };
        timeout(VISIT_TIME_MAX, visit).await.ok().flatten()
    }

    fn judge(&self, head: Option<&str>) -> (Page, Option<Result<String, Failure>>) {
        let name = self.name;
        let nothing = |status, title, text: &str| (Page(status, title, text.to_owned()), None);
        let Some((method, target)) = head.and_then(first_line) else {
            return nothing("400 Bad Request", "Not like this", "This request cannot be read.");
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != self.path {
            return nothing("404 Not Found", "Nothing here", "There is nothing here.");
        }
        if method != "GET" {
            return nothing("405 Method Not Allowed", "Not like this", "This address is only to be opened.");
        }
        match self.expected.judge(query) {
            Verdict::Code(_) => {
                let text = format!(
                    "The browser's part of signing in to {name} is done. You can close this page and go back to \
                     Toolcrib, which says whether it worked."
                );
                (Page("200 OK", "Almost done", text), Some(Ok(query.to_owned())))
            }
            Verdict::Foreign(why) => {
                let text = format!("This does not finish the sign-in to {name}, which still waits: {why}.");
                nothing("400 Bad Request", "Not this one", &text)
            }
            Verdict::Failed(failure) => {
                let text = format!("Signing in to {name} did not work: {}.", failure.said);
                (Page("200 OK", "Not signed in", text), Some(Err(failure)))
            }
        }
    }
}

/// Everything up to the empty line, if it is text and not too long.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// Method and target of a request.
fn first_line(head: &str) -> Option<(&str, &str)> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    (words.next().is_none() && version.starts_with("HTTP/1.") && target.starts_with('/'))
        .then_some((method, target))
}
