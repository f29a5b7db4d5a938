//! `Service`: what each search service does in its own way, and what all give back.

use serde_json::Value;

use super::html;
use super::request::Ask;

/// How many hits one service is asked for, and how many are taken of it.
pub(super) const HITS_MAX: usize = 10;

/// A service that finds things. Its file names the page that describes it.
pub(super) trait Service: Send + Sync {
    /// By what it is known in the configuration and in answers.
    fn name(&self) -> &str;

    /// Where it is asked, unless the configuration says otherwise; nothing if only that can say it.
    fn url(&self) -> Option<&'static str>;

    /// Whether it takes a key.
    fn key(&self) -> Key {
        Key::None
    }

    /// The request for a query.
    fn ask(&self, at: &Endpoint, query: &str) -> Ask;

    /// What a worker looks for in its answer, where that is a page of somebody else and not data: the lines that `pages` reads
    /// before one. `hits` is then given what the worker says.
    fn looks_for(&self) -> Option<String> {
        None
    }

    /// What its answer says.
    ///
    /// # Errors
    /// It is not what the service's documentation says, or it says what is wrong.
    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable>;
}

/// What a service wants of who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    None,
    /// It allows more with one.
    Optional,
    Required,
    /// As who configured it says.
    Own,
}

/// A service as it is configured.
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) key: Option<String>,
}

impl Endpoint {
    /// Scheme and host, for what the service says without them.
    pub(super) fn origin(&self) -> &str {
        let host = self.url.find("://").map_or(0, |at| at + 3);
        let end = self.url[host..].find(['/', '?']).map_or(self.url.len(), |at| host + at);
        &self.url[..end]
    }
}

/// Why an answer gives nothing: completes "the service …".
pub(super) type Unreadable = String;

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

/// The items of an answer in JSON, which are a list at `pointer`.
pub(super) fn items(answer: &[u8], pointer: &str) -> Result<Vec<Value>, Unreadable> {
    let mut answer: Value =
        serde_json::from_slice(answer).map_err(|error| format!("answers with what is no JSON ({error})"))?;
    match answer.pointer_mut(pointer).map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(format!("answers without a list at {pointer}, other than its documentation says")),
    }
}

/// The hits of items that have their parts in these places.
pub(super) fn listed(
    answer: &[u8],
    pointer: &str,
    hit: impl Fn(&Value) -> Option<Hit>,
) -> Result<Vec<Hit>, Unreadable> {
    Ok(items(answer, pointer)?.iter().filter_map(hit).take(HITS_MAX).collect())
}

/// A hit of plain text at these pointers.
pub(super) fn plain_hit(item: &Value, title: &str, url: &str, snippet: &str) -> Option<Hit> {
    let url = text(item, url);
    (!url.is_empty()).then(|| Hit {
        title: text(item, title).to_owned(),
        url: url.to_owned(),
        snippet: text(item, snippet).to_owned(),
    })
}

/// The same where titles and snippets are HTML.
pub(super) fn html_hit(item: &Value, title: &str, url: &str, snippet: &str) -> Option<Hit> {
    let Hit { title, url, snippet } = plain_hit(item, title, url, snippet)?;
    Some(Hit { title: html::text(&title), url, snippet: html::text(&snippet) })
}

/// The first of these pointers at which an address stands that a person can open; empty if there is none.
pub(super) fn first_address<'v>(item: &'v Value, pointers: &[&str]) -> &'v str {
    let is_web = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
    pointers.iter().map(|pointer| text(item, pointer)).find(is_web).unwrap_or_default()
}

/// The text at a pointer; empty if there is none.
pub(super) fn text<'v>(item: &'v Value, pointer: &str) -> &'v str {
    item.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
