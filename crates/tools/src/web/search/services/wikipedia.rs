//! Wikipedia, or any other wiki of MediaWiki: <https://www.mediawiki.org/wiki/API:Search>

use crate::web::search::html;
use crate::web::search::request::{Ask, escaped};
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Service, Unreadable, listed, text};

pub(super) struct Wikipedia;

impl Service for Wikipedia {
    fn name(&self) -> &str {
        "wikipedia"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://en.wikipedia.org/w/api.php")
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url)
            .with("action", "query")
            .with("list", "search")
            .with("srsearch", query)
            .with("srlimit", &HITS_MAX.to_string())
            .with("format", "json")
            .with("formatversion", "2")
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/query/search", |item| {
            let title = text(item, "/title");
            let page = title.replace(' ', "_");
            let url = format!("{}/wiki/{}", at.origin(), escaped(&page));
            let snippet = html::text(text(item, "/snippet"));
            (!title.is_empty()).then(|| Hit { title: title.to_owned(), url, snippet })
        })
    }
}
