//! MDN Web Docs: <https://developer.mozilla.org/en-US/docs/MDN>; the interface that its own search has

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, Hit, Service, Unreadable, listed, plain_hit};

pub(super) struct Mdn;

impl Service for Mdn {
    fn name(&self) -> &str {
        "mdn"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://developer.mozilla.org/api/v1/search")
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url).with("q", query).with("locale", "en-US")
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/documents", |item| {
            let hit = plain_hit(item, "/title", "/mdn_url", "/summary")?;
            Some(Hit { url: format!("{}{}", at.origin(), hit.url), ..hit })
        })
    }
}
