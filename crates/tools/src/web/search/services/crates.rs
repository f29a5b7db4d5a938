//! Packages of Rust: <https://crates.io/data-access>, and its OpenAPI document there

use crate::web::search::request::{Ask, escaped};
use crate::web::search::service::{
    Endpoint, HITS_MAX, Hit, Service, Unreadable, first_address, listed, text,
};

/// Where a person reads about a package, the best first.
const ADDRESSES: [&str; 3] = ["/documentation", "/homepage", "/repository"];

pub(super) struct Crates;

impl Service for Crates {
    fn name(&self) -> &str {
        "crates"
    }

    fn url(&self) -> Option<&'static str> {
        Some("https://crates.io/api/v1/crates")
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        Ask::get(&at.url).with("q", query).with("per_page", &HITS_MAX.to_string())
    }

    fn hits(&self, at: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        listed(answer, "/crates", |item| {
            let name = text(item, "/name");
            let (title, snippet) = (name.to_owned(), text(item, "/description").to_owned());
            let url = match first_address(item, &ADDRESSES) {
                // Its page, where whoever is asked has pages.
                "" => format!("{}/crates/{}", at.origin(), escaped(name)),
                said => said.to_owned(),
            };
            (!name.is_empty()).then_some(Hit { title, url, snippet })
        })
    }
}
