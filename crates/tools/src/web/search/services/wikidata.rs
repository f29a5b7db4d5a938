//! Wikidata: <https://www.wikidata.org/w/api.php?action=help&modules=wbsearchentities>

use crate::web::search::request::{Ask, escaped};
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Service, Unreadable, listed, text};

pub(super) struct Wikidata;

impl Service for Wikidata {
    fn name(&self) -> &str {
        "wikidata"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://www.wikidata.org/w/api.php")
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url)
            .with("action", "wbsearchentities")
            .with("search", query)
            .with("language", "en")
            .with("uselang", "en")
            .with("limit", &HITS_MAX.to_string())
            .with("format", "json")
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/search", |item| {
            let id = text(item, "/id");
            let url = format!("{}/wiki/{}", at.origin(), escaped(id));
            let (title, snippet) = (text(item, "/label").to_owned(), text(item, "/description").to_owned());
            (!id.is_empty()).then_some(Hit { title, url, snippet })
        })
    }
}
