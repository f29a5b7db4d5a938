//! Packages on npm, once the address of a registry's search is said, since we name none:
//! <https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md#get-v1search>

use crate::web::search::request::Ask;
use crate::web::search::service::{
    Endpoint, HITS_MAX, Hit, Service, Unreadable, first_address, listed, text,
};

/// Where a person reads about a package, the best first: its page is one that not every registry has.
const ADDRESSES: [&str; 4] =
    ["/package/links/npm", "/package/links/homepage", "/package/links/repository", "/package/links/bugs"];

pub(super) struct Npm;

impl Service for Npm {
    fn name(&self) -> &str {
        "npm"
    }

    fn url(&self) -> Option<&'static str> {
        None
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url).with("text", query).with("size", &HITS_MAX.to_string())
    }

    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/objects", |item| {
            let (title, snippet) = (text(item, "/package/name"), text(item, "/package/description"));
            let url = first_address(item, &ADDRESSES).to_owned();
            (!url.is_empty()).then(|| Hit { title: title.to_owned(), url, snippet: snippet.to_owned() })
        })
    }
}
