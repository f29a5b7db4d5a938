//! Brave Search: <https://api-dashboard.search.brave.com/app/documentation/web-search/get-started>

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, html_hit, listed};

pub(super) struct Brave;

impl Service for Brave {
    fn name(&self) -> &str {
        "brave"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.search.brave.com/res/v1/web/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url)
            .with("q", query)
            .with("count", &HITS_MAX.to_string())
            .header("x-subscription-token", at.key.clone().unwrap_or_default())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/web/results", |item| html_hit(item, "/title", "/url", "/description"))
    }
}
