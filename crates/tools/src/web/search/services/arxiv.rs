//! arXiv: <https://info.arxiv.org/help/api/user-manual.html>. It answers with an Atom feed, also where something is wrong.

use quick_xml::de;
use serde::Deserialize;

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Service, Unreadable};

pub(super) struct Arxiv;

#[derive(Deserialize)]
struct Feed {
    /// What is no feed has none.
    #[serde(rename = "id")]
    _id: String,
    #[serde(default)]
    entry: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    summary: String,
}

impl Service for Arxiv {
    fn name(&self) -> &str {
        "arxiv"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://export.arxiv.org/api/query")
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        // Its query language has signs of its own; words are what all services understand.
        let words: Vec<String> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| format!("all:{word}"))
            .collect();
        Ask::get(&at.url)
            .with("search_query", &words.join(" AND "))
            .with("max_results", &HITS_MAX.to_string())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        let feed: Feed =
            de::from_reader(answer).map_err(|error| format!("answers with no feed ({error})"))?;
        if let Some(wrong) = feed.entry.iter().find(|entry| entry.id.contains("/api/errors")) {
            return Err(format!("says: {}", wrong.summary));
        }
        let hit = |Entry { id: url, title, summary: snippet }| Hit { title, url, snippet };
        Ok(feed.entry.into_iter().take(HITS_MAX).map(hit).collect())
    }
}
