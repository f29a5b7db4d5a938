//! `Css`: a service that the configuration describes and that answers in a page for people: selectors say where on it the results
//! are. A worker reads it, since it may be anything.

use selectors::{Condition, Selector, Test};

use super::own::asked;
use crate::web::search::request::Ask;
use crate::web::search::service::{Endpoint, HITS_MAX, Hit, Key, Service, Unreadable};

pub(in crate::web::search) struct Css {
    pub(in crate::web::search) name: String,
    pub(in crate::web::search) key_header: Option<String>,
    pub(in crate::web::search) selectors: Selectors,
}

/// Where the results are. Each of them has been read once, and has no line break in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web::search) struct Selectors {
    pub(in crate::web::search) items: String,
    pub(in crate::web::search) title: String,
    pub(in crate::web::search) link: String,
    /// The attribute that is the address.
    pub(in crate::web::search) attribute: String,
    pub(in crate::web::search) snippet: String,
}

/// The keys of its parts, and what they are where nothing is said.
const TITLE: &str = "a[href]";
const LINK: &str = "a[href]";
const ATTRIBUTE: &str = "href";
const SNIPPET: &str = "p";

impl Selectors {
    /// Reads what is written of each.
    ///
    /// # Errors
    /// One of them is none: its key, and why.
    pub(in crate::web::search) fn read(
        items: &str,
        [title, link, attribute, snippet]: [Option<&str>; 4],
    ) -> Result<Selectors, (&'static str, String)> {
        let sound = |key: &'static str, text: &str| match Selector::parse(text) {
            Ok(_) => Ok(text.to_owned()),
            Err(error) => Err((key, format!("is no selector: {error}"))),
        };
        let attribute = attribute.unwrap_or(ATTRIBUTE);
        if !is_name(attribute) {
            return Err(("link_attribute", "is no name of an attribute, such as href".to_owned()));
        }
        Ok(Selectors {
            items: sound("items", items)?,
            title: sound("title", title.unwrap_or(TITLE))?,
            link: sound("link", link.unwrap_or(LINK))?,
            attribute: attribute.to_ascii_lowercase(),
            snippet: sound("snippet", snippet.unwrap_or(SNIPPET))?,
        })
    }
}

/// Whether this is the name of an attribute and nothing else.
fn is_name(text: &str) -> bool {
    let selector = Selector::parse(&format!("[{text}]"));
    let whole = Condition { attribute: text.to_owned(), test: Test::Exists };
    selector.is_ok_and(|read| match &read.alternatives[..] {
        [steps] => matches!(&steps[..], [step] if step.compound.conditions == [whole]),
        _ => false,
    })
}

impl Service for Css {
    fn name(&self) -> &str {
        &self.name
    }

    fn url(&self) -> Option<&'static str> {
        None
    }

    fn key(&self) -> Key {
        Key::Own
    }

    fn ask(&self, at: &Endpoint, query: &str) -> Ask {
        asked(self.key_header.as_ref(), at, query).page()
    }

    fn looks_for(&self) -> Option<String> {
        let Selectors { items, title, link, attribute, snippet } = &self.selectors;
        Some(format!("{items}\n{title}\n{link}\n{attribute}\n{snippet}\n"))
    }

    /// Of three lines for each result.
    fn hits(&self, _: &Endpoint, answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        let said = std::str::from_utf8(answer).map_err(|_| "answers with what is no text".to_owned())?;
        let lines: Vec<&str> = said.lines().collect();
        let hit = |lines: &[&str]| match lines {
            [title, url, snippet] => Some(Hit {
                title: (*title).to_owned(),
                url: (*url).to_owned(),
                snippet: (*snippet).to_owned(),
            }),
            _ => None,
        };
        Ok(lines.chunks(3).filter_map(hit).take(HITS_MAX).collect())
    }
}
