//! `Own`: a service that the configuration describes.

use super::css::Selectors;
use super::json::Pointers;
use crate::web::search::request::{Ask, escaped};
use crate::web::search::service::{Endpoint, Hit, Key, Service, Unreadable};

/// Stands for the query in its address.
pub(in crate::web::search) const QUERY: &str = "{query}";

pub(in crate::web::search) struct Own {
    pub(in crate::web::search) name: String,
    pub(in crate::web::search) key_header: Option<String>,
    pub(in crate::web::search) answers: Answers,
}

/// What it answers in, and where the results are there.
pub(in crate::web::search) enum Answers {
    Json(Pointers),
    /// A page for people. A worker reads it, since it may be anything.
    Page(Selectors),
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

    /// With the query in its address, and with its key, if it takes one.
    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let ask = Ask::get(&at.url.replace(QUERY, &escaped(query)));
        let ask = match (&self.key_header, &at.key) {
            (Some(name), Some(key)) => ask.header(name, key),
            (None, _) | (_, None) => ask,
        };
        match self.answers {
            Answers::Json(_) => ask,
            Answers::Page(_) => ask.page(),
        }
    }

    fn looks_for(&self) -> Option<String> {
        match &self.answers {
            Answers::Json(_) => None,
            Answers::Page(selectors) => Some(selectors.lines()),
        }
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        match &self.answers {
            Answers::Json(pointers) => pointers.hits(at, answer),
            Answers::Page(_) => Selectors::hits(answer),
        }
    }
}
