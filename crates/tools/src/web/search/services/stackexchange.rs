//! Stack Overflow, or another site of Stack Exchange that its address names: <https://api.stackexchange.com/docs/excerpt-search>. Its answers
//! are always packed.

use crate::web::search::html;
use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, listed, text};

pub(super) struct StackExchange;

impl Service for StackExchange {
    fn name(&self) -> &str {
        "stackexchange"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.stackexchange.com/2.3/search/excerpts?site=stackoverflow")
    }

    fn key(&self) -> Key {
        Key::Optional
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let ask = Ask::get(&at.url)
            .with("order", "desc")
            .with("sort", "relevance")
            .with("q", query)
            .with("pagesize", &HITS_MAX.to_string());
        match &at.key {
            Some(key) => ask.with("key", key),
            None => ask,
        }
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        let site = at.url.split(['?', '&']).find_map(|member| member.strip_prefix("site="));
        let site = site.unwrap_or("stackoverflow");
        let host = if site.contains('.') { site.to_owned() } else { format!("{site}.com") };
        listed(answer, "/items", |item| {
            let id = |key: &str| item.get(key).and_then(serde_json::Value::as_u64);
            let path = match id("answer_id") {
                Some(answer) => format!("a/{answer}"),
                None => format!("q/{}", id("question_id")?),
            };
            Some(Hit {
                title: html::text(text(item, "/title")),
                url: format!("https://{host}/{path}"),
                snippet: html::text(text(item, "/excerpt")),
            })
        })
    }
}
