//! OpenAlex: <https://developers.openalex.org/api-reference/works>. Without a key it allows a few searches a day.

use serde_json::Value;

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable, listed, text};

/// Words of an abstract that are put together; more is not shown.
const WORDS_MAX: usize = 60;

pub(super) struct OpenAlex;

impl Service for OpenAlex {
    fn name(&self) -> &str {
        "openalex"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://api.openalex.org/works")
    }

    fn key(&self) -> Key {
        Key::Optional
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        let ask = Ask::get(&at.url)
            .with("search", query)
            .with("per-page", &HITS_MAX.to_string())
            .with("select", "id,doi,display_name,abstract_inverted_index");
        match &at.key {
            Some(key) => ask.with("api_key", key),
            None => ask,
        }
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/results", |item| {
            let (doi, id) = (text(item, "/doi"), text(item, "/id"));
            let url = if doi.is_empty() { id } else { doi }.to_owned();
            let snippet = abstract_of(&item["abstract_inverted_index"]);
            let title = text(item, "/display_name").to_owned();
            (!url.is_empty()).then_some(Hit { title, url, snippet })
        })
    }
}

/// The beginning of an abstract, which comes as its words with the places where they stand.
fn abstract_of(index: &Value) -> String {
    let mut words = vec![""; WORDS_MAX];
    for (word, places) in index.as_object().into_iter().flatten() {
        let places = places.as_array().into_iter().flatten().filter_map(Value::as_u64);
        for place in places.filter_map(|place| usize::try_from(place).ok()) {
            if let Some(at) = words.get_mut(place) {
                *at = word;
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
