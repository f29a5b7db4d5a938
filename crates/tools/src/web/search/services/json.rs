//! `Pointers`: where the results are in an answer in JSON, for a service that the configuration describes.

use crate::web::search::service::{Endpoint, Hit, Unreadable, html_hit, listed};

/// Each is a JSON pointer.
pub(in crate::web::search) struct Pointers {
    items: String,
    title: String,
    link: String,
    snippet: String,
}

/// What they are where nothing is said.
const TITLE: &str = "/title";
const LINK: &str = "/url";
const SNIPPET: &str = "/snippet";

impl Pointers {
    /// Reads what is written of each.
    ///
    /// # Errors
    /// One of them is none: its key, and why.
    pub(in crate::web::search) fn read(
        items: &str,
        [title, link, attribute, snippet]: [Option<&str>; 4],
    ) -> Result<Pointers, (&'static str, String)> {
        if attribute.is_some() {
            return Err(("link_attribute", "is for services whose `kind` is \"css\"".to_owned()));
        }
        let sound = |key: &'static str, text: &str| match text {
            pointer if pointer.is_empty() || pointer.starts_with('/') => Ok(pointer.to_owned()),
            _ => Err((key, "is no JSON pointer, which begins with `/`".to_owned())),
        };
        Ok(Pointers {
            items: sound("items", items)?,
            title: sound("title", title.unwrap_or(TITLE))?,
            link: sound("link", link.unwrap_or(LINK))?,
            snippet: sound("snippet", snippet.unwrap_or(SNIPPET))?,
        })
    }

    pub(super) fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, &self.items, |item| {
            let hit = html_hit(item, &self.title, &self.link, &self.snippet)?;
            let is_path = hit.url.starts_with('/') && !hit.url.starts_with("//");
            let url = if is_path { format!("{}{}", at.origin(), hit.url) } else { hit.url };
            Some(Hit { url, ..hit })
        })
    }
}
