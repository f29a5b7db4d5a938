//! The list of the services that are known.

mod arxiv;
mod brave;
mod crates;
mod css;
mod exa;
mod github;
mod hackernews;
mod json;
mod kagi;
mod marginalia;
mod mdn;
mod mojeek;
mod npm;
mod openalex;
mod own;
mod searxng;
mod serper;
mod stackexchange;
mod tavily;
mod wikidata;
mod wikipedia;

pub(super) use css::Selectors;
pub(super) use json::Pointers;
pub(super) use own::{Answers, Own, QUERY};

use super::service::Service;

/// All of them, in the order in which equal hits are shown: general ones that somebody pays for or runs first.
pub(super) fn known() -> Vec<Box<dyn Service>> {
    vec![
        Box::new(searxng::SearXng),
        Box::new(brave::Brave),
        Box::new(tavily::Tavily),
        Box::new(exa::Exa),
        Box::new(serper::Serper),
        Box::new(kagi::Kagi),
        Box::new(mojeek::Mojeek),
        Box::new(marginalia::Marginalia),
        Box::new(wikipedia::Wikipedia),
        Box::new(wikidata::Wikidata),
        Box::new(stackexchange::StackExchange),
        Box::new(github::GitHub),
        Box::new(npm::Npm),
        Box::new(crates::Crates),
        Box::new(hackernews::HackerNews),
        Box::new(arxiv::Arxiv),
        Box::new(openalex::OpenAlex),
        Box::new(mdn::Mdn),
    ]
}
