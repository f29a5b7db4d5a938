//! Kagi: <https://help.kagi.com/kagi/api/search.html>

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, html_hit, listed};

pub(super) struct Kagi;

impl Service for Kagi {
    fn name(&self) -> &str {
        "kagi"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://kagi.com/api/v0/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let key = at.key.clone().unwrap_or_default();
        Ask::get(&at.url)
            .with("q", query)
            .with("limit", &HITS_MAX.to_string())
            .header("authorization", format!("Bot {key}"))
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        // Other kinds of items, such as related searches, have no address.
        listed(answer, "/data", |item| html_hit(item, "/title", "/url", "/snippet"))
    }
}
