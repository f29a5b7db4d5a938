//! Exa: <https://docs.exa.ai/reference/search>

use serde_json::json;

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, listed, plain_hit};

pub(super) struct Exa;

impl Service for Exa {
    fn name(&self) -> &str {
        "exa"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.exa.ai/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let contents = json!({ "text": { "maxCharacters": 500 } });
        Ask::post(&at.url, json!({ "query": query, "numResults": HITS_MAX, "contents": contents }))
            .header("x-api-key", at.key.clone().unwrap_or_default())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/results", |item| plain_hit(item, "/title", "/url", "/text"))
    }
}
