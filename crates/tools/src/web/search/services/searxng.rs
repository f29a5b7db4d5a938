//! A SearXNG of the user's own: <https://docs.searxng.org/dev/search_api.html>. Its settings must have `json` in
//! `search.formats`.

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, Hit, Service, Unreadable, listed, plain_hit};

pub(super) struct SearXng;

impl Service for SearXng {
    fn name(&self) -> &str {
        "searxng"
    }

    fn url(&self) -> Option<&'static str> {
        None
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let url = at.url.trim_end_matches('/');
        let search = if url.ends_with("/search") { url.to_owned() } else { format!("{url}/search") };
        Ask::get(&search).with("q", query).with("format", "json")
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/results", |item| plain_hit(item, "/title", "/url", "/content"))
    }
}
