//! Mojeek: <https://www.mojeek.com/support/api/search/>

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, html_hit, listed};

pub(super) struct Mojeek;

impl Service for Mojeek {
    fn name(&self) -> &str {
        "mojeek"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.mojeek.com/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url)
            .with("q", query)
            .with("fmt", "json")
            .with("t", &HITS_MAX.to_string())
            .with("api_key", at.key.as_deref().unwrap_or_default())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/response/results", |item| html_hit(item, "/title", "/url", "/desc"))
    }
}
