//! Marginalia: <https://about.marginalia-search.com/article/api/>

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, html_hit, listed};

pub(super) struct Marginalia;

impl Service for Marginalia {
    fn name(&self) -> &str {
        "marginalia"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api2.marginalia-search.com/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url)
            .with("query", query)
            .with("count", &HITS_MAX.to_string())
            .header("api-key", at.key.clone().unwrap_or_default())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/results", |item| html_hit(item, "/title", "/url", "/description"))
    }
}
