//! Repositories on GitHub: <https://docs.github.com/en/rest/search/search#search-repositories>

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, listed, plain_hit};

pub(super) struct GitHub;

impl Service for GitHub {
    fn name(&self) -> &str {
        "github"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.github.com/search/repositories")
    }

    fn key(&self) -> Key {
        Key::Optional
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let ask = Ask::get(&at.url)
            .with("q", query)
            .with("per_page", &HITS_MAX.to_string())
            .header("x-github-api-version", "2022-11-28");
        match &at.key {
            Some(key) => ask.header("authorization", format!("Bearer {key}")),
            None => ask,
        }
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/items", |item| plain_hit(item, "/full_name", "/html_url", "/description"))
    }
}
