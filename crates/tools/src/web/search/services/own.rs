//! `Own`: a service that the configuration describes: where its JSON has what was found.

use crate::web::search::request::{Ask, escaped};
use crate::web::search::service::{Endpoint, Hit, Key, Service, Unreadable, html_hit, listed};

/// Stands for the query in its address.
pub(in crate::web::search) const QUERY: &str = "{query}";

pub(in crate::web::search) struct Own {
    pub(in crate::web::search) name: String,
    pub(in crate::web::search) key_header: Option<String>,
    pub(in crate::web::search) items: String,
    pub(in crate::web::search) title: String,
    pub(in crate::web::search) link: String,
    pub(in crate::web::search) snippet: String,
}

impl Service for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn url(&self) -> Option<&'static str> {
        None
    }

    fn key(&self) -> Key {
        Key::Own
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        asked(self.key_header.as_ref(), at, query)
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, &self.items, |item| {
            let hit = html_hit(item, &self.title, &self.link, &self.snippet)?;
            let is_path = hit.url.starts_with('/') && !hit.url.starts_with("//");
            let url = if is_path { format!("{}{}", at.origin(), hit.url) } else { hit.url };
            Some(Hit { url, ..hit })
        })
    }
}

/// A request with the query in its address, and with the key of its service, if that takes one.
pub(super) fn asked(key_header: Option<&String>, at: &Endpoint, query: &str) -> Ask {
    let ask = Ask::get(&at.url.replace(QUERY, &escaped(query)));
    match (key_header, &at.key) {
        (Some(name), Some(key)) => ask.header(name, key),
        (None, _) | (_, None) => ask,
    }
}
