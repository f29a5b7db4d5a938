//! Tavily: <https://docs.tavily.com/documentation/api-reference/endpoint/search>

use serde_json::json;

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, listed, plain_hit};

pub(super) struct Tavily;

impl Service for Tavily {
    fn name(&self) -> &str {
        "tavily"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.tavily.com/search")
    }

    fn key(&self) -> Key {
        Key::Required
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let key = at.key.clone().unwrap_or_default();
        Ask::post(&at.url, json!({ "query": query, "max_results": HITS_MAX }))
            .header("authorization", format!("Bearer {key}"))
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/results", |item| plain_hit(item, "/title", "/url", "/content"))
    }
}
