//! Packages on npm, once the address of a registry's search is said, since we name none:
//! <https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md#get-v1search>

use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Service, Unreadable, listed, plain_hit};

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
            plain_hit(item, "/package/name", "/package/links/npm", "/package/description")
        })
    }
}
