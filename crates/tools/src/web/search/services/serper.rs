//! Serper, which asks Google: <https://serper.dev/playground>

use serde_json::json;

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, listed, plain_hit};

pub(super) struct Serper;

impl Service for Serper {
    fn name(&self) -> &str {
        "serper"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://google.serper.dev/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::post(&at.url, json!({ "q": query, "num": HITS_MAX }))
            .header("x-api-key", at.key.clone().unwrap_or_default())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/organic", |item| plain_hit(item, "/title", "/link", "/snippet"))
    }
}
