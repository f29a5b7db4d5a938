//! Hacker News: <https://hn.algolia.com/api>

use crate::web::search::html;
use crate::web::search::request::{Ask, escaped};
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Service, Unreadable, listed, text};

pub(super) struct HackerNews;

impl Service for HackerNews {
    fn name(&self) -> &str {
        "hackernews"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://hn.algolia.com/api/v1/search")
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url)
            .with("query", query)
            .with("tags", "story")
            .with("hitsPerPage", &HITS_MAX.to_string())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/hits", |item| {
            let (url, id) = (text(item, "/url"), text(item, "/objectID"));
            // A question has no page elsewhere.
            let url = match url.is_empty() {
                true => format!("https://news.ycombinator.com/item?id={}", escaped(id)),
                false => url.to_owned(),
            };
            let (title, snippet) = (text(item, "/title").to_owned(), html::text(text(item, "/story_text")));
            (!id.is_empty()).then_some(Hit { title, url, snippet })
        })
    }
}
