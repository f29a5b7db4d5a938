//! What the two clients have in common, so that a phase need not know how the bytes travel.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::message::{Request, ToolPage};

/// An open connection to a program, with one call at a time.
pub(crate) trait Client {
    /// Sends `request`, waits for its answer, checks it, and says how long the answer took to arrive whole.
    fn call(&mut self, request: &Request) -> anyhow::Result<Duration>;

    /// The bytes of the last answer.
    fn last_answer(&self) -> &[u8];
}

/// A list longer than this is a server that pages for ever.
const PAGES_MAX: usize = 200;
/// Between two looks at something that is not there yet.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Lists all tools, page after page: how many there are, and the sum of the pages' times.
pub(crate) fn list_tools(client: &mut dyn Client) -> anyhow::Result<(usize, Duration)> {
    let (mut count, mut elapsed, mut cursor) = (0, Duration::ZERO, None);
    for _ in 0..PAGES_MAX {
        elapsed += client.call(&Request::tools(cursor.as_deref()))?;
        let page = ToolPage::parse(client.last_answer())?;
        count += page.count;
        cursor = page.next;
        if cursor.is_none() {
            return Ok((count, elapsed));
        }
    }
    anyhow::bail!("the list of tools has more than {PAGES_MAX} pages")
}

/// Waits until at least `count` tools are on offer: upstreams may start when they are first needed.
pub(crate) fn await_tools(client: &mut dyn Client, count: usize, limit: Duration) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let (found, _) = list_tools(client)?;
        if found >= count {
            return Ok(());
        }
        ensure!(start.elapsed() < limit, "only {found} of {count} tools were on offer after {limit:?}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Waits until `request` gets a good answer, and returns the last complaint where it never does.
pub(crate) fn await_answer(
    client: &mut dyn Client,
    request: &Request,
    limit: Duration,
) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        match client.call(request) {
            Ok(_) => return Ok(()),
            Err(error) if start.elapsed() > limit => {
                return Err(error).with_context(|| format!("no good answer within {limit:?}"));
            }
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}
